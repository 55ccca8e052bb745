/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/quantile.h>

#include "dataflow_priv.h"

enum { SMALL_HOSTS = 54, SMALL_PORTS = 5, LARGE_PORTS = 15, LARGE_HOSTS_A_SWITCH = 4 };
static const double link_MBps = 100;

const char *const experiment_topology_names[EXPERIMENT_TOPOLOGIES] = {"Fat-tree", "Jellyfish"};

struct dataflow_recipe experiment_recipe(const char *text, uint64_t seed)
{
	struct dataflow_recipe recipe;

	dataflow_recipe_parse(text, &recipe, NULL);
	recipe.seed = seed;
	return recipe;
}

static struct topology *make_topology(int topology, uint32_t hosts, uint64_t seed, struct error *err)
{
	uint32_t switches = hosts <= SMALL_HOSTS ? hosts : (hosts + LARGE_HOSTS_A_SWITCH - 1) / LARGE_HOSTS_A_SWITCH;

	if (topology == EXPERIMENT_FAT_TREE)
		return topology_fat_tree(hosts <= SMALL_HOSTS ? 6 : 16, hosts, link_MBps, err);
	return topology_jellyfish(switches, hosts <= SMALL_HOSTS ? SMALL_PORTS : LARGE_PORTS, hosts, link_MBps, seed,
				  err);
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

int experiment_dataflow(const struct experiment_dataflow_options *options, struct experiment_rows *rows,
			struct error *err)
{
	static const char *const titles[] = {
		[EXPERIMENT_STORM] = "Dataflow: throughput of Storm jobs, figures 4 and 5",
		[EXPERIMENT_HADOOP] = "Dataflow: throughput of MapReduce jobs, figures 7 and 8",
		[EXPERIMENT_FAILURES] = "Dataflow: failed links, figures 6 and 9",
		[EXPERIMENT_RUNTIME] = "Dataflow: time of a decision, figures 10 and 11",
		[EXPERIMENT_SCALE] = "Dataflow: completion times at 1,000 hosts, figures 12 and 13",
	};
	struct experiment_page *page = experiment_page_open(options->folder, titles[options->what], rows, err);
	struct experiment_dataflow_options limited = *options;

	if (!page)
		return error_code(err, EIO);
	limited.engine.local_MBps = fmin(options->engine.local_MBps, link_MBps);
	options = &limited;
	switch (options->what) {
	case EXPERIMENT_STORM:
	case EXPERIMENT_HADOOP:
		experiment_gains(page, options);
		break;
	case EXPERIMENT_FAILURES:
		experiment_failures(page, options);
		break;
	case EXPERIMENT_RUNTIME:
		experiment_runtime(page, options);
		break;
	case EXPERIMENT_SCALE:
		experiment_scale(page, options);
		break;
	}
	return experiment_page_close(page);
}
