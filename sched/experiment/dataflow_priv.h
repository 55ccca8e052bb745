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
 * A network of section 4 with `hosts` hosts, links of 100 MB/s and the recipe's jobs: a Fat-tree of 6 or, for more than
 * 54 hosts, 16 ports; a Jellyfish with a switch for each host and 5 ports between switches, or, for more than 54 hosts,
 * four hosts on each switch of 15 ports. NULL with the page failed.
 */
struct dataflow *experiment_scenario(struct experiment_page *page, int topology, uint32_t hosts, uint32_t slots,
				     const struct dataflow_recipe *recipe);
struct dataflow_recipe experiment_recipe(const char *text, uint64_t seed);

/* Geometric mean of ratios - 1 in per cent, and half its 95 % interval (NAN for one). */
double experiment_gain(const double *ratios, uint32_t count, double *half);

void experiment_gains(struct experiment_page *page, const struct experiment_dataflow_options *options);
void experiment_failures(struct experiment_page *page, const struct experiment_dataflow_options *options);
void experiment_runtime(struct experiment_page *page, const struct experiment_dataflow_options *options);
void experiment_scale(struct experiment_page *page, const struct experiment_dataflow_options *options);

#endif
