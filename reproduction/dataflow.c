/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>

#include <base/quantile.h>

#include "reproduction.h"

enum { SMALL_HOSTS = 54, SMALL_PORTS = 5, LARGE_PORTS = 15, LARGE_HOSTS_A_SWITCH = 4 };

const char *const experiment_topology_names[EXPERIMENT_TOPOLOGIES] = {"Fat-tree", "Jellyfish"};

static struct topology *make_topology(int topology, uint32_t hosts, uint64_t seed, struct error *err)
{
	uint32_t switches = hosts <= SMALL_HOSTS ? hosts : (hosts + LARGE_HOSTS_A_SWITCH - 1) / LARGE_HOSTS_A_SWITCH;

	if (topology == EXPERIMENT_FAT_TREE)
		return topology_fat_tree(hosts <= SMALL_HOSTS ? 6 : 16, hosts, EXPERIMENT_LINK_MBPS, err);
	return topology_jellyfish(switches, hosts <= SMALL_HOSTS ? SMALL_PORTS : LARGE_PORTS, hosts,
				  EXPERIMENT_LINK_MBPS, seed, err);
}

struct dataflow *experiment_scenario(struct experiment_page *page, int topology, uint32_t hosts, uint32_t slots,
				     const struct dataflow_recipe *recipe)
{
	struct error err = {0};
	struct topology *network = make_topology(topology, hosts, recipe->seed, &err);
	struct dataflow *dataflow = network ? dataflow_create(network, slots) : NULL;

	if (dataflow && dataflow_generate(dataflow, recipe) == 0)
		return dataflow;
	dataflow_destroy(dataflow);
	experiment_page_fail(page, err.code ? err.code : ENOMEM, err.code ? err.text : "out of memory");
	return NULL;
}

struct dataflow_recipe experiment_recipe(const char *text, uint64_t seed)
{
	struct dataflow_recipe recipe;

	dataflow_recipe_parse(text, &recipe, NULL);
	recipe.seed = seed;
	return recipe;
}

double experiment_gain(const double *ratios, uint32_t count, double *half)
{
	double sum = 0, squares = 0, mean, deviation;

	for (uint32_t i = 0; i < count; i++)
		sum += log(ratios[i]);
	mean = sum / count;
	for (uint32_t i = 0; i < count; i++)
		squares += (log(ratios[i]) - mean) * (log(ratios[i]) - mean);
	deviation = count > 1 ? quantile_student(0.05, count - 1) * sqrt(squares / (count - 1) / count) : NAN;
	*half = 100 * exp(mean) * deviation;
	return 100 * (exp(mean) - 1);
}
