/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random dataflow jobs: the workloads of section 4 of Alkaff and Gupta's paper. Pure.
 *
 * storm: `spouts` sources and `bolts` other components, of one task each. A component has a random number of children
 * among the later components: from the normal distribution N(2, 2), rounded, but at least 1 for a spout. A bolt without
 * a parent gets a random earlier component as its parent. A child gets all data that its parent receives.
 *
 * mapreduce: `stages` stages in a row. In a stage, `mappers` tasks send evenly to `reducers` tasks; these send to the
 * mappers of the next stage.
 */
#ifndef SCHED_DATAFLOW_GENERATE_H
#define SCHED_DATAFLOW_GENERATE_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <model/dataflow.h>

enum dataflow_workload { DATAFLOW_STORM, DATAFLOW_MAPREDUCE };

struct dataflow_recipe {
	enum dataflow_workload workload;
	uint32_t jobs, spouts, bolts, mappers, reducers, stages;
	double per_minute;      /* jobs arrive at equal intervals; 0: all at second 0 */
	double MB_low, MB_high; /* limits of the data that each source task sends, MB, uniformly distributed; both 0:
				   jobs never end */
	uint64_t seed;
};

/*
 * Parses "storm" or "mapreduce", followed by any of these settings, separated by commas. The values here are the
 * defaults: jobs=10, per-minute=0, MB=0-0, seed=1, spouts=2, bolts=10, mappers=4, reducers=4, stages=1. Returns 0; or,
 * with err set, -EINVAL or -ENOMEM.
 */
int dataflow_recipe_parse(const char *text, struct dataflow_recipe *recipe, struct error *err);

/* Adds the jobs to *dataflow; the same recipe gives the same jobs. Returns 0 or -ENOMEM. */
int dataflow_generate(struct dataflow *dataflow, const struct dataflow_recipe *recipe);

#endif
