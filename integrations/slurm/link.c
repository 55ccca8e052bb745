/* SPDX-License-Identifier: BSD-3-Clause */
#include "link.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <base/ns.h>
#include <client/request.h>

static uint32_t count_of(const json_t *job, const char *key)
{
	return (uint32_t)json_integer_value(json_object_get(job, key));
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

int link_last_decision(const struct executor *schedd, uint64_t *number, struct error *err)
{
	json_t *answer = NULL;
	int code = executor_get(schedd, "decisions?after=9223372036854775807", &answer, err);

	*number = (uint64_t)json_integer_value(json_object_get(answer, "last"));
	json_decref(answer);
	return code;
}

static struct sched_job counts_of(const json_t *job)
{
	struct sched_job counts = {.known = job != NULL,
				   .decided = count_of(job, "decided"),
				   .running = count_of(job, "running") + count_of(job, "moving"),
				   .failed = count_of(job, "failed")};

	counts.tasks =
		counts.decided + counts.running + counts.failed + count_of(job, "waiting") + count_of(job, "ended");
	return counts;
}

struct sched_job link_counts(const struct executor *schedd, const char *id)
{
	return counts_of(json_object_get(schedd->jobs, id));
}

void link_job_free(struct sched_job *job)
{
	for (uint32_t t = 0; job->hosts && t < job->tasks; t++)
		free(job->hosts[t]);
	free(job->hosts);
	job->hosts = NULL;
}

/* Reads the hosts from an answer to GET /v1/jobs/ID. */
static int take_hosts(const json_t *answer, struct sched_job *job)
{
	const json_t *task;
	size_t at;
	bool complete;

	*job = counts_of(answer);
	job->hosts = calloc((size_t)job->tasks + 1, sizeof *job->hosts);
	complete = job->hosts;
	json_array_foreach (json_object_get(answer, "tasks"), at, task) {
		const char *machine = text_of(task, "machine");

		if (complete && at < job->tasks && machine[0])
			complete = (job->hosts[at] = strdup(machine)) != NULL;
	}
	if (complete)
		return 0;
	link_job_free(job);
	return -ENOMEM;
}

int link_read_job(const struct executor *schedd, const char *id, struct sched_job *job, struct error *err)
{
	char path[128];
	json_t *answer;
	int code;

	snprintf(path, sizeof path, "jobs/%s", id);
	code = executor_get(schedd, path, &answer, err);
	if (code < 0)
		return code;
	code = take_hosts(answer, job);
	json_decref(answer);
	return code < 0 ? error_set(err, ENOMEM, "out of memory") : 0;
}

static json_t *task_json(uint32_t task, const char *host, double running_s)
{
	char name[16];

	snprintf(name, sizeof name, "t%u", task);
	return host ? json_pack("{s:s, s:s, s:f}", "name", name, "machine", host, "running_s", running_s)
		    : json_string(name);
}

static json_t *job_json(const char *id, const struct slurm_request *request, uint32_t tasks, char *const *hosts,
			double running_s)
{
	json_t *list = json_array();

	for (uint32_t t = 0; t < tasks; t++)
		if (json_array_append_new(list, task_json(t, hosts ? hosts[t] : NULL, running_s)) < 0) {
			json_decref(list); /* schedd would refuse a job that lacks a task */
			return NULL;
		}
	return json_pack("{s:s, s:s, s:i, s:i, s:o}", "id", id, "curve", request->curve, "root", (int)request->root,
			 "minimum_tasks", (int)tasks, "tasks", list);
}

int link_submit(const struct executor *schedd, const char *id, const struct slurm_request *request, uint32_t tasks,
		char *const *hosts, double running_s, struct error *err)
{
	return executor_submit(schedd, id, job_json(id, request, tasks, hosts, running_s), err);
}

static long left_ms(struct ns until)
{
	return (long)((until.v - ns_now_monotonic().v) / 1000000);
}

/* Polls schedd until all tasks are decided, or until the time `until`. */
static int wait_for_decision(const struct executor *schedd, const char *id, uint32_t tasks, struct ns until,
			     struct sched_job *job)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	char path[128];
	json_t *answer;

	snprintf(path, sizeof path, "/v1/jobs/%s", id);
	while (left_ms(until) > 0) {
		if (client_request_within(schedd->socket, "GET", path, NULL, left_ms(until), &answer, NULL) == 200) {
			int code = take_hosts(answer, job);

			json_decref(answer);
			if (code == 0 && job->decided == tasks)
				return 0;
			link_job_free(job);
		}
		nanosleep(&pause, NULL);
	}
	return -EAGAIN;
}

int link_decide(const struct executor *schedd, const char *id, const struct slurm_request *request, uint32_t tasks,
		long limit_ms, struct sched_job *job)
{
	struct ns until = ns_add(ns_now_monotonic(), ns_from_us(1e3 * (double)limit_ms));
	json_t *body = job_json(id, request, tasks, NULL, 0), *answer = NULL;
	char *text = body ? json_dumps(body, 0) : NULL;
	int status = text ? client_request_within(schedd->socket, "POST", "/v1/jobs", text, limit_ms, &answer, NULL)
			  : -ENOMEM;

	json_decref(answer);
	json_decref(body);
	free(text);
	return status == 201 ? wait_for_decision(schedd, id, tasks, until, job) : -EIO;
}

int link_report(const struct executor *schedd, const char *id, const char *event, char *const *hosts, uint32_t tasks,
		struct error *err)
{
	json_t *events = json_array();
	char task[16];

	for (uint32_t t = 0; t < tasks; t++) {
		snprintf(task, sizeof task, "t%u", t);
		executor_add_event(&events, event, id, task, hosts[t]);
	}
	return executor_report(schedd, events, err);
}

/* Gets the predicted performance of one task on its machine; NAN if it is unknown. */
static int task_performance(const struct executor *schedd, const char *id, uint32_t task, double *performance,
			    struct error *err)
{
	char path[160];
	const json_t *candidate;
	json_t *answer;
	size_t at;
	int code;

	snprintf(path, sizeof path, "explain/%s/t%u", id, task);
	code = executor_get(schedd, path, &answer, err);
	*performance = NAN;
	if (code < 0)
		return code;
	json_array_foreach (json_object_get(answer, "candidates"), at, candidate)
		if (json_is_true(json_object_get(candidate, "here")) &&
		    json_is_number(json_object_get(candidate, "performance")))
			*performance = json_number_value(json_object_get(candidate, "performance"));
	json_decref(answer);
	return 0;
}

int link_performance(const struct executor *schedd, const char *id, uint32_t tasks, uint32_t root, double *performance,
		     struct error *err)
{
	double sum = 0, one;
	int code = 0;

	for (uint32_t t = 0; t < tasks && code == 0; t++) {
		if (t == root)
			continue;
		code = task_performance(schedd, id, t, &one, err);
		sum += one;
	}
	*performance = tasks > 1 ? sum / (tasks - 1) : 1;
	return code;
}

json_t *link_curves(const struct executor *schedd, struct error *err)
{
	json_t *answer = NULL, *curves = NULL;

	if (executor_get(schedd, "curves", &answer, err) == 0)
		curves = json_incref(json_object_get(answer, "curves"));
	json_decref(answer);
	return curves;
}
