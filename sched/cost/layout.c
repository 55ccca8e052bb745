/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/cost/layout.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns the number of columns for this number of machines. */
static uint32_t padded(uint32_t machines)
{
	return (machines + COST_LANES - 1) / COST_LANES * COST_LANES;
}

/* Grows *items from `old` to `count` items; every byte of the new items is set to `fill`. */
static int extend(uint32_t **items, size_t old, size_t count, int fill)
{
	uint32_t *larger = reallocarray(*items, count, sizeof *larger);

	if (!larger)
		return -ENOMEM;
	memset(larger + old, fill, (count - old) * sizeof *larger);
	*items = larger;
	return 0;
}

static int reserve_machine(struct cost_layout *layout, uint32_t machine)
{
	size_t capacity = layout->machine_capacity ? layout->machine_capacity : 64;

	while (capacity <= machine)
		capacity *= 2;
	if (capacity != layout->machine_capacity) {
		if (extend(&layout->column_of_machine, layout->machine_capacity, capacity, 0xff) != 0)
			return -ENOMEM;
		layout->machine_capacity = capacity;
	}
	if (machine >= layout->machine_count)
		layout->machine_count = machine + 1;
	return 0;
}

/* Creates the racks up to this one. New racks have no columns. */
static int reserve_rack(struct cost_layout *layout, uint32_t rack)
{
	size_t capacity = layout->rack_capacity ? layout->rack_capacity : 16;

	while (capacity <= rack)
		capacity *= 2;
	if (capacity != layout->rack_capacity) {
		if (extend(&layout->rack_first, layout->rack_capacity ? layout->rack_capacity + 1 : 0, capacity + 1,
			   0) != 0 ||
		    extend(&layout->rack_machines, layout->rack_capacity, capacity, 0) != 0 ||
		    extend(&layout->rack_used, layout->rack_capacity, capacity, 0) != 0)
			return -ENOMEM;
		layout->rack_capacity = capacity;
	}
	while (layout->rack_count <= rack)
		layout->rack_first[++layout->rack_count] = layout->column_count;
	return 0;
}

/* Widens the rack to `columns` columns, and moves the columns of the racks after it. Returns 0 or -ENOMEM. */
static int widen_rack(struct cost_layout *layout, uint32_t rack, uint32_t columns)
{
	uint32_t old_end = layout->rack_first[rack + 1];
	uint32_t added = columns - (old_end - layout->rack_first[rack]), after = layout->column_count - old_end;

	if (layout->column_count + added > layout->column_capacity) {
		size_t capacity = (size_t)(layout->column_count + added) + (layout->column_count + added) / 4;

		if (extend(&layout->machine_of_column, layout->column_count, capacity, 0xff) != 0)
			return -ENOMEM;
		layout->column_capacity = capacity;
	}
	memmove(layout->machine_of_column + old_end + added, layout->machine_of_column + old_end,
		after * sizeof *layout->machine_of_column);
	memset(layout->machine_of_column + old_end, 0xff, added * sizeof *layout->machine_of_column);
	layout->column_count += added;
	for (uint32_t r = rack + 1; r <= layout->rack_count; r++)
		layout->rack_first[r] += added;
	for (uint32_t c = old_end + added; c < layout->column_count; c++) {
		if (layout->machine_of_column[c] != COST_NO_MACHINE)
			layout->column_of_machine[layout->machine_of_column[c]] = c;
	}
	layout->moves += after > 0;
	return 0;
}

int cost_layout_add(struct cost_layout *layout, uint32_t machine)
{
	const struct cluster *cluster = layout->cluster;
	uint32_t rack, column, end;

	if (machine >= cluster->machine_count || !cluster->machines[machine].name)
		return -EINVAL;
	rack = cluster->machines[machine].rack;
	if (reserve_machine(layout, machine) != 0 || reserve_rack(layout, rack) != 0)
		return -ENOMEM;
	if (layout->column_of_machine[machine] != COST_NO_COLUMN)
		return -EINVAL;
	column = layout->rack_first[rack];
	end = column + layout->rack_used[rack];
	if (!cost_layout_has_holes(layout, rack)) {
		uint32_t columns = layout->rack_first[rack + 1] - column;

		if (layout->rack_used[rack] == columns &&
		    widen_rack(layout, rack, padded(columns + columns / 4 + 1)) != 0)
			return -ENOMEM;
		column = end;
		layout->rack_used[rack]++;
	}
	while (layout->machine_of_column[column] != COST_NO_MACHINE)
		column++;
	layout->machine_of_column[column] = machine;
	layout->column_of_machine[machine] = column;
	layout->rack_machines[rack]++;
	return 0;
}

void cost_layout_remove(struct cost_layout *layout, uint32_t machine)
{
	uint32_t rack = layout->cluster->machines[machine].rack, first = layout->rack_first[rack];

	layout->machine_of_column[layout->column_of_machine[machine]] = COST_NO_MACHINE;
	layout->column_of_machine[machine] = COST_NO_COLUMN;
	layout->rack_machines[rack]--;
	while (layout->rack_used[rack] > 0 &&
	       layout->machine_of_column[first + layout->rack_used[rack] - 1] == COST_NO_MACHINE)
		layout->rack_used[rack]--;
}

/* Makes racks wide enough for all their machines, so that adding machines moves no column. */
static int make_racks(struct cost_layout *layout)
{
	const struct cluster *cluster = layout->cluster;

	if (reserve_rack(layout, cluster->rack_count) != 0)
		return -ENOMEM;
	layout->rack_count = cluster->rack_count;
	for (uint32_t r = 0; r < cluster->rack_count; r++) {
		layout->rack_first[r] = layout->column_count;
		layout->column_count += padded(cluster->racks[r].machine_count);
	}
	layout->rack_first[cluster->rack_count] = layout->column_count;
	layout->column_capacity = layout->column_count;
	return extend(&layout->machine_of_column, 0, (size_t)layout->column_count + 1, 0xff);
}

struct cost_layout *cost_layout_create(const struct cluster *cluster)
{
	struct cost_layout *layout = calloc(1, sizeof *layout);
	int code = layout ? 0 : -ENOMEM;

	if (layout)
		layout->cluster = cluster;
	if (code == 0)
		code = make_racks(layout);
	for (uint32_t m = 0; m < cluster->machine_count && code == 0; m++) {
		if (cluster->machines[m].name)
			code = cost_layout_add(layout, m);
	}
	if (code == 0)
		return layout;
	cost_layout_destroy(layout);
	errno = ENOMEM;
	return NULL;
}

void cost_layout_destroy(struct cost_layout *layout)
{
	if (!layout)
		return;
	free(layout->rack_first);
	free(layout->rack_machines);
	free(layout->rack_used);
	free(layout->machine_of_column);
	free(layout->column_of_machine);
	free(layout);
}
