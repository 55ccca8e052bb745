/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The utility is computed incrementally. After each change of the placement or of a route it must equal the one that
 * is computed from the definition in decision.h: flows counted on all links, and every path of flows from a root to a
 * sink tried.
 */
#include <math.h>
#include <stdlib.h>

#include <criterion/criterion.h>

#include "dataflow_world.h"
#include "decision.h"

enum { RUNNING = 3, ROUNDS = 12, MOVES = 40, LINKS = 256, FLOWS = 64 };

static const struct network_route *route_of(struct decision *decision, uint32_t from, uint32_t to)
{
	return from == to ? NULL : &decision_pair(decision, from, to)->route;
}

static void count_flows(struct decision *decision, const uint32_t *hosts, const struct dataflow_graph *graph,
			double *flows_on)
{
	for (uint32_t f = 0; f < graph->flow_count; f++) {
		const struct dataflow_flow *flow = &graph->flows[f];
		const struct network_route *route = route_of(decision, hosts[flow->from], hosts[flow->to]);

		for (uint32_t r = 0; route && r < route->count; r++)
			flows_on[network_route_link(route, r) / 2]++;
	}
}

static double bandwidth(const struct decision *decision, const double *flows_on, const struct network_route *route)
{
	double least = INFINITY;

	for (uint32_t r = 0; route && r < route->count; r++)
		least = fmin(least, network_capacity(decision->network, network_route_link(route, r)) /
					    fmax(flows_on[network_route_link(route, r) / 2], 1));
	return least;
}

/* The widest path of flows from `task` to `sink`; 0: there is none. The jobs have no cycles. */
static double widest(const struct dataflow_graph *graph, const double *width, uint32_t task, uint32_t sink)
{
	double most = 0;

	if (task == sink)
		return INFINITY;
	for (uint32_t f = 0; f < graph->flow_count; f++)
		if (graph->flows[f].from == task)
			most = fmax(most, fmin(width[f], widest(graph, width, graph->flows[f].to, sink)));
	return most;
}

static double value_of_job(struct decision *decision, const uint32_t *hosts, const struct dataflow_graph *graph,
			   const double *flows_on)
{
	double width[FLOWS], sum = 0;

	cr_assert_leq(graph->flow_count, FLOWS);
	for (uint32_t f = 0; f < graph->flow_count; f++)
		width[f] = bandwidth(decision, flows_on,
				     route_of(decision, hosts[graph->flows[f].from], hosts[graph->flows[f].to]));
	for (uint32_t t = 0; t < graph->task_count; t++) {
		double least = decision->options->local_MBps;
		bool sink = true;

		for (uint32_t f = 0; f < graph->flow_count; f++)
			sink &= graph->flows[f].from != t;
		for (uint32_t s = 0; sink && s < graph->source_count; s++) {
			uint32_t root = graph->sources[s];
			double on_flows = widest(graph, width, root, t);

			if (on_flows > 0 && decision->options->direct)
				least = fmin(least,
					     bandwidth(decision, flows_on, route_of(decision, hosts[root], hosts[t])));
			else if (on_flows > 0)
				least = fmin(least, on_flows);
		}
		sum += sink ? least : 0;
	}
	return sum;
}

static double value_of_all(struct decision *decision)
{
	double flows_on[LINKS] = {0}, sum;
	uint32_t count;
	const struct network_job *jobs = network_jobs(decision->network, &count);

	cr_assert_leq(network_resource_count(decision->network), 2 * LINKS);
	for (uint32_t j = 0; j < count; j++)
		count_flows(decision, jobs[j].job->hosts, jobs[j].graph, flows_on);
	count_flows(decision, decision->job->hosts, decision->graph, flows_on);
	sum = value_of_job(decision, decision->job->hosts, decision->graph, flows_on);
	for (uint32_t j = 0; j < count; j++)
		sum += value_of_job(decision, jobs[j].job->hosts, jobs[j].graph, flows_on);
	return sum;
}

static void expect_value(struct utility *utility)
{
	uint64_t before = utility->decision->evaluations;
	double is = utility_evaluate(utility), wanted = value_of_all(utility->decision);

	cr_assert_leq(fabs(is - wanted), 1e-9 * wanted, "%.17g, by definition %.17g", is, wanted);
	cr_assert_eq(utility->decision->evaluations, before + 1);
}

/* Gives a pair of hosts of the new job a random route. */
static void change_route(struct utility *utility)
{
	struct decision *decision = utility->decision;
	uint32_t flow = (uint32_t)rng_below(&decision->rng, decision->graph->flow_count), pair = utility->chosen[flow];
	struct network_route routes[NETWORK_ROUTES_MAXIMUM];
	int count;

	if (pair == UTILITY_NO_PAIR)
		return;
	count = network_routes(decision->network, decision->pairs[pair].low, decision->pairs[pair].high, routes, NULL);
	utility_count_pair(utility, pair, -1);
	decision->pairs[pair].route = routes[rng_below(&decision->rng, (uint64_t)count)];
	utility_count_pair(utility, pair, 1);
}

static void expect_bandwidths(struct utility *utility)
{
	struct decision *decision = utility->decision;
	double running[LINKS] = {0}, all[LINKS] = {0};
	uint32_t count;
	const struct network_job *jobs = network_jobs(decision->network, &count);

	for (uint32_t j = 0; j < count; j++) {
		count_flows(decision, jobs[j].job->hosts, jobs[j].graph, running);
		count_flows(decision, jobs[j].job->hosts, jobs[j].graph, all);
	}
	count_flows(decision, decision->job->hosts, decision->graph, all);
	for (uint32_t p = 0; p < decision->pair_count; p++) {
		const struct network_route *route = &decision->pairs[p].route;

		cr_assert_float_eq(utility_running_bandwidth(utility, route), bandwidth(decision, running, route),
				   1e-9);
		cr_assert_float_eq(utility_bandwidth(utility, route), bandwidth(decision, all, route), 1e-9);
	}
}

static void put_all(struct decision *decision)
{
	for (uint32_t t = 0; t < decision->job->task_count; t++)
		if (dataflow_slot_leader(decision->job, t) == t)
			decision_put(decision, t, decision_random_host(decision));
}

static void move(struct decision *decision)
{
	struct utility utility;

	put_all(decision);
	cr_assert_eq(utility_begin(&utility, decision), 0);
	utility_start(&utility);
	expect_value(&utility);
	for (int i = 0; i < MOVES; i++) {
		uint32_t task = (uint32_t)rng_below(&decision->rng, decision->job->task_count);

		task = dataflow_slot_leader(decision->job, task);
		if (i % 3 == 0) {
			change_route(&utility);
		} else {
			utility_lift(&utility, task);
			utility_put(&utility, task, decision_random_host(decision));
		}
		if (i % 4 == 0)
			expect_bandwidths(&utility); /* before an evaluation has noticed the change */
		expect_value(&utility);
		expect_value(&utility);
	}
	decision_lift_all(decision);
	put_all(decision);
	utility_start(&utility);
	expect_value(&utility);
	cr_assert_eq(decision->code, 0);
	utility_end(&utility);
}

/* Turns the order of the components round, so that all flows go from later tasks to earlier ones. */
static void reverse(struct dataflow_job *job)
{
	for (uint32_t e = 0; e < job->edge_count; e++) {
		job->edges[e].from = job->component_count - 1 - job->edges[e].from;
		job->edges[e].to = job->component_count - 1 - job->edges[e].to;
	}
}

static void expect_equal(bool direct)
{
	const struct engine engine = {"moves", ROUTES_RANDOM, UINT32_MAX, false, move};
	struct topology *topology = topology_from_argument("leafspine:4,3,12", 100, 0, NULL);
	struct rng rng;

	rng_seed(&rng, 21);
	for (int round = 0; round < ROUNDS; round++) {
		struct network *network = world_network(topology, 3);
		struct dataflow_job jobs[RUNNING + 1];
		struct dataflow_graph *graphs[RUNNING + 1];
		struct engine_options options = engine_defaults();
		struct engine_answer answer;

		for (uint32_t l = 0; l < topology->link_count; l++) {
			topology->links[l].MBps = 10 + 90 * rng_uniform(&rng);
			topology->links[l].back_MBps = 10 + 90 * rng_uniform(&rng);
		}
		for (int j = 0; j <= RUNNING; j++) {
			jobs[j] = world_job(&rng, 4);
			jobs[j].shares_slots = round % 4 > 1;
			if (round % 3 == 0)
				reverse(&jobs[j]);
			graphs[j] = dataflow_graph_create(&jobs[j], NULL);
			if (j == RUNNING)
				continue;
			answer = world_start(network, &jobs[j], graphs[j], "random", (uint64_t)j);
			engine_answer_clear(&answer);
		}
		options.seed = (uint64_t)round;
		options.direct = direct;
		options.local_MBps = round % 2 ? 40 : 10000;
		cr_assert_eq(engine_place(&engine, network, &jobs[RUNNING], graphs[RUNNING], &options, &answer, NULL),
			     0);
		engine_answer_clear(&answer);
		network_destroy(network);
		for (int j = 0; j <= RUNNING; j++) {
			dataflow_graph_destroy(graphs[j]);
			dataflow_job_clear(&jobs[j]);
		}
	}
	topology_destroy(topology);
}

Test(utility, after_each_change_is_that_of_the_definition)
{
	expect_equal(false);
}

Test(utility, between_the_hosts_of_roots_and_sinks_is_that_of_the_definition)
{
	expect_equal(true);
}
