/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of a fat tree of 4 leaves, 4 spines and 8 hosts are named, and nothing else is. Each world is a fault at a
 * random place and time; the verdict is asked each time that one window of every prober has ended, 7 times per window.
 */
#include <criterion/criterion.h>
#include <criterion/logging.h>

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include <base/quantile.h>

#include "fat_tree.h"

enum { WORLDS = 100, QUIET_WORLDS = 2000, POWER_WORLDS = 100, PAIRS_OVER_A_LINK = 12, LINKS = 16 };

static const struct tree_background calm = {.loss = 0.0003, .bursts = 0.05, .noise_us = 10};
static char path[64];
static struct tree tree;

static void set_up(void)
{
	const struct tree_shape shape = {.leaves = 4, .spines = 4, .hosts = 8, .probes = 100};

	snprintf(path, sizeof path, "/tmp/nomora-faults-%ld", (long)getpid());
	unlink(path);
	tree_create(&tree, &shape, path);
	tree.background = calm;
}

static void tear_down(void)
{
	tree_destroy(&tree);
	unlink(path);
}

TestSuite(faults, .init = set_up, .fini = tear_down, .timeout = 600);

static struct tree_fault draw(enum tree_fault_kind kind, double loss, double us)
{
	return (struct tree_fault){
		.kind = kind,
		.leaf = (uint32_t)rng_below(&tree.rng, tree.shape.leaves),
		.spine = (uint32_t)rng_below(&tree.rng, tree.shape.spines),
		.host = (uint32_t)rng_below(&tree.rng, tree.shape.hosts),
		.loss = loss,
		.us = us,
		.end = INFINITY,
	};
}

/* Begins faults after three windows without one. */
static void begin(const struct tree_fault *faults, size_t count)
{
	double now;

	for (uint32_t i = 0; i < 2 * (tree.shape.hosts - 1); i++)
		tree_step(&tree);
	now = tree_time(&tree) + rng_uniform(&tree.rng);
	for (size_t i = 0; i < count; i++) {
		tree.faults[i] = faults[i];
		tree.faults[i].begin = now;
	}
	tree.fault_count = count;
}

struct outcome {
	bool named, beside, before; /* something else is accused beside the culprits; before they were named */
	double windows;             /* from the begin of the fault until all culprits are named */
};

static bool all_are_named(const struct patterns *found)
{
	for (size_t i = 0; i < tree.fault_count; i++) {
		bool named = false;

		for (size_t k = 0; k < found->count; k++)
			named = named || tree_is_named(&tree.faults[i], &found->items[k]);
		if (!named)
			return false;
	}
	return true;
}

static bool others_are_accused(const struct patterns *found)
{
	for (size_t k = 0; k < found->count; k++) {
		bool near = false;

		for (size_t i = 0; i < tree.fault_count; i++)
			near = near || tree_is_near(&tree, &tree.faults[i], &found->items[k]);
		if (!near)
			return true;
	}
	return false;
}

static struct outcome watch(double windows)
{
	struct outcome outcome = {0};

	do {
		struct patterns found;

		tree_step(&tree);
		tree_find(&tree, &found);
		outcome.windows = tree_time(&tree) - tree.faults[0].begin;
		outcome.named = all_are_named(&found);
		outcome.beside = others_are_accused(&found);
		outcome.before = outcome.before || (outcome.beside && !outcome.named);
		patterns_free(&found);
	} while (!outcome.named && outcome.windows < windows);
	return outcome;
}

/* Losses from nearly none to 0.2 %, bursts, and noise of the medians as on a machine with other work. */
Test(faults, without_a_fault_nobody_is_accused)
{
	for (uint64_t seed = 0; seed < QUIET_WORLDS; seed++) {
		tree_seed(&tree, seed);
		tree.background.loss = 0.002 * rng_uniform(&tree.rng);
		tree.background.noise_us = 30 * rng_uniform(&tree.rng);
		tree.background.disturbed = rng_uniform(&tree.rng);
		for (uint32_t i = 0; i < 3 * (tree.shape.hosts - 1); i++) {
			struct patterns found;

			tree_step(&tree);
			tree_find(&tree, &found);
			cr_assert_eq(found.count, 0, "world %llu", (unsigned long long)seed);
			patterns_free(&found);
		}
	}
}

static double any_loss(void)
{
	static const double losses[] = {0.03, 0.05, 0.1};

	return losses[rng_below(&tree.rng, 3)];
}

static double any_us(void)
{
	return 100 * (double)(1 << rng_below(&tree.rng, 4));
}

enum { HOST_STALLS, LOSSY_UP, LOSSY_DOWN, SLOW_LINK, SLOW_SPINE, LOSSY_SPINE, DEAD_SPINE, DEAD_RACK, KINDS };

static struct tree_fault draw_kind(int kind)
{
	switch (kind) {
	case HOST_STALLS:
		return draw(TREE_STALL, 0, 0);
	case LOSSY_UP:
		return draw(TREE_LINK_UP, any_loss(), 0);
	case LOSSY_DOWN:
		return draw(TREE_LINK_DOWN, any_loss(), 0);
	case SLOW_LINK:
		return draw(TREE_LINK, 0, any_us());
	case SLOW_SPINE:
		return draw(TREE_SPINE, 0, any_us());
	case LOSSY_SPINE:
		return draw(TREE_SPINE, any_loss(), 0);
	case DEAD_SPINE:
		return draw(TREE_SPINE, 1, 0);
	default:
		return draw(TREE_RACK, 1, 0);
	}
}

/* Two faults of different kinds that do not hide each other. */
static void draw_two(struct tree_fault two[2])
{
	bool hidden;

	do {
		int first = (int)rng_below(&tree.rng, KINDS), second = (int)rng_below(&tree.rng, KINDS);
		bool spines = true;

		two[0] = draw_kind(first);
		two[1] = draw_kind(second);
		hidden = first == second;
		for (int i = 0; i < 2; i++) {
			const struct tree_fault *other = &two[1 - i];

			spines = spines && two[i].kind != TREE_STALL && two[i].kind != TREE_RACK;
			if (two[i].kind == TREE_RACK)
				hidden = hidden || other->leaf == two[i].leaf || other->host / 2 == two[i].leaf;
		}
		hidden = hidden || (spines && (two[0].spine == two[1].spine || two[0].leaf == two[1].leaf));
	} while (hidden);
}

static const struct {
	const char *name;
	int kind;
	double disturbed;
	int named, before; /* of 100: named within 3 windows, at least; others accused before, at most */
} expected[] = {
	{"a host stalls", HOST_STALLS, 0, 100, 0},
	{"lossy link to a spine", LOSSY_UP, 0, 97, 10},
	{"lossy link from a spine", LOSSY_DOWN, 0, 97, 3},
	{"slow link", SLOW_LINK, 0, 90, 3},
	{"slow link, busy hosts", SLOW_LINK, 0.8, 90, 3},
	{"slow spine", SLOW_SPINE, 0, 97, 5},
	{"slow spine, busy hosts", SLOW_SPINE, 0.8, 97, 5},
	{"lossy spine", LOSSY_SPINE, 0, 97, 12},
	{"dead spine", DEAD_SPINE, 0, 97, 10},
	{"dead rack", DEAD_RACK, 0, 97, 3},
	{"two of these", KINDS, 0, 82, 14},
};

Test(faults, each_kind_is_named_within_three_windows)
{
	for (size_t row = 0; row < sizeof expected / sizeof *expected; row++) {
		int named = 0, before = 0, beside = 0;
		double windows = 0;

		for (uint64_t world = 0; world < WORLDS; world++) {
			struct tree_fault faults[2];
			struct outcome outcome;

			tree.background.disturbed = expected[row].disturbed;
			tree_seed(&tree, row << 32 | world);
			if (expected[row].kind == KINDS)
				draw_two(faults);
			else
				faults[0] = draw_kind(expected[row].kind);
			begin(faults, expected[row].kind == KINDS ? 2 : 1);
			outcome = watch(3);
			named += outcome.named;
			before += outcome.before;
			beside += outcome.named && outcome.beside;
			windows += outcome.named ? outcome.windows : 0;
		}
		cr_log_info("%s: %d %% named, after %.1f windows; others: before %d %%, beside %d %%",
			    expected[row].name, 100 * named / WORLDS, windows / named, 100 * before / WORLDS,
			    100 * beside / WORLDS);
		cr_expect_geq(100 * named, expected[row].named * WORLDS, "%s: %d", expected[row].name, named);
		cr_expect_leq(100 * before, expected[row].before * WORLDS, "%s: %d", expected[row].name, before);
		cr_expect_leq(100 * beside, WORLDS, "%s: %d", expected[row].name, beside);
	}
}

/* Why mesh_watch_run() draws an order of the peers for each prober. */
Test(faults, windows_in_the_same_order_accuse_the_peers_that_are_first)
{
	int before = 0;

	tree.same_order = true;
	for (uint64_t world = 0; world < WORLDS; world++) {
		struct tree_fault fault;

		tree_seed(&tree, world);
		fault = draw_kind(SLOW_SPINE);
		begin(&fault, 1);
		before += watch(3).before;
	}
	cr_assert_gt(before, WORLDS / 2, "%d", before);
}

/* Probability that a Poisson number of this mean is at least `least`. */
static double poisson_tail(double mean, double least)
{
	double below = 0;

	for (double k = 0; k < least; k++)
		below += exp(k * log(mean) - mean - lgamma(k + 1));
	return 1 - below;
}

/*
 * What share a test could find at most that knows the background and is given the losses of all pairs over the link,
 * if it asks for a likelihood ratio of 10^6 times the number of links.
 */
static double possible(double loss, uint32_t probes, int windows)
{
	double sent = (double)PAIRS_OVER_A_LINK * probes * windows, lost = 0;

	while (likelihood_of_excess(lost, sent, calm.loss) < log(1e6 * LINKS))
		lost++;
	return poisson_tail(sent * loss, lost);
}

static const struct {
	double loss;
	uint32_t probes;
	int named[2]; /* of 100, within 2 and 3 windows, at least */
} power[] = {
	{0.01, 25, {0, 0}},    {0.01, 100, {0, 4}},   {0.01, 400, {8, 92}},  {0.02, 25, {0, 0}},
	{0.02, 100, {22, 88}}, {0.02, 400, {70, 95}}, {0.03, 25, {0, 12}},   {0.03, 100, {62, 95}},
	{0.03, 400, {86, 97}}, {0.05, 25, {16, 70}},  {0.05, 100, {88, 97}}, {0.05, 400, {92, 97}},
	{0.1, 25, {82, 95}},   {0.1, 100, {95, 97}},  {0.1, 400, {97, 97}},
};

Test(faults, losses_in_one_direction_of_one_link)
{
	for (size_t row = 0; row < sizeof power / sizeof *power; row++) {
		int named[2] = {0};

		tree.shape.probes = power[row].probes;
		for (uint64_t world = 0; world < POWER_WORLDS; world++) {
			struct tree_fault fault;
			struct outcome outcome;

			tree_seed(&tree, 1000 + world);
			fault = draw(world % 2 ? TREE_LINK_UP : TREE_LINK_DOWN, power[row].loss, 0);
			begin(&fault, 1);
			outcome = watch(3);
			named[0] += outcome.named && outcome.windows <= 2;
			named[1] += outcome.named && outcome.windows <= 3;
		}
		cr_log_info("| %g %% | %u | %.0f / %.0f / %.0f %% | %d %% | %d %% |", 100 * power[row].loss,
			    power[row].probes, 100 * possible(power[row].loss, power[row].probes, 1),
			    100 * possible(power[row].loss, power[row].probes, 2),
			    100 * possible(power[row].loss, power[row].probes, 3), 100 * named[0] / POWER_WORLDS,
			    100 * named[1] / POWER_WORLDS);
		for (int i = 0; i < 2; i++)
			cr_expect_geq(100 * named[i], power[row].named[i] * POWER_WORLDS, "%g %%, %u probes: %d",
				      100 * power[row].loss, power[row].probes, named[i]);
	}
}
