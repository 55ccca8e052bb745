/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures 12 and 13: change of each job's completion time at 1,000 hosts, compared with random placement and routes. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/progress.h>
#include <base/quantile.h>
#include <sched/dataflow/simulate.h>

#include "reproduction.h"

enum { HOSTS = 1000, ENGINES = 3 };
static const char *const engines[ENGINES] = {"random", "both", "rate"};
static const char *const engine_texts[ENGINES] = {"random", "both (the paper's)", "rate (ours)"};

static const struct {
	int figure;
	const char *recipe, *name;
	const char *p50, *p75, *worst, *slower[EXPERIMENT_TOPOLOGIES];
} kinds[] = {
	{12, "mapreduce,per-minute=60,MB=1-1000", "MapReduce", "-34 %", "-38 %", "under +20 %", {"27 %", "18 %"}},
	{13, "storm,per-minute=10,MB=1-100", "Storm", "-34 %", "-41 %", "under +30 %", {"24 %", "16 %"}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Simulates all jobs with one engine. Writes each job's completion time to seconds[]. Returns false on failure. */
static bool complete(struct experiment_page *page, const struct experiment_dataflow_options *options, int kind,
		     int topology, const char *engine, double *seconds)
{
	struct dataflow_recipe recipe = experiment_recipe(kinds[kind].recipe, options->engine.seed);
	struct dataflow_simulate_options simulate = {.engine = engine_find(engine),
						     .engine_options = options->engine,
						     .paths = options->paths,
						     .until_s = INFINITY};
	struct dataflow *dataflow;
	struct dataflow_simulate_result result;
	struct error err = {0};
	int code;

	recipe.jobs = options->runs;
	dataflow = experiment_scenario(page, topology, HOSTS, options->slots, &recipe);
	if (!dataflow)
		return false;
	code = dataflow_simulate(dataflow, &simulate, &result, &err);
	dataflow_destroy(dataflow);
	if (code < 0) {
		experiment_page_fail(page, -code, err.text);
		return false;
	}
	for (uint32_t j = 0; j < options->runs; j++)
		seconds[j] = result.jobs[j].end_s - result.jobs[j].arrival_s;
	simulate_result_clear(&result);
	return true;
}

/*
 * Adds table rows about change[]: by job, the change of its completion time in per cent; negative: faster. Sorts
 * change[].
 */
static void tabulate(struct experiment_page *page, int kind, int topology, int engine, double *change, uint32_t jobs)
{
	static const char *const texts[] = {"p50 of the change", "p75 of the improvement", "jobs that are slower",
					    "worst"};
	const char *theirs[] = {kinds[kind].p50, kinds[kind].p75, kinds[kind].slower[topology], kinds[kind].worst};
	uint32_t slower = 0;

	quantile_median(change, jobs); /* sorts */
	for (uint32_t j = 0; j < jobs; j++)
		slower += change[j] > 1e-6;
	const double ours[] = {change[jobs / 2], change[jobs / 4], 100.0 * slower / jobs, change[jobs - 1]};

	for (int m = 0; m < 4; m++) {
		char what[120];

		snprintf(what, sizeof what, "%s, %s, %s: %s", kinds[kind].name, experiment_topology_names[topology],
			 engine_texts[engine], texts[m]);
		experiment_page_row(page, what, engine == 1 ? theirs[m] : "not in the paper",
				    m == 2 ? "%.0f %%" : "%+.1f %%", ours[m]);
	}
}

static void figure(struct experiment_page *page, const struct experiment_dataflow_options *options, int kind,
		   struct progress *progress, uint64_t *done)
{
	uint32_t jobs = options->runs;
	double *seconds = malloc((size_t)EXPERIMENT_TOPOLOGIES * ENGINES * jobs * sizeof *seconds + 1);
	char text[160];
	struct chart *chart;

	snprintf(text, sizeof text, "Completion time against random, %u %s jobs, %d hosts", jobs, kinds[kind].name,
		 HOSTS);
	chart = chart_create(&(struct chart_options){.title = text,
						     .x = {.label = "change of the completion time (%)"},
						     .y = {.label = "share of the jobs"}});
	if (!seconds || !chart)
		experiment_page_fail(page, ENOMEM, "out of memory");
	for (int topology = 0; topology < EXPERIMENT_TOPOLOGIES; topology++)
		for (int e = 0; e < ENGINES && !experiment_page_failed(page); e++) {
			double *of = seconds + (size_t)(topology * ENGINES + e) * jobs, *random = of - (size_t)e * jobs;

			complete(page, options, kind, topology, engines[e], of);
			progress_update(progress, ++*done, engines[e]);
			for (uint32_t j = 0; j < jobs && e > 0; j++)
				of[j] = 100 * (of[j] / random[j] - 1);
			snprintf(text, sizeof text, "%s, %s", experiment_topology_names[topology], engine_texts[e]);
			if (e > 0 && !experiment_page_failed(page))
				chart_add_cdf(chart, text, of, jobs, (struct chart_style){0});
		}
	if (chart)
		chart_add_vertical(chart, NULL, 0, (struct chart_style){.colour = CHART_GREY, .dashed = true});
	experiment_page_chart(page, kinds[kind].figure, chart);
	for (int topology = 0; topology < EXPERIMENT_TOPOLOGIES; topology++)
		for (int e = 1; e < ENGINES && !experiment_page_failed(page); e++)
			tabulate(page, kind, topology, e, seconds + (size_t)(topology * ENGINES + e) * jobs, jobs);
	free(seconds);
}

void experiment_scale(struct experiment_page *page, const struct experiment_dataflow_options *options)
{
	struct progress *progress = options->progress
					    ? progress_create(options->progress, "simulations",
							      (uint64_t)KINDS * EXPERIMENT_TOPOLOGIES * ENGINES)
					    : NULL;
	uint64_t done = 0;

	experiment_page_text(
		page,
		"%u jobs arrive: one MapReduce job a second with 1 to 1,000 MB for each mapper, ten Storm jobs "
		"a minute with 1 to 100 MB for each spout. The same job is compared with itself under random "
		"placement and routes.",
		options->runs);
	for (int kind = 0; kind < KINDS; kind++)
		figure(page, options, kind, progress, &done);
	progress_destroy(progress);
}
