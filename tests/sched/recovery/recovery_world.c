/* SPDX-License-Identifier: BSD-3-Clause */
#include "recovery_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_servers(struct recovery_scenario *s, struct rng *rng, const struct world_options *o)
{
	uint32_t count = 2 + (uint32_t)rng_below(rng, o->servers - 1);

	for (uint32_t n = 0; n <= count; n++) {
		char name[16];
		struct recovery_server server = {.name = name, .cpu = 1000, .egress_MBps = 10, .ingress_MBps = 10};

		snprintf(name, sizeof name, "s%u", n);
		if (o->links) {
			server.egress_MBps = 1 + (double)rng_below(rng, 20);
			server.ingress_MBps = 1 + (double)rng_below(rng, 20);
		}
		recovery_add_server(s, &server);
	}
}

static double volume(struct rng *rng, const struct world_options *o)
{
	return o->ties ? 10 * (1 + (double)rng_below(rng, 3)) : 1 + 99 * rng_uniform(rng);
}

static void add_application(struct recovery_scenario *s, struct rng *rng, const struct world_options *o, uint32_t k)
{
	uint32_t count = 2 + (uint32_t)rng_below(rng, o->tasks - 1), first = s->task_count;
	char name[16];

	snprintf(name, sizeof name, "a%u", k);
	recovery_add_application(s, name, o->weights ? 1 + (double)rng_below(rng, 4) : 1);
	for (uint32_t i = 0; i < count; i++) {
		struct recovery_task task = {.name = name, .cpu = o->cpu ? 1 + (double)rng_below(rng, 3) : 1};

		snprintf(name, sizeof name, "t%u", i);
		task.server = (uint32_t)rng_below(rng, s->server_count);
		task.stage = 1 + (int)rng_below(rng, 2);
		task.relaunch_s = o->relaunch && rng_below(rng, 2) ? 2 * rng_uniform(rng) : 0;
		recovery_add_task(s, &task);
	}
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t j = 0; j < count; j++) {
			struct recovery_flow flow = {.from = first + i, .to = first + j, .MB = volume(rng, o)};

			flow.sent_MB = o->ties ? 0 : flow.MB * 0.9 * rng_uniform(rng);
			if (i != j && rng_below(rng, 5) < 2)
				recovery_add_flow(s, &flow);
		}
	}
}

/*
 * Server 0 fails with a random number of its tasks; its other tasks are moved to other servers first. If it has fewer
 * tasks, others fail too.
 */
static void fail(struct recovery_scenario *s, struct rng *rng, const struct world_options *o)
{
	uint32_t wanted = 1 + (uint32_t)rng_below(rng, o->failed), failed = 0;

	s->servers[0].failed = true;
	for (uint32_t t = 0; t < s->task_count; t++) {
		if (s->tasks[t].server != 0)
			continue;
		if (failed == wanted)
			s->tasks[t].server = 1 + (uint32_t)rng_below(rng, s->server_count - 1);
		else
			s->tasks[t].failed = ++failed;
	}
	for (int i = 0; i < 20 && failed < wanted; i++) {
		struct recovery_task *task = &s->tasks[rng_below(rng, s->task_count)];

		failed += !task->failed;
		task->failed = true;
	}
	for (uint32_t f = 0; f < s->flow_count && !o->talk; f++) {
		if (s->tasks[s->flows[f].from].failed && s->tasks[s->flows[f].to].failed)
			s->flows[f].MB = s->flows[f].sent_MB = 0;
	}
}

static void limit_places(struct recovery_scenario *s, struct rng *rng, const struct world_options *o)
{
	for (uint32_t n = 0; n < s->server_count && o->cpu; n++) {
		double used = 0;

		for (uint32_t t = 0; t < s->task_count; t++)
			used += s->tasks[t].server == n ? s->tasks[t].cpu : 0;
		s->servers[n].cpu = used + (double)rng_below(rng, 4);
	}
	for (uint32_t t = 0; t < s->task_count && o->backups; t++) {
		if (rng_below(rng, 2))
			continue;
		s->tasks[t].has_backups = true;
		for (uint32_t n = 0; n < s->server_count; n++) {
			if (rng_below(rng, 2))
				recovery_add_backup(s, t, n);
		}
	}
}

struct recovery_scenario *world_create(struct rng *rng, const struct world_options *options)
{
	struct recovery_scenario *s = recovery_create();
	uint32_t applications = 1 + (uint32_t)rng_below(rng, options->applications);

	add_servers(s, rng, options);
	for (uint32_t k = 0; k < applications; k++)
		add_application(s, rng, options, k);
	fail(s, rng, options);
	limit_places(s, rng, options);
	return s;
}

bool world_is_legal(const struct recovery_scenario *s, const uint32_t *server)
{
	for (uint32_t n = 0; n < s->server_count; n++) {
		double used = 0;
		bool takes = false;

		for (uint32_t t = 0; t < s->task_count; t++) {
			used += server[t] == n ? s->tasks[t].cpu : 0;
			takes = takes || (server[t] == n && s->tasks[t].failed);
		}
		if (takes && (s->servers[n].failed || used > s->servers[n].cpu + 1e-9))
			return false;
	}
	for (uint32_t t = 0; t < s->task_count; t++) {
		bool listed = !s->tasks[t].failed || !s->tasks[t].has_backups;

		for (uint32_t b = 0; b < s->tasks[t].backup_count; b++)
			listed = listed || s->tasks[t].backups[b] == server[t];
		if (!listed)
			return false;
	}
	return true;
}

/* The maximum utilisation of a link if application k finishes at p / share_k; infinite if that is too early. */
static double use_at(const struct recovery_scenario *s, const uint32_t *server, double p, double *out, double *in)
{
	double weights = 0, worst = 0;

	memset(out, 0, s->server_count * sizeof *out);
	memset(in, 0, s->server_count * sizeof *in);
	for (uint32_t k = 0; k < s->application_count; k++)
		weights += s->applications[k].weight;
	for (uint32_t i = 0; i < s->flow_count; i++) {
		const struct recovery_task *a = &s->tasks[s->flows[i].from], *b = &s->tasks[s->flows[i].to];
		double time = p * weights / s->applications[a->application].weight, late = 0;
		bool restarts = a->failed || b->failed;
		double MB = s->flows[i].MB - (restarts ? 0 : s->flows[i].sent_MB);

		if (a->failed)
			late = a->relaunch_s;
		if (b->failed && b->relaunch_s > late)
			late = b->relaunch_s;
		if (restarts && MB > 0 && time < late)
			return INFINITY;
		if (server[s->flows[i].from] == server[s->flows[i].to] || MB <= 0)
			continue;
		if (time <= late)
			return INFINITY;
		out[server[s->flows[i].from]] += MB / (time - late);
		in[server[s->flows[i].to]] += MB / (time - late);
	}
	for (uint32_t n = 0; n < s->server_count; n++)
		worst = fmax(worst, fmax(out[n] / s->servers[n].egress_MBps, in[n] / s->servers[n].ingress_MBps));
	return worst;
}

struct world_value world_evaluate(const struct recovery_scenario *s, const uint32_t *server)
{
	double *out = calloc(2 * s->server_count, sizeof *out), *in = out + s->server_count, low = 0, high = 1;
	struct world_value value = {0};
	bool relaunch = false;

	for (uint32_t t = 0; t < s->task_count; t++)
		relaunch = relaunch || s->tasks[t].relaunch_s > 0;
	if (relaunch) {
		while (use_at(s, server, high, out, in) > 1)
			high *= 2;
		for (int i = 0; i < 100; i++) {
			double middle = (low + high) / 2;

			*(use_at(s, server, middle, out, in) > 1 ? &low : &high) = middle;
		}
		value.p = high < 1e-20 ? 0 : high;
	} else {
		value.p = use_at(s, server, 1, out, in);
	}
	if (value.p > 0)
		use_at(s, server, value.p, out, in);
	for (uint32_t t = 0; t < s->task_count; t++) {
		uint32_t n = server[t];

		if (s->tasks[t].failed)
			value.touched = fmax(value.touched, value.p * fmax(out[n] / s->servers[n].egress_MBps,
									   in[n] / s->servers[n].ingress_MBps));
	}
	for (uint32_t i = 0; i < s->flow_count; i++) {
		uint32_t from = s->flows[i].from, to = s->flows[i].to;

		if ((s->tasks[from].failed || s->tasks[to].failed) && server[from] != server[to])
			value.network_MB += s->flows[i].MB;
	}
	free(out);
	return value;
}

static int compare(double a, double b)
{
	if (fabs(a - b) <= 1e-7 * fmax(1, fmax(fabs(a), fabs(b))))
		return 0;
	return a < b ? -1 : 1;
}

int world_compare(const struct world_value *a, const struct world_value *b)
{
	int order = compare(a->p, b->p);

	if (order == 0)
		order = compare(a->touched, b->touched);
	return order ? order : compare(a->network_MB, b->network_MB);
}

bool world_brute_force(const struct recovery_scenario *s, struct world_value *best_value, uint32_t *best)
{
	uint32_t *server = calloc(s->task_count, sizeof *server), t;
	bool found = false;

	for (t = 0; t < s->task_count; t++)
		server[t] = s->tasks[t].failed ? 0 : s->tasks[t].server;
	do {
		if (world_is_legal(s, server)) {
			struct world_value value = world_evaluate(s, server);

			if (!found || world_compare(&value, best_value) < 0) {
				*best_value = value;
				memcpy(best, server, s->task_count * sizeof *best);
			}
			found = true;
		}
		for (t = 0; t < s->task_count; t++) {
			if (!s->tasks[t].failed)
				continue;
			if (++server[t] < s->server_count)
				break;
			server[t] = 0;
		}
	} while (t < s->task_count);
	free(server);
	return found;
}
