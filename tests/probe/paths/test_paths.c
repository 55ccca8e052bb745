/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <base/rng.h>
#include <probe/paths/paths.h>

enum { CANDIDATES = 256 };

/* A leaf, one of `spines` spines, a leaf; a hash of port and seed selects the spine. */
struct fabric {
	uint32_t spines;
	uint64_t seed;
	uint32_t silent_hop; /* never answers; 0 = none */
	double loss;         /* of answers */
	bool cut;            /* nothing arrives */
	struct rng rng;
	uint64_t probes;
};

static uint32_t spine_of(const struct fabric *fabric, uint32_t candidate)
{
	struct rng rng;

	rng_seed(&rng, fabric->seed * 1000003 + candidate);
	return (uint32_t)rng_below(&rng, fabric->spines);
}

static void answer(struct fabric *fabric, struct paths *paths, const struct paths_probe *probe, struct ns now)
{
	uint32_t routers[] = {1, 100 + spine_of(fabric, probe->candidate), 2};

	fabric->probes++;
	if (fabric->cut || probe->ttl == fabric->silent_hop || rng_uniform(&fabric->rng) < fabric->loss)
		return;
	if (probe->ttl > 3) {
		paths_reached(paths, probe, now);
		return;
	}
	paths_expired(paths, probe, routers[probe->ttl - 1], now);
}

/* Runs until the virtual clock shows `until`. */
static void run(struct fabric *fabric, struct paths *paths, struct ns *now, struct ns until)
{
	struct paths_probe probe;

	while (now->v < until.v) {
		while (paths_take(paths, *now, &probe)) {
			now->v += 100 * NS_PER_US;
			answer(fabric, paths, &probe, *now);
		}
		now->v = paths_due(paths).v > now->v ? paths_due(paths).v : now->v + 1;
	}
}

static struct paths *create(double miss)
{
	struct paths_options options = {
		.candidates = CANDIDATES, .miss = miss, .timeout = {100 * NS_PER_MS}, .pause = {NS_PER_S}};

	return paths_create(&options);
}

static struct fabric fabric_of(uint32_t spines, uint64_t seed)
{
	struct fabric fabric = {.spines = spines, .seed = seed};

	rng_seed(&fabric.rng, seed);
	return fabric;
}

static void check_paths(const struct fabric *fabric, const struct paths *paths)
{
	for (uint32_t i = 0; i < paths_count(paths); i++) {
		const struct path *path = paths_get(paths, i);
		ip_address spine = 100 + spine_of(fabric, path->candidate);

		cr_assert_eq(path->hop_count, 3);
		cr_assert(path->hops[1] == spine, "the port's own spine");
		for (uint32_t j = 0; j < i; j++)
			cr_assert(path->hops[1] != paths_get(paths, j)->hops[1]);
	}
}

Test(paths, all_are_found_as_often_as_promised)
{
	static const uint32_t spines[] = {1, 2, 4, 16};

	for (size_t s = 0; s < sizeof spines / sizeof *spines; s++) {
		unsigned missed = 0;

		for (uint64_t seed = 1; seed <= 300; seed++) {
			struct fabric fabric = fabric_of(spines[s], seed);
			struct paths *paths = create(0.01);
			struct ns now = {0};

			run(&fabric, paths, &now, (struct ns){NS_PER_S / 2});
			cr_assert(paths_known(paths));
			cr_assert_geq(paths_confidence(paths), 0.99);
			check_paths(&fabric, paths);
			missed += paths_count(paths) < spines[s];
			paths_destroy(paths);
		}
		/* 1 % of 300 is 3; more than 10 occur by chance once in a thousand times. */
		cr_assert_leq(missed, 10, "%u spines: %u of 300 runs missed one", spines[s], missed);
	}
}

Test(paths, a_silent_router_hides_nothing_else)
{
	struct fabric fabric = fabric_of(4, 7);
	struct paths *paths = create(1e-6);
	struct ns now = {0};

	fabric.silent_hop = 1;
	run(&fabric, paths, &now, (struct ns){60 * NS_PER_S});
	cr_assert(paths_known(paths));
	cr_assert_eq(paths_count(paths), 4);
	cr_assert(paths_get(paths, 0)->hops[0] == 0);
	paths_destroy(paths);
}

Test(paths, lost_answers_make_no_path)
{
	struct fabric fabric = fabric_of(4, 9);
	struct paths *paths = create(1e-6);
	struct ns now = {0};

	fabric.loss = 0.2;
	run(&fabric, paths, &now, (struct ns){600 * NS_PER_S});
	cr_assert(paths_known(paths));
	cr_assert_eq(paths_count(paths), 4);
	cr_assert_eq(paths_generation(paths), 0);
	paths_destroy(paths);
}

Test(paths, other_routes_are_learned_and_a_repaired_one_is_found)
{
	struct fabric fabric = fabric_of(3, 11);
	struct paths *paths = create(1e-6);
	struct ns now = {0};

	run(&fabric, paths, &now, (struct ns){10 * NS_PER_S});
	cr_assert_eq(paths_count(paths), 3);
	fabric.seed = 12;
	fabric.spines = 4;
	run(&fabric, paths, &now, (struct ns){40 * NS_PER_S});
	cr_assert_gt(paths_generation(paths), 0);
	cr_assert_eq(paths_count(paths), 4);
	check_paths(&fabric, paths);
	paths_destroy(paths);
}

Test(paths, a_dead_destination_gets_few_probes_and_keeps_its_paths)
{
	struct fabric fabric = fabric_of(4, 13);
	struct paths *paths = create(1e-6);
	struct ns now = {0};

	run(&fabric, paths, &now, (struct ns){10 * NS_PER_S});
	fabric.cut = true;
	fabric.probes = 0;
	run(&fabric, paths, &now, (struct ns){110 * NS_PER_S});
	cr_assert_leq(fabric.probes, 100 * 9, "nine probes a second at most, as none comes back");
	cr_assert_eq(paths_count(paths), 4);
	cr_assert_eq(paths_generation(paths), 0);
	paths_destroy(paths);
}

Test(paths, answers_that_nobody_waits_for_are_ignored)
{
	struct paths *paths = create(0.01);
	struct paths_probe probe;

	paths_expired(paths, &(struct paths_probe){0, 1}, 1, (struct ns){0});
	paths_reached(paths, &(struct paths_probe){0, 1}, (struct ns){0});
	cr_assert(paths_take(paths, (struct ns){0}, &probe));
	paths_reached(paths, &(struct paths_probe){probe.candidate + 1, probe.ttl}, (struct ns){0});
	paths_reached(paths, &(struct paths_probe){probe.candidate, probe.ttl + 1}, (struct ns){0});
	cr_assert_eq(paths_count(paths), 0);
	cr_assert_eq(paths_confidence(paths), 0);
	paths_destroy(paths);
}

Test(paths, options_out_of_range)
{
	struct paths_options options = {.candidates = 0, .miss = 0.01};

	cr_assert_eq(paths_create(&options), NULL);
	options.candidates = PATHS_CANDIDATES_MAXIMUM + 1;
	cr_assert_eq(paths_create(&options), NULL);
	options = (struct paths_options){.candidates = 1, .miss = 0};
	cr_assert_eq(paths_create(&options), NULL);
}
