/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exact solver on the instances for which it has target times. One JSON line for each, with the median and worst
 * time in ms, the number of optima proved, and the number for which ties were proved too. Arguments: seeds per kind
 * (default 100; 10 for the slow kinds), and a trace of the coflow benchmark or `small`, which solves small clusters
 * instead.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/ns.h>
#include <base/quantile.h>
#include <sched/recovery/recovery.h>

enum { SLOW_SEEDS = 10, TRACE_SECONDS = 3600, TRACE_STEP = 20 };

static const struct kind {
	const char *recipe;
	double target_median_ms, target_worst_ms; /* 0 = none */
	bool slow;
} kinds[] = {
	{"servers=500,apps=10,tasks=20,failed=8", 2, 10, false},
	{"servers=500,apps=10,tasks=20,failed=8,demand=4", 0, 20, false},
	{"servers=1000,apps=100,tasks=40,failed=20", 0, 20, false},
	{"servers=1000,apps=100,tasks=40,failed=20,demand=4", 0, 20, false},
	{"servers=1000,apps=100,tasks=40,failed=20,dense", 0, 200, true},
	{"servers=1000,apps=150,tasks=40,failed=20,fail=rack", 0, 100, true},
	{"servers=1000,apps=100,tasks=40,failed=20,cpu=tight,weights=1-4", 0, 0, true},
	{"servers=2000,apps=200,tasks=40,failed=30", 0, 0, true},
	{"servers=5000,apps=500,tasks=40,failed=40", 0, 0, true},
};

struct times {
	double *ms, *cpu_ms; /* elapsed time; CPU time of this thread, which other load does not disturb */
	int count, proved, within_1s, ties; /* within_1s: proved within 1 s of CPU time */
	uint64_t failed_tasks;
};

static void solve(const struct recovery_scenario *s, struct times *t)
{
	struct recovery_options options = {.deadline_ms = 10000};
	struct recovery_answer answer;
	double begin_ms = ns_to_us(ns_now_cpu()) * 1e-3;

	if (recovery_solve(s, &options, &answer, NULL) < 0)
		return;
	t->cpu_ms[t->count] = ns_to_us(ns_now_cpu()) * 1e-3 - begin_ms;
	t->ms[t->count++] = 1000 * answer.solve_s;
	t->proved += answer.status == RECOVERY_OPTIMAL;
	t->within_1s += answer.status == RECOVERY_OPTIMAL && t->cpu_ms[t->count - 1] <= 1000;
	t->ties += answer.ties_proved;
	t->failed_tasks += answer.failed_count;
	recovery_answer_free(&answer);
}

static void print(const char *name, struct times *t, double median_ms, double worst_ms)
{
	if (t->count == 0)
		return;
	quantile_median(t->ms, t->count);     /* sorts */
	quantile_median(t->cpu_ms, t->count); /* sorts */
	printf("{\"benchmark\": \"recovery\", \"instances\": \"%s\", \"count\": %d, \"failed_tasks\": %.1f, "
	       "\"proved\": %d, \"within_1s\": %d, "
	       "\"ties_proved\": %d, \"median_ms\": %.3f, \"p90_ms\": %.3f, \"worst_ms\": %.3f, \"cpu_median_ms\": "
	       "%.3f, \"cpu_worst_ms\": %.3f, \"target_median_ms\": "
	       "%g, "
	       "\"target_worst_ms\": %g}\n",
	       name, t->count, (double)t->failed_tasks / t->count, t->proved, t->within_1s, t->ties,
	       t->ms[t->count / 2], t->ms[t->count * 9 / 10], t->ms[t->count - 1], t->cpu_ms[t->count / 2],
	       t->cpu_ms[t->count - 1], median_ms, worst_ms);
	fflush(stdout);
}

static void run_kind(const struct kind *kind, int seeds)
{
	struct times t = {.ms = calloc(2 * (size_t)seeds, sizeof *t.ms)};
	struct recovery_recipe recipe;
	struct error err = {0};

	t.cpu_ms = t.ms ? t.ms + seeds : NULL;
	if (!t.ms || recovery_recipe_parse(kind->recipe, &recipe, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		free(t.ms);
		return;
	}
	for (int i = 1; i <= seeds; i++) {
		struct recovery_scenario *s;

		recipe.seed = (uint64_t)i;
		s = recovery_generate(&recipe, &err);
		if (s)
			solve(s, &t);
		recovery_destroy(s);
	}
	print(kind->recipe, &t, kind->target_median_ms, kind->target_worst_ms);
	free(t.ms);
}

static void run_trace(const char *path)
{
	struct error err = {0};
	struct ns begin = ns_now_monotonic();
	struct coflow_trace *trace = coflow_read(file_lines_open(path, &err), &err);
	size_t most = trace ? (size_t)TRACE_SECONDS / TRACE_STEP * coflow_port_count(trace) : 0;
	struct times t = {.ms = calloc(2 * most + 1, sizeof *t.ms)};

	t.cpu_ms = t.ms ? t.ms + most : NULL;
	if (!trace || !t.ms) {
		fprintf(stderr, "%s\n", err.text);
		goto out;
	}
	printf("{\"benchmark\": \"recovery\", \"figure\": \"read the trace\", \"flows\": %llu, \"ms\": %.1f, "
	       "\"target_ms\": 1000}\n",
	       (unsigned long long)coflow_flow_count(trace), 1000 * ns_to_s(ns_sub(ns_now_monotonic(), begin)));
	for (int second = TRACE_STEP; second < TRACE_SECONDS; second += TRACE_STEP) {
		for (uint32_t port = 0; port < coflow_port_count(trace); port++) {
			struct recovery_scenario *s = coflow_scenario(trace, second, 125, &err);

			if (!s)
				break; /* no data is left to send */
			recovery_fail_server(s, port);
			solve(s, &t);
			recovery_destroy(s);
		}
	}
	print("a second and a port of the trace", &t, 0, 200);
out:
	free(t.ms);
	coflow_destroy(trace);
}

/* Each of the 40 kinds of a small cluster, with the deadline of all kinds. */
static void run_small(int seeds)
{
	static const int servers[] = {6, 8, 10, 15, 20};

	for (size_t i = 0; i < 40; i++) {
		char recipe[80];

		snprintf(recipe, sizeof recipe, "servers=%d,failed=%zu,apps=%zu,tasks=40,fail=servers", servers[i / 8],
			 1 + i / 4 % 2, 2 + i % 4);
		run_kind(&(struct kind){.recipe = recipe, .target_worst_ms = 1000}, seeds);
	}
}

int main(int argc, char **argv)
{
	int seeds = argc > 1 ? atoi(argv[1]) : 100;

	if (argc > 2 && strcmp(argv[2], "small") == 0) {
		run_small(seeds);
		return 0;
	}

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		run_kind(&kinds[i], kinds[i].slow && seeds > SLOW_SEEDS ? SLOW_SEEDS : seeds);
	if (argc > 2)
		run_trace(argv[2]);
	return 0;
}
