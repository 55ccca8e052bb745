/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The measured mesh, i.e. the round trips between all pairs of hosts: for each ordered pair, the round-trip times that
 * host `src` measured to host `dst` in the pair's last window. A window is an interval after which a prober publishes
 * the figures of a pair and begins to collect new ones. The file form is CSV; blank lines and lines that begin with '#'
 * are skipped:
 *
 *   # nomora.latency/4
 *   src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at,state,paths,paths_covered,disturbed,error_us,
 *     answered_at,peer_stalled,peer_stall_us,hop,next_hop,hop_us,hop_loss                   (one line in the file)
 *   h1,h2,23.104,41.471,88.063,0,15000,1795188663.250,measured,0,1,0.001,0.05,1795188663.249,0,31.5,,,0,0
 *
 * Earlier versions of the form, which lack the last six columns, seven or twelve, are read too. Times are microseconds,
 * loss is a share 0..1 of the probes sent, samples is the number of round trips measured. updated_at and answered_at
 * are seconds since the epoch (UTC): when the prober last saw the pair, i.e. the end of its last window, and when the
 * peer last answered (empty: never). Age is judged by updated_at alone: a host that does not answer stays unreachable
 * as long as a prober sees it. Sparse: pairs may be missing, and a row src = dst is allowed. Hosts are numbered in the
 * order in which they are first named.
 *
 * A matrix is private or shared. A private matrix belongs to its creator and grows as needed; its threads need a lock
 * of their own. A shared matrix is in shared memory, where other processes read it while it is written; see
 * model/latency_live.h.
 */
#ifndef MODEL_LATENCY_MATRIX_H
#define MODEL_LATENCY_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/address.h>
#include <base/error.h>
#include <base/file.h>
#include <base/ns.h>
#include <base/progress.h>

enum {
	LATENCY_STALL_US =
		10000, /* a host that holds a probe for longer has stalled: several time slices of a busy CPU */
};
enum { LATENCY_NAME_BYTES = 64 }; /* longest host name with its NUL */

enum latency_statistic {
	LATENCY_STATISTIC_MAX,
	LATENCY_STATISTIC_P99,
	LATENCY_STATISTIC_P50,
	LATENCY_STATISTIC_LOSS, /* a share, not a time */
};

/*
 * For OPTION_CHOICE, NULL-terminated: "max", "p99", "p50" and "loss"; latency_rtt_statistic_names ends before "loss".
 */
extern const char *const latency_statistic_names[];
extern const char *const latency_rtt_statistic_names[];

enum latency_state {
	LATENCY_STATE_MEASURED,
	LATENCY_STATE_UNREACHABLE, /* every probe of the window was lost, or the MAC to send to is unknown */
	LATENCY_STATE_NEVER,       /* not probed yet */
	LATENCY_STATE_STALE, /* never stored; latency_entry_state() returns it if an entry is too old for its reader */
};

extern const char *const latency_state_names[]; /* NULL-terminated: "measured", "unreachable", "never", "stale" */

/* Aligned so that an entry has no padding. */
typedef ip_address latency_hop __attribute__((aligned(8)));

struct latency_entry {
	uint32_t source, destination;              /* host indices */
	double rtt_p50_us, rtt_p99_us, rtt_max_us; /* NAN without samples */
	double loss;
	uint64_t samples;
	struct ns updated_at;          /* when a prober last saw the pair; wall clock, since the epoch */
	struct ns answered_at;         /* when the peer last answered; 0 = never, or not known */
	float disturbed;               /* share 0..1 of the samples that a stall of the prober may have changed */
	float error_us;                /* upper bound of the error of one time stamp */
	uint16_t paths, paths_covered; /* paths that exist (0 = unknown), and paths that were probed */
	uint8_t state;                 /* enum latency_state */
	uint8_t unused[3];
	float peer_stalled;  /* share 0..1 of the samples that the peer held for longer than LATENCY_STALL_US */
	float peer_stall_us; /* longest time that the peer held a sample */
	/*
	 * The link between two neighbouring routers that explains a worse path of this pair best, see
	 * <probe/mesh/watch.h>; 0 = none. hop_us: by how much this path's median exceeds that of the pair's best
	 * path; hop_loss: share 0..1 of its probes that were lost on the way there.
	 */
	float hop_us, hop_loss;
	latency_hop hop, next_hop;
};

/* Returns the entry's value of a statistic, or NAN if it has none. */
double latency_entry_value(const struct latency_entry *entry, enum latency_statistic statistic);
/*
 * Returns the state of the entry at `now`. It is stale if it is older than max_age, or if its time is ahead of `now` by
 * more than max_age and by more than a minute. max_age 0: never stale.
 */
enum latency_state latency_entry_state(const struct latency_entry *entry, struct ns now, struct ns max_age);

/* Largest figures of the measured pairs between two racks, and the time of the latest of these measurements. */
struct latency_maximum {
	float rtt_p50_us, rtt_p99_us, rtt_max_us, unused;
	uint64_t pairs; /* number of measured pairs; 0 = none, then the other fields mean nothing */
	struct ns updated_at;
};

/* As latency_entry_value(). A maximum has no loss: NAN. */
double latency_maximum_value(const struct latency_maximum *maximum, enum latency_statistic statistic);

/* The result when two merged matrices have an entry for the same pair. */
enum latency_merge {
	LATENCY_MERGE_REFUSE,   /* a pair in both is an error */
	LATENCY_MERGE_FRESHEST, /* the entry with the later updated_at; if they are equal, the one added last */
	LATENCY_MERGE_WORST,    /* the larger RTTs and loss, the sum of the samples, the later updated_at */
};

struct latency_matrix;

struct latency_matrix *latency_matrix_create(void);         /* NULL: out of memory */
void latency_matrix_destroy(struct latency_matrix *matrix); /* NULL is legal; unmaps a shared one */

/*
 * Reads a file (plain or gzip, "-" = stdin), or takes a snapshot of a live matrix. Returns NULL with err set
 * ("file:line: field: ...") for a bad row or a duplicate pair. `bar`, which may be NULL, shows the progress.
 */
struct latency_matrix *latency_matrix_read(const char *path, struct progress *bar, struct error *err);
/* Reads several files and merges them. */
struct latency_matrix *latency_matrix_read_all(char *const *paths, size_t count, enum latency_merge how,
					       struct progress *bar, struct error *err);
/* As latency_matrix_read(), from lines that the caller opens and closes. */
struct latency_matrix *latency_matrix_parse(struct file_lines *lines, struct error *err);
/* Writes a file whole or not at all ("-" = stdout). Its rows are in the order in which the pairs were first set. */
int latency_matrix_write(const struct latency_matrix *matrix, const char *path, struct error *err);

size_t latency_matrix_hosts(const struct latency_matrix *matrix);
const char *latency_matrix_host(const struct latency_matrix *matrix, uint32_t host); /* name; valid as long as matrix */
/* Returns the index of the host with this name, or -ENOENT. */
int64_t latency_matrix_find_host(const struct latency_matrix *matrix, const char *name);
/*
 * Finds or adds a host. Returns its index; or -EINVAL if name_is_valid() refuses the name, -ENOMEM, or -ENOSPC if a
 * shared matrix is full.
 */
int64_t latency_matrix_add_host(struct latency_matrix *matrix, const char *name);

/* Returns the number of pairs. */
size_t latency_matrix_count(const struct latency_matrix *matrix);
/*
 * Returns an entry of a private matrix; positions are in the order in which the pairs were first set. The pointer is
 * valid until the next set or merge. NULL beyond the last entry.
 */
const struct latency_entry *latency_matrix_at(const struct latency_matrix *matrix, size_t position);
/*
 * Makes a consistent copy of the entry at a position of any matrix. Returns false if there is no such position, or if a
 * writer died while writing the entry, or if the file of a shared matrix is damaged: an entry of a shared matrix has
 * the same invariants as one that latency_matrix_set() accepts.
 */
bool latency_matrix_load(const struct latency_matrix *matrix, size_t position, struct latency_entry *entry);

/* Returns the entry of a pair in a private matrix, or NULL if the matrix does not have the pair. O(1) (hashed). */
const struct latency_entry *latency_matrix_get(const struct latency_matrix *matrix, uint32_t source,
					       uint32_t destination);
/* Makes a consistent copy of the entry of a pair in any matrix. Returns false if the matrix does not have the pair. */
bool latency_matrix_load_pair(const struct latency_matrix *matrix, uint32_t source, uint32_t destination,
			      struct latency_entry *entry);

/*
 * Adds the entry, or replaces the entry of the same pair. An entry without samples is stored as unreachable unless its
 * state is never. A shared matrix that is full evicts another pair. Returns 0, -EINVAL (an index or a figure is out of
 * range), -ENOMEM, or -ENOSPC (the disk is full).
 */
int latency_matrix_set(struct latency_matrix *matrix, const struct latency_entry *entry);

/* Adds every entry of `from`, matching hosts by name. After an error, `into` keeps the entries added so far. */
int latency_matrix_merge(struct latency_matrix *into, const struct latency_matrix *from, enum latency_merge how,
			 struct error *err);

#endif
