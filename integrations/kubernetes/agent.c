/* SPDX-License-Identifier: BSD-3-Clause */
/* Updates schedd according to the nodes and pods that watch.c has received. */
#include <integrations/kubernetes/agent.h>

#include <errno.h>
#include <string.h>

#include <base/ns.h>
#include <integrations/executor/executor.h>

#include "kubernetes_priv.h"

/* In milliseconds: maximum time to wait for news from the API server before a turn, and for an answer of schedd. */
enum { TURN_MS = 100, ANSWER_MS = 60000 };
#define RETRY_S 1 /* seconds between attempts while schedd does not answer */
/* Seconds between submissions of a job, of which each has all of its pods: most pods of a job are bound together. */
#define RESUBMIT_S 1

struct agent {
	struct k8s_agent_options options;
	struct k8s_objects objects;
	struct k8s_watches *watches;
	struct executor executor;
	json_t *jobs;    /* jobs as last sent to schedd; NULL: nothing sent yet */
	json_t *wanted;  /* jobs that schedd should have, during a turn */
	json_t *sent;    /* id of a job -> when it was last submitted, in ns on the monotonic clock */
	bool everything; /* the turn is a full comparison */
	struct ns next_sync;
	bool api_down; /* the API server does not answer, and this was logged */
};

/* Returns a line of jobs.jsonl, made from an entry of k8s_objects_jobs(). NULL: out of memory. */
static json_t *job_line(const char *id, const json_t *job)
{
	const char *root = json_string_value(json_object_get(job, "root")), *task;
	json_t *tasks = json_array(), *machine;
	int at = 0, root_at = 0;

	json_object_foreach (json_object_get(job, "tasks"), task, machine) {
		if (strcmp(task, root) == 0)
			root_at = at;
		if (json_array_append_new(tasks, json_pack("{s:s, s:O}", "name", task, "machine", machine)) < 0) {
			json_decref(tasks);
			return NULL;
		}
		at++;
	}
	return json_pack("{s:s, s:O, s:i, s:o}", "id", id, "curve", json_object_get(job, "curve"), "root", root_at,
			 "tasks", tasks);
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
	json_t *events = json_array();

	json_object_foreach (json_object_get(before, "tasks"), task, machine)
		if (!json_object_get(tasks, task))
			executor_add_event(&events, "ended", id, task, json_string_value(machine));
	if (json_object_get(job, "root_ended") && !json_object_get(before, "root_ended"))
		executor_add_event(&events, "ended", id, root, json_string_value(json_object_get(tasks, root)));
	return executor_report(&agent->executor, events, err);
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
	int code = executor_submit(&agent->executor, id, job_line(id, job), &reason);

	json_object_set_new(agent->sent, id, json_integer(ns_now_monotonic().v));
	if (code == 0)
		code = report_ended(agent, id, job, NULL, &reason);
	if (executor_is_lost(code) || code == -ENOMEM)
		return error_set(err, -code, "%s", reason.text);
	if (code < 0)
		executor_refuse(&agent->executor, id, json_incref(job), reason.text);
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

		if (code == 0 || executor_is_lost(code))
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

/*
 * Updates one job; `counts` is its entry in GET /v1/jobs. Changes *job to what schedd has now. A job that schedd
 * refused is sent again only if it has changed, or at a full comparison: schedd may now have a slot or a curve for it.
 */
static int sync_job(struct agent *agent, const char *id, json_t **job, const json_t *counts, struct error *err)
{
	if (has_job(agent, id, *job, counts) ||
	    (!agent->everything && executor_has_refused(&agent->executor, id, json_incref(*job))))
		return 0;
	return update_job(agent, id, job, json_object_get(agent->jobs, id), counts, err);
}

/*
 * Updates the jobs in schedd. After an error, some changes may have reached schedd: agent->jobs stays, so that the next
 * turn compares again.
 */
static int sync_jobs(void *context, struct error *err)
{
	struct agent *agent = context;
	json_t *job;
	const char *id;
	void *next;
	int code = 0;

	json_object_foreach (agent->wanted, id, job) {
		if (code == 0)
			code = sync_job(agent, id, &job, json_object_get(agent->executor.jobs, id), err);
		if (job != json_object_get(agent->wanted, id))
			json_object_set(agent->wanted, id, job);
	}
	json_object_foreach_safe(agent->sent, next, id, job) if (!json_object_get(agent->wanted, id))
		json_object_del(agent->sent, id);
	if (code < 0)
		return code;
	json_decref(agent->jobs);
	agent->jobs = json_incref(agent->wanted);
	return 0;
}

static bool wants(void *context, const char *id)
{
	return json_object_get(((struct agent *)context)->wanted, id) != NULL;
}

static json_t *machines(void *context)
{
	return json_incref(((struct agent *)context)->objects.tables[K8S_NODES]);
}

static char *rack(void *context, const char *machine)
{
	const json_t *nodes = ((struct agent *)context)->objects.tables[K8S_NODES];
	const char *name = json_string_value(json_object_get(json_object_get(nodes, machine), "rack"));

	return strdup(name ? name : "");
}

static const struct executor_calls calls = {
	.id_prefix = "k8s-", .machines = machines, .rack = rack, .wants = wants, .jobs = sync_jobs};

static void take_turn(struct agent *agent)
{
	struct ns now = ns_now_monotonic();
	bool due = agent->objects.changed && !agent->executor.schedd_down;
	int code;

	agent->everything = now.v >= agent->next_sync.v;
	if (!agent->objects.listed[K8S_NODES] || !agent->objects.listed[K8S_PODS] || !(due || agent->everything))
		return;
	agent->objects.changed = false;
	agent->wanted = k8s_objects_jobs(&agent->objects, agent->jobs);
	code = agent->wanted ? executor_turn(&agent->executor) : -ENOMEM;
	json_decref(agent->wanted);
	if (agent->everything || code < 0)
		agent->next_sync = ns_add(now, ns_from_us((code < 0 ? RETRY_S : agent->options.resync_s) * 1e6));
}

int k8s_agent_run(const struct k8s_agent_options *options, const volatile sig_atomic_t *stop, struct error *err)
{
	struct agent agent = {
		.options = *options,
		.executor = {.calls = &calls, .context = &agent, .socket = options->schedd, .limit_ms = ANSWER_MS},
		.sent = json_object()};
	int code = executor_init(&agent.executor, err);

	if (code == 0)
		code = k8s_objects_init(&agent.objects, err);
	if (code == 0)
		agent.watches = k8s_watches_create(options, &agent.objects, err);
	if (code == 0 && !agent.watches)
		code = error_code(err, ENOMEM);
	while (code == 0 && !*stop) {
		struct error reason = {0};
		int heard = k8s_watches_run(agent.watches, TURN_MS, &reason);

		if (heard != 0)
			executor_note(&agent.api_down, heard < 0, "the API server", reason.text);
		take_turn(&agent);
	}
	k8s_watches_destroy(agent.watches);
	k8s_objects_free(&agent.objects);
	executor_free(&agent.executor);
	json_decref(agent.jobs);
	json_decref(agent.sent);
	return code;
}
