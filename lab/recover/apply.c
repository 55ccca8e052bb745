/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the flows at their rates, makes a server fail and places its tasks again, and compares the times with the
 * prediction.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/json.h>
#include <base/progress.h>
#include <lab/lab.h>
#include <lab/transfer.h>
#include <sched/recovery/sharing.h>

#include <lab/recover/apply.h>

static const double MB = 1e6, poll_us = 20000;

struct applied {
	struct lab lab;
	struct recovery_scenario *s;
	const struct lab_recover_settings *settings;
	struct transfers *transfers;
	uint32_t *server; /* by task: index of its server, which is also its host in the lab */
	double p;
	/* By flow. Times are in seconds after `begin`. If rate_MBps is NAN, the flow has no transfer. */
	double *rate_MBps, *predicted_s, *measured_s, *start_s;
	bool *waiting;   /* by flow: the transfer has not started yet; it starts at start_s */
	struct ns begin; /* time at which the current rates were set */
	int64_t failed_server;
	bool cut; /* we have taken down the failed server's link */
	/*
	 * In seconds: from the start to the failure; from the failure to its detection; computing time of the solver;
	 * from the detection until the new rates were set.
	 */
	double failed_at_s, noticed_s, solve_s, in_force_s;
};

static double since(struct ns from, struct ns to)
{
	return ns_to_s(ns_sub(to, from));
}

static bool is_transfer(const struct applied *a, uint32_t i)
{
	const struct recovery_flow *flow = &a->s->flows[i];

	return a->server[flow->from] != a->server[flow->to] && recovery_flow_left_MB(a->s, flow) > 0;
}

/* Computes each flow's rate, start and predicted end by the chosen sharing policy. */
static int fill_rates(struct applied *a)
{
	static const struct sharing_policy *const policies[] = {[LAB_RECOVER_PERFORMANCE] = &sharing_performance,
								[LAB_RECOVER_EQUAL] = &sharing_equal,
								[LAB_RECOVER_TCP] = NULL};
	const struct sharing_policy *policy = policies[a->settings->sharing];
	double *rate = calloc(a->s->flow_count + 1u, sizeof *rate);
	struct fluid fluid;
	int code = rate ? fluid_create(a->s, a->server, a->p, &fluid) : -ENOMEM;

	for (uint32_t i = 0; i < a->s->flow_count; i++)
		a->rate_MBps[i] = a->predicted_s[i] = a->measured_s[i] = NAN;
	if (code != 0) {
		free(rate);
		return code;
	}
	for (uint32_t i = 0; i < fluid.count && policy; i++)
		fluid.flows[i].active = true;
	code = policy ? policy->rates(&fluid, rate) : 0;
	for (uint32_t i = 0; i < fluid.count && code == 0; i++) {
		const struct fluid_flow *flow = &fluid.flows[i];

		a->rate_MBps[flow->index] = policy ? rate[i] : 0;
		a->predicted_s[flow->index] = policy ? flow->start_s + flow->MB / rate[i] : NAN;
		a->start_s[flow->index] = flow->start_s;
	}
	fluid_free(&fluid);
	free(rate);
	return code;
}

static int start_flow(struct applied *a, uint32_t i, struct error *err)
{
	a->waiting[i] = false;
	return transfers_start(a->transfers, i, (uint64_t)llround(recovery_flow_left_MB(a->s, &a->s->flows[i]) * MB),
			       err);
}

/* Sets the rates, and starts the flows marked in `restart`. Flows with a start_s above 0 are left to look(). */
static int enforce(struct applied *a, const bool *restart, struct error *err)
{
	int code = 0;

	for (uint32_t i = 0; i < a->s->flow_count; i++) {
		const struct recovery_flow *flow = &a->s->flows[i];

		if (is_transfer(a, i))
			transfers_set_hosts(a->transfers, i, (int)a->server[flow->from], (int)a->server[flow->to]);
	}
	if (a->settings->sharing != LAB_RECOVER_TCP)
		code = transfers_set_rates(a->transfers, a->rate_MBps, err);
	a->begin = ns_now_monotonic();
	for (uint32_t i = 0; i < a->s->flow_count && code == 0; i++) {
		a->waiting[i] = restart[i] && is_transfer(a, i);
		if (a->waiting[i] && a->start_s[i] <= 0)
			code = start_flow(a, i, err);
	}
	return code;
}

static int begin(struct applied *a, struct error *err)
{
	bool *all = malloc((a->s->flow_count + 1u) * sizeof *all);
	int code = all ? fill_rates(a) : -ENOMEM;

	if (code != 0) {
		free(all);
		return error_set(err, ENOMEM, "out of memory");
	}
	memset(all, 1, a->s->flow_count * sizeof *all);
	code = enforce(a, all, err);
	free(all);
	return code;
}

/*
 * Places the tasks of a failed host again and sets new rates. The surviving flows continue with their remaining bytes;
 * the flows of these tasks start again from the new servers.
 */
static int recover_now(struct applied *a, int host, struct error *err)
{
	struct recovery_scenario *s = a->s;
	bool *restart = calloc(s->flow_count + 1u, sizeof *restart);
	struct recovery_answer answer = {0};
	struct ns noticed = ns_now_monotonic();
	int code = restart ? 0 : error_set(err, ENOMEM, "out of memory");

	for (uint32_t i = 0; i < s->flow_count && code == 0; i++) {
		const struct transfer *t = transfers_get(a->transfers, i);

		if (isnan(a->rate_MBps[i]))
			continue;
		s->flows[i].sent_MB =
			t->state == TRANSFER_DONE
				? s->flows[i].MB
				: fmin(s->flows[i].MB, s->flows[i].sent_MB + (double)t->acknowledged / MB);
	}
	recovery_fail_server(s, (uint32_t)host);
	if (code == 0)
		code = recovery_solve(s, &a->settings->options, &answer, err);
	if (code == 0 && !answer.server)
		code = error_set(err, ENOSPC, "the failed tasks cannot be placed: %s",
				 recovery_status_name(answer.status));
	if (code == 0) {
		uint32_t *server = recovery_placement(s, &answer);

		for (uint32_t i = 0; i < s->flow_count; i++) {
			restart[i] = s->tasks[s->flows[i].from].failed || s->tasks[s->flows[i].to].failed;
			if (restart[i])
				transfers_cancel(a->transfers, i);
		}
		free(a->server);
		a->server = server;
		a->p = answer.p;
		a->solve_s = answer.solve_s;
		code = server && fill_rates(a) == 0 ? enforce(a, restart, err)
						    : error_set(err, ENOMEM, "out of memory");
		a->in_force_s = since(noticed, a->begin);
	}
	recovery_answer_free(&answer);
	free(restart);
	return code;
}

/* Returns the host that a broken transfer could not reach, or -1 if no transfer broke. */
static int suspect(const struct applied *a)
{
	for (uint32_t i = 0; i < a->s->flow_count; i++) {
		const struct transfer *t = transfers_get(a->transfers, i);

		if (!isnan(a->rate_MBps[i]) && t->state == TRANSFER_FAILED)
			return t->from + t->to - t->reporter;
	}
	return -1;
}

/*
 * Starts the flows whose start_s has come, and records the end times of those that have ended. Returns the number of
 * flows that have not ended.
 */
static uint32_t look(struct applied *a, struct error *err, int *code)
{
	double now_s = since(a->begin, ns_now_monotonic());
	uint32_t left = 0;

	for (uint32_t i = 0; i < a->s->flow_count && *code == 0; i++) {
		const struct transfer *t = transfers_get(a->transfers, i);

		if (isnan(a->rate_MBps[i]))
			continue;
		if (a->waiting[i] && a->start_s[i] <= now_s)
			*code = start_flow(a, i, err);
		if (!a->waiting[i] && t->state == TRANSFER_DONE)
			a->measured_s[i] = since(a->begin, t->ended);
		else
			left++;
	}
	return left;
}

static int run(struct applied *a, struct error *err)
{
	struct progress *progress = progress_create(a->settings->progress, "transfers", a->s->flow_count);
	struct ns start = a->begin, failed = {0};
	int code = 0;
	bool down = a->failed_server < 0, recovered = down;

	for (;;) {
		uint32_t left = look(a, err, &code);
		int host;

		progress_update(progress, a->s->flow_count - left, NULL);
		if (code == 0)
			code = transfers_poll(a->transfers, ns_from_us(poll_us), err);
		if (code != 0 || (left == 0 && recovered))
			break;
		if (!down && since(start, ns_now_monotonic()) >= a->settings->fail_at_s) {
			failed = ns_now_monotonic();
			a->failed_at_s = since(start, failed);
			transfers_kill_host(a->transfers, (int)a->failed_server);
			code = lab_change_host_link(&a->lab, (int)a->failed_server, false, err);
			a->cut = code == 0;
			down = true;
		}
		host = suspect(a);
		if (host >= 0 && recovered && code == 0)
			code = error_set(err, EIO, "a transfer to or from host %s failed", a->lab.hosts[host].name);
		if (host >= 0 && !recovered && down && code == 0) {
			a->noticed_s = since(failed, ns_now_monotonic());
			recovered = true;
			code = recover_now(a, host, err);
		}
		if (left == 0 && !recovered && down && since(failed, ns_now_monotonic()) > 5)
			code = error_set(err, ENODATA, "no transfer noticed that %s failed: use a smaller --at",
					 a->settings->fail);
	}
	progress_destroy(progress);
	return code;
}

static json_t *flows_json(const struct applied *a)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < a->s->flow_count; i++) {
		const struct recovery_task *from = &a->s->tasks[a->s->flows[i].from];

		if (isnan(a->rate_MBps[i]) || isnan(a->measured_s[i]))
			continue;
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s, s:f, s:o, s:f}", "application",
						a->s->applications[from->application].name, "from", from->name, "to",
						a->s->tasks[a->s->flows[i].to].name, "MB",
						recovery_flow_left_MB(a->s, &a->s->flows[i]), "predicted_s",
						isnan(a->predicted_s[i]) ? json_null() : json_real(a->predicted_s[i]),
						"measured_s", a->measured_s[i]));
	}
	return list;
}

static void print_text(const struct applied *a, FILE *out)
{
	if (a->failed_server >= 0)
		fprintf(out,
			"%s failed after %.2f s; noticed %.0f ms later; solved in %.1f ms; new rates set %.0f ms "
			"after it was noticed\n",
			a->s->servers[a->failed_server].name, a->failed_at_s, 1000 * a->noticed_s, 1000 * a->solve_s,
			1000 * a->in_force_s);
	fprintf(out, "%-12s %12s %12s %12s %8s\n", "application", "predicted", "first ends", "last ends", "error");
	for (uint32_t k = 0; k < a->s->application_count; k++) {
		double first = INFINITY, last = 0, predicted = 0;

		for (uint32_t i = 0; i < a->s->flow_count; i++) {
			if (a->s->tasks[a->s->flows[i].from].application != k || isnan(a->measured_s[i]))
				continue;
			first = fmin(first, a->measured_s[i]);
			last = fmax(last, a->measured_s[i]);
			predicted = fmax(predicted, a->predicted_s[i]);
		}
		if (last > 0 && predicted > 0)
			fprintf(out, "%-12s %10.3f s %10.3f s %10.3f s %+7.2f%%\n", a->s->applications[k].name,
				predicted, first, last, 100 * (last / predicted - 1));
		else if (last > 0)
			fprintf(out, "%-12s %12s %10.3f s %10.3f s\n", a->s->applications[k].name, "none", first, last);
	}
}

static int print_json(const struct applied *a, FILE *out)
{
	json_t *root =
		json_pack("{s:s, s:f, s:o}", "schema", "nomora.recover-apply/1", "p", a->p, "flows", flows_json(a));
	int code;

	if (root && a->failed_server >= 0) {
		json_object_set_new(root, "failed_at_s", json_real(a->failed_at_s));
		json_object_set_new(root, "noticed_ms", json_real(1000 * a->noticed_s));
		json_object_set_new(root, "solve_ms", json_real(1000 * a->solve_s));
		json_object_set_new(root, "in_force_ms", json_real(1000 * a->in_force_s));
	}
	code = json_print(out, root);
	json_decref(root);
	return code;
}

/*
 * Computes the first placement. With --fail, marks all servers and tasks as not failed, so that the tasks are on their
 * original servers.
 */
static int place(struct applied *a, struct error *err)
{
	struct recovery_answer answer = {0};
	int code;

	if (a->settings->fail) {
		a->failed_server = recovery_find_server(a->s, a->settings->fail);
		if (a->failed_server < 0)
			return error_set(err, ENOENT, "--fail: unknown server '%s'", a->settings->fail);
		for (uint32_t n = 0; n < a->s->server_count; n++)
			a->s->servers[n].failed = false;
		for (uint32_t t = 0; t < a->s->task_count; t++)
			a->s->tasks[t].failed = false;
	}
	code = recovery_solve(a->s, &a->settings->options, &answer, err);
	if (code == 0 && !answer.server)
		code = error_set(err, ENOSPC, "the failed tasks cannot be placed: %s",
				 recovery_status_name(answer.status));
	if (code == 0) {
		a->p = answer.p;
		a->server = recovery_placement(a->s, &answer);
		code = a->server ? 0 : error_set(err, ENOMEM, "out of memory");
	}
	recovery_answer_free(&answer);
	return code;
}

static int prepare(struct applied *a, struct error *err)
{
	uint32_t flows = a->s->flow_count + 1u;

	if (geteuid() != 0)
		return error_set(err, EPERM, "--apply enters network namespaces and needs root: run it with sudo");
	if (lab_read(a->settings->lab, &a->lab, err) != 0)
		return error_code(err, EIO);
	if ((uint32_t)a->lab.host_count < a->s->server_count)
		return error_set(err, ENOSPC, "the scenario has %u servers, but lab '%s' has %d hosts",
				 a->s->server_count, a->lab.name, a->lab.host_count);
	if (lab_check_links(&a->lab, err) != 0)
		return error_code(err, EIO);
	a->rate_MBps = calloc(4 * flows, sizeof *a->rate_MBps);
	a->waiting = calloc(flows, sizeof *a->waiting);
	if (!a->rate_MBps || !a->waiting)
		return error_set(err, ENOMEM, "out of memory");
	a->predicted_s = a->rate_MBps + flows;
	a->measured_s = a->predicted_s + flows;
	a->start_s = a->measured_s + flows;
	return place(a, err);
}

int lab_recover_apply(struct recovery_scenario *scenario, const struct lab_recover_settings *settings, FILE *out,
		      struct error *err)
{
	struct applied a = {.s = scenario, .settings = settings, .failed_server = -1};
	int code = prepare(&a, err);

	if (code == 0) {
		a.transfers = transfers_create(&a.lab, scenario->flow_count, err);
		code = a.transfers ? begin(&a, err) : error_code(err, EIO);
	}
	if (code == 0)
		code = run(&a, err);
	transfers_destroy(a.transfers);
	if (a.cut) {
		int repaired = lab_change_host_link(&a.lab, (int)a.failed_server, true, code ? NULL : err);

		code = code ? code : repaired;
	}
	if (code == 0 && !settings->json)
		print_text(&a, out);
	else if (code == 0 && print_json(&a, out) < 0)
		code = error_set(err, ENOMEM, "out of memory");
	free(a.server);
	free(a.rate_MBps);
	free(a.waiting);
	return code;
}
