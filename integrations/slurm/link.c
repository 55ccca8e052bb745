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

/* Limit, in milliseconds, for an answer of schedd, so that --patience also holds if schedd hangs. */
enum { LIMIT_MS = 1000 };

static uint32_t count_of(const json_t *job, const char *key)
{
	return (uint32_t)json_integer_value(json_object_get(job, key));
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static int ask(const struct link *link, const char *method, const char *path, const char *body, json_t **answer,
	       struct error *err)
{
	return client_ask_within(link->socket, method, path, body, LIMIT_MS, answer, err);
}

/* Sends a request and discards the answer. */
static int order(const struct link *link, const char *method, const char *path, const char *body, struct error *err)
{
	json_t *answer = NULL;
	int code = ask(link, method, path, body, &answer, err);

	json_decref(answer);
	return code;
}

static int index_jobs(struct link *link, json_t *answer, struct error *err)
{
	const json_t *job;
	size_t at;

	json_decref(link->jobs);
	link->jobs = json_incref(json_object_get(answer, "jobs"));
	hash_table_clear(&link->job_index);
	json_array_foreach (link->jobs, at, job)
		if (hash_table_insert(&link->job_index, hash_text(text_of(job, "id")), (uint32_t)at) < 0)
			return error_set(err, ENOMEM, "out of memory");
	return 0;
}

int link_refresh(struct link *link, struct error *err)
{
	json_t *answer = NULL, *decisions = NULL;
	int code = ask(link, "GET", "/v1/decisions?after=9223372036854775807", NULL, &decisions, err);

	if (code == 0)
		code = ask(link, "GET", "/v1/jobs", NULL, &answer, err);
	if (code == 0) {
		link->last_decision = (uint64_t)json_integer_value(json_object_get(decisions, "last"));
		code = index_jobs(link, answer, err);
	}
	json_decref(answer);
	json_decref(decisions);
	return code;
}

void link_free(struct link *link)
{
	json_decref(link->jobs);
	hash_table_free(&link->job_index);
}

static const json_t *find_job(const struct link *link, const char *id)
{
	HASH_TABLE_EACH (&link->job_index, hash_text(id), at) {
		const json_t *job = json_array_get(link->jobs, hash_table_value(&link->job_index, at));

		if (strcmp(text_of(job, "id"), id) == 0)
			return job;
	}
	return NULL;
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

struct sched_job link_counts(const struct link *link, const char *id)
{
	return counts_of(find_job(link, id));
}

size_t link_job_count(const struct link *link)
{
	return json_array_size(link->jobs);
}

const char *link_job_id(const struct link *link, size_t number)
{
	const json_t *job = json_array_get(link->jobs, number);
	const char *id = text_of(job, "id");

	return strncmp(id, LINK_ID_PREFIX, strlen(LINK_ID_PREFIX)) == 0 ? id : NULL;
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

	*job = counts_of(answer);
	job->hosts = calloc((size_t)job->tasks + 1, sizeof *job->hosts);
	json_array_foreach (json_object_get(answer, "tasks"), at, task) {
		const char *machine = text_of(task, "machine");

		if (job->hosts && at < job->tasks && machine[0])
			job->hosts[at] = strdup(machine);
	}
	return job->hosts ? 0 : -ENOMEM;
}

int link_read_job(const struct link *link, const char *id, struct sched_job *job, struct error *err)
{
	char path[128];
	json_t *answer;
	int code;

	snprintf(path, sizeof path, "/v1/jobs/%s", id);
	code = ask(link, "GET", path, NULL, &answer, err);
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
		json_array_append_new(list, task_json(t, hosts ? hosts[t] : NULL, running_s));
	return json_pack("{s:s, s:s, s:i, s:i, s:o}", "id", id, "curve", request->curve, "root", (int)request->root,
			 "minimum_tasks", (int)tasks, "tasks", list);
}

int link_submit(const struct link *link, const char *id, const struct slurm_request *request, uint32_t tasks,
		char *const *hosts, double running_s, struct error *err)
{
	json_t *job = job_json(id, request, tasks, hosts, running_s);
	char *body = job ? json_dumps(job, 0) : NULL;
	int code = link_forget(link, id, err);

	if (code == 0)
		code = body ? client_submit(link->socket, body, LIMIT_MS, err)
			    : error_set(err, ENOMEM, "out of memory");
	json_decref(job);
	free(body);
	return code;
}

static long left_ms(struct ns until)
{
	return (long)((until.v - ns_now_monotonic().v) / 1000000);
}

/* Polls schedd until all tasks are decided, or until the time `until`. */
static int wait_for_decision(const struct link *link, const char *id, uint32_t tasks, struct ns until,
			     struct sched_job *job)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	char path[128];
	json_t *answer;

	snprintf(path, sizeof path, "/v1/jobs/%s", id);
	while (left_ms(until) > 0) {
		if (client_request_within(link->socket, "GET", path, NULL, left_ms(until), &answer, NULL) == 200) {
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

int link_decide(const struct link *link, const char *id, const struct slurm_request *request, uint32_t tasks,
		long limit_ms, struct sched_job *job)
{
	struct ns until = ns_add(ns_now_monotonic(), ns_from_us(1e3 * (double)limit_ms));
	json_t *body = job_json(id, request, tasks, NULL, 0), *answer = NULL;
	char *text = body ? json_dumps(body, 0) : NULL;
	int status =
		text ? client_request_within(link->socket, "POST", "/v1/jobs", text, limit_ms, &answer, NULL) : -ENOMEM;

	json_decref(answer);
	json_decref(body);
	free(text);
	return status == 201 ? wait_for_decision(link, id, tasks, until, job) : -EIO;
}

int link_report(const struct link *link, const char *id, const char *event, char *const *hosts, uint32_t tasks,
		struct error *err)
{
	char *body = NULL;
	size_t bytes;
	FILE *out = open_memstream(&body, &bytes);
	int code;

	if (!out)
		return error_set(err, ENOMEM, "out of memory");
	for (uint32_t t = 0; t < tasks; t++)
		fprintf(out, "{\"event\": \"%s\", \"job\": \"%s\", \"task\": \"t%u\", \"machine\": \"%s\"}\n", event,
			id, t, hosts[t]);
	code = fclose(out) == 0 ? order(link, "POST", "/v1/events", body, err)
				: error_set(err, ENOMEM, "out of memory");
	free(body);
	return code;
}

int link_forget(const struct link *link, const char *id, struct error *err)
{
	struct error reason = {0};
	char path[128];
	int code;

	snprintf(path, sizeof path, "/v1/jobs/%s", id);
	code = order(link, "DELETE", path, NULL, &reason);
	if (code == -ENOENT)
		return 0;
	return code < 0 ? error_set(err, -code, "%s", reason.text) : 0;
}

int link_read_machines(const struct link *link, json_t **machines, struct error *err)
{
	json_t *answer = NULL, *machine;
	size_t at;
	int code = ask(link, "GET", "/v1/machines", NULL, &answer, err);

	*machines = json_object();
	json_array_foreach (json_object_get(answer, "machines"), at, machine)
		json_object_set(*machines, text_of(machine, "name"), machine);
	json_decref(answer);
	return code;
}

int link_set_machine(const struct link *link, const json_t *machines, const char *name, uint32_t slots,
		     const char *state, struct error *err)
{
	const json_t *known = json_object_get(machines, name);
	char path[128], *rack = NULL, *body = NULL;
	json_t *wanted;
	int code;

	if (known && count_of(known, "slots") == slots && strcmp(text_of(known, "state"), state) == 0)
		return 0;
	wanted = json_pack("{s:i, s:s}", "slots", (int)slots, "state", state);
	if (wanted && !known) {
		rack = slurm_view_rack(name);
		if (rack && rack[0])
			json_object_set_new(wanted, "rack", json_string(rack));
		free(rack);
	}
	body = wanted ? json_dumps(wanted, 0) : NULL;
	snprintf(path, sizeof path, "/v1/machines/%s", name);
	code = body ? order(link, "PUT", path, body, err) : error_set(err, ENOMEM, "out of memory");
	json_decref(wanted);
	free(body);
	return code < 0 ? code : 1;
}

/* Gets the predicted performance of one task on its machine; NAN if it is unknown. */
static int task_performance(const struct link *link, const char *id, uint32_t task, double *performance,
			    struct error *err)
{
	char path[160];
	const json_t *candidate;
	json_t *answer;
	size_t at;
	int code;

	snprintf(path, sizeof path, "/v1/explain/%s/t%u", id, task);
	code = ask(link, "GET", path, NULL, &answer, err);
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

int link_performance(const struct link *link, const char *id, uint32_t tasks, uint32_t root, double *performance,
		     struct error *err)
{
	double sum = 0, one;
	int code = 0;

	for (uint32_t t = 0; t < tasks && code == 0; t++) {
		if (t == root)
			continue;
		code = task_performance(link, id, t, &one, err);
		sum += one;
	}
	*performance = tasks > 1 ? sum / (tasks - 1) : 1;
	return code;
}

json_t *link_curves(const struct link *link, struct error *err)
{
	json_t *answer = NULL, *curves = NULL;

	if (ask(link, "GET", "/v1/curves", NULL, &answer, err) == 0)
		curves = json_incref(json_object_get(answer, "curves"));
	json_decref(answer);
	return curves;
}
