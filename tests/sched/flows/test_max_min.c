/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <math.h>

#include <base/rng.h>
#include <sched/flows/max_min.h>

enum { SOURCES = 8, RESOURCES = 6 };

struct world {
	double capacity[RESOURCES], weight[SOURCES], offered[SOURCES], load[SOURCES * RESOURCES];
	uint32_t first[RESOURCES + 1], source[SOURCES * RESOURCES];
	struct max_min_problem problem;
	double rate[SOURCES];
	uint32_t bottleneck[SOURCES];
};

static void solve(struct world *world)
{
	double work[4 * SOURCES * RESOURCES];

	cr_assert_leq(max_min_work_doubles(&world->problem), sizeof work / sizeof *work);
	max_min_solve(&world->problem, world->rate, world->bottleneck, work);
}

/* Two flows on a link of 10, one of which also passes a link of 3; a third flow on that link: 1.5, 1.5 and 8.5. */
Test(max_min, the_textbook_example)
{
	static const double capacity[] = {10, 3}, ones[] = {1, 1, 1, 1}, offered[] = {INFINITY, INFINITY, INFINITY};
	static const uint32_t first[] = {0, 2, 4}, source[] = {0, 1, 1, 2};
	struct max_min_problem problem = {.source_count = 3,
					  .resource_count = 2,
					  .capacity = capacity,
					  .weight = ones,
					  .offered = offered,
					  .first = first,
					  .source = source,
					  .load = ones};
	double rate[3], work[32];
	uint32_t bottleneck[3];

	max_min_solve(&problem, rate, bottleneck, work);
	cr_expect_float_eq(rate[0], 8.5, 1e-12);
	cr_expect_float_eq(rate[1], 1.5, 1e-12);
	cr_expect_float_eq(rate[2], 1.5, 1e-12);
	cr_expect(bottleneck[0] == 0 && bottleneck[1] == 1 && bottleneck[2] == 1);
}

Test(max_min, weights_loads_and_offers_count)
{
	static const double capacity[] = {12}, weight[] = {1, 2, 1}, offered[] = {INFINITY, INFINITY, 2},
			    load[] = {1, 2, 1};
	static const uint32_t first[] = {0, 3}, source[] = {0, 1, 2};
	struct max_min_problem problem = {.source_count = 3,
					  .resource_count = 1,
					  .capacity = capacity,
					  .weight = weight,
					  .offered = offered,
					  .first = first,
					  .source = source,
					  .load = load};
	double rate[3], work[32];
	uint32_t bottleneck[3];

	/*
	 * If all had level 2, they would use 2 + 8 + 2 = 12: source 2 is limited by its offer, and so the others by the
	 * link.
	 */
	max_min_solve(&problem, rate, bottleneck, work);
	cr_expect_float_eq(rate[0], 2, 1e-12);
	cr_expect_float_eq(rate[1], 4, 1e-12);
	cr_expect_float_eq(rate[2], 2, 1e-12);
	cr_expect_eq(bottleneck[2], MAX_MIN_OFFERED);
}

Test(max_min, without_a_limit_a_rate_is_infinite)
{
	static const double one[] = {1}, offered[] = {INFINITY};
	static const uint32_t first[] = {0};
	struct max_min_problem problem = {.source_count = 1, .weight = one, .offered = offered, .first = first};
	double rate[1], work[8];
	uint32_t bottleneck[1];

	max_min_solve(&problem, rate, bottleneck, work);
	cr_expect_eq(rate[0], INFINITY);
}

static void make_random(struct world *world, struct rng *rng)
{
	uint32_t sources = 1 + (uint32_t)rng_below(rng, SOURCES), resources = (uint32_t)rng_below(rng, RESOURCES + 1),
		 at = 0;

	for (uint32_t s = 0; s < sources; s++) {
		world->weight[s] = 0.1 + rng_uniform(rng);
		world->offered[s] = rng_below(rng, 3) ? INFINITY : 5 * rng_uniform(rng);
	}
	for (uint32_t r = 0; r < resources; r++) {
		world->first[r] = at;
		world->capacity[r] = rng_below(rng, 10) ? 10 * rng_uniform(rng) : 0;
		for (uint32_t s = 0; s < sources; s++)
			if (rng_below(rng, 2)) {
				world->source[at] = s;
				world->load[at++] = rng_below(rng, 2) ? 1 : 0.1 + 3 * rng_uniform(rng);
			}
	}
	world->first[resources] = at;
	world->problem = (struct max_min_problem){.source_count = sources,
						  .resource_count = resources,
						  .capacity = world->capacity,
						  .weight = world->weight,
						  .offered = world->offered,
						  .first = world->first,
						  .source = world->source,
						  .load = world->load};
}

static bool uses(const struct world *world, uint32_t resource, uint32_t source)
{
	for (uint32_t i = world->first[resource]; i < world->first[resource + 1]; i++)
		if (world->source[i] == source)
			return true;
	return false;
}

/*
 * The definition: no resource exceeds its capacity, and each source gets its whole offer or uses a full resource on
 * which no other source has more per weight.
 */
static void check(const struct world *world)
{
	double used[RESOURCES];

	for (uint32_t r = 0; r < world->problem.resource_count; r++) {
		used[r] = 0;
		for (uint32_t i = world->first[r]; i < world->first[r + 1]; i++)
			used[r] += world->load[i] * world->rate[world->source[i]];
		cr_assert_leq(used[r], world->capacity[r] + 1e-9);
	}
	for (uint32_t s = 0; s < world->problem.source_count; s++) {
		uint32_t full = world->bottleneck[s];

		if (full == MAX_MIN_OFFERED) {
			cr_assert_eq(world->rate[s], world->offered[s]);
			continue;
		}
		cr_assert(uses(world, full, s));
		cr_assert_float_eq(used[full], world->capacity[full], 1e-9);
		for (uint32_t o = 0; o < world->problem.source_count; o++)
			if (uses(world, full, o))
				cr_assert_leq(world->rate[o] / world->weight[o],
					      world->rate[s] / world->weight[s] + 1e-9);
	}
}

Test(max_min, no_rate_can_grow_without_a_smaller_one_shrinking)
{
	struct world world;
	struct rng rng;

	rng_seed(&rng, 11);
	for (int round = 0; round < 20000; round++) {
		make_random(&world, &rng);
		solve(&world);
		check(&world);
	}
}
