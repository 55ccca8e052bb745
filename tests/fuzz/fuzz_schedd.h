/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A real schedd in this process: lib/serve is replaced, so that a request is a call. Its state is in memory, below
 * /dev/shm if that is there.
 */
#ifndef FUZZ_SCHEDD_H
#define FUZZ_SCHEDD_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include <base/json.h>
#include <sched/schedd/schedd.h>
#include <serve/serve.h>

#include "fuzz_events.h"

/* Seconds, by the real clock, within which each request must be answered. */
enum { ANSWER_S = 10 };

static struct serve {
	struct serve_options options;
} server;
static struct serve_call call;
static char *query; /* of the call; "" */
static char value[256];
static bool open_call;
static volatile int stop_schedd;
static bool dispatched;
static struct timespec begun;
static unsigned answer_status;
static char *answer_text; /* NULL: it is dropped */
static bool keep_answer;
static char schedd_folder[64], schedd_state[96];

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

	law(of == &call && open_call && status >= 200 && status <= 599 && answer);
	json_decref(answer);
	open_call = false;
	answer_status = status;
	if (keep_answer)
		answer_text = strndup(text, bytes);
}

void serve_reply_error(struct serve_call *of, const struct error *err)
{
	json_t *object = json_pack("{s:o}", "error", json_message(err->text));
	char *text = json_dumps(object, 0);

	law(err->code != 0 && err->text[0] != '\0' && text);
	json_decref(object);
	serve_reply(of,
		    err->code == ENOENT                         ? 404
		    : err->code == EPERM || err->code == EACCES ? 403
								: 400,
		    "application/json", text, strlen(text));
	free(text);
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
	struct timespec now;

	(void)serve;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (dispatched)
		stop_schedd = !open_call;
	else
		dispatch();
	dispatched = true;
	law(now.tv_sec - begun.tv_sec <= ANSWER_S);
}

/* Asks as user `uid`. `target`, which it cuts, is PATH[?NAME=VALUE&...]; body: NULL = none. */
static void schedd_ask(struct schedd *schedd, uid_t uid, const char *method, char *target, const char *body)
{
	struct error err = {0};

	call = (struct serve_call){.method = method, .path = target, .tail = "", .body = body ? body : "", .uid = uid};
	call.body_bytes = strlen(call.body);
	query = target + strcspn(target, "?");
	if (*query)
		*query++ = '\0';
	open_call = true;
	answer_status = 404;
	stop_schedd = 0;
	dispatched = false;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	law(schedd_run(schedd, &stop_schedd, &err) == 0);
}

static void schedd_remove(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", schedd_folder);
	if (system(command) != 0)
		perror(command);
}

/* Starts it on the state in the folder, which is made at the first call and removed at the end. */
static struct schedd *schedd_start(void)
{
	struct schedd_options options = {.state = schedd_state, .curves = NOMORA_CURVES, .user_tasks = 1000};
	struct error err = {0};
	struct schedd *schedd;

	if (!schedd_folder[0]) {
		snprintf(schedd_folder, sizeof schedd_folder, "%s/nomora-fuzz-schedd.XXXXXX",
			 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		law(mkdtemp(schedd_folder));
		snprintf(schedd_state, sizeof schedd_state, "%s/state", schedd_folder);
		atexit(schedd_remove);
	}
	live_settings_default(&options.live);
	schedd = schedd_create(&options, NULL, &err);
	law(schedd);
	return schedd;
}

#endif
