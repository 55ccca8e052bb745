/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/latency_summary.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/quantile.h>

struct collection {
	double *p50_us, *p99_us; /* of the pairs with an answer */
	size_t answered;
	double lowest_p50_us, highest_p50_us, worst_us, loss;
	uint64_t pairs, samples;
};

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

static void finish(struct collection *collection, struct latency_group *group)
{
	size_t answered = collection->answered;

	*group = (struct latency_group){
		.pairs = collection->pairs,
		.lowest_p50_us = collection->lowest_p50_us,
		.highest_p50_us = collection->highest_p50_us,
		.silent = collection->pairs - answered,
		.samples = collection->samples,
		.p50_us = quantile_median(collection->p50_us, answered),
		.p99_us = quantile_median(collection->p99_us, answered),
		.worst_us = answered ? collection->worst_us : NAN,
		.loss = collection->pairs ? collection->loss / (double)collection->pairs : NAN,
	};
}

/*
 * Returns the rack of each host of the matrix, -1 = the host is not in the cluster; or NULL if out of memory. Without a
 * cluster, all racks are 0.
 */
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

static enum latency_relation relation(int64_t rack, int64_t other)
{
	if (rack < 0 || other < 0)
		return LATENCY_UNKNOWN_RACK;
	return rack == other ? LATENCY_SAME_RACK : LATENCY_OTHER_RACK;
}

int latency_summarise(const struct latency_matrix *matrix, const struct cluster *cluster,
		      struct latency_group groups[LATENCY_RELATIONS])
{
	size_t count = latency_matrix_count(matrix);
	int64_t *racks = find_racks(matrix, cluster);
	double *times = calloc(2 * LATENCY_RELATIONS * count + 1, sizeof *times);
	struct collection collections[LATENCY_RELATIONS] = {0};
	int code = racks && times ? 0 : -ENOMEM;

	for (size_t i = 0; !code && i < LATENCY_RELATIONS; i++) {
		collections[i].lowest_p50_us = collections[i].highest_p50_us = NAN; /* fmin() and fmax() ignore NAN */
		collections[i].p50_us = times + 2 * i * count;
		collections[i].p99_us = times + (2 * i + 1) * count;
	}
	for (size_t i = 0; !code && i < count; i++) {
		const struct latency_entry *entry = latency_matrix_at(matrix, i);

		if (entry->source != entry->destination)
			collect(&collections[relation(racks[entry->source], racks[entry->destination])], entry);
	}
	for (size_t i = 0; !code && i < LATENCY_RELATIONS; i++)
		finish(&collections[i], &groups[i]);
	free(racks);
	free(times);
	return code;
}
