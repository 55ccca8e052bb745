/* SPDX-License-Identifier: BSD-3-Clause */
/* --compare and --each-server. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/progress.h>
#include <sched/recovery/explain.h>
#include <sched/recovery/sharing.h>

#include "recover.h"

/* Simulations of more flows take events together that are 1 % of the transfer time apart. */
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
			      const struct recover_settings *settings, json_t *list, struct error *err)
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
		printf("\n%-24s %12s %8s %12s %12s\n%-24s %12.6g %8.3f\n", "placement", "p", "p/p*", "least",
		       "greatest", "joint", answer->p, 1.0);
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof name, i ? "random" : "filter, eta %lld + random", (long long)settings->eta);
		if (spreads[i].runs == 0)
			continue;
		if (list)
			add_row(list, i ? "random" : "filter and random", 0, &spreads[i]);
		else
			printf("%-24s %12.6g %8.3f %12.6g %12.6g\n", name, spreads[i].mean_p,
			       spreads[i].mean_p / answer->p, spreads[i].least_p, spreads[i].greatest_p);
	}
	return 0;
}

static int compare_sharing(const struct recovery_scenario *s, const struct recovery_answer *answer, json_t *list,
			   struct error *err)
{
	uint32_t *server = recovery_placement(s, answer);
	struct progress *progress = progress_create(stderr, "sharing", 4);
	struct fluid fluid;

	if (!server || fluid_create(s, server, answer->p, &fluid) < 0) {
		free(server);
		progress_destroy(progress);
		return error_set(err, ENOMEM, "out of memory");
	}
	if (!list)
		printf("\n%-24s %12s %12s\n", "sharing (joint placement)", "mean time", "last");
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
			printf("%-24s %10.6g s %10.6g s\n", sharing_policies[i]->name, count ? sum / count : 0, last);
	}
	progress_destroy(progress);
	fluid_free(&fluid);
	free(server);
	return 0;
}

int recover_compare(const struct recovery_scenario *s, const struct recovery_answer *answer,
		    const struct recover_settings *settings, json_t *root, struct error *err)
{
	json_t *list = root ? json_array() : NULL;
	int code = compare_placements(s, answer, settings, list, err);

	if (code == 0)
		code = compare_sharing(s, answer, list, err);
	if (list)
		json_object_set_new(root, "compare", list);
	return code;
}

struct consequence {
	uint32_t server, tasks;
	enum recovery_status status;
	double p;
};

static int compare_consequences(const void *a, const void *b)
{
	const struct consequence *x = a, *y = b;
	double p = x->status == RECOVERY_INFEASIBLE ? INFINITY : x->p,
	       q = y->status == RECOVERY_INFEASIBLE ? INFINITY : y->p;

	if (p != q)
		return p > q ? -1 : 1;
	return (x->server > y->server) - (x->server < y->server);
}

static void print_consequences(const struct recovery_scenario *s, const struct consequence *all, uint32_t count,
			       json_t *root)
{
	json_t *list = root ? json_array() : NULL;

	if (!list)
		printf("before any failure p %.6g s\n%-16s %6s %12s %s\n", recovery_evaluate_before(s), "server",
		       "tasks", "p", "status");
	for (uint32_t i = 0; i < count; i++) {
		const char *status = recovery_status_name(all[i].status);
		bool placed = all[i].status == RECOVERY_OPTIMAL || all[i].status == RECOVERY_FEASIBLE;

		if (list)
			json_array_append_new(list, json_pack("{s:s, s:I, s:s, s:o}", "server",
							      s->servers[all[i].server].name, "tasks",
							      (json_int_t)all[i].tasks, "status", status, "p",
							      placed ? json_real(all[i].p) : json_null()));
		else if (placed)
			printf("%-16s %6u %12.6g %s\n", s->servers[all[i].server].name, all[i].tasks, all[i].p, status);
		else
			printf("%-16s %6u %12s %s\n", s->servers[all[i].server].name, all[i].tasks, "-", status);
	}
	if (list)
		json_object_set_new(root, "each_server", list);
}

int recover_each_server(struct recovery_scenario *s, const struct recover_settings *settings, json_t *root,
			struct error *err)
{
	struct consequence *all = calloc(s->server_count + 1u, sizeof *all);
	struct progress *progress = progress_create(stderr, "servers", s->server_count);
	struct recovery_options options = recover_options(settings);
	int code = all ? 0 : error_set(err, ENOMEM, "out of memory");

	if (s->server_count < 2)
		code = error_set(err, EINVAL, "--each-server needs two servers");
	for (uint32_t n = 0; n < s->server_count && code == 0; n++) {
		struct recovery_answer answer;

		for (uint32_t m = 0; m < s->server_count; m++)
			s->servers[m].failed = m == n;
		for (uint32_t t = 0; t < s->task_count; t++)
			s->tasks[t].failed = s->tasks[t].server == n;
		code = recovery_solve(s, &options, &answer, err);
		if (code < 0)
			break;
		all[n] = (struct consequence){
			.server = n, .tasks = answer.failed_count, .status = answer.status, .p = answer.p};
		recovery_answer_free(&answer);
		progress_update(progress, n + 1, NULL);
	}
	progress_destroy(progress);
	if (code == 0) {
		qsort(all, s->server_count, sizeof *all, compare_consequences);
		print_consequences(s, all, s->server_count, root);
	}
	free(all);
	return code;
}
