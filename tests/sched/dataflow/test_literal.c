/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of the paper's pseudo-code that the engines both, application and routing reproduce on request. */
#include <math.h>
#include <stdbool.h>

#include <criterion/criterion.h>

#include "dataflow_world.h"
#include "decision.h"

/* One source x and its sink y on four hosts of two leaves: h0 and h1, h2 and h3; between the leaves two spines. */
struct world {
	struct dataflow *dataflow;
	struct dataflow_graph *graph;
	struct network *network;
	struct engine_options options;
};

static void set_link(struct topology *topology, const char *a, const char *b, double MBps)
{
	int64_t link = topology_find_link(topology, (uint32_t)topology_find_node(topology, a),
					  (uint32_t)topology_find_node(topology, b));

	cr_assert(link >= 0);
	topology->links[link].MBps = topology->links[link].back_MBps = MBps;
}

/* Link rates in MB/s: of h0, h1, h2 and h3, of spine 0, of spine 1. */
struct rates {
	double host[4], spine[2];
};

static struct world make(enum engine_literal literal, uint32_t slots, const struct rates *rates)
{
	static const char *const hosts[] = {"h0", "h1", "h2", "h3"}, *const leaves[] = {"leaf0", "leaf1"},
				 *const spines[] = {"spine0", "spine1"};
	struct topology *topology = topology_from_argument("leafspine:2,2,4", 100, 0, NULL);
	struct world world = {.dataflow = dataflow_create(topology, slots), .options = engine_defaults()};
	struct dataflow_job *job = dataflow_add_job(world.dataflow, "j", 0);

	for (int h = 0; h < 4; h++)
		set_link(topology, hosts[h], leaves[h / 2], rates->host[h]);
	for (int i = 0; i < 4; i++)
		set_link(topology, leaves[i % 2], spines[i / 2], rates->spine[i / 2]);
	cr_assert_eq(dataflow_add_component(job, "x", 1), 0);
	cr_assert_eq(dataflow_add_component(job, "y", 1), 1);
	cr_assert_not_null(dataflow_add_edge(job, 0, 1, DATAFLOW_SHUFFLE));
	cr_assert_eq(dataflow_place_nowhere(job), 0);
	world.graph = dataflow_graph_create(job, NULL);
	world.network = world_network(topology, slots);
	world.options.literal = literal;
	world.options.repeats = 1;
	return world;
}

static void clear(struct world *world)
{
	network_destroy(world->network);
	dataflow_graph_destroy(world->graph);
	dataflow_destroy(world->dataflow);
}

static uint32_t node(const struct world *world, const char *name)
{
	return (uint32_t)topology_find_node(world->dataflow->topology, name);
}

/* ---- results of an evaluation ---- */

static const char *sink_host;
static double evaluated;

static void evaluate(struct decision *decision)
{
	struct utility utility;

	decision_put(decision, 0, (uint32_t)topology_find_node(decision->network->topology, "h0"));
	decision_put(decision, 1, (uint32_t)topology_find_node(decision->network->topology, sink_host));
	cr_assert_eq(utility_begin(&utility, decision), 0);
	utility_start(&utility);
	evaluated = utility_evaluate(&utility);
	utility_end(&utility);
}

static double utility_with(enum engine_literal literal, const char *host)
{
	const struct engine engine = {"evaluate", ROUTES_LEAST_USED, UINT32_MAX, false, evaluate};
	struct world world = make(literal, 2, &(struct rates){{1000, 1000, 1000, 1000}, {100, 10}});
	struct engine_answer answer;

	sink_host = host;
	cr_assert_eq(
		engine_place(&engine, world.network, world.dataflow->jobs, world.graph, &world.options, &answer, NULL),
		0);
	engine_answer_clear(&answer);
	clear(&world);
	return evaluated;
}

Test(literal, a_utility_is_that_of_the_printed_lines)
{
	double route = utility_with(ENGINE_CORRECTED, "h2");

	cr_expect(route == 100 || route == 10, "the route in use: %g", route);
	cr_expect_eq(utility_with(ENGINE_LITERAL_PATHS, "h2"), 10, "the least of all routes");
	cr_expect_eq(utility_with(ENGINE_LITERAL_PATHS, "h1"), 1000);
	cr_expect_eq(utility_with(ENGINE_CORRECTED, "h0"), engine_defaults().local_MBps);
	cr_expect_eq(utility_with(ENGINE_LITERAL_LOCAL, "h0"), INFINITY);
	cr_expect_eq(utility_with(ENGINE_LITERAL_SUM, "h2"), 0);
	cr_expect_eq(utility_with(ENGINE_LITERAL_ALL, "h0"), 0);
}

/* ---- results of the annealing ---- */

enum { SEEDS = 60 };

struct outcomes {
	int narrow, wide, across; /* both tasks on leaf 0, on leaf 1, on different ones */
	int spine0;               /* routes by it */
};

/* One slot per host. `pinned`: x is pinned to h0. */
static struct outcomes place(const char *engine, enum engine_literal literal, const struct rates *rates,
			     double temperature, bool pinned)
{
	struct outcomes outcomes = {0};

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct world world = make(literal, 1, rates);
		struct engine_answer answer;
		uint32_t *hosts = world.dataflow->jobs->hosts;
		struct network_route route;
		int on_leaf1;

		if (pinned)
			hosts[0] = node(&world, "h0");
		world.options.seed = seed;
		world.options.temperature = temperature;
		cr_assert_eq(engine_place(engine_find(engine), world.network, world.dataflow->jobs, world.graph,
					  &world.options, &answer, NULL),
			     0);
		on_leaf1 = 0;
		for (int t = 0; t < 2; t++)
			on_leaf1 += hosts[t] == node(&world, "h2") || hosts[t] == node(&world, "h3");
		outcomes.narrow += on_leaf1 == 0;
		outcomes.across += on_leaf1 == 1;
		outcomes.wide += on_leaf1 == 2;
		cr_assert_eq(answer.route_count, 1);
		cr_assert_eq(network_route(world.network, hosts[0], hosts[1], answer.routes[0].number, &route), 0);
		for (uint32_t r = 0; r < route.count; r++) {
			const struct topology_link *link =
				&world.dataflow->topology->links[network_route_link(&route, r) / 2];
			uint32_t spine = node(&world, "spine0");

			outcomes.spine0 += link->a == spine || link->b == spine; /* two links */
		}
		engine_answer_clear(&answer);
		clear(&world);
	}
	outcomes.spine0 /= 2;
	return outcomes;
}

/*
 * The best placement is on leaf 1. From leaf 0, the first step is to different leaves, accepted with probability e^-40.
 */
static const struct rates hill = {{50, 50, 100, 100}, {10, 10}};
#define COLD 1

Test(literal, a_probability_as_a_truth_value_takes_every_step)
{
	struct outcomes corrected = place("application", ENGINE_CORRECTED, &hill, COLD, false),
			truth = place("application", ENGINE_LITERAL_TRUTH, &hill, COLD, false);

	cr_expect(corrected.narrow > 0 && corrected.across == 0, "%d narrow, %d across", corrected.narrow,
		  corrected.across);
	cr_expect_eq(truth.wide, SEEDS, "the walk passes the best placement, which is copied: %d", truth.wide);
}

Test(literal, states_changed_in_place_end_where_the_walk_ends)
{
	struct outcomes alias = place("application", ENGINE_LITERAL_ALIAS, &hill, COLD, false);

	cr_expect(alias.across > SEEDS / 4, "%d of %d end with a rejected step", alias.across, SEEDS);
}

Test(literal, a_sum_that_is_never_made_sees_no_link)
{
	static const struct rates other = {{10, 10, 1000, 1}, {100, 100}};
	struct outcomes one = place("application", ENGINE_LITERAL_ALL, &hill, 100, false),
			two = place("application", ENGINE_LITERAL_ALL, &other, 100, false),
			sum = place("application", ENGINE_LITERAL_SUM, &hill, 100, false),
			of_other = place("application", ENGINE_LITERAL_SUM, &other, 100, false);

	cr_expect_arr_eq(&one, &two, sizeof one, "the same placements whatever the links' rates");
	cr_expect_arr_eq(&sum, &of_other, sizeof sum, "the same placements whatever the links' rates");
	cr_expect(sum.across > SEEDS / 4 && one.across > SEEDS / 4, "%d and %d across", sum.across, one.across);
}

/* Only h2 and h3 are good for y, through spine 0. */
Test(literal, routes_of_the_routing_level_are_dropped)
{
	static const struct rates rates = {{1000, 1, 1000, 1000}, {1000, 100}};
	struct outcomes corrected = place("both", ENGINE_CORRECTED, &rates, 100, true),
			dropped = place("both", ENGINE_LITERAL_ROUTES, &rates, 100, true);

	cr_expect_eq(corrected.across, SEEDS);
	cr_expect_eq(corrected.spine0, SEEDS);
	cr_expect_eq(dropped.across, SEEDS);
	cr_expect(dropped.spine0 < SEEDS, "a route keeps the spine that was drawn");
}

/*
 * Eight pairs of hosts on two switches with two paths between them. With the job's own flows, the route with the most
 * bandwidth is that of the fewer pairs; without them, both routes are equal and one is drawn. ENGINE_LITERAL_ALIAS
 * takes the last state, so that the utility does not choose. sum: pairs on the fuller path, over 20 seeds.
 */
Test(literal, the_available_bandwidth_may_count_the_jobs_own_flows)
{
	const char *text =
		"{\"schema\": \"nomora.dataflow/1\", \"slots\": 1, \"topology\": \"leafspine:2,2,16\", \"MBps\": 100,"
		"\"jobs\": [{\"name\": \"j\", \"components\": [{\"name\": \"s\", \"tasks\": 8}, {\"name\": \"k\", "
		"\"tasks\": 8}], \"edges\": [{\"from\": \"s\", \"to\": \"k\", \"grouping\": \"forward\"}], "
		"\"placement\": {"
		"\"s.0\": \"h0\", \"s.1\": \"h1\", \"s.2\": \"h2\", \"s.3\": \"h3\", \"s.4\": \"h4\", \"s.5\": \"h5\", "
		"\"s.6\": \"h6\", \"s.7\": \"h7\", \"k.0\": \"h8\", \"k.1\": \"h9\", \"k.2\": \"h10\", \"k.3\": "
		"\"h11\", "
		"\"k.4\": \"h12\", \"k.5\": \"h13\", \"k.6\": \"h14\", \"k.7\": \"h15\"}}]}";
	struct topology_paths_options paths = {.k = 2, .detour = 0, .seed = 1};
	struct dataflow *dataflow = dataflow_parse("d.json", text, strlen(text), NULL);
	struct dataflow_graph *graph = dataflow_graph_create(dataflow->jobs, NULL);
	struct network *network = network_create(dataflow->topology, dataflow->slots, dataflow->cpu, &paths, NULL);
	struct engine_options options = engine_defaults();
	uint32_t sum[2] = {0};

	cr_assert(graph && network);
	options.route_steps = 100;
	options.literal = ENGINE_LITERAL_ALIAS;
	options.repeats = 1;
	for (int available = 0; available < 2; available++)
		for (options.seed = 1; options.seed <= 20; options.seed++) {
			struct engine_answer answer;
			uint32_t on[2] = {0};

			options.available = (enum engine_available)available;
			cr_assert_eq(engine_place(engine_find("routing"), network, dataflow->jobs, graph, &options,
						  &answer, NULL),
				     0);
			for (uint32_t r = 0; r < answer.route_count; r++)
				on[answer.routes[r].number]++;
			cr_assert_eq(on[0] + on[1], 8);
			sum[available] += on[0] > on[1] ? on[0] : on[1];
			engine_answer_clear(&answer);
		}
	cr_expect_eq(sum[ENGINE_AVAILABLE_ALL], 80, "%u: 4 pairs on each path", sum[ENGINE_AVAILABLE_ALL]);
	cr_expect_gt(sum[ENGINE_AVAILABLE_RUNNING], 80);
	network_destroy(network);
	dataflow_graph_destroy(graph);
	dataflow_destroy(dataflow);
}
