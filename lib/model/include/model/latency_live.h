/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A latency matrix in shared memory: a mapped file (best on a tmpfs such as /dev/shm) of fixed capacity that any number
 * of processes read while others write. Readers never wait and never block a writer. Writers take turns, a batch each:
 *
 *   latency_live_begin(matrix, &err);       one writer at a time (flock)
 *   latency_live_add_host(...); latency_matrix_set(...); ...
 *   latency_live_update_maxima(matrix);     after the last of a window's pairs
 *   latency_live_end(matrix);
 *
 * A reader maps the file read-only and uses latency_matrix_hosts(), _host(), _find_host(), _count(), _load(),
 * _load_pair() and the functions below. A writer that is killed leaves no torn value: readers see that a pair is
 * half-written and the next writer repairs it.
 *
 * A full matrix evicts, for each new pair, one that was not set for a long time; readers then see that one as not
 * measured. The file never grows. Hosts and racks beyond its capacity are refused.
 *
 * The file begins with the 8 bytes "NOMORAL3", then (native byte order, 4 bytes each) the sizes of the records and the
 * capacities, all of which are checked when it is opened: a file of another version or size is refused.
 */
#ifndef MODEL_LATENCY_LIVE_H
#define MODEL_LATENCY_LIVE_H

#include <stdint.h>

#include <base/error.h>
#include <base/ns.h>
#include <model/latency_matrix.h>

#define LATENCY_NO_RACK UINT32_MAX

enum latency_host_status {
	LATENCY_HOST_ACTIVE,
	LATENCY_HOST_DRAINED, /* on purpose: no alarm */
	LATENCY_HOST_GONE,    /* left the mesh: its pairs are history */
};

extern const char *const latency_host_status_names[]; /* NULL-terminated: "active", "drained", "gone" */

struct latency_live_size {
	uint32_t hosts, racks; /* at most */
	uint64_t pairs;        /* at most; 80 to 96 bytes each */
};

/* Creates the file if there is none, else opens it to write (whatever its size). NULL with err set. */
struct latency_matrix *latency_live_open(const char *path, const struct latency_live_size *size, struct error *err);
/* Opens it to read. NULL with err set: no such file, not a live matrix, another version or size. */
struct latency_matrix *latency_live_map(const char *path, struct error *err);
bool latency_live_is(const char *path); /* begins like one */

/* A writer's batch. begin: 0 or -errno with err set; repairs what a killed writer left. */
int latency_live_begin(struct latency_matrix *matrix, struct error *err);
void latency_live_end(struct latency_matrix *matrix);

/* Finds or adds a host; rack and pod "" = unknown (one that is known stays). Index, -EINVAL or -ENOSPC. */
int64_t latency_live_add_host(struct latency_matrix *matrix, const char *name, const char *rack, const char *pod);
void latency_live_set_status(struct latency_matrix *matrix, uint32_t host, enum latency_host_status status);
enum latency_host_status latency_live_status(const struct latency_matrix *matrix, uint32_t host);
/* Sets the status of all hosts named, or of none. 0 or -errno with err set: an unknown file or host. */
int latency_live_mark(const char *path, const char *const *names, size_t count, enum latency_host_status status,
		      struct error *err);

/* Racks are numbered in the order in which hosts brought them. */
uint32_t latency_live_racks(const struct latency_matrix *matrix);
const char *latency_live_rack_name(const struct latency_matrix *matrix, uint32_t rack);
const char *latency_live_pod_name(const struct latency_matrix *matrix, uint32_t rack);
uint32_t latency_live_rack_of(const struct latency_matrix *matrix, uint32_t host); /* LATENCY_NO_RACK = unknown */

/* Computes the largest figures between any two racks. O(pairs + racks squared). 0 or -ENOMEM. */
int latency_live_update_maxima(struct latency_matrix *matrix);
/* From hosts of one rack to hosts of another (or the same); false: nothing measured. */
bool latency_live_maximum(const struct latency_matrix *matrix, uint32_t from, uint32_t to,
			  struct latency_maximum *maximum);
/* The same between the pods of two racks: the largest over their pairs of racks. */
bool latency_live_pod_maximum(const struct latency_matrix *matrix, uint32_t from, uint32_t to,
			      struct latency_maximum *maximum);

/*
 * Opens or creates the live matrix and puts every entry of `from` into it; a new one has space for more. Racks and pods
 * come from a cluster's file, which may be NULL. 0 or -errno with err set.
 */
int latency_live_put(const char *path, const struct latency_matrix *from, const char *cluster_path, struct error *err);

/* When a writer last ended a batch, wall clock; 0 = never. */
struct ns latency_live_written_at(const struct latency_matrix *matrix);

/* Number of pairs that were evicted. */
uint64_t latency_live_evicted(const struct latency_matrix *matrix);

/* A private copy of all pairs, NULL = out of memory. */
struct latency_matrix *latency_live_snapshot(const struct latency_matrix *matrix);

#endif
