/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of the baselines: each placement is replayed, task by task, and each choice compared with the rule. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>

#include "dataflow_world.h"

enum { LEAVES = 3, HOSTS = 9, NODES = LEAVES + HOSTS + 1, SEEDS = 200, TASKS = 8 };

/* Three hosts on each of three leaves, with 0 to 3 free slots; one spine. */
struct baseline {
	struct topology *topology;
	struct network *network;
	struct dataflow_job job;
	struct dataflow_graph *graph;
	uint32_t hosts[HOSTS], left[NODES]; /* left: free slots, by node */
	bool pinned[TASKS];
};

static struct baseline place(const char *engine, uint64_t seed, bool with_pinned)
{
	struct baseline world = {.topology = topology_from_argument("leafspine:3,1,9", 100, 0, NULL)};
	struct topology_paths_options paths = {.k = 1, .detour = 0, .seed = 1};
	struct engine_options options = engine_defaults();
	struct engine_answer answer;
	uint32_t slots[NODES] = {0}, count = 0;
	double cpu[NODES];
	struct rng rng;

	rng_seed(&rng, 1000 + seed);
	cr_assert_eq(world.topology->node_count, NODES);
	for (uint32_t n = 0; n < NODES; n++) {
		cpu[n] = INFINITY;
		if (world.topology->nodes[n].kind == TOPOLOGY_HOST) {
			slots[n] = count % 3 == 0 ? 2 : (uint32_t)rng_below(&rng, 4);
			world.hosts[count++] = n;
		}
		world.left[n] = slots[n];
	}
	world.network = network_create(world.topology, slots, cpu, &paths, NULL);
	world.job = world_job(&rng, 4);
	while (world.job.task_count > 6) { /* the number of slots that are always free */
		dataflow_job_clear(&world.job);
		world.job = world_job(&rng, 4);
	}
	world.graph = dataflow_graph_create(&world.job, NULL);
	if (with_pinned) {
		world.job.hosts[1] = world.hosts[3 * (seed % 3)];
		world.pinned[1] = true;
		world.left[world.job.hosts[1]]--;
	}
	options.seed = seed;
	cr_assert_eq(engine_place(engine_find(engine), world.network, &world.job, world.graph, &options, &answer, NULL),
		     0);
	if (with_pinned)
		cr_assert_eq(world.job.hosts[1], world.hosts[3 * (seed % 3)]);
	engine_answer_clear(&answer);
	return world;
}

static void clear(struct baseline *world)
{
	dataflow_graph_destroy(world->graph);
	dataflow_job_clear(&world->job);
	network_destroy(world->network);
	topology_destroy(world->topology);
}

static uint32_t index_of(const struct baseline *world, uint32_t host)
{
	uint32_t at = 0;

	while (world->hosts[at] != host)
		at++;
	return at;
}

/* Marks the host of the first task, which is random: in the end, each host was drawn. */
static void expect_all_drawn(const uint32_t *drawn, const char *engine)
{
	for (uint32_t h = 0; h < HOSTS; h++)
		cr_expect_gt(drawn[h], 0, "%s never begins with host %u", engine, h);
}

Test(baselines, storm_goes_round_the_hosts_with_free_slots)
{
	uint32_t drawn[HOSTS] = {0};

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct baseline world = place("storm", seed, seed % 2);
		uint32_t at = index_of(&world, world.job.hosts[0]);

		drawn[at]++;
		for (uint32_t t = 0; t < world.job.task_count; t++) {
			if (world.pinned[t])
				continue;
			while (world.left[world.hosts[at]] == 0)
				at = (at + 1) % HOSTS;
			cr_assert_eq(world.job.hosts[t], world.hosts[at], "seed %u, task %u", (unsigned)seed, t);
			world.left[world.hosts[at]]--;
			at = (at + 1) % HOSTS;
		}
		clear(&world);
	}
	expect_all_drawn(drawn, "storm");
}

Test(baselines, flink_takes_a_host_with_the_most_free_slots)
{
	uint32_t drawn[HOSTS] = {0};

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct baseline world = place("flink", seed, seed % 2);

		drawn[index_of(&world, world.job.hosts[0])]++;
		for (uint32_t t = 0; t < world.job.task_count; t++) {
			uint32_t most = 0;

			if (world.pinned[t])
				continue;
			for (uint32_t h = 0; h < HOSTS; h++)
				most = world.left[world.hosts[h]] > most ? world.left[world.hosts[h]] : most;
			cr_assert_eq(world.left[world.job.hosts[t]], most, "seed %u, task %u", (unsigned)seed, t);
			world.left[world.job.hosts[t]]--;
		}
		clear(&world);
	}
	expect_all_drawn(drawn, "flink");
}

/* Breadth-first order of the tasks from the sources. */
static void order_tasks(const struct dataflow_graph *graph, uint32_t *order)
{
	uint32_t head = 0, tail = 0;
	bool seen[TASKS] = {false};

	for (uint32_t s = 0; s < graph->source_count; s++) {
		seen[graph->sources[s]] = true;
		order[tail++] = graph->sources[s];
	}
	for (; head < tail; head++)
		for (uint32_t f = 0; f < graph->flow_count; f++)
			if (graph->flows[f].from == order[head] && !seen[graph->flows[f].to]) {
				seen[graph->flows[f].to] = true;
				order[tail++] = graph->flows[f].to;
			}
	cr_assert_eq(tail, graph->task_count);
}

/* Links from host to host: 0 on one host, 2 on one leaf, otherwise 4. */
static uint32_t distance(const struct baseline *world, uint32_t a, uint32_t b)
{
	bool one_leaf = false;

	for (uint32_t n = 0; n < NODES && a != b; n++)
		one_leaf |= topology_find_link(world->topology, a, n) >= 0 &&
			    topology_find_link(world->topology, b, n) >= 0;
	return a == b ? 0 : one_leaf ? 2 : 4;
}

/* The reference host is that of the pinned task or that of the first source. */
Test(baselines, rstorm_stays_near_the_reference_host)
{
	uint32_t drawn[HOSTS] = {0};

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct baseline world = place("rstorm", seed, seed % 2);
		uint32_t order[TASKS],
			reference = seed % 2 ? world.job.hosts[1] : world.job.hosts[world.graph->sources[0]];

		drawn[index_of(&world, world.job.hosts[world.graph->sources[0]])]++;
		order_tasks(world.graph, order);
		for (uint32_t i = 0; i < world.job.task_count; i++) {
			uint32_t task = order[i], host = world.job.hosts[task], least = UINT32_MAX;

			if (world.pinned[task])
				continue;
			for (uint32_t h = 0; h < HOSTS; h++)
				if (world.left[world.hosts[h]] > 0 &&
				    distance(&world, reference, world.hosts[h]) < least)
					least = distance(&world, reference, world.hosts[h]);
			cr_assert_eq(distance(&world, reference, host), least, "seed %u, task %u", (unsigned)seed,
				     task);
			world.left[host]--;
		}
		clear(&world);
	}
	expect_all_drawn(drawn, "rstorm");
}

Test(baselines, random_uses_every_host)
{
	uint32_t drawn[HOSTS] = {0};

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct baseline world = place("random", seed, seed % 2);

		for (uint32_t t = 0; t < world.job.task_count; t++) {
			uint32_t host = world.job.hosts[t];

			drawn[index_of(&world, host)]++;
			cr_assert(world.pinned[t] || world.left[host]-- > 0);
		}
		clear(&world);
	}
	expect_all_drawn(drawn, "random");
}
