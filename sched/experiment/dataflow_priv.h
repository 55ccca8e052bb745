/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the dataflow experiments. Private. */
#ifndef SCHED_EXPERIMENT_DATAFLOW_PRIV_H
#define SCHED_EXPERIMENT_DATAFLOW_PRIV_H

#include <model/dataflow.h>
#include <sched/dataflow/generate.h>
#include <sched/experiment/dataflow.h>

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
