/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places the tasks of failed machines by sched/recovery: jointly, so that the transfers of the slowest job take the
 * least time. The scenario has the running tasks and the lost ones, between which a flow is stated (the MB of the job's
 * graph), and the access links of all machines. The policy places what this leaves: tasks without flows, and all tasks
 * if there is no placement or none is found in time.
 *
 * The journal gets the placements, not the problem, because a solve that ends at its time limit cannot be repeated.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <sched/live/change.h>
#include <sched/recovery/recovery.h>

#include "live_priv.h"

/* MB/s of the links of machines that are not in the network. They are no candidates. */
#define UNLISTED_MBPS 1e12

struct origin {
	struct live_job *job;
	struct live_task *task;
};

struct loss {
	struct live *live;
	struct recovery_scenario *scenario;
	uint32_t *machine_of;   /* by server */
	int64_t *server_of;     /* by machine; -1: the number is unused */
	struct origin *origins; /* by task of the scenario */
	size_t origin_capacity;
	uint32_t count; /* lost tasks */
};

static void loss_free(struct loss *loss)
{
	recovery_destroy(loss->scenario);
	free(loss->machine_of);
	free(loss->server_of);
	free(loss->origins);
}

static bool is_lost(const struct live_job *job, const struct live_task *task)
{
	return task->state == LIVE_WAITING && task->lost_on >= 0 && task->retry_s <= 0 && !job->is_held;
}

/* lost_too: the job's lost tasks take part, not only those that have a machine. */
static bool takes_part(const struct live_job *job, const struct live_task *task, bool lost_too)
{
	return task->machine >= 0 || (lost_too && is_lost(job, task));
}

static int add_servers(struct loss *loss)
{
	const struct live *live = loss->live;
	const struct recovery_scenario *network = live->settings.network;

	for (uint32_t m = 0; m < live->cluster->machine_count; m++) {
		const char *name = live->cluster->machines[m].name;
		int64_t known = name ? recovery_find_server(network, name) : -1, number;
		struct recovery_server server = {
			.name = (char *)name, .egress_MBps = UNLISTED_MBPS, .ingress_MBps = UNLISTED_MBPS};

		loss->server_of[m] = -1;
		if (!name)
			continue;
		if (known >= 0)
			server = network->servers[known];
		server.failed = !live->machines[m].in_network;
		server.cpu = known >= 0 && live->machines[m].state == LIVE_UP && !server.failed
				     ? flownet_free(live->net, m)
				     : 0;
		number = recovery_add_server(loss->scenario, &server);
		if (number < 0)
			return (int)number;
		loss->server_of[m] = number;
		loss->machine_of[number] = m;
	}
	return 0;
}

/* Marks the tasks that have a flow to another one, both of which run or are lost. Returns false if there is none. */
static bool mark_ends(const struct live_job *job, bool lost_too, bool *ends)
{
	const struct job_graph *graph = job->graph;
	bool any = false;

	memset(ends, 0, job->task_count * sizeof *ends);
	for (uint32_t t = 0; graph && t < job->task_count; t++)
		for (size_t n = graph->first[t]; n < graph->first[t + 1]; n++) {
			uint32_t to = graph->neighbours[n].task;

			if (!(graph->neighbours[n].MB > 0) || !takes_part(job, &job->tasks[t], lost_too) ||
			    !takes_part(job, &job->tasks[to], lost_too))
				continue;
			ends[t] = ends[to] = any = true;
		}
	return any;
}

static int add_task(struct loss *loss, struct live_job *job, struct live_task *task, uint32_t *number)
{
	struct recovery_task new = {.name = task->name, .stage = 1, .cpu = 1, .failed = is_lost(job, task)};
	struct origin *origins =
		array_grow(loss->origins, loss->scenario->task_count, &loss->origin_capacity, sizeof *origins);
	int64_t code;

	if (!origins)
		return -ENOMEM;
	loss->origins = origins;
	new.server = (uint32_t)loss->server_of[new.failed ? task->lost_on : task->machine];
	code = recovery_add_task(loss->scenario, &new);
	if (code < 0)
		return (int)code;
	*number = (uint32_t)code;
	origins[code] = (struct origin){job, task};
	loss->count += new.failed;
	if (!new.failed)
		loss->scenario->servers[new.server].cpu += 1; /* the free slots do not have the one it holds */
	return 0;
}

static int add_flows(struct loss *loss, const struct live_job *job, const bool *ends, const uint32_t *number)
{
	const struct job_graph *graph = job->graph;
	int64_t code = 0;

	for (uint32_t t = 0; t < job->task_count && code >= 0; t++)
		for (size_t n = graph->first[t]; n < graph->first[t + 1] && code >= 0; n++) {
			const struct job_neighbour *to = &graph->neighbours[n];
			struct recovery_flow flow = {.from = number[t], .to = number[to->task], .MB = to->MB};

			if (ends[t] && ends[to->task] && to->MB > 0)
				code = recovery_add_flow(loss->scenario, &flow);
		}
	return code < 0 ? (int)code : 0;
}

static int add_job(struct loss *loss, struct live_job *job)
{
	bool *ends = calloc(job->task_count, sizeof *ends);
	uint32_t *number = calloc(job->task_count, sizeof *number);
	int code = ends && number ? 0 : -ENOMEM;
	bool any = code == 0 && mark_ends(job, true, ends);

	/* Tasks wait for their root. If recovery does not place it, the policy places it and the other lost tasks. */
	if (any && flownet_root_machine(loss->live->net, job->number) == FLOWNET_NONE && !ends[job->root])
		any = mark_ends(job, false, ends);
	if (any) {
		int64_t added = recovery_add_application(loss->scenario, job->id, 1);

		code = added < 0 ? (int)added : 0;
		for (uint32_t t = 0; t < job->task_count && code == 0; t++)
			if (ends[t])
				code = add_task(loss, job, &job->tasks[t], &number[t]);
		if (code == 0)
			code = add_flows(loss, job, ends, number);
	}
	free(ends);
	free(number);
	return code;
}

/* Restricts a lost task to the servers of fit[]. */
static int restrict_task(struct recovery_scenario *s, uint32_t task, const bool *fit)
{
	int code = 0;

	s->tasks[task].has_backups = true;
	for (uint32_t n = 0; n < s->server_count && code == 0; n++)
		if (fit[n])
			code = recovery_add_backup(s, task, n);
	return code;
}

/* If the job's root runs, restricts the other lost tasks to the machines that are fit for them, unless all are. */
static int restrict_job(struct loss *loss, const struct recovery_application *application, bool *fit)
{
	struct recovery_scenario *s = loss->scenario;
	const struct live_job *job = loss->origins[application->first_task].job;
	uint32_t unfit = 0, first = application->first_task, end = first + application->task_count;
	int code = 0;

	while (first < end &&
	       (!s->tasks[first].failed || live_task_number(job, loss->origins[first].task) == job->root))
		first++;
	if (first == end || flownet_root_machine(loss->live->net, job->number) == FLOWNET_NONE)
		return 0;
	for (uint32_t n = 0; n < s->server_count; n++) {
		fit[n] = !s->servers[n].failed &&
			 live_fit_for(loss->live, job, loss->origins[first].task, (int32_t)loss->machine_of[n]);
		unfit += !s->servers[n].failed && !fit[n];
	}
	for (uint32_t t = first; t < end && unfit > 0 && code == 0; t++)
		if (s->tasks[t].failed && live_task_number(job, loss->origins[t].task) != job->root)
			code = restrict_task(s, t, fit);
	return code;
}

static int restrict_tasks(struct loss *loss)
{
	bool *fit = calloc(loss->scenario->server_count + 1u, sizeof *fit);
	int code = fit ? 0 : -ENOMEM;

	for (uint32_t k = 0; k < loss->scenario->application_count && code == 0; k++)
		code = restrict_job(loss, &loss->scenario->applications[k], fit);
	free(fit);
	return code;
}

static int loss_create(struct live *live, struct loss *loss)
{
	uint32_t machines = live->cluster->machine_count;
	int code;

	*loss = (struct loss){.live = live,
			      .scenario = recovery_create(),
			      .machine_of = calloc(machines + 1u, sizeof *loss->machine_of),
			      .server_of = calloc(machines + 1u, sizeof *loss->server_of)};
	code = loss->scenario && loss->machine_of && loss->server_of ? add_servers(loss) : -ENOMEM;
	for (uint32_t j = 0; j < live->job_count && code == 0; j++)
		if (live->jobs[j] && live->jobs[j]->graph)
			code = add_job(loss, live->jobs[j]);
	return code == 0 && loss->count > 0 ? restrict_tasks(loss) : code;
}

/* ---- the report ---- */

/* Transfer time of the slowest job; NAN: some flow never ends. */
static double slowest_s(const struct recovery_scenario *s, double p)
{
	double slowest = 0;

	for (uint32_t k = 0; k < s->application_count; k++)
		slowest = fmax(slowest, recovery_transfer_time_s(s, k, p));
	return isfinite(slowest) ? slowest : NAN;
}

static const char *server_name(const struct recovery_scenario *s, uint32_t server)
{
	return s->servers[server].name;
}

/* The lost tasks with their machines, and the sums of the rates of their flows. */
static json_t *places_report(const struct loss *loss, const uint32_t *server, const double *rate_MBps)
{
	const struct recovery_scenario *s = loss->scenario;
	double *sums = calloc(2 * (s->task_count + (size_t)1), sizeof *sums), *in = sums ? sums + s->task_count : NULL;
	json_t *list = sums ? json_array() : NULL;

	for (uint32_t f = 0; sums && f < s->flow_count; f++) {
		sums[s->flows[f].from] += rate_MBps[f];
		in[s->flows[f].to] += rate_MBps[f];
	}
	for (uint32_t t = 0; list && t < s->task_count; t++)
		if (s->tasks[t].failed)
			json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:f, s:f}", "job",
							      loss->origins[t].job->id, "task", s->tasks[t].name,
							      "from", server_name(s, s->tasks[t].server), "to",
							      server_name(s, server[t]), "send_MBps", sums[t],
							      "receive_MBps", in[t]));
	free(sums);
	return list;
}

static json_t *rates_report(const struct recovery_scenario *s, const double *rate_MBps)
{
	json_t *list = json_array();

	for (uint32_t f = 0; f < s->flow_count; f++) {
		const struct recovery_task *from = &s->tasks[s->flows[f].from];

		if (rate_MBps[f] > 0)
			json_array_append_new(list,
					      json_pack("{s:s, s:s, s:s, s:f}", "job",
							s->applications[from->application].name, "from", from->name,
							"to", s->tasks[s->flows[f].to].name, "MBps", rate_MBps[f]));
	}
	return list;
}

/* Returns the figures of an answer: a reference to the live state's report; NULL: out of memory. */
static json_t *report(struct live *live, const struct loss *loss, const struct recovery_answer *answer)
{
	const struct recovery_scenario *s = loss->scenario;
	uint32_t *server = recovery_placement(s, answer);
	double *rate_MBps = calloc(s->flow_count + (size_t)1, sizeof *rate_MBps);

	json_decref(live->recovery);
	live->recovery = json_pack("{s:s, s:s, s:I, s:I, s:f, s:o}", "schema", "nomora.recovery-live/1", "status",
				   recovery_status_name(answer->status), "lost", (json_int_t)loss->count, "flows",
				   (json_int_t)s->flow_count, "solve_ms", 1000 * answer->solve_s, "slowest_before_s",
				   json_number_or_null(slowest_s(s, recovery_evaluate_before(s))));
	if (server && rate_MBps && live->recovery && answer->server) {
		recovery_rates(s, server, answer->p, rate_MBps);
		json_object_update_new(live->recovery,
				       json_pack("{s:o, s:f, s:o, s:o}", "slowest_s",
						 json_number_or_null(slowest_s(s, answer->p)), "gap", answer->gap,
						 "tasks", places_report(loss, server, rate_MBps), "rates",
						 rates_report(s, rate_MBps)));
	}
	free(server);
	free(rate_MBps);
	return live->recovery;
}

const json_t *live_last_recovery(const struct live *live)
{
	return live->recovery;
}

void live_recovery_say(const struct live_task *task, char why[static 160])
{
	static const char *const reasons[] = {
		[LIVE_RECOVERY_NO_FLOWS] = "no flow of the task is stated",
		[LIVE_RECOVERY_HELD] = "its job waited for a minimum number of slots",
		[LIVE_RECOVERY_SLOTS] = "recovery found no slots for all lost tasks",
		[LIVE_RECOVERY_LINKS] = "in recovery, a flow would need a link without capacity",
		[LIVE_RECOVERY_LATE] = "recovery found no placement in time",
		[LIVE_RECOVERY_CUT_OFF] = "recovery's machine cannot be reached from the root",
	};

	if (task->recovery == LIVE_RECOVERY_PLACED)
		snprintf(why, 160,
			 "its machine failed; recovery placed all lost tasks together: the slowest job transfers for "
			 "%.3g s",
			 (double)task->slowest_s);
	else if (task->recovery != LIVE_RECOVERY_NONE)
		snprintf(why, 160, "its machine failed; placed by the policy: %s", reasons[task->recovery]);
}

/* ---- placing ---- */

/* Places a waiting task; its slot is held as that of a task found running, as after a restart. 0 or -errno. */
static int place(struct live *live, struct live_job *job, struct live_task *task, uint32_t machine, double now_s)
{
	uint32_t number = live_task_number(job, task);
	int code = 0;

	if (flownet_task_present(live->net, job->number, number))
		code = flownet_task_ended(live->net, job->number, number);
	if (code == 0)
		code = flownet_task_found(live->net, job->number, number, machine, 0);
	if (code == 0)
		code = flownet_job_expects(live->net, job->number, live_open_tasks(job));
	if (code < 0)
		return code;
	task->machine = (int32_t)machine;
	task->recovery = LIVE_RECOVERY_PLACED;
	live->changed = true;
	live->totals.recovered++;
	return live_place(live, job, task, now_s);
}

static bool is_free(const struct live *live, int64_t machine)
{
	return machine >= 0 && live->machines[machine].in_network && live->machines[machine].state == LIVE_UP &&
	       flownet_free(live->net, (uint32_t)machine) > 0;
}

/* Tasks are placed after their root. */
static bool may_be_placed(const struct live *live, const struct live_job *job, const struct live_task *task)
{
	return task->state == LIVE_WAITING && !job->is_held && task->retry_s <= 0 &&
	       (live_task_number(job, task) == job->root ||
		flownet_root_machine(live->net, job->number) != FLOWNET_NONE);
}

static void settle_losses(struct live *live)
{
	live->lost = false;
	live->lost_s = INFINITY;
}

int live_recover_again(struct live *live, const json_t *places, double now_s, struct error *err)
{
	const json_t *item;
	size_t at;
	int code = 0;

	live->inside = true;
	json_array_foreach (places, at, item) {
		const char *id = json_string_value(json_array_get(item, 0)),
			   *name = json_string_value(json_array_get(item, 1)),
			   *to = json_string_value(json_array_get(item, 2));
		int64_t machine = to ? cluster_find_machine(live->cluster, to) : -1;
		struct live_job *job = NULL;
		struct live_task *task = id && name ? live_find_task(live, id, name, &job) : NULL;

		if (!task || !may_be_placed(live, job, task) || !is_free(live, machine))
			code = error_set(err, EINVAL, "call.places[%zu]: expected [job, waiting task, free machine]",
					 at);
		else if (place(live, job, task, (uint32_t)machine, now_s) < 0)
			code = live_out_of_memory(err);
		if (code < 0)
			break;
	}
	live->inside = false;
	settle_losses(live);
	return code;
}

/* Places the lost tasks of an answer, roots first, and appends them to places. 0 or -errno. */
static int place_all(struct live *live, const struct loss *loss, const struct recovery_answer *answer, double now_s,
		     json_t *places)
{
	double slowest = slowest_s(loss->scenario, answer->p);
	int code = 0;

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < answer->failed_count && code == 0; i++) {
			const struct origin *origin = &loss->origins[answer->failed[i]];
			uint32_t machine = loss->machine_of[answer->server[i]];

			if ((live_task_number(origin->job, origin->task) == origin->job->root) != (pass == 0))
				continue;
			/* Only now is the machine of a lost root known. */
			if (flownet_root_machine(live->net, origin->job->number) != FLOWNET_NONE &&
			    !live_fit_for(live, origin->job, origin->task, (int32_t)machine)) {
				origin->task->recovery = LIVE_RECOVERY_CUT_OFF;
				continue;
			}
			origin->task->slowest_s = (float)slowest;
			code = place(live, origin->job, origin->task, machine, now_s);
			json_array_append_new(places, json_pack("[s, s, s]", origin->job->id, origin->task->name,
								live->cluster->machines[machine].name));
		}
	return code;
}

/* Notes for each lost task why the policy places it, unless recovery does. */
static void note_reasons(struct live *live, const struct loss *loss, enum live_recovery reason)
{
	for (uint32_t j = 0; j < live->job_count; j++)
		for (uint32_t t = 0; live->jobs[j] && t < live->jobs[j]->task_count; t++)
			if (live->jobs[j]->tasks[t].lost_on >= 0)
				live->jobs[j]->tasks[t].recovery =
					live->jobs[j]->is_held ? LIVE_RECOVERY_HELD : LIVE_RECOVERY_NO_FLOWS;
	for (uint32_t t = 0; t < loss->scenario->task_count; t++)
		if (loss->scenario->tasks[t].failed)
			loss->origins[t].task->recovery = reason;
}

static enum live_recovery reason_of(const struct recovery_answer *answer)
{
	if (answer->server)
		return LIVE_RECOVERY_PLACED;
	if (answer->status != RECOVERY_INFEASIBLE)
		return LIVE_RECOVERY_LATE;
	return answer->proof_of_links ? LIVE_RECOVERY_LINKS : LIVE_RECOVERY_SLOTS;
}

static int solve(struct live *live, struct loss *loss, double now_s, struct error *err)
{
	const struct recovery_options options = {.filter = RECOVERY_FILTER_EXACT,
						 .deadline_ms = live->settings.recovery_ms};
	struct recovery_answer answer;
	json_t *places = json_array();
	const json_t *figures;
	int code = recovery_solve(loss->scenario, &options, &answer, err);

	if (code == 0) {
		figures = report(live, loss, &answer);
		note_reasons(live, loss, reason_of(&answer));
		live->totals.recoveries++;
		live->inside = true;
		if (!places || !figures || (answer.server && place_all(live, loss, &answer, now_s, places) < 0))
			code = live_out_of_memory(err);
		live->inside = false;
		if (code == 0 && json_array_size(places) > 0)
			live_note_recovery(live, places, now_s);
		recovery_answer_free(&answer);
	}
	json_decref(places);
	return code;
}

int live_recover(struct live *live, double now_s, struct error *err)
{
	struct loss loss;
	int code = loss_create(live, &loss);

	settle_losses(live);
	if (code < 0)
		live_out_of_memory(err);
	else if (loss.count > 0)
		code = solve(live, &loss, now_s, err);
	else
		note_reasons(live, &loss, LIVE_RECOVERY_NO_FLOWS);
	loss_free(&loss);
	return code;
}

bool live_loses(const struct live *live)
{
	return live->settings.network && live->lost && !live->broken;
}

double live_recovery_wait_s(const struct live *live, double now_s)
{
	return live->lost ? fmax(0, live->lost_s + live->settings.recovery_hold_s - now_s) : INFINITY;
}

/* ---- comparison ---- */

/*
 * Reports where the lost tasks are after the policy has placed them. Their transfer times are not known if one of them
 * waits, or is on a machine that is not in the network.
 */
static json_t *by_policy(const struct live *live, const struct loss *loss)
{
	const struct recovery_scenario *s = loss->scenario;
	uint32_t *server = calloc(s->task_count + (size_t)1, sizeof *server), waiting = 0, unlisted = 0;
	json_t *list = server ? json_array() : NULL;

	for (uint32_t t = 0; list && t < s->task_count; t++) {
		int32_t machine = loss->origins[t].task->machine;

		server[t] = s->tasks[t].server;
		if (!s->tasks[t].failed)
			continue;
		waiting += machine < 0;
		if (machine >= 0) {
			server[t] = (uint32_t)loss->server_of[machine];
			unlisted += s->servers[server[t]].egress_MBps >= UNLISTED_MBPS;
		}
		json_array_append_new(list, json_pack("{s:s, s:s, s:s?}", "job", loss->origins[t].job->id, "task",
						      s->tasks[t].name, "to",
						      machine >= 0 ? live->cluster->machines[machine].name : NULL));
	}
	if (!list) {
		free(server);
		return NULL;
	}
	list = json_pack(
		"{s:I, s:o, s:o}", "waiting", (json_int_t)waiting, "slowest_s",
		json_number_or_null(waiting + unlisted > 0 ? NAN : slowest_s(s, recovery_evaluate(s, server, NULL))),
		"tasks", list);
	free(server);
	return list;
}

json_t *live_recovery_by_policy(struct live *live, double now_s, double within_s, struct error *err)
{
	json_t *answer = NULL;
	struct loss loss;
	double end_s;
	int code = live_loses(live) ? loss_create(live, &loss) : 1;

	if (code == 1)
		return json_null();
	live->settings.network = NULL;
	if (code < 0)
		live_out_of_memory(err);
	else if (loss.count == 0)
		answer = json_null();
	else if (live_settle(live, now_s, within_s, &end_s, err) == 0)
		answer = by_policy(live, &loss);
	if (!answer && code == 0 && !err->code)
		live_out_of_memory(err);
	loss_free(&loss);
	return answer;
}
