/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine of Alkaff and Gupta's paper: simulated annealing of the placement (algorithm 2), which anneals the routes
 * (algorithm 3) after each step. The table lists the errors and oddities of the printed pseudo-code, and what this
 * engine does:
 *
 *   computeUtil never adds sinkUtil to util                            added up, over all jobs
 *   transition() returns a probability where a truth value is needed   drawn with that probability
 *   rejected steps are not undone; bestState is always the last state  undone; the best state is copied
 *   get(sink, root) takes k paths, even without a flow on them         the least along the flows in use
 *   the chosen routes are dropped when genState returns                they are part of the state
 *   a job with all tasks on one host is infinitely fast                at most local_MBps per sink
 *   random(servers) ignores slots                                      only hosts with a free slot
 *   currAllocation[newMachine] <- task loses the server's tasks        they stay
 *   t <- t^0.95 cools to 1, not to 0, so the unit of rates matters     as printed: rates are in MB/s
 *   currUtil starts at 0: the first state is always accepted           as printed
 *   path and de-path take only routes with the fewest hops             as printed and described
 *   tasks next to neither a source nor a sink never move               as printed and described
 *   "highest available bandwidth": which flows count is not said      available (running jobs' alone, or all)
 *   "5 times" in the pseudo-code, "5 additional times" in the text     repeats (5)
 *
 * After each step of the placement, the paper anneals the routes five times, each time from random routes; this engine
 * does it once, from the routes in use.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decision.h"

struct annealing {
	struct decision *decision;
	struct utility utility;
	double *priority; /* by task: number of flows to or from a source or a sink; 0 if pinned */
	double priority_sum;
	/* The best state so far. */
	uint32_t *best_hosts, *best_numbers; /* by task: host; by flow: number of the route, or UTILITY_NO_PAIR */
	double best;                         /* utility of the best state */
	bool has_best;
};

const char *const engine_available_names[] = {"running", "all", NULL};

static bool accepts(struct decision *decision, double old, double new, double temperature)
{
	return new > old || rng_uniform(&decision->rng) < exp((new - old) / temperature);
}

/*
 * The paper's de-path: among the pairs whose routes were chosen for this job, the one whose route has the most links
 * and, among these, the least bandwidth; ties are broken at random. Returns its number in decision->pairs, or
 * UTILITY_NO_PAIR.
 */
static uint32_t worst_pair(struct annealing *annealing)
{
	struct decision *decision = annealing->decision;
	uint32_t worst = UTILITY_NO_PAIR, longest = 0;
	double least = INFINITY;

	for (uint32_t f = 0; f < decision->graph->flow_count && decision->code == 0; f++) {
		uint32_t pair = annealing->utility.chosen[f], links;
		double width;

		if (pair == UTILITY_NO_PAIR)
			continue;
		links = decision->pairs[pair].route.count;
		if (links < longest)
			continue;
		width = utility_bandwidth(&annealing->utility, &decision->pairs[pair].route);
		if (links > longest || width < least || (width == least && rng_below(&decision->rng, 2))) {
			worst = pair;
			least = width;
			longest = links;
		}
	}
	return worst;
}

/*
 * The paper's path: gives the pair the route with the fewest links and, among these, the most bandwidth, counting the
 * flows of options->available; ties are broken at random. The caller has removed the pair's flows from the numbers of
 * flows.
 */
static void take_best_route(struct annealing *annealing, struct network_pair *pair)
{
	struct decision *decision = annealing->decision;
	struct network_route routes[NETWORK_ROUTES_MAXIMUM];
	uint32_t numbers[NETWORK_ROUTES_MAXIMUM], best = 0, ties = 1;
	int count = network_routes(decision->network, pair->low, pair->high, routes, numbers);
	double most = -1;

	for (int i = 0; i < count && routes[i].count == routes[0].count; i++) {
		double width = decision->options->available == ENGINE_AVAILABLE_ALL
				       ? utility_bandwidth(&annealing->utility, &routes[i])
				       : utility_running_bandwidth(&annealing->utility, &routes[i]);

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

static void copy_state(struct annealing *annealing)
{
	struct decision *decision = annealing->decision;

	memcpy(annealing->best_hosts, decision->job->hosts, decision->job->task_count * sizeof *annealing->best_hosts);
	for (uint32_t f = 0; f < decision->graph->flow_count; f++) {
		uint32_t pair = annealing->utility.chosen[f];

		annealing->best_numbers[f] = pair == UTILITY_NO_PAIR ? UTILITY_NO_PAIR : decision->pairs[pair].number;
	}
}

static void keep_best(struct annealing *annealing, double value)
{
	if (annealing->has_best && value < annealing->best)
		return;
	annealing->best = value;
	annealing->has_best = true;
	copy_state(annealing);
}

static void set_route(struct annealing *annealing, uint32_t number, const struct network_pair *to)
{
	utility_count_pair(&annealing->utility, number, -1);
	annealing->decision->pairs[number] = *to;
	utility_count_pair(&annealing->utility, number, 1);
}

/*
 * Anneals the routes, beginning with the current ones: the loop of algorithm 1 with the steps of algorithm 3. current:
 * the utility of the current state. Returns the utility of the last accepted state.
 */
static double anneal_routes(struct annealing *annealing, double current)
{
	struct decision *decision = annealing->decision;
	double temperature = decision->options->temperature;

	for (uint32_t step = 0; step < decision->options->route_steps && !decision_done(decision); step++) {
		uint32_t number = worst_pair(annealing);
		struct network_pair *pair, before;
		double value;

		if (number == UTILITY_NO_PAIR)
			break;
		pair = &decision->pairs[number];
		before = *pair;
		utility_count_pair(&annealing->utility, number, -1);
		take_best_route(annealing, pair);
		utility_count_pair(&annealing->utility, number, 1);
		value = utility_evaluate(&annealing->utility);
		if (accepts(decision, current, value, temperature)) {
			current = value;
			keep_best(annealing, current);
		} else {
			set_route(annealing, number, &before);
		}
		temperature = pow(temperature, 0.95);
	}
	return current;
}

/* Draws a task with a probability proportional to its priority. Returns UINT32_MAX if all priorities are 0. */
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

/*
 * Anneals the placement: the loop of algorithm 1 with the steps of algorithm 2. If `routes` is true, also anneals the
 * routes after each step.
 */
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
		utility_lift(&annealing->utility, task);
		utility_put(&annealing->utility, task, decision_random_host(decision));
		value = utility_evaluate(&annealing->utility);
		if (routes)
			value = anneal_routes(annealing, value);
		if (accepts(decision, current, value, temperature)) {
			current = value;
			keep_best(annealing, current);
		} else {
			utility_lift(&annealing->utility, task);
			utility_put(&annealing->utility, task, before);
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
		uint32_t from = graph->flows[f].from, to = graph->flows[f].to;

		annealing->priority[dataflow_slot_leader(decision->job, from)] += is_end(graph, to);
		annealing->priority[dataflow_slot_leader(decision->job, to)] += is_end(graph, from);
	}
	for (uint32_t t = 0; t < graph->task_count; t++) {
		if (decision->pinned[t])
			annealing->priority[t] = 0;
		annealing->priority_sum += annealing->priority[t];
	}
}

static bool annealing_begin(struct annealing *annealing, struct decision *decision)
{
	uint32_t tasks = decision->job->task_count;

	*annealing = (struct annealing){.decision = decision};
	annealing->priority = calloc(tasks + 1, sizeof *annealing->priority);
	annealing->best_hosts = malloc((tasks + 1) * sizeof *annealing->best_hosts);
	annealing->best_numbers = malloc((decision->graph->flow_count + 1) * sizeof *annealing->best_numbers);
	if (!annealing->priority || !annealing->best_hosts || !annealing->best_numbers ||
	    utility_begin(&annealing->utility, decision) < 0)
		return false;
	set_priorities(annealing);
	return true;
}

/* Sets the decision's placement and routes to the best state of all runs. */
static void take_best(const struct annealing *annealing)
{
	struct decision *decision = annealing->decision;

	for (uint32_t t = 0; t < decision->job->task_count; t++)
		if (!decision->pinned[t]) {
			decision_lift(decision, t);
			decision_put(decision, t, annealing->best_hosts[t]);
		}
	for (uint32_t f = 0; f < decision->graph->flow_count; f++) {
		const struct dataflow_flow *flow = &decision->graph->flows[f];
		struct network_pair *pair;

		if (annealing->best_numbers[f] == UTILITY_NO_PAIR)
			continue;
		pair = decision_pair(decision, decision->job->hosts[flow->from], decision->job->hosts[flow->to]);
		pair->number = annealing->best_numbers[f];
		if (network_route(decision->network, pair->low, pair->high, pair->number, &pair->route) < 0)
			decision->code = -ENOMEM;
	}
}

static void anneal(struct decision *decision, bool placement, bool routes)
{
	struct annealing annealing;

	if (!annealing_begin(&annealing, decision))
		decision->code = -ENOMEM;
	for (uint32_t run = 0; decision->code == 0 && run < decision->options->repeats; run++) {
		if (run > 0 && decision_done(decision))
			break;
		if (placement || run == 0) {
			decision_lift_all(decision);
			engine_place_random(decision);
		}
		utility_start(&annealing.utility);
		keep_best(&annealing, 0); /* so that there is always a best state */
		if (placement)
			anneal_placement(&annealing, routes);
		else
			anneal_routes(&annealing, 0);
	}
	if (decision->code == 0 && annealing.has_best)
		take_best(&annealing);
	utility_end(&annealing.utility);
	free(annealing.priority);
	free(annealing.best_hosts);
	free(annealing.best_numbers);
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
