/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the program reproduce. */
#ifndef REPRODUCTION_REPRODUCTION_H
#define REPRODUCTION_REPRODUCTION_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <base/progress.h>
#include <model/dataflow.h>
#include <plot/chart.h>
#include <sched/dataflow/engine.h>
#include <sched/dataflow/generate.h>
#include <sched/recovery/recovery.h>

/*
 * The page of an experiment: a folder with index.html and an SVG file for each figure. index.html shows the figures,
 * and tables with the published values beside ours. The caller also gets the rows of these tables, to print them.
 *
 * The first failure is stored in the error given to experiment_page_open(). After a failure, all calls do nothing until
 * experiment_page_close(). Use a page from one thread only.
 */

struct experiment_row {
	char what[120], published[60], ours[80];
};

struct experiment_rows {
	struct experiment_row *items;
	size_t count, capacity;
};

/* Prints one line for each row. */
void experiment_rows_print(const struct experiment_rows *rows, FILE *out);

struct experiment_page;

/*
 * Makes the folder if it does not exist, and begins a page. The rows of the page's tables are also appended to *rows.
 * Returns NULL with err set on failure.
 */
struct experiment_page *experiment_page_open(const char *folder, const char *title, struct experiment_rows *rows,
					     struct error *err);

/* Adds a paragraph; HTML is not escaped. */
void experiment_page_text(struct experiment_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes the chart to figureNUMBER.svg, adds it to the page, and destroys it. chart NULL: out of memory. */
void experiment_page_chart(struct experiment_page *page, int number, struct chart *chart);

/*
 * Adds a row to the table below the last added figure. what: the quantity; published: its published value; format and
 * the arguments after it: our value, as for printf().
 */
void experiment_page_row(struct experiment_page *page, const char *what, const char *published, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

void experiment_page_fail(struct experiment_page *page, int code, const char *text);
bool experiment_page_failed(const struct experiment_page *page);

/* If no call has failed, writes index.html. Frees the page. Returns 0, or -errno of the first failure. */
int experiment_page_close(struct experiment_page *page);

/*
 * The experiments of "Surviving Failures" (Chen, Li and Li), section V, figures 6 to 15. The pages show the published
 * values beside ours.
 */

enum experiment_recovery {
	EXPERIMENT_RECOVERY_TESTBED, /* figures 6 to 11 */
	EXPERIMENT_RECOVERY_SCALE,   /* figures 12 and 13 */
	EXPERIMENT_RECOVERY_RUNTIME, /* figures 14 and 15 */
};

/* Shared by the experiments. */
/*
 * Solves the scenario. Returns its objective p, or NAN if there is no solution. server: if not NULL, *server is set to
 * an array with the server of each task, which the caller frees.
 */
double experiment_solve_p(const struct recovery_scenario *s, const struct recovery_options *options, uint32_t **server);

/* Returns a progress bar on `out`, or NULL if `out` is NULL. */
struct progress *experiment_progress(FILE *out, const char *label, uint64_t total);

void experiment_recovery_testbed(struct experiment_page *page);
void experiment_recovery_scale(struct experiment_page *page, FILE *out);
void experiment_recovery_runtime(struct experiment_page *page, uint32_t runs, FILE *out);

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
