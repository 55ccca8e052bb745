/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sched/dataflow/generate.h>
#include <sched/dataflow/graph.h>

static struct dataflow *generate(const char *text)
{
	struct error err = {0};
	struct dataflow_recipe recipe;
	struct dataflow *dataflow = dataflow_create(topology_fat_tree(4, 0, 100, NULL), 2);

	cr_assert_eq(dataflow_recipe_parse(text, &recipe, &err), 0, "%s", err.text);
	cr_assert_eq(dataflow_generate(dataflow, &recipe), 0);
	return dataflow;
}

Test(dataflow_generate, storm_jobs_are_acyclic_and_reach_every_bolt)
{
	struct dataflow *dataflow = generate("storm,jobs=200,per-minute=10,MB=1-100,seed=3");
	double children = 0;

	cr_assert_eq(dataflow->job_count, 200);
	for (uint32_t j = 0; j < 200; j++) {
		const struct dataflow_job *job = &dataflow->jobs[j];
		struct dataflow_graph *graph = dataflow_graph_create(job, NULL);

		cr_expect_eq(job->arrival_s, 6.0 * j);
		cr_assert_eq(job->component_count, 12);
		cr_assert_eq(graph->source_count, 2);
		for (uint32_t s = 0; s < 2; s++)
			cr_expect(job->components[s].MB >= 1 && job->components[s].MB <= 100);
		for (uint32_t e = 0; e < job->edge_count; e++)
			cr_expect_lt(job->edges[e].from, job->edges[e].to);
		for (uint32_t t = 0; t < graph->task_count; t++)
			cr_expect_lt(graph->received.first[t], graph->received.first[t + 1], "task %u gets nothing", t);
		children += job->edge_count;
		dataflow_graph_destroy(graph);
	}
	children /= 200 * 11;
	cr_expect(children > 1.6 && children < 2.4, "%g children each", children);
	dataflow_destroy(dataflow);
}

Test(dataflow_generate, mapreduce_stages_are_chained)
{
	struct dataflow *dataflow = generate("mapreduce,jobs=1,mappers=3,reducers=2,stages=2");
	struct dataflow_graph *graph = dataflow_graph_create(&dataflow->jobs[0], NULL);

	cr_expect_eq(graph->task_count, 10);
	cr_expect_eq(graph->source_count, 3);
	cr_expect_eq(graph->flow_count, 6 + 6 + 6);
	cr_expect_float_eq(graph->sink_share[0], 1, 1e-12);
	cr_expect(isinf(dataflow->jobs[0].components[0].MB));
	dataflow_graph_destroy(graph);
	dataflow_destroy(dataflow);
}

Test(dataflow_generate, bad_recipes_are_refused)
{
	static const char *const bad[] = {"spark",
					  "storm,jobs=0",
					  "storm,jobs",
					  "storm,MB=5",
					  "storm,MB=9-1",
					  "storm,red=1",
					  "storm,seed=x",
					  "storm,MB=-1-2",
					  "",
					  "storm,jobs=100001",
					  "storm,seed=-1",
					  "storm,per-minute=-1",
					  "storm,per-minute=1000001",
					  "storm,MB=1-2000000000000"};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct error err = {0};
		struct dataflow_recipe recipe;

		cr_expect_eq(dataflow_recipe_parse(bad[i], &recipe, &err), -EINVAL, "%s", bad[i]);
		cr_expect_eq(strncmp(err.text, "--generate: found", 17), 0, "%s", err.text);
	}
}

Test(dataflow_generate, each_word_of_a_recipe_sets_its_field)
{
	static const char text[] = "mapreduce,jobs=100000,per-minute=1e6,MB=0-1e12,seed=0,spouts=1,bolts=3,mappers=5,"
				   "reducers=6,stages=7";
	struct dataflow_recipe recipe;

	cr_assert_eq(dataflow_recipe_parse("storm", &recipe, NULL), 0);
	cr_expect(recipe.workload == DATAFLOW_STORM && recipe.jobs == 10 && recipe.spouts == 2 && recipe.bolts == 10);
	cr_expect(recipe.mappers == 4 && recipe.reducers == 4 && recipe.stages == 1 && recipe.seed == 1);
	cr_expect(recipe.per_minute == 0 && recipe.MB_low == 0 && recipe.MB_high == 0);
	cr_assert_eq(dataflow_recipe_parse(text, &recipe, NULL), 0);
	cr_expect(recipe.workload == DATAFLOW_MAPREDUCE && recipe.jobs == 100000 && recipe.seed == 0);
	cr_expect(recipe.spouts == 1 && recipe.bolts == 3 && recipe.mappers == 5 && recipe.reducers == 6);
	cr_expect(recipe.stages == 7 && recipe.per_minute == 1e6 && recipe.MB_low == 0 && recipe.MB_high == 1e12);
}

/* Forward: one to one for equal numbers of tasks, otherwise in groups; all data arrives. Global: all to task 0. */
Test(dataflow_generate, groupings_forward_and_global)
{
	static const uint32_t tasks[][3] = {{4, 4, 4}, {2, 4, 4}, {4, 2, 4}, {2, 3, 4}, {1, 5, 5}};

	for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
		for (int global = 0; global < 2; global++) {
			struct dataflow *dataflow = dataflow_create(topology_fat_tree(4, 0, 100, NULL), 2);
			struct dataflow_job *job = dataflow_add_job(dataflow, "j", 0);
			struct dataflow_graph *graph;

			dataflow_add_component(job, "a", tasks[i][0]);
			dataflow_add_component(job, "b", tasks[i][1]);
			dataflow_add_edge(job, 0, 1, global ? DATAFLOW_GLOBAL : DATAFLOW_FORWARD);
			dataflow_place_nowhere(job);
			graph = dataflow_graph_create(job, NULL);
			cr_expect_eq(graph->flow_count, global ? tasks[i][0] : tasks[i][2]);
			for (uint32_t s = 0; s < graph->source_count; s++)
				cr_expect_float_eq(graph->sink_share[s], 1, 1e-12);
			for (uint32_t f = 0; f < graph->flow_count && global; f++)
				cr_expect_eq(graph->flows[f].to, tasks[i][0]);
			dataflow_graph_destroy(graph);
			dataflow_destroy(dataflow);
		}
}
