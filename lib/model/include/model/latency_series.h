/* SPDX-License-Identifier: BSD-3-Clause */
/* The figures of a pair of hosts, or of two racks, over time. Plain data; free items with free(). */
#ifndef MODEL_LATENCY_SERIES_H
#define MODEL_LATENCY_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <base/ns.h>
#include <model/latency_matrix.h>

struct latency_point {
	struct ns at;                              /* wall clock */
	double rtt_p50_us, rtt_p99_us, rtt_max_us; /* NAN without samples; for racks: the maximum over their pairs */
	double loss;                               /* share 0..1 of the probes sent; only for a pair of hosts */
	uint64_t count;                            /* for hosts: samples; for racks: measured pairs */
	uint8_t state;                             /* enum latency_state */
};

struct latency_series {
	struct latency_point *items; /* by time */
	size_t count, capacity;
};

/* Prints a line for each point. `racks`: the points are of two racks, else of a pair of hosts. */
void latency_series_print(const struct latency_series *series, bool racks, FILE *out);
/* Returns nomora.mesh_history/1, or NULL if out of memory. */
json_t *latency_series_to_json(const struct latency_series *series, bool racks, const char *from, const char *to);

#endif
