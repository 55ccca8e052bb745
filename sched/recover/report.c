/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints an answer as text or as nomora.recover/1. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <base/number.h>
#include <sched/recovery/recovery.h>

#include "recover_priv.h"

enum { APPLICATIONS_PRINTED = 20, TASKS_PRINTED = 40, PROOF_NAMES = 12 };

/* A server is a bottleneck if its relative load differs from p by no more than this fraction of p. */
static const double bottleneck_slack = 1e-6;

/* Derived figures of an answer, for text and JSON. */
struct detail {
	struct recovery_load *load;
	struct recovery_reason *reasons;
	double *rate_MBps;
	uint32_t *server;
	double before; /* p before the failure */
};

static void free_detail(struct detail *d)
{
	free(d->load);
	free(d->reasons);
	free(d->rate_MBps);
	free(d->server);
}

static bool fill_detail(const struct recovery_scenario *s, const struct recovery_answer *answer, struct detail *d)
{
	*d = (struct detail){.load = calloc(s->server_count + 1u, sizeof *d->load),
			     .reasons = calloc(answer->failed_count + 1u, sizeof *d->reasons),
			     .rate_MBps = calloc(s->flow_count + 1u, sizeof *d->rate_MBps),
			     .server = recovery_placement(s, answer)};
	if (!d->load || !d->reasons || !d->rate_MBps || !d->server || recovery_explain(s, answer, d->reasons) < 0) {
		free_detail(d);
		return false;
	}
	d->before = recovery_evaluate_before(s);
	if (isnan(d->before) || isnan(recovery_evaluate(s, d->server, d->load))) {
		free_detail(d);
		return false;
	}
	recovery_rates(s, d->server, answer->p, d->rate_MBps);
	return true;
}

static bool is_bottleneck(double load, double p)
{
	return p > 0 && load >= p * (1 - bottleneck_slack);
}

static const char *task_text(const struct recovery_scenario *s, uint32_t task, char *text, size_t bytes)
{
	const struct recovery_task *t = &s->tasks[task];

	snprintf(text, bytes, "%s.%s", s->applications[t->application].name, t->name);
	return text;
}

void recover_print_proof(const struct recovery_scenario *s, const struct recovery_answer *answer, FILE *out)
{
	char name[600];
	uint32_t count = answer->proof_task_count;

	fprintf(out, "infeasible: %s", count == 1 ? "task" : "tasks");
	for (uint32_t i = 0; i < count && i < PROOF_NAMES; i++)
		fprintf(out, "%s %s (CPU %g)", i ? "," : "", task_text(s, answer->proof_tasks[i], name, sizeof name),
			s->tasks[answer->proof_tasks[i]].cpu);
	fprintf(out, "%s cannot be placed: ", count > PROOF_NAMES ? ", ..." : "");
	if (answer->proof_of_links) {
		fputs("on every server that may take them, a flow needs a link without capacity\n", out);
		return;
	}
	if (answer->proof_server_count == 0) {
		fputs(count && s->tasks[answer->proof_tasks[0]].has_backups ? "no backup survives with enough CPU\n"
									    : "no surviving server has enough CPU\n",
		      out);
		return;
	}
	fputs(answer->proof_server_count == 1 ? "only server" : "only servers", out);
	for (uint32_t i = 0; i < answer->proof_server_count && i < PROOF_NAMES; i++)
		fprintf(out, "%s %s", i ? "," : "", s->servers[answer->proof_servers[i]].name);
	fprintf(out, "%s may take any of them, and cannot take all\n",
		answer->proof_server_count > PROOF_NAMES ? ", ..." : "");
}

static void print_tasks(const struct recovery_scenario *s, const struct recovery_answer *answer, const struct detail *d,
			FILE *out)
{
	char name[600];

	fprintf(out, "%-16s %-10s %10s   %-24s %s\n", "task", "server", "load", "next best", "random");
	for (uint32_t i = 0; i < answer->failed_count && i < TASKS_PRINTED; i++) {
		const struct recovery_reason *r = &d->reasons[i];
		char next[400] = "none fits";

		if (r->has_next)
			snprintf(next, sizeof next, "%s: p %.6g (%+.1f %%)", s->servers[r->next_server].name, r->next_p,
				 answer->p > 0 ? 100 * (r->next_p / answer->p - 1) : 0);
		fprintf(out, "%-16s %-10s %8.6g%2s   %-24s p %.6g over %u\n", task_text(s, r->task, name, sizeof name),
			s->servers[r->server].name, r->load_s, is_bottleneck(r->load_s, answer->p) ? "*" : "", next,
			r->random_p, r->server_count);
	}
	if (answer->failed_count > TASKS_PRINTED)
		fprintf(out, "... and %u more; --json has all\n", answer->failed_count - TASKS_PRINTED);
}

static void print_bottlenecks(const struct recovery_scenario *s, const struct recovery_answer *answer,
			      const struct detail *d, FILE *out)
{
	const char *before = "bottlenecks: ";

	for (uint32_t n = 0; n < s->server_count; n++) {
		if (is_bottleneck(d->load[n].egress, answer->p)) {
			fprintf(out, "%s%s egress", before, s->servers[n].name);
			before = ", ";
		}
		if (is_bottleneck(d->load[n].ingress, answer->p)) {
			fprintf(out, "%s%s ingress", before, s->servers[n].name);
			before = ", ";
		}
	}
	if (before[0] == ',')
		fputc('\n', out);
}

static void print_times(const struct recovery_scenario *s, const struct recovery_answer *answer, FILE *out)
{
	fprintf(out, "transfer times:");
	for (uint32_t k = 0; k < s->application_count && k < APPLICATIONS_PRINTED; k++)
		fprintf(out, "%s %s %.6g s", k ? "," : "", s->applications[k].name,
			recovery_transfer_time_s(s, k, answer->p));
	fprintf(out, "%s\n", s->application_count > APPLICATIONS_PRINTED ? ", ..." : "");
}

int recover_print(const struct recovery_scenario *s, const struct recovery_answer *answer, FILE *out)
{
	struct detail d;

	fprintf(out, "%s: %u failed task%s, %u candidate server%s, solver took %.3g ms\n",
		recovery_status_name(answer->status), answer->failed_count, number_s(answer->failed_count),
		answer->candidate_count, number_s(answer->candidate_count), 1000 * answer->solve_s);
	if (!answer->server)
		return 0;
	if (!fill_detail(s, answer, &d))
		return -ENOMEM;
	fprintf(out, "p %.6g s (gap %.2g %%), S* %.6g; before the failure p %.6g s, S* %.6g\n", answer->p,
		100 * answer->gap, answer->p > 0 ? 1 / answer->p : INFINITY, d.before,
		d.before > 0 ? 1 / d.before : INFINITY);
	print_times(s, answer, out);
	print_bottlenecks(s, answer, &d, out);
	print_tasks(s, answer, &d, out);
	free_detail(&d);
	return 0;
}

static json_t *names_json(const struct recovery_scenario *s, const uint32_t *numbers, uint32_t count, bool tasks)
{
	json_t *list = json_array();
	char name[600];

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(list, json_string(tasks ? task_text(s, numbers[i], name, sizeof name)
							      : s->servers[numbers[i]].name));
	return list;
}

static json_t *real_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *reasons_json(const struct recovery_scenario *s, const struct recovery_answer *answer,
			    const struct detail *d)
{
	json_t *list = json_array();
	char name[600];

	for (uint32_t i = 0; i < answer->failed_count; i++) {
		const struct recovery_reason *r = &d->reasons[i];
		json_t *next = r->has_next ? json_pack("{s:s, s:o}", "server", s->servers[r->next_server].name, "p",
						       real_or_null(r->next_p))
					   : json_null();

		json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:o, s:o, s:I}", "task",
						      task_text(s, r->task, name, sizeof name), "server",
						      s->servers[r->server].name, "load_s", r->load_s, "next_best",
						      next, "random_p", real_or_null(r->random_p), "servers",
						      (json_int_t)r->server_count));
	}
	return list;
}

static json_t *bottlenecks_json(const struct recovery_scenario *s, const struct recovery_answer *answer,
				const struct detail *d)
{
	json_t *list = json_array();

	for (uint32_t n = 0; n < s->server_count; n++) {
		for (int egress = 1; egress >= 0; egress--) {
			if (is_bottleneck(egress ? d->load[n].egress : d->load[n].ingress, answer->p))
				json_array_append_new(list, json_pack("{s:s, s:s}", "server", s->servers[n].name,
								      "direction", egress ? "egress" : "ingress"));
		}
	}
	return list;
}

static json_t *rates_json(const struct recovery_scenario *s, const struct detail *d)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < s->flow_count; i++) {
		const struct recovery_task *from = &s->tasks[s->flows[i].from];

		if (d->rate_MBps[i] > 0)
			json_array_append_new(list,
					      json_pack("{s:s, s:s, s:s, s:f}", "application",
							s->applications[from->application].name, "from", from->name,
							"to", s->tasks[s->flows[i].to].name, "MBps", d->rate_MBps[i]));
	}
	return list;
}

static bool add_placement(const struct recovery_scenario *s, const struct recovery_answer *answer, json_t *root)
{
	json_t *placement, *times;
	struct detail d;
	char name[600];

	if (!fill_detail(s, answer, &d))
		return false;
	placement = json_object();
	times = json_object();
	for (uint32_t i = 0; i < answer->failed_count; i++)
		json_object_set_new(placement, task_text(s, answer->failed[i], name, sizeof name),
				    json_string(s->servers[answer->server[i]].name));
	for (uint32_t k = 0; k < s->application_count; k++)
		json_object_set_new(times, s->applications[k].name,
				    json_real(recovery_transfer_time_s(s, k, answer->p)));
	json_object_set_new(root, "p", json_real(answer->p));
	json_object_set_new(root, "S", answer->p > 0 ? json_real(1 / answer->p) : json_null());
	json_object_set_new(root, "p_before", json_real(d.before));
	json_object_set_new(root, "S_before", d.before > 0 ? json_real(1 / d.before) : json_null());
	json_object_set_new(root, "bound", json_real(answer->bound));
	json_object_set_new(root, "gap", json_real(answer->gap));
	json_object_set_new(root, "touched_load_s", json_real(answer->touched));
	json_object_set_new(root, "network_MB", json_real(answer->network_MB));
	json_object_set_new(root, "ties_proved", json_boolean(answer->ties_proved));
	json_object_set_new(root, "placement", placement);
	json_object_set_new(root, "transfer_time_s", times);
	json_object_set_new(root, "bottlenecks", bottlenecks_json(s, answer, &d));
	json_object_set_new(root, "why", reasons_json(s, answer, &d));
	json_object_set_new(root, "rates", rates_json(s, &d));
	free_detail(&d);
	return true;
}

json_t *recover_json(const struct recovery_scenario *s, const struct recovery_answer *answer,
		     const struct recover_settings *settings)
{
	json_t *root =
		json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:f}", "schema", "nomora.recover/1", "status",
			  recovery_status_name(answer->status), "filter", recovery_filter_names[settings->filter],
			  "failed", (json_int_t)answer->failed_count, "candidates", (json_int_t)answer->candidate_count,
			  "nodes", (json_int_t)answer->nodes, "solve_ms", 1000 * answer->solve_s);

	if (root && answer->server && !add_placement(s, answer, root)) {
		json_decref(root);
		return NULL;
	}
	if (root && answer->status == RECOVERY_INFEASIBLE)
		json_object_set_new(
			root, "proof",
			json_pack("{s:s, s:o, s:o}", "of", answer->proof_of_links ? "links" : "cpu", "tasks",
				  names_json(s, answer->proof_tasks, answer->proof_task_count, true), "servers",
				  names_json(s, answer->proof_servers, answer->proof_server_count, false)));
	return root;
}
