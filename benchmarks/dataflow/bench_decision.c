/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CPU time of one placement decision by engine "rate", and of 10,000 evaluations by engine "both" (the paper's). Jobs
 * of 12 tasks like Storm's (sched/dataflow/generate.h) arrive while 16 others run. One JSON line per network.
 */
#include <base/ns.h>
#include <base/quantile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sched/dataflow/engine.h>
#include <sched/dataflow/generate.h>

enum { RUNNING = 16, DECISIONS = 100, SLOTS = 2, ANNEALING_EVALUATIONS = 10000, ANNEALING_REPEATS = 10 };

static int decide(struct dataflow *dataflow, const char *engine, double ms[DECISIONS], double *evaluations)
{
	struct topology_paths_options paths = {.k = 10, .detour = TOPOLOGY_PATHS_DETOUR, .seed = 1};
	struct engine_options options = engine_defaults();
	struct network *network = network_create(dataflow->topology, dataflow->slots, dataflow->cpu, &paths, NULL);
	struct dataflow_graph *graphs[RUNNING + DECISIONS] = {0};
	int code = network ? 0 : -1;

	if (strcmp(engine, "both") == 0) {
		options.evaluations = ANNEALING_EVALUATIONS;
		options.repeats = ANNEALING_REPEATS;
	}
	for (uint32_t j = 0; code == 0 && j < dataflow->job_count; j++) {
		struct engine_answer answer = {0};
		double begin;

		graphs[j] = dataflow_graph_create(&dataflow->jobs[j], NULL);
		options.seed = j;
		begin = ns_to_us(ns_now_cpu()) * 1e-3;
		code = graphs[j] ? engine_place(engine_find(engine), network, &dataflow->jobs[j], graphs[j], &options,
						&answer, NULL)
				 : -1;
		if (j >= RUNNING) {
			ms[j - RUNNING] = ns_to_us(ns_now_cpu()) * 1e-3 - begin;
			*evaluations += (double)answer.evaluations / DECISIONS;
		} else if (code == 0) {
			code = engine_start(network, &dataflow->jobs[j], graphs[j], &answer, NULL);
		}
		engine_answer_clear(&answer);
	}
	network_destroy(network);
	for (uint32_t j = 0; j < RUNNING + DECISIONS; j++)
		dataflow_graph_destroy(graphs[j]);
	return code;
}

static int run(const char *name, const char *engine, struct topology *topology)
{
	struct dataflow *dataflow = topology ? dataflow_create(topology, SLOTS) : NULL;
	struct dataflow_recipe recipe;
	double ms[DECISIONS], evaluations = 0;
	int code = -1;

	if (dataflow && dataflow_recipe_parse("storm", &recipe, NULL) == 0) {
		recipe.jobs = RUNNING + DECISIONS;
		code = dataflow_generate(dataflow, &recipe);
	}
	if (code == 0)
		code = decide(dataflow, engine, ms, &evaluations);
	if (code == 0) {
		quantile_median(ms, DECISIONS); /* sorts */
		printf("{\"benchmark\": \"dataflow_decision\", \"engine\": \"%s\", \"network\": \"%s\", \"hosts\": %u, "
		       "\"running_jobs\": "
		       "%d, "
		       "\"p50_ms\": %.2f, \"p99_ms\": %.2f, \"evaluations\": %.0f}\n",
		       engine, name, dataflow->topology->host_count, RUNNING, ms[DECISIONS / 2],
		       ms[DECISIONS * 99 / 100], evaluations);
	} else {
		fprintf(stderr, "bench_decision: %s: failed\n", name);
	}
	dataflow_destroy(dataflow);
	return code != 0;
}

int main(void)
{
	return run("fat-tree 16", "rate", topology_fat_tree(16, 1000, 100, NULL)) |
	       run("jellyfish 250 x 15", "rate", topology_jellyfish(250, 15, 1000, 100, 1, NULL)) |
	       run("fat-tree 36", "rate", topology_fat_tree(36, 10000, 100, NULL)) |
	       run("fat-tree 16", "both", topology_fat_tree(16, 1000, 100, NULL));
}
