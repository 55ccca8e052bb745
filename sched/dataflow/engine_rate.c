/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Local search for the placement with the greatest sum of rates of all sources (engine rate), or the least sum of
 * weight / rate (engine completion). The first start is R-Storm's placement, the others are random. A pass tries:
 *
 * - for each task, the hosts of the tasks with which it exchanges data, other hosts on the switches of these hosts, and
 *   some random hosts
 * - for each task, swapping hosts with each other task of the job
 * - for each pair of hosts whose route passes a bottleneck of the job, the other routes of the pair
 *
 * Of each set of candidates, makes the best change, if it is an improvement. The search ends when a pass changes
 * nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sched/flows/max_min.h>

#include "decision.h"

/*
 * RANDOM_HOSTS: number of random hosts that a task tries. NEIGHBOURS: for each task with which it exchanges data, the
 * maximum number of hosts that it tries on the same switch as that task's host. Measured on 200 jobs on a Fat-tree of
 * 128 hosts: with 4, 8 or 16 random hosts per task, the results differ by under 2 %.
 */
enum { RANDOM_HOSTS = 6, NEIGHBOURS = 4 };
/*
 * After this many evaluations no further start begins, unless options->evaluations is set. This allows about three
 * starts for a job of 12 tasks. Measured on 20 scenarios of five such jobs on 30 hosts: with 4,000, the rates are 0.8 %
 * lower on a Fat-tree and 1.1 % higher on a Jellyfish network, in twice the time; with 1,000, they are 5 % lower. Small
 * jobs need few evaluations per start and get all eight starts.
 */
enum { STARTS_UNTIL = 2000 };

struct search {
	struct decision *decision;
	struct value best;
	uint32_t *candidates; /* hosts to try for the present task */
	uint32_t candidate_count;
	/*
	 * changes: number of changes so far, from 1. refused[low * task_count + high]: for two tasks, the value of
	 * `changes` when their swap was last tried. This swap is not tried again before the next change.
	 */
	uint32_t changes, *refused;
};

/* The best placement and routes of all starts. */
struct saved {
	struct value value;
	uint32_t *hosts;
	struct network_pair *pairs; /* NULL: no start has ended yet */
	uint32_t pair_count;
};

static void add_candidate(struct search *search, uint32_t host)
{
	for (uint32_t i = 0; i < search->candidate_count; i++)
		if (search->candidates[i] == host)
			return;
	if (decision_free_slots(search->decision, host) > 0)
		search->candidates[search->candidate_count++] = host;
}

/* Adds a host and up to NEIGHBOURS other hosts on its switch to the candidates. */
static void add_around(struct search *search, uint32_t host)
{
	const struct topology_adjacency *adjacency = search->decision->network->adjacency;
	const struct topology *topology = search->decision->network->topology;
	uint32_t node, first, count, added = 0;

	add_candidate(search, host);
	if (adjacency->first[host] == adjacency->first[host + 1])
		return;
	node = adjacency->to[adjacency->first[host]];
	first = adjacency->first[node];
	count = adjacency->first[node + 1] - first;
	for (uint32_t i = 0, start = (uint32_t)rng_below(&search->decision->rng, count);
	     i < count && added < NEIGHBOURS; i++) {
		uint32_t beside = adjacency->to[first + (start + i) % count];

		if (topology->nodes[beside].kind == TOPOLOGY_HOST && beside != host) {
			add_candidate(search, beside);
			added++;
		}
	}
}

/* Collects candidate hosts for a task, which has just been removed from its host. */
static void find_candidates(struct search *search, uint32_t task)
{
	const struct dataflow_graph *graph = search->decision->graph;
	const struct dataflow_job *job = search->decision->job;

	search->candidate_count = 0;
	for (uint32_t f = 0; f < graph->flow_count; f++) {
		uint32_t from = graph->flows[f].from, to = graph->flows[f].to;
		bool sends = dataflow_slot_leader(job, from) == task;
		uint32_t other = sends ? to : from;

		if (sends || dataflow_slot_leader(job, to) == task)
			if (job->hosts[other] != DATAFLOW_NOWHERE)
				add_around(search, job->hosts[other]);
	}
	for (int i = 0; i < RANDOM_HOSTS; i++)
		add_candidate(search, decision_random_host(search->decision));
}

/* Moves the task to the best candidate host if that is better than its present host. Returns true if the task moved. */
static bool improve_by_move(struct search *search, uint32_t task)
{
	struct decision *decision = search->decision;
	uint32_t before = decision->job->hosts[task], best_host = before;

	decision_lift(decision, task);
	find_candidates(search, task);
	for (uint32_t i = 0; i < search->candidate_count && !decision_done(decision); i++) {
		struct value value;

		if (search->candidates[i] == before)
			continue;
		decision_put(decision, task, search->candidates[i]);
		value = decision_evaluate(decision);
		decision_lift(decision, task);
		if (value_better(&value, &search->best)) {
			search->best = value;
			best_host = search->candidates[i];
		}
	}
	decision_put(decision, task, best_host);
	search->changes += best_host != before;
	return best_host != before;
}

static uint32_t *refused_swap(struct search *search, uint32_t one, uint32_t two)
{
	uint32_t low = one < two ? one : two, high = one < two ? two : one;

	return &search->refused[(size_t)low * search->decision->job->task_count + high];
}

static void swap(struct decision *decision, uint32_t one, uint32_t two)
{
	uint32_t host = decision->job->hosts[one];

	dataflow_place_slot(decision->job, one, decision->job->hosts[two]);
	dataflow_place_slot(decision->job, two, host);
}

static bool improve_by_swap(struct search *search, uint32_t task)
{
	struct decision *decision = search->decision;
	uint32_t best_task = task;

	for (uint32_t other = 0; other < decision->job->task_count && !decision_done(decision); other++) {
		struct value value;

		if (decision->pinned[other] || decision->job->hosts[other] == decision->job->hosts[task] ||
		    *refused_swap(search, task, other) == search->changes)
			continue;
		*refused_swap(search, task, other) = search->changes;
		swap(decision, task, other);
		value = decision_evaluate(decision);
		swap(decision, task, other);
		if (value_better(&value, &search->best)) {
			search->best = value;
			best_task = other;
		}
	}
	swap(decision, task, best_task);
	search->changes += best_task != task;
	return best_task != task;
}

static bool is_bottleneck(const struct decision *decision, const struct network_route *route)
{
	for (uint32_t s = 0; s < decision->graph->source_count; s++)
		for (uint32_t r = 0; r < route->count; r++)
			if (decision->bottlenecks[s] != MAX_MIN_OFFERED &&
			    decision->bottlenecks[s] / 2 == network_route_link(route, r) / 2)
				return true;
	return false;
}

static bool improve_route(struct search *search, uint32_t pair)
{
	struct decision *decision = search->decision;
	struct network_route routes[NETWORK_ROUTES_MAXIMUM];
	uint32_t numbers[NETWORK_ROUTES_MAXIMUM];
	struct network_pair best = decision->pairs[pair], before = best;
	int count = network_routes(decision->network, best.low, best.high, routes, numbers);

	for (int i = 0; i < count && !decision_done(decision); i++) {
		struct value value;

		if (numbers[i] == before.number)
			continue;
		decision->pairs[pair].route = routes[i];
		decision->pairs[pair].number = numbers[i];
		value = decision_evaluate(decision);
		if (value_better(&value, &search->best)) {
			search->best = value;
			best = decision->pairs[pair];
		}
	}
	decision->pairs[pair] = best;
	search->changes += best.number != before.number;
	return best.number != before.number;
}

/* Sets `users` to 1 for the decision's pairs that the placement uses, and to 0 for its other pairs. */
static void mark_pairs(struct decision *decision)
{
	const uint32_t *hosts = decision->job->hosts;

	for (uint32_t p = 0; p < decision->pair_count; p++)
		decision->pairs[p].users = 0;
	for (uint32_t f = 0; f < decision->graph->flow_count; f++) {
		uint32_t from = hosts[decision->graph->flows[f].from], to = hosts[decision->graph->flows[f].to];
		uint32_t at = from == to ? HASH_TABLE_NONE
					 : hash_table_find(&decision->pair_table, network_pair_key(from, to));

		if (at != HASH_TABLE_NONE)
			decision->pairs[at].users = 1;
	}
}

static bool improve_routes(struct search *search)
{
	struct decision *decision = search->decision;
	bool improved = false;

	decision_evaluate(decision); /* sets decision->bottlenecks */
	mark_pairs(decision);
	for (uint32_t p = 0; p < decision->pair_count && !decision_done(decision); p++)
		if (decision->pairs[p].users && is_bottleneck(decision, &decision->pairs[p].route))
			improved = improve_route(search, p) || improved;
	for (uint32_t p = 0; p < decision->pair_count; p++)
		decision->pairs[p].users = 0;
	return improved;
}

/* Improves the placement until a pass over all tasks changes nothing. */
static void climb(struct search *search, uint32_t *order)
{
	struct decision *decision = search->decision;
	bool improved = true;

	search->changes++;
	search->best = decision_evaluate(decision);
	while (improved && !decision_done(decision)) {
		improved = improve_routes(search);
		rng_shuffle(&decision->rng, order, decision->job->task_count, sizeof *order);
		for (uint32_t i = 0; i < decision->job->task_count && !decision_done(decision); i++) {
			if (decision->pinned[order[i]])
				continue;
			improved = improve_by_move(search, order[i]) || improved;
			improved = improve_by_swap(search, order[i]) || improved;
		}
	}
}

static bool keep(struct saved *saved, const struct decision *decision, const struct value *value)
{
	struct network_pair *pairs;

	if (saved->pairs && !value_better(value, &saved->value))
		return true;
	pairs = realloc(saved->pairs, decision->pair_count * sizeof *pairs + 1);
	if (!pairs)
		return false;
	saved->pairs = pairs;
	saved->pair_count = decision->pair_count;
	saved->value = *value;
	if (decision->pair_count > 0)
		memcpy(pairs, decision->pairs, decision->pair_count * sizeof *pairs);
	memcpy(saved->hosts, decision->job->hosts, decision->job->task_count * sizeof *saved->hosts);
	return true;
}

static void restore(const struct saved *saved, struct decision *decision)
{
	decision_lift_all(decision);
	for (uint32_t t = 0; t < decision->job->task_count; t++)
		if (!decision->pinned[t])
			decision_put(decision, t, saved->hosts[t]);
	if (saved->pair_count > 0)
		memcpy(decision->pairs, saved->pairs, saved->pair_count * sizeof *saved->pairs);
}

void engine_place_rate(struct decision *decision)
{
	uint32_t tasks = decision->job->task_count, *order = malloc((tasks + 1) * sizeof *order);
	struct search search = {.decision = decision};
	struct saved saved = {.hosts = malloc((tasks + 1) * sizeof *saved.hosts)};

	search.candidates = malloc((decision->host_count + 1) * sizeof *search.candidates);
	search.refused = calloc((size_t)tasks * tasks + 1, sizeof *search.refused);
	if (!order || !search.candidates || !search.refused || !saved.hosts)
		decision->code = -ENOMEM;
	for (uint32_t t = 0; decision->code == 0 && t < tasks; t++)
		order[t] = t;
	/* The first start is made in any case: a deadline may pass before a later job's search begins. */
	for (uint32_t start = 0; start < decision->options->starts && decision->code == 0; start++) {
		if (start > 0 && decision_done(decision))
			break;
		if (start > 0 && decision->options->evaluations == 0 && decision->evaluations >= STARTS_UNTIL)
			break;
		decision_lift_all(decision);
		if (start == 0)
			engine_place_rstorm(decision);
		else
			engine_place_random(decision);
		if (decision->code == 0)
			climb(&search, order);
		if (decision->code == 0 && !keep(&saved, decision, &search.best))
			decision->code = -ENOMEM;
	}
	if (decision->code == 0)
		restore(&saved, decision);
	free(order);
	free(search.candidates);
	free(search.refused);
	free(saved.hosts);
	free(saved.pairs);
}
