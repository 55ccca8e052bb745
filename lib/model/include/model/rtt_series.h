/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recorded round trips as series for a simulation. A text file (plain or gzip) has one line per second, with the round
 * trip in microseconds; lines that begin with '#' are skipped. A file NAME.json is the output of `nomora mesh history
 * --json` for one pair (nomora.mesh_history/1): the p99 of a window is the value of each second since the previous
 * window. In a folder, files whose names begin with "rack", "pod" and "across" are for pairs of machines in one rack,
 * in one pod and in different pods (the three distances); the values are used unchanged. A single file is for all
 * distances: its values are divided by their median, and show only how round trips vary. Read-only once read.
 *
 * A latency matrix (model/latency_matrix.h) may replace a file. The p99 of each measured pair is then a level, i.e. a
 * series of one value; if there are more than RTT_SERIES_LEVELS pairs, the levels are this number of quantiles of the
 * p99. If the file is a live matrix that contains the racks of its hosts, the pairs at each distance give the levels of
 * that distance, which are used unchanged.
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
	RTT_SERIES_LEVELS = 42,  /* maximum number of levels for each distance; the paper has 6 traces of 7 days */
};

struct rtt_series {
	float *us;    /* [count], above 0 */
	size_t count; /* number of values; 1: a level, about which the round trip varies */
	float median_us;
};

struct rtt_series_set {
	struct rtt_series *items[RTT_SERIES_KINDS];
	size_t counts[RTT_SERIES_KINDS], capacities[RTT_SERIES_KINDS];
	bool relative; /* values are relative to median_us, which for levels is the median of all pairs */
};

/*
 * Reads one series. Returns 0, or -errno with err set "file:line: ...". Refuses a line that is blank or not a number, a
 * value below 0.001, and fewer than RTT_SERIES_SECONDS values.
 */
int rtt_series_parse(struct rtt_series *series, struct file_lines *lines, struct error *err);

/*
 * As rtt_series_parse(), from nomora.mesh_history/1. Refuses fewer than RTT_SERIES_SECONDS values, time that goes
 * backwards, and more than an hour without a round trip.
 */
int rtt_series_parse_history(struct rtt_series *series, const char *name, const char *text, size_t bytes,
			     struct error *err);

/* Reads a folder or a file. Returns NULL with err set on failure. */
struct rtt_series_set *rtt_series_read(const char *path, struct error *err);
void rtt_series_destroy(struct rtt_series_set *set); /* NULL is legal */

#endif
