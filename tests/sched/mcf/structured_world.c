/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sched/mcf/algorithms.h>
#include <sched/mcf/verify.h>

#include "structured_world.h"

enum { UNROUTED = 1 << 28 }; /* cost of an unrouted unit, so high that as many units as possible are routed */

static int32_t draw(struct world *world, int32_t low, int32_t high)
{
	return low + (int32_t)rng_below(&world->rng, (uint64_t)(high - low + 1));
}

static bool chance(struct world *world, int32_t percent)
{
	return draw(world, 0, 99) < percent;
}

static int32_t draw_block(int32_t column)
{
	return column % WORLD_BLOCKS * 7 % WORLD_BLOCKS;
}

static void draw_costs(struct world *world, struct world_group *group)
{
	int32_t home = draw(world, 0, WORLD_BLOCKS - 1), few = world->wide ? 100 : draw(world, 5, 80);

	for (int32_t i = 0; i < WORLD_COLUMNS; i++) {
		bool near = draw_block(i) == home;

		group->column_cost[i] = ARC_ABSENT;
		if (i < world->column_count && chance(world, near ? 90 : few))
			group->column_cost[i] = near && chance(world, 60) ? 1 : draw(world, 0, world->cost_top);
	}
	for (int32_t i = 0; i < WORLD_BLOCKS; i++)
		group->block_cost[i] =
			chance(world, world->wide ? 100 : 30) ? draw(world, 1, world->cost_top + 2) : ARC_ABSENT;
	group->aggregator_cost = chance(world, world->wide ? 100 : 75)
					 ? draw(world, world->cost_top / 2, world->cost_top * 2)
					 : ARC_ABSENT;
}

static void draw_unscheduled(struct world *world, struct world_group *group)
{
	group->unscheduled_cost = draw(world, world->cost_top, world->cost_top * 3);
	group->unscheduled_capacity = world->supply_top * 2;
	if (world->always_routable)
		return;
	if (chance(world, 30))
		group->unscheduled_cost = ARC_ABSENT;
	else
		group->unscheduled_capacity = draw(world, 0, 3);
}

static void send_row(struct world *world, int32_t id)
{
	const struct world_group *group = &world->groups[id];
	struct arc columns[WORLD_COLUMNS], blocks[WORLD_BLOCKS];
	struct structured_row row = {.aggregator_cost = group->aggregator_cost,
				     .unscheduled_cost = group->unscheduled_cost,
				     .unscheduled_capacity = group->unscheduled_capacity,
				     .columns = columns,
				     .blocks = blocks,
				     .running = group->running,
				     .running_count = group->running_count};

	for (int32_t i = 0; i < WORLD_COLUMNS; i++)
		if (group->column_cost[i] != ARC_ABSENT)
			columns[row.column_count++] = (struct arc){i, group->column_cost[i]};
	for (int32_t i = 0; i < WORLD_BLOCKS; i++)
		if (group->block_cost[i] != ARC_ABSENT)
			blocks[row.block_count++] = (struct arc){i, group->block_cost[i]};
	if (structured_set_row(world->state, id, &row))
		snprintf(world->text, sizeof(world->text), "set_row %d refused", id);
}

static void add_group(struct world *world, int32_t id)
{
	struct world_group *group = &world->groups[id];

	memset(group, 0, sizeof(*group));
	group->exists = true;
	group->supply = draw(world, 0, world->supply_top);
	draw_costs(world, group);
	draw_unscheduled(world, group);
	for (int32_t left = group->supply; left > 0 && group->running_count < WORLD_RUNNING && chance(world, 60);) {
		int32_t units = draw(world, 1, left), column = draw(world, 0, world->column_count - 1);

		if (world->capacity[column] < 1)
			continue;
		group->running[group->running_count++] =
			(struct structured_running){column, draw(world, 0, world->cost_top), units};
		left -= units;
	}
	send_row(world, id);
	structured_set_supply(world->state, id, group->supply);
}

void world_create_either(struct world *world, uint64_t seed, int32_t slots_percent, bool wide)
{
	memset(world, 0, sizeof(*world));
	world->wide = wide;
	rng_seed(&world->rng, seed);
	world->state = structured_create(0, 0, 0);
	world->column_count = draw(world, 1, WORLD_COLUMNS);
	world->block_count = WORLD_BLOCKS;
	world->group_count = draw(world, 1, WORLD_GROUPS);
	world->cost_top = chance(world, 30) ? 4 : chance(world, 50) ? 30 : 1000;
	world->supply_top = draw(world, 1, 9);
	world->always_routable = chance(world, 70);
	world->capacity_top = 1 + world->supply_top * world->group_count * slots_percent / 100 / world->column_count;
	for (int32_t i = 0; i < WORLD_COLUMNS; i++)
		world->capacity[i] = -1;
	for (int32_t i = 0; i < world->column_count; i++) {
		world->capacity[i] = chance(world, 8) ? 0 : draw(world, world->capacity_top / 2, world->capacity_top);
		structured_set_column(world->state, i, draw_block(i), world->capacity[i]);
	}
	for (int32_t i = 0; i < world->group_count; i++)
		add_group(world, i);
}

void world_create(struct world *world, uint64_t seed, int32_t slots_percent)
{
	world_create_either(world, seed, slots_percent, false);
}

void world_create_wide(struct world *world, uint64_t seed, int32_t slots_percent)
{
	world_create_either(world, seed, slots_percent, true);
}

void world_destroy(struct world *world)
{
	structured_destroy(world->state);
}

static void event_column(struct world *world)
{
	int32_t column = draw(world, 0, world->column_count - 1);

	if (world->capacity[column] >= 0 && chance(world, 30)) {
		world->capacity[column] = -1;
		structured_remove_column(world->state, column);
		return;
	}
	world->capacity[column] = chance(world, 10) ? 0 : draw(world, 1, world->capacity_top);
	structured_set_column(world->state, column, draw_block(column), world->capacity[column]);
}

static void event_group(struct world *world, int32_t id)
{
	struct world_group *group = &world->groups[id];

	if (!group->exists) {
		add_group(world, id);
		return;
	}
	group->exists = false;
	structured_remove_group(world->state, id);
}

static void event_recost(struct world *world, int32_t id)
{
	struct world_group *group = &world->groups[id];

	if (chance(world, 30)) {
		draw_costs(world, group);
	} else {
		for (int32_t i = 0; i < world->column_count; i++)
			if (group->column_cost[i] != ARC_ABSENT && chance(world, 30))
				group->column_cost[i] =
					chance(world, 20) ? ARC_ABSENT : draw(world, 0, world->cost_top);
			else if (chance(world, 5))
				group->column_cost[i] = draw(world, 0, world->cost_top);
	}
	send_row(world, id);
}

/* When a row changes, arcs to removed columns are dropped from it. */
static void forget_gone(const struct world *world, struct world_group *group)
{
	for (int32_t i = 0; i < world->column_count; i++)
		if (world->capacity[i] < 0)
			group->column_cost[i] = ARC_ABSENT;
}

/* Changes costs in one or two blocks, passed to the solver as changes of these blocks. */
static void event_change(struct world *world, int32_t id)
{
	struct world_group *group = &world->groups[id];
	struct arc columns[WORLD_BLOCKS][WORLD_COLUMNS];
	struct block_arcs blocks[WORLD_BLOCKS];
	struct structured_row_change change = {.blocks = blocks, .running = group->running};

	forget_gone(world, group);
	for (int32_t b = 0; b < WORLD_BLOCKS; b++) {
		struct block_arcs *arcs = &blocks[change.block_count];
		bool alive = false, chosen = chance(world, 35);

		*arcs = (struct block_arcs){.block = b, .columns = columns[b]};
		for (int32_t i = 0; i < world->column_count; i++) {
			if (world->capacity[i] < 0 || draw_block(i) != b || !chosen)
				continue;
			alive = true;
			if (chance(world, 60))
				group->column_cost[i] =
					chance(world, 30) ? ARC_ABSENT : draw(world, 0, world->cost_top);
			if (group->column_cost[i] != ARC_ABSENT)
				columns[b][arcs->column_count++] = (struct arc){i, group->column_cost[i]};
		}
		if (!alive)
			continue;
		group->block_cost[b] = chance(world, 40) ? draw(world, 1, world->cost_top + 2) : ARC_ABSENT;
		arcs->cost = group->block_cost[b];
		change.block_count++;
	}
	if (chance(world, 30))
		group->running_count = draw(world, 0, group->running_count);
	change.running_count = group->running_count;
	if (structured_change_row(world->state, id, &change))
		snprintf(world->text, sizeof(world->text), "change_row %d refused", id);
}

static void event_supply(struct world *world, int32_t id)
{
	world->groups[id].supply = draw(world, 0, world->supply_top);
	structured_set_supply(world->state, id, world->groups[id].supply);
}

static void event_running(struct world *world, int32_t id)
{
	struct world_group *group = &world->groups[id];

	group->running_count = draw(world, 0, WORLD_RUNNING);
	for (int32_t i = 0; i < group->running_count; i++)
		group->running[i] = (struct structured_running){draw(world, 0, world->column_count - 1),
								draw(world, 0, world->cost_top), draw(world, 1, 3)};
	if (chance(world, 70)) {
		structured_set_running(world->state, id, group->running, group->running_count);
		return;
	}
	const struct structured_row_change change = {.running = group->running, .running_count = group->running_count};

	forget_gone(world, group);
	if (structured_change_row(world->state, id, &change))
		snprintf(world->text, sizeof(world->text), "change_row %d of no blocks refused", id);
}

/* The running arc with this column and cost; -1: none; -2: several. */
static int32_t find_running(const struct world_group *group, int32_t column, int32_t cost)
{
	int32_t found = -1;

	for (int32_t i = 0; i < group->running_count; i++)
		if (group->running[i].column == column && group->running[i].cost == cost)
			found = found == -1 ? i : -2;
	return found;
}

/*
 * Ends a unit, which makes its running arc lose a unit of capacity. If several units are on the column, the world
 * cannot know which one ended, and takes all running arcs away.
 */
static void event_end(struct world *world, int32_t id)
{
	struct world_group *group = &world->groups[id];
	struct structured_share shares[WORLD_COLUMNS * 4];
	int32_t count = structured_read(world->state, id, shares, WORLD_COLUMNS * 4);

	if (count == 0 || group->supply == 0)
		return;
	const struct structured_share *share = &shares[draw(world, 0, count - 1)];
	int32_t column = share->column, running = find_running(group, column, share->cost), units = 0;

	for (int32_t i = 0; i < count; i++)
		units += shares[i].column == column ? shares[i].units : 0;
	if (structured_end_unit(world->state, id, column))
		snprintf(world->text, sizeof(world->text), "end_unit %d on %d refused", id, column);
	group->supply--;
	if (units == 1 && running >= -1) {
		if (running >= 0 && --group->running[running].units == 0)
			group->running[running] = group->running[--group->running_count];
		return;
	}
	group->running_count = 0;
	structured_set_running(world->state, id, group->running, 0);
}

void world_event(struct world *world)
{
	int32_t id = draw(world, 0, world->group_count - 1), kind = draw(world, 0, 99);
	struct world_group *group = &world->groups[id];

	if (kind < 12) {
		event_column(world);
	} else if (kind < 24 || !group->exists) {
		event_group(world, id);
	} else if (kind < 37) {
		event_recost(world, id);
	} else if (kind < 50) {
		event_change(world, id);
	} else if (kind < 65) {
		event_supply(world, id);
	} else if (kind < 75) {
		event_running(world, id);
	} else if (kind < 90) {
		event_end(world, id);
	} else {
		draw_unscheduled(world, group);
		structured_set_unscheduled(world->state, id, group->unscheduled_cost, group->unscheduled_capacity);
	}
}

bool world_solve(struct world *world, bool fresh)
{
	enum mcf_status status = fresh ? structured_solve_fresh(world->state, &world->result)
				       : structured_solve(world->state, &world->result);

	return status == MCF_OPTIMAL || status == MCF_INFEASIBLE;
}

void world_adopt(struct world *world)
{
	for (int32_t id = 0; id < world->group_count; id++) {
		struct world_group *group = &world->groups[id];
		struct structured_share shares[WORLD_COLUMNS * 4];
		int32_t count = structured_read(world->state, id, shares, WORLD_COLUMNS * 4);

		group->running_count = 0;
		for (int32_t i = 0; i < count && i < WORLD_RUNNING; i++) {
			int32_t cost = group->column_cost[shares[i].column];

			if (cost == ARC_ABSENT)
				cost = draw(world, 0, world->cost_top);
			group->running[group->running_count++] =
				(struct structured_running){shares[i].column, cost, shares[i].units};
		}
		if (group->exists)
			structured_set_running(world->state, id, group->running, group->running_count);
	}
}

/* The network of NoMora's table 2, written down independently of the solver. Nodes: groups, columns, blocks, X, S. */
enum {
	COLUMN = WORLD_GROUPS,
	BLOCK = COLUMN + WORLD_COLUMNS,
	AGGREGATOR = BLOCK + WORLD_BLOCKS,
	SINK = AGGREGATOR + 1,
	NODES = SINK + 1,
	ARCS = 1024
};

struct network {
	int32_t tail[ARCS], head[ARCS], capacity[ARCS], arc_count;
	int64_t cost[ARCS], supply[NODES];
};

static void network_arc(struct network *network, int32_t tail, int32_t head, int32_t capacity, int32_t cost)
{
	int32_t arc = network->arc_count++;

	network->tail[arc] = tail;
	network->head[arc] = head;
	network->capacity[arc] = capacity;
	network->cost[arc] = cost;
}

static void network_group(struct network *network, int32_t id, const struct world_group *group)
{
	network->supply[id] = group->supply;
	network->supply[SINK] -= group->supply;
	for (int32_t i = 0; i < WORLD_COLUMNS; i++)
		if (group->column_cost[i] != ARC_ABSENT)
			network_arc(network, id, COLUMN + i, 1000, group->column_cost[i]);
	for (int32_t i = 0; i < WORLD_BLOCKS; i++)
		if (group->block_cost[i] != ARC_ABSENT)
			network_arc(network, id, BLOCK + i, 1000, group->block_cost[i]);
	for (int32_t i = 0; i < group->running_count; i++)
		network_arc(network, id, COLUMN + group->running[i].column, group->running[i].units,
			    group->running[i].cost);
	if (group->aggregator_cost != ARC_ABSENT)
		network_arc(network, id, AGGREGATOR, 1000, group->aggregator_cost);
	if (group->unscheduled_cost != ARC_ABSENT)
		network_arc(network, id, SINK, group->unscheduled_capacity, group->unscheduled_cost);
	network_arc(network, id, SINK, 1000, UNROUTED);
}

static int64_t world_optimum(const struct world *world, bool *solved)
{
	struct network network = {0};
	struct mcf_solution solution = {0};

	for (int32_t id = 0; id < world->group_count; id++)
		if (world->groups[id].exists)
			network_group(&network, id, &world->groups[id]);
	for (int32_t i = 0; i < WORLD_BLOCKS; i++)
		network_arc(&network, AGGREGATOR, BLOCK + i, 100000, 0);
	for (int32_t i = 0; i < WORLD_COLUMNS; i++) {
		if (world->capacity[i] < 0)
			continue;
		network_arc(&network, BLOCK + draw_block(i), COLUMN + i, 100000, 0);
		network_arc(&network, COLUMN + i, SINK, world->capacity[i], 0);
	}
	const struct mcf_problem problem = {.node_count = NODES,
					    .arc_count = network.arc_count,
					    .tail = network.tail,
					    .head = network.head,
					    .capacity = network.capacity,
					    .cost = network.cost,
					    .supply = network.supply};

	*solved = mcf_solve(mcf_algorithm_find("simplex"), &problem, &solution) == MCF_OPTIMAL;
	int64_t cost = solution.cost;

	mcf_solution_free(&solution);
	return cost;
}

static bool check_shares(struct world *world)
{
	int32_t used[WORLD_COLUMNS] = {0};

	for (int32_t id = 0; id < world->group_count; id++) {
		struct structured_share shares[WORLD_COLUMNS * 4];
		int32_t count = structured_read(world->state, id, shares, WORLD_COLUMNS * 4);
		int32_t routed = structured_unscheduled(world->state, id) + structured_unrouted(world->state, id);

		for (int32_t i = 0; i < count; i++) {
			used[shares[i].column] += shares[i].units;
			routed += shares[i].units;
		}
		int32_t supply = world->groups[id].exists ? world->groups[id].supply : 0;

		if (routed != supply) {
			snprintf(world->text, sizeof(world->text), "group %d: supply %d, answer %d", id, supply,
				 routed);
			return false;
		}
	}
	for (int32_t i = 0; i < WORLD_COLUMNS; i++) {
		if (used[i] > (world->capacity[i] < 0 ? 0 : world->capacity[i])) {
			snprintf(world->text, sizeof(world->text), "column %d: %d units, capacity %d", i, used[i],
				 world->capacity[i]);
			return false;
		}
	}
	return true;
}

bool world_check(struct world *world)
{
	struct structured_export out;
	struct mcf_verdict verdict;
	bool solved;
	int64_t optimum = world_optimum(world, &solved);
	int64_t answer = world->result.cost + world->result.unrouted * UNROUTED;

	if (world->text[0])
		return false;
	if (!solved || optimum != answer) {
		snprintf(world->text, sizeof(world->text), "cost %lld, optimum %lld", (long long)answer,
			 (long long)optimum);
		return false;
	}
	if (!check_shares(world))
		return false;
	if (structured_export(world->state, &out))
		return false;
	bool right = mcf_verify(&out.problem, &out.solution, &verdict) && out.solution.cost == answer;

	if (!right)
		snprintf(world->text, sizeof(world->text), "certificate: %s", verdict.text);
	structured_export_free(&out);
	return right;
}
