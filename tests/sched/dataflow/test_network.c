/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dataflow_world.h"

/*
 * Two hosts on each of two switches; links of 10, the link between the switches of 4. Two jobs, each with a source on
 * one side and a sink on the other.
 */
struct dumbbell {
	struct dataflow *dataflow;
	struct dataflow_graph *graphs[2];
	struct network *network;
};

static int64_t first_route(void *context, uint32_t from, uint32_t to)
{
	(void)context;
	(void)from;
	(void)to;
	return 0;
}

static struct dumbbell make(const char *hosts)
{
	char text[2048];
	struct error err = {0};
	struct dumbbell dumbbell;
	struct topology_paths_options paths = {.k = 4, .detour = 2, .seed = 1};

	snprintf(
		text, sizeof text,
		"{\"schema\": \"nomora.dataflow/1\", \"slots\": 2, %s \"topology\": {\"schema\": \"nomora.topology/1\","
		"\"switches\": [{\"name\": \"s0\"}, {\"name\": \"s1\"}],"
		"\"hosts\": [{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": \"c\"}, {\"name\": \"d\"}], \"links\": ["
		"{\"a\": \"a\", \"b\": \"s0\", \"MBps\": 10}, {\"a\": \"b\", \"b\": \"s0\", \"MBps\": 10},"
		"{\"a\": \"c\", \"b\": \"s1\", \"MBps\": 10}, {\"a\": \"d\", \"b\": \"s1\", \"MBps\": 10},"
		"{\"a\": \"s0\", \"b\": \"s1\", \"MBps\": 4, \"back_MBps\": 8}]},"
		"\"jobs\": [{\"name\": \"one\", \"components\": [{\"name\": \"s\"}, {\"name\": \"k\", "
		"\"cpu_s_per_MB\": 0.5}],"
		"\"edges\": [{\"from\": \"s\", \"to\": \"k\"}], \"placement\": {\"s.0\": \"a\", \"k.0\": \"c\"}},"
		"{\"name\": \"two\", \"weight\": 3, \"components\": [{\"name\": \"s\"}, {\"name\": \"k\"}],"
		"\"edges\": [{\"from\": \"s\", \"to\": \"k\", \"selectivity\": 0.5}], \"placement\": {\"s.0\": \"b\", "
		"\"k.0\": \"d\"}}]}",
		hosts);
	dumbbell.dataflow = dataflow_parse("d.json", text, strlen(text), &err);
	cr_assert_not_null(dumbbell.dataflow, "%s", err.text);
	dumbbell.network = network_create(dumbbell.dataflow->topology, dumbbell.dataflow->slots, dumbbell.dataflow->cpu,
					  &paths, &err);
	cr_assert_not_null(dumbbell.network, "%s", err.text);
	for (int j = 0; j < 2; j++) {
		dumbbell.graphs[j] = dataflow_graph_create(&dumbbell.dataflow->jobs[j], &err);
		cr_assert_eq(network_start(dumbbell.network, &dumbbell.dataflow->jobs[j], dumbbell.graphs[j],
					   first_route, NULL, &err),
			     0, "%s", err.text);
	}
	return dumbbell;
}

static void clear(struct dumbbell *dumbbell)
{
	network_destroy(dumbbell->network);
	for (int j = 0; j < 2; j++)
		dataflow_graph_destroy(dumbbell->graphs[j]);
	dataflow_destroy(dumbbell->dataflow);
}

/* x1 + 0.5 x2 = 4 with x2 = 3 x1: x1 = 1.6, x2 = 4.8. */
Test(dataflow_network, jobs_share_a_link_by_weight_and_selectivity)
{
	struct dumbbell dumbbell = make("");
	double rate[2];
	uint32_t bottleneck[2];
	char name[256];

	cr_assert_eq(network_rates(dumbbell.network, rate, bottleneck), 2);
	cr_expect_float_eq(rate[0], 1.6, 1e-12);
	cr_expect_float_eq(rate[1], 4.8, 1e-12);
	network_resource_name(dumbbell.network, bottleneck[0], name);
	cr_expect_str_eq(name, "s0 -> s1");
	clear(&dumbbell);
}

/* A CPU of 0.5 on c lets job one have 1 MB/s; job two gets the rest of the link, 3 / 0.5 = 6. */
Test(dataflow_network, a_cpu_limits_as_a_link_does)
{
	struct dumbbell dumbbell = make("\"hosts\": [{\"name\": \"c\", \"cpu\": 0.5}],");
	double rate[2];
	uint32_t bottleneck[2];
	char name[256];

	cr_assert_eq(network_rates(dumbbell.network, rate, bottleneck), 2);
	cr_expect_float_eq(rate[0], 1, 1e-12);
	cr_expect_float_eq(rate[1], 6, 1e-12);
	network_resource_name(dumbbell.network, bottleneck[0], name);
	cr_expect_str_eq(name, "cpu of c");
	clear(&dumbbell);
}

Test(dataflow_network, a_link_that_is_down_stops_what_uses_it)
{
	struct dumbbell dumbbell = make("");
	double rate[2];

	dumbbell.dataflow->topology->links[4].up = false;
	cr_assert_eq(network_rates(dumbbell.network, rate, NULL), 2);
	cr_expect_eq(rate[0], 0);
	cr_expect_eq(rate[1], 0);
	clear(&dumbbell);
}

Test(dataflow_network, stopping_gives_everything_back)
{
	struct dumbbell dumbbell = make("");
	struct error err = {0};
	double rate[2];
	uint32_t a = (uint32_t)topology_find_node(dumbbell.dataflow->topology, "a"),
		 c = (uint32_t)topology_find_node(dumbbell.dataflow->topology, "c");

	cr_expect_eq(network_free_slots(dumbbell.network, a), 1);
	cr_expect_eq(network_route_of(dumbbell.network, c, a), 0);
	network_stop(dumbbell.network, 0);
	cr_expect_eq(network_free_slots(dumbbell.network, a), 2);
	cr_expect_eq(network_route_of(dumbbell.network, a, c), -ENOENT);
	cr_assert_eq(network_rates(dumbbell.network, rate, NULL), 1);
	cr_expect_float_eq(rate[0], 8, 1e-12, "half of job two's data passes a link of 4");
	cr_assert_eq(network_start(dumbbell.network, &dumbbell.dataflow->jobs[0], dumbbell.graphs[0], first_route, NULL,
				   &err),
		     0);
	cr_assert_eq(network_rates(dumbbell.network, rate, NULL), 2);
	cr_expect_float_eq(rate[1], 1.6, 1e-12, "job one is the later one now");
	clear(&dumbbell);
}

Test(dataflow_network, a_job_that_finds_no_slot_changes_nothing)
{
	struct dumbbell dumbbell = make("");
	struct error err = {0};
	struct dataflow_job *job = &dumbbell.dataflow->jobs[0];
	uint32_t a = (uint32_t)topology_find_node(dumbbell.dataflow->topology, "a");

	network_stop(dumbbell.network, 0);
	job->hosts[1] = job->hosts[0] = a;
	cr_assert_eq(network_start(dumbbell.network, job, dumbbell.graphs[0], first_route, NULL, &err), 0);
	cr_expect_eq(network_start(dumbbell.network, job, dumbbell.graphs[0], first_route, NULL, &err), -ENOSPC);
	cr_expect_not_null(strstr(err.text, "host 'a'"), "%s", err.text);
	cr_expect_eq(network_free_slots(dumbbell.network, a), 0);
	clear(&dumbbell);
}

static int64_t no_second_route(void *context, uint32_t from, uint32_t to)
{
	int *calls = context;

	(void)from;
	(void)to;
	return (*calls)++ == 0 ? 0 : -EHOSTUNREACH;
}

Test(dataflow_network, a_job_that_finds_no_route_changes_nothing)
{
	struct dumbbell dumbbell = make("");
	const struct topology *topology = dumbbell.dataflow->topology;
	struct dataflow *dataflow = dataflow_create(topology_fat_tree(2, 0, 100, NULL), 2);
	struct dataflow_job *job = dataflow_add_job(dataflow, "three", 0);
	struct dataflow_graph *graph;
	struct error err = {0};
	double rate[2];
	int calls = 0;
	uint32_t a = (uint32_t)topology_find_node(topology, "a"), b = (uint32_t)topology_find_node(topology, "b"),
		 d = (uint32_t)topology_find_node(topology, "d"), count;

	dataflow_add_component(job, "s", 1);
	dataflow_add_component(job, "t", 1);
	dataflow_add_component(job, "u", 1);
	dataflow_add_edge(job, 0, 1, DATAFLOW_SHUFFLE);
	dataflow_add_edge(job, 1, 2, DATAFLOW_SHUFFLE);
	cr_assert_eq(dataflow_place_nowhere(job), 0);
	graph = dataflow_graph_create(job, NULL);
	job->hosts[0] = a;
	job->hosts[1] = b;
	cr_expect_eq(network_start(dumbbell.network, job, graph, no_second_route, &calls, &err), -ENOSPC);
	cr_expect_str_eq(err.text, "job 'three': no slot is free on host '?'");
	job->hosts[2] = d;
	network_stop(dumbbell.network, 1);
	job->hosts[0] = b;
	job->hosts[1] = a;
	job->hosts[2] = d;
	cr_expect_eq(network_start(dumbbell.network, job, graph, no_second_route, &calls, &err), -EHOSTUNREACH);
	cr_expect_str_eq(err.text, "no route from 'a' to 'd'");
	cr_expect_eq(calls, 2);
	cr_expect_eq(network_route_of(dumbbell.network, a, b), -ENOENT, "the first flow's route is given back");
	cr_expect_eq(network_free_slots(dumbbell.network, a), 1);
	cr_expect_eq(network_free_slots(dumbbell.network, b), 2);
	cr_expect_eq(network_free_slots(dumbbell.network, d), 2);
	network_jobs(dumbbell.network, &count);
	cr_expect_eq(count, 1);
	cr_expect_eq(network_rates(dumbbell.network, rate, NULL), 1);
	cr_expect_float_eq(rate[0], 4, 1e-12);
	dataflow_graph_destroy(graph);
	dataflow_destroy(dataflow);
	clear(&dumbbell);
}

/*
 * Two detours for a failed link: over s2 with the flow of another job, which offers little, or over s3 with
 * none, but less capacity. The path heuristic takes the route with the least use, the rates are greater over the other.
 */
Test(dataflow_network, a_rerouted_pair_gets_the_route_with_the_greatest_rates)
{
	const char *text =
		"{\"schema\": \"nomora.dataflow/1\", \"slots\": 2, \"topology\": {\"schema\": \"nomora.topology/1\","
		"\"switches\": [{\"name\": \"s0\"}, {\"name\": \"s1\"}, {\"name\": \"s2\"}, {\"name\": \"s3\"}],"
		"\"hosts\": [{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": \"c\"}], \"links\": ["
		"{\"a\": \"a\", \"b\": \"s0\", \"MBps\": 10}, {\"a\": \"b\", \"b\": \"s1\", \"MBps\": 10},"
		"{\"a\": \"c\", \"b\": \"s2\", \"MBps\": 10}, {\"a\": \"s0\", \"b\": \"s1\", \"MBps\": 10},"
		"{\"a\": \"s0\", \"b\": \"s2\", \"MBps\": 8}, {\"a\": \"s2\", \"b\": \"s1\", \"MBps\": 8},"
		"{\"a\": \"s0\", \"b\": \"s3\", \"MBps\": 4}, {\"a\": \"s3\", \"b\": \"s1\", \"MBps\": 4}]},"
		"\"jobs\": [{\"name\": \"one\", \"components\": [{\"name\": \"s\"}, {\"name\": \"k\"}],"
		"\"edges\": [{\"from\": \"s\", \"to\": \"k\"}], \"placement\": {\"s.0\": \"a\", \"k.0\": \"b\"}},"
		"{\"name\": \"two\", \"components\": [{\"name\": \"s\", \"MBps\": 0.5}, {\"name\": \"k\"}],"
		"\"edges\": [{\"from\": \"s\", \"to\": \"k\"}], \"placement\": {\"s.0\": \"a\", \"k.0\": \"c\"}}]}";
	struct topology_paths_options paths = {.k = 4, .detour = 2, .seed = 1};
	struct dataflow *dataflow = dataflow_parse("d.json", text, strlen(text), NULL);
	struct network *network = network_create(dataflow->topology, dataflow->slots, dataflow->cpu, &paths, NULL);
	struct dataflow_graph *graphs[2];
	double rate[2];

	for (int j = 0; j < 2; j++) {
		graphs[j] = dataflow_graph_create(&dataflow->jobs[j], NULL);
		cr_assert_eq(network_start(network, &dataflow->jobs[j], graphs[j], first_route, NULL, NULL), 0);
	}
	cr_expect_eq(network_improve_rerouted(network), 0, "no route has failed");
	dataflow->topology->links[3].up = false;
	cr_assert_eq(network_reroute_pairs(network, false), 1);
	network_rates(network, rate, NULL);
	cr_expect_float_eq(rate[0], 4, 1e-12);
	cr_expect_eq(network_improve_rerouted(network), 1);
	network_rates(network, rate, NULL);
	cr_expect_float_eq(rate[0], 7.5, 1e-12);
	cr_expect_float_eq(rate[1], 0.5, 1e-12);
	cr_expect_eq(network_improve_rerouted(network), 0);
	dataflow->topology->links[3].up = true;
	cr_assert_eq(network_reroute_pairs(network, true), 1);
	cr_expect_eq(network_route_of(network, 4, 5), 0, "the route from before the failure is back");
	network_destroy(network);
	for (int j = 0; j < 2; j++)
		dataflow_graph_destroy(graphs[j]);
	dataflow_destroy(dataflow);
}

/* Host a is linked to both leaves, b and c to one each, d to the third, which only s1 reaches. */
static struct network *make_dual_homed(struct dataflow **dataflow)
{
	static const char text[] =
		"{\"schema\": \"nomora.dataflow/1\", \"topology\": {\"schema\": \"nomora.topology/1\","
		"\"switches\": [{\"name\": \"s0\"}, {\"name\": \"s1\"}, {\"name\": \"s2\"}],"
		"\"hosts\": [{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": \"c\"}, {\"name\": \"d\"}], \"links\": ["
		"{\"a\": \"a\", \"b\": \"s0\", \"MBps\": 10}, {\"a\": \"a\", \"b\": \"s1\", \"MBps\": 10},"
		"{\"a\": \"b\", \"b\": \"s0\", \"MBps\": 10}, {\"a\": \"c\", \"b\": \"s1\", \"MBps\": 10},"
		"{\"a\": \"d\", \"b\": \"s2\", \"MBps\": 10}, {\"a\": \"s0\", \"b\": \"s1\", \"MBps\": 1},"
		"{\"a\": \"s1\", \"b\": \"s2\", \"MBps\": 1}]},"
		"\"jobs\": [{\"name\": \"one\", \"components\": [{\"name\": \"s\"}, {\"name\": \"k\"}],"
		"\"edges\": [{\"from\": \"s\", \"to\": \"k\"}]}]}";
	struct topology_paths_options paths = {.k = 2, .detour = 2, .seed = 1};
	struct network *network;
	struct error err = {0};

	*dataflow = dataflow_parse("d.json", text, strlen(text), &err);
	cr_assert_not_null(*dataflow, "%s", err.text);
	network = network_create((*dataflow)->topology, (*dataflow)->slots, (*dataflow)->cpu, &paths, &err);
	cr_assert_not_null(network, "%s", err.text);
	return network;
}

static void expect_route(struct network *network, uint32_t to, uint32_t number, const char *wanted)
{
	struct network_route route;
	char text[512] = "", name[2 * TOPOLOGY_NAME_BYTES + 16];

	if (network_route(network, 3, to, number, &route) == 0)
		for (uint32_t r = 0; r < route.count; r++) {
			network_resource_name(network, network_route_link(&route, r), name);
			snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", r ? ", " : "", name);
		}
	cr_expect_str_eq(text, wanted);
}

Test(dataflow_network, each_link_of_a_dual_homed_host_is_used)
{
	struct dataflow *dataflow;
	struct network *network = make_dual_homed(&dataflow);
	struct topology_link *links = dataflow->topology->links;
	uint32_t distance[7];

	expect_route(network, 4, 0, "a -> s0, s0 -> b");
	expect_route(network, 4, 1, "a -> s1, s1 -> s0, s0 -> b");
	expect_route(network, 5, 0, "a -> s1, s1 -> c");
	expect_route(network, 6, 0, "a -> s1, s1 -> s2, s2 -> d");
	cr_assert_eq(network_distances(network, 3, distance), 0);
	cr_expect_eq(distance[5], 2);
	links[1].up = false; /* a - s1 */
	expect_route(network, 5, 0, "");
	expect_route(network, 5, 1, "a -> s0, s0 -> s1, s1 -> c");
	cr_assert_eq(network_distances(network, 3, distance), 0);
	cr_expect_eq(distance[5], 3);
	links[0].up = false;
	expect_route(network, 4, 0, "");
	network_destroy(network);
	dataflow_destroy(dataflow);
}

/* A ring of `count` switches s0.., with hosts a and b on s0 and c and d on s300. */
static struct topology *make_ring(uint32_t count)
{
	struct topology *topology = topology_create();
	char name[16];

	for (uint32_t n = 0; n < count; n++) {
		snprintf(name, sizeof name, "s%u", n);
		topology_add_node(topology, TOPOLOGY_SWITCH, name, NULL);
	}
	for (uint32_t n = 0; n < count; n++)
		topology_add_link(topology, n, (n + 1) % count, 10, 10, NULL);
	for (uint32_t h = 0; h < 4; h++) {
		snprintf(name, sizeof name, "%c", "abcd"[h]);
		topology_add_node(topology, TOPOLOGY_HOST, name, NULL);
		topology_add_link(topology, count + h, h < 2 ? 0 : 300, 10, 10, NULL);
	}
	return topology;
}

Test(dataflow_network, routes_may_have_hundreds_of_links)
{
	enum { COUNT = 700, A = COUNT, C = COUNT + 2, D = COUNT + 3 };
	struct topology *ring = make_ring(COUNT);
	struct topology_paths_options paths = {.k = 4, .detour = 4, .seed = 1};
	uint32_t slots[COUNT + 4] = {0}, numbers[NETWORK_ROUTES_MAXIMUM];
	double cpu[COUNT + 4] = {0};
	struct network *network = network_create(ring, slots, cpu, &paths, NULL);
	struct network_route routes[NETWORK_ROUTES_MAXIMUM], other, live, again;

	cr_assert_eq(network_routes(network, A, C, routes, numbers), 1);
	cr_assert_eq(routes[0].count, 302);
	cr_expect_eq(network_route_link(&routes[0], 0), 2 * COUNT, "a -> s0");
	for (uint32_t r = 1; r < 301; r++)
		cr_assert_eq(network_route_link(&routes[0], r), 2 * (r - 1), "s%u -> s%u", r - 1, r);
	cr_expect_eq(network_route_link(&routes[0], 301), 2 * (COUNT + 2) + 1, "s300 -> c");
	cr_assert_eq(network_route(network, A, D, 0, &other), 0);
	cr_expect_eq(other.path, routes[0].path, "routes between the same switches share the path");

	ring->links[7].up = false;
	cr_assert_eq(network_route(network, A, C, paths.k, &live), 0);
	cr_expect_eq(live.count, 402, "the other way round");
	for (uint32_t r = 1; r < 401; r++)
		cr_assert_eq(network_route_link(&live, r), 2 * (COUNT - r) + 1);
	ring->links[7].up = true;
	cr_expect_eq(network_route(network, A, C, paths.k, &again), -ENOENT, "the stored route is up");
	ring->links[8].up = false;
	cr_assert_eq(network_route(network, A, C, paths.k, &again), 0);
	cr_expect_eq(again.path, live.path, "a live path that was found before is not stored twice");
	network_destroy(network);
	topology_destroy(ring);
}
