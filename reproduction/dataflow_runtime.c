/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures 10 and 11: time of a decision by cluster size, with at least 16 jobs running. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/ns.h>
#include <base/progress.h>
#include <base/quantile.h>
#include <sched/dataflow/plan.h>

#include "reproduction.h"

enum { SIZES = 5, RUNNING = 16, ENGINES = 2 };
static const uint32_t sizes[SIZES] = {200, 400, 600, 800, 1000};
static const char *const engines[ENGINES] = {"both", "rate"};
static const char *const engine_texts[ENGINES] = {"both (the paper's)", "rate (ours)"};

static const struct {
	int figure;
	const char *recipe, *name;
	double published[EXPERIMENT_TOPOLOGIES][SIZES]; /* s */
} kinds[] = {
	{10, "storm", "Storm", {{0.20, NAN, NAN, NAN, 0.53}, {0.28, NAN, NAN, NAN, 0.74}}},
	{11, "mapreduce", "MapReduce", {{0.17, NAN, NAN, NAN, 0.48}, {0.23, NAN, NAN, NAN, 0.67}}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/*
 * Starts 16 jobs, then places options->runs more jobs one by one. Returns the median time of placing one of the latter,
 * ms.
 */
static double decide_ms(struct experiment_page *page, const struct experiment_dataflow_options *options, int kind,
			int topology, uint32_t hosts, const char *engine)
{
	struct dataflow_recipe recipe = experiment_recipe(kinds[kind].recipe, options->engine.seed);
	struct engine_options engine_options = options->engine;
	struct dataflow *dataflow;
	struct dataflow_plan *plan = NULL;
	double *ms = malloc(options->runs * sizeof *ms + 1), median = NAN;
	struct error err = {0};

	recipe.jobs = RUNNING + options->runs;
	engine_options.now = ns_now_cpu;
	engine_options.deadline = (struct ns){0};
	dataflow = ms ? experiment_scenario(page, topology, hosts, options->slots, &recipe) : NULL;
	if (dataflow)
		plan = dataflow_plan_create(dataflow, engine_find(engine), &engine_options, &options->paths, 0, &err);
	if (!plan)
		experiment_page_fail(page, err.code ? err.code : ENOMEM, err.code ? err.text : "out of memory");
	for (uint32_t run = 0; plan && run < options->runs; run++)
		ms[run] = 1e3 * plan->jobs[RUNNING + run].seconds;
	if (plan)
		median = quantile_median(ms, options->runs);
	free(ms);
	dataflow_plan_destroy(plan);
	dataflow_destroy(dataflow);
	return median;
}

static void figure(struct experiment_page *page, const struct experiment_dataflow_options *options, int kind,
		   struct progress *progress, uint64_t *done)
{
	double x[SIZES], ms[EXPERIMENT_TOPOLOGIES][ENGINES][SIZES], theirs[SIZES];
	char text[160];
	struct chart *chart;

	snprintf(text, sizeof text, "Time of a decision, %s jobs, %d running", kinds[kind].name, RUNNING);
	chart = chart_create(&(struct chart_options){
		.title = text, .x = {.label = "hosts"}, .y = {.label = "CPU time (ms)", .scale = CHART_LOG}});
	for (int s = 0; s < SIZES; s++)
		x[s] = sizes[s];
	for (int topology = 0; topology < EXPERIMENT_TOPOLOGIES; topology++) {
		for (int e = 0; e < ENGINES; e++) {
			for (int s = 0; s < SIZES && !experiment_page_failed(page); s++) {
				ms[topology][e][s] = decide_ms(page, options, kind, topology, sizes[s], engines[e]);
				progress_update(progress, ++*done, engines[e]);
			}
			snprintf(text, sizeof text, "%s, %s", experiment_topology_names[topology], engine_texts[e]);
			if (chart)
				chart_add_line(chart, text, x, ms[topology][e], SIZES, (struct chart_style){0});
		}
		for (int s = 0; s < SIZES; s++)
			theirs[s] = 1e3 * kinds[kind].published[topology][s];
		snprintf(text, sizeof text, "published, %s", experiment_topology_names[topology]);
		if (chart)
			chart_add_points(chart, text, x, theirs, NULL, SIZES, (struct chart_style){0});
	}
	experiment_page_chart(page, kinds[kind].figure, chart);
	for (int topology = 0; topology < EXPERIMENT_TOPOLOGIES && !experiment_page_failed(page); topology++)
		for (int s = 0; s < SIZES; s += SIZES - 1)
			for (int e = 0; e < ENGINES; e++) {
				char published[40] = "not in the paper";

				if (e == 0)
					snprintf(published, sizeof published, "%.2f s",
						 kinds[kind].published[topology][s]);
				snprintf(text, sizeof text, "%s, %s, %u hosts, %s", kinds[kind].name,
					 experiment_topology_names[topology], sizes[s], engine_texts[e]);
				experiment_page_row(page, text, published, "%.1f ms", ms[topology][e][s]);
			}
}

void experiment_runtime(struct experiment_page *page, const struct experiment_dataflow_options *options)
{
	struct progress *progress = options->progress
					    ? progress_create(options->progress, "sizes",
							      (uint64_t)KINDS * EXPERIMENT_TOPOLOGIES * ENGINES * SIZES)
					    : NULL;
	uint64_t done = 0;

	experiment_page_text(page,
			     "Median CPU time of the thread over %u decisions after %d jobs are running. Published "
			     "times are elapsed, on a 2.5 GHz processor of 2014.",
			     options->runs, RUNNING);
	for (int kind = 0; kind < KINDS; kind++)
		figure(page, options, kind, progress, &done);
	progress_destroy(progress);
}
