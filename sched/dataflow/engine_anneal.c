/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The paper's engine: simulated annealing over the placement (algorithm 2), which anneals the routes (algorithm 3)
 * after each step. Faults of the printed pseudo-code, and what is done here:
 *
 *   computeUtil never adds sinkUtil to util                           added up, over all jobs
 *   transition() returns a probability where a truth value is needed  drawn with that probability
 *   t <- t^0.95 cools to 1, not to 0, so that the unit matters         kept: rates are in MB/s
 *   currUtil starts at 0: the first state is always accepted           kept
 *   states change in place: a rejected step stays, bestState aliases   undone, and the best state is copied
 *   get(sink, root) returns k paths                                    the route in use, else the first
 *   the chosen routes are dropped when genState returns                kept
 *   one host for all tasks is infinitely fast                          at most local_MBps per sink
 *   path and de-path never leave the fewest hops                       kept, as described in the text
 *   tasks next to neither a source nor a sink never move               kept
 *   "5 times" in the pseudo-code, "5 additional times" in the text      repeats (5)
 *
 * Available bandwidth is not defined in the paper: here a link's capacity divided by the flows on it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decision.h"

struct annealing {
	struct decision *decision;
	uint32_t *flows_on; /* by link */
	double *priority;   /* by task: source and sink tasks next to it */
	double priority_sum;
	uint32_t *best_hosts;
	struct network_pair *best_pairs;
	uint32_t best_pair_count;
	double best;
	double *reach; /* by task: for the least bandwidth along the flows */
};

static double bandwidth(const struct annealing *annealing, const struct network_route *route)
{
	double least = INFINITY;

	for (uint32_t i = 0; i < route->count; i++) {
		uint32_t flows = annealing->flows_on[route->resources[i] / 2];

		least = fmin(least,
			     network_capacity(annealing->decision->network, route->resources[i]) / (flows ? flows : 1));
	}
	return least;
}

static double between(struct annealing *annealing, uint32_t from, uint32_t to)
{
	struct network_pair *pair;

	if (from == to)
		return INFINITY;
	pair = decision_pair(annealing->decision, from, to);
	return pair ? bandwidth(annealing, &pair->route) : 0;
}

/* Widest way along the flows from a source to every task (Bellman and Ford, until nothing changes). */
static void widen(struct annealing *annealing, const uint32_t *hosts, const struct dataflow_graph *graph,
		  uint32_t source)
{
	bool changed = true;

	memset(annealing->reach, 0, graph->task_count * sizeof *annealing->reach);
	annealing->reach[source] = INFINITY;
	while (changed) {
		changed = false;
		for (uint32_t f = 0; f < graph->flow_count; f++) {
			const struct dataflow_flow *flow = &graph->flows[f];
			double width = annealing->reach[flow->from];

			if (width <= annealing->reach[flow->to])
				continue;
			width = fmin(width, between(annealing, hosts[flow->from], hosts[flow->to]));
			if (width > annealing->reach[flow->to]) {
				annealing->reach[flow->to] = width;
				changed = true;
			}
		}
	}
}

/* Sum over sinks of the least bandwidth from its roots, for one job. least[]: by task, work space. */
static double job_utility(struct annealing *annealing, const uint32_t *hosts, const struct dataflow_graph *graph,
			  double *least)
{
	double sum = 0, most = annealing->decision->options->local_MBps;

	for (uint32_t t = 0; t < graph->task_count; t++)
		least[t] = INFINITY;
	for (uint32_t s = 0; s < graph->source_count; s++) {
		if (!annealing->decision->options->direct)
			widen(annealing, hosts, graph, graph->sources[s]);
		for (uint32_t t = 0; t < graph->task_count; t++) {
			double width;

			if (graph->out[t] != graph->out[t + 1])
				continue;
			width = annealing->decision->options->direct
					? between(annealing, hosts[t], hosts[graph->sources[s]])
					: annealing->reach[t];
			if (width > 0) /* 0: not a root of this sink */
				least[t] = fmin(least[t], width);
		}
	}
	for (uint32_t t = 0; t < graph->task_count; t++)
		if (graph->out[t] == graph->out[t + 1])
			sum += fmin(least[t], most);
	return sum;
}

static uint32_t most_tasks(const struct decision *decision)
{
	uint32_t most = decision->graph->task_count;

	for (uint32_t j = 0; j < decision->network->job_count; j++)
		if (decision->network->jobs[j].graph->task_count > most)
			most = decision->network->jobs[j].graph->task_count;
	return most;
}

static void add_flows(struct annealing *annealing, int direction)
{
	struct decision *decision = annealing->decision;
	const uint32_t *hosts = decision->job->hosts;

	for (uint32_t f = 0; f < decision->graph->flow_count && decision->code == 0; f++) {
		uint32_t from = hosts[decision->graph->flows[f].from], to = hosts[decision->graph->flows[f].to];
		struct network_pair *pair = from == to ? NULL : decision_pair(decision, from, to);

		for (uint32_t r = 0; pair && r < pair->route.count; r++)
			annealing->flows_on[pair->route.resources[r] / 2] += (uint32_t)direction;
	}
}

static double utility(struct annealing *annealing)
{
	struct decision *decision = annealing->decision;
	double *least = annealing->reach + most_tasks(decision), sum;

	decision->evaluations++;
	sum = job_utility(annealing, decision->job->hosts, decision->graph, least);
	for (uint32_t j = 0; j < decision->network->job_count; j++)
		sum += job_utility(annealing, decision->network->jobs[j].job->hosts, decision->network->jobs[j].graph,
				   least);
	return sum;
}

static bool accepts(struct decision *decision, double old, double new, double temperature)
{
	return new > old || rng_uniform(&decision->rng) < exp((new - old) / temperature);
}

/*
 * De-path: the route with the most links, then the least bandwidth, of the pairs chosen for this job. Path: the fewest
 * links, then the most bandwidth; ties at random. Returns the pair, or NULL when there is none.
 */
static struct network_pair *worst_pair(struct annealing *annealing)
{
	struct decision *decision = annealing->decision;
	const uint32_t *hosts = decision->job->hosts;
	struct network_pair *worst = NULL;
	double least = INFINITY;

	for (uint32_t f = 0; f < decision->graph->flow_count && decision->code == 0; f++) {
		uint32_t from = hosts[decision->graph->flows[f].from], to = hosts[decision->graph->flows[f].to];
		struct network_pair *pair;
		double width;

		if (from == to || decision_pair_is_fixed(decision, from, to))
			continue;
		pair = decision_pair(decision, from, to);
		width = pair ? bandwidth(annealing, &pair->route) : 0;
		if (pair && (!worst || pair->route.count > worst->route.count ||
			     (pair->route.count == worst->route.count &&
			      (width < least || (width == least && rng_below(&decision->rng, 2)))))) {
			worst = pair;
			least = width;
		}
	}
	return worst;
}

static void take_best_route(struct annealing *annealing, struct network_pair *pair)
{
	struct decision *decision = annealing->decision;
	struct network_route routes[NETWORK_ROUTES_MAXIMUM];
	uint32_t numbers[NETWORK_ROUTES_MAXIMUM], best = 0, ties = 1;
	int count = network_routes(decision->network, pair->low, pair->high, routes, numbers);
	double most = -1;

	for (int i = 0; i < count && routes[i].count == routes[0].count; i++) {
		double width = bandwidth(annealing, &routes[i]);

		ties = width > most ? 1 : ties + (width == most);
		if (width > most || (width == most && rng_below(&decision->rng, ties) == 0)) {
			best = (uint32_t)i;
			most = width;
		}
	}
	if (count > 0) {
		pair->route = routes[best];
		pair->number = numbers[best];
	}
}

static void keep_best(struct annealing *annealing, double value)
{
	struct decision *decision = annealing->decision;
	struct network_pair *pairs;

	if (value < annealing->best)
		return;
	pairs = realloc(annealing->best_pairs, decision->pair_count * sizeof *pairs + 1);
	if (!pairs) {
		decision->code = -ENOMEM;
		return;
	}
	annealing->best_pairs = pairs;
	annealing->best_pair_count = decision->pair_count;
	annealing->best = value;
	if (decision->pair_count > 0)
		memcpy(pairs, decision->pairs, decision->pair_count * sizeof *pairs);
	memcpy(annealing->best_hosts, decision->job->hosts, decision->job->task_count * sizeof *annealing->best_hosts);
}

/* Algorithm 3 within algorithm 1, from the current routes. Returns the utility of the state that it ends in. */
static double anneal_routes(struct annealing *annealing, double current)
{
	struct decision *decision = annealing->decision;
	double temperature = decision->options->temperature;

	for (uint32_t step = 0; step < decision->options->route_steps && !decision_done(decision); step++) {
		struct network_pair *pair = worst_pair(annealing), before;
		double value;

		if (!pair)
			break;
		before = *pair;
		add_flows(annealing, -1);
		take_best_route(annealing, pair);
		add_flows(annealing, 1);
		value = utility(annealing);
		if (accepts(decision, current, value, temperature)) {
			current = value;
			keep_best(annealing, current);
		} else {
			add_flows(annealing, -1);
			*decision_pair(decision, before.low, before.high) = before; /* pairs may have moved */
			add_flows(annealing, 1);
		}
		temperature = pow(temperature, 0.95);
	}
	return current;
}

/* A task with a probability in proportion to its priority; UINT32_MAX if no task that may move has one. */
static uint32_t draw_task(const struct annealing *annealing)
{
	double at = rng_uniform(&annealing->decision->rng) * annealing->priority_sum;
	uint32_t last = UINT32_MAX;

	for (uint32_t t = 0; t < annealing->decision->job->task_count; t++) {
		if (annealing->priority[t] == 0)
			continue;
		last = t;
		at -= annealing->priority[t];
		if (at < 0)
			break;
	}
	return last;
}

/* Algorithm 2 within algorithm 1. */
static void anneal_placement(struct annealing *annealing, bool routes)
{
	struct decision *decision = annealing->decision;
	double temperature = decision->options->temperature, current = 0;

	for (uint32_t step = 0; step < decision->options->steps && !decision_done(decision); step++) {
		uint32_t task = draw_task(annealing), before;
		double value;

		if (task == UINT32_MAX)
			break;
		before = decision->job->hosts[task];
		add_flows(annealing, -1);
		decision_lift(decision, task);
		decision_put(decision, task, decision_random_host(decision));
		add_flows(annealing, 1);
		value = utility(annealing);
		if (routes)
			value = anneal_routes(annealing, value);
		if (accepts(decision, current, value, temperature)) {
			current = value;
			keep_best(annealing, current);
		} else {
			add_flows(annealing, -1);
			decision_lift(decision, task);
			decision_put(decision, task, before);
			add_flows(annealing, 1);
		}
		temperature = pow(temperature, 0.95);
	}
}

static bool is_end(const struct dataflow_graph *graph, uint32_t task)
{
	if (graph->out[task] == graph->out[task + 1])
		return true;
	for (uint32_t s = 0; s < graph->source_count; s++)
		if (graph->sources[s] == task)
			return true;
	return false;
}

static void set_priorities(struct annealing *annealing)
{
	const struct decision *decision = annealing->decision;
	const struct dataflow_graph *graph = decision->graph;

	for (uint32_t f = 0; f < graph->flow_count; f++) {
		annealing->priority[graph->flows[f].from] += is_end(graph, graph->flows[f].to);
		annealing->priority[graph->flows[f].to] += is_end(graph, graph->flows[f].from);
	}
	for (uint32_t t = 0; t < graph->task_count; t++) {
		if (decision->pinned[t])
			annealing->priority[t] = 0;
		annealing->priority_sum += annealing->priority[t];
	}
}

static bool annealing_begin(struct annealing *annealing, struct decision *decision)
{
	uint32_t links = decision->network->topology->link_count, tasks = decision->job->task_count;

	*annealing = (struct annealing){.decision = decision};
	annealing->flows_on = calloc(links + 1, sizeof *annealing->flows_on);
	annealing->priority = calloc(tasks + 1, sizeof *annealing->priority);
	annealing->best_hosts = malloc((tasks + 1) * sizeof *annealing->best_hosts);
	annealing->reach = calloc(2 * (size_t)most_tasks(decision) + 1, sizeof *annealing->reach);
	if (!annealing->flows_on || !annealing->priority || !annealing->best_hosts || !annealing->reach)
		return false;
	set_priorities(annealing);
	return true;
}

/* The best state of all repeats becomes the decision's. */
static void annealing_end(struct annealing *annealing)
{
	struct decision *decision = annealing->decision;

	if (decision->code == 0 && annealing->best_pairs) {
		for (uint32_t t = 0; t < decision->job->task_count; t++)
			if (!decision->pinned[t]) {
				decision_lift(decision, t);
				decision_put(decision, t, annealing->best_hosts[t]);
			}
		if (annealing->best_pair_count > 0)
			memcpy(decision->pairs, annealing->best_pairs,
			       annealing->best_pair_count * sizeof *decision->pairs);
	}
	free(annealing->flows_on);
	free(annealing->priority);
	free(annealing->best_hosts);
	free(annealing->best_pairs);
	free(annealing->reach);
}

static void anneal(struct decision *decision, bool placement, bool routes)
{
	struct annealing annealing;

	if (!annealing_begin(&annealing, decision))
		decision->code = -ENOMEM;
	for (uint32_t run = 0; run < decision->options->repeats && (run == 0 || !decision_done(decision)); run++) {
		if (placement || run == 0) {
			decision_lift_all(decision);
			engine_place_random(decision);
		}
		memcpy(annealing.flows_on, decision->link_users,
		       decision->network->topology->link_count * sizeof(uint32_t));
		add_flows(&annealing, 1);
		keep_best(&annealing, 0); /* something to fall back on */
		if (placement)
			anneal_placement(&annealing, routes);
		else
			anneal_routes(&annealing, 0);
	}
	annealing_end(&annealing);
}

void engine_place_both(struct decision *decision)
{
	anneal(decision, true, true);
}

void engine_place_application(struct decision *decision)
{
	anneal(decision, true, false);
}

void engine_place_routing(struct decision *decision)
{
	anneal(decision, false, true);
}
