/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes the calls that change a live state to the callback called(), as JSON; replay.c repeats them. */
#include <math.h>
#include <stdlib.h>

#include <jansson.h>

#include <base/json.h>
#include <sched/live/calls.h>

#include "live_priv.h"

static bool is_noted(const struct live *live)
{
	return live->settings.called && !live->inside;
}

/*
 * Records a call, and takes over the reference to it. If out of memory, the call is missing in the journal. A replay
 * may then make other decisions, and reports how they differ.
 */
static void note(const struct live *live, json_t *call)
{
	char *text = json_dump_whole(call, JSON_COMPACT);

	if (text)
		live->settings.called(live->settings.context, text);
	free(text);
	json_decref(call);
}

static json_t *policy_json(const struct live_settings *settings)
{
	const struct policy_settings *policy = &settings->policy_settings;

	return json_pack("{s:s, s:i, s:i, s:I, s:i, s:i, s:i, s:i, s:I, s:b, s:b, s:i, s:f, s:f, s:i}", "name",
			 settings->policy->name, "p_m", policy->machine_threshold, "p_r", policy->rack_threshold,
			 "machine_arcs", (json_int_t)policy->machine_arcs, "lookup", policy->lookup, "spill",
			 policy->spill, "weights", policy->weights, "reference", policy->reference, "seed",
			 (json_int_t)policy->seed, "root_anywhere", policy->root_anywhere, "preemption",
			 policy->flow.preemption, "gamma", policy->flow.gamma, "omega_per_s", policy->flow.omega_per_s,
			 "beta_per_s", policy->flow.beta_per_s, "unscheduled_capacity",
			 policy->flow.unscheduled_capacity);
}

void live_note_begin(struct live *live)
{
	const struct live_settings *settings = &live->settings;
	const struct cluster_default_rtt *rtt = &settings->default_rtt;

	if (!is_noted(live))
		return;
	note(live,
	     json_pack("{s:s, s:o, s:[ffff], s:b, s:f, s:f, s:I, s:b, s:i, s:f, s:f, s:I, s:I, s:I, s:f, s:f, s:I}",
		       "do", "begin", "policy", policy_json(settings), "default_rtt_us", rtt->same_machine_us,
		       rtt->same_rack_us, rtt->same_pod_us, rtt->other_pod_us, "confirm_at_once",
		       settings->confirm_at_once, "start_timeout_s", settings->start_timeout_s, "retry_s",
		       settings->retry_s, "attempts", (json_int_t)settings->attempts_maximum, "require_measured",
		       settings->require_measured, "migration", settings->moves.mode, "migrate_gain",
		       settings->moves.gain, "migrate_hold_s", settings->moves.hold_s, "migrate_rate",
		       (json_int_t)settings->moves.rate, "migrate_per_machine", (json_int_t)settings->moves.per_machine,
		       "migrate_per_job", (json_int_t)settings->moves.per_job, "restart_s", settings->moves.restart_s,
		       "no_return_s", settings->moves.no_return_s, "decisions_kept",
		       (json_int_t)settings->decisions_kept));
}

void live_note_name(struct live *live, const char *call, const char *name)
{
	if (is_noted(live))
		note(live, json_pack("{s:s, s:s}", "do", call, "name", name));
}

void live_note_number(struct live *live, const char *call, double number)
{
	if (is_noted(live))
		note(live, json_pack("{s:s, s:f}", "do", call, "number", number));
}

void live_note_report(struct live *live, const char *call, const char *job, const char *task, const char *machine,
		      double now_s)
{
	if (is_noted(live))
		note(live, json_pack("{s:s, s:s, s:s*, s:s*, s:f}", "do", call, "job", job, "task", task, "machine",
				     machine, "now_s", now_s));
}

void live_note_machine(struct live *live, uint32_t machine)
{
	const struct cluster_machine *of = &live->cluster->machines[machine];
	const struct cluster_rack *rack = &live->cluster->racks[of->rack];

	if (is_noted(live))
		note(live, json_pack("{s:s, s:s, s:s, s:s, s:I, s:s}", "do", "machine", "name", of->name, "rack",
				     rack->name, "pod", live->cluster->pods[rack->pod], "slots", (json_int_t)of->slots,
				     "state", live_machine_state_name(live->machines[machine].state)));
}

void live_note_curve(struct live *live, const struct live_curve *curve)
{
	if (is_noted(live))
		note(live, json_pack("{s:s, s:s, s:s}", "do", "curve", "name", curve->name, "text", curve->text));
}

void live_note_recovery(struct live *live, const json_t *places, double now_s)
{
	if (is_noted(live))
		note(live, json_pack("{s:s, s:f, s:O, s:o}", "do", "recover", "now_s", now_s, "places", places,
				     "figures", live_recovery_figures(live)));
}

static const char *name_of(const struct live *live, int64_t machine)
{
	return machine < 0 ? NULL : live->cluster->machines[machine].name;
}

/* Returns the JSON of a task of a new job: only the task's name if it has waited for 0 s and has no machine. */
static json_t *submitted_json(const struct live *live, const struct job_task *task)
{
	if (task->machine == JOB_NO_MACHINE && !(task->waited_s > 0))
		return json_string(task->name);
	return json_pack("[s, s?, f, f]", task->name, name_of(live, task->machine), task->running_s, task->waited_s);
}

static json_t *restored_json(const struct live *live, const struct job_task *task, const struct live_task *restored)
{
	json_t *moved = isfinite(restored->moved_s) ? json_real(restored->moved_s) : json_null();

	return json_pack("[s, s, s?, s?, I, f, s?, o, f, s?]", task->name, live_task_state_name(restored->state),
			 name_of(live, restored->machine), name_of(live, restored->origin),
			 (json_int_t)restored->attempts, restored->since_s, name_of(live, restored->came_from), moved,
			 restored->started_s, name_of(live, restored->lost_on));
}

static json_t *limits_json(const struct job_limits *limits)
{
	return json_pack("[f, f, I, I]", limits->migrate_gain, limits->migrate_hold_s,
			 (json_int_t)limits->migrate_tasks, (json_int_t)limits->minimum_tasks);
}

void live_note_job(struct live *live, const struct job *job, uint32_t owner, bool may_move,
		   const struct live_task *restored, double now_s)
{
	json_t *tasks;

	if (!is_noted(live))
		return;
	tasks = json_array();
	for (uint32_t t = 0; t < job->task_count; t++)
		json_array_append_new(tasks, restored ? restored_json(live, &job->tasks[t], &restored[t])
						      : submitted_json(live, &job->tasks[t]));
	note(live,
	     json_pack("{s:s, s:s, s:s, s:I, s:I, s:b, s:f, s:o, s:o, s:O*}", "do", restored ? "restore" : "submit",
		       "job", job->id, "curve", job->curve, "root", (json_int_t)job->root, "owner", (json_int_t)owner,
		       "move", may_move, "now_s", now_s, "limits", limits_json(&job->limits), "tasks", tasks, "graph",
		       job->graph ? job->graph->form : NULL));
}

void live_decision_event(const struct live_decision *decision, int64_t time_us, struct journal_event *event)
{
	static const enum journal_decision kinds[] = {
		[LIVE_PLACE] = JOURNAL_PLACE, [LIVE_MOVE] = JOURNAL_MOVE, [LIVE_ADVICE] = JOURNAL_ADVICE};

	*event = (struct journal_event){.kind = JOURNAL_DECISION,
					.time_us = time_us,
					.run_us = JOURNAL_RUN_UNKNOWN,
					.decision = kinds[decision->kind],
					.sequence = decision->sequence,
					.job = decision->job,
					.task = decision->task,
					.from = decision->from,
					.to = decision->to,
					.rtt_us = decision->rtt_us,
					.performance = decision->performance,
					.gain = decision->kind == LIVE_PLACE ? NAN : decision->gain};
}
