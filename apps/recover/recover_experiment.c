/* SPDX-License-Identifier: BSD-3-Clause */
/* --experiment: the paper's figures 6 to 15, published values beside ours, as SVG files and one page. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <base/file.h>
#include <base/progress.h>
#include <base/rng.h>
#include <plot/chart.h>
#include <sched/recovery/explain.h>
#include <sched/recovery/generate.h>
#include <sched/recovery/sharing.h>

#include "recover.h"

struct page {
	const char *folder;
	struct file_writer *writer;
	FILE *out;
	struct error *err;
	int figures;
	bool failed;
};

static void fail(struct page *page, const char *text)
{
	if (!page->failed && page->err->code == 0)
		error_set(page->err, ENOMEM, "%s", text);
	page->failed = true;
}

static bool page_open(struct page *page, const char *folder, const char *title, struct error *err)
{
	char path[4096];

	*page = (struct page){.folder = folder, .err = err};
	if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
		error_set(err, errno, "cannot make %s: %s", folder, strerror(errno));
		return false;
	}
	snprintf(path, sizeof path, "%s/index.html", folder);
	page->writer = file_writer_open(path, err);
	if (!page->writer)
		return false;
	page->out = file_writer_stream(page->writer);
	fprintf(page->out,
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title>\n"
		"<style>body{font-family:sans-serif;max-width:60em;margin:2em auto}table{border-collapse:collapse}"
		"td,th{border:1px solid #999;padding:.2em .6em;text-align:left}svg{max-width:100%%;height:auto}</style>"
		"</head><body>\n<h1>%s</h1>\n",
		title, title);
	return true;
}

static int page_close(struct page *page)
{
	if (page->failed) {
		file_writer_discard(page->writer);
		return -page->err->code;
	}
	fputs("</body></html>\n", page->out);
	return file_writer_commit(page->writer, page->err);
}

/* Takes the chart: figureN.svg and the page. */
static void page_chart(struct page *page, int number, struct chart *chart)
{
	char path[4096], prefix[24];
	char *svg = NULL;

	snprintf(prefix, sizeof prefix, "f%d", number);
	snprintf(path, sizeof path, "%s/figure%d.svg", page->folder, number);
	if (chart && chart_save(chart, path, page->err) == 0)
		svg = chart_to_svg(chart, prefix, page->err);
	if (svg)
		fprintf(page->out, "<h2>Figure %d</h2>\n%s\n", number, svg);
	else
		fail(page, "out of memory");
	free(svg);
	chart_destroy(chart);
}

static void table_begin(struct page *page)
{
	fputs("<table><tr><th>what</th><th>published</th><th>ours</th></tr>\n", page->out);
	printf("%-58s %-22s %s\n", "what", "published", "ours");
}

static void table_row(struct page *page, const char *what, const char *published, const char *format, double ours)
{
	char text[80];

	snprintf(text, sizeof text, format, ours);
	fprintf(page->out, "<tr><td>%s</td><td>%s</td><td>%s</td></tr>\n", what, published, text);
	printf("%-58s %-22s %s\n", what, published, text);
}

static void table_end(struct page *page)
{
	fputs("</table>\n", page->out);
}

/* ---- testbed: figures 6 to 11 ---- */

enum { RANDOM_RUNS = 2 };

static const char *const strategy_names[] = {"JO", "PFR1", "PFR2", "R1", "R2"};

static double solve_p(const struct recovery_scenario *s, const struct recovery_options *options, uint32_t **server)
{
	struct recovery_answer answer;
	double p = NAN;

	if (recovery_solve(s, options, &answer, NULL) < 0)
		return NAN;
	if (answer.server) {
		p = answer.p;
		if (server)
			*server = recovery_placement(s, &answer);
	}
	recovery_answer_free(&answer);
	return p;
}

/* Figures 8 and 9: application A's transfer time. */
static void placement_figure(struct page *page, const struct recovery_scenario *s, int figure, double published_s)
{
	struct recovery_options joint = {0}, paper = {.filter = RECOVERY_FILTER_PAPER, .eta = 1};
	struct chart *chart = chart_create(
		&(struct chart_options){.title = figure == 8 ? "Transfer time of A by placement, equal weights"
							     : "Transfer time of A by placement, B weighs 2",
					.y = {.label = "transfer time (s)", .has_minimum = true}});
	double times[1 + 2 * RANDOM_RUNS], published[1 + 2 * RANDOM_RUNS] = {published_s, NAN, NAN, NAN, NAN};
	uint32_t server[64];
	bool candidate[8];
	struct rng rng;

	rng_seed(&rng, 1);
	times[0] = recovery_transfer_time_s(s, 0, solve_p(s, &joint, NULL));
	recovery_candidates(s, &paper, candidate);
	for (int i = 0; i < 2 * RANDOM_RUNS; i++) {
		bool filtered = i < RANDOM_RUNS;

		times[1 + i] = NAN;
		if (recovery_random_placement(s, &rng, filtered ? candidate : NULL, server))
			times[1 + i] = recovery_transfer_time_s(s, 0, recovery_evaluate(s, server, NULL));
	}
	if (figure == 8)
		published[3] = published[4] = 45;
	chart_set_categories(chart, strategy_names, 5);
	chart_add_bars(chart, "published", published, NULL, 5, (struct chart_style){.colour = CHART_GREY});
	chart_add_bars(chart, "ours", times, NULL, 5, (struct chart_style){.colour = 1});
	page_chart(page, figure, chart);
	table_begin(page);
	table_row(page, figure == 8 ? "JO: transfer time of A" : "JO: transfer time of A, B weighs 2",
		  figure == 8 ? "24 s" : "30 s", "%.4g s", times[0]);
	table_row(page, "PFR (two runs, mean)", "between JO and R", "%.4g s", (times[1] + times[2]) / 2);
	table_row(page, "R (two runs, mean)", figure == 8 ? "about 45 s" : "not printed", "%.4g s",
		  (times[3] + times[4]) / 2);
	table_end(page);
}

/* Latest end of the flows that a sending task has; a label "A1". */
static uint32_t sender_times(const struct recovery_scenario *s, const struct fluid_result *result, double *times,
			     char (*names)[8])
{
	uint32_t count = 0;

	for (uint32_t t = 0; t < s->task_count; t++) {
		bool sends = false;

		times[count] = 0;
		for (uint32_t i = 0; i < s->flow_count; i++) {
			if (s->flows[i].from != t)
				continue;
			sends = true;
			times[count] = fmax(times[count], result->flow_end_s[i]);
		}
		if (!sends)
			continue;
		snprintf(names[count++], 8, "%.3s%.3s", s->applications[s->tasks[t].application].name,
			 s->tasks[t].name);
	}
	return count;
}

/* Figures 10 and 11: when the flows of each sender end, under each sharing. */
static void sharing_figure(struct page *page, const struct recovery_scenario *s, int figure)
{
	struct recovery_options joint = {0};
	struct chart *chart = chart_create(
		&(struct chart_options){.title = figure == 10 ? "Flow completion by sharing, equal weights"
							      : "Flow completion by sharing, B weighs 2",
					.width = 960,
					.y = {.label = "last flow of the task ends (s)", .has_minimum = true}});
	uint32_t *server = NULL, count = 0;
	double p = solve_p(s, &joint, &server), last_C3[4] = {0}, last_B = 0;
	struct fluid fluid;
	char names[32][8];
	const char *categories[32];

	if (!server || fluid_create(s, server, p, &fluid) < 0) {
		fail(page, "out of memory");
		free(server);
		chart_destroy(chart);
		return;
	}
	for (int i = 0; sharing_policies[i]; i++) {
		double times[32];
		struct fluid_result result;

		if (fluid_run(&fluid, sharing_policies[i], 0, &result) < 0)
			break;
		count = sender_times(s, &result, times, names);
		for (uint32_t j = 0; j < count; j++)
			categories[j] = names[j];
		if (i == 0)
			chart_set_categories(chart, categories, count);
		chart_add_bars(chart, sharing_policies[i]->name, times, NULL, count, (struct chart_style){0});
		for (uint32_t j = 0; j < count; j++)
			last_C3[i] = strcmp(names[j], "C3") == 0 ? times[j] : last_C3[i];
		last_B = i == 0 ? result.application_end_s[1] : last_B;
		fluid_result_free(&result);
	}
	page_chart(page, figure, chart);
	table_begin(page);
	table_row(page, "C3, performance-centric", figure == 10 ? "24 s" : "30 s", "%.4g s", last_C3[0]);
	table_row(page, "C3, per-flow fairness: fixed equal shares", figure == 10 ? "42 s" : "not printed", "%.4g s",
		  last_C3[2]);
	table_row(page, "C3, per-flow fairness: max-min", "not printed", "%.4g s", last_C3[3]);
	table_row(page, "C3, work-conserving", "not in the paper", "%.4g s", last_C3[1]);
	table_row(page, "B, performance-centric", figure == 10 ? "24 s" : "15 s", "%.4g s", last_B);
	table_end(page);
	fluid_free(&fluid);
	free(server);
}

static void placement_table(struct page *page, const struct recovery_scenario *s, int figure)
{
	struct recovery_options joint = {0};
	struct recovery_answer answer;

	if (recovery_solve(s, &joint, &answer, page->err) < 0) {
		page->failed = true;
		return;
	}
	fprintf(page->out, "<h2>Figure %d</h2>\n<p>Optimal placement:", figure);
	printf("figure %d: optimal placement", figure);
	for (uint32_t i = 0; i < answer.failed_count; i++) {
		const struct recovery_task *task = &s->tasks[answer.failed[i]];

		fprintf(page->out, " %s%s on %s", s->applications[task->application].name, task->name,
			s->servers[answer.server[i]].name);
		printf(" %s%s on %s", s->applications[task->application].name, task->name,
		       s->servers[answer.server[i]].name);
	}
	fputs(".</p>\n", page->out);
	putchar('\n');
	table_begin(page);
	table_row(page, "1/S*", figure == 6 ? "4.8" : "5", "%.6g", answer.p);
	table_end(page);
	recovery_answer_free(&answer);
}

static void testbed(struct page *page)
{
	for (int two = 0; two < 2; two++) {
		struct recovery_scenario *s = recovery_testbed(two ? 2 : 1);

		if (!s) {
			fail(page, "out of memory");
			return;
		}
		placement_table(page, s, two ? 7 : 6);
		placement_figure(page, s, two ? 9 : 8, two ? 30 : 24);
		sharing_figure(page, s, two ? 11 : 10);
		recovery_destroy(s);
	}
}

/* ---- scale: figures 12 and 13 ---- */

enum { SCALE_RUNS = 10, STRATEGIES = 4, DRAWS = 50 };

static struct recovery_scenario *scale_scenario(uint64_t seed, struct error *err)
{
	struct recovery_recipe recipe;

	if (recovery_recipe_parse("servers=1000,apps=100,tasks=40,failed=20,demand=4", &recipe, err) < 0)
		return NULL;
	recipe.seed = seed;
	return recovery_generate(&recipe, err);
}

/* p of JO, PFR (eta 15), PFR (eta 25), R; the mean of DRAWS placements where they are random. */
static bool run_strategies(const struct recovery_scenario *s, uint64_t seed, double p[STRATEGIES])
{
	bool *candidate = calloc(s->server_count, sizeof *candidate);
	struct recovery_options joint = {0};

	p[0] = solve_p(s, &joint, NULL);
	for (int i = 1; i < STRATEGIES && candidate; i++) {
		struct recovery_options paper = {.filter = RECOVERY_FILTER_PAPER, .eta = i == 1 ? 15 : 25};

		recovery_candidates(s, &paper, candidate);
		p[i] = recovery_random_spread(s, i < 3 ? candidate : NULL, DRAWS, seed).mean_p;
	}
	if (!candidate)
		return false;
	free(candidate);
	return true;
}

static void figure_12(struct page *page)
{
	static const char *const labels[] = {"JO", "PFRs (eta 15)", "PFRb (eta 25)", "R"};
	struct chart *chart = chart_create(
		&(struct chart_options){.title = "Transfer time by placement strategy, 1,000 servers, 20 failed tasks",
					.x = {.label = "run"},
					.y = {.label = "transfer time (s)", .has_minimum = true}});
	struct progress *progress = progress_create(stderr, "figure 12", SCALE_RUNS);
	double times[STRATEGIES][SCALE_RUNS], runs[SCALE_RUNS], mean[STRATEGIES] = {0};

	for (int run = 0; run < SCALE_RUNS && !page->failed; run++) {
		struct recovery_scenario *s = scale_scenario((uint64_t)run + 1, page->err);
		double p[STRATEGIES];

		runs[run] = run + 1;
		if (!s || !run_strategies(s, (uint64_t)run + 1, p)) {
			fail(page, "out of memory");
			recovery_destroy(s);
			break;
		}
		for (int i = 0; i < STRATEGIES; i++) {
			times[i][run] = recovery_transfer_time_s(s, 0, p[i]);
			mean[i] += times[i][run] / SCALE_RUNS;
		}
		recovery_destroy(s);
		progress_update(progress, (uint64_t)run + 1, NULL);
	}
	progress_destroy(progress);
	for (int i = 0; i < STRATEGIES; i++) {
		chart_add_line(chart, labels[i], runs, times[i], SCALE_RUNS, (struct chart_style){.colour = i + 1});
		chart_add_points(chart, NULL, runs, times[i], NULL, SCALE_RUNS, (struct chart_style){.colour = i + 1});
	}
	page_chart(page, 12, chart);
	table_begin(page);
	table_row(page, "JO, mean transfer time over 10 runs", "least of the four", "%.4g s", mean[0]);
	table_row(page, "PFRs (eta 15)", "second", "%.3f x JO", mean[1] / mean[0]);
	table_row(page, "PFRb (eta 25)", "third", "%.3f x JO", mean[2] / mean[0]);
	table_row(page, "R", "worst", "%.3f x JO", mean[3] / mean[0]);
	table_end(page);
}

/* The server of a failed task with the most other senders; figure 13 is about its tasks. */
static void figure_13(struct page *page)
{
	enum { TASKS = 5 };
	static const struct sharing_policy *const policies[] = {&sharing_performance, &sharing_equal, &sharing_max_min};
	struct recovery_scenario *s = scale_scenario(1, page->err);
	struct chart *chart = chart_create(
		&(struct chart_options){.title = "Tasks on the server of a failed task, by sharing",
					.y = {.label = "last flow of the task ends (s)", .has_minimum = true}});
	struct progress *progress = progress_create(stderr, "figure 13", 3);
	struct recovery_options joint = {0};
	uint32_t *server = NULL, failed = 0, tasks[TASKS], count = 0, best = 0;
	char names[TASKS][8] = {"FT"};
	const char *categories[TASKS];
	double p = s ? solve_p(s, &joint, &server) : NAN, lag[3] = {0};
	struct fluid fluid;

	if (!server || fluid_create(s, server, p, &fluid) < 0) {
		fail(page, "out of memory");
		goto out;
	}
	for (uint32_t t = 0; t < s->task_count; t++) {
		uint32_t others = 0;

		for (uint32_t u = 0; u < s->task_count && s->tasks[t].failed; u++)
			others += u != t && server[u] == server[t] && !s->tasks[u].failed;
		if (s->tasks[t].failed && s->tasks[t].stage == 1 && others >= best) {
			best = others;
			failed = t;
		}
	}
	tasks[count++] = failed;
	for (uint32_t u = 0; u < s->task_count && count < TASKS; u++) {
		if (u != failed && server[u] == server[failed] && !s->tasks[u].failed) {
			snprintf(names[count], sizeof names[count], "ET%u", count);
			tasks[count++] = u;
		}
	}
	for (uint32_t i = 0; i < count; i++)
		categories[i] = names[i];
	chart_set_categories(chart, categories, count);
	for (int i = 0; i < 3; i++) {
		double times[TASKS] = {0}, others = 0;
		struct fluid_result result;

		progress_update(progress, (uint64_t)i, policies[i]->name);
		if (fluid_run(&fluid, policies[i], 0.01 * recovery_transfer_time_s(s, 0, p), &result) < 0)
			break;
		for (uint32_t j = 0; j < count; j++) {
			for (uint32_t f = 0; f < s->flow_count; f++) {
				if (s->flows[f].from == tasks[j] || s->flows[f].to == tasks[j])
					times[j] = fmax(times[j], result.flow_end_s[f]);
			}
			others = j > 0 ? fmax(others, times[j]) : others;
		}
		lag[i] = others > 0 ? times[0] / others : NAN;
		chart_add_bars(chart, policies[i]->name, times, NULL, count, (struct chart_style){0});
		fluid_result_free(&result);
	}
	page_chart(page, 13, chart);
	chart = NULL;
	table_begin(page);
	table_row(page, "failed task against the slowest other, eq. 19", "no lag", "%.3g x", lag[0]);
	table_row(page, "... fixed equal shares", "lags, about 15 s", "%.3g x", lag[1]);
	table_row(page, "... max-min", "not printed", "%.3g x", lag[2]);
	table_end(page);
	fluid_free(&fluid);
out:
	chart_destroy(chart);
	progress_destroy(progress);
	free(server);
	recovery_destroy(s);
}

static void scale(struct page *page)
{
	figure_12(page);
	if (!page->failed)
		figure_13(page);
}

/* ---- runtime: figures 14 and 15 ---- */

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Solving times in ms over `runs` seeds. */
static bool time_runs(struct page *page, const struct recovery_options *options, uint32_t runs, double *ms,
		      struct progress *progress, uint64_t *done)
{
	for (uint32_t run = 0; run < runs; run++) {
		struct recovery_recipe recipe;
		struct recovery_scenario *s = NULL;
		struct recovery_answer answer;

		if (recovery_recipe_parse("servers=500,apps=10,tasks=20,failed=8", &recipe, page->err) == 0) {
			recipe.seed = run + 1;
			s = recovery_generate(&recipe, page->err);
		}
		if (!s || recovery_solve(s, options, &answer, page->err) < 0) {
			recovery_destroy(s);
			page->failed = true;
			return false;
		}
		ms[run] = 1000 * answer.solve_s;
		recovery_answer_free(&answer);
		recovery_destroy(s);
		progress_update(progress, ++*done, NULL);
	}
	qsort(ms, runs, sizeof *ms, compare_doubles);
	return true;
}

static struct chart *cdf_chart(const char *title)
{
	return chart_create(&(struct chart_options){.title = title,
						    .x = {.label = "running time (ms)", .scale = CHART_LOG},
						    .y = {.label = "part of the runs"}});
}

static void runtime(struct page *page, uint32_t runs)
{
	static const struct {
		const char *label, *what, *published;
		struct recovery_options options;
	} kinds[] = {
		{"500 candidates", "500 candidates, median", "about 5 s", {.filter = RECOVERY_FILTER_NONE}},
		{"exact filter", "exact filter, median", "not in the paper", {.filter = RECOVERY_FILTER_EXACT}},
		{"250 candidates (eta 31)",
		 "250 candidates, median",
		 "less than 5 s",
		 {.filter = RECOVERY_FILTER_PAPER, .eta = 31}},
		{"100 candidates (eta 12)",
		 "100 candidates, median",
		 "less than 250's",
		 {.filter = RECOVERY_FILTER_PAPER, .eta = 12}},
		{"50 candidates (eta 6)",
		 "50 candidates, median",
		 "less than 100's",
		 {.filter = RECOVERY_FILTER_PAPER, .eta = 6}},
	};
	enum { KINDS = sizeof kinds / sizeof *kinds };
	struct chart *whole = cdf_chart("Running time, all servers are candidates"),
		     *tuned = cdf_chart("Running time by number of candidates");
	struct progress *progress = progress_create(stderr, "runs", (uint64_t)KINDS * runs);
	double *ms = calloc(KINDS * runs, sizeof *ms);
	uint64_t done = 0;

	for (size_t i = 0; i < KINDS && ms && !page->failed; i++) {
		if (time_runs(page, &kinds[i].options, runs, ms + i * runs, progress, &done))
			chart_add_cdf(i < 2 ? whole : tuned, kinds[i].label, ms + i * runs, runs,
				      (struct chart_style){0});
	}
	progress_destroy(progress);
	if (!ms || page->failed) {
		fail(page, "out of memory");
		chart_destroy(whole);
		chart_destroy(tuned);
		free(ms);
		return;
	}
	page_chart(page, 14, whole);
	page_chart(page, 15, tuned);
	table_begin(page);
	for (size_t i = 0; i < KINDS; i++)
		table_row(page, kinds[i].what, kinds[i].published, "%.3g ms", ms[i * runs + runs / 2]);
	table_row(page, "500 candidates, worst", "about 5 s", "%.3g ms", ms[runs - 1]);
	table_row(page, "exact filter, worst", "not in the paper", "%.3g ms", ms[2 * runs - 1]);
	table_end(page);
	free(ms);
}

int recover_experiment(const struct recover_settings *settings, struct error *err)
{
	static const char *const titles[] = {"Recovery: the testbed, figures 6 to 11",
					     "Recovery at scale, figures 12 and 13",
					     "Recovery: running time, figures 14 and 15"};
	struct page page;

	if (!page_open(&page, settings->output, titles[settings->experiment], err))
		return err->code ? -err->code : -EIO;
	if (settings->experiment == 0)
		testbed(&page);
	else if (settings->experiment == 1)
		scale(&page);
	else
		runtime(&page, (uint32_t)settings->runs);
	return page_close(&page);
}
