/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small scheduling world that a test maintains beside the structured solver: every event is applied to both.
 * world_check() builds the network from the world, compares the solver's answer with its optimum (by the network
 * simplex), checks the exported certificate, and sums up what structured_read() returns.
 */
#ifndef STRUCTURED_WORLD_H
#define STRUCTURED_WORLD_H

#include <base/rng.h>
#include <sched/mcf/structured.h>

enum { WORLD_COLUMNS = 24, WORLD_BLOCKS = 5, WORLD_GROUPS = 14, WORLD_RUNNING = 6, WORLD_TEXT_BYTES = 512 };

struct world_group {
	bool exists;
	int32_t supply, aggregator_cost, unscheduled_cost, unscheduled_capacity;
	int32_t column_cost[WORLD_COLUMNS]; /* ARC_ABSENT = none */
	int32_t block_cost[WORLD_BLOCKS];
	struct structured_running running[WORLD_RUNNING];
	int32_t running_count;
};

struct world {
	struct rng rng;
	struct structured *state;
	int32_t column_count, block_count, group_count; /* in use, within the limits above */
	int32_t cost_top;                               /* maximum cost of arcs to columns and blocks */
	int32_t capacity_top, supply_top;
	bool always_routable;            /* unscheduled capacity suffices */
	bool wide;                       /* rows have arcs to all columns and blocks */
	int32_t capacity[WORLD_COLUMNS]; /* -1 = no such column */
	struct world_group groups[WORLD_GROUPS];
	struct structured_result result;
	char text[WORLD_TEXT_BYTES]; /* why a check failed */
};

/* Creates a random world with the given number of slots per unit of supply, in percent. */
void world_create(struct world *world, uint64_t seed, int32_t slots_percent);
/* The same, but every group has arcs to all columns and blocks and to the aggregator. */
void world_create_wide(struct world *world, uint64_t seed, int32_t slots_percent);
void world_create_either(struct world *world, uint64_t seed, int32_t slots_percent, bool wide);
void world_destroy(struct world *world);

/* One random event as in an operating cluster, applied to both sides. */
void world_event(struct world *world);

bool world_solve(struct world *world, bool fresh);
bool world_check(struct world *world);

/* Marks the units as running where the last answer placed them, as a scheduler would report before the next round. */
void world_adopt(struct world *world);

#endif
