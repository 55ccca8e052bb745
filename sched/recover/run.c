/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves one scenario, or one for the failure of each server, and prints the results. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/json.h>
#include <base/progress.h>

#include "recover_priv.h"

struct recovery_options recover_options(const struct recover_settings *settings)
{
	return (struct recovery_options){.filter = (enum recovery_filter)settings->filter,
					 .eta = (uint32_t)settings->eta,
					 .deadline_ms = settings->deadline_ms};
}

static int report(const struct recovery_scenario *s, const struct recovery_answer *answer,
		  const struct recover_settings *settings, FILE *out, struct error *err)
{
	json_t *root = settings->json ? recover_json(s, answer, settings) : NULL;
	int code = 0;

	if (!settings->json)
		code = recover_print(s, answer, out);
	if (code == 0 && settings->compare && answer->server)
		code = recover_compare(s, answer, settings, root, out, err);
	if (code == 0 && settings->json)
		code = json_print(out, root);
	json_decref(root);
	return code == -ENOMEM ? error_set(err, ENOMEM, "out of memory") : code;
}

int recover_run(const struct recovery_scenario *s, const struct recover_settings *settings, FILE *out, FILE *proof,
		bool *infeasible, struct error *err)
{
	struct recovery_options options = recover_options(settings);
	struct recovery_answer answer = {0};
	int code = recovery_solve(s, &options, &answer, err);

	if (code == 0)
		code = report(s, &answer, settings, out, err);
	*infeasible = answer.status == RECOVERY_INFEASIBLE;
	if (code == 0 && *infeasible) {
		fflush(out); /* keeps the order if both streams go to one terminal */
		recover_print_proof(s, &answer, proof);
	}
	if (code == 0 && answer.status == RECOVERY_UNKNOWN)
		code = error_set(err, ETIMEDOUT, "unknown: no placement was found within %g ms; raise --deadline-ms",
				 settings->deadline_ms);
	recovery_answer_free(&answer);
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

static bool is_placed(const struct consequence *c)
{
	return c->status == RECOVERY_OPTIMAL || c->status == RECOVERY_FEASIBLE;
}

static void print_consequences(const struct recovery_scenario *s, const struct consequence *all, FILE *out)
{
	fprintf(out, "before any failure p %.6g s\n%-16s %6s %12s %s\n", recovery_evaluate_before(s), "server", "tasks",
		"p", "status");
	for (uint32_t i = 0; i < s->server_count; i++) {
		char p[32] = "-";

		if (is_placed(&all[i]))
			snprintf(p, sizeof p, "%.6g", all[i].p);
		fprintf(out, "%-16s %6u %12s %s\n", s->servers[all[i].server].name, all[i].tasks, p,
			recovery_status_name(all[i].status));
	}
}

static json_t *consequences_json(const struct recovery_scenario *s, const struct consequence *all)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < s->server_count; i++)
		json_array_append_new(list, json_pack("{s:s, s:I, s:s, s:o}", "server", s->servers[all[i].server].name,
						      "tasks", (json_int_t)all[i].tasks, "status",
						      recovery_status_name(all[i].status), "p",
						      is_placed(&all[i]) ? json_real(all[i].p) : json_null()));
	return json_pack("{s:s, s:o}", "schema", "nomora.recover/1", "each_server", list);
}

/* Solves the scenario in which only server n fails. */
static int solve_failure(struct recovery_scenario *s, uint32_t n, const struct recovery_options *options,
			 struct consequence *out, struct error *err)
{
	struct recovery_answer answer;
	int code;

	for (uint32_t m = 0; m < s->server_count; m++)
		s->servers[m].failed = m == n;
	for (uint32_t t = 0; t < s->task_count; t++)
		s->tasks[t].failed = s->tasks[t].server == n;
	code = recovery_solve(s, options, &answer, err);
	if (code < 0)
		return code;
	*out = (struct consequence){.server = n, .tasks = answer.failed_count, .status = answer.status, .p = answer.p};
	recovery_answer_free(&answer);
	return 0;
}

int recover_each_server(struct recovery_scenario *s, const struct recover_settings *settings, FILE *out,
			struct error *err)
{
	struct recovery_options options = recover_options(settings);
	struct consequence *all;
	struct progress *progress;
	json_t *json;
	int code = 0;

	if (s->server_count < 2)
		return error_set(err, EINVAL, "--each-server needs at least two servers");
	all = calloc(s->server_count, sizeof *all);
	if (!all)
		return error_set(err, ENOMEM, "out of memory");
	progress = progress_create(settings->progress, "servers", s->server_count);
	for (uint32_t n = 0; n < s->server_count && code == 0; n++) {
		code = solve_failure(s, n, &options, &all[n], err);
		progress_update(progress, n + 1, NULL);
	}
	progress_destroy(progress);
	if (code == 0) {
		qsort(all, s->server_count, sizeof *all, compare_consequences);
		json = settings->json ? consequences_json(s, all) : NULL;
		if (!settings->json)
			print_consequences(s, all, out);
		else if (json_print(out, json) < 0)
			code = error_set(err, ENOMEM, "out of memory");
		json_decref(json);
	}
	free(all);
	return code;
}
