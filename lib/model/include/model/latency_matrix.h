/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The measured mesh: for each ordered pair of hosts the round-trip time that `src` saw to `dst` in its last window.
 * File form, CSV with this header line; blank lines and lines that begin with '#' are skipped:
 *
 *   src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at
 *   h1,h2,23.104,41.471,88.063,0,15000,1795188663.250
 *
 * Times are microseconds, loss is a share 0..1 of the probes sent, samples is the number of round trips measured,
 * updated_at is seconds since the epoch (UTC). A pair that never answered has samples 0, loss 1 and empty RTT fields
 * (NAN here). Sparse: pairs may be missing, and a row src = dst is allowed. Hosts are numbered in the order in which
 * they are first named. One writer at a time; readers need its lock.
 */
#ifndef MODEL_LATENCY_MATRIX_H
#define MODEL_LATENCY_MATRIX_H

#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/file.h>
#include <base/ns.h>
#include <base/progress.h>

enum { LATENCY_NAME_BYTES = 64 }; /* longest host name with its NUL */

struct latency_entry {
	uint32_t source, destination; /* host indices */
	double rtt_p50_us, rtt_p99_us, rtt_max_us;
	double loss;
	uint64_t samples;
	struct ns updated_at; /* wall clock, since the epoch */
};

/* Which of two entries for one pair stays when matrices are merged. */
enum latency_merge {
	LATENCY_MERGE_REFUSE,   /* a pair in both is an error */
	LATENCY_MERGE_FRESHEST, /* the later updated_at; the newcomer when they are equal */
	LATENCY_MERGE_WORST,    /* RTTs and loss: the larger of each; samples add up; the later updated_at */
};

struct latency_matrix;

struct latency_matrix *latency_matrix_create(void);         /* NULL: out of memory */
void latency_matrix_destroy(struct latency_matrix *matrix); /* NULL is legal */

/* Reads a file (plain or gzip, "-" = stdin). NULL with err set ("file:line: field: ..."): bad rows, a pair twice.
 * `bar`, which may be NULL, shows how far it is. */
struct latency_matrix *latency_matrix_read(const char *path, struct progress *bar, struct error *err);
/* The same from lines that the caller opened, and closes. */
struct latency_matrix *latency_matrix_parse(struct file_lines *lines, struct error *err);
/* Whole or not at all ("-" = stdout), rows in the order in which they were set. */
int latency_matrix_write(const struct latency_matrix *matrix, const char *path, struct error *err);

size_t latency_matrix_hosts(const struct latency_matrix *matrix);
const char *latency_matrix_host(const struct latency_matrix *matrix, uint32_t host); /* name, lives with the matrix */
/* Index of a name, -ENOENT if no row names it. */
int64_t latency_matrix_find_host(const struct latency_matrix *matrix, const char *name);
/* Finds or adds; -EINVAL for what name_is_valid() refuses in LATENCY_NAME_BYTES, -ENOMEM. */
int64_t latency_matrix_add_host(struct latency_matrix *matrix, const char *name);

/* The number of pairs, and each in the order in which it was first set; pointers hold until the next set or merge. */
size_t latency_matrix_count(const struct latency_matrix *matrix);
const struct latency_entry *latency_matrix_at(const struct latency_matrix *matrix, size_t position);

/* NULL when the pair was not measured. By index O(1) (hashed). */
const struct latency_entry *latency_matrix_get(const struct latency_matrix *matrix, uint32_t source,
					       uint32_t destination);
const struct latency_entry *latency_matrix_lookup(const struct latency_matrix *matrix, const char *source,
						  const char *destination);

/* Adds the entry or replaces the pair's; -EINVAL if an index or a figure is out of range, -ENOMEM. */
int latency_matrix_set(struct latency_matrix *matrix, const struct latency_entry *entry);

/* Adds every entry of `from`, matching hosts by name. On error `into` keeps what was added before it. */
int latency_matrix_merge(struct latency_matrix *into, const struct latency_matrix *from, enum latency_merge how,
			 struct error *err);

#endif
