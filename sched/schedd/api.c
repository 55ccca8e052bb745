/* SPDX-License-Identifier: BSD-3-Clause */
/* The requests of the API; see schedd.h. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <base/array.h>
#include <base/file.h>
#include <base/json.h>

#include "schedd_priv.h"

enum { CANDIDATES = 10, DECISIONS_MOST = 1000 };
#define POLL_S 25

static bool is_admin(const struct serve_call *call)
{
	return call->remote || call->uid == 0 || call->uid == geteuid();
}

static void reply_json(struct schedd *schedd, struct serve_call *call, unsigned status, json_t *value)
{
	char *text = value ? json_dumps(value, 0) : NULL;

	json_decref(value);
	schedd_reply(schedd, call, text ? status : 500, text ? text : strdup("{\"error\": \"out of memory\"}"));
}

static bool need_admin(struct serve_call *call)
{
	struct error err = {0};

	if (is_admin(call))
		return true;
	error_set(&err, EPERM, "only root and the daemon's user may do this");
	serve_reply_error(call, &err);
	return false;
}

static json_t *number_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static const char *machine_name(const struct schedd *schedd, int32_t machine)
{
	return machine < 0 ? NULL : live_cluster(schedd->live)->machines[machine].name;
}

static json_t *task_json(const struct schedd *schedd, const struct live_task *task, double now_s)
{
	return json_pack("{s:s, s:s, s:s?, s:s?, s:f, s:I}", "name", task->name, "state",
			 live_task_state_name(task->state), "machine", machine_name(schedd, task->machine), "from",
			 machine_name(schedd, task->origin), "since_s", fmax(0, now_s - task->since_s), "attempts",
			 (json_int_t)task->attempts);
}

static json_t *job_json(const struct schedd *schedd, const struct live_job *job, bool with_tasks)
{
	json_t *root, *tasks = json_array();
	double now_s = schedd_now_s(schedd);
	uint32_t counts[LIVE_FAILED + 1] = {0};

	for (uint32_t t = 0; t < job->task_count; t++) {
		counts[job->tasks[t].state]++;
		if (with_tasks)
			json_array_append_new(tasks, task_json(schedd, &job->tasks[t], now_s));
	}
	root = json_pack("{s:s, s:s, s:I, s:b, s:f}", "id", job->id, "curve", job->curve, "owner",
			 (json_int_t)job->owner, "move", job->may_move, "age_s", now_s - job->arrived_s);
	for (int s = 0; root && s <= LIVE_FAILED; s++)
		json_object_set_new(root, live_task_state_name((enum live_task_state)s), json_integer(counts[s]));
	if (root && with_tasks)
		json_object_set_new(root, "tasks", tasks);
	else
		json_decref(tasks);
	return root;
}

static void get_jobs(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	const struct live_job *job = call->tail[0] ? live_find_job(schedd->live, call->tail) : NULL;
	struct live_job *const *jobs;
	struct error err = {0};
	json_t *list;
	uint32_t count;

	if (job) {
		reply_json(schedd, call, 200, job_json(schedd, job, true));
		return;
	}
	if (call->tail[0]) {
		error_set(&err, ENOENT, "unknown job '%s'", call->tail);
		serve_reply_error(call, &err);
		return;
	}
	jobs = live_jobs(schedd->live, &count);
	list = json_array();
	for (uint32_t j = 0; j < count; j++)
		if (jobs[j])
			json_array_append_new(list, job_json(schedd, jobs[j], false));
	reply_json(schedd, call, 200, json_pack("{s:s, s:o}", "schema", "nomora.jobs/1", "jobs", list));
}

/* One line of the body: a new job, the same again, or an error. Returns the status. */
static unsigned submit_line(struct schedd *schedd, struct serve_call *call, const char *line, const struct job *job,
			    json_t *answers)
{
	bool move = serve_query(call, "move") && strcmp(serve_query(call, "move"), "1") == 0;
	char *known = store_job_line(schedd->store, job->id);
	struct error err = {0};
	unsigned status = 201;
	int code = 0;

	for (uint32_t t = 0; t < job->task_count && code == 0; t++)
		if (job->tasks[t].machine_name && !is_admin(call))
			code = error_set(&err, EPERM,
					 "task '%s' has a machine; only root and the daemon's user adopt running tasks",
					 job->tasks[t].name);
	if (known && strcmp(known, line) == 0)
		status = 200;
	else if (known)
		code = error_set(&err, EEXIST, "job '%s' exists with another description", job->id);
	else if (code == 0)
		code = live_submit(schedd->live, job, call->uid, move, schedd_now_s(schedd), &err);
	free(known);
	if (code < 0)
		status = code == -EEXIST ? 409 : code == -EPERM ? 403 : 400;
	else if (status == 201)
		store_put_job(schedd->store, job->id, line, call->uid, move);
	json_array_append_new(answers, code < 0 ? json_pack("{s:s, s:i, s:s}", "id", job->id, "status", (int)status,
							    "error", err.text)
						: json_pack("{s:s, s:i}", "id", job->id, "status", (int)status));
	return status;
}

/* Lines are parsed one by one, so that each is kept as it was sent. */
static unsigned submit_lines(struct schedd *schedd, struct serve_call *call, json_t *answers, struct error *err)
{
	struct file_lines *lines = file_lines_from_memory("body", call->body, call->body_bytes);
	unsigned worst = 200;
	char *line;
	int code = lines ? 0 : error_set(err, ENOMEM, "out of memory");

	while (code == 0 && (code = file_lines_next(lines, &line, err)) == 1) {
		struct file_lines *one = file_lines_from_memory("body", line, strlen(line));
		char *copy = strdup(line);
		struct jobs *jobs = one && copy ? jobs_parse(one, err) : NULL;

		code = jobs ? jobs_resolve(jobs, live_cluster(schedd->live), err) : error_code(err, ENOMEM);
		for (size_t j = 0; code == 0 && j < jobs->count; j++) {
			unsigned status = submit_line(schedd, call, copy, &jobs->items[j], answers);

			worst = status > worst ? status : worst;
		}
		jobs_destroy(jobs);
		file_lines_close(one);
		free(copy);
	}
	file_lines_close(lines);
	return code < 0 ? 400 : worst;
}

static void post_jobs(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	json_t *answers = json_array(), *root;
	struct error err = {0};
	unsigned status = submit_lines(schedd, call, answers, &err);

	if (status < 400 && json_array_size(answers) == 0) {
		status = 400;
		error_set(&err, EINVAL, "the body is empty; expected lines of jobs.jsonl");
	}
	root = json_pack("{s:o}", "jobs", answers);
	if (err.text[0])
		json_object_set_new(root, "error", json_string(err.text));
	reply_json(schedd, call, status, root);
}

static void delete_job(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	const struct live_job *job = live_find_job(schedd->live, call->tail);
	struct error err = {0};

	if (job && !is_admin(call) && job->owner != call->uid)
		error_set(&err, EPERM, "job '%s' belongs to another user", call->tail);
	else
		live_cancel(schedd->live, call->tail, &err);
	if (err.code)
		serve_reply_error(call, &err);
	else
		reply_json(schedd, call, 200, json_pack("{s:s}", "cancelled", call->tail));
}

static void get_machines(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	const struct cluster *cluster = live_cluster(schedd->live);
	json_t *list = json_array();

	for (uint32_t m = 0; m < cluster->machine_count; m++) {
		const struct cluster_machine *machine = &cluster->machines[m];

		if (machine->name)
			json_array_append_new(
				list, json_pack("{s:s, s:s, s:s, s:I, s:I, s:s}", "name", machine->name, "rack",
						cluster->racks[machine->rack].name, "pod",
						cluster->pods[cluster->racks[machine->rack].pod], "slots",
						(json_int_t)machine->slots, "tasks",
						(json_int_t)live_machine_tasks(schedd->live, m), "state",
						live_machine_state_name(live_machine_state_of(schedd->live, m))));
	}
	reply_json(schedd, call, 200, json_pack("{s:s, s:o}", "schema", "nomora.machines/1", "machines", list));
}

/* Fields that the body lacks stay what they are. */
static int set_machine(struct schedd *schedd, const char *name, const json_t *body, struct json_reader *reader)
{
	static const char *const keys[] = {"rack", "pod", "slots", "state", NULL};
	const struct cluster *cluster = live_cluster(schedd->live);
	int64_t number = cluster_find_machine(cluster, name);
	const struct cluster_machine *known = number < 0 ? NULL : &cluster->machines[number];
	char *rack, *pod;
	const char *state;
	int64_t slots;
	int code = -EINVAL;

	json_need_known(reader, body, "", keys);
	if (!known && !json_object_get(body, "slots"))
		return error_set(reader->err, ENOENT, "unknown machine '%s'; a new one needs \"slots\"", name);
	rack = strdup(json_may_string(reader, body, "", "rack", known ? cluster->racks[known->rack].name : ""));
	pod = strdup(
		json_may_string(reader, body, "", "pod", known ? cluster->pods[cluster->racks[known->rack].pod] : ""));
	slots = known ? json_may_integer(reader, body, "", "slots", 0, CLUSTER_SLOTS_MAXIMUM, known->slots)
		      : json_need_integer(reader, body, "", "slots", 0, CLUSTER_SLOTS_MAXIMUM);
	state = json_may_string(
		reader, body, "", "state",
		live_machine_state_name(known ? live_machine_state_of(schedd->live, (uint32_t)number) : LIVE_UP));
	if (!reader->failed && live_machine_state_find(state) < 0)
		json_fail(reader, "", "state", "unknown state '%s'; expected up, draining or down", state);
	if (!reader->failed && rack && pod)
		code = live_machine_set(schedd->live, name, rack[0] ? rack : "default", pod, (uint32_t)slots,
					(enum live_machine_state)live_machine_state_find(state), reader->err);
	if (code == 0)
		store_put_machine(schedd->store, name, rack[0] ? rack : "default", pod, (uint32_t)slots, state);
	free(rack);
	free(pod);
	return code;
}

static void put_machine(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	struct error err = {0};
	struct json_reader reader = {.file = "body", .err = &err};
	json_t *body;

	if (!need_admin(call))
		return;
	body = json_read_text("body", 0, call->body, call->body_bytes, &err);
	if (!body || set_machine(schedd, call->tail, body, &reader) < 0)
		serve_reply_error(call, &err);
	else
		reply_json(schedd, call, 200, json_pack("{s:s}", "machine", call->tail));
	json_decref(body);
}

static void delete_machine(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	struct error err = {0};

	if (!need_admin(call))
		return;
	if (live_machine_remove(schedd->live, call->tail, &err) < 0) {
		serve_reply_error(call, &err);
		return;
	}
	store_remove_machine(schedd->store, call->tail);
	reply_json(schedd, call, 200, json_pack("{s:s}", "removed", call->tail));
}

static void put_curve(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	struct error err = {0};
	struct curve *curve;

	if (!need_admin(call))
		return;
	curve = curve_from_memory("body", call->body, call->body_bytes, &err);
	if (!curve || live_curve_set(schedd->live, call->tail, curve, &err) < 0) {
		serve_reply_error(call, &err);
	} else {
		store_put_curve(schedd->store, call->tail, call->body);
		reply_json(schedd, call, 200, json_pack("{s:s}", "curve", call->tail));
	}
	curve_destroy(curve);
}

static json_t *decision_json(const struct live_decision *decision)
{
	json_t *root = json_pack("{s:I, s:s, s:s, s:s, s:s?, s:s, s:b}", "sequence", (json_int_t)decision->sequence,
				 "kind", live_decision_kind_name(decision->kind), "job", decision->job, "task",
				 decision->task, "from", decision->from, "to", decision->to, "root", decision->is_root);

	if (!root || decision->is_root)
		return root;
	json_object_set_new(root, "rtt_us", number_or_null(decision->rtt_us));
	json_object_set_new(root, "performance", number_or_null(decision->performance));
	json_object_set_new(root, "origin", json_string(latency_origin_name(decision->origin)));
	json_object_set_new(root, "measured", number_or_null(decision->measured));
	if (decision->kind != LIVE_PLACE)
		json_object_set_new(root, "gain", number_or_null(decision->gain));
	return root;
}

char *schedd_decisions_text(const struct schedd *schedd, uint64_t after)
{
	size_t count;
	const struct live_decision *decisions = live_decisions(schedd->live, after, &count);
	json_t *list = json_array(), *root;
	char *text;

	for (size_t d = 0; d < count && d < DECISIONS_MOST; d++)
		json_array_append_new(list, decision_json(&decisions[d]));
	root = json_pack("{s:s, s:I, s:o}", "schema", "nomora.decisions/1", "last",
			 (json_int_t)live_last_decision(schedd->live), "decisions", list);
	text = root ? json_dumps(root, 0) : NULL;
	json_decref(root);
	return text;
}

static void get_decisions(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	const char *after_text = serve_query(call, "after");
	uint64_t after = after_text ? strtoull(after_text, NULL, 10) : 0;
	struct poll_call *polls;

	if (!serve_query(call, "wait") || live_last_decision(schedd->live) > after) {
		schedd_reply(schedd, call, 200, schedd_decisions_text(schedd, after));
		return;
	}
	polls = array_grow(schedd->polls, schedd->poll_count, &schedd->poll_capacity, sizeof *polls);
	if (!polls) {
		schedd_reply(schedd, call, 503, strdup("{\"error\": \"out of memory\"}"));
		return;
	}
	schedd->polls = polls;
	polls[schedd->poll_count++] =
		(struct poll_call){.call = call, .after = after, .until_s = schedd_now_s(schedd) + POLL_S};
}

static int take_event(struct schedd *schedd, const json_t *object, struct json_reader *reader)
{
	static const char *const keys[] = {"event", "job", "task", "machine", NULL};
	const char *event, *job, *task, *machine;
	double now_s = schedd_now_s(schedd);

	json_need_known(reader, object, "", keys);
	event = json_need_string(reader, object, "", "event");
	job = json_need_string(reader, object, "", "job");
	task = json_need_string(reader, object, "", "task");
	machine = json_may_string(reader, object, "", "machine", "");
	if (reader->failed)
		return -EINVAL;
	if (strcmp(event, "started") == 0)
		return live_started(schedd->live, job, task, machine, now_s, reader->err);
	if (strcmp(event, "ended") == 0)
		return live_ended(schedd->live, job, task, reader->err);
	if (strcmp(event, "failed") == 0)
		return live_failed(schedd->live, job, task, now_s, reader->err);
	json_fail(reader, "", "event", "unknown event '%s'; expected started, ended or failed", event);
	return -EINVAL;
}

/* Lines before a bad one count. */
static void post_events(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	struct file_lines *lines;
	struct error err = {0};
	json_int_t taken = 0;
	char *line;
	int code = 0;

	if (!need_admin(call))
		return;
	lines = file_lines_from_memory("body", call->body, call->body_bytes);
	while (lines && code == 0 && (code = file_lines_next(lines, &line, &err)) == 1) {
		struct json_reader reader = {.file = "body", .line = file_lines_number(lines), .err = &err};
		json_t *object = json_read_text("body", reader.line, line, strlen(line), &err);

		code = object ? take_event(schedd, object, &reader) : -EINVAL;
		taken += code == 0;
		json_decref(object);
	}
	file_lines_close(lines);
	reply_json(schedd, call, code < 0 ? (err.code == ENOENT ? 404 : 400) : 200,
		   code < 0 ? json_pack("{s:I, s:s}", "taken", taken, "error", err.text)
			    : json_pack("{s:I}", "taken", taken));
}

static json_t *candidate_json(const struct schedd *schedd, const struct live_candidate *candidate)
{
	return json_pack("{s:s, s:o, s:o, s:s, s:I, s:b}", "machine", machine_name(schedd, (int32_t)candidate->machine),
			 "rtt_us", number_or_null(candidate->rtt_us), "performance",
			 number_or_null(candidate->performance), "origin", latency_origin_name(candidate->origin),
			 "free_slots", (json_int_t)candidate->free_slots, "here", candidate->is_here);
}

static void get_explain(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	char job[256], why[160] = "";
	const char *slash = strrchr(call->tail, '/');
	struct live_candidate candidates[CANDIDATES];
	struct error err = {0};
	json_t *list;
	int count;

	if (!slash || (size_t)(slash - call->tail) >= sizeof job) {
		error_set(&err, EINVAL, "expected /v1/explain/JOB/TASK");
		serve_reply_error(call, &err);
		return;
	}
	snprintf(job, sizeof job, "%.*s", (int)(slash - call->tail), call->tail);
	count = live_explain(schedd->live, job, slash + 1, candidates, CANDIDATES, why, &err);
	if (count < 0) {
		serve_reply_error(call, &err);
		return;
	}
	list = json_array();
	for (int c = 0; c < count; c++)
		json_array_append_new(list, candidate_json(schedd, &candidates[c]));
	reply_json(schedd, call, 200,
		   json_pack("{s:s, s:s, s:s, s:s, s:o}", "schema", "nomora.explain/1", "job", job, "task", slash + 1,
			     "why", why, "candidates", list));
}

static void get_curves(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	json_t *list = json_array();

	for (size_t c = 0; live_curve_name(schedd->live, c); c++)
		if (live_curve_name(schedd->live, c)[0])
			json_array_append_new(list, json_string(live_curve_name(schedd->live, c)));
	reply_json(schedd, call, 200, json_pack("{s:o}", "curves", list));
}

static void get_metrics(void *context, struct serve_call *call)
{
	char *text = schedd_metrics_text(context);

	serve_reply(call, text ? 200 : 500, "text/plain; version=0.0.4; charset=utf-8", text ? text : "",
		    text ? strlen(text) : 0);
	free(text);
}

static void get_health(void *context, struct serve_call *call)
{
	const struct schedd *schedd = context;
	const char *text = schedd->trouble[0] ? schedd->trouble : "ok\n";

	serve_reply(call, schedd->trouble[0] ? 503 : 200, "text/plain", text, strlen(text));
}

const struct serve_route schedd_routes[] = {
	{"GET", "/v1/jobs", get_jobs},           {"POST", "/v1/jobs", post_jobs},
	{"DELETE", "/v1/jobs", delete_job},      {"GET", "/v1/machines", get_machines},
	{"PUT", "/v1/machines", put_machine},    {"DELETE", "/v1/machines", delete_machine},
	{"GET", "/v1/curves", get_curves},       {"PUT", "/v1/curves", put_curve},
	{"GET", "/v1/decisions", get_decisions}, {"POST", "/v1/events", post_events},
	{"GET", "/v1/explain", get_explain},     {"GET", "/metrics", get_metrics},
	{"GET", "/healthz", get_health},         {NULL, NULL, NULL},
};
