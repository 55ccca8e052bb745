/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A latency matrix as a table for people, and its summary. The hosts are in order of rack, then of name in version
 * order (h2 before h10). A host's place is its position in this order, from 0.
 */
#ifndef MODEL_LATENCY_TABLE_H
#define MODEL_LATENCY_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <base/ns.h>
#include <base/progress.h>
#include <model/cluster.h>
#include <model/latency_matrix.h>

struct latency_table {
	struct latency_matrix *matrix;
	struct cluster *cluster; /* NULL = not given: all hosts are in one rack, "" */
	uint32_t count;
	uint32_t *hosts; /* by place: the host's index in the matrix */
	int64_t *racks;  /* by place: the host's rack, -1 = the host is not in the cluster */
};

/* Reads both files (cluster_path and bar may be NULL). 0 or -errno with err set. */
int latency_table_read(struct latency_table *order, const char *matrix_path, const char *cluster_path,
		       struct progress *bar, struct error *err);
void latency_table_free(struct latency_table *order);

const char *latency_table_name(const struct latency_table *order, uint32_t place);
const char *latency_table_rack(const struct latency_table *order, uint32_t place);
/*
 * Returns the statistic of the pair from the host at place `row` to the host at place `column`; NAN if the pair was not
 * measured or has no answer.
 */
double latency_table_value(const struct latency_table *order, uint32_t row, uint32_t column,
			   enum latency_statistic statistic);

/* Writes nomora.mesh/1 to a file ("-" = stdout): every pair, and a summary. Returns 0, or -errno with err set. */
int latency_table_write_json(const struct latency_table *order, const char *path, struct error *err);
/*
 * Writes a square CSV: the first line and the first column are names, cells of pairs that were not measured are empty.
 */
int latency_table_write_table(const struct latency_table *order, enum latency_statistic statistic, const char *path,
			      struct error *err);

/* Without a cluster, all hosts are in the same rack. The rack of a host that is not in the cluster is unknown. */
enum latency_relation { LATENCY_SAME_RACK, LATENCY_OTHER_RACK, LATENCY_UNKNOWN_RACK, LATENCY_RELATIONS };

/*
 * Figures over the pairs of one relation; pairs of a host with itself do not count. The times are NAN if no pair has an
 * answer.
 */
struct latency_group {
	uint64_t pairs, silent, samples;                                /* silent: pairs without an answer */
	double lowest_p50_us, p50_us, highest_p50_us, p99_us, worst_us; /* p50_us, p99_us: medians; worst_us: maximum */
	double loss; /* mean over the pairs, 0..1; NAN without pairs */
};

/* cluster may be NULL. 0 or -ENOMEM. */
int latency_summarise(const struct latency_matrix *matrix, const struct cluster *cluster,
		      struct latency_group groups[LATENCY_RELATIONS]);

/* The figures of a pair of hosts, or of two racks, over time. Plain data; free items with free(). */

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

/*
 * A summary of a latency matrix: the number of pairs in each state, the worst pairs, and the hosts that no other host
 * reaches. The matrix may be private or live.
 */

enum { LATENCY_STATES = LATENCY_STATE_STALE + 1, LATENCY_WORST = 10 };

struct latency_census {
	uint64_t pairs, by_state[LATENCY_STATES];
	uint64_t disturbed;       /* measured pairs with more than 1 % disturbed samples */
	struct ns oldest, newest; /* ages of the pairs that were seen first and last */
	bool blind;               /* pairs were seen, but none of them for half of max_age, or all are stale */
	struct ns max_age; /* of what counts as known: half of that given if the mesh is blind, so that all is stale */
	struct latency_entry worst[LATENCY_WORST]; /* measured pairs, the largest value of the statistic first */
	size_t worst_count;
	/*
	 * Indices of active hosts that are the destination of at least two unreachable pairs and of no measured pair;
	 * free with latency_census_free().
	 */
	uint32_t *lost_hosts;
	size_t lost_count;
};

/*
 * Takes a census at `now`. `statistic` orders the worst pairs; pairs older than max_age (0 = any age) are stale.
 * Returns 0 or -ENOMEM.
 */
int latency_census_take(const struct latency_matrix *matrix, enum latency_statistic statistic, struct ns now,
			struct ns max_age, struct latency_census *census);
void latency_census_free(struct latency_census *census);

/*
 * Output for a live matrix: the first function prints a table, with ages at `now`; the second one returns
 * nomora.mesh_top/1, or NULL if out of memory.
 */
void latency_census_print(const struct latency_census *census, const struct latency_matrix *live, struct ns now,
			  FILE *out);
json_t *latency_census_to_json(const struct latency_census *census, const struct latency_matrix *live);

#endif
