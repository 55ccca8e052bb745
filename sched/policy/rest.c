/* SPDX-License-Identifier: BSD-3-Clause */
#include "rest_priv.h"

#include <stdlib.h>
#include <string.h>

#include "policy_priv.h"

enum { COVER_AT_FIRST = 64 };

/* So many slots at this cost. */
struct cost_step {
	int32_t cost;
	uint32_t slots;
};

/* The cheapest free slots of a rack, seen from one machine. */
struct cheapest_slots {
	uint64_t round; /* in which they were free; of another one they say nothing */
	struct cost_step *steps;
	uint32_t count, room; /* of steps, ascending */
};

struct rest_costs {
	const struct cost_layout *layout;
	struct cheapest_slots **of_curve; /* [curve_count][machines] */
	int32_t curve_count;
	int64_t cover;  /* slots that are kept of each rack: enough for the largest job so far */
	uint16_t *cost; /* [columns of the largest rack] scratch */
	struct cost_step steps[COST_MAXIMUM + 2];
};

struct rest_costs *rest_costs_create(const struct cost_layout *layout)
{
	struct rest_costs *costs = calloc(1, sizeof *costs);
	uint32_t most_columns = 0;

	if (!costs)
		return NULL;
	for (uint32_t r = 0; r < layout->rack_count; r++) {
		uint32_t columns = layout->rack_first[r + 1] - layout->rack_first[r];

		most_columns = columns > most_columns ? columns : most_columns;
	}
	costs->layout = layout;
	costs->cover = COVER_AT_FIRST;
	costs->cost = calloc((size_t)most_columns + 1, sizeof *costs->cost);
	if (!costs->cost) {
		free(costs);
		return NULL;
	}
	return costs;
}

void rest_costs_destroy(struct rest_costs *costs)
{
	if (!costs)
		return;
	for (int32_t k = 0; k < costs->curve_count; k++) {
		for (uint32_t m = 0; m < costs->layout->cluster->machine_count; m++)
			free(costs->of_curve[k][m].steps);
		free(costs->of_curve[k]);
	}
	free(costs->of_curve);
	free(costs->cost);
	free(costs);
}

/* What the steps cost; tasks beyond them cost `beyond` each. */
static int64_t cost_of_tasks(const struct cost_step *steps, uint32_t count, int64_t tasks, int64_t beyond)
{
	int64_t total = 0;

	for (uint32_t i = 0; i < count && tasks > 0; i++) {
		int64_t taken = steps[i].slots < tasks ? steps[i].slots : tasks;

		total += taken * steps[i].cost;
		tasks -= taken;
	}
	return total + tasks * beyond;
}

int64_t rest_cost_bound(const struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root,
			int64_t tasks)
{
	const struct rest_costs *costs = placer->rest;
	int32_t curve = placer->curve_of_job[job];
	const struct cheapest_slots *kept = curve < costs->curve_count ? &costs->of_curve[curve][root] : NULL;

	if (!kept || kept->count == 0 || kept->round != flownet_rounds(net))
		return tasks * placer->policy->least_cost;
	return cost_of_tasks(kept->steps, kept->count, tasks, kept->steps[kept->count - 1].cost);
}

/* The cheapest free slots for `tasks` and, for those without one, COST_MAXIMUM into costs->steps; how many steps. */
static uint32_t find_cheapest(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root,
			      int64_t tasks)
{
	struct rest_costs *costs = placer->rest;
	const struct cost_layout *layout = costs->layout;
	uint32_t rack = layout->cluster->machines[root].rack, first = layout->rack_first[rack], count = 0;
	int64_t slots_at[COST_MAXIMUM + 1] = {0};

	placer->policy->rack(placer, job, root, rack, costs->cost);
	for (uint32_t c = first; c < layout->rack_first[rack + 1]; c++) {
		uint32_t machine = layout->machine_of_column[c];
		int32_t slots = machine == COST_NO_MACHINE ? 0 : flownet_free(net, machine);

		if (slots > 0)
			slots_at[costs->cost[c - first]] += slots - (machine == root);
	}
	for (int32_t cost = placer->policy->least_cost; cost <= COST_MAXIMUM && tasks > 0; cost++) {
		int64_t taken = slots_at[cost] < tasks ? slots_at[cost] : tasks;

		if (taken > 0)
			costs->steps[count++] = (struct cost_step){cost, (uint32_t)taken};
		tasks -= taken;
	}
	if (tasks > 0)
		costs->steps[count++] = (struct cost_step){COST_MAXIMUM, (uint32_t)tasks};
	return count;
}

static int reserve_curve(struct rest_costs *costs, int32_t curve)
{
	while (costs->curve_count <= curve) {
		struct cheapest_slots **larger =
			reallocarray(costs->of_curve, (size_t)costs->curve_count + 1, sizeof *larger);

		if (!larger)
			return -1;
		costs->of_curve = larger;
		larger[costs->curve_count] = calloc((size_t)costs->layout->cluster->machine_count + 1, sizeof **larger);
		if (!larger[costs->curve_count])
			return -1;
		costs->curve_count++;
	}
	return 0;
}

/* Without the memory to keep them the bound stays what it was: that costs time alone. */
static void keep(struct rest_costs *costs, int32_t curve, uint32_t root, uint64_t round, uint32_t count)
{
	struct cheapest_slots *kept;

	if (reserve_curve(costs, curve) != 0)
		return;
	kept = &costs->of_curve[curve][root];
	if (kept->room < count) {
		struct cost_step *larger = reallocarray(kept->steps, (size_t)count + count / 2, sizeof *larger);

		if (!larger)
			return;
		kept->steps = larger;
		kept->room = count + count / 2;
	}
	memcpy(kept->steps, costs->steps, count * sizeof *kept->steps);
	kept->count = count;
	kept->round = round;
}

int64_t rest_cost(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root, int64_t tasks)
{
	struct rest_costs *costs = placer->rest;
	uint32_t count;

	while (costs->cover < tasks)
		costs->cover *= 2; /* jobs that grow one by one are no reason to look again for each */
	count = find_cheapest(placer, net, job, root, costs->cover);
	keep(costs, placer->curve_of_job[job], root, flownet_rounds(net), count);
	return cost_of_tasks(costs->steps, count, tasks, 0);
}
