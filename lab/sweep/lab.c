/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/sweep/world.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/log.h>

#include "world_priv.h"

enum { INJECTOR_WORDS = 32, RULE_BYTES = 128 };

int sweep_blame(struct sweep_world *world, const char *value, struct error *err)
{
	long line = options_line_of(world->strings, value);

	world->plan_is_bad = line > 0;
	return line > 0 ? error_prefix(err, "%s:%ld", world->file, line) : error_code(err, EINVAL);
}

/* Returns "netns:lab0-h1" for "h1", or the text itself if it is not a host of the lab. */
static const char *resolve_host(const struct lab *lab, const char *text, char resolved[SWEEP_HOST_BYTES])
{
	const struct lab_host *host = lab_find_host(lab, text);

	if (!host)
		return text;
	snprintf(resolved, SWEEP_HOST_BYTES, "netns:%s", host->netns);
	return resolved;
}

int sweep_lab_plan(struct sweep_world *world, struct error *err)
{
	const struct sweep_plan *plan = world->plan;
	const char *places[] = {plan->lab_inject};
	struct lab_spec spec = {.name = plan->lab,
				.hosts = (int)plan->lab_hosts,
				.racks = (int)plan->lab_racks,
				.slots = 1,
				.mtu_bytes = 1500,
				.places = places};

	if (lab_check_name(plan->lab, err) != 0)
		return sweep_blame(world, plan->lab, err);
	if (lab_plan(&spec, &world->lab, err) != 0) {
		world->plan_is_bad = true;
		return error_prefix(err, "%s", world->file);
	}
	spec.place_count = 1;
	return lab_plan(&spec, &world->lab, err) == 0 ? 0 : sweep_blame(world, plan->lab_inject, err);
}

int sweep_lab_resolve(struct sweep_world *world, struct error *err)
{
	struct sweep_plan *plan = world->plan;
	const struct lab_host *server, *client;

	server = lab_find_host(&world->lab, plan->server_host);
	if (server && !plan->server_address)
		plan->server_address = server->address;
	client = lab_find_host(&world->lab, plan->client_host);
	if (client && !plan->client_address)
		plan->client_address = client->address;
	world->server_name = plan->server_host;
	world->client_name = plan->client_host;
	plan->injector = world->lab.injectors[0].control;
	plan->server_host = resolve_host(&world->lab, plan->server_host, world->server_host);
	plan->client_host = resolve_host(&world->lab, plan->client_host, world->client_host);
	if (plan->rtt_check && !plan->server_address) {
		error_set(err, EINVAL,
			  "server-host '%s' is not a host of the lab, so its address is unknown: set server-address "
			  "for rtt-check",
			  plan->server_host);
		return sweep_blame(world, plan->server_host, err);
	}
	return 0;
}

/*
 * Takes the injector's CPU out of the affinity of this process. The server and the client inherit the affinity, so they
 * and the injector do not delay each other. Does nothing on a machine with one CPU, or if the injector's arguments
 * contain --cpus.
 */
static void leave_injector_cpu(const struct sweep_plan *plan)
{
	cpu_set_t cpus;
	int cpu = lab_injector_cpu(0);

	if (cpu < 0 || (plan->lab_injector_arguments && strstr(plan->lab_injector_arguments, "--cpus")) ||
	    sched_getaffinity(0, sizeof cpus, &cpus) != 0)
		return;
	CPU_CLR(cpu, &cpus);
	if (CPU_COUNT(&cpus) > 0)
		sched_setaffinity(0, sizeof cpus, &cpus);
}

/*
 * Reserves the lab's name for this sweep until the lab is removed. If another sweep has reserved it, the error names
 * that process.
 */
static int claim_lab(const struct sweep_plan *plan, struct sweep_world *world, struct error *err)
{
	int other = 0, code = sweeper_claim_lab(plan->lab, &world->claim, &other, err);
	char who[40] = "";

	if (!code)
		code = lab_check_free(plan->lab, err);
	if (code == -EEXIST)
		other = sweeper_find_other(plan->injector); /* the other sweep may use a lab that it has not made */
	if (code != -EAGAIN && !(code == -EEXIST && other > 0))
		return code;
	if (other > 0)
		snprintf(who, sizeof who, ", process %d,", other);
	return error_set(err, EBUSY,
			 "another sweep%s uses the lab '%s': wait until it has ended, or give this one another --lab",
			 who, plan->lab);
}

int sweep_world_make_lab(void *context, struct error *err)
{
	struct sweep_world *world = context;
	const struct sweep_plan *plan = world->plan;
	char *text = strdup(plan->lab_injector_arguments ? plan->lab_injector_arguments : ""), *save = NULL;
	const char *words[INJECTOR_WORDS + 3] = {NULL};
	char rule[RULE_BYTES];
	size_t count = 0;
	int code = text ? claim_lab(plan, world, err) : error_set(err, ENOMEM, "out of memory");

	if (!code) {
		world->guard = lab_guard_start(plan->lab, err);
		code = world->guard ? lab_up(&world->lab, err) : error_code(err, EIO);
		/* Another process created the lab first, so the guard must not remove it. */
		if (code == -EEXIST) {
			lab_guard_release(world->guard, false, NULL);
			world->guard = NULL;
		}
	}
	for (char *word = text ? strtok_r(text, " \t", &save) : NULL; word && count < INJECTOR_WORDS;
	     word = strtok_r(NULL, " \t", &save))
		words[count++] = word;
	if (plan->rule) {
		snprintf(rule, sizeof rule, "%s delay=0", plan->rule);
		words[count++] = "--rule";
		words[count++] = rule;
	}
	if (!code)
		code = lab_start_injectors(&world->lab, world->program, 0, words, err);
	if (!code)
		leave_injector_cpu(plan);
	free(text);
	return code;
}

void sweep_world_release(struct sweep_world *world, bool keep)
{
	struct error err = {0};

	if (world->guard && lab_guard_release(world->guard, !keep, &err) < 0)
		log_warning("%s", err.text);
	world->guard = NULL;
	if (world->claim >= 0)
		close(world->claim);
	world->claim = -1;
}
