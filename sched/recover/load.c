/* SPDX-License-Identifier: BSD-3-Clause */
/* The scenario: read, made from a recipe, or cut out of a trace of coflows. */
#include <errno.h>
#include <stdio.h>

#include <sched/recovery/generate.h>

#include <sched/recover/recover.h>

/* A failure that --fail adds to a scenario. */
static int add_failure(struct recovery_scenario *s, const char *name, struct error *err)
{
	int64_t server = recovery_find_server(s, name);
	bool survivor = false;

	if (server < 0) {
		char port[40];

		snprintf(port, sizeof port, "port%s", name);
		server = recovery_find_server(s, port);
	}
	if (server < 0)
		return error_set(err, ENOENT, "--fail: unknown server '%s'", name);
	recovery_fail_server(s, (uint32_t)server);
	for (uint32_t n = 0; n < s->server_count; n++)
		survivor = survivor || !s->servers[n].failed;
	return survivor ? 0 : error_set(err, EINVAL, "--fail %s: no surviving server", name);
}

static struct recovery_scenario *from_coflows(const struct recover_settings *settings, struct error *err)
{
	struct coflow_trace *trace = coflow_read(settings->coflows, err);
	struct recovery_scenario *s = trace ? coflow_scenario(trace, settings->at_s, settings->link_MBps, err) : NULL;

	if (trace && !s)
		error_prefix(err, "%s", settings->coflows);
	coflow_destroy(trace);
	return s;
}

struct recovery_scenario *recover_load(const struct recover_settings *settings, struct error *err)
{
	struct recovery_recipe recipe;
	struct recovery_scenario *s = NULL;

	if (settings->generate) {
		if (recovery_recipe_parse(settings->generate, &recipe, err) == 0)
			s = recovery_generate(&recipe, err);
	} else {
		s = settings->coflows ? from_coflows(settings, err) : recovery_read(settings->path, err);
	}
	if (s && settings->fail && add_failure(s, settings->fail, err) < 0) {
		recovery_destroy(s);
		return NULL;
	}
	return s;
}
