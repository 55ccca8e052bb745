/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures 6 and 9: five jobs on a Jellyfish of 30 hosts; 10 % of the links in use fail and return. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/progress.h>
#include <base/quantile.h>
#include <sched/dataflow/simulate.h>

#include "reproduction.h"

enum { HOSTS = 30, JOBS = 5, PER_CENT = 10, MEASURES = 3, ENGINES = 2 };
static const double end_s = 1200;
static const char *const engines[ENGINES] = {"both", "rate"};
static const char *const engine_texts[ENGINES] = {"both (the paper's)", "rate (ours)"};

/*
 * Indexes of the results of a run.
 * - DURING: change of the throughput during the failure, compared with that before the failure, in per cent
 * - AFTER: change of the throughput after the repair, compared with that before the failure, in per cent
 * - REROUTE_MS: time to find new routes after the failure, ms
 */
enum { DURING, AFTER, REROUTE_MS };

struct kind {
	int figure;
	const char *recipe, *name;
	double repair_s;
	const char *during, *after, *reroute;
};

static const struct kind kinds[] = {
	{6, "storm,jobs=5", "Storm", 800, "within 6.8 %", "within 2 %", "0.4 s"},
	{9, "mapreduce,jobs=5", "MapReduce", 810, "within 4.7 %", "within 1.5 %", "0.35 s"},
};

static double throughput(const struct dataflow_simulate_result *result, double from_s, double to_s)
{
	return simulate_mean_MBps(result, from_s, to_s) / JOBS;
}

/* Simulates one run with the seed options->engine.seed + run. Returns false on failure. */
static bool run_one(struct experiment_page *page, const struct experiment_dataflow_options *options,
		    const struct kind *kind, const char *engine, uint32_t run, struct dataflow_simulate_result *result)
{
	const struct simulate_fault fault = {
		.kind = SIMULATE_USED, .subject = PER_CENT, .fail_s = 500, .repair_s = kind->repair_s};
	struct dataflow_recipe recipe = experiment_recipe(kind->recipe, options->engine.seed + run);
	struct dataflow_simulate_options simulate = {.engine = engine_find(engine),
						     .engine_options = options->engine,
						     .paths = options->paths,
						     .faults = &fault,
						     .fault_count = 1,
						     .until_s = end_s};
	struct dataflow *dataflow = experiment_scenario(page, EXPERIMENT_JELLYFISH, HOSTS, options->slots, &recipe);
	struct error err = {0};
	int code;

	if (!dataflow)
		return false;
	simulate.engine_options.seed = recipe.seed;
	code = dataflow_simulate(dataflow, &simulate, result, &err);
	dataflow_destroy(dataflow);
	if (code < 0)
		experiment_page_fail(page, -code, err.text);
	return code == 0;
}

static void measure(const struct dataflow_simulate_result *result, const struct kind *kind, double values[MEASURES])
{
	double before = throughput(result, 1, 500);

	values[DURING] = 100 * (throughput(result, 501, kind->repair_s) / before - 1);
	values[AFTER] = 100 * (throughput(result, kind->repair_s + 1, end_s) / before - 1);
	values[REROUTE_MS] = 1e3 * result->reroute_s[0];
}

static void add_steps(struct chart *chart, const char *label, const struct dataflow_simulate_result *result)
{
	double *x = malloc(2 * result->rate_count * sizeof *x), *y = x + result->rate_count;

	for (size_t i = 0; x && i < result->rate_count; i++) {
		x[i] = result->rates[i].time_s;
		y[i] = result->rates[i].MBps / JOBS;
	}
	if (x)
		chart_add_step(chart, label, x, y, result->rate_count, (struct chart_style){0});
	free(x);
}

static struct chart *make_chart(const struct kind *kind)
{
	char title[120];
	struct chart *chart;

	snprintf(title, sizeof title, "%d %s jobs on a Jellyfish of %d hosts, %d %% of the used links fail", JOBS,
		 kind->name, HOSTS, PER_CENT);
	chart = chart_create(
		&(struct chart_options){.title = title,
					.subtitle = "first seed; links are down in the shaded time",
					.x = {.label = "time (s)"},
					.y = {.label = "throughput of a job (MB/s)", .has_minimum = true}});
	if (chart)
		chart_add_span(chart, NULL, 500, kind->repair_s, (struct chart_style){.colour = CHART_GREY});
	return chart;
}

static void tabulate(struct experiment_page *page, const struct kind *kind, const char *engine,
		     double *values[MEASURES], uint32_t runs)
{
	static const char *const texts[MEASURES] = {"throughput while links are down", "throughput after the repair",
						    "new routes decided within"};
	const char *theirs[MEASURES] = {kind->during, kind->after, kind->reroute};

	for (int m = 0; m < MEASURES; m++) {
		char what[120];
		double worst = values[m][0], median;

		for (uint32_t i = 0; i < runs; i++)
			worst = m == REROUTE_MS ? fmax(worst, values[m][i]) : fmin(worst, values[m][i]);
		median = quantile_median(values[m], runs);
		snprintf(what, sizeof what, "%s, %s: %s", kind->name, engine, texts[m]);
		if (m == REROUTE_MS)
			experiment_page_row(page, what, theirs[m], "median %.3f ms, worst %.3f ms", median, worst);
		else
			experiment_page_row(page, what, theirs[m], "median %+.1f %%, worst %+.1f %%", median, worst);
	}
}

static void run_kind(struct experiment_page *page, const struct experiment_dataflow_options *options,
		     const struct kind *kind, struct progress *progress, uint64_t *done)
{
	struct chart *chart = make_chart(kind);
	double *memory = malloc((size_t)ENGINES * MEASURES * options->runs * sizeof *memory + 1);
	double *values[ENGINES][MEASURES];

	if (!chart || !memory)
		experiment_page_fail(page, ENOMEM, "out of memory");
	for (int e = 0; memory && e < ENGINES; e++) {
		for (int m = 0; m < MEASURES; m++)
			values[e][m] = memory + (size_t)(e * MEASURES + m) * options->runs;
		for (uint32_t run = 0; run < options->runs && !experiment_page_failed(page); run++) {
			struct dataflow_simulate_result result;
			double of_run[MEASURES];

			if (!run_one(page, options, kind, engines[e], run, &result))
				break;
			measure(&result, kind, of_run);
			for (int m = 0; m < MEASURES; m++)
				values[e][m][run] = of_run[m];
			if (run == 0)
				add_steps(chart, engine_texts[e], &result);
			simulate_result_clear(&result);
			progress_update(progress, ++*done, engines[e]);
		}
	}
	experiment_page_chart(page, kind->figure, chart);
	for (int e = 0; e < ENGINES && !experiment_page_failed(page); e++)
		tabulate(page, kind, engine_texts[e], values[e], options->runs);
	free(memory);
}

void experiment_failures(struct experiment_page *page, const struct experiment_dataflow_options *options)
{
	enum { KINDS = sizeof kinds / sizeof *kinds };
	struct progress *progress = options->progress ? progress_create(options->progress, "runs",
									(uint64_t)KINDS * ENGINES * options->runs)
						      : NULL;
	uint64_t done = 0;

	experiment_page_text(
		page,
		"Of the links between switches that carry data, %d %% fail at 500 s. Routes over failed links "
		"are chosen again; TCP's reaction and the switches' updates are not part of the simulation.",
		PER_CENT);
	for (int k = 0; k < KINDS; k++)
		run_kind(page, options, &kinds[k], progress, &done);
	progress_destroy(progress);
}
