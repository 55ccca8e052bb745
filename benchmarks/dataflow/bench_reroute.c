/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time to choose new routes after failures of links that about 100 routes cross, and to restore them after the repair.
 * 1,000 hosts are full of Storm-like jobs. Measures the decision only, no switch is changed. Median and maximum CPU
 * time of the thread; once the time to look for better routes in their place. One JSON line per network.
 */
#include <stdio.h>
#include <stdlib.h>

#include <base/ns.h>
#include <base/quantile.h>
#include <sched/dataflow/engine.h>
#include <sched/dataflow/generate.h>

enum { SLOTS = 2, WANTED = 100, REPEATS = 50 };

struct figures {
	uint32_t links, routes; /* failed links, and the routes over them */
	double fail_ms[REPEATS], repair_ms[REPEATS], improve_ms;
};

/* Sets links up or down and chooses routes. Returns the number of routes changed, or -ENOMEM. */
static int set_links(struct topology *topology, struct network *network, const uint32_t *links, uint32_t count, bool up,
		     double *ms)
{
	double begin;
	int changed;

	for (uint32_t i = 0; i < count; i++)
		topology->links[links[i]].up = up;
	begin = ns_to_us(ns_now_cpu()) * 1e-3;
	changed = network_reroute_pairs(network, up);
	*ms = ns_to_us(ns_now_cpu()) * 1e-3 - begin;
	return changed;
}

/* Fails links in use until at least the wanted number of routes crosses them; links[] gets the failed ones. */
static int measure(struct topology *topology, struct network *network, uint32_t *links, struct figures *figures)
{
	int in_use = network_links_in_use(network, links), changed = 0;
	double ms;

	figures->links = 0;
	while (changed >= 0 && changed < WANTED && (int)figures->links < in_use) {
		changed = set_links(topology, network, links, ++figures->links, false, &ms);
		if (changed < 0 || set_links(topology, network, links, figures->links, true, &ms) < 0)
			return -1;
	}
	figures->routes = (uint32_t)changed;
	for (int i = 0; i < REPEATS; i++) {
		changed = set_links(topology, network, links, figures->links, false, &figures->fail_ms[i]);
		if (i == 0) {
			figures->improve_ms = -ns_to_us(ns_now_cpu()) * 1e-3;
			network_improve_rerouted(network);
			figures->improve_ms += ns_to_us(ns_now_cpu()) * 1e-3;
		}
		if (changed != (int)figures->routes ||
		    set_links(topology, network, links, figures->links, true, &figures->repair_ms[i]) != changed)
			return -1;
	}
	return 0;
}

/* Places jobs until the slots are used up. */
static int fill(struct dataflow *dataflow, struct network *network, struct dataflow_graph **graphs)
{
	struct engine_options options = engine_defaults();
	int code = 0;

	for (uint32_t j = 0; code == 0 && j < dataflow->job_count; j++) {
		struct engine_answer answer = {0};

		graphs[j] = dataflow_graph_create(&dataflow->jobs[j], NULL);
		options.seed = j;
		code = graphs[j] ? engine_place(engine_find("random"), network, &dataflow->jobs[j], graphs[j], &options,
						&answer, NULL)
				 : -1;
		if (code == 0)
			code = engine_start(network, &dataflow->jobs[j], graphs[j], &answer, NULL);
		engine_answer_clear(&answer);
	}
	return code;
}

static void print_figures(const char *name, const struct topology *topology, struct figures *figures)
{
	double fail_ms = quantile_median(figures->fail_ms, REPEATS),
	       repair_ms = quantile_median(figures->repair_ms, REPEATS); /* quantile_median() sorted both */

	printf("{\"benchmark\": \"dataflow_reroute\", \"network\": \"%s\", \"hosts\": %u, \"links\": %u, "
	       "\"routes\": %u, \"fail_ms\": %.3f, \"fail_longest_ms\": %.3f, \"repair_ms\": %.3f, "
	       "\"repair_longest_ms\": %.3f, \"improve_ms\": %.0f}\n",
	       name, topology->host_count, figures->links, figures->routes, fail_ms, figures->fail_ms[REPEATS - 1],
	       repair_ms, figures->repair_ms[REPEATS - 1], figures->improve_ms);
}

static int run(const char *name, struct topology *topology)
{
	struct topology_paths_options paths = {.k = 10, .detour = TOPOLOGY_PATHS_DETOUR, .seed = 1};
	struct dataflow *dataflow = topology ? dataflow_create(topology, SLOTS) : NULL;
	struct dataflow_graph **graphs = NULL;
	struct network *network = NULL;
	struct dataflow_recipe recipe;
	struct figures figures;
	uint32_t *links = NULL;
	int code = -1;

	if (dataflow && dataflow_recipe_parse("storm,jobs=160", &recipe, NULL) == 0)
		code = dataflow_generate(dataflow, &recipe);
	if (code == 0) {
		network = network_create(topology, dataflow->slots, dataflow->cpu, &paths, NULL);
		graphs = calloc(dataflow->job_count, sizeof *graphs);
		links = malloc(topology->link_count * sizeof *links);
		code = network && graphs && links ? fill(dataflow, network, graphs) : -1;
	}
	if (code == 0)
		code = measure(topology, network, links, &figures);
	if (code == 0)
		print_figures(name, topology, &figures);
	else
		fprintf(stderr, "bench_reroute: %s: failed\n", name);
	network_destroy(network);
	for (uint32_t j = 0; graphs && j < dataflow->job_count; j++)
		dataflow_graph_destroy(graphs[j]);
	free(graphs);
	free(links);
	dataflow_destroy(dataflow);
	return code != 0;
}

int main(void)
{
	return run("fat-tree 16", topology_fat_tree(16, 1000, 100, NULL)) |
	       run("jellyfish 250 x 15", topology_jellyfish(250, 15, 1000, 100, 1, NULL));
}
