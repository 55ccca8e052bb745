/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures 14 and 15: running time of the solver. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/progress.h>
#include <base/quantile.h>
#include <sched/recovery/generate.h>

#include "reproduction.h"

/* Solves `runs` instances, each with another seed. Writes the solving times to ms[], in ms and sorted. */
static bool time_runs(struct experiment_page *page, const struct recovery_options *options, uint32_t runs, double *ms,
		      struct progress *progress, uint64_t *done)
{
	for (uint32_t run = 0; run < runs; run++) {
		struct recovery_recipe recipe;
		struct recovery_scenario *s = NULL;
		struct recovery_answer answer;
		struct error err = {0};

		recovery_recipe_parse("servers=500,apps=10,tasks=20,failed=8", &recipe, NULL);
		recipe.seed = run + 1;
		s = recovery_generate(&recipe, &err);
		if (!s || recovery_solve(s, options, &answer, &err) < 0) {
			recovery_destroy(s);
			experiment_page_fail(page, err.code, err.text);
			return false;
		}
		ms[run] = 1000 * answer.solve_s;
		recovery_answer_free(&answer);
		recovery_destroy(s);
		progress_update(progress, ++*done, NULL);
	}
	quantile_median(ms, runs); /* sorts */
	return true;
}

static struct chart *cdf_chart(const char *title)
{
	return chart_create(&(struct chart_options){.title = title,
						    .x = {.label = "running time (ms)", .scale = CHART_LOG},
						    .y = {.label = "share of the runs"}});
}

void experiment_recovery_runtime(struct experiment_page *page, uint32_t runs, FILE *out)
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
	struct progress *progress = experiment_progress(out, "runs", (uint64_t)KINDS * runs);
	double *ms = calloc(KINDS * runs, sizeof *ms);
	uint64_t done = 0;

	for (size_t i = 0; i < KINDS && ms && !experiment_page_failed(page); i++) {
		if (time_runs(page, &kinds[i].options, runs, ms + i * runs, progress, &done))
			chart_add_cdf(i < 2 ? whole : tuned, kinds[i].label, ms + i * runs, runs,
				      (struct chart_style){0});
	}
	progress_destroy(progress);
	if (!ms || experiment_page_failed(page)) {
		experiment_page_fail(page, ENOMEM, "out of memory");
		chart_destroy(whole);
		chart_destroy(tuned);
		free(ms);
		return;
	}
	experiment_page_chart(page, 14, whole);
	experiment_page_chart(page, 15, tuned);
	for (size_t i = 0; i < KINDS; i++)
		experiment_page_row(page, kinds[i].what, kinds[i].published, "%.3g ms", ms[i * runs + runs / 2]);
	experiment_page_row(page, "500 candidates, worst", "about 5 s", "%.3g ms", ms[runs - 1]);
	experiment_page_row(page, "exact filter, worst", "not in the paper", "%.3g ms", ms[2 * runs - 1]);
	free(ms);
}
