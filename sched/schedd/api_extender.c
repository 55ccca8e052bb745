/* SPDX-License-Identifier: BSD-3-Clause */
#include "schedd_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sched/extender/extender.h>

enum { BODY_BYTES_MOST = 128 << 20 }; /* space for thousands of complete Node objects */

struct api_extender {
	const struct schedd *schedd;
	struct extender *extender;
	struct serve *serve;
};

typedef char *answer_function(struct extender *extender, const struct live *live, const char *body, size_t bytes,
			      struct error *err);

static void answer(struct api_extender *api, struct serve_call *call, answer_function *function)
{
	struct error err = {0};
	char *text = function(api->extender, api->schedd->live, call->body, call->body_bytes, &err);

	if (text)
		serve_reply(call, 200, "application/json", text, strlen(text));
	else
		serve_reply_error(call, &err);
	free(text);
}

static void post_filter(void *context, struct serve_call *call)
{
	answer(context, call, extender_filter);
}

static void post_prioritize(void *context, struct serve_call *call)
{
	answer(context, call, extender_prioritize);
}

static void post_preempt(void *context, struct serve_call *call)
{
	answer(context, call, extender_preempt);
}

static const struct serve_route routes[] = {
	{"POST", "/filter", post_filter},
	{"POST", "/prioritize", post_prioritize},
	{"POST", "/preempt", post_preempt},
	{NULL, NULL, NULL},
};

struct api_extender *api_extender_create(struct schedd *schedd, const struct schedd_options *options, struct error *err)
{
	struct api_extender *api = calloc(1, sizeof *api);
	struct serve_options serve = {.address = options->extender_address,
				      .port = options->extender_port,
				      .token = options->extender_token,
				      .routes = routes,
				      .context = api,
				      .body_bytes = BODY_BYTES_MOST};
	char *path = NULL;

	if (!api || asprintf(&path, "%s.roots", options->state) < 0) {
		error_set(err, ENOMEM, "out of memory");
		free(api);
		return NULL;
	}
	api->schedd = schedd;
	api->extender = extender_create(path, err);
	if (api->extender)
		api->serve = serve_create(&serve, err);
	free(path);
	if (api->serve)
		return api;
	api_extender_destroy(api);
	return NULL;
}

void api_extender_destroy(struct api_extender *api)
{
	if (!api)
		return;
	serve_destroy(api->serve);
	extender_destroy(api->extender);
	free(api);
}

int api_extender_fd(const struct api_extender *api)
{
	return api ? serve_fd(api->serve) : -1;
}

void api_extender_run(struct api_extender *api)
{
	if (api)
		serve_run(api->serve);
}

int api_extender_timeout_ms(struct api_extender *api)
{
	return api ? serve_timeout_ms(api->serve) : -1;
}

uint16_t api_extender_port(const struct api_extender *api)
{
	return api ? serve_port(api->serve) : 0;
}
