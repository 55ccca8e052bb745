/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts a scenario to the arrays that the solvers work on. */
#include "recovery_priv.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

static double weight_sum(const struct recovery_scenario *s)
{
	double sum = 0;

	for (uint32_t k = 0; k < s->application_count; k++)
		sum += s->applications[k].weight;
	return sum;
}

static uint32_t count_failed(const struct recovery_scenario *s)
{
	uint32_t count = 0;

	for (uint32_t t = 0; t < s->task_count; t++)
		count += s->tasks[t].failed;
	return count;
}

static int allocate(struct problem *p)
{
	size_t n = p->N + 1u, f = p->F + 1u;

	p->server = calloc(n, sizeof *p->server);
	p->BE = calloc(7 * n, sizeof *p->BE);
	p->failed = calloc(f, sizeof *p->failed);
	p->pair_MB = calloc(f * f, sizeof *p->pair_MB);
	p->pair_load = calloc(f * f, sizeof *p->pair_load);
	p->pair_out_load = calloc(f * f, sizeof *p->pair_out_load);
	if (!p->server || !p->BE || !p->failed || !p->pair_MB || !p->pair_load || !p->pair_out_load)
		return -ENOMEM;
	p->BI = p->BE + n;
	p->free_cpu = p->BI + n;
	p->fixedE = p->free_cpu + n;
	p->fixedI = p->fixedE + n;
	p->bE = p->fixedI + n;
	p->bI = p->bE + n;
	return 0;
}

static void fill_servers(struct problem *p)
{
	const struct recovery_scenario *s = p->scenario;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->server_count; i++) {
		p->survivor[i] = -1;
		if (s->servers[i].failed)
			continue;
		p->survivor[i] = n;
		p->server[n] = i;
		p->BE[n] = s->servers[i].egress_MBps;
		p->BI[n] = s->servers[i].ingress_MBps;
		p->free_cpu[n++] = s->servers[i].cpu;
	}
	for (uint32_t t = 0; t < s->task_count; t++) {
		if (!s->tasks[t].failed)
			p->free_cpu[p->survivor[s->tasks[t].server]] -= s->tasks[t].cpu;
	}
}

/* Lists the failed tasks. Sets index[t] to the number f of the scenario's task t, or to -1 if t has not failed. */
static void fill_failed(struct problem *p, int64_t *index)
{
	const struct recovery_scenario *s = p->scenario;
	double weights = weight_sum(s);
	uint32_t f = 0;

	for (uint32_t t = 0; t < s->task_count; t++) {
		const struct recovery_task *task = &s->tasks[t];

		index[t] = task->failed ? (int64_t)f : -1;
		if (!task->failed)
			continue;
		p->failed[f++] = (struct failed_task){.task = t,
						      .application = task->application,
						      .cpu = task->cpu,
						      .share = s->applications[task->application].weight / weights,
						      .relaunch_s = task->relaunch_s,
						      .stage = task->stage,
						      .restricted = task->has_backups};
		p->has_relaunch = p->has_relaunch || task->relaunch_s > 0;
	}
}

static int fill_allowed(struct problem *p)
{
	bool any = false;

	for (uint32_t f = 0; f < p->F; f++)
		any = any || p->failed[f].restricted;
	if (!any)
		return 0;
	p->allowed = malloc((size_t)p->F * (p->N + 1u));
	if (!p->allowed)
		return -ENOMEM;
	for (uint32_t f = 0; f < p->F; f++) {
		const struct recovery_task *task = &p->scenario->tasks[p->failed[f].task];
		unsigned char *row = p->allowed + (size_t)f * p->N;

		memset(row, !p->failed[f].restricted, p->N);
		for (uint32_t b = 0; b < task->backup_count; b++) {
			if (p->survivor[task->backups[b]] >= 0)
				row[p->survivor[task->backups[b]]] = 1;
		}
	}
	return 0;
}

static int compare_peers(const void *a, const void *b)
{
	const struct peer *x = a, *y = b;

	return (x->server > y->server) - (x->server < y->server);
}

/* Merges a task's peers that are on the same server. Returns the number of peers that remain. */
static uint32_t merge_peers(struct peer *peers, uint32_t count)
{
	uint32_t merged = 0;

	qsort(peers, count, sizeof *peers, compare_peers);
	for (uint32_t i = 0; i < count; i++) {
		if (merged > 0 && peers[merged - 1].server == peers[i].server) {
			peers[merged - 1].out_MB += peers[i].out_MB;
			peers[merged - 1].in_MB += peers[i].in_MB;
		} else {
			peers[merged++] = peers[i];
		}
	}
	return merged;
}

static void fill_flow(struct problem *p, const int64_t *index, const struct recovery_flow *flow, uint32_t *used,
		      double weights)
{
	const struct recovery_scenario *s = p->scenario;
	int64_t f = index[flow->from], g = index[flow->to];
	double MB = recovery_flow_left_MB(s, flow);

	if (f >= 0 && g >= 0) {
		p->pair_MB[(size_t)f * p->F + (size_t)g] += MB;
		p->has_pairs = p->has_pairs || MB > 0;
	} else if (f >= 0 || g >= 0) {
		struct failed_task *task = &p->failed[f >= 0 ? f : g];
		uint32_t other = f >= 0 ? flow->to : flow->from;

		p->peers[task->first_peer + used[f >= 0 ? f : g]++] =
			(struct peer){.server = (uint32_t)p->survivor[s->tasks[other].server],
				      .out_MB = f >= 0 ? MB : 0,
				      .in_MB = f >= 0 ? 0 : MB};
		task->out_MB += f >= 0 ? MB : 0;
		task->in_MB += f >= 0 ? 0 : MB;
	} else if (s->tasks[flow->from].server != s->tasks[flow->to].server) {
		double load = MB * s->applications[s->tasks[flow->from].application].weight / weights;

		p->fixedE[p->survivor[s->tasks[flow->from].server]] += load;
		p->fixedI[p->survivor[s->tasks[flow->to].server]] += load;
	}
}

static int fill_flows(struct problem *p, const int64_t *index)
{
	const struct recovery_scenario *s = p->scenario;
	uint32_t *used = calloc(p->F + 1u, sizeof *used);
	double weights = weight_sum(s);
	uint32_t total = 0;

	if (!used)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->flow_count; i++) {
		int64_t f = index[s->flows[i].from], g = index[s->flows[i].to];

		if ((f >= 0) != (g >= 0))
			p->failed[f >= 0 ? f : g].peer_count++;
	}
	for (uint32_t f = 0; f < p->F; f++) {
		p->failed[f].first_peer = total;
		total += p->failed[f].peer_count;
	}
	p->peers = calloc(total + 1u, sizeof *p->peers);
	if (!p->peers) {
		free(used);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < s->flow_count; i++)
		fill_flow(p, index, &s->flows[i], used, weights);
	for (uint32_t f = 0; f < p->F; f++)
		p->failed[f].peer_count = merge_peers(p->peers + p->failed[f].first_peer, p->failed[f].peer_count);
	free(used);
	return 0;
}

int recovery_problem_create(const struct recovery_scenario *scenario, struct problem *problem)
{
	int64_t *index = calloc(scenario->task_count + 1u, sizeof *index);
	int code = -ENOMEM;

	*problem = (struct problem){.scenario = scenario, .F = count_failed(scenario)};
	for (uint32_t n = 0; n < scenario->server_count; n++)
		problem->N += !scenario->servers[n].failed;
	problem->survivor = calloc(scenario->server_count + 1u, sizeof *problem->survivor);
	if (index && problem->survivor)
		code = allocate(problem);
	if (code == 0) {
		fill_servers(problem);
		fill_failed(problem, index);
		code = fill_allowed(problem);
	}
	if (code == 0)
		code = fill_flows(problem, index);
	free(index);
	if (code != 0)
		return code;
	for (uint32_t f = 0; f < problem->F; f++) {
		const struct failed_task *task = &problem->failed[f];
		bool talks = task->out_MB + task->in_MB > 0;

		for (uint32_t g = 0; g < problem->F && !talks; g++)
			talks = problem->pair_MB[(size_t)f * problem->F + g] +
					problem->pair_MB[(size_t)g * problem->F + f] >
				0;
		if (talks && task->share * task->relaunch_s > problem->least_p)
			problem->least_p = task->share * task->relaunch_s;
	}
	recovery_problem_scale(problem, INFINITY);
	return 0;
}

void recovery_problem_free(struct problem *problem)
{
	free(problem->server);
	free(problem->survivor);
	free(problem->BE);
	free(problem->failed);
	free(problem->peers);
	free(problem->pair_MB);
	free(problem->pair_load);
	free(problem->pair_out_load);
	free(problem->allowed);
}

/* The factor from MB to load at p, for flows of an application that start `delay_s` late. */
static double demand_factor(double share, double delay_s, double p)
{
	return delay_s > 0 ? share / (1 - share * delay_s / p) : share;
}

void recovery_problem_scale(struct problem *problem, double p)
{
	/* An application does not finish before its tasks run again; exactly at that time, a rate would be infinite. */
	double floor_p = problem->least_p * (1 + RECOVERY_TOLERANCE), total = 0;

	p = p > floor_p ? p : floor_p;
	memcpy(problem->bE, problem->fixedE, problem->N * sizeof *problem->bE);
	memcpy(problem->bI, problem->fixedI, problem->N * sizeof *problem->bI);
	for (uint32_t f = 0; f < problem->F; f++) {
		struct failed_task *task = &problem->failed[f];

		task->factor = demand_factor(task->share, task->relaunch_s, p);
		task->egress = task->out_MB * task->factor;
		task->ingress = task->in_MB * task->factor;
		for (uint32_t i = 0; i < task->peer_count; i++) {
			const struct peer *peer = &problem->peers[task->first_peer + i];

			problem->bE[peer->server] += peer->in_MB * task->factor;
			problem->bI[peer->server] += peer->out_MB * task->factor;
		}
	}
	for (uint32_t f = 0; problem->has_pairs && f < problem->F; f++) {
		struct failed_task *task = &problem->failed[f];

		for (uint32_t g = 0; g < problem->F; g++) {
			double late = fmax(task->relaunch_s, problem->failed[g].relaunch_s);
			double factor = demand_factor(task->share, late, p);
			double out = problem->pair_MB[(size_t)f * problem->F + g] * factor;
			double in = problem->pair_MB[(size_t)g * problem->F + f] * factor;

			task->egress += out;
			task->ingress += in;
			problem->pair_load[(size_t)f * problem->F + g] = out + in;
			problem->pair_out_load[(size_t)f * problem->F + g] = out;
		}
	}
	for (uint32_t f = 0; f < problem->F; f++)
		total += problem->failed[f].egress + problem->failed[f].ingress;
	problem->noise = 64 * DBL_EPSILON * total;
}

bool recovery_problem_allows(const struct problem *problem, uint32_t f, uint32_t n)
{
	return (!problem->allowed || problem->allowed[(size_t)f * problem->N + n]) &&
	       problem->failed[f].cpu <= problem->free_cpu[n] + RECOVERY_CPU_TOLERANCE;
}

double recovery_problem_local_MB(const struct problem *problem, uint32_t f, uint32_t n)
{
	const struct peer *peers = problem->peers + problem->failed[f].first_peer;
	uint32_t at;

	SEARCH_LOWER_BOUND(at, 0, problem->failed[f].peer_count, peers[at].server < n);
	if (at == problem->failed[f].peer_count || peers[at].server != n)
		return 0;
	return peers[at].out_MB + peers[at].in_MB;
}
