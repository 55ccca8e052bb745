/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes arbitrary requests to a schedd in place of lib/serve: "METHOD PATH[?NAME=VALUE&...]", then the body; a leading
 * '*' means a user who is no admin. Each request is answered, errors with a reason. One daemon receives all requests.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <base/ns.h>
#include <sched/schedd/schedd.h>
#include <serve/serve.h>

enum { USER = 12345, ANSWER_S = 10 };

static struct serve {
	struct serve_options options;
} server;
static struct serve_call call;
static char *query; /* of the call; "" */
static char value[256];
static bool open_call;
static volatile int stop;
static struct ns begun;
static char folder[] = "/tmp/nomora-fuzz-api.XXXXXX";

const char *serve_query(const struct serve_call *of, const char *name)
{
	size_t length = strlen(name);

	(void)of;
	/* A long poll is answered only after an event. */
	for (const char *at = query; *at && strcmp(name, "wait") != 0; at += strcspn(at, "&"), at += *at == '&')
		if (strncmp(at, name, length) == 0 && at[length] == '=') {
			snprintf(value, sizeof value, "%.*s", (int)strcspn(at + length + 1, "&"), at + length + 1);
			return value;
		}
	return NULL;
}

bool serve_call_in_group(const struct serve_call *of, gid_t group)
{
	(void)of;
	(void)group;
	return false;
}

void serve_reply(struct serve_call *of, unsigned status, const char *content_type, const char *text, size_t bytes)
{
	json_t *answer = strcmp(content_type, "application/json") == 0 ? json_loadb(text, bytes, 0, NULL) : json_null();

	if (of != &call || !open_call || status < 200 || status > 599 || !answer)
		abort();
	json_decref(answer);
	open_call = false;
}

void serve_reply_error(struct serve_call *of, const struct error *err)
{
	if (err->code == 0 || err->text[0] == '\0')
		abort();
	serve_reply(of, 400, "text/plain", "", 0);
}

struct serve *serve_create(const struct serve_options *options, struct error *err)
{
	(void)err;
	server.options = *options;
	return &server;
}

void serve_destroy(struct serve *serve)
{
	(void)serve;
}

int serve_fd(const struct serve *serve)
{
	(void)serve;
	return -1;
}

int serve_timeout_ms(struct serve *serve)
{
	(void)serve;
	return 0;
}

uint16_t serve_port(const struct serve *serve)
{
	(void)serve;
	return 0;
}

static void dispatch(void)
{
	for (const struct serve_route *route = server.options.routes; route->method; route++) {
		size_t length = strlen(route->prefix);
		const char *rest = call.path + length;

		if (strncmp(call.path, route->prefix, length) != 0 || (*rest != '\0' && *rest != '/') ||
		    strcmp(call.method, route->method) != 0)
			continue;
		call.tail = *rest == '/' ? rest + 1 : rest;
		route->handle(server.options.context, &call);
		return;
	}
	open_call = false;
}

/* One iteration of the daemon's loop. */
void serve_run(struct serve *serve)
{
	(void)serve;
	if (begun.v == 0) {
		begun = ns_now_monotonic();
		dispatch();
		return;
	}
	if (ns_to_s(ns_sub(ns_now_monotonic(), begun)) > ANSWER_S)
		abort();
	stop = !open_call;
}

static void remove_state(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", folder);
	if (system(command) != 0)
		perror(command);
}

static void ask(struct schedd *schedd, const char *text)
{
	char *copy = strdup(text), *line = copy, *body = strchr(copy, '\n'), *path;
	struct error err = {0};

	if (body)
		*body++ = '\0';
	call = (struct serve_call){.tail = "", .body = body ? body : "", .uid = *line == '*' ? USER : 0};
	call.body_bytes = strlen(call.body);
	line += *line == '*';
	path = line + strcspn(line, " ");
	if (*path)
		*path++ = '\0';
	query = path + strcspn(path, "?");
	if (*query)
		*query++ = '\0';
	call.method = line;
	call.path = path;
	open_call = true;
	stop = 0;
	begun = (struct ns){0};
	if (schedd_run(schedd, &stop, &err) < 0)
		abort();
	free(copy);
}

static struct schedd *start(void)
{
	static char state[64];
	struct schedd_options options = {.state = state, .curves = NOMORA_CURVES, .user_tasks = 1000};
	struct error err = {0};
	struct schedd *schedd;

	if (!mkdtemp(folder))
		abort();
	atexit(remove_state);
	snprintf(state, sizeof state, "%s/state", folder);
	live_settings_default(&options.live);
	schedd = schedd_create(&options, &err);
	if (!schedd)
		abort();
	ask(schedd, "PUT /v1/machines/m1\n{\"rack\": \"r1\", \"slots\": 4}");
	ask(schedd, "PUT /v1/machines/m2\n{\"rack\": \"r2\", \"slots\": 4}");
	ask(schedd, "POST /v1/jobs\n{\"id\": \"web\", \"curve\": \"memcached\", \"root\": 0, \"tasks\": 3}");
	return schedd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct schedd *schedd;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (!schedd)
		schedd = start();
	ask(schedd, text);
	free(text);
	return 0;
}
