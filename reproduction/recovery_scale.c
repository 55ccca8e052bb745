/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures 12 and 13: 1,000 servers, 20 failed tasks. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/progress.h>
#include <sched/recovery/explain.h>
#include <sched/recovery/generate.h>
#include <sched/recovery/sharing.h>

#include "reproduction.h"

enum { SCALE_RUNS = 10, STRATEGIES = 4, DRAWS = 50, SHOWN_TASKS = 5 };

static struct recovery_scenario *scale_scenario(struct experiment_page *page, uint64_t seed)
{
	struct recovery_recipe recipe;
	struct recovery_scenario *scenario;
	struct error err = {0};

	recovery_recipe_parse("servers=1000,apps=100,tasks=40,failed=20,demand=4", &recipe, NULL);
	recipe.seed = seed;
	scenario = recovery_generate(&recipe, &err);
	if (!scenario)
		experiment_page_fail(page, err.code, err.text);
	return scenario;
}

/*
 * Writes the objective of the paper's four strategies to p[]: JO (optimal placement), PFR with eta 15, PFR with eta 25
 * (random placement on filtered servers) and R (random placement). For PFR and R, p[] is the mean over DRAWS
 * placements.
 */
static bool run_strategies(const struct recovery_scenario *s, uint64_t seed, double p[STRATEGIES])
{
	bool *candidate = calloc(s->server_count, sizeof *candidate);
	struct recovery_options joint = {0};

	p[0] = experiment_solve_p(s, &joint, NULL);
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

static void figure_12(struct experiment_page *page, FILE *out)
{
	static const char *const labels[] = {"JO", "PFRs (eta 15)", "PFRb (eta 25)", "R"};
	struct chart *chart = chart_create(
		&(struct chart_options){.title = "Transfer time by placement strategy, 1,000 servers, 20 failed tasks",
					.x = {.label = "run"},
					.y = {.label = "transfer time (s)", .has_minimum = true}});
	struct progress *progress = experiment_progress(out, "figure 12", SCALE_RUNS);
	double times[STRATEGIES][SCALE_RUNS], runs[SCALE_RUNS], mean[STRATEGIES] = {0};

	for (int run = 0; run < SCALE_RUNS && !experiment_page_failed(page); run++) {
		struct recovery_scenario *s = scale_scenario(page, (uint64_t)run + 1);
		double p[STRATEGIES];

		runs[run] = run + 1;
		if (!s || !run_strategies(s, (uint64_t)run + 1, p)) {
			experiment_page_fail(page, ENOMEM, "out of memory");
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
	experiment_page_chart(page, 12, chart);
	experiment_page_row(page, "JO, mean transfer time over 10 runs", "least of the four", "%.4g s", mean[0]);
	experiment_page_row(page, "PFRs (eta 15)", "second", "%.3f x JO", mean[1] / mean[0]);
	experiment_page_row(page, "PFRb (eta 25)", "third", "%.3f x JO", mean[2] / mean[0]);
	experiment_page_row(page, "R", "worst", "%.3f x JO", mean[3] / mean[0]);
}

/*
 * Figure 13 shows the tasks on one server. Of the servers on which a failed task of stage 1 is placed, this is the one
 * with the most tasks that did not fail.
 */
static void figure_13(struct experiment_page *page, FILE *out)
{
	enum { TASKS = 5 };
	static const struct sharing_policy *const policies[] = {&sharing_performance, &sharing_equal, &sharing_max_min};
	struct recovery_scenario *s = scale_scenario(page, 1);
	struct chart *chart = chart_create(
		&(struct chart_options){.title = "Tasks on the server of a failed task, by sharing",
					.y = {.label = "last flow of the task ends (s)", .has_minimum = true}});
	struct progress *progress = experiment_progress(out, "figure 13", 3);
	struct recovery_options joint = {0};
	uint32_t *server = NULL, failed = 0, tasks[TASKS], count = 0, best = 0;
	char names[TASKS][8] = {"FT"};
	const char *categories[TASKS];
	double p = s ? experiment_solve_p(s, &joint, &server) : NAN, lag[3] = {0};
	struct fluid fluid;

	if (!server || fluid_create(s, server, p, &fluid) < 0) {
		experiment_page_fail(page, ENOMEM, "out of memory");
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
	experiment_page_chart(page, 13, chart);
	chart = NULL;
	experiment_page_row(page, "end of the failed task / slowest other task, eq. 19", "no lag", "%.3g x", lag[0]);
	experiment_page_row(page, "... fixed equal shares", "lags, about 15 s", "%.3g x", lag[1]);
	experiment_page_row(page, "... max-min", "not printed", "%.3g x", lag[2]);
	fluid_free(&fluid);
out:
	chart_destroy(chart);
	progress_destroy(progress);
	free(server);
	recovery_destroy(s);
}

void experiment_recovery_scale(struct experiment_page *page, FILE *out)
{
	figure_12(page, out);
	if (!experiment_page_failed(page))
		figure_13(page, out);
}
