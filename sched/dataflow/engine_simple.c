/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Baselines: the placements of Storm, Flink and R-Storm, and random ones. None considers the capacity or the load of
 * links.
 */
#include <errno.h>
#include <stdlib.h>

#include "decision.h"

void engine_place_random(struct decision *decision)
{
	for (uint32_t t = 0; t < decision->job->task_count; t++)
		if (!decision->pinned[t])
			decision_put(decision, t, decision_random_host(decision));
}

/* Storm's default scheduler (EvenScheduler): round robin over the hosts with free slots. */
void engine_place_storm(struct decision *decision)
{
	uint32_t at = (uint32_t)rng_below(&decision->rng, decision->host_count);

	for (uint32_t t = 0; t < decision->job->task_count; t++) {
		if (decision->pinned[t])
			continue;
		while (decision_free_slots(decision, decision->hosts[at]) == 0)
			at = (at + 1) % decision->host_count;
		decision_put(decision, t, decision->hosts[at]);
		at = (at + 1) % decision->host_count;
	}
}

/*
 * Flink's cluster.evenly-spread-out-slots: each task goes to the host with the most free slots; ties are broken at
 * random. Flink compares the share of the slots in use, which gives the same order if all hosts have equally many
 * slots.
 */
void engine_place_flink(struct decision *decision)
{
	for (uint32_t t = 0; t < decision->job->task_count; t++) {
		uint32_t start = (uint32_t)rng_below(&decision->rng, decision->host_count), best = UINT32_MAX, most = 0;

		if (decision->pinned[t])
			continue;
		for (uint32_t i = 0; i < decision->host_count; i++) {
			uint32_t host = decision->hosts[(start + i) % decision->host_count];

			if (decision_free_slots(decision, host) > most) {
				most = decision_free_slots(decision, host);
				best = host;
			}
		}
		decision_put(decision, t, best);
	}
}

/*
 * Of the hosts with a free slot, returns the one nearest to the reference host; ties are broken at random. distance[]:
 * by node, number of links from the reference host.
 */
static uint32_t nearest(struct decision *decision, uint32_t reference, const uint32_t *distance)
{
	uint32_t start = (uint32_t)rng_below(&decision->rng, decision->host_count), best = UINT32_MAX;

	if (decision_free_slots(decision, reference) > 0)
		return reference;
	for (uint32_t i = 0; i < decision->host_count; i++) {
		uint32_t host = decision->hosts[(start + i) % decision->host_count];

		if (decision_free_slots(decision, host) > 0 && (best == UINT32_MAX || distance[host] < distance[best]))
			best = host;
	}
	return best;
}

/*
 * Returns the reference host: the host of the last pinned task or, if no task is pinned, a random host with a free
 * slot. Writes each node's distance from it to distance[].
 */
static uint32_t choose_reference(struct decision *decision, uint32_t *distance)
{
	uint32_t reference = UINT32_MAX;

	for (uint32_t t = 0; t < decision->job->task_count; t++)
		if (decision->pinned[t] && decision->job->hosts[t] != DATAFLOW_NOWHERE)
			reference = decision->job->hosts[t];
	if (reference == UINT32_MAX)
		reference = decision_random_host(decision);
	if (network_distances(decision->network, reference, distance) < 0)
		decision->code = -ENOMEM;
	return reference;
}

/*
 * R-Storm (Peng et al. 2015): places tasks in breadth-first order from the sources, each as near as possible to the
 * reference host (see choose_reference()).
 */
void engine_place_rstorm(struct decision *decision)
{
	const struct dataflow_graph *graph = decision->graph;
	uint32_t tasks = graph->task_count, head = 0, tail = 0, reference = UINT32_MAX;
	uint32_t *queue = malloc((tasks + 1) * sizeof *queue);
	uint32_t *distance = malloc(decision->network->topology->node_count * sizeof *distance + 1);
	bool *seen = calloc(tasks + 1, sizeof *seen), all_pinned = true;

	for (uint32_t t = 0; t < tasks; t++)
		all_pinned = all_pinned && decision->pinned[t];
	if (!queue || !seen || !distance)
		decision->code = -ENOMEM;
	else if (!all_pinned)
		reference = choose_reference(decision, distance);
	for (uint32_t s = 0; decision->code == 0 && s < graph->source_count; s++) {
		queue[tail++] = graph->sources[s];
		seen[graph->sources[s]] = true;
	}
	while (decision->code == 0 && head < tail) {
		uint32_t task = queue[head++];

		for (uint32_t f = graph->out[task]; f < graph->out[task + 1]; f++)
			if (!seen[graph->flows[f].to]) {
				seen[graph->flows[f].to] = true;
				queue[tail++] = graph->flows[f].to;
			}
		if (decision->job->hosts[task] == DATAFLOW_NOWHERE)
			decision_put(decision, dataflow_slot_leader(decision->job, task),
				     nearest(decision, reference, distance));
	}
	/* Places the tasks that no source reaches. */
	for (uint32_t t = 0; decision->code == 0 && t < tasks; t++)
		if (decision->job->hosts[t] == DATAFLOW_NOWHERE)
			decision_put(decision, dataflow_slot_leader(decision->job, t),
				     nearest(decision, reference, distance));
	free(queue);
	free(distance);
	free(seen);
}
