/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the mesh, a CSV file or a live matrix in shared memory, in slices between which requests are served. */
#include "schedd_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <base/log.h>
#include <model/latency_live.h>

/* Interval of the checks for a new file or window, in seconds. */
#define LOOK_S 0.5
/* Entries per slice; a slice takes less than 10 ms of CPU time. */
#define SLICE 16384

struct mesh {
	const char *path;
	enum latency_statistic statistic;
	ino_t inode;
	struct timespec changed;
	struct latency_matrix
		*matrix; /* a live matrix stays mapped; one read from CSV is freed once all its entries are taken */
	bool is_live, absorbing;
	bool again;        /* the file could not be read, or not be taken whole, but for a reason that may pass */
	size_t next;       /* index in the matrix of the next entry to take */
	uint32_t machines; /* number of machines in the cluster when the window began */
	struct ns written_at;
	struct ns newest; /* when the last window with a usable row was read */
	double next_look_s;
	struct live_matrix_outcome outcome, reported;
	struct mesh_totals totals;
};

struct mesh *mesh_create(const char *path, enum latency_statistic statistic)
{
	struct mesh *mesh = calloc(1, sizeof *mesh);

	if (mesh) {
		mesh->path = path;
		mesh->statistic = statistic;
	}
	return mesh;
}

static void forget(struct mesh *mesh)
{
	latency_matrix_destroy(mesh->matrix);
	mesh->matrix = NULL;
	mesh->is_live = mesh->absorbing = false;
	mesh->written_at = (struct ns){0};
}

void mesh_destroy(struct mesh *mesh)
{
	if (!mesh)
		return;
	forget(mesh);
	free(mesh);
}

void mesh_read_again(struct mesh *mesh)
{
	forget(mesh);
	mesh->inode = 0;
	mesh->next_look_s = 0;
}

static void begin(struct mesh *mesh)
{
	mesh->absorbing = true;
	mesh->next = 0;
	mesh->outcome = (struct live_matrix_outcome){0};
}

/*
 * Opens a file and begins its window. If the file cannot be read, the known measurements remain until they are too old;
 * a file that is not damaged is tried again, with one message.
 */
static void open_file(struct mesh *mesh, const struct stat *status)
{
	struct error err = {0};
	bool tried = mesh->again;

	mesh->again = false;
	forget(mesh);
	mesh->inode = status->st_ino;
	mesh->changed = status->st_mtim;
	mesh->is_live = latency_live_is(mesh->path);
	mesh->matrix = mesh->is_live ? latency_live_map(mesh->path, &err) : latency_matrix_read(mesh->path, NULL, &err);
	if (mesh->matrix) {
		begin(mesh);
		return;
	}
	mesh->again = err.code != EINVAL;
	if (tried && mesh->again)
		return;
	mesh->totals.errors++;
	log_warning("%s", err.text);
}

/*
 * Checks for a new file, or a new window in the shared matrix. If rows were left out because their machines were
 * unknown, also reads the present window again when machines were added.
 */
static void look(struct mesh *mesh, uint32_t machines)
{
	struct stat status;
	bool same, grown = mesh->reported.unknown > 0 && machines != mesh->machines;

	if (stat(mesh->path, &status) < 0)
		return;
	same = status.st_ino == mesh->inode &&
	       ((mesh->is_live && mesh->matrix) ||
		(status.st_mtim.tv_sec == mesh->changed.tv_sec && status.st_mtim.tv_nsec == mesh->changed.tv_nsec));
	mesh->machines = machines;
	if (!same)
		mesh->again = false; /* another file: its own message */
	if (!same || mesh->again || (grown && !mesh->is_live))
		open_file(mesh, &status);
	else if (mesh->is_live && mesh->matrix &&
		 (grown || latency_live_written_at(mesh->matrix).v != mesh->written_at.v))
		begin(mesh);
	if (mesh->is_live && mesh->matrix)
		mesh->written_at = latency_live_written_at(mesh->matrix);
}

static void report(struct mesh *mesh)
{
	const struct live_matrix_outcome *now = &mesh->outcome, *before = &mesh->reported;

	mesh->totals.reads++;
	if (now->taken > 0)
		mesh->newest = ns_now_monotonic();
	mesh->totals.last = *now;
	if (now->unknown + now->old + now->future > 0 &&
	    (now->unknown != before->unknown || (now->old > 0) != (before->old > 0) || now->future != before->future))
		log_warning("%s: left out %llu rows of unknown machines, %llu that are too old, %llu from the future",
			    mesh->path, (unsigned long long)now->unknown, (unsigned long long)now->old,
			    (unsigned long long)now->future);
	mesh->reported = *now;
}

static void absorb(struct mesh *mesh, struct live *live, double now_s)
{
	struct live_matrix_part part = {.statistic = mesh->statistic,
					.first = mesh->next,
					.count = latency_matrix_count(mesh->matrix) - mesh->next,
					.wall = ns_now_wall(),
					.now_s = now_s};
	struct live_matrix_outcome outcome;
	bool last = part.count <= SLICE;

	part.count = last ? part.count : SLICE;
	if (live_latency_matrix(live, mesh->matrix, &part, &outcome) < 0) {
		mesh->totals.errors++;
		mesh->again = true;
		log_warning("%s: out of memory", mesh->path);
	}
	if (last)
		live_latency_settle(live);
	mesh->outcome.taken += outcome.taken;
	mesh->outcome.unknown += outcome.unknown;
	mesh->outcome.old += outcome.old;
	mesh->outcome.future += outcome.future;
	mesh->next += part.count;
	if (!last)
		return;
	mesh->absorbing = false;
	report(mesh);
	if (!mesh->is_live)
		forget(mesh);
}

double mesh_work(struct mesh *mesh, struct live *live, double now_s)
{
	if (!mesh->absorbing && now_s >= mesh->next_look_s) {
		mesh->next_look_s = now_s + LOOK_S;
		live_expire(live, now_s);
		look(mesh, live_cluster(live)->machine_count);
	}
	if (mesh->absorbing)
		absorb(mesh, live, now_s);
	return mesh->absorbing ? now_s : mesh->next_look_s;
}

struct mesh_totals mesh_totals(const struct mesh *mesh)
{
	struct mesh_totals totals = mesh->totals;

	totals.age_s = mesh->newest.v ? ns_to_s(ns_sub(ns_now_monotonic(), mesh->newest)) : -1;
	return totals;
}
