/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

enum {
	COVER_AT_FIRST = 64,
	RACK_TASKS = 64 /* up to this number of tasks, the bound of a rack is the least of its machines' */
};

/* `slots` free slots, all of this cost. */
struct cost_step {
	int32_t cost;
	uint32_t slots;
};

/* The cheapest free slots for a job with this curve and its root on a certain machine. */
struct cheapest_slots {
	struct cheapest_slots *next; /* next entry for the same machine, with another curve */
	int32_t curve;
	bool wide;                /* those of the cluster, not only of the root's rack */
	uint32_t count, room;     /* number of steps in use; number of allocated steps */
	struct cost_step steps[]; /* [room] in ascending order of cost */
};

/* The least of the bounds of a rack's machines, for a job with this curve. */
struct rack_least {
	struct rack_least *next; /* for the same rack, with another curve */
	int32_t curve;
	uint16_t cost[RACK_TASKS + 1]; /* by number of tasks */
};

/* A column of a rack, counted from the rack's first, with free slots. */
struct column_slots {
	uint32_t column;
	int32_t slots;
};

struct rest_costs {
	const struct cost_layout *layout;
	struct cheapest_slots **of_root; /* [root_count] by machine of the root: list of entries */
	uint32_t root_count;
	uint32_t *roots, used;       /* [root_count] list of the `used` machines that have entries */
	struct rack_least **of_rack; /* [rack_count] list of entries */
	uint32_t rack_count;
	uint64_t round;               /* the round in which the entries were computed; a new round drops them */
	int64_t cover;                /* number of slots to find in a rack: enough for the largest job so far */
	uint16_t *cost;               /* [columns of the largest rack] work space, as the rest */
	int64_t listed;               /* the rack whose columns with free slots are in columns[]; -1: none */
	struct column_slots *columns; /* [columns of the largest rack] `column_count` in use */
	uint32_t column_count;
	int64_t slots_at[COST_MAXIMUM + 1]; /* zero between calls */
	struct cost_step steps[COST_MAXIMUM + 1];
};

struct rest_costs *rest_costs_create(const struct cost_layout *layout)
{
	struct rest_costs *costs = calloc(1, sizeof *costs);

	if (!costs)
		return NULL;
	costs->layout = layout;
	costs->cover = COVER_AT_FIRST;
	costs->listed = -1;
	if (rest_costs_grow(costs) == 0)
		return costs;
	rest_costs_destroy(costs);
	return NULL;
}

int rest_costs_grow(struct rest_costs *costs)
{
	const struct cost_layout *layout = costs->layout;
	size_t machines = (size_t)layout->machine_count + 1;
	uint32_t most_columns = 0;

	rest_costs_forget(costs);
	for (uint32_t r = 0; r < layout->rack_count; r++) {
		uint32_t columns = layout->rack_first[r + 1] - layout->rack_first[r];

		most_columns = columns > most_columns ? columns : most_columns;
	}
	if (array_resize(&costs->cost, (size_t)most_columns + 1, sizeof *costs->cost) != 0 ||
	    array_resize(&costs->columns, (size_t)most_columns + 1, sizeof *costs->columns) != 0 ||
	    array_resize(&costs->of_rack, (size_t)layout->rack_count + 1, sizeof *costs->of_rack) != 0 ||
	    array_resize(&costs->roots, machines, sizeof *costs->roots) != 0 ||
	    array_resize(&costs->of_root, machines, sizeof *costs->of_root) != 0)
		return -ENOMEM;
	for (uint32_t r = costs->rack_count; r < layout->rack_count; r++)
		costs->of_rack[r] = NULL;
	costs->rack_count = layout->rack_count;
	for (uint32_t m = costs->root_count; m < layout->machine_count; m++)
		costs->of_root[m] = NULL;
	costs->root_count = layout->machine_count;
	return 0;
}

void rest_costs_forget(struct rest_costs *costs)
{
	while (costs->used > 0) {
		struct cheapest_slots **first = &costs->of_root[costs->roots[--costs->used]];

		while (*first) {
			struct cheapest_slots *kept = *first;

			*first = kept->next;
			free(kept);
		}
	}
	for (uint32_t r = 0; r < costs->rack_count; r++)
		while (costs->of_rack[r]) {
			struct rack_least *kept = costs->of_rack[r];

			costs->of_rack[r] = kept->next;
			free(kept);
		}
	costs->listed = -1;
}

void rest_costs_destroy(struct rest_costs *costs)
{
	if (!costs)
		return;
	rest_costs_forget(costs);
	free(costs->of_root);
	free(costs->of_rack);
	free(costs->roots);
	free(costs->cost);
	free(costs->columns);
	free(costs);
}

int32_t rest_unclaimed(const struct placer *placer, const struct flownet *net, uint32_t machine)
{
	int32_t slots = flownet_free(net, machine) - placer->claimed[machine];

	return slots > 0 ? slots : 0;
}

/* Drops the entries of an earlier round. */
static void begin_round(struct rest_costs *costs, uint64_t round)
{
	if (costs->round != round)
		rest_costs_forget(costs);
	costs->round = round;
}

/* Returns the link to the entry for this curve and root machine; if there is none, the link to set for a new entry. */
static struct cheapest_slots **find_kept(const struct rest_costs *costs, int32_t curve, uint32_t root)
{
	struct cheapest_slots **place = &costs->of_root[root];

	while (*place && (*place)->curve != curve)
		place = &(*place)->next;
	return place;
}

/*
 * Returns the cost of `tasks` tasks that take the slots of the steps, cheapest first. A task for which there is no slot
 * costs `beyond`.
 */
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

/* True if the rack has too few free slots for `tasks` tasks. */
static bool is_short(const struct placer *placer, const struct flownet *net, uint32_t rack, int64_t tasks)
{
	return flownet_free_in_rack(net, rack) - placer->reserved[rack] < tasks;
}

/* True if the root's rack has too few free slots for `tasks` tasks and, if it waits (own = 1), the root. */
static bool is_wide(const struct placer *placer, const struct flownet *net, uint32_t root, int32_t own, int64_t tasks)
{
	return is_short(placer, net, placer->layout->cluster->machines[root].rack, tasks + own);
}

/* The cheapest slots of the cluster also bound the costs in a rack. */
int64_t rest_cost_bound(const struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root,
			int64_t tasks)
{
	const struct cheapest_slots *kept;

	begin_round(placer->rest, flownet_rounds(net));
	kept = *find_kept(placer->rest, placer->curve_of_job[job], root);
	if (!kept || kept->count == 0 || (is_wide(placer, net, root, 1, tasks) && !kept->wide))
		return tasks * placer->policy->least_cost;
	return cost_of_tasks(kept->steps, kept->count, tasks, kept->steps[kept->count - 1].cost);
}

static struct rack_least **find_rack(const struct rest_costs *costs, int32_t curve, uint32_t rack)
{
	struct rack_least **place = &costs->of_rack[rack];

	while (*place && (*place)->curve != curve)
		place = &(*place)->next;
	return place;
}

int64_t rest_rack_bound(const struct placer *placer, const struct flownet *net, uint32_t job, uint32_t rack,
			int64_t tasks)
{
	const struct rack_least *kept;
	int64_t known = tasks < RACK_TASKS ? tasks : RACK_TASKS;

	begin_round(placer->rest, flownet_rounds(net));
	kept = *find_rack(placer->rest, placer->curve_of_job[job], rack);
	if (!kept || is_short(placer, net, rack, tasks + 1))
		return tasks * placer->policy->least_cost;
	return kept->cost[known] + (tasks - known) * placer->policy->least_cost;
}

/* Lowers each of the costs to that of the machine. */
static void lower(uint16_t cost[RACK_TASKS + 1], const struct cheapest_slots *kept)
{
	uint32_t total = 0, step = 0, used = 0;

	for (uint32_t tasks = 1; tasks <= RACK_TASKS; tasks++) {
		if (used == kept->steps[step].slots && step + 1 < kept->count) {
			step++;
			used = 0;
		}
		used++;
		total += (uint32_t)kept->steps[step].cost;
		cost[tasks] = total < cost[tasks] ? (uint16_t)total : cost[tasks];
	}
}

/* Keeps nothing as long as a machine has no bound of its own yet. */
void rest_rack_note(const struct placer *placer, const struct flownet *net, uint32_t job, uint32_t rack)
{
	const struct cost_layout *layout = placer->layout;
	int32_t curve = placer->curve_of_job[job];
	struct rack_least least = {.curve = curve}, **place = find_rack(placer->rest, curve, rack);

	memset(least.cost + 1, 0xff, RACK_TASKS * sizeof *least.cost);
	for (uint32_t c = layout->rack_first[rack]; c < layout->rack_first[rack] + layout->rack_used[rack]; c++) {
		uint32_t machine = layout->machine_of_column[c];
		const struct cheapest_slots *kept;

		if (machine == COST_NO_MACHINE || rest_unclaimed(placer, net, machine) == 0 ||
		    cost_rows_silent(placer->rows, machine))
			continue;
		kept = *find_kept(placer->rest, curve, machine);
		if (!kept || kept->count == 0)
			return;
		lower(least.cost, kept);
	}
	if (!*place) {
		*place = calloc(1, sizeof **place);
		if (!*place)
			return;
	}
	least.next = (*place)->next;
	**place = least;
}

/* A job and the machine of its root. own: slots of that machine that the root itself will take, 0 or 1. */
struct rooted {
	uint32_t job, root;
	int32_t own;
};

/* Lists the rack's columns with free slots. */
static void list_columns(const struct placer *placer, const struct flownet *net, uint32_t rack)
{
	struct rest_costs *costs = placer->rest;
	uint32_t first = placer->layout->rack_first[rack];

	if (costs->listed == rack)
		return;
	costs->listed = rack;
	costs->column_count = 0;
	for (uint32_t c = 0; c < placer->layout->rack_used[rack]; c++) {
		uint32_t machine = placer->layout->machine_of_column[first + c];
		int32_t slots = machine == COST_NO_MACHINE ? 0 : rest_unclaimed(placer, net, machine);

		if (slots > 0)
			costs->columns[costs->column_count++] = (struct column_slots){c, slots};
	}
}

/*
 * Adds the rack's free slots that the root can reach to slots_at[], by their cost; claim: claims them instead, as many
 * of each cost as slots_at[] still has, and subtracts them there. Returns the largest cost of a slot, 0 without one.
 */
static int32_t walk_rack(struct placer *placer, const struct flownet *net, const struct rooted *at, uint32_t rack,
			 bool claim)
{
	struct rest_costs *costs = placer->rest;
	uint32_t first = placer->layout->rack_first[rack], own = placer->layout->column_of_machine[at->root] - first;
	int32_t largest = 0;

	if (flownet_free_in_rack(net, rack) == 0)
		return 0;
	list_columns(placer, net, rack);
	placer->policy->rack(placer, at->job, at->root, rack, costs->cost);
	for (uint32_t i = 0; i < costs->column_count; i++) {
		const struct column_slots *column = &costs->columns[i];
		int32_t cost = costs->cost[column->column];
		int64_t slots = column->slots - (column->column == own ? at->own : 0);

		if (cost > COST_MAXIMUM) /* unreachable */
			continue;
		if (claim) {
			slots = slots < costs->slots_at[cost] ? slots : costs->slots_at[cost];
			placer->claimed[placer->layout->machine_of_column[first + column->column]] += (int32_t)slots;
			placer->reserved[rack] += slots;
		}
		costs->slots_at[cost] += claim ? -slots : slots;
		largest = cost > largest ? cost : largest;
	}
	return largest;
}

/* Walks over the root's rack; wide: over all racks. */
static int32_t walk(struct placer *placer, const struct flownet *net, const struct rooted *at, bool wide, bool claim)
{
	uint32_t rack = placer->layout->cluster->machines[at->root].rack;
	int32_t largest = 0;

	for (uint32_t r = wide ? 0 : rack; r < (wide ? placer->layout->rack_count : rack + 1); r++) {
		int32_t cost = walk_rack(placer, net, at, r, claim);

		largest = cost > largest ? cost : largest;
	}
	return largest;
}

/*
 * Fills costs->steps with the cheapest free slots of the root's rack (wide: of all racks) for `tasks` tasks. Returns
 * the number of steps.
 */
static uint32_t find_cheapest(struct placer *placer, const struct flownet *net, const struct rooted *at, bool wide,
			      int64_t tasks)
{
	struct rest_costs *costs = placer->rest;
	int32_t largest = walk(placer, net, at, wide, false);
	uint32_t count = 0;

	for (int32_t cost = placer->policy->least_cost; cost <= largest && tasks > 0; cost++) {
		int64_t taken = costs->slots_at[cost] < tasks ? costs->slots_at[cost] : tasks;

		if (taken > 0)
			costs->steps[count++] = (struct cost_step){cost, (uint32_t)taken};
		tasks -= taken;
	}
	memset(costs->slots_at, 0, ((size_t)largest + 1) * sizeof *costs->slots_at);
	return count;
}

/*
 * Keeps the steps: from them, rest_cost_bound() computes a lower bound of the cost for later jobs. If out of memory,
 * keeps the older steps, if any; the bound may then be lower, but is still correct.
 */
static void keep(struct rest_costs *costs, int32_t curve, uint32_t root, uint32_t count, bool wide)
{
	struct cheapest_slots **place = find_kept(costs, curve, root), *kept = *place;

	if (!kept || kept->room < count) {
		uint32_t room = count + count / 2;
		struct cheapest_slots *larger = realloc(kept, sizeof *kept + room * sizeof *kept->steps);

		if (!larger)
			return;
		if (!kept) {
			larger->next = NULL;
			larger->curve = curve;
			if (place == &costs->of_root[root])
				costs->roots[costs->used++] = root;
		}
		larger->room = room;
		*place = kept = larger;
	}
	memcpy(kept->steps, costs->steps, count * sizeof *kept->steps);
	kept->count = count;
	kept->wide = wide;
}

int64_t rest_cost(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root, int64_t tasks)
{
	struct rest_costs *costs = placer->rest;
	bool wide = is_wide(placer, net, root, 1, tasks);
	uint32_t count;

	begin_round(costs, flownet_rounds(net));
	while (costs->cover < tasks)
		costs->cover *= 2; /* doubled: slightly larger jobs then need no more slots than are found now */
	count = find_cheapest(placer, net, &(struct rooted){job, root, 1}, wide, costs->cover);
	keep(costs, placer->curve_of_job[job], root, count, wide);
	return cost_of_tasks(costs->steps, count, tasks, COST_MAXIMUM);
}

void rest_claim(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root, int32_t own,
		int64_t tasks)
{
	const struct rooted at = {job, root, own};
	struct rest_costs *costs = placer->rest;
	bool wide = is_wide(placer, net, root, own, tasks);
	uint32_t count = find_cheapest(placer, net, &at, wide, tasks);

	for (uint32_t i = 0; i < count; i++)
		costs->slots_at[costs->steps[i].cost] = costs->steps[i].slots;
	walk(placer, net, &at, wide, true);
	for (uint32_t i = 0; i < count; i++)
		costs->slots_at[costs->steps[i].cost] = 0;
	costs->listed = -1;
}
