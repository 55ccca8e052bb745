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
#ifndef SCHED_EXPERIMENT_DATAFLOW_H
#define SCHED_EXPERIMENT_DATAFLOW_H

#include <stdio.h>

#include <sched/dataflow/engine.h>
#include <sched/experiment/page.h>

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

/*
 * Runs the experiment options->what and writes its page. Appends the rows of the page's tables to *rows; the caller
 * frees rows->items. Returns 0, or -errno with err set.
 */
int experiment_dataflow(const struct experiment_dataflow_options *options, struct experiment_rows *rows,
			struct error *err);

#endif
