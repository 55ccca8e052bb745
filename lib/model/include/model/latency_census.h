/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A summary of a latency matrix: the number of pairs in each state, the worst pairs, and the hosts that no other host
 * reaches. The matrix may be private or live.
 */
#ifndef MODEL_LATENCY_CENSUS_H
#define MODEL_LATENCY_CENSUS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <base/ns.h>
#include <model/latency_matrix.h>

enum { LATENCY_STATES = LATENCY_STATE_STALE + 1, LATENCY_WORST = 10 };

struct latency_census {
	uint64_t pairs, by_state[LATENCY_STATES];
	uint64_t disturbed;                        /* measured pairs with more than 1 % disturbed samples */
	struct ns oldest, newest;                  /* ages of the pairs that were seen first and last */
	bool blind;                                /* pairs were seen, but all of them are stale now */
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
