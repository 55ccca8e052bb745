/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures 6 to 11: the testbed of 8 servers. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/rng.h>
#include <sched/recovery/explain.h>
#include <sched/recovery/generate.h>
#include <sched/recovery/sharing.h>

#include "reproduction.h"

enum { RANDOM_RUNS = 2 };

static const char *const strategy_names[] = {"JO", "PFR1", "PFR2", "R1", "R2"};

/* Draws figure 8 or 9: the transfer time of application A with each placement strategy. */
static void placement_figure(struct experiment_page *page, const struct recovery_scenario *s, int figure,
			     double published_s)
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
	times[0] = recovery_transfer_time_s(s, 0, experiment_solve_p(s, &joint, NULL));
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
	experiment_page_chart(page, figure, chart);
	experiment_page_row(page, figure == 8 ? "JO: transfer time of A" : "JO: transfer time of A, B weighs 2",
			    figure == 8 ? "24 s" : "30 s", "%.4g s", times[0]);
	experiment_page_row(page, "PFR (two runs, mean)", "between JO and R", "%.4g s", (times[1] + times[2]) / 2);
	experiment_page_row(page, "R (two runs, mean)", figure == 8 ? "about 45 s" : "not printed", "%.4g s",
			    (times[3] + times[4]) / 2);
}

/*
 * For each task that sends, writes the time at which its last flow ends to times[], s, and its label, such as "A1", to
 * names[]. Returns the number of these tasks.
 */
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

/* Draws figure 10 or 11: for each sharing policy, the time at which each sending task's last flow ends. */
static void sharing_figure(struct experiment_page *page, const struct recovery_scenario *s, int figure)
{
	struct recovery_options joint = {0};
	struct chart *chart = chart_create(
		&(struct chart_options){.title = figure == 10 ? "Flow completion by sharing, equal weights"
							      : "Flow completion by sharing, B weighs 2",
					.width = 960,
					.y = {.label = "last flow of the task ends (s)", .has_minimum = true}});
	uint32_t *server = NULL, count = 0;
	double p = experiment_solve_p(s, &joint, &server), last_C3[4] = {0}, last_B = 0;
	struct fluid fluid;
	char names[32][8];
	const char *categories[32];

	if (!server || fluid_create(s, server, p, &fluid) < 0) {
		experiment_page_fail(page, ENOMEM, "out of memory");
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
	experiment_page_chart(page, figure, chart);
	experiment_page_row(page, "C3, performance-centric", figure == 10 ? "24 s" : "30 s", "%.4g s", last_C3[0]);
	experiment_page_row(page, "C3, per-flow fairness: fixed equal shares", figure == 10 ? "42 s" : "not printed",
			    "%.4g s", last_C3[2]);
	experiment_page_row(page, "C3, per-flow fairness: max-min", "not printed", "%.4g s", last_C3[3]);
	experiment_page_row(page, "C3, work-conserving", "not in the paper", "%.4g s", last_C3[1]);
	experiment_page_row(page, "B, performance-centric", figure == 10 ? "24 s" : "15 s", "%.4g s", last_B);
	fluid_free(&fluid);
	free(server);
}

static void placement_row(struct experiment_page *page, const struct recovery_scenario *s, int figure)
{
	struct recovery_options joint = {0};
	struct recovery_answer answer;
	struct error err = {0};
	char what[120];
	int used = snprintf(what, sizeof what, "figure %d: optimal placement", figure);

	if (recovery_solve(s, &joint, &answer, &err) < 0) {
		experiment_page_fail(page, err.code, err.text);
		return;
	}
	for (uint32_t i = 0; i < answer.failed_count; i++) {
		const struct recovery_task *task = &s->tasks[answer.failed[i]];

		used += snprintf(what + used, sizeof what - (size_t)used, " %.4s%.4s on %.4s",
				 s->applications[task->application].name, task->name,
				 s->servers[answer.server[i]].name);
	}
	snprintf(what + used, sizeof what - (size_t)used, "; 1/S*");
	experiment_page_row(page, what, figure == 6 ? "4.8" : "5", "%.6g", answer.p);
	recovery_answer_free(&answer);
}

void experiment_recovery_testbed(struct experiment_page *page)
{
	for (int two = 0; two < 2; two++) {
		struct recovery_scenario *s = recovery_testbed(two ? 2 : 1);

		if (!s) {
			experiment_page_fail(page, ENOMEM, "out of memory");
			return;
		}
		placement_row(page, s, two ? 7 : 6);
		placement_figure(page, s, two ? 9 : 8, two ? 30 : 24);
		sharing_figure(page, s, two ? 11 : 10);
		recovery_destroy(s);
	}
}
