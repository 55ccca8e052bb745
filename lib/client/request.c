/* SPDX-License-Identifier: BSD-3-Clause */
#include <client/request.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include <base/array.h>
#include <base/file.h>
#include <base/json.h>

enum { JOBS_BYTES_MAXIMUM = 8 << 20 };

enum { CONNECT_MS = 3000, ANSWER_MS = 60000 };

struct text {
	char *bytes;
	size_t count, capacity;
};

static size_t keep(char *data, size_t size, size_t count, void *context)
{
	struct text *text = context;
	char *bytes = array_reserve(text->bytes, text->count + size * count + 1, &text->capacity, 1);

	if (!bytes)
		return 0;
	text->bytes = bytes;
	memcpy(bytes + text->count, data, size * count);
	text->count += size * count;
	bytes[text->count] = '\0';
	return size * count;
}

static const char *socket_path(const char *given)
{
	const char *of_environment = getenv("NOMORA_SCHEDD");

	return given ? given : of_environment && of_environment[0] ? of_environment : CLIENT_SOCKET;
}

static CURLcode perform(CURL *curl, const char *socket, const char *method, const char *path, const char *body,
			long limit_ms, struct text *text, long *status)
{
	char url[2048];
	struct curl_slist *json = body ? curl_slist_append(NULL, "Content-Type: application/json") : NULL;
	CURLcode code;

	if (body && !json)
		return CURLE_OUT_OF_MEMORY;
	snprintf(url, sizeof url, "http://localhost%s", path);
	curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, socket_path(socket));
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, limit_ms);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, text);
	if (body) {
		curl_easy_setopt(curl, CURLOPT_HTTPHEADER, json);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
	}
	code = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, status);
	curl_slist_free_all(json);
	return code;
}

int client_request_within(const char *socket, const char *method, const char *path, const char *body, long limit_ms,
			  json_t **answer, struct error *err)
{
	CURL *curl = curl_easy_init();
	struct text text = {0};
	long status = 0;
	CURLcode code =
		curl ? perform(curl, socket, method, path, body, limit_ms, &text, &status) : CURLE_OUT_OF_MEMORY;

	*answer = NULL;
	if (code == CURLE_OPERATION_TIMEDOUT)
		error_set(err, EIO, "%s: no answer in time", socket_path(socket));
	else if (code == CURLE_COULDNT_CONNECT)
		error_set(err, ENOTCONN, "%s: no daemon answers; start it with 'nomora schedd'", socket_path(socket));
	else if (code == CURLE_UNSUPPORTED_PROTOCOL) /* an answer that is not HTTP */
		error_set(err, EIO, "%s: the socket of another program, or of another version of nomora",
			  socket_path(socket));
	else if (code != CURLE_OK)
		error_set(err, EIO, "%s: %s", socket_path(socket), curl_easy_strerror(code));
	else
		*answer = json_read_text("the daemon's answer", 0, text.bytes ? text.bytes : "", text.count, err);
	curl_easy_cleanup(curl);
	free(text.bytes);
	return *answer ? (int)status : error_code(err, EIO);
}

int client_request(const char *socket, const char *method, const char *path, const char *body, json_t **answer,
		   struct error *err)
{
	return client_request_within(socket, method, path, body, ANSWER_MS, answer, err);
}

void client_init(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
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
