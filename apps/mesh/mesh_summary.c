/* SPDX-License-Identifier: BSD-3-Clause */
#include "mesh_summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 16, DIGITS = 1 << DIGIT_BITS };

struct collection {
	double *p50_us, *p99_us; /* of the pairs with an answer */
	size_t answered;
	double lowest_p50_us, highest_p50_us, worst_us, loss;
	uint64_t pairs, samples;
};

/*
 * The value of this rank, from 0, of values that are not negative: such doubles are in the order of their bits, and a
 * pass over them finds 16 bits of the answer. Linear whatever their order; sorting takes ten times as long for a
 * million.
 */
static double value_of_rank(const double *values, size_t count, size_t rank)
{
	static uint32_t counts[DIGITS];
	uint64_t known = 0, mask = 0;
	double value;

	for (int shift = 64 - DIGIT_BITS; shift >= 0; shift -= DIGIT_BITS) {
		uint64_t digit = 0;

		memset(counts, 0, sizeof counts);
		for (size_t i = 0; i < count; i++) {
			double value_or_0 = values[i] + 0.0; /* -0 is 0 */
			uint64_t bits;

			memcpy(&bits, &value_or_0, sizeof bits);
			if ((bits & mask) == known)
				counts[bits >> shift & (DIGITS - 1)]++;
		}
		for (; rank >= counts[digit]; digit++)
			rank -= counts[digit];
		known |= digit << shift;
		mask |= (uint64_t)(DIGITS - 1) << shift;
	}
	memcpy(&value, &known, sizeof value);
	return value;
}

static double median(const double *values, size_t count)
{
	double upper;

	if (count == 0)
		return NAN;
	upper = value_of_rank(values, count, count / 2);
	return count % 2 ? upper : (value_of_rank(values, count, count / 2 - 1) + upper) / 2;
}

static void collect(struct collection *collection, const struct latency_entry *entry)
{
	collection->pairs++;
	collection->samples += entry->samples;
	collection->loss += entry->loss;
	if (entry->samples == 0)
		return;
	collection->lowest_p50_us = fmin(collection->lowest_p50_us, entry->rtt_p50_us);
	collection->highest_p50_us = fmax(collection->highest_p50_us, entry->rtt_p50_us);
	collection->p50_us[collection->answered] = entry->rtt_p50_us;
	collection->p99_us[collection->answered++] = entry->rtt_p99_us;
	collection->worst_us = fmax(collection->worst_us, entry->rtt_max_us);
}

static void finish(struct collection *collection, struct mesh_group *group)
{
	size_t answered = collection->answered;

	*group = (struct mesh_group){
		.pairs = collection->pairs,
		.lowest_p50_us = collection->lowest_p50_us,
		.highest_p50_us = collection->highest_p50_us,
		.silent = collection->pairs - answered,
		.samples = collection->samples,
		.p50_us = median(collection->p50_us, answered),
		.p99_us = median(collection->p99_us, answered),
		.worst_us = answered ? collection->worst_us : NAN,
		.loss = collection->pairs ? collection->loss / (double)collection->pairs : NAN,
	};
}

/* Of each host of the matrix, -1 = the cluster does not have it. NULL: out of memory. */
static int64_t *find_racks(const struct latency_matrix *matrix, const struct cluster *cluster)
{
	size_t count = latency_matrix_hosts(matrix);
	int64_t *racks = calloc(count + 1, sizeof *racks);

	for (uint32_t host = 0; racks && cluster && host < count; host++) {
		int64_t machine = cluster_find_machine(cluster, latency_matrix_host(matrix, host));

		racks[host] = machine < 0 ? -1 : (int64_t)cluster->machines[machine].rack;
	}
	return racks;
}

static enum mesh_relation relation(int64_t rack, int64_t other)
{
	if (rack < 0 || other < 0)
		return MESH_UNKNOWN_RACK;
	return rack == other ? MESH_SAME_RACK : MESH_OTHER_RACK;
}

int mesh_summarise(const struct latency_matrix *matrix, const struct cluster *cluster,
		   struct mesh_group groups[MESH_RELATIONS])
{
	size_t count = latency_matrix_count(matrix);
	int64_t *racks = find_racks(matrix, cluster);
	double *times = calloc(2 * MESH_RELATIONS * count + 1, sizeof *times);
	struct collection collections[MESH_RELATIONS] = {0};
	int code = racks && times ? 0 : -ENOMEM;

	for (size_t i = 0; !code && i < MESH_RELATIONS; i++) {
		collections[i].lowest_p50_us = collections[i].highest_p50_us = NAN; /* fmin(), fmax() pass over it */
		collections[i].p50_us = times + 2 * i * count;
		collections[i].p99_us = times + (2 * i + 1) * count;
	}
	for (size_t i = 0; !code && i < count; i++) {
		const struct latency_entry *entry = latency_matrix_at(matrix, i);

		if (entry->source != entry->destination)
			collect(&collections[relation(racks[entry->source], racks[entry->destination])], entry);
	}
	for (size_t i = 0; !code && i < MESH_RELATIONS; i++)
		finish(&collections[i], &groups[i]);
	free(racks);
	free(times);
	return code;
}
