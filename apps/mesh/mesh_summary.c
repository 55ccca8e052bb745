/* SPDX-License-Identifier: BSD-3-Clause */
#include "mesh_summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct collection {
	double *p50_us, *p99_us; /* of the pairs with an answer */
	size_t answered;
	double worst_us, loss;
	uint64_t pairs, samples;
};

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts. */
static double median(double *values, size_t count)
{
	if (count == 0)
		return NAN;
	qsort(values, count, sizeof *values, compare_doubles);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void collect(struct collection *collection, const struct latency_entry *entry)
{
	collection->pairs++;
	collection->samples += entry->samples;
	collection->loss += entry->loss;
	if (entry->samples == 0)
		return;
	collection->p50_us[collection->answered] = entry->rtt_p50_us;
	collection->p99_us[collection->answered++] = entry->rtt_p99_us;
	collection->worst_us = fmax(collection->worst_us, entry->rtt_max_us);
}

static void finish(struct collection *collection, struct mesh_group *group)
{
	size_t answered = collection->answered;

	*group = (struct mesh_group){
		.pairs = collection->pairs,
		.silent = collection->pairs - answered,
		.samples = collection->samples,
		.p50_us = median(collection->p50_us, answered),
		.p99_us = median(collection->p99_us, answered),
		.worst_us = answered ? collection->worst_us : NAN,
		.loss = collection->pairs ? collection->loss / (double)collection->pairs : NAN,
	};
	group->lowest_p50_us = answered ? collection->p50_us[0] : NAN;
	group->highest_p50_us = answered ? collection->p50_us[answered - 1] : NAN;
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
