/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures 4, 5, 7, 8: throughput of jobs that fill the hosts' slots, by engine and number of hosts. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/progress.h>
#include <sched/dataflow/plan.h>

#include "reproduction.h"

enum { SIZES = 3, ENGINES = 6, RANDOM = 0, APPLICATION = 1, BOTH = 3 };

static const char *const size_names[SIZES] = {"10", "20", "30"};
static const uint32_t sizes[SIZES] = {10, 20, 30};
static const char *const engines[ENGINES] = {"random", "application", "routing", "both", "rstorm", "rate"};
static const char *const engine_texts[ENGINES] = {"random",  "application", "routing", "both (the paper's)",
						  "R-Storm", "rate (ours)"};

/*
 * Published gains over random placement and routes, in per cent; NAN: not in the paper. Indexes: [Storm, Hadoop]
 * [topology][engine: application, routing, both][size].
 */
static const double published[2][EXPERIMENT_TOPOLOGIES][3][SIZES] = {
	{{{7.5, NAN, 21.1}, {9.1, NAN, 22.7}, {13.0, NAN, 30.0}},
	 {{10.9, NAN, 21.2}, {14.5, NAN, 23.1}, {18.1, NAN, 34.1}}},
	{{{7.5, NAN, NAN}, {9.0, NAN, NAN}, {22.3, NAN, NAN}}, {{NAN, NAN, 18.8}, {NAN, NAN, 25.5}, {NAN, NAN, 31.9}}},
};

struct gains {
	struct experiment_page *page;
	const struct experiment_dataflow_options *options;
	struct progress *progress;
	uint64_t done;
	double *MBps[SIZES][ENGINES]; /* [run]: mean throughput of the jobs in this run, MB/s */
};

/* Places jobs one by one until the slots are full. Returns the mean throughput of a job, MB/s. */
static double run_one(struct gains *gains, int topology, uint32_t hosts, const char *engine, uint64_t seed)
{
	bool storm = gains->options->what == EXPERIMENT_STORM;
	struct dataflow_recipe recipe = experiment_recipe(storm ? "storm" : "mapreduce", seed);
	struct engine_options options = gains->options->engine;
	struct topology_paths_options paths = gains->options->paths;
	struct dataflow *dataflow;
	struct dataflow_plan *plan = NULL;
	struct error err = {0};
	double sum = 0;
	uint32_t tasks = storm ? recipe.spouts + recipe.bolts : recipe.mappers + recipe.reducers;

	recipe.jobs = hosts * gains->options->slots / tasks;
	recipe.jobs = recipe.jobs > 0 ? recipe.jobs : 1;
	options.seed = paths.seed = seed;
	dataflow = experiment_scenario(gains->page, topology, hosts, gains->options->slots, &recipe);
	if (dataflow)
		plan = dataflow_plan_create(dataflow, engine_find(engine), &options, &paths, 0, &err);
	if (dataflow && !plan)
		experiment_page_fail(gains->page, err.code ? err.code : ENOMEM, err.text);
	for (uint32_t j = 0; plan && j < plan->job_count; j++)
		sum += plan->jobs[j].total_MBps;
	dataflow_plan_destroy(plan);
	dataflow_destroy(dataflow);
	return sum / recipe.jobs;
}

static void run_all(struct gains *gains, int topology)
{
	for (int s = 0; s < SIZES; s++)
		for (uint32_t run = 0; run < gains->options->runs; run++)
			for (int e = 0; e < ENGINES && !experiment_page_failed(gains->page); e++) {
				gains->MBps[s][e][run] = run_one(gains, topology, sizes[s], engines[e],
								 gains->options->engine.seed + run);
				progress_update(gains->progress, ++gains->done, engines[e]);
			}
}

static double mean(const double *values, uint32_t count)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += values[i];
	return sum / count;
}

static void draw(struct gains *gains, int topology, int figure, double gain[ENGINES][SIZES],
		 double half[ENGINES][SIZES])
{
	char title[160];
	struct chart *chart;

	snprintf(title, sizeof title, "Gain over random, %s jobs, %s, %u slots a host",
		 gains->options->what == EXPERIMENT_STORM ? "Storm" : "MapReduce", experiment_topology_names[topology],
		 gains->options->slots);
	chart = chart_create(
		&(struct chart_options){.title = title,
					.subtitle = "geometric mean over paired seeds with its 95 % interval",
					.width = 960,
					.x = {.label = "hosts"},
					.y = {.label = "gain (%)"}});
	if (chart) {
		chart_set_categories(chart, size_names, SIZES);
		for (int e = 1; e < ENGINES; e++)
			chart_add_bars(chart, engine_texts[e], gain[e], half[e], SIZES,
				       (struct chart_style){.colour = e});
		chart_add_bars(chart, "published, both",
			       published[gains->options->what == EXPERIMENT_HADOOP][topology][BOTH - APPLICATION], NULL,
			       SIZES, (struct chart_style){.colour = CHART_GREY});
	}
	experiment_page_chart(gains->page, figure, chart);
}

static void tabulate(struct gains *gains, int topology, double gain[ENGINES][SIZES], double half[ENGINES][SIZES])
{
	for (int s = 0; s < SIZES; s++)
		for (int e = 0; e < ENGINES; e++) {
			char what[120], theirs[40] = "not in the paper";
			double value = e >= APPLICATION && e <= BOTH
					       ? published[gains->options->what == EXPERIMENT_HADOOP][topology]
							  [e - APPLICATION][s]
					       : NAN;

			snprintf(what, sizeof what, "%s, %u hosts, %s", experiment_topology_names[topology], sizes[s],
				 engine_texts[e]);
			if (isfinite(value))
				snprintf(theirs, sizeof theirs, "+%.1f %%", value);
			else if (e <= BOTH)
				snprintf(theirs, sizeof theirs,
					 e == RANDOM && s == 0 && topology == 0 ? "20 MB/s" : "–");
			if (e == RANDOM)
				experiment_page_row(gains->page, what, theirs, "%.1f MB/s a job",
						    mean(gains->MBps[s][e], gains->options->runs));
			else
				experiment_page_row(gains->page, what, theirs, "%+.1f %% ± %.1f", gain[e][s],
						    half[e][s]);
		}
}

static void figure(struct gains *gains, int topology, int number)
{
	double gain[ENGINES][SIZES] = {0}, half[ENGINES][SIZES] = {0};
	uint32_t runs = gains->options->runs;
	double *ratios = malloc(runs * sizeof *ratios + 1);

	if (!ratios)
		experiment_page_fail(gains->page, ENOMEM, "out of memory");
	run_all(gains, topology);
	for (int s = 0; s < SIZES && !experiment_page_failed(gains->page); s++)
		for (int e = 1; e < ENGINES; e++) {
			for (uint32_t run = 0; run < runs; run++)
				ratios[run] = gains->MBps[s][e][run] / gains->MBps[s][RANDOM][run];
			gain[e][s] = experiment_gain(ratios, runs, &half[e][s]);
		}
	free(ratios);
	draw(gains, topology, number, gain, half);
	tabulate(gains, topology, gain, half);
}

void experiment_gains(struct experiment_page *page, const struct experiment_dataflow_options *options)
{
	struct gains gains = {.page = page, .options = options};
	double *memory = calloc((size_t)SIZES * ENGINES * options->runs + 1, sizeof *memory);

	if (!memory) {
		experiment_page_fail(page, ENOMEM, "out of memory");
		return;
	}
	for (int s = 0; s < SIZES; s++)
		for (int e = 0; e < ENGINES; e++)
			gains.MBps[s][e] = memory + (size_t)(s * ENGINES + e) * options->runs;
	gains.progress = options->progress
				 ? progress_create(options->progress, "runs",
						   (uint64_t)EXPERIMENT_TOPOLOGIES * SIZES * ENGINES * options->runs)
				 : NULL;
	experiment_page_text(
		page,
		"Jobs fill the slots of all hosts and push as fast as they can, for ever; throughput is the sum "
		"of a job's source rates, averaged over the jobs. %u paired seeds.",
		options->runs);
	for (int topology = 0; topology < EXPERIMENT_TOPOLOGIES; topology++)
		figure(&gains, topology, (options->what == EXPERIMENT_STORM ? 4 : 7) + topology);
	progress_destroy(gains.progress);
	free(memory);
}
