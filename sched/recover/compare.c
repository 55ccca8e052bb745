/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares an answer with random placements and other ways to share the links. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/progress.h>
#include <sched/recovery/recovery.h>
#include <sched/recovery/sharing.h>

#include "recover_priv.h"

/* With more flows than this, simulations merge events that are less than 1 % of the transfer time apart. */
enum { EXACT_FLOWS = 2000 };

static void add_row(json_t *list, const char *placement, double p, const struct recovery_spread *spread)
{
	if (!spread)
		json_array_append_new(list, json_pack("{s:s, s:f}", "placement", placement, "p", p));
	else
		json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:f, s:I}", "placement", placement, "p",
						      spread->mean_p, "least_p", spread->least_p, "greatest_p",
						      spread->greatest_p, "runs", (json_int_t)spread->runs));
}

static int compare_placements(const struct recovery_scenario *s, const struct recovery_answer *answer,
			      const struct recover_settings *settings, json_t *list, FILE *out, struct error *err)
{
	struct recovery_options paper = {.filter = RECOVERY_FILTER_PAPER, .eta = (uint32_t)settings->eta};
	bool *candidate = calloc(s->server_count + 1u, sizeof *candidate);
	struct recovery_spread spreads[2];
	char name[40];

	if (!candidate || recovery_candidates(s, &paper, candidate) < 0) {
		free(candidate);
		return error_set(err, ENOMEM, "out of memory");
	}
	for (int i = 0; i < 2; i++)
		spreads[i] = recovery_random_spread(s, i ? NULL : candidate, (uint32_t)settings->runs,
						    (uint64_t)settings->seed);
	free(candidate);
	if (list)
		add_row(list, "joint", answer->p, NULL);
	else
		fprintf(out, "\n%-24s %12s %8s %12s %12s\n%-24s %12.6g %8.3f\n", "placement", "p", "p/p*", "least",
			"greatest", "joint", answer->p, 1.0);
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof name, i ? "random" : "filter, eta %lld + random", (long long)settings->eta);
		if (spreads[i].runs == 0)
			continue;
		if (list)
			add_row(list, i ? "random" : "filter and random", 0, &spreads[i]);
		else
			fprintf(out, "%-24s %12.6g %8.3f %12.6g %12.6g\n", name, spreads[i].mean_p,
				spreads[i].mean_p / answer->p, spreads[i].least_p, spreads[i].greatest_p);
	}
	return 0;
}

static int compare_sharing(const struct recovery_scenario *s, const struct recovery_answer *answer,
			   const struct recover_settings *settings, json_t *list, FILE *out, struct error *err)
{
	uint32_t *server = recovery_placement(s, answer);
	struct progress *progress = progress_create(settings->progress, "sharing", 4);
	struct fluid fluid;

	if (!server || fluid_create(s, server, answer->p, &fluid) < 0) {
		free(server);
		progress_destroy(progress);
		return error_set(err, ENOMEM, "out of memory");
	}
	if (!list)
		fprintf(out, "\n%-24s %12s %12s\n", "sharing (joint placement)", "mean time", "last");
	for (int i = 0; sharing_policies[i]; i++) {
		double step_s = fluid.count > EXACT_FLOWS ? 0.01 * answer->p * s->application_count : 0, sum = 0,
		       last = 0;
		struct fluid_result result;
		uint32_t count = 0;

		progress_update(progress, (uint64_t)i, sharing_policies[i]->name);
		if (fluid_run(&fluid, sharing_policies[i], step_s, &result) < 0)
			break;
		for (uint32_t k = 0; k < s->application_count; k++) {
			count += result.application_end_s[k] > 0;
			sum += result.application_end_s[k];
			last = fmax(last, result.application_end_s[k]);
		}
		fluid_result_free(&result);
		progress_clear(progress);
		if (list)
			json_array_append_new(list, json_pack("{s:s, s:f, s:f}", "sharing", sharing_policies[i]->name,
							      "mean_time_s", count ? sum / count : 0, "last_s", last));
		else
			fprintf(out, "%-24s %10.6g s %10.6g s\n", sharing_policies[i]->name, count ? sum / count : 0,
				last);
	}
	progress_destroy(progress);
	fluid_free(&fluid);
	free(server);
	return 0;
}

int recover_compare(const struct recovery_scenario *s, const struct recovery_answer *answer,
		    const struct recover_settings *settings, json_t *root, FILE *out, struct error *err)
{
	json_t *list = root ? json_array() : NULL;
	int code = compare_placements(s, answer, settings, list, out, err);

	if (code == 0)
		code = compare_sharing(s, answer, settings, list, out, err);
	if (list)
		json_object_set_new(root, "compare", list);
	return code;
}
