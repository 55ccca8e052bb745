/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a mode costs per packet beside the loop of fixed delays: packets circulate at D = 100 us, with the fixed loop
 * and with each mode in turns. Arguments: seconds per figure (default 0.5), rounds (default 5).
 */
#include <stdio.h>
#include <stdlib.h>

#include "circulate.h"

enum { RING_SIZE = 4096, MBUFS = 65535, CIRCULATING = 16000, ROUNDS_MAXIMUM = 64 };

static const struct variant {
	const char *name;
	struct injector_mode_settings modes;
	const char *rule;
} variants[] = {
	{.name = "fixed"},
	{.name = "loss 0", .modes.loss = "0"},
	{.name = "corrupt 1", .modes.corrupt = "1"},
	{.name = "steps", .modes.steps = "0:100"},
	{.name = "rate", .modes.rate = "400000"},
	{.name = "jitter uniform:20", .modes.jitter = "uniform:20"},
	{.name = "jitter normal:10", .modes.jitter = "normal:10"},
	{.name = "jitter uniform:20, reorder", .modes = {.jitter = "uniform:20", .reorder = true}},
	{.name = "a rule that matches none", .rule = "udp:53 delay=1"},
};

enum { VARIANTS = sizeof variants / sizeof variants[0] };

static struct injector_mode_settings with_defaults(const struct variant *variant)
{
	struct injector_mode_settings modes = variant->modes;

	modes.replay_interval_us = 1e6;
	return modes;
}

/* Returns the nanoseconds of CPU time per packet. */
static double measure(struct bench *bench, const struct variant *variant, double seconds)
{
	struct bench_options options = {.delay_us = variant->modes.steps ? 0 : 100, .slots = 16384};
	struct injector_mode_settings modes = with_defaults(variant);
	struct error err = {.text = ""};
	double pps, wall_pps;

	for (int d = 0; d < 2; d++) {
		if (injector_modes_wanted(&modes))
			options.modes[d] = injector_modes_create(&modes, &bench->clock, &err);
		if (variant->rule)
			options.rules[d] = injector_rules_create(&variant->rule, 1, &modes, &bench->clock, &err);
	}
	if (err.text[0]) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	bench_make_injector(bench, &options);
	pps = circulate(bench, true, CIRCULATING, seconds, &wall_pps);
	injector_destroy(bench->injector);
	circulate_empty(bench);
	for (int d = 0; d < 2; d++) {
		injector_modes_destroy(options.modes[d]);
		injector_rules_destroy(options.rules[d]);
	}
	return 1e9 / (2 * pps);
}

int main(int argc, char **argv)
{
	static double ns[VARIANTS][ROUNDS_MAXIMUM], over[ROUNDS_MAXIMUM];
	double seconds = argc > 1 ? atof(argv[1]) : 0.5;
	unsigned int rounds = argc > 2 ? (unsigned int)atoi(argv[2]) : 5;
	struct bench bench = {0};

	if (seconds <= 0 || rounds < 1 || rounds > ROUNDS_MAXIMUM) {
		fprintf(stderr, "usage: %s [SECONDS [ROUNDS]]\n", argv[0]);
		return 2;
	}
	bench_start(&bench, MBUFS, RING_SIZE);
	for (unsigned int i = 0; i < rounds; i++) {
		for (int v = 0; v < VARIANTS; v++)
			ns[v][i] = measure(&bench, &variants[v], seconds);
	}
	for (int v = VARIANTS - 1; v >= 0; v--) {
		for (unsigned int i = 0; i < rounds; i++)
			over[i] = ns[v][i] - ns[0][i];
		bench_sort(over, rounds);
		bench_sort(ns[v], rounds);
		bench_print("injector_modes", json_pack("{s:s, s:f, s:f, s:f}", "mode", variants[v].name, "ns_median",
							bench_quantile(ns[v], rounds, 0.5), "ns_best", ns[v][0],
							"over_fixed_ns_median", bench_quantile(over, rounds, 0.5)));
	}
	bench_stop(&bench);
	return 0;
}
