/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A latency matrix in shared memory: a mapped file (best on a tmpfs such as /dev/shm) of fixed capacity that any number
 * of processes read while others write. Readers never wait and never block a writer. Writers take turns, a batch each:
 *
 *   latency_live_begin(matrix, &err);       one writer at a time (flock of FILE.lock)
 *   latency_live_add_host(...); latency_matrix_set(...); ...
 *   latency_live_update_maxima(matrix);     when all pairs of a window are set (model/latency_matrix.h)
 *   latency_live_end(matrix);
 *
 * A reader maps the file read-only and uses latency_matrix_hosts(), _host(), _find_host(), _count(), _load(),
 * _load_pair() and the functions below. A writer that is killed leaves no torn value: readers see that a pair is
 * half-written, and the next writer repairs it.
 *
 * A full matrix evicts, for each new pair, a pair that was not set for a long time. Readers then find the evicted pair
 * not measured. The file never grows: hosts and racks beyond its capacity are refused.
 *
 * Another user on the host is an attacker: a file that a stranger may have made or may change is refused, readers
 * cannot take the writers' lock, and the content of the file is checked when it is read.
 *
 * The file begins with the 8 bytes "NOMORAL6", then (native byte order, 4 bytes each) the sizes of the records and the
 * capacities. All of these are checked when the file is opened: a file of another version or size is refused.
 */
#ifndef MODEL_LATENCY_LIVE_H
#define MODEL_LATENCY_LIVE_H

#include <signal.h>
#include <stdint.h>

#include <base/error.h>
#include <base/ns.h>
#include <base/options.h>
#include <model/latency_matrix.h>

#define LATENCY_NO_RACK UINT32_MAX

enum latency_host_status {
	LATENCY_HOST_ACTIVE,
	LATENCY_HOST_DRAINED, /* taken out of service on purpose: its missing measurements need no alarm */
	LATENCY_HOST_GONE,    /* left the mesh; the pairs of this host are the first to be evicted */
};

extern const char *const latency_host_status_names[]; /* NULL-terminated: "active", "drained", "gone" */

struct latency_live_size {
	uint32_t hosts, racks; /* capacity */
	uint64_t pairs;        /* capacity in pairs, 104 to 112 bytes each; 48 more once a pair has a hop */
};

/*
 * Opens the file to write. If the file does not exist, creates it with this size; an existing file keeps its size.
 * Returns NULL with err set on failure.
 */
struct latency_matrix *latency_live_open(const char *path, const struct latency_live_size *size, struct error *err);
/*
 * Opens the file to read. Returns NULL with err set if there is no such file, if it is not a live matrix, or if it has
 * another version or size.
 */
struct latency_matrix *latency_live_map(const char *path, struct error *err);
/* As latency_live_map(), but waits for a file that does not exist yet. Returns NULL without err if *stop gets set. */
struct latency_matrix *latency_live_await(const char *path, const volatile sig_atomic_t *stop, struct error *err);
bool latency_live_is(const char *path); /* true if the file begins like a live matrix */

/*
 * Begin and end a writer's batch. latency_live_begin() waits until no other writer has a batch open, at most 10 s, and
 * repairs the matrix if a writer was killed during its batch. Returns 0, or -errno with err set.
 */
int latency_live_begin(struct latency_matrix *matrix, struct error *err);
void latency_live_end(struct latency_matrix *matrix);

/*
 * Finds or adds a host, and puts it into the rack, which is added if it is new. rack "": not known, so that the host
 * keeps the rack that it has. pod ("" = not known) is used only for a new rack; a known rack keeps its pod. Returns the
 * host's index, -EINVAL (bad name) or -ENOSPC.
 */
int64_t latency_live_add_host(struct latency_matrix *matrix, const char *name, const char *rack, const char *pod);
void latency_live_set_status(struct latency_matrix *matrix, uint32_t host, enum latency_host_status status);
enum latency_host_status latency_live_status(const struct latency_matrix *matrix, uint32_t host);
/* Sets the status of all named hosts, or of none if one is unknown. Returns 0, or -errno with err set. */
int latency_live_mark(const char *path, const char *const *names, size_t count, enum latency_host_status status,
		      struct error *err);

/* Racks are numbered in the order in which hosts first named them. */
uint32_t latency_live_racks(const struct latency_matrix *matrix);
const char *latency_live_rack_name(const struct latency_matrix *matrix, uint32_t rack);
const char *latency_live_pod_name(const struct latency_matrix *matrix, uint32_t rack);
uint32_t latency_live_rack_of(const struct latency_matrix *matrix, uint32_t host); /* LATENCY_NO_RACK = unknown */

/*
 * Computes the largest figures (struct latency_maximum) of each ordered pair of racks from the pairs of their hosts.
 * O(pairs + racks squared). Returns 0 or -ENOMEM.
 */
int latency_live_update_maxima(struct latency_matrix *matrix);
/*
 * Reads the largest figures of the pairs from the hosts of one rack to the hosts of another (or the same) rack. Returns
 * false if no such pair was measured.
 */
bool latency_live_maximum(const struct latency_matrix *matrix, uint32_t from, uint32_t to,
			  struct latency_maximum *maximum);

/*
 * Opens or creates the live matrix and puts every entry of `from` into it; a new live matrix has space for more hosts
 * and racks. Racks and pods come from a cluster file; cluster_path may be NULL. Returns 0, or -errno with err set.
 */
int latency_live_put(const char *path, const struct latency_matrix *from, const char *cluster_path, struct error *err);

/* The time when a writer last ended a batch (wall clock); 0 = never. */
struct ns latency_live_written_at(const struct latency_matrix *matrix);

/* Number of pairs that were evicted. */
uint64_t latency_live_evicted(const struct latency_matrix *matrix);
/*
 * Number of entries that were stored without their hop, next_hop, hop_us and hop_loss: the disk was full, or more than
 * 2^24 pairs have them.
 */
uint64_t latency_live_hops_left_out(const struct latency_matrix *matrix);

/* Returns a private copy of all pairs, or NULL if out of memory. */
struct latency_matrix *latency_live_snapshot(const struct latency_matrix *matrix);

/* Option rows for latency matrices; `field` is the settings' field as in OPTION_DOUBLE(). */

/* Age above which measurements do not count. Used by the commands place, schedd and mesh serve. */
#define ROW_MAX_AGE(type, field)                                                                                       \
	OPTION_DOUBLE(type, field, "max-age", 0, "S", 0, 1e9,                                                          \
		      "treat measurements older than S seconds as not measured; 0 = no limit")

/* Capacity of the live matrix that a command creates. Used by mesh agent and mesh collect. */
#define ROWS_LIVE_CAPACITY(type, hosts, racks, pairs)                                                                  \
	OPTION_INTEGER(type, hosts, "hosts", 0, "N", 2, 1000000, "capacity of a new live matrix"),                     \
		OPTION_INTEGER(type, racks, "racks", 0, "N", 1, 16384, "capacity of a new live matrix"),               \
		OPTION_INTEGER(type, pairs, "pairs", 0, "N", 1, 268435456,                                             \
			       "capacity of a new live matrix, 88 bytes per pair")

#endif
