/* SPDX-License-Identifier: BSD-3-Clause */
#include "pages_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void pages_ungroup(struct grouping *grouping)
{
	free(grouping->names);
	free(grouping->group_of);
}

/* Natural order: p2 before p10. */
static int compare_names(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts the pods by name. */
int pages_group_by_pod(const struct latency_matrix *live, struct grouping *grouping)
{
	uint32_t racks = latency_live_racks(live);

	*grouping = (struct grouping){.racks = racks,
				      .names = calloc(racks + 1, sizeof *grouping->names),
				      .group_of = calloc(racks + 1, sizeof *grouping->group_of)};
	if (!grouping->names || !grouping->group_of)
		return -ENOMEM;
	for (uint32_t rack = 0; rack < racks; rack++)
		grouping->names[rack] = latency_live_pod_name(live, rack);
	qsort(grouping->names, racks, sizeof *grouping->names, compare_names);
	for (uint32_t i = 0; i < racks; i++)
		if (i == 0 || strcmp(grouping->names[i], grouping->names[grouping->count - 1]) != 0)
			grouping->names[grouping->count++] = grouping->names[i];
	for (uint32_t rack = 0; rack < racks; rack++) {
		const char *pod = latency_live_pod_name(live, rack);

		while (strcmp(grouping->names[grouping->group_of[rack]], pod) != 0)
			grouping->group_of[rack]++;
	}
	return 0;
}

double pages_rack_value(const struct mesh_pages *pages, enum latency_statistic statistic, uint32_t from, uint32_t to)
{
	struct latency_maximum maximum;

	if (!latency_live_maximum(pages->live, from, to, &maximum) ||
	    (pages->max_age.v && ns_now_wall().v - maximum.updated_at.v > pages->max_age.v))
		return NAN;
	return latency_maximum_value(&maximum, statistic);
}

double *pages_group_values(const struct mesh_pages *pages, const struct grouping *grouping,
			   enum latency_statistic statistic)
{
	size_t count = (size_t)grouping->count * grouping->count;
	double *values = calloc(count + 1, sizeof *values);

	for (size_t i = 0; values && i < count; i++)
		values[i] = NAN;
	for (uint32_t from = 0; values && from < grouping->racks; from++)
		for (uint32_t to = 0; to < grouping->racks; to++) {
			double *value =
				&values[(size_t)grouping->group_of[from] * grouping->count + grouping->group_of[to]];

			*value = fmax(*value, pages_rack_value(pages, statistic, from, to));
		}
	return values;
}
