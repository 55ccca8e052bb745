/* SPDX-License-Identifier: BSD-3-Clause */
#include "mcf_world.h"

#include <string.h>

void world_reset(struct world *world, int32_t node_count)
{
	memset(world, 0, sizeof *world);
	world->node_count = node_count;
}

void world_arc(struct world *world, int32_t tail, int32_t head, int32_t capacity, int64_t cost)
{
	int32_t a = world->arc_count++;

	world->tail[a] = tail;
	world->head[a] = head;
	world->capacity[a] = capacity;
	world->cost[a] = cost;
}

void world_send(struct world *world, int32_t from, int32_t to, int64_t units)
{
	world->supply[from] += units;
	world->supply[to] -= units;
}

const struct mcf_problem *world_problem(struct world *world)
{
	world->problem = (struct mcf_problem){.node_count = world->node_count,
					      .arc_count = world->arc_count,
					      .tail = world->tail,
					      .head = world->head,
					      .lower = world->lower,
					      .capacity = world->capacity,
					      .cost = world->cost,
					      .supply = world->supply};
	return &world->problem;
}

static int32_t draw(struct rng *rng, int32_t low, int32_t high)
{
	return low + (int32_t)rng_below(rng, (uint64_t)(high - low) + 1);
}

/* Random arcs between random nodes. */
static void random_general(struct world *world, struct rng *rng, int32_t nodes, int32_t arcs)
{
	int64_t span = rng_below(rng, 8) == 0 ? INT64_C(1) << 40 : rng_below(rng, 4) == 0 ? 1 : 20;
	bool negative = rng_below(rng, 2), bounds = rng_below(rng, 4) == 0, loops = rng_below(rng, 4) == 0;
	bool huge = span <= 20 && rng_below(rng, 16) == 0; /* limited, so that the total cost does not overflow */

	world_reset(world, nodes);
	for (int32_t a = 0; a < arcs && nodes > 0; a++) {
		int32_t tail = draw(rng, 0, nodes - 1), head = draw(rng, 0, nodes - 1);
		int64_t cost = (int64_t)rng_below(rng, (uint64_t)span + 1);

		if (tail == head && !loops)
			head = (head + 1) % nodes;
		world_arc(world, tail, head, huge && rng_below(rng, 2) ? INT32_MAX : draw(rng, 0, 6),
			  negative && rng_below(rng, 2) ? -cost : cost);
		if (bounds && rng_below(rng, 4) == 0)
			world->lower[a] = draw(rng, 0, world->capacity[a] > 3 ? 3 : world->capacity[a]);
	}
	for (int32_t k = draw(rng, 0, nodes > 1 ? 4 : 0); k > 0; k--)
		world_send(world, draw(rng, 0, nodes - 1), draw(rng, 0, nodes - 1), draw(rng, 0, 5));
}

/* Tasks that each have an arc to one machine, racks and an aggregator: node 0 is the sink, 1 the aggregator. */
static void random_tasks(struct world *world, struct rng *rng)
{
	int32_t racks = draw(rng, 1, 3), machines = draw(rng, racks, 8), jobs = draw(rng, 1, 5),
		tasks = draw(rng, 1, 24);
	int32_t machine_node = 2 + racks, job_node = machine_node + machines, task_node = job_node + jobs, capacity[8];
	int32_t rack_capacity[3] = {0}, job_first = 0, room = rng_below(rng, 4) == 0 ? 1 : 4;
	bool waits = rng_below(rng, 4) == 0, narrow = rng_below(rng, 4) == 0, wide = rng_below(rng, 4) == 0;

	world_reset(world, task_node + tasks);
	for (int32_t m = 0; m < machines; m++) {
		capacity[m] = draw(rng, 0, room);
		rack_capacity[m % racks] += capacity[m];
		world_arc(world, 2 + m % racks, machine_node + m, capacity[m], 0);
		world_arc(world, machine_node + m, 0, capacity[m], 0);
	}
	for (int32_t r = 0; r < racks; r++)
		world_arc(world, 1, 2 + r, rack_capacity[r], 0);
	for (int32_t j = 0; j < jobs; j++) {
		int32_t size = j == jobs - 1 ? tasks - job_first : draw(rng, 0, tasks - job_first);
		int64_t across = draw(rng, 100, 110), unscheduled = draw(rng, 105, 130);
		int64_t cost[8], rack_cost[3];

		for (int32_t m = 0; m < machines; m++)
			cost[m] = rng_below(rng, 3) ? draw(rng, 100, 108) : -1;
		for (int32_t r = 0; r < racks; r++)
			rack_cost[r] = rng_below(rng, 2) ? draw(rng, 100, 109) : -1;
		world_arc(world, job_node + j, 0, narrow ? draw(rng, 0, size) : size, draw(rng, 0, 1));
		for (int32_t t = job_first; t < job_first + size; t++) {
			int32_t own = rng_below(rng, 3) ? draw(rng, 0, machines - 1) : -1,
				width = wide ? draw(rng, 1, 3) : 1;

			world_send(world, task_node + t, 0, 1);
			world_arc(world, task_node + t, job_node + j, width,
				  unscheduled + (waits ? draw(rng, 0, 3) : 0));
			world_arc(world, task_node + t, 1, width, across);
			for (int32_t r = 0; r < racks; r++) {
				if (rack_cost[r] >= 0)
					world_arc(world, task_node + t, 2 + r, width, rack_cost[r]);
			}
			for (int32_t m = 0; m < machines; m++) {
				if (m != own && cost[m] >= 0)
					world_arc(world, task_node + t, machine_node + m, width, cost[m]);
			}
			if (own >= 0)
				world_arc(world, task_node + t, machine_node + own, width,
					  (cost[own] < 0 ? 120 : cost[own]) - draw(rng, 0, 20));
		}
		job_first += size;
	}
}

void world_random(struct world *world, struct rng *rng, int32_t number)
{
	switch (number % 8) {
	case 0: /* few enough arcs to try all flows */
	case 1:
		random_general(world, rng, draw(rng, 2, 4), draw(rng, 1, 6));
		return;
	case 2:
		random_general(world, rng, draw(rng, 0, 3), draw(rng, 0, 3));
		return;
	case 3:
	case 4:
		random_tasks(world, rng);
		return;
	case 5: /* dense */
		random_general(world, rng, draw(rng, 2, 10), draw(rng, 20, 80));
		return;
	default:
		random_general(world, rng, draw(rng, 5, 40), draw(rng, 20, 160));
		return;
	}
}

double world_brute_effort(const struct mcf_problem *problem)
{
	double effort = 1;

	for (int32_t a = 0; a < problem->arc_count; a++)
		effort *= 1.0 + problem->capacity[a] - problem->lower[a];
	return effort;
}

static void try_flows(const struct mcf_problem *problem, int32_t arc, int64_t *excess, int64_t cost, int64_t *best)
{
	if (arc == problem->arc_count) {
		for (int32_t v = 0; v < problem->node_count; v++) {
			if (excess[v] != 0)
				return;
		}
		*best = cost < *best ? cost : *best;
		return;
	}
	for (int32_t flow = problem->lower[arc]; flow <= problem->capacity[arc]; flow++) {
		excess[problem->tail[arc]] -= flow;
		excess[problem->head[arc]] += flow;
		try_flows(problem, arc + 1, excess, cost + flow * problem->cost[arc], best);
		excess[problem->tail[arc]] += flow;
		excess[problem->head[arc]] -= flow;
	}
}

int64_t world_brute_force(const struct mcf_problem *problem)
{
	int64_t excess[WORLD_NODES], best = INT64_MAX;

	memcpy(excess, problem->supply, (size_t)problem->node_count * sizeof *excess);
	try_flows(problem, 0, excess, 0, &best);
	return best;
}
