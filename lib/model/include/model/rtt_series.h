/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recorded round trips as series for a simulation: text with one value a second, microseconds, a line each; lines that
 * begin with '#' are skipped; plain or gzip. A file NAME.json is what `nomora mesh history --json` prints of one pair
 * (nomora.mesh_history/1): a window's p99 counts for the seconds since the window before. A folder has files whose
 * names begin with "rack", "pod" and "across", for pairs of machines in one rack, in one pod and beyond; their values
 * count as they are. A single file is for all distances, and its values count relative to their median. Read-only once
 * read.
 *
 * In place of a file there may be a latency matrix (model/latency_matrix.h): the p99 of its measured pairs, or
 * quantiles of them where there are more than RTT_SERIES_LEVELS, are levels, series of one value. A live matrix that
 * knows its hosts' racks has those of each distance, which count as they are.
 */
#ifndef MODEL_RTT_SERIES_H
#define MODEL_RTT_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#include <base/error.h>
#include <base/file.h>

enum {
	RTT_SERIES_KINDS = 3,    /* rack, pod, across */
	RTT_SERIES_SECONDS = 60, /* the shortest series */
	RTT_SERIES_LEVELS = 42,  /* of a matrix, for each distance; the paper's 6 traces of 7 days */
};

struct rtt_series {
	float *us;    /* [count], above 0 */
	size_t count; /* 1: a level, about which the round trip varies */
	float median_us;
};

struct rtt_series_set {
	struct rtt_series *items[RTT_SERIES_KINDS];
	size_t counts[RTT_SERIES_KINDS], capacities[RTT_SERIES_KINDS];
	bool relative; /* values are relative to median_us, for levels the median of all pairs */
};

/* One series. 0 or -errno with err set "file:line: ...": a gap, no number, a value not above 0, too few values. */
int rtt_series_parse(struct rtt_series *series, struct file_lines *lines, struct error *err);

/* The same of nomora.mesh_history/1: no points, time that goes backwards, an hour without a round trip. */
int rtt_series_parse_history(struct rtt_series *series, const char *name, const char *text, size_t bytes,
			     struct error *err);

/* A folder or a file. NULL with err set. */
struct rtt_series_set *rtt_series_read(const char *path, struct error *err);
void rtt_series_destroy(struct rtt_series_set *set); /* NULL is legal */

#endif
