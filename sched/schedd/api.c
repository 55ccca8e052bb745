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

static json_t *task_json(const struct schedd *schedd, const struct live_task *task, double now_s)
{
	return json_pack("{s:s, s:s, s:s?, s:s?, s:f, s:I}", "name", task->name, "state",
			 live_task_state_name(task->state), "machine", schedd_machine_name(schedd, task->machine),
			 "from", schedd_machine_name(schedd, task->origin), "since_s", fmax(0, now_s - task->since_s),
			 "attempts", (json_int_t)task->attempts);
}

/* The command in the job's line, for an executor; NULL if it has none. */
static json_t *command_of(const struct schedd *schedd, const struct live_job *job)
{
	char *line = store_job_line(schedd->store, job->id);
	json_t *object = line ? json_loads(line, 0, NULL) : NULL, *command = json_object_get(object, "command");

	json_incref(command);
	json_decref(object);
	free(line);
	return command;
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
		json_object_update_new(root, json_pack("{s:O, s:s, s:o*}", "tasks", tasks, "root",
						       job->tasks[job->root].name, "command", command_of(schedd, job)));
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
		schedd_reply_json(schedd, call, 200, job_json(schedd, job, true));
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
	schedd_reply_json(schedd, call, 200, json_pack("{s:s, s:o}", "schema", "nomora.jobs/1", "jobs", list));
}

static void delete_job(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	const struct live_job *job = live_find_job(schedd->live, call->tail);
	struct error err = {0};

	if (job && !schedd_is_admin(schedd, call) && job->owner != call->uid)
		error_set(&err, EPERM, "job '%s' belongs to another user", call->tail);
	else
		live_cancel(schedd->live, call->tail, &err);
	if (err.code)
		serve_reply_error(call, &err);
	else
		schedd_reply_json(schedd, call, 200, json_pack("{s:s}", "cancelled", call->tail));
}

/* True if the machine may have changed after a version of which the client has all machines. */
static bool is_newer(const struct schedd *schedd, uint32_t machine, uint64_t since)
{
	return machine < schedd->machine_versions_capacity && schedd->machine_versions[machine] > since;
}

static void get_machines(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	const struct cluster *cluster = live_cluster(schedd->live);
	const char *rack = serve_query(call, "rack"), *text = serve_query(call, "since");
	uint64_t since = text ? strtoull(text, NULL, 10) : 0;
	bool whole = since < schedd->whole_since || since > schedd->machine_version;
	json_t *list = json_array();

	for (uint32_t m = 0; m < cluster->machine_count; m++) {
		const struct cluster_machine *machine = &cluster->machines[m];

		if (machine->name && (whole || is_newer(schedd, m, since)) &&
		    (!rack || strcmp(rack, cluster->racks[machine->rack].name) == 0))
			json_array_append_new(
				list, json_pack("{s:s, s:s, s:s, s:I, s:I, s:s}", "name", machine->name, "rack",
						cluster->racks[machine->rack].name, "pod",
						cluster->pods[cluster->racks[machine->rack].pod], "slots",
						(json_int_t)machine->slots, "tasks",
						(json_int_t)live_machine_tasks(schedd->live, m), "state",
						live_machine_state_name(live_machine_state_of(schedd->live, m))));
	}
	schedd_reply_json(schedd, call, 200,
			  json_pack("{s:s, s:I, s:b, s:o}", "schema", "nomora.machines/1", "version",
				    (json_int_t)schedd->machine_version, "whole", whole, "machines", list));
}

/* Adds or changes a machine. Fields of a known machine that the body lacks keep their values. */
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
		code = schedd_changed(
			schedd, live_machine_set(schedd->live, name, rack[0] ? rack : "default", pod, (uint32_t)slots,
						 (enum live_machine_state)live_machine_state_find(state), reader->err));
	if (code == 0)
		schedd_keep_machine(schedd, (uint32_t)cluster_find_machine(cluster, name));
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

	if (!schedd_need_admin(schedd, call))
		return;
	body = json_read_text("body", 0, call->body, call->body_bytes, &err);
	if (!body || set_machine(schedd, call->tail, body, &reader) < 0)
		serve_reply_error(call, &err);
	else
		schedd_reply_json(schedd, call, 200, json_pack("{s:s}", "machine", call->tail));
	json_decref(body);
}

static void delete_machine(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	const struct cluster *cluster = live_cluster(schedd->live);
	int64_t number = cluster_find_machine(cluster, call->tail);
	struct error err = {0};
	char *rack;

	if (!schedd_need_admin(schedd, call))
		return;
	/* A copy, because the name of a rack is gone with its last machine. */
	rack = strdup(number < 0 ? "" : cluster->racks[cluster->machines[number].rack].name);
	if (!rack)
		error_set(&err, ENOMEM, "out of memory");
	if (!rack || schedd_changed(schedd, live_machine_remove(schedd->live, call->tail, &err)) < 0) {
		serve_reply_error(call, &err);
	} else {
		store_remove_machine(schedd->store, call->tail);
		schedd_renew_machines(schedd);
		record_machine_removed(schedd->record, call->tail, rack);
		schedd_reply_json(schedd, call, 200, json_pack("{s:s}", "removed", call->tail));
	}
	free(rack);
}

static void put_curve(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	struct error err = {0};
	struct curve *curve;

	if (!schedd_need_admin(schedd, call))
		return;
	curve = curve_from_memory("body", call->body, call->body_bytes, &err);
	if (!curve || schedd_changed(schedd, live_curve_set(schedd->live, call->tail, curve, &err)) < 0) {
		serve_reply_error(call, &err);
	} else {
		store_put_curve(schedd->store, call->tail, call->body);
		record_curve(schedd->record, call->tail, live_curve_text(schedd->live, call->tail));
		schedd_reply_json(schedd, call, 200, json_pack("{s:s}", "curve", call->tail));
	}
	curve_destroy(curve);
}

static void get_curves(void *context, struct serve_call *call)
{
	struct schedd *schedd = context;
	json_t *list = json_array();

	for (size_t c = 0; live_curve_name(schedd->live, c); c++)
		if (live_curve_name(schedd->live, c)[0])
			json_array_append_new(list, json_string(live_curve_name(schedd->live, c)));
	schedd_reply_json(schedd, call, 200, json_pack("{s:o}", "curves", list));
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
	{"GET", "/v1/jobs", get_jobs},
	{"POST", "/v1/jobs", schedd_post_jobs},
	{"DELETE", "/v1/jobs", delete_job},
	{"GET", "/v1/machines", get_machines},
	{"PUT", "/v1/machines", put_machine},
	{"DELETE", "/v1/machines", delete_machine},
	{"GET", "/v1/curves", get_curves},
	{"PUT", "/v1/curves", put_curve},
	{"GET", "/v1/decisions", schedd_get_decisions},
	{"POST", "/v1/events", schedd_post_events},
	{"POST", "/v1/flows", schedd_post_flows},
	{"GET", "/v1/explain", schedd_get_explain},
	{"GET", "/v1/recovery", schedd_get_recovery},
	{"POST", "/v1/what-if", schedd_post_what_if},
	{"POST", "/v1/changes", schedd_post_changes},
	{"GET", "/v1/journal", schedd_get_journal},
	{"GET", "/v1/overview", schedd_get_overview},
	{"GET", "/v1/openapi.json", schedd_get_openapi},
	{"GET", "/", schedd_get_page},
	{"GET", "/metrics", get_metrics},
	{"GET", "/healthz", get_health},
	{NULL, NULL, NULL},
};
