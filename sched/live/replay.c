/* SPDX-License-Identifier: BSD-3-Clause */
/* Repeats the calls of a journal, as written by calls.c. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/json.h>
#include <base/text_stream.h>
#include <sched/live/calls.h>

#include "live_priv.h"

/* Maximum absolute value of real numbers in a call, such as times in seconds. */
#define NUMBER_MAXIMUM 1e15
enum { COUNT_MAXIMUM = INT32_MAX };

struct replay {
	struct live *live; /* live state of the present segment; NULL before the first segment */
	struct file_lines *lines;
	struct live_replayed *replayed;
	FILE *made;
	struct latency_sample *samples;
	size_t sample_count, sample_capacity;
	struct json_reader json;
	struct replay_performance *performance;
};

/* ---- settings ---- */

static int read_choice(struct replay *replay, const json_t *object, const char *key, int most)
{
	return (int)json_need_integer(&replay->json, object, "call", key, 0, most);
}

static uint32_t read_count(struct replay *replay, const json_t *object, const char *key)
{
	return (uint32_t)json_need_integer(&replay->json, object, "call", key, 0, COUNT_MAXIMUM);
}

static double read_number(struct replay *replay, const json_t *object, const char *key)
{
	return json_need_number(&replay->json, object, "call", key, -NUMBER_MAXIMUM, NUMBER_MAXIMUM);
}

static void read_policy(struct replay *replay, const json_t *object, struct live_settings *settings)
{
	struct policy_settings *policy = &settings->policy_settings;
	const char *name = json_need_string(&replay->json, object, "call.policy", "name");

	settings->policy = name ? policy_find(name) : NULL;
	if (name && !settings->policy)
		json_fail(&replay->json, "call.policy", "name", "unknown policy '%s'", name);
	policy->machine_threshold = (int32_t)read_count(replay, object, "p_m");
	policy->rack_threshold = (int32_t)read_count(replay, object, "p_r");
	policy->machine_arcs = read_count(replay, object, "machine_arcs");
	policy->lookup = (enum cost_lookup)read_choice(replay, object, "lookup", COST_LOOKUP_NEAREST);
	policy->spill = (enum policy_spill)read_choice(replay, object, "spill", POLICY_SPILL_ANY);
	policy->weights = (enum policy_weights)json_may_integer(&replay->json, object, "call.policy", "weights", 0,
								POLICY_WEIGHTS_JOB, POLICY_WEIGHTS_TASK);
	policy->reference =
		(enum latency_reference)read_choice(replay, object, "reference", LATENCY_REFERENCE_ABSOLUTE);
	policy->seed = (uint64_t)json_need_integer(&replay->json, object, "call.policy", "seed", 0, INT64_MAX);
	policy->root_anywhere = json_may_boolean(&replay->json, object, "call.policy", "root_anywhere", false);
	policy->flow.preemption = json_may_boolean(&replay->json, object, "call.policy", "preemption", false);
	policy->flow.gamma = read_choice(replay, object, "gamma", 500000);
	policy->flow.omega_per_s = fabs(read_number(replay, object, "omega_per_s"));
	policy->flow.beta_per_s = fabs(read_number(replay, object, "beta_per_s"));
	policy->flow.unscheduled_capacity = (int32_t)read_count(replay, object, "unscheduled_capacity");
}

static void read_default_rtt(struct replay *replay, const json_t *call, struct cluster_default_rtt *rtt)
{
	const json_t *list = json_need_array(&replay->json, call, "call", "default_rtt_us");
	double *const values[] = {&rtt->same_machine_us, &rtt->same_rack_us, &rtt->same_pod_us, &rtt->other_pod_us};

	for (size_t i = 0; list && i < 4; i++) {
		const json_t *value = json_array_get(list, i);

		*values[i] = json_number_value(value);
		if (!json_is_number(value) || !(*values[i] >= 0 && *values[i] < NUMBER_MAXIMUM))
			json_fail(&replay->json, "call", "default_rtt_us", "expected four round trips");
	}
}

static void end_segment(struct replay *replay)
{
	if (replay->live)
		replay->replayed->decisions += live_totals(replay->live).decisions;
	live_destroy(replay->live);
	replay->live = NULL;
}

static int begin(struct replay *replay, const json_t *call, struct error *err)
{
	struct live_settings settings;
	const json_t *policy = json_need_object(&replay->json, call, "call", "policy");

	live_settings_default(&settings);
	if (policy)
		read_policy(replay, policy, &settings);
	read_default_rtt(replay, call, &settings.default_rtt);
	settings.confirm_at_once = json_may_boolean(&replay->json, call, "call", "confirm_at_once", false);
	settings.start_timeout_s = read_number(replay, call, "start_timeout_s");
	settings.retry_s = read_number(replay, call, "retry_s");
	settings.attempts_maximum = read_count(replay, call, "attempts");
	settings.require_measured = json_may_boolean(&replay->json, call, "call", "require_measured", false);
	settings.moves.mode = read_choice(replay, call, "migration", MIGRATION_ON);
	settings.moves.gain = read_number(replay, call, "migrate_gain");
	settings.moves.hold_s = read_number(replay, call, "migrate_hold_s");
	settings.moves.rate = read_count(replay, call, "migrate_rate");
	settings.moves.per_machine = read_count(replay, call, "migrate_per_machine");
	settings.moves.per_job = read_count(replay, call, "migrate_per_job");
	settings.moves.restart_s = read_number(replay, call, "restart_s");
	settings.moves.no_return_s = read_number(replay, call, "no_return_s");
	settings.decisions_kept = read_count(replay, call, "decisions_kept");
	end_segment(replay);
	replay->sample_count = 0;
	if (replay->json.failed)
		return -EINVAL;
	replay->live = live_create(&settings, err);
	replay->replayed->segments++;
	return replay->live ? 0 : error_code(err, ENOMEM);
}

/* ---- jobs ---- */

static int32_t machine_of(struct replay *replay, const json_t *value)
{
	const char *name = json_string_value(value);
	int64_t number = name ? cluster_find_machine(replay->live->cluster, name) : -1;

	if (name && number < 0)
		json_fail(&replay->json, "call", "tasks", "unknown machine '%s'", name);
	return (int32_t)number;
}

static void read_submitted(struct replay *replay, const json_t *value, struct job_task *task)
{
	const json_t *name = json_is_array(value) ? json_array_get(value, 0) : value;

	*task = (struct job_task){.name = (char *)json_string_value(name), .machine = JOB_NO_MACHINE};
	if (!task->name)
		json_fail(&replay->json, "call", "tasks", "expected names");
	if (!json_is_array(value))
		return;
	task->machine = machine_of(replay, json_array_get(value, 1));
	task->running_s = json_number_value(json_array_get(value, 2));
	task->waited_s = json_number_value(json_array_get(value, 3));
}

static enum live_task_state read_state(struct replay *replay, const json_t *value)
{
	const char *name = json_string_value(value);

	for (int s = LIVE_WAITING; name && s <= LIVE_FAILED; s++)
		if (strcmp(live_task_state_name((enum live_task_state)s), name) == 0)
			return (enum live_task_state)s;
	json_fail(&replay->json, "call", "tasks", "expected a state");
	return LIVE_WAITING;
}

static bool is_up(const struct live *live, int32_t machine)
{
	return machine >= 0 && live->machines[machine].in_network;
}

static void read_restored(struct replay *replay, const json_t *value, struct job_task *of_job, struct live_task *task)
{
	const json_t *moved = json_array_get(value, 7);

	*of_job = (struct job_task){.name = (char *)json_string_value(json_array_get(value, 0)),
				    .machine = JOB_NO_MACHINE};
	*task = (struct live_task){.state = read_state(replay, json_array_get(value, 1)),
				   .machine = machine_of(replay, json_array_get(value, 2)),
				   .origin = machine_of(replay, json_array_get(value, 3)),
				   .attempts = (uint32_t)json_integer_value(json_array_get(value, 4)),
				   .since_s = json_number_value(json_array_get(value, 5)),
				   .came_from = machine_of(replay, json_array_get(value, 6)),
				   .moved_s = json_is_number(moved) ? json_number_value(moved) : -INFINITY,
				   .started_s = json_number_value(json_array_get(value, 8)),
				   .lost_on = machine_of(replay, json_array_get(value, 9))};
	if (!of_job->name)
		json_fail(&replay->json, "call", "tasks", "expected names");
	if ((task->state == LIVE_MOVING && !is_up(replay->live, task->origin)) ||
	    ((task->state == LIVE_RUNNING || task->state == LIVE_DECIDED) && !is_up(replay->live, task->machine)))
		json_fail(&replay->json, "call", "tasks", "the machine of task '%s' is missing or down",
			  of_job->name ? of_job->name : "");
}

/* Reads the limits of a job; all are 0 in journals of older versions, which do not have them. */
static struct job_limits read_limits(const json_t *call)
{
	const json_t *limits = json_object_get(call, "limits");

	return (struct job_limits){.migrate_gain = json_number_value(json_array_get(limits, 0)),
				   .migrate_hold_s = json_number_value(json_array_get(limits, 1)),
				   .migrate_tasks = (uint32_t)json_integer_value(json_array_get(limits, 2)),
				   .minimum_tasks = (uint32_t)json_integer_value(json_array_get(limits, 3))};
}

static int take_job(struct replay *replay, const json_t *call, bool restores, struct error *err)
{
	const json_t *tasks = json_need_array(&replay->json, call, "call", "tasks");
	size_t count = json_array_size(tasks);
	struct job_task *of_job = calloc(count + 1, sizeof *of_job);
	struct live_task *restored = calloc(count + 1, sizeof *restored);
	struct job job = {.id = (char *)json_need_string(&replay->json, call, "call", "job"),
			  .curve = (char *)json_need_string(&replay->json, call, "call", "curve"),
			  .tasks = of_job,
			  .task_count = (uint32_t)count,
			  .root = read_count(replay, call, "root"),
			  .limits = read_limits(call)};
	uint32_t owner = (uint32_t)json_need_integer(&replay->json, call, "call", "owner", 0, UINT32_MAX);
	bool may_move = json_may_boolean(&replay->json, call, "call", "move", false);
	double now_s = read_number(replay, call, "now_s");
	int code = of_job && restored ? 0 : error_set(err, ENOMEM, "out of memory");

	job.graph = job_graph_read(&replay->json, json_object_get(call, "graph"), NULL, job.task_count);

	for (size_t t = 0; code == 0 && t < count; t++) {
		if (restores)
			read_restored(replay, json_array_get(tasks, t), &of_job[t], &restored[t]);
		else
			read_submitted(replay, json_array_get(tasks, t), &of_job[t]);
	}
	if (!replay->json.failed && (count > JOB_TASKS_MAXIMUM || job.root >= count))
		json_fail(&replay->json, "call", "root", "expected one of the job's tasks");
	if (code == 0 && replay->json.failed)
		code = -EINVAL;
	else if (code == 0)
		code = restores ? live_restore(replay->live, &job, owner, may_move, restored, now_s, err)
				: live_submit(replay->live, &job, owner, may_move, now_s, err);
	job_graph_destroy(job.graph);
	free(of_job);
	free(restored);
	return code;
}

static int report(struct replay *replay, const json_t *call, const char *what, struct error *err)
{
	const char *job = json_need_string(&replay->json, call, "call", "job");
	const char *task = json_may_string(&replay->json, call, "call", "task", "");
	const char *machine = json_may_string(&replay->json, call, "call", "machine", "");
	double now_s = read_number(replay, call, "now_s");

	if (replay->json.failed)
		return -EINVAL;
	if (strcmp(what, "started") == 0)
		return live_started(replay->live, job, task, machine, now_s, err);
	if (strcmp(what, "ended") == 0)
		return live_ended(replay->live, job, task, err);
	if (strcmp(what, "failed") == 0)
		return live_failed(replay->live, job, task, now_s, err);
	return live_set_restart(replay->live, job, now_s, err);
}

/* ---- machines, curves, time ---- */

static int take_machine(struct replay *replay, const json_t *call, struct error *err)
{
	const char *name = json_need_string(&replay->json, call, "call", "name");
	const char *rack = json_need_string(&replay->json, call, "call", "rack");
	const char *pod = json_may_string(&replay->json, call, "call", "pod", "");
	uint32_t slots = read_count(replay, call, "slots");
	const char *state = json_need_string(&replay->json, call, "call", "state");
	int number = state ? live_machine_state_find(state) : -1;

	if (!replay->json.failed && number < 0)
		json_fail(&replay->json, "call", "state", "unknown state '%s'", state);
	return replay->json.failed
		       ? -EINVAL
		       : live_machine_set(replay->live, name, rack, pod, slots, (enum live_machine_state)number, err);
}

static int take_curve(struct replay *replay, const json_t *call, struct error *err)
{
	const char *name = json_need_string(&replay->json, call, "call", "name");
	const char *text = json_need_string(&replay->json, call, "call", "text");
	struct curve *curve = name && text ? curve_from_memory(name, text, strlen(text), err) : NULL;
	int code = curve ? live_curve_set(replay->live, name, curve, err) : -EINVAL;

	curve_destroy(curve);
	return code;
}

static int take_number(struct replay *replay, const json_t *call, const char *what, struct error *err)
{
	double number = read_number(replay, call, "number");
	int code = replay->json.failed ? -EINVAL : 0;

	if (code < 0)
		return code;
	if (strcmp(what, "step") == 0) {
		(void)live_step(replay->live, number, err);
		/* If this step failed, so did the recorded one. The next step then rebuilds the network. */
		*err = (struct error){0};
		return 0;
	}
	if (strcmp(what, "open") == 0) {
		live_open_moves(replay->live, number > 0);
	} else if (strcmp(what, "rebuild") == 0) {
		live_rebuild(replay->live, number);
	} else if (strcmp(what, "number") == 0) {
		live_number_decisions(replay->live, (uint64_t)fabs(number));
	} else if (strcmp(what, "measured") == 0) {
		code = live_latency_again(replay->live, replay->samples, replay->sample_count);
		replay->sample_count = 0;
	} else {
		live_latency_settle(replay->live);
	}
	return code == 0 ? 0 : error_set(err, -code, "%s", strerror(-code));
}

static int take_name(struct replay *replay, const json_t *call, const char *what, struct error *err)
{
	const char *name = json_need_string(&replay->json, call, "call", "name");

	if (!name)
		return -EINVAL;
	if (strcmp(what, "cancel") == 0)
		return live_cancel(replay->live, name, err);
	if (strcmp(what, "remove") == 0)
		return live_machine_remove(replay->live, name, err);
	return live_curve_remove(replay->live, name, err);
}

static int take_recovery(struct replay *replay, const json_t *call, struct error *err)
{
	const json_t *places = json_need_array(&replay->json, call, "call", "places");
	double now_s = read_number(replay, call, "now_s");

	return replay->json.failed ? -EINVAL : live_recover_again(replay->live, places, now_s, err);
}

static bool is_among(const char *what, const char *const *names)
{
	while (*names && strcmp(*names, what) != 0)
		names++;
	return *names;
}

static int take_call(struct replay *replay, const json_t *call, struct error *err)
{
	static const char *const reports[] = {"started", "ended", "failed", "restart", NULL};
	static const char *const numbers[] = {"step", "open", "number", "measured", "settle", "rebuild", NULL};
	static const char *const names[] = {"cancel", "remove", "forget", NULL};
	const char *what = json_need_string(&replay->json, call, "call", "do");

	if (!what)
		return -EINVAL;
	if (strcmp(what, "begin") == 0)
		return begin(replay, call, err);
	if (!replay->live)
		return 0; /* the beginning of the call's segment is missing */
	if (strcmp(what, "submit") == 0 || strcmp(what, "restore") == 0)
		return take_job(replay, call, what[0] == 'r', err);
	if (strcmp(what, "machine") == 0)
		return take_machine(replay, call, err);
	if (strcmp(what, "recover") == 0)
		return take_recovery(replay, call, err);
	if (strcmp(what, "curve") == 0)
		return take_curve(replay, call, err);
	if (is_among(what, reports))
		return report(replay, call, what, err);
	if (is_among(what, numbers))
		return take_number(replay, call, what, err);
	if (is_among(what, names))
		return take_name(replay, call, what, err);
	json_fail(&replay->json, "call", "do", "unknown call '%s'", what);
	return -EINVAL;
}

/* ---- journal ---- */

static int keep_samples(struct replay *replay, const struct journal_event *event, struct error *err)
{
	struct latency_sample *samples = array_reserve(replay->samples, replay->sample_count + event->pair_count + 1,
						       &replay->sample_capacity, sizeof *samples);
	int64_t from = cluster_find_machine(replay->live->cluster, event->machine);

	if (!samples)
		return live_out_of_memory(err);
	replay->samples = samples;
	for (size_t i = 0; i < event->pair_count; i++) {
		int64_t to = cluster_find_machine(replay->live->cluster, event->pairs[i].to);

		if (from < 0 || to < 0)
			return error_set(err, ENOENT, "unknown machine '%s'",
					 from < 0 ? event->machine : event->pairs[i].to);
		samples[replay->sample_count++] =
			(struct latency_sample){(uint32_t)from, (uint32_t)to, (float)event->pairs[i].rtt_us};
	}
	return 0;
}

/* Returns the journal line of a decision; the caller frees it. */
static char *decision_text(const struct journal_event *event)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = text_stream_open(&text, &bytes);

	if (out) {
		journal_print(out, event);
		fclose(out);
	}
	return text;
}

static void compare(struct replay *replay, const struct journal_event *event)
{
	struct live_replayed *replayed = replay->replayed;
	struct journal_event again;
	const struct live_decision *made;
	char *recorded_text, *made_text;
	size_t count;

	if (!replay->live) {
		replayed->left_out++;
		return;
	}
	replayed->recorded++;
	made = live_decisions(replay->live, event->sequence > 0 ? event->sequence - 1 : 0, &count);
	if (count > 0)
		live_decision_event(made, event->time_us, &again);
	recorded_text = decision_text(event);
	made_text = count > 0 ? decision_text(&again) : NULL;
	if (made_text && replay->made)
		fputs(made_text, replay->made);
	if (!made_text || !recorded_text || strcmp(made_text, recorded_text) != 0) {
		if (replayed->unmade++ == 0)
			snprintf(replayed->first, sizeof replayed->first, "recorded %.200s made     %.200s",
				 recorded_text ? recorded_text : "", made_text ? made_text : "nothing\n");
	}
	free(recorded_text);
	free(made_text);
}

static int take_event(struct replay *replay, const struct journal_event *event, struct error *err)
{
	json_t *call;
	int code = replay->live ? replay_performance_sample(replay->performance, replay->live, event->time_us) : 0;

	if (code < 0)
		return live_out_of_memory(err);
	if (event->kind == JOURNAL_DECISION)
		compare(replay, event);
	if (event->kind == JOURNAL_LATENCY && replay->live)
		return keep_samples(replay, event, err);
	if (event->kind != JOURNAL_CALL)
		return 0;
	replay->replayed->calls++;
	call = json_loads(event->definition, 0, NULL);
	replay->json = (struct json_reader){
		.file = file_lines_name(replay->lines), .line = file_lines_number(replay->lines), .err = err};
	code = call ? take_call(replay, call, err) : -ENOMEM;
	json_decref(call);
	return code;
}

int live_replay(struct file_lines *lines, FILE *made, struct live_replayed *replayed, struct error *err)
{
	struct replay replay = {
		.lines = lines, .replayed = replayed, .made = made, .performance = replay_performance_create()};
	struct journal_reader *reader = journal_reader_create(lines, err);
	struct journal_event event;
	int code = reader ? 0 : error_code(err, EINVAL);

	*replayed = (struct live_replayed){0};
	if (code == 0 && !replay.performance)
		code = live_out_of_memory(err);
	while (code == 0 && (code = journal_next(reader, &event, err)) == 1) {
		code = take_event(&replay, &event, err);
		if (code < 0 && !replay.json.failed)
			error_prefix(err, "%s:%ld", file_lines_name(lines), file_lines_number(lines));
	}
	end_segment(&replay);
	if (replay.performance)
		replay_performance_end(replay.performance, replayed);
	free(replay.samples);
	journal_reader_destroy(reader);
	return code;
}
