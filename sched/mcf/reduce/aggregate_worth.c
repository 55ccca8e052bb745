/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides whether aggregation is worthwhile. Aggregation takes 60 ns per arc; solving a small dense network by the
 * simplex takes 100 ns per arc. So the decision is based on a sample, which takes 5 ns per arc. Aggregation needs
 * sources without incoming arcs, and either a single sink, as in scheduling networks, or sources that look alike.
 * Members of a group have all but a few arcs in common, so the sums of their arcs' hashes over a sample of the heads
 * are mostly equal.
 */
#include <stdlib.h>

#include "reduce_priv.h"

/* Average number of arcs from a source to the sampled heads. */
enum { ARCS_SAMPLED = 6 };
/*
 * Aggregation is worthwhile if, in the sample, more than 1 of SOURCES_PER_LIKENESS sources looks like an earlier
 * source. If fewer do, aggregation saves less time than it takes.
 */
enum { SOURCES_PER_LIKENESS = 16 };

struct sample {
	const struct mcf_problem *problem;
	bool *has_arcs_in; /* [nodes] */
	uint64_t *sum;     /* [nodes] sum of the hashes of the node's arcs to sampled heads; 0: it has no such arc */
	int32_t source_count, sink_count;
};

static uint64_t hash(uint64_t x)
{
	x = (x ^ (x >> 32)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 29)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 32);
}

static bool is_source(const struct sample *sample, int32_t node)
{
	return sample->problem->supply[node] > 0 && !sample->has_arcs_in[node];
}

static void count_ends(struct sample *sample)
{
	const struct mcf_problem *problem = sample->problem;

	for (int32_t a = 0; a < problem->arc_count; a++)
		sample->has_arcs_in[problem->head[a]] = true;
	for (int32_t v = 0; v < problem->node_count; v++) {
		sample->source_count += is_source(sample, v);
		sample->sink_count += problem->supply[v] < 0;
	}
}

static void sum_arcs(struct sample *sample)
{
	const struct mcf_problem *problem = sample->problem;
	uint32_t every = (uint32_t)(problem->arc_count / sample->source_count / ARCS_SAMPLED), limit;

	limit = every > 1 ? UINT32_MAX / every : UINT32_MAX;
	for (int32_t a = 0; a < problem->arc_count; a++) {
		uint32_t head = (uint32_t)problem->head[a];

		if (head * UINT32_C(0x9e3779b1) <= limit)
			sample->sum[problem->tail[a]] += hash(((uint64_t)head << 32) ^ (uint64_t)problem->cost[a]);
	}
}

/* Returns the number of sources whose sum equals that of an earlier one, or -1 if out of memory. */
static int32_t count_alike(const struct sample *sample)
{
	size_t room = 1024, alike = 0;
	uint64_t *table;

	while (room < 2 * (size_t)sample->source_count)
		room *= 2;
	table = calloc(room, sizeof *table);
	if (!table)
		return -1;
	for (int32_t v = 0; v < sample->problem->node_count; v++) {
		uint64_t sum = sample->sum[v];
		size_t at = (size_t)hash(sum) & (room - 1);

		if (!is_source(sample, v) || sum == 0)
			continue;
		while (table[at] != 0 && table[at] != sum)
			at = (at + 1) & (room - 1);
		alike += table[at] == sum;
		table[at] = sum;
	}
	free(table);
	return (int32_t)alike;
}

bool aggregation_is_worthwhile(const struct mcf_problem *problem)
{
	size_t nodes = (size_t)problem->node_count + 1;
	struct sample sample = {.problem = problem,
				.has_arcs_in = calloc(nodes, sizeof *sample.has_arcs_in),
				.sum = calloc(nodes, sizeof *sample.sum)};
	bool worthwhile = false;

	if (sample.has_arcs_in && sample.sum) {
		count_ends(&sample);
		worthwhile = sample.source_count > 1 && sample.sink_count == 1;
		if (sample.source_count > 1 && !worthwhile) {
			sum_arcs(&sample);
			worthwhile = count_alike(&sample) > sample.source_count / SOURCES_PER_LIKENESS;
		}
	}
	free(sample.has_arcs_in);
	free(sample.sum);
	return worthwhile;
}
