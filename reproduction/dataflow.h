/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The experiments of section 4 of the cross-layer paper (Alkaff and Gupta), figures 4 to 13. The pages show the
 * published values beside ours. The paper does not give some parameters; we use:
 *
 * - slots of a host, number k of paths, temperature and number of steps of the search: options
 * - parallelism and grouping of jobs: one task per component, shuffle grouping
 * - speed of the hosts' links: the speed of the other links
 *
 * The paper's Fat-trees of m = 5 and m = 15 ports do not exist. We use 16 ports for 15, and for 5 a part of a Fat-tree
 * of 6 ports.
 */
#ifndef REPRODUCTION_DATAFLOW_H
#define REPRODUCTION_DATAFLOW_H

#include <stdio.h>

#include <model/dataflow.h>
#include <sched/dataflow/engine.h>
#include <sched/dataflow/generate.h>

#include "page.h"

enum experiment_dataflow {
	EXPERIMENT_STORM,    /* figures 4 and 5: throughput of Storm jobs */
	EXPERIMENT_HADOOP,   /* figures 7 and 8: throughput of MapReduce jobs */
	EXPERIMENT_FAILURES, /* figures 6 and 9: links fail and return */
	EXPERIMENT_RUNTIME,  /* figures 10 and 11: time of a decision, in CPU time of the thread */
	EXPERIMENT_SCALE,    /* figures 12 and 13: completion times at 1,000 hosts */
};

struct experiment_dataflow_options {
	enum experiment_dataflow what;
	const char *folder;
	struct engine_options engine; /* engine.seed is the seed of the first run */
	struct topology_paths_options paths;
	uint32_t slots; /* number of slots of each host */
	uint32_t runs;  /* number of runs, each with another seed. SCALE: number of jobs. RUNTIME: number of decisions
			   per cluster size. */
	FILE *progress; /* for a progress bar; may be NULL */
};

/* Shared by the experiments. */
enum { EXPERIMENT_LINK_MBPS = 100 };
enum { EXPERIMENT_FAT_TREE, EXPERIMENT_JELLYFISH, EXPERIMENT_TOPOLOGIES };
extern const char *const experiment_topology_names[EXPERIMENT_TOPOLOGIES];

/*
 * Returns a network of section 4 with `hosts` hosts, links of 100 MB/s and the recipe's jobs. Returns NULL on failure
 * and stores the error in the page.
 *
 *  - Fat-tree: 6 ports, or 16 for more than 54 hosts.
 *  - Jellyfish of up to 54 hosts: a switch for each host, with 5 ports to other switches.
 *  - Jellyfish of more hosts: switches of 15 ports, with four hosts each.
 */
struct dataflow *experiment_scenario(struct experiment_page *page, int topology, uint32_t hosts, uint32_t slots,
				     const struct dataflow_recipe *recipe);
struct dataflow_recipe experiment_recipe(const char *text, uint64_t seed);

/*
 * Returns the geometric mean of the ratios, minus 1, in per cent. Sets *half to half the width of the 95 % confidence
 * interval of the result; NAN if count is 1.
 */
double experiment_gain(const double *ratios, uint32_t count, double *half);

void experiment_gains(struct experiment_page *page, const struct experiment_dataflow_options *options);
void experiment_failures(struct experiment_page *page, const struct experiment_dataflow_options *options);
void experiment_runtime(struct experiment_page *page, const struct experiment_dataflow_options *options);
void experiment_scale(struct experiment_page *page, const struct experiment_dataflow_options *options);

#endif
