/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places the tasks of failed machines by sched/recovery: jointly, so that the transfers of the slowest job take the
 * least time. The scenario has the running tasks and the lost ones, between which there is a flow (flows.c), and the
 * access links of all machines. The policy places what this leaves: tasks without flows, and all tasks if there is no
 * placement or none is found in time.
 *
 * The journal gets the placements, not the problem, because a solve that ends at its time limit cannot be repeated.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

#include "recover_priv.h"

void live_loss_free(struct live_loss *loss)
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

static int add_servers(struct live_loss *loss)
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

/* The flows of a job, and scratch by task: whether the task takes part, and its number in the scenario. */
struct sources {
	struct live_traffic *flows;
	size_t count;
	bool *ends;
	uint32_t *number;
};

/* Marks the tasks that have a flow to another one, both of which run or are lost. Returns false if there is none. */
static bool mark_ends(const struct live_job *job, bool lost_too, struct sources *sources)
{
	bool any = false;

	memset(sources->ends, 0, job->task_count * sizeof *sources->ends);
	for (size_t f = 0; f < sources->count; f++) {
		uint32_t from = sources->flows[f].from, to = sources->flows[f].to;

		if (takes_part(job, &job->tasks[from], lost_too) && takes_part(job, &job->tasks[to], lost_too))
			sources->ends[from] = sources->ends[to] = any = true;
	}
	return any;
}

static int add_task(struct live_loss *loss, struct live_job *job, struct live_task *task, uint32_t *number)
{
	struct recovery_task new = {.name = task->name, .stage = 1, .cpu = 1, .failed = is_lost(job, task)};
	struct live_origin *origins =
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
	origins[code] = (struct live_origin){job, task};
	loss->count += new.failed;
	if (!new.failed)
		loss->scenario->servers[new.server].cpu += 1; /* the free slots do not have the one it holds */
	return 0;
}

static int add_flows(struct live_loss *loss, const struct sources *sources)
{
	int64_t code = 0;

	for (size_t f = 0; f < sources->count && code >= 0; f++) {
		const struct live_traffic *of = &sources->flows[f];
		struct recovery_flow flow = {.from = sources->number[of->from],
					     .to = sources->number[of->to],
					     .MB = of->MB,
					     .sent_MB = of->sent_MB};

		if (!sources->ends[of->from] || !sources->ends[of->to])
			continue;
		code = recovery_add_flow(loss->scenario, &flow);
		loss->measured += of->measured;
	}
	return code < 0 ? (int)code : 0;
}

static int add_job(struct live_loss *loss, struct live_job *job)
{
	struct sources sources = {.ends = calloc(job->task_count, sizeof *sources.ends),
				  .number = calloc(job->task_count, sizeof *sources.number)};
	int code = sources.ends && sources.number ? live_flows_of(job, &sources.flows, &sources.count) : -ENOMEM;
	bool any = code == 0 && mark_ends(job, true, &sources);

	/* Tasks wait for their root. If recovery does not place it, the policy places it and the other lost tasks. */
	if (any && flownet_root_machine(loss->live->net, job->number) == FLOWNET_NONE && !sources.ends[job->root])
		any = mark_ends(job, false, &sources);
	if (any) {
		int64_t added = recovery_add_application(loss->scenario, job->id, 1);

		code = added < 0 ? (int)added : 0;
		for (uint32_t t = 0; t < job->task_count && code == 0; t++)
			if (sources.ends[t])
				code = add_task(loss, job, &job->tasks[t], &sources.number[t]);
		if (code == 0)
			code = add_flows(loss, &sources);
	}
	free(sources.flows);
	free(sources.ends);
	free(sources.number);
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
static int restrict_job(struct live_loss *loss, const struct recovery_application *application, bool *fit)
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

static int restrict_tasks(struct live_loss *loss)
{
	bool *fit = calloc(loss->scenario->server_count + 1u, sizeof *fit);
	int code = fit ? 0 : -ENOMEM;

	for (uint32_t k = 0; k < loss->scenario->application_count && code == 0; k++)
		code = restrict_job(loss, &loss->scenario->applications[k], fit);
	free(fit);
	return code;
}

int live_loss_create(struct live *live, struct live_loss *loss)
{
	uint32_t machines = live->cluster->machine_count;
	int code;

	*loss = (struct live_loss){.live = live,
				   .scenario = recovery_create(),
				   .machine_of = calloc(machines + 1u, sizeof *loss->machine_of),
				   .server_of = calloc(machines + 1u, sizeof *loss->server_of)};
	code = loss->scenario && loss->machine_of && loss->server_of ? add_servers(loss) : -ENOMEM;
	for (uint32_t j = 0; j < live->job_count && code == 0; j++)
		if (live->jobs[j] && (live->jobs[j]->graph || live->jobs[j]->flows))
			code = add_job(loss, live->jobs[j]);
	return code == 0 && loss->count > 0 ? restrict_tasks(loss) : code;
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
		code = live_expect(live, job);
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
static int place_all(struct live *live, const struct live_loss *loss, struct recovery_answer *answer, double now_s,
		     json_t *places)
{
	double slowest = live_slowest_s(loss->scenario, answer->p);
	int code = 0;

	for (int pass = 0; pass < 2; pass++) {
		if (pass == 1 && code == 0)
			code = live_recovery_prefer_near(loss, answer);
		for (uint32_t i = 0; i < answer->failed_count && code == 0; i++) {
			const struct live_origin *origin = &loss->origins[answer->failed[i]];
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
			origin->task->flows = loss->scenario->flow_count;
			origin->task->measured_flows = loss->measured;
			code = place(live, origin->job, origin->task, machine, now_s);
			json_array_append_new(places, json_pack("[s, s, s]", origin->job->id, origin->task->name,
								live->cluster->machines[machine].name));
		}
	}
	return code;
}

/* Notes for each lost task why the policy places it, unless recovery does. */
static void note_reasons(struct live *live, const struct live_loss *loss, enum live_recovery reason)
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

/* Keeps the solved problem for live_recovery_to_json(). */
static int keep(struct live *live, struct live_loss *loss, const struct recovery_answer *answer)
{
	struct live_recovered *kept = calloc(1, sizeof *kept);

	if (!kept)
		return -ENOMEM;
	*kept = (struct live_recovered){.scenario = loss->scenario,
					.server = recovery_placement(loss->scenario, answer),
					.placed = answer->server,
					.status = answer->status,
					.p = answer->p,
					.gap = answer->gap,
					.solve_s = answer->solve_s,
					.lost = loss->count,
					.measured = loss->measured};
	live_recovered_free(live->recovered);
	live->recovered = kept;
	loss->scenario = NULL;
	return kept->server ? 0 : -ENOMEM;
}

static int solve(struct live *live, struct live_loss *loss, double now_s, struct error *err)
{
	const struct recovery_options options = {.filter = RECOVERY_FILTER_EXACT,
						 .deadline_ms = live->settings.recovery_ms};
	struct recovery_answer answer;
	json_t *places = json_array();
	int code = recovery_solve(loss->scenario, &options, &answer, err);

	if (code == 0) {
		note_reasons(live, loss, reason_of(&answer));
		live->totals.recoveries++;
		live->inside = true;
		if (!places || (answer.server && place_all(live, loss, &answer, now_s, places) < 0) ||
		    keep(live, loss, &answer) < 0)
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
	struct live_loss loss;
	int code = live_loss_create(live, &loss);

	settle_losses(live);
	if (code < 0)
		live_out_of_memory(err);
	else if (loss.count > 0)
		code = solve(live, &loss, now_s, err);
	else
		note_reasons(live, &loss, LIVE_RECOVERY_NO_FLOWS);
	live_loss_free(&loss);
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
