/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/cost/layout.h>

#include <errno.h>
#include <stdlib.h>

/* Number of columns that so many machines take. */
static uint32_t padded(uint32_t machines)
{
	return (machines + COST_LANES - 1) / COST_LANES * COST_LANES;
}

static int fill(struct cost_layout *layout, const struct cluster *cluster)
{
	uint32_t *next = malloc((cluster->rack_count + 1) * sizeof *next);

	if (!next)
		return -ENOMEM;
	layout->rack_first[0] = 0;
	for (uint32_t r = 0; r < cluster->rack_count; r++) {
		next[r] = layout->rack_first[r];
		layout->rack_first[r + 1] = next[r] + padded(cluster->racks[r].machine_count);
	}
	for (uint32_t c = 0; c < layout->column_count; c++)
		layout->machine_of_column[c] = COST_NO_MACHINE;
	for (uint32_t m = 0; m < cluster->machine_count; m++) {
		uint32_t column = next[cluster->machines[m].rack]++;

		layout->machine_of_column[column] = m;
		layout->column_of_machine[m] = column;
	}
	free(next);
	return 0;
}

struct cost_layout *cost_layout_create(const struct cluster *cluster)
{
	struct cost_layout *layout = calloc(1, sizeof *layout);

	if (!layout)
		return NULL;
	layout->cluster = cluster;
	layout->rack_count = cluster->rack_count;
	for (uint32_t r = 0; r < cluster->rack_count; r++)
		layout->column_count += padded(cluster->racks[r].machine_count);
	layout->rack_first = calloc((size_t)cluster->rack_count + 1, sizeof *layout->rack_first);
	layout->machine_of_column = calloc((size_t)layout->column_count + 1, sizeof *layout->machine_of_column);
	layout->column_of_machine = calloc((size_t)cluster->machine_count + 1, sizeof *layout->column_of_machine);
	if (!layout->rack_first || !layout->machine_of_column || !layout->column_of_machine ||
	    fill(layout, cluster) != 0) {
		cost_layout_destroy(layout);
		errno = ENOMEM;
		return NULL;
	}
	return layout;
}

void cost_layout_destroy(struct cost_layout *layout)
{
	if (!layout)
		return;
	free(layout->rack_first);
	free(layout->machine_of_column);
	free(layout->column_of_machine);
	free(layout);
}
