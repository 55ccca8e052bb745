/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recorded round trips as series for a simulation. A text file (plain or gzip) has one value per line, in microseconds,
 * for each second; lines that begin with '#' are skipped. A file NAME.json is the output of `nomora mesh history
 * --json` for one pair (nomora.mesh_history/1): the p99 of a window is the value of each second since the previous
 * window. In a folder, files whose names begin with "rack", "pod" and "across" are for pairs of machines in one rack,
 * in one pod and beyond; their values are used as they are. A single file is for all distances, and its values are used
 * relative to their median. Read-only once read.
 *
 * A latency matrix (model/latency_matrix.h) may replace a file. The p99 of each measured pair is then a level, i.e. a
 * series of one value; of more than RTT_SERIES_LEVELS pairs, quantiles are the levels. If it is a live matrix that
 * knows its hosts' racks, each distance gets the levels of its own pairs, which are used as they are.
 */
#ifndef MODEL_RTT_SERIES_H
#define MODEL_RTT_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#include <base/error.h>
#include <base/file.h>

enum {
	RTT_SERIES_KINDS = 3,    /* rack, pod, across */
	RTT_SERIES_SECONDS = 60, /* minimum length of a series */
	RTT_SERIES_LEVELS = 42,  /* maximum for each distance; the paper has 6 traces of 7 days */
};

struct rtt_series {
	float *us;    /* [count], above 0 */
	size_t count; /* 1: a level, about which the round trip varies */
	float median_us;
};

struct rtt_series_set {
	struct rtt_series *items[RTT_SERIES_KINDS];
	size_t counts[RTT_SERIES_KINDS], capacities[RTT_SERIES_KINDS];
	bool relative; /* values are relative to median_us, which for levels is the median of all pairs */
};

/*
 * Reads one series. Returns 0, or -errno with err set "file:line: ...": a gap, not a number, a value not above 0, too
 * few values.
 */
int rtt_series_parse(struct rtt_series *series, struct file_lines *lines, struct error *err);

/*
 * As rtt_series_parse(), from nomora.mesh_history/1. Refuses too few points, time that goes backwards, and more than an
 * hour without a round trip.
 */
int rtt_series_parse_history(struct rtt_series *series, const char *name, const char *text, size_t bytes,
			     struct error *err);

/* Reads a folder or a file. Returns NULL with err set on failure. */
struct rtt_series_set *rtt_series_read(const char *path, struct error *err);
void rtt_series_destroy(struct rtt_series_set *set); /* NULL is legal */

#endif
