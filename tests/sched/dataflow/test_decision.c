/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * After each move, the evaluation solves only the sources that the move can affect: the result must equal that of
 * solving all sources on the network. NOMORA_MOVES sets the number of moves of each goal.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <criterion/criterion.h>

#include "dataflow_world.h"
#include "decision.h"

enum { RUNNING = 4, ROUNDS = 20 };

static uint64_t moves_per_round;

static int64_t route_of(void *context, uint32_t from, uint32_t to)
{
	const struct network_pair *pair = decision_pair(context, from, to);

	return pair ? (int64_t)pair->number : -EHOSTUNREACH;
}

/* The value computed from the rates of all sources, with the job started on the network. */
static struct value evaluate_all(struct decision *decision)
{
	struct network *network = decision->network;
	struct value value = {0};
	double rate[64];
	int count;
	uint32_t at = 0;

	cr_assert_eq(network_start(network, decision->job, decision->graph, route_of, decision, NULL), 0);
	count = network_rates(network, rate, NULL);
	cr_assert(count > 0 && count <= 64);
	for (uint32_t j = 0; j < network->job_count; j++)
		for (uint32_t s = 0; s < network->jobs[j].graph->source_count; s++, at++) {
			double capped = fmin(rate[at], decision->options->local_MBps);

			value.all_MBps += capped;
			value.goal -= network->jobs[j].job->weight / fmax(capped, 1e-3);
			value.own_MBps += j + 1 == network->job_count ? capped : 0;
		}
	cr_assert_eq(at, (uint32_t)count);
	value.goal = decision->completion ? value.goal : value.all_MBps;
	network_stop(network, network->job_count - 1);
	return value;
}

static void expect_near(double is, double wanted, const char *what)
{
	cr_assert_leq(fabs(is - wanted), 1e-9 * fabs(wanted), "%s: %.17g, all sources give %.17g", what, is, wanted);
}

static void move(struct decision *decision)
{
	for (uint32_t t = 0; t < decision->job->task_count; t++)
		decision_put(decision, t, decision_random_host(decision));
	for (uint64_t i = 0; i < moves_per_round && decision->code == 0; i++) {
		uint32_t task = (uint32_t)rng_below(&decision->rng, decision->job->task_count);
		struct value value, all;

		decision_lift(decision, task);
		decision_put(decision, task, decision_random_host(decision));
		value = decision_evaluate(decision);
		all = evaluate_all(decision);
		expect_near(value.all_MBps, all.all_MBps, "sum of the rates");
		expect_near(value.own_MBps, all.own_MBps, "the job's rates");
		expect_near(value.goal, all.goal, "goal");
	}
	cr_assert_eq(decision->code, 0);
}

static void expect_equal(bool completion)
{
	const struct engine engine = {"moves", ROUTES_LEAST_USED, UINT32_MAX, completion, move};
	struct topology *topology = topology_jellyfish(12, 6, 24, 100, 1, NULL);
	const char *wanted = getenv("NOMORA_MOVES");
	struct rng rng;

	moves_per_round = (wanted ? strtoull(wanted, NULL, 10) : 2000) / ROUNDS;
	rng_seed(&rng, 11);
	for (int round = 0; round < ROUNDS; round++) {
		struct network *network = world_network(topology, 2);
		struct dataflow_job jobs[RUNNING + 1];
		struct dataflow_graph *graphs[RUNNING + 1];
		struct engine_options options = engine_defaults();
		struct engine_answer answer;

		for (uint32_t l = 0; l < topology->link_count; l++)
			topology->links[l].MBps = topology->links[l].back_MBps = 10 + 90 * rng_uniform(&rng);
		for (int j = 0; j <= RUNNING; j++) {
			jobs[j] = world_job(&rng, 4);
			jobs[j].weight = 1 + rng_uniform(&rng);
			graphs[j] = dataflow_graph_create(&jobs[j], NULL);
			if (j == RUNNING)
				continue;
			answer = world_start(network, &jobs[j], graphs[j], "random", (uint64_t)j);
			engine_answer_clear(&answer);
		}
		options.seed = (uint64_t)round;
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

Test(decision, rates_after_each_move_are_those_of_all_sources)
{
	expect_equal(false);
}

Test(decision, time_per_MB_after_each_move_is_that_of_all_sources)
{
	expect_equal(true);
}

/* The rule of ROUTES_LEAST_USED, from the routes of the running jobs. */
static double worst_use(const struct network *network, const struct network_route *route)
{
	double worst = 0;

	for (uint32_t r = 0; r < route->count; r++) {
		double flows = 0;

		for (uint32_t p = 0; p < network->pair_count; p++)
			for (uint32_t i = 0; i < network->pairs[p].route.count; i++)
				if (network_route_link(&network->pairs[p].route, i) / 2 ==
				    network_route_link(route, r) / 2)
					flows += network->pairs[p].users;
		worst = fmax(worst, flows / network_capacity(network, network_route_link(route, r)));
	}
	return worst;
}

static uint32_t shortest_drawn, chosen_by_use;

static void check_routes(struct decision *decision)
{
	for (uint32_t i = 0; i + 1 < decision->host_count; i++) {
		uint32_t a = decision->hosts[i], b = decision->hosts[i + 1], first = 0, equal = 0;
		struct network_route routes[NETWORK_ROUTES_MAXIMUM];
		uint32_t numbers[NETWORK_ROUTES_MAXIMUM];
		const struct network_pair *pair;
		int count;

		if (decision_pair_is_fixed(decision, a, b))
			continue;
		count = network_routes(decision->network, a, b, routes, numbers);
		pair = decision_pair(decision, b, a);
		cr_assert(pair->low == a && pair->high == b);
		cr_assert_eq(decision_pair(decision, a, b), pair, "it is chosen once");
		for (int r = 0; r < count && routes[r].count == routes[0].count; r++) {
			equal++;
			if (worst_use(decision->network, &routes[r]) < worst_use(decision->network, &routes[first]))
				first = (uint32_t)r;
		}
		cr_assert_eq(pair->route.count, routes[0].count, "one of those with the fewest links");
		if (decision->routing == ROUTES_LEAST_USED)
			cr_assert_eq(pair->number, numbers[first]);
		shortest_drawn |= 1u << pair->number;
		chosen_by_use += equal > 1 && first > 0;
	}
	for (uint32_t t = 0; t < decision->job->task_count; t++)
		decision_put(decision, t, decision_random_host(decision));
}

Test(decision, routes_are_chosen_by_length_and_use)
{
	static const enum decision_routing routings[] = {ROUTES_LEAST_USED, ROUTES_EQUAL_COST};
	struct topology *topology = topology_jellyfish(12, 6, 24, 100, 1, NULL);
	struct rng rng;

	rng_seed(&rng, 12);
	for (int round = 0; round < 20; round++) {
		const struct engine engine = {"routes", routings[round % 2], UINT32_MAX, false, check_routes};
		struct network *network = world_network(topology, 2);
		struct dataflow_job jobs[RUNNING + 1];
		struct dataflow_graph *graphs[RUNNING + 1];
		struct engine_options options = engine_defaults();
		struct engine_answer answer;

		for (uint32_t l = 0; l < topology->link_count; l++)
			topology->links[l].MBps = topology->links[l].back_MBps = 10 + 90 * rng_uniform(&rng);
		for (int j = 0; j <= RUNNING; j++) {
			jobs[j] = world_job(&rng, 4);
			graphs[j] = dataflow_graph_create(&jobs[j], NULL);
			if (j == RUNNING)
				continue;
			answer = world_start(network, &jobs[j], graphs[j], "random", (uint64_t)(100 + j));
			engine_answer_clear(&answer);
		}
		options.seed = (uint64_t)round;
		cr_assert_eq(engine_place(&engine, network, &jobs[RUNNING], graphs[RUNNING], &options, &answer, NULL),
			     0);
		engine_answer_clear(&answer);
		network_destroy(network);
		for (int j = 0; j <= RUNNING; j++) {
			dataflow_graph_destroy(graphs[j]);
			dataflow_job_clear(&jobs[j]);
		}
	}
	cr_expect(shortest_drawn & (shortest_drawn - 1), "more than one number of a route");
	cr_expect_gt(chosen_by_use, 0);
	topology_destroy(topology);
}
