/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a person wants to know of a mesh at one glance: how many pairs are in which state, the worst of them, and hosts
 * that nobody reaches. For private and live matrices.
 */
#ifndef MODEL_LATENCY_CENSUS_H
#define MODEL_LATENCY_CENSUS_H

#include <stddef.h>
#include <stdint.h>

#include <base/ns.h>
#include <model/latency_matrix.h>

enum { LATENCY_STATES = LATENCY_STATE_STALE + 1, LATENCY_WORST = 10 };

struct latency_census {
	uint64_t pairs, by_state[LATENCY_STATES];
	uint64_t disturbed;                        /* measured pairs with more than 1 % disturbed samples */
	struct ns oldest;                          /* age of the oldest measured or unreachable pair */
	struct latency_entry worst[LATENCY_WORST]; /* measured pairs, the largest first */
	size_t worst_count;
	uint32_t *lost_hosts; /* active ones that every pair to them found unreachable (two at least); free with
				 latency_census_free() */
	size_t lost_count;
};

/* By this statistic, at `now`; pairs older than max_age (0 = any) are stale. 0 or -ENOMEM. */
int latency_census_take(const struct latency_matrix *matrix, enum latency_statistic statistic, struct ns now,
			struct ns max_age, struct latency_census *census);
void latency_census_free(struct latency_census *census);

#endif
