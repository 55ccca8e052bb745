/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of the placements with the least transfer time, prefers machines near the roots: moves each lost task, one after the
 * other, to the machine with the best predicted performance on which no link exceeds this time. Often other jobs
 * determine the slowest one; then nearly every machine will do, and the choice is that of the curves.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "recover_priv.h"

/* The most pairs of a lost task and a machine that are compared, some 100 ms; the most machines tried for a task. */
enum { COMPARED = 2000000, TRIED = 64 };

struct choice {
	double performance;
	uint32_t server;
};

struct near {
	const struct live_loss *loss;
	uint32_t *server;        /* by task */
	double *out, *in;        /* MB that leave and enter a server, by server */
	double *space;           /* free slots by server */
	uint32_t *first, *flows; /* those of task t are flows[first[t] .. first[t + 1] - 1] */
	struct choice *choices;  /* those of one task */
	double p;
};

/* Adds (sign 1) or removes (sign -1) a flow's MB. */
static void add_flow(struct near *near, const struct recovery_flow *flow, double sign)
{
	uint32_t from = near->server[flow->from], to = near->server[flow->to];
	double MB = recovery_flow_left_MB(near->loss->scenario, flow);

	if (from == to)
		return;
	near->out[from] += sign * MB;
	near->in[to] += sign * MB;
}

static void add_flows(struct near *near, uint32_t task, double sign)
{
	for (uint32_t i = near->first[task]; i < near->first[task + 1]; i++)
		add_flow(near, &near->loss->scenario->flows[near->flows[i]], sign);
}

/* True if the server's links carry their load within p: all jobs have the same weight. */
static bool is_within(const struct near *near, uint32_t server)
{
	const struct recovery_scenario *s = near->loss->scenario;
	double most = near->p * s->application_count * (1 + 1e-9);

	return near->out[server] <= most * s->servers[server].egress_MBps &&
	       near->in[server] <= most * s->servers[server].ingress_MBps;
}

/* Moves the task, unless a link of its server or of its peers' servers would then exceed p. */
static bool move(struct near *near, uint32_t task, uint32_t to)
{
	const struct recovery_scenario *s = near->loss->scenario;
	uint32_t from = near->server[task];
	bool within;

	add_flows(near, task, -1);
	near->server[task] = to;
	add_flows(near, task, 1);
	within = is_within(near, to);
	for (uint32_t i = near->first[task]; i < near->first[task + 1] && within; i++)
		within = is_within(near, near->server[s->flows[near->flows[i]].from]) &&
			 is_within(near, near->server[s->flows[near->flows[i]].to]);
	if (!within) {
		add_flows(near, task, -1);
		near->server[task] = from;
		add_flows(near, task, 1);
		return false;
	}
	near->space[from]++;
	near->space[to]--;
	return true;
}

static double performance_on(const struct near *near, uint32_t task, uint32_t server)
{
	const struct live_origin *origin = &near->loss->origins[task];
	enum latency_origin how;
	double rtt_us, performance;

	if (!live_fit_for(near->loss->live, origin->job, origin->task, (int32_t)near->loss->machine_of[server]))
		return -1;
	live_predict(near->loss->live, origin->job, near->loss->machine_of[server], &rtt_us, &performance, &how);
	return performance;
}

static int better(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->performance != y->performance)
		return x->performance > y->performance ? -1 : 1;
	return (x->server > y->server) - (x->server < y->server);
}

/* Tries the machines on which the task would perform better, the best first. */
static void improve(struct near *near, uint32_t task)
{
	const struct recovery_scenario *s = near->loss->scenario;
	double here = performance_on(near, task, near->server[task]);
	uint32_t count = 0;

	for (uint32_t n = 0; n < s->server_count; n++)
		if (near->space[n] > 0) {
			double performance = performance_on(near, task, n);

			if (performance > here)
				near->choices[count++] = (struct choice){performance, n};
		}
	qsort(near->choices, count, sizeof *near->choices, better);
	for (uint32_t c = 0; c < count && c < TRIED; c++)
		if (move(near, task, near->choices[c].server))
			return;
}

static int fill(struct near *near, const struct recovery_answer *answer)
{
	const struct recovery_scenario *s = near->loss->scenario;

	near->server = recovery_placement(s, answer);
	near->out = calloc(3 * (s->server_count + (size_t)1), sizeof *near->out);
	near->first = calloc(s->task_count + (size_t)2, sizeof *near->first);
	near->flows = calloc(2 * (size_t)s->flow_count + 1, sizeof *near->flows);
	near->choices = calloc(s->server_count + (size_t)1, sizeof *near->choices);
	if (!near->choices || !near->server || !near->out || !near->first || !near->flows)
		return -ENOMEM;
	near->in = near->out + s->server_count;
	near->space = near->in + s->server_count;
	for (uint32_t n = 0; n < s->server_count; n++)
		near->space[n] = s->servers[n].failed ? 0 : s->servers[n].cpu;
	for (uint32_t t = 0; t < s->task_count; t++)
		near->space[near->server[t]]--;
	for (uint32_t f = 0; f < s->flow_count; f++) {
		add_flow(near, &s->flows[f], 1);
		near->first[s->flows[f].from]++;
		near->first[s->flows[f].to]++;
	}
	for (uint32_t t = 0; t < s->task_count; t++)
		near->first[t + 1] += near->first[t];
	for (uint32_t f = 0; f < s->flow_count; f++) {
		near->flows[--near->first[s->flows[f].from]] = f;
		near->flows[--near->first[s->flows[f].to]] = f;
	}
	return 0;
}

int live_recovery_prefer_near(const struct live_loss *loss, struct recovery_answer *answer)
{
	struct near near = {.loss = loss, .p = answer->p};
	int code = 0;

	if ((uint64_t)answer->failed_count * loss->scenario->server_count > COMPARED)
		return 0;
	code = fill(&near, answer);
	for (uint32_t i = 0; i < answer->failed_count && code == 0; i++) {
		const struct live_origin *origin = &loss->origins[answer->failed[i]];

		if (live_task_number(origin->job, origin->task) != origin->job->root &&
		    flownet_root_machine(loss->live->net, origin->job->number) != FLOWNET_NONE)
			improve(&near, answer->failed[i]);
		answer->server[i] = near.server[answer->failed[i]];
	}
	free(near.server);
	free(near.out);
	free(near.first);
	free(near.flows);
	free(near.choices);
	return code;
}
