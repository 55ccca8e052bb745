/* SPDX-License-Identifier: BSD-3-Clause */
/* Updates schedd according to the nodes and pods that watch.c has received. */
#include <integrations/kubernetes/agent.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <base/log.h>
#include <base/ns.h>
#include <client/request.h>

#include "objects.h"
#include "watch.h"

#define ID_PREFIX "k8s-"
/* TURN_MS: maximum time to wait for news from the API server before a turn, in milliseconds. */
enum { TURN_MS = 100, PATH_BYTES = 1024, SUBMIT_MS = 60000 };
#define RETRY_S 1 /* seconds between attempts while schedd does not answer */
/* Seconds between submissions of a job, of which each has all of its pods: most pods of a job are bound together. */
#define RESUBMIT_S 1

struct agent {
	struct k8s_agent_options options;
	struct k8s_objects objects;
	struct k8s_watches *watches;
	json_t *jobs;    /* jobs as last sent to schedd; NULL: nothing sent yet */
	json_t *nodes;   /* names of the nodes that were sent to schedd */
	json_t *refused; /* jobs that schedd refused, as they were sent */
	json_t *sent;    /* id of a job -> when it was last submitted, in ns on the monotonic clock */
	struct ns next_sync;
	bool api_down, schedd_down; /* the server does not answer, and this was logged */
};

/* True if schedd does not answer. If schedd refuses one job or machine, the agent still sends the others. */
static bool is_lost(int code)
{
	return code == -ENOTCONN || code == -EIO;
}

static int ask(const struct agent *agent, const char *method, const char *kind, const char *name, json_t *body,
	       struct error *err)
{
	char path[PATH_BYTES], *text = body ? json_dumps(body, 0) : NULL;
	json_t *answer = NULL;
	int code;

	snprintf(path, sizeof path, "/v1/%s/%s", kind, name);
	code = client_ask(agent->options.schedd, method, path, text, &answer, err);
	json_decref(answer);
	json_decref(body);
	free(text);
	return code;
}

/*
 * Gets the array `kind` from schedd and returns an object that maps the member `key` of each element to the element;
 * the caller json_decref()s it. Returns NULL with err set on failure.
 */
static json_t *read_table(const struct agent *agent, const char *kind, const char *key, struct error *err)
{
	char path[PATH_BYTES];
	json_t *answer = NULL, *table = json_object(), *entry;
	size_t at;

	snprintf(path, sizeof path, "/v1/%s", kind);
	if (client_ask(agent->options.schedd, "GET", path, NULL, &answer, err) < 0) {
		json_decref(table);
		return NULL;
	}
	json_array_foreach (json_object_get(answer, kind), at, entry)
		json_object_set(table, json_string_value(json_object_get(entry, key)), entry);
	json_decref(answer);
	return table;
}

static int set_machine(const struct agent *agent, const char *name, const json_t *node, const json_t *known,
		       struct error *err)
{
	json_t *body = json_copy((json_t *)node);
	const char *rack = json_string_value(json_object_get(body, "rack"));

	if (known && json_equal(json_object_get(known, "slots"), json_object_get(node, "slots")) &&
	    json_equal(json_object_get(known, "state"), json_object_get(node, "state"))) {
		json_decref(body);
		return 0;
	}
	if (known || !rack || !rack[0]) /* the rack of an existing machine cannot change */
		json_object_del(body, "rack");
	return ask(agent, "PUT", "machines", name, body, err);
}

/*
 * Updates the machines in schedd, and removes those whose node was deleted. schedd refuses to remove a machine that has
 * tasks; the agent then tries again at the next call.
 */
static int sync_machines(struct agent *agent, struct error *err)
{
	const json_t *wanted = agent->objects.tables[K8S_NODES], *node;
	json_t *known = read_table(agent, "machines", "name", err);
	const char *name;
	void *next;
	int code = known ? 0 : error_code(err, EIO);

	json_object_foreach ((json_t *)wanted, name, node) {
		struct error reason = {0};

		if (is_lost(code))
			break;
		code = set_machine(agent, name, node, json_object_get(known, name), &reason);
		if (is_lost(code))
			error_set(err, -code, "%s", reason.text);
		else if (code < 0)
			log_warning("node %s: %s", name, reason.text);
		json_object_set_new(agent->nodes, name, json_true());
	}
	json_object_foreach_safe(agent->nodes, next, name, node)
	{
		if (is_lost(code) || json_object_get(wanted, name))
			continue;
		if (!json_object_get(known, name) || ask(agent, "DELETE", "machines", name, NULL, NULL) == 0)
			json_object_del(agent->nodes, name);
	}
	json_decref(known);
	return is_lost(code) ? code : 0;
}

/* Returns a line of jobs.jsonl, made from an entry of k8s_objects_jobs(). */
static json_t *job_line(const char *id, const json_t *job)
{
	const char *root = json_string_value(json_object_get(job, "root")), *task;
	json_t *tasks = json_array(), *machine;
	int at = 0, root_at = 0;

	json_object_foreach (json_object_get(job, "tasks"), task, machine) {
		if (strcmp(task, root) == 0)
			root_at = at;
		json_array_append_new(tasks, json_pack("{s:s, s:O}", "name", task, "machine", machine));
		at++;
	}
	return json_pack("{s:s, s:O, s:i, s:o}", "id", id, "curve", json_object_get(job, "curve"), "root", root_at,
			 "tasks", tasks);
}

/* Appends an event to the lines for POST /v1/events. */
static void add_ended(FILE *out, const char *id, const char *task, const json_t *machine)
{
	json_t *event =
		json_pack("{s:s, s:s, s:s, s:O}", "event", "ended", "job", id, "task", task, "machine", machine);
	char *line = event ? json_dumps(event, 0) : NULL;

	if (line)
		fprintf(out, "%s\n", line);
	free(line);
	json_decref(event);
}

/*
 * Reports the tasks that have ended since the job was sent as `before`; NULL: it was sent now, with all tasks that it
 * has.
 */
static int report_ended(const struct agent *agent, const char *id, const json_t *job, const json_t *before,
			struct error *err)
{
	const json_t *tasks = json_object_get(job, "tasks"), *machine;
	const char *root = json_string_value(json_object_get(job, "root")), *task;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	json_t *answer = NULL;
	int code;

	if (!out)
		return error_set(err, ENOMEM, "out of memory");
	json_object_foreach (json_object_get(before, "tasks"), task, machine)
		if (!json_object_get(tasks, task))
			add_ended(out, id, task, machine);
	if (json_object_get(job, "root_ended") && !json_object_get(before, "root_ended"))
		add_ended(out, id, root, json_object_get(tasks, root));
	code = fclose(out) == 0 ? 0 : error_set(err, ENOMEM, "out of memory");
	if (code == 0 && bytes > 0)
		code = client_ask(agent->options.schedd, "POST", "/v1/events", text, &answer, err);
	json_decref(answer);
	free(text);
	return code;
}

static int submit(const struct agent *agent, const char *id, const json_t *job, struct error *err)
{
	json_t *line = job_line(id, job);
	char *text = line ? json_dumps(line, 0) : NULL;
	int code = text ? client_submit(agent->options.schedd, text, SUBMIT_MS, err)
			: error_set(err, ENOMEM, "out of memory");

	free(text);
	json_decref(line);
	json_object_set_new(agent->sent, id, json_integer(ns_now_monotonic().v));
	return code < 0 ? code : report_ended(agent, id, job, NULL, err);
}

static int forget(const struct agent *agent, const char *id, struct error *err)
{
	struct error reason = {0};
	int code = ask(agent, "DELETE", "jobs", id, NULL, &reason);

	json_object_del(agent->sent, id);
	return code == 0 || code == -ENOENT ? 0 : error_set(err, -code, "%s", reason.text);
}

/* Number of the job's tasks that run. */
static json_int_t alive(const json_t *job)
{
	return (json_int_t)json_object_size(json_object_get(job, "tasks")) -
	       (json_object_get(job, "root_ended") != NULL);
}

/* True if all tasks of the job are tasks of `before` that have not ended, on the same machines. */
static bool has_only_ended(const json_t *job, const json_t *before)
{
	const json_t *tasks = json_object_get(before, "tasks"), *machine;
	const char *task;

	if (!json_equal(json_object_get(job, "root"), json_object_get(before, "root")) ||
	    !json_equal(json_object_get(job, "curve"), json_object_get(before, "curve")) ||
	    (json_object_get(before, "root_ended") && !json_object_get(job, "root_ended")))
		return false;
	json_object_foreach (json_object_get(job, "tasks"), task, machine)
		if (!json_equal(machine, json_object_get(tasks, task)))
			return false;
	return true;
}

/* Removes a job from schedd and submits it again, with all of its pods. */
static int replace_job(struct agent *agent, const char *id, json_t *job, struct error *err)
{
	struct error reason = {0};
	int code = forget(agent, id, &reason);

	if (code == 0)
		code = submit(agent, id, job, &reason);
	if (is_lost(code))
		return error_set(err, -code, "%s", reason.text);
	if (code == 0) {
		json_object_del(agent->refused, id);
		return 0;
	}
	if (!json_equal(job, json_object_get(agent->refused, id)))
		log_warning("job %s: %s", id, reason.text);
	json_object_set(agent->refused, id, job);
	return 0;
}

/*
 * Updates a job whose pods have changed since it was sent as `before`. A job in schedd cannot get further tasks: it is
 * submitted again, but at most once in RESUBMIT_S. Until then it stays as it is, and *job becomes `before`.
 */
static int update_job(struct agent *agent, const char *id, json_t **job, json_t *before, const json_t *counts,
		      struct error *err)
{
	bool in_step = before && counts && json_integer_value(json_object_get(counts, "running")) == alive(before);
	json_int_t sent = json_integer_value(json_object_get(agent->sent, id));

	if (in_step && has_only_ended(*job, before)) {
		int code = report_ended(agent, id, *job, before, err);

		if (code == 0 || is_lost(code))
			return code;
	}
	if (in_step && ns_now_monotonic().v - sent < ns_from_us(RESUBMIT_S * 1e6).v) {
		agent->objects.changed = true;
		*job = before;
		return 0;
	}
	return replace_job(agent, id, *job, err);
}

/*
 * True if the job is as it was last sent to schedd, and all its tasks there run, except those that have ended. `counts`
 * is the job's entry in GET /v1/jobs.
 */
static bool has_job(const struct agent *agent, const char *id, const json_t *job, const json_t *counts)
{
	return json_equal(job, json_object_get(agent->jobs, id)) &&
	       json_integer_value(json_object_get(counts, "running")) == alive(job);
}

/* Updates one job; `counts` is its entry in GET /v1/jobs. Changes *job to what schedd has now. */
static int sync_job(struct agent *agent, const char *id, json_t **job, const json_t *counts, bool everything,
		    struct error *err)
{
	if (has_job(agent, id, *job, counts) || (!everything && json_equal(*job, json_object_get(agent->refused, id))))
		return 0;
	return update_job(agent, id, job, json_object_get(agent->jobs, id), counts, err);
}

/*
 * Updates the jobs in schedd. A job that schedd refused is sent again only if it has changed, or if `everything` is
 * set, which is so at a full comparison: schedd may now have a slot or a curve for it.
 */
static int sync_jobs(struct agent *agent, bool everything, struct error *err)
{
	json_t *known = read_table(agent, "jobs", "id", err), *wanted = k8s_objects_jobs(&agent->objects, agent->jobs);
	json_t *job;
	const char *id;
	int code = known && wanted ? 0 : error_code(err, EIO);

	json_object_foreach (known, id, job)
		if (code == 0 && strncmp(id, ID_PREFIX, strlen(ID_PREFIX)) == 0 && !json_object_get(wanted, id))
			code = forget(agent, id, err);
	json_object_foreach (wanted, id, job) {
		if (code == 0)
			code = sync_job(agent, id, &job, json_object_get(known, id), everything, err);
		if (job != json_object_get(wanted, id))
			json_object_set(wanted, id, job);
	}
	json_decref(known);
	if (code < 0) {
		/* Some changes may have reached schedd: agent->jobs stays, so that the next call compares again. */
		json_decref(wanted);
		return code;
	}
	json_decref(agent->jobs);
	agent->jobs = wanted;
	return 0;
}

/* Logs once when a server stops or resumes answering. */
static void note(bool *down, bool now_down, const char *text, const char *reason)
{
	if (*down != now_down && now_down)
		log_warning("%s: %s", text, reason);
	else if (*down != now_down)
		log_info("%s answers again", text);
	*down = now_down;
}

static void take_turn(struct agent *agent)
{
	struct ns now = ns_now_monotonic();
	struct error err = {0};
	bool everything = now.v >= agent->next_sync.v,
	     due = everything || (agent->objects.changed && !agent->schedd_down);
	int code;

	if (!agent->objects.listed[K8S_NODES] || !agent->objects.listed[K8S_PODS] || !due)
		return;
	agent->objects.changed = false;
	code = sync_machines(agent, &err);
	if (code == 0)
		code = sync_jobs(agent, everything, &err);
	note(&agent->schedd_down, code < 0, "schedd", err.text);
	if (everything || code < 0)
		agent->next_sync = ns_add(now, ns_from_us((code < 0 ? RETRY_S : agent->options.resync_s) * 1e6));
}

int k8s_agent_run(const struct k8s_agent_options *options, const volatile sig_atomic_t *stop, struct error *err)
{
	struct agent agent = {
		.options = *options, .nodes = json_object(), .refused = json_object(), .sent = json_object()};
	int code;

	client_init();
	code = k8s_objects_init(&agent.objects, err);
	if (code == 0)
		agent.watches = k8s_watches_create(options, &agent.objects, err);
	if (code == 0 && !agent.watches)
		code = error_code(err, ENOMEM);
	while (code == 0 && !*stop) {
		struct error reason = {0};
		int heard = k8s_watches_run(agent.watches, TURN_MS, &reason);

		if (heard != 0)
			note(&agent.api_down, heard < 0, "the API server", reason.text);
		take_turn(&agent);
	}
	k8s_watches_destroy(agent.watches);
	k8s_objects_free(&agent.objects);
	json_decref(agent.jobs);
	json_decref(agent.nodes);
	json_decref(agent.refused);
	json_decref(agent.sent);
	return code;
}
