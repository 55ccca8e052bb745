/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataflow_world.h"

/* No host exceeds its slots, no task is left out, pinned tasks stay; the network gives the predicted rate. */
Test(engine, every_engine_gives_a_placement_that_starts_and_predicts_its_rates)
{
	struct topology *topology = topology_fat_tree(4, 0, 100, NULL);
	struct rng rng;

	rng_seed(&rng, 3);
	for (size_t e = 0; engine_name(e); e++) {
		struct network *network = world_network(topology, 2);
		struct dataflow_job jobs[4];
		struct dataflow_graph *graphs[4];
		uint32_t free_slots = 0, tasks = 0;

		for (int j = 0; j < 4; j++) {
			struct engine_answer answer;
			double rate[64], all = 0;
			int count;

			jobs[j] = world_job(&rng, 4);
			graphs[j] = dataflow_graph_create(&jobs[j], NULL);
			if (j == 1)
				jobs[j].hosts[0] = (uint32_t)topology_find_node(topology, "h15");
			answer = world_start(network, &jobs[j], graphs[j], engine_name(e), (uint64_t)j);
			count = network_rates(network, rate, NULL);
			for (int s = 0; s < count; s++)
				all += fmin(rate[s], engine_defaults().local_MBps);
			cr_expect_float_eq(answer.all_MBps, all, 1e-6 * all, "%s", engine_name(e));
			cr_expect(j != 1 || jobs[j].hosts[0] == (uint32_t)topology_find_node(topology, "h15"));
			engine_answer_clear(&answer);
			tasks += jobs[j].task_count;
		}
		for (uint32_t n = 0; n < topology->node_count; n++)
			if (topology->nodes[n].kind == TOPOLOGY_HOST)
				free_slots += network_free_slots(network, n);
		cr_expect_eq(free_slots, 32 - tasks, "%s", engine_name(e));
		network_destroy(network);
		for (int j = 0; j < 4; j++) {
			dataflow_graph_destroy(graphs[j]);
			dataflow_job_clear(&jobs[j]);
		}
	}
	topology_destroy(topology);
}

Test(engine, the_same_seed_gives_the_same_answer)
{
	struct topology *topology = topology_jellyfish(10, 5, 20, 100, 1, NULL);
	struct rng rng;

	rng_seed(&rng, 4);
	for (size_t e = 0; engine_name(e); e++) {
		struct rng same = rng;
		struct dataflow_job one = world_job(&rng, 4), two = world_job(&same, 4);
		struct dataflow_graph *graph = dataflow_graph_create(&one, NULL);
		struct network *of_one = world_network(topology, 2), *of_two = world_network(topology, 2);
		struct engine_answer answers[2];

		answers[0] = world_start(of_one, &one, graph, engine_name(e), 9);
		answers[1] = world_start(of_two, &two, graph, engine_name(e), 9);
		cr_expect_arr_eq(one.hosts, two.hosts, one.task_count * sizeof *one.hosts, "%s", engine_name(e));
		cr_expect_eq(answers[0].all_MBps, answers[1].all_MBps);
		for (int i = 0; i < 2; i++)
			engine_answer_clear(&answers[i]);
		network_destroy(of_one);
		network_destroy(of_two);
		dataflow_graph_destroy(graph);
		dataflow_job_clear(&one);
		dataflow_job_clear(&two);
	}
	topology_destroy(topology);
}

/* The engines' objective over all sources on the network: the sum of rates, or the time per MB. */
static double goal(struct network *network, const struct dataflow_job *const *jobs,
		   struct dataflow_graph *const *graphs, const char *engine)
{
	double rate[16], MBps = 0, s_per_MB = 0;
	int at = 0, count = network_rates(network, rate, NULL);

	for (int j = 0; j < 2; j++)
		for (uint32_t s = 0; s < graphs[j]->source_count; s++, at++) {
			rate[at] = fmin(rate[at], engine_defaults().local_MBps);
			MBps += rate[at];
			s_per_MB += jobs[j]->weight / rate[at];
		}
	cr_assert_eq(at, count);
	return strcmp(engine, "completion") == 0 ? -s_per_MB : MBps;
}

/* The value of NOMORA_JOBS, or `usual`. */
static int jobs_wanted(int usual)
{
	const char *wanted = getenv("NOMORA_JOBS");

	return wanted ? atoi(wanted) : usual;
}

/* All placements of a job in addition to a running one, valued by the engine's objective over both. */
struct brute {
	struct network *network;
	const struct topology *topology;
	const struct dataflow_job *jobs[2]; /* the running one, the new one */
	struct dataflow_graph *graphs[2];
	struct dataflow_job *job; /* the new one */
	const char *engine;
	double best;
	uint32_t *used;
};

static int64_t numbered_route(void *context, uint32_t from, uint32_t to)
{
	struct brute *brute = context;
	struct network_route routes[NETWORK_ROUTES_MAXIMUM];
	uint32_t numbers[NETWORK_ROUTES_MAXIMUM];

	return network_routes(brute->network, from, to, routes, numbers) > 0 ? (int64_t)numbers[0] : -EHOSTUNREACH;
}

static void try_placements(struct brute *brute, uint32_t task)
{
	if (task == brute->job->task_count) {
		cr_assert_eq(network_start(brute->network, brute->job, brute->graphs[1], numbered_route, brute, NULL),
			     0);
		brute->best = fmax(brute->best, goal(brute->network, brute->jobs, brute->graphs, brute->engine));
		network_stop(brute->network, 1);
		return;
	}
	for (uint32_t n = 0; n < brute->topology->node_count; n++) {
		if (brute->topology->nodes[n].kind != TOPOLOGY_HOST ||
		    brute->used[n] == network_free_slots(brute->network, n))
			continue;
		brute->used[n]++;
		brute->job->hosts[task] = n;
		try_placements(brute, task + 1);
		brute->job->hosts[task] = DATAFLOW_NOWHERE;
		brute->used[n]--;
	}
}

/*
 * One route per pair (a tree), so that all placements can be tried. The running job has twice the weight of the new
 * one.
 */
static void expect_near_the_best_placement(const char *engine)
{
	struct topology *topology = topology_from_argument("leafspine:2,1,5", 100, 0, NULL);
	struct rng rng;
	int worse = 0, job_count = jobs_wanted(60);

	rng_seed(&rng, 5);
	for (int j = 0; j < job_count; j++) {
		struct dataflow_job running = world_job(&rng, 2), job = world_job(&rng, 3);
		struct brute brute = {
			.network = world_network(topology, 2),
			.topology = topology,
			.jobs = {&running, &job},
			.graphs = {dataflow_graph_create(&running, NULL), dataflow_graph_create(&job, NULL)},
			.job = &job,
			.engine = engine,
			.best = -INFINITY,
			.used = calloc(topology->node_count, sizeof *brute.used)};
		struct engine_answer answer;
		double reached;

		running.weight = 2 * job.weight;
		for (uint32_t l = 0; l < topology->link_count; l++)
			topology->links[l].MBps = topology->links[l].back_MBps = 10 + 90 * rng_uniform(&rng);
		answer = world_start(brute.network, &running, brute.graphs[0], "random", 1);
		engine_answer_clear(&answer);
		try_placements(&brute, 0);
		answer = world_start(brute.network, &job, brute.graphs[1], engine, 1);
		reached = goal(brute.network, brute.jobs, brute.graphs, engine);
		cr_expect_leq(reached, brute.best + 1e-9 * fabs(brute.best));
		worse += reached < brute.best - 0.02 * fabs(brute.best);
		engine_answer_clear(&answer);
		network_destroy(brute.network);
		for (int i = 0; i < 2; i++)
			dataflow_graph_destroy(brute.graphs[i]);
		dataflow_job_clear(&running);
		dataflow_job_clear(&job);
		free(brute.used);
	}
	cr_log_info("%s: %d of %d jobs are over 2 %% off the best", engine, worse, job_count);
	cr_expect_leq(worse, job_count / 20, "%s: %d of %d jobs are over 2 %% off the best", engine, worse, job_count);
	topology_destroy(topology);
}

Test(engine, the_rate_engine_is_near_the_best_placement)
{
	expect_near_the_best_placement("rate");
}

Test(engine, the_completion_engine_is_near_the_best_placement)
{
	expect_near_the_best_placement("completion");
}

/* The sum of all rates after `engine` has placed a job in addition to three running ones. */
static double placed_MBps(const struct topology *topology, const char *engine, uint64_t seed)
{
	enum { RUNNING = 3 };
	struct network *network = world_network(topology, 2);
	struct engine_options options = engine_defaults();
	struct engine_answer answer = {0};
	struct dataflow_job jobs[RUNNING + 1];
	struct dataflow_graph *graphs[RUNNING + 1];
	double MBps;
	struct rng rng;

	rng_seed(&rng, seed);
	for (int j = 0; j <= RUNNING; j++) {
		jobs[j] = world_job(&rng, 4);
		graphs[j] = dataflow_graph_create(&jobs[j], NULL);
		if (j == RUNNING)
			continue;
		answer = world_start(network, &jobs[j], graphs[j], "random", seed);
		engine_answer_clear(&answer);
	}
	options.seed = seed;
	options.local_MBps = 100;
	if (strcmp(engine, "both") == 0) {
		options.evaluations = 10000;
		options.repeats = 10;
	}
	cr_assert_eq(
		engine_place(engine_find(engine), network, &jobs[RUNNING], graphs[RUNNING], &options, &answer, NULL),
		0);
	MBps = answer.all_MBps;
	engine_answer_clear(&answer);
	network_destroy(network);
	for (int j = 0; j <= RUNNING; j++) {
		dataflow_graph_destroy(graphs[j]);
		dataflow_job_clear(&jobs[j]);
	}
	return MBps;
}

Test(engine, the_rate_engine_is_no_worse_than_10000_evaluations_of_the_papers)
{
	struct topology *topologies[] = {topology_fat_tree(4, 0, 100, NULL),
					 topology_jellyfish(15, 5, 30, 100, 1, NULL)};
	int worse = 0, job_count = jobs_wanted(40);

	for (int j = 0; j < job_count; j++) {
		double rate = placed_MBps(topologies[j % 2], "rate", (uint64_t)j),
		       both = placed_MBps(topologies[j % 2], "both", (uint64_t)j);

		worse += rate < both * (1 - 1e-9);
	}
	cr_log_info("worse on %d of %d jobs", worse, job_count);
	cr_expect_leq(worse, job_count / 20, "worse on %d of %d jobs", worse, job_count);
	for (int i = 0; i < 2; i++)
		topology_destroy(topologies[i]);
}

Test(engine, too_few_slots_are_an_error_with_nothing_changed)
{
	struct topology *topology = topology_fat_tree(2, 0, 100, NULL);
	struct network *network = world_network(topology, 1);
	struct engine_options options = engine_defaults();
	struct engine_answer answer;
	struct error err = {0};
	struct dataflow_job job;
	struct dataflow_graph *graph;
	struct rng rng;

	rng_seed(&rng, 1);
	do {
		job = world_job(&rng, 4);
	} while (job.task_count < 3);
	graph = dataflow_graph_create(&job, NULL);
	for (size_t e = 0; engine_name(e); e++) {
		cr_expect_eq(engine_place(engine_find(engine_name(e)), network, &job, graph, &options, &answer, &err),
			     -ENOSPC);
		cr_expect_not_null(strstr(err.text, "2 free slots"), "%s", err.text);
		for (uint32_t t = 0; t < job.task_count; t++)
			cr_expect_eq(job.hosts[t], DATAFLOW_NOWHERE);
	}
	dataflow_graph_destroy(graph);
	dataflow_job_clear(&job);
	network_destroy(network);
	topology_destroy(topology);
}

/*
 * Eight pairs of hosts on two switches with two paths between them. With the job's own flows, the route with the most
 * bandwidth is that of the fewer pairs; without them, both routes are equal and one is drawn. sum: pairs on the fuller
 * path, over 20 seeds.
 */
Test(engine, the_available_bandwidth_may_count_the_jobs_own_flows)
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
	options.route_steps = 4;
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
	cr_expect_lt(sum[ENGINE_AVAILABLE_ALL], sum[ENGINE_AVAILABLE_RUNNING], "%u, %u", sum[0], sum[1]);
	network_destroy(network);
	dataflow_graph_destroy(graph);
	dataflow_destroy(dataflow);
}

enum { SHARED_SLOTS = 8, SHARED_ROUNDS = 6 };

/* A chain of components with random numbers of tasks; one of them has SHARED_SLOTS tasks. */
static struct dataflow_job sharing_job(struct rng *rng)
{
	struct dataflow_job job = {.name = strdup("shared"), .weight = 1, .shares_slots = true};
	uint32_t components = 2 + (uint32_t)rng_below(rng, 3), largest = (uint32_t)rng_below(rng, components);

	for (uint32_t c = 0; c < components; c++) {
		char name[16];
		uint32_t tasks = c == largest ? SHARED_SLOTS : 1 + (uint32_t)rng_below(rng, SHARED_SLOTS);

		snprintf(name, sizeof name, "c%u", c);
		cr_assert_geq(dataflow_add_component(&job, name, tasks), 0);
		if (c > 0)
			cr_assert(dataflow_add_edge(&job, c - 1, c, (enum dataflow_grouping)rng_below(rng, 4)));
	}
	cr_assert_eq(dataflow_place_nowhere(&job), 0);
	return job;
}

/* The tasks of one number are on one host; the job takes as many slots as its largest component has tasks. */
static void expect_shared(const struct network *network, const struct dataflow_job *job, const char *engine)
{
	const struct topology *topology = network_topology(network);
	uint32_t of_number[SHARED_SLOTS];

	for (uint32_t i = 0; i < SHARED_SLOTS; i++)
		of_number[i] = DATAFLOW_NOWHERE;
	for (uint32_t c = 0; c < job->component_count; c++)
		for (uint32_t i = 0; i < job->components[c].task_count; i++) {
			uint32_t host = job->hosts[job->components[c].first_task + i];

			cr_assert_neq(host, DATAFLOW_NOWHERE, "%s", engine);
			if (of_number[i] == DATAFLOW_NOWHERE)
				of_number[i] = host;
			cr_assert_eq(host, of_number[i], "%s: task %u.%u", engine, c, i);
		}
	for (uint32_t n = 0; n < topology->node_count; n++)
		cr_assert_eq(network_free_slots(network, n), 0, "%s", engine);
}

Test(engine, tasks_that_share_a_slot_are_on_one_host_and_take_one_slot)
{
	struct topology *topology = topology_from_argument("leafspine:2,1,4", 100, 0, NULL);
	struct rng rng;

	rng_seed(&rng, 8);
	for (size_t e = 0; engine_name(e); e++)
		for (int round = 0; round < SHARED_ROUNDS; round++) {
			struct network *network = world_network(topology, 2);
			struct dataflow_job job = sharing_job(&rng);
			struct dataflow_graph *graph = dataflow_graph_create(&job, NULL);
			struct engine_answer answer =
				world_start(network, &job, graph, engine_name(e), (uint64_t)round);

			expect_shared(network, &job, engine_name(e));
			network_stop(network, 0);
			for (uint32_t n = 0; n < topology->node_count; n++)
				cr_assert_eq(network_free_slots(network, n),
					     topology->nodes[n].kind == TOPOLOGY_HOST ? 2 : 0);
			engine_answer_clear(&answer);
			dataflow_graph_destroy(graph);
			dataflow_job_clear(&job);
			network_destroy(network);
		}
	topology_destroy(topology);
}
