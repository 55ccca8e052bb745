/* SPDX-License-Identifier: BSD-3-Clause */
#include <client/request.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/json.h>

#include "exchange.h"

enum { JOBS_BYTES_MAXIMUM = 8 << 20 };

enum { ANSWER_MS = 60000 };

static const char *socket_path(const char *given)
{
	const char *of_environment = getenv("NOMORA_SCHEDD");

	return given ? given : of_environment && of_environment[0] ? of_environment : CLIENT_SOCKET;
}

int client_request_within(const char *socket, const char *method, const char *path, const char *body, long limit_ms,
			  json_t **answer, struct error *err)
{
	struct exchange_answer text = {0};
	int code = exchange(socket_path(socket), method, path, body, (struct ns){limit_ms * NS_PER_MS}, &text);

	*answer = NULL;
	if (code == -ETIMEDOUT)
		error_set(err, EIO, "%s: no answer in time", socket_path(socket));
	else if (code == -ENOTCONN)
		error_set(err, ENOTCONN, "%s: no daemon answers; start it with 'nomora schedd'", socket_path(socket));
	else if (code == -EPROTO)
		error_set(err, EIO, "%s: the socket of another program, or of another version of nomora",
			  socket_path(socket));
	else if (code == -EPIPE)
		error_set(err, EIO, "%s: the daemon ended before its answer did", socket_path(socket));
	else if (code == -EINVAL)
		error_set(err, EINVAL, "found '%s', expected names without blanks", path);
	else if (code < 0)
		error_set(err, -code, "%s: %s", socket_path(socket), strerror(-code));
	else
		*answer = json_read_text("the daemon's answer", 0, text.bytes + text.body, text.count - text.body, err);
	free(text.bytes);
	return *answer ? text.status : error_code(err, EIO);
}

int client_request(const char *socket, const char *method, const char *path, const char *body, json_t **answer,
		   struct error *err)
{
	return client_request_within(socket, method, path, body, ANSWER_MS, answer, err);
}

int client_ask(const char *socket, const char *method, const char *path, const char *body, json_t **answer,
	       struct error *err)
{
	return client_ask_within(socket, method, path, body, ANSWER_MS, answer, err);
}

int client_ask_within(const char *socket, const char *method, const char *path, const char *body, long limit_ms,
		      json_t **answer, struct error *err)
{
	int status = client_request_within(socket, method, path, body, limit_ms, answer, err);
	const char *message;

	if (status < 400)
		return status < 0 ? status : 0;
	message = json_string_value(json_object_get(*answer, "error"));
	error_set(err,
		  status == 404   ? ENOENT
		  : status == 403 ? EPERM
		  : status == 421 ? EREMOTE
				  : EINVAL,
		  "%s", message ? message : "the daemon refused the request and gave no reason");
	json_decref(*answer);
	*answer = NULL;
	return error_code(err, EINVAL);
}

json_t *client_ask_injector(const char *control, const char *command, json_t *body, struct ns limit, struct error *err)
{
	bool reads = strcmp(command, "stats") == 0 || strcmp(command, "metrics") == 0;
	char *text = body ? json_dumps(body, 0) : NULL, path[32];
	json_t *answer = NULL;
	struct error reason = {0};

	snprintf(path, sizeof path, "/v1/%s", command);
	if (client_ask_within(control, reads ? "GET" : "POST", path, text, (long)(limit.v / NS_PER_MS), &answer,
			      &reason))
		error_set(err, reason.code, "%s%s", reason.code == ENOTCONN ? "nothing answers on " : "",
			  reason.code == ENOTCONN ? control : reason.text);
	json_decref(body);
	free(text);
	return answer;
}

static const char *text_in(const json_t *object)
{
	const char *text = json_string_value(json_object_get(object, "error"));

	return text ? text : "";
}

int client_submit(const char *socket, const char *line, long limit_ms, struct error *err)
{
	json_t *answer = NULL;
	int status = client_request_within(socket, "POST", "/v1/jobs", line, limit_ms, &answer, err),
	    code = status < 0 ? status : 0;
	const char *reason;

	if (status >= 400) {
		reason = text_in(json_array_get(json_object_get(answer, "jobs"), 0));
		code = error_set(err, status == 503 ? EIO : EINVAL, "%s", reason[0] ? reason : text_in(answer));
	}
	json_decref(answer);
	return code;
}

int client_print_journal(const char *socket, FILE *out, struct error *err)
{
	json_int_t after = 0;

	for (;;) {
		char path[64];
		json_t *answer;
		json_int_t next;
		int code;

		snprintf(path, sizeof path, "/v1/journal?after=%lld", (long long)after);
		code = client_ask(socket, "GET", path, NULL, &answer, err);
		if (code < 0)
			return code;
		fputs(json_string_value(json_object_get(answer, "lines")), out);
		next = json_integer_value(json_object_get(answer, "next"));
		json_decref(answer);
		if (next == after)
			return 0;
		after = next;
	}
}

json_t *client_what_if_request(char *const *changes, int count, const char *jobs_path, bool move, double within_s,
			       struct error *err)
{
	size_t bytes;
	char *jobs = jobs_path ? file_read_all(jobs_path, JOBS_BYTES_MAXIMUM, &bytes, err) : NULL;
	json_t *list, *request = NULL;
	bool complete = true;

	if (jobs_path && !jobs)
		return NULL;
	list = json_array();
	for (int c = 0; c < count; c++)
		complete = json_array_append_new(list, json_string(changes[c])) == 0 && complete;
	if (complete)
		request = json_pack("{s:O, s:s, s:b, s:f}", "changes", list, "jobs", jobs ? jobs : "", "move", move,
				    "within_s", within_s);
	if (!request)
		error_set(err, EINVAL, "the changes and jobs are not UTF-8 text");
	json_decref(list);
	free(jobs);
	return request;
}
