/* SPDX-License-Identifier: BSD-3-Clause */
#include "schedd_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include <base/array.h>
#include <base/file.h>
#include <base/json.h>
#include <base/log.h>
#include <sched/live/change.h>

/* Time limit of a forecast in seconds, and nice value of its process. */
enum { CHILD_S = 60, CHILD_NICE = 5 };

static json_t *totals_json(const struct live *live)
{
	struct live_totals totals = live_totals(live);
	double performance = live_performance(live);

	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:o}", "jobs", (int)totals.jobs, "waiting",
			 (int)totals.waiting, "running", (int)totals.running, "failed", (int)totals.failed, "machines",
			 (int)totals.machines, "slots", (json_int_t)totals.slots, "free_slots",
			 (json_int_t)totals.free_slots, "performance",
			 isfinite(performance) ? json_real(performance) : json_null());
}

static int submit_jobs(struct live *live, const struct forecast_request *request, double now_s, struct error *err)
{
	struct file_lines *lines = file_lines_from_memory("jobs", request->jobs, strlen(request->jobs), err);
	struct jobs *jobs = lines ? jobs_parse(lines, err) : NULL;
	int code = jobs ? jobs_resolve(jobs, live_cluster(live), false, err) : error_code(err, ENOMEM);

	for (size_t j = 0; code == 0 && j < jobs->count; j++)
		code = live_submit(live, &jobs->items[j], request->owner, request->may_move, now_s, err);
	jobs_destroy(jobs);
	file_lines_close(lines);
	return code;
}

static int make_changes(struct live *live, const struct forecast_request *request, double now_s, struct error *err)
{
	int code = 0;

	for (size_t c = 0; c < request->change_count && code == 0; c++) {
		struct live_change change;

		code = live_change_parse(request->changes[c], &change, err);
		if (code == 0)
			code = live_change_apply(live, &change, NULL, NULL, err);
	}
	return code == 0 && request->jobs[0] ? submit_jobs(live, request, now_s, err) : code;
}

static json_t *decisions_since(const struct live *live, uint64_t after)
{
	size_t count;
	const struct live_decision *decisions = live_decisions(live, after, &count);
	json_t *list = json_array();

	for (size_t d = 0; d < count; d++)
		json_array_append_new(list, decision_json(&decisions[d]));
	return list;
}

/*
 * Asks a further forked process, on its copy of the state, what the policy alone would do with the lost tasks. Returns
 * JSON null if there are none; NULL with err set on failure.
 */
static json_t *ask_policy(struct live *live, double now_s, double within_s, struct error *err)
{
	json_error_t ignored;
	json_t *answer;
	int ends[2];
	FILE *in;

	if (!live_loses(live))
		return json_null();
	if (pipe(ends) < 0) {
		error_set(err, errno, "pipe: %s", strerror(errno));
		return NULL;
	}
	switch (fork()) {
	case -1:
		close(ends[0]);
		close(ends[1]);
		error_set(err, errno, "fork: %s", strerror(errno));
		return NULL;
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(CHILD_S);
		answer = live_recovery_by_policy(live, now_s, within_s, err);
		if (!answer)
			answer = json_string(err->text);
		json_dumpfd(answer, ends[1], JSON_ENCODE_ANY);
		_exit(0);
	}
	close(ends[1]);
	in = fdopen(ends[0], "r");
	answer = in ? json_loadf(in, JSON_DECODE_ANY, &ignored) : NULL;
	if (in)
		fclose(in);
	if (answer && !json_is_string(answer))
		return answer;
	error_set(err, EIO, "the policy's forecast failed: %s", answer ? json_string_value(answer) : "no answer");
	json_decref(answer);
	return NULL;
}

/* The recovery of the changes, with what the policy would do; NULL: no tasks with flows were lost. */
static json_t *recovery_json(const struct live *live, json_t *policy)
{
	json_t *recovery = json_is_null(policy) ? NULL : live_recovery_to_json(live);

	if (recovery)
		json_object_set_new(recovery, "policy", policy);
	else
		json_decref(policy);
	return recovery;
}

/* Runs the rounds that are due, and counts all decided and moving tasks as started, before it makes the changes. */
static json_t *compute(struct live *live, const struct forecast_request *request, double now_s, struct error *err)
{
	double end_s = now_s;
	json_t *before, *policy = NULL;
	uint64_t last;

	if (live_settle(live, now_s, 0, &end_s, err) < 0)
		return NULL;
	before = totals_json(live);
	last = live_last_decision(live);
	if (make_changes(live, request, now_s, err) == 0)
		policy = ask_policy(live, now_s, request->within_s, err);
	if (!policy || live_settle(live, now_s, request->within_s, &end_s, err) < 0) {
		json_decref(before);
		json_decref(policy);
		return NULL;
	}
	return json_pack("{s:s, s:I, s:f, s:o, s:o, s:o, s:o*}", "schema", "nomora.what_if/1", "last", (json_int_t)last,
			 "seconds", end_s - now_s, "before", before, "after", totals_json(live), "decisions",
			 decisions_since(live, last), "recovery", recovery_json(live, policy));
}

static void write_all(int fd, const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t count = write(fd, text, bytes);

		if (count < 0 && errno != EINTR)
			return;
		text += count > 0 ? count : 0;
		bytes -= count > 0 ? (size_t)count : 0;
	}
}

/*
 * Runs in the child and does not return. The state's file and the sockets belong to the parent: the child only closes
 * its copies of the descriptors, at once, and does not shut the connections down or close the database.
 */
static void run_child(int fd, struct live *live, const struct forecast_request *request, double now_s)
{
	struct error err = {0};
	json_t *answer;
	char *text;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	alarm(CHILD_S);
	if (nice(CHILD_NICE) < 0)
		errno = 0; /* not an error: the child runs at the daemon's priority */
	log_set_sink(NULL);
	if (dup2(fd, 0) < 0)
		_exit(1);
	close_range(1, ~0U, 0);
	answer = compute(live, request, now_s, &err);
	if (!answer)
		answer = json_pack("{s:o, s:i}", "error", json_message(err.text), "status",
				   err.code == ENOENT ? 404 : 400);
	text = json_dump_whole(answer, 0);
	if (text)
		write_all(0, text, strlen(text));
	_exit(0);
}

int forecast_start(struct forecast forecasts[FORECASTS_MOST], struct live *live, const struct forecast_request *request,
		   double now_s, struct serve_call *call, struct error *err)
{
	struct forecast *forecast = NULL;
	int ends[2];
	pid_t child;

	for (int i = 0; i < FORECASTS_MOST && !forecast; i++)
		forecast = forecasts[i].call ? NULL : &forecasts[i];
	if (!forecast)
		return error_set(err, EAGAIN, "%d forecasts are in progress; try again later", FORECASTS_MOST);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(err, errno, "pipe: %s", strerror(errno));
	child = fork();
	if (child == 0)
		run_child(ends[1], live, request, now_s);
	close(ends[1]);
	if (child < 0) {
		int code = errno;

		close(ends[0]);
		return error_set(err, code == ENOMEM ? EAGAIN : code, "fork: %s", strerror(code));
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	*forecast = (struct forecast){.call = call, .child = child, .fd = ends[0]};
	return 0;
}

size_t forecast_poll(const struct forecast forecasts[FORECASTS_MOST], struct pollfd *polled)
{
	size_t count = 0;

	for (int i = 0; i < FORECASTS_MOST; i++)
		if (forecasts[i].call)
			polled[count++] = (struct pollfd){.fd = forecasts[i].fd, .events = POLLIN};
	return count;
}

static void end(struct forecast *forecast)
{
	close(forecast->fd);
	waitpid(forecast->child, NULL, 0);
	free(forecast->text);
	*forecast = (struct forecast){0};
}

static void reply(struct forecast *forecast)
{
	static const char failed[] = "{\"error\": \"the forecast failed or took too long\"}";
	json_t *answer = forecast->text ? json_loadb(forecast->text, forecast->bytes, 0, NULL) : NULL;
	json_int_t status = json_integer_value(json_object_get(answer, "status"));

	if (answer)
		serve_reply(forecast->call, status ? (unsigned)status : 200, "application/json", forecast->text,
			    forecast->bytes);
	else
		serve_reply(forecast->call, 500, "application/json", failed, sizeof failed - 1);
	json_decref(answer);
	end(forecast);
}

/* Reads the child's output that is available. Returns true at the end of the output, or after an error. */
static bool read_some(struct forecast *forecast)
{
	for (;;) {
		char *text = array_reserve(forecast->text, forecast->bytes + 65536, &forecast->capacity, 1);
		ssize_t count;

		if (!text)
			return true;
		forecast->text = text;
		count = read(forecast->fd, text + forecast->bytes, 65536);
		if (count < 0)
			return errno != EAGAIN && errno != EINTR;
		if (count == 0)
			return true;
		forecast->bytes += (size_t)count;
	}
}

void forecast_read(struct forecast forecasts[FORECASTS_MOST])
{
	for (int i = 0; i < FORECASTS_MOST; i++)
		if (forecasts[i].call && read_some(&forecasts[i]))
			reply(&forecasts[i]);
}

void forecast_stop(struct forecast forecasts[FORECASTS_MOST])
{
	for (int i = 0; i < FORECASTS_MOST; i++)
		if (forecasts[i].call) {
			kill(forecasts[i].child, SIGKILL);
			end(&forecasts[i]);
		}
}
