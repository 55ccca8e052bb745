/* SPDX-License-Identifier: BSD-3-Clause */
/* The different machines of a job's tasks, numbered from 0 ("places"), with the costs between them. */
#ifndef SCHED_GRAPH_PLACES_PRIV_H
#define SCHED_GRAPH_PLACES_PRIV_H

#include <sched/graph/order.h>

struct places {
	uint32_t count;
	uint32_t *machine; /* [count] in ascending order */
	int32_t *at;       /* [tasks] the task's place; -1: none */
	float *cost;       /* [count * count] symmetric; 0: not asked for yet; NULL: too many places to keep costs */
	graph_cost *ask;
	void *context;
};

int places_create(const struct graph_order *order, struct places *places); /* 0 or -ENOMEM */
void places_free(struct places *places);

static inline double places_ask(const struct places *places, uint32_t a, uint32_t b)
{
	return (places->ask(places->context, places->machine[a], places->machine[b]) +
		places->ask(places->context, places->machine[b], places->machine[a])) /
	       2;
}

static inline double places_cost(const struct places *places, int32_t a, int32_t b)
{
	float *kept = places->cost ? &places->cost[(size_t)a * places->count + (size_t)b] : NULL;

	if (!kept)
		return places_ask(places, (uint32_t)a, (uint32_t)b);
	if (*kept == 0)
		*kept = places->cost[(size_t)b * places->count + (size_t)a] =
			(float)places_ask(places, (uint32_t)a, (uint32_t)b);
	return *kept;
}

/* The sums over the edges between tasks that have places. */
struct graph_sum places_sum(const struct job_graph *graph, const struct places *places);

#endif
