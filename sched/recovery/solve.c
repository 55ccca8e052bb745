/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves a scenario, and computes figures of a placement. */
#include "recovery_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/rng.h>

const char *const recovery_filter_names[] = {"exact", "peers", "paper", "none", NULL};

const char *recovery_status_name(enum recovery_status status)
{
	static const char *const names[] = {"optimal", "feasible", "infeasible", "unknown"};

	return names[status];
}

void recovery_answer_free(struct recovery_answer *answer)
{
	free(answer->failed);
	free(answer->server);
	free(answer->proof_tasks);
	free(answer->proof_servers);
	*answer = (struct recovery_answer){0};
}

/*
 * Finds a first placement, greedily or else by bin packing. Returns false, with the answer's status set, if it finds
 * none.
 */
static bool start(struct problem *p, const bool *candidate, uint32_t *place, double *load, struct ns deadline,
		  struct recovery_answer *answer, int *code)
{
	bool *all = malloc((p->F + 1u) * sizeof *all);
	enum pack_result packed = PACK_UNKNOWN;

	if (recovery_greedy_place(p, candidate, place, load)) {
		recovery_greedy_improve(p, candidate, place, load);
		free(all);
		return true;
	}
	if (all) {
		memset(all, 1, p->F * sizeof *all);
		packed = recovery_pack_tasks(p, candidate, all, place, deadline);
	}
	free(all);
	if (packed == PACK_FITS) {
		recovery_greedy_improve(p, candidate, place, load);
		return true;
	}
	answer->status = packed == PACK_DOES_NOT ? RECOVERY_INFEASIBLE : RECOVERY_UNKNOWN;
	if (packed == PACK_DOES_NOT)
		*code = recovery_pack_prove(p, candidate, answer, deadline);
	return false;
}

static int write_placement(struct problem *p, const uint32_t *place, double *load, struct recovery_answer *answer)
{
	struct value value = recovery_problem_evaluate(p, place, load);

	answer->server = calloc(p->F + 1u, sizeof *answer->server);
	if (!answer->server)
		return -ENOMEM;
	for (uint32_t f = 0; f < p->F; f++)
		answer->server[f] = p->server[place[f]];
	answer->p = value.p;
	answer->touched = value.touched;
	answer->network_MB = value.network_MB;
	if (answer->status == RECOVERY_OPTIMAL)
		answer->bound = value.p;
	answer->gap = value.p > 0 && isfinite(value.p) ? fmax(0, (value.p - answer->bound) / value.p) : 0;
	return 0;
}

/*
 * Removes the placement of an answer whose p is infinite, because some flow would never end. The status becomes
 * infeasible if the placement is proved optimal, and unknown if not. load: the loads of this placement.
 */
static int refuse_endless(struct problem *p, const bool *candidate, const uint32_t *place, const double *load,
			  struct recovery_answer *answer)
{
	bool *included = calloc(p->F + 1u, sizeof *included), any = false;
	int code = 0;

	free(answer->server);
	answer->server = NULL;
	answer->proof_of_links = answer->status == RECOVERY_OPTIMAL;
	answer->status = answer->proof_of_links ? RECOVERY_INFEASIBLE : RECOVERY_UNKNOWN;
	if (!included)
		return -ENOMEM;
	for (uint32_t f = 0; f < p->F; f++) {
		uint32_t n = place[f];

		included[f] = (p->BE[n] <= 0 && load[n] > 0) || (p->BI[n] <= 0 && load[p->N + n] > 0);
		any = any || included[f];
	}
	/*
	 * If no task is included, the link without capacity belongs to a server without failed tasks. Any failed task
	 * may have peers on that server, so all tasks are included.
	 */
	for (uint32_t f = 0; f < p->F && !any; f++)
		included[f] = true;
	if (answer->proof_of_links)
		code = recovery_pack_write_proof(p, candidate, included, answer);
	free(included);
	return code;
}

static int solve_problem(struct problem *p, const struct recovery_options *options, struct ns deadline,
			 struct recovery_answer *answer)
{
	bool *candidate = calloc(p->N + 1u, sizeof *candidate), found = true;
	uint32_t *place = calloc(p->F + 1u, sizeof *place);
	double *load = calloc(3 * (p->N + 1u), sizeof *load);
	int code = candidate && place && load ? recovery_filter_apply(p, options, candidate) : -ENOMEM;

	for (uint32_t n = 0; n < p->N && code == 0; n++)
		answer->candidate_count += candidate[n];
	if (code == 0)
		found = start(p, candidate, place, load, deadline, answer, &code);
	if (code == 0 && found)
		code = recovery_search_solve(p, candidate, place, deadline, answer);
	if (code == 0 && found)
		code = write_placement(p, place, load, answer);
	if (code == 0 && found && isinf(answer->p))
		code = refuse_endless(p, candidate, place, load, answer);
	free(candidate);
	free(place);
	free(load);
	return code;
}

int recovery_solve(const struct recovery_scenario *scenario, const struct recovery_options *options,
		   struct recovery_answer *answer, struct error *err)
{
	struct ns begin = ns_now_monotonic(), deadline = {0};
	struct problem problem;
	int code;

	*answer = (struct recovery_answer){0};
	if (options->deadline_ms > 0)
		deadline.v = begin.v + (int64_t)(options->deadline_ms * 1e6);
	code = recovery_problem_create(scenario, &problem);
	if (code == 0) {
		answer->failed = calloc(problem.F + 1u, sizeof *answer->failed);
		code = answer->failed ? 0 : -ENOMEM;
	}
	if (code == 0) {
		answer->failed_count = problem.F;
		for (uint32_t f = 0; f < problem.F; f++)
			answer->failed[f] = problem.failed[f].task;
		code = solve_problem(&problem, options, deadline, answer);
	}
	recovery_problem_free(&problem);
	answer->solve_s = ns_to_s(ns_sub(ns_now_monotonic(), begin));
	if (code == 0)
		return 0;
	recovery_answer_free(answer);
	return error_set(err, ENOMEM, "out of memory");
}

uint32_t *recovery_placement(const struct recovery_scenario *scenario, const struct recovery_answer *answer)
{
	uint32_t *server = malloc((scenario->task_count + 1u) * sizeof *server);

	for (uint32_t t = 0; t < scenario->task_count && server; t++)
		server[t] = scenario->tasks[t].server;
	for (uint32_t i = 0; i < answer->failed_count && server && answer->server; i++)
		server[answer->failed[i]] = answer->server[i];
	return server;
}

double recovery_evaluate(const struct recovery_scenario *scenario, const uint32_t *server, struct recovery_load *load)
{
	struct problem problem;
	double p = NAN, *loads = NULL;
	uint32_t *place = NULL;

	if (recovery_problem_create(scenario, &problem) == 0) {
		loads = calloc(2 * (problem.N + 1u), sizeof *loads);
		place = calloc(problem.F + 1u, sizeof *place);
	}
	if (loads && place) {
		for (uint32_t f = 0; f < problem.F; f++)
			place[f] = (uint32_t)problem.survivor[server[problem.failed[f].task]];
		p = recovery_problem_evaluate(&problem, place, loads).p;
	}
	for (uint32_t i = 0; i < scenario->server_count && load; i++)
		load[i] = (struct recovery_load){0};
	for (uint32_t n = 0; n < problem.N && load && loads && place; n++)
		load[problem.server[n]] =
			(struct recovery_load){.egress = problem.BE[n] > 0 ? loads[n] / problem.BE[n] : 0,
					       .ingress = problem.BI[n] > 0 ? loads[problem.N + n] / problem.BI[n] : 0};
	free(loads);
	free(place);
	recovery_problem_free(&problem);
	return p;
}

double recovery_evaluate_before(const struct recovery_scenario *s)
{
	double *out = calloc(2 * (s->server_count + 1u), sizeof *out), *in = out ? out + s->server_count : NULL;
	double weights = 0, p = out ? 0 : NAN;

	for (uint32_t k = 0; k < s->application_count; k++)
		weights += s->applications[k].weight;
	for (uint32_t i = 0; i < s->flow_count && out; i++) {
		const struct recovery_flow *flow = &s->flows[i];
		uint32_t from = s->tasks[flow->from].server, to = s->tasks[flow->to].server;
		double share = s->applications[s->tasks[flow->from].application].weight / weights;

		if (from == to)
			continue;
		out[from] += (flow->MB - flow->sent_MB) * share;
		in[to] += (flow->MB - flow->sent_MB) * share;
	}
	for (uint32_t n = 0; n < s->server_count && out; n++) {
		if (out[n] > 0)
			p = fmax(p, out[n] / s->servers[n].egress_MBps);
		if (in[n] > 0)
			p = fmax(p, in[n] / s->servers[n].ingress_MBps);
	}
	free(out);
	return p;
}

double recovery_transfer_time_s(const struct recovery_scenario *s, uint32_t application, double p)
{
	double weights = 0;

	for (uint32_t k = 0; k < s->application_count; k++)
		weights += s->applications[k].weight;
	return p * weights / s->applications[application].weight;
}

void recovery_rates(const struct recovery_scenario *s, const uint32_t *server, double p, double *rate_MBps)
{
	for (uint32_t i = 0; i < s->flow_count; i++) {
		const struct recovery_flow *flow = &s->flows[i];
		const struct recovery_task *from = &s->tasks[flow->from], *to = &s->tasks[flow->to];
		double late_s = fmax(from->failed ? from->relaunch_s : 0, to->failed ? to->relaunch_s : 0);
		double left_MB = recovery_flow_left_MB(s, flow);
		double time_s = recovery_transfer_time_s(s, from->application, p) - late_s;

		rate_MBps[i] = server[flow->from] == server[flow->to] || left_MB <= 0 ? 0 : left_MB / time_s;
	}
}

bool recovery_random_placement(const struct recovery_scenario *s, struct rng *rng, const bool *candidate,
			       uint32_t *server)
{
	enum { ATTEMPTS = 100 };
	uint32_t *fits = malloc((s->server_count + 1u) * sizeof *fits);
	double *space = malloc((s->server_count + 1u) * sizeof *space);
	bool complete = false;

	for (int attempt = 0; attempt < ATTEMPTS && fits && space && !complete; attempt++) {
		complete = true;
		for (uint32_t n = 0; n < s->server_count; n++)
			space[n] = s->servers[n].cpu;
		for (uint32_t t = 0; t < s->task_count; t++) {
			server[t] = s->tasks[t].server;
			space[server[t]] -= s->tasks[t].failed ? 0 : s->tasks[t].cpu;
		}
		for (uint32_t t = 0; t < s->task_count && complete; t++) {
			const struct recovery_task *task = &s->tasks[t];
			uint32_t count = 0;

			if (!task->failed)
				continue;
			for (uint32_t n = 0; n < s->server_count; n++) {
				bool allowed = !task->has_backups;

				for (uint32_t b = 0; b < task->backup_count; b++)
					allowed = allowed || task->backups[b] == n;
				if (allowed && !s->servers[n].failed && (!candidate || candidate[n]) &&
				    task->cpu <= space[n] + RECOVERY_CPU_TOLERANCE)
					fits[count++] = n;
			}
			complete = count > 0;
			if (complete) {
				server[t] = fits[rng_below(rng, count)];
				space[server[t]] -= task->cpu;
			}
		}
	}
	free(fits);
	free(space);
	return complete;
}

int recovery_candidates(const struct recovery_scenario *scenario, const struct recovery_options *options,
			bool *candidate)
{
	struct problem problem;
	bool *chosen = NULL;
	int code = recovery_problem_create(scenario, &problem);

	if (code == 0) {
		chosen = calloc(problem.N + 1u, sizeof *chosen);
		code = chosen ? recovery_filter_apply(&problem, options, chosen) : -ENOMEM;
	}
	memset(candidate, 0, scenario->server_count * sizeof *candidate);
	for (uint32_t n = 0; n < problem.N && code == 0; n++)
		candidate[problem.server[n]] = chosen[n];
	free(chosen);
	recovery_problem_free(&problem);
	return code;
}
