/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks of random changes: the simplex that goes on from its basis equals one from scratch after every step. */
#include <stdio.h>

#include <criterion/criterion.h>

#include <sched/mcf/algorithms.h>
#include <sched/mcf/simplex.h>

#include "flow_certificate.h"
#include "mcf_world.h"

enum { WALKS = 40, STEPS = 150 };

static int32_t draw(struct rng *rng, int32_t low, int32_t high)
{
	return low + (int32_t)rng_below(rng, (uint64_t)(high - low) + 1);
}

/* One change, to the world and to the simplex alike. */
static void change(struct world *world, struct mcf_simplex *simplex, struct rng *rng)
{
	int32_t arc = world->arc_count ? draw(rng, 0, world->arc_count - 1) : -1, from, to;

	switch (rng_below(rng, 7)) {
	case 6: /* supplies would only grow */
		for (int32_t v = 0; v < world->node_count; v++)
			mcf_simplex_set_supply(simplex, v, world->supply[v] = 0);
		return;
	case 0:
		if (arc >= 0)
			mcf_simplex_set_cost(simplex, arc, world->cost[arc] = draw(rng, -5, 20));
		return;
	case 1:
		if (arc >= 0)
			mcf_simplex_set_capacity(simplex, arc, world->capacity[arc] = draw(rng, 0, 6));
		return;
	case 2:
		from = draw(rng, 0, world->node_count - 1);
		to = draw(rng, 0, world->node_count - 1);
		world_send(world, from, to, draw(rng, -2, 2));
		mcf_simplex_set_supply(simplex, from, world->supply[from]);
		mcf_simplex_set_supply(simplex, to, world->supply[to]);
		return;
	case 3:
		if (arc < 0)
			return;
		world->tail[arc] = draw(rng, 0, world->node_count - 1);
		world->head[arc] = draw(rng, 0, world->node_count - 1);
		mcf_simplex_set_ends(simplex, arc, world->tail[arc], world->head[arc]);
		return;
	case 4:
		if (world->node_count == WORLD_NODES)
			return;
		cr_assert_eq(mcf_simplex_add_node(simplex), world->node_count++);
		return;
	default:
		if (world->arc_count == WORLD_ARCS)
			return;
		world_arc(world, draw(rng, 0, world->node_count - 1), draw(rng, 0, world->node_count - 1),
			  draw(rng, 0, 6), draw(rng, -3, 20));
		arc = world->arc_count - 1;
		cr_assert_eq(mcf_simplex_add_arc(simplex, world->tail[arc], world->head[arc], world->capacity[arc],
						 world->cost[arc]),
			     arc);
		return;
	}
}

Test(mcf_warm, a_walk_equals_solving_from_scratch_at_every_step)
{
	struct mcf_solution warm = {0}, fresh = {0};
	int32_t optimal = 0, infeasible = 0;
	struct world world;
	struct rng rng;

	rng_seed(&rng, 11);
	for (int32_t walk = 0; walk < WALKS; walk++) {
		struct mcf_simplex *simplex;

		world_reset(&world, draw(&rng, 1, 20));
		simplex = mcf_simplex_create(world_problem(&world), 0, 0);
		cr_assert_not_null(simplex);
		for (int32_t step = 0; step < STEPS; step++) {
			char label[64];

			for (int32_t k = draw(&rng, 1, 4); k > 0; k--)
				change(&world, simplex, &rng);
			snprintf(label, sizeof label, "walk %d, step %d", walk, step);
			mcf_simplex_solve(simplex);
			mcf_simplex_export(simplex, &warm);
			flow_certificate_check(label, world_problem(&world), &warm);
			flow_certificate_solve(label, mcf_algorithm_find("simplex"), &world.problem, &fresh);
			cr_assert_eq(warm.status, fresh.status, "%s", label);
			if (warm.status == MCF_OPTIMAL)
				cr_assert_eq(warm.cost, fresh.cost, "%s: %ld, %ld", label, (long)warm.cost,
					     (long)fresh.cost);
			optimal += warm.status == MCF_OPTIMAL;
			infeasible += warm.status == MCF_INFEASIBLE;
		}
		mcf_simplex_destroy(simplex);
	}
	mcf_solution_free(&warm);
	mcf_solution_free(&fresh);
	cr_expect_gt(optimal, WALKS * STEPS / 10);
	cr_expect_gt(infeasible, WALKS * STEPS / 10);
}

Test(mcf_warm, a_small_change_takes_few_pivots)
{
	struct mcf_simplex *simplex;
	struct world world;
	uint64_t first;

	/* Ten sources, twenty machines of one slot each. */
	world_reset(&world, 31);
	for (int32_t s = 0; s < 10; s++) {
		world_send(&world, s, 30, 2);
		for (int32_t m = 0; m < 20; m++)
			world_arc(&world, s, 10 + m, 1, 100 + (s * 7 + m * 13) % 50);
	}
	for (int32_t m = 0; m < 20; m++)
		world_arc(&world, 10 + m, 30, 1, 0);
	simplex = mcf_simplex_create(world_problem(&world), 0, 0);
	cr_assert_eq(mcf_simplex_solve(simplex), MCF_OPTIMAL);
	first = mcf_simplex_pivots(simplex);
	cr_assert_eq(mcf_simplex_solve(simplex), MCF_OPTIMAL);
	cr_expect_leq(mcf_simplex_pivots(simplex), 2, "nothing changed");
	mcf_simplex_set_cost(simplex, 5, 99);
	cr_assert_eq(mcf_simplex_solve(simplex), MCF_OPTIMAL);
	cr_expect_lt(mcf_simplex_pivots(simplex), first / 3);
	mcf_simplex_destroy(simplex);
}
