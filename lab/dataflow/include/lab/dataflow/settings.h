/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of nomora dataflow with their option rows, and the scenario that they name: a file, a generator, or a
 * file of another system. Plain data; texts are borrowed.
 */
#ifndef LAB_DATAFLOW_SETTINGS_H
#define LAB_DATAFLOW_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include <base/options.h>
#include <sched/dataflow/plan_report.h>
#include <sched/dataflow/simulate.h>

enum dataflow_routes { DATAFLOW_NETLINK, DATAFLOW_PORTS }; /* order of the option's names */

struct dataflow_settings {
	int engine, literal; /* literal < 0: none of the printed faults */
	int64_t seed, k, detour, evaluations, starts, random_runs, steps, route_steps, repeats;
	const char *map; /* file of the candidate routes; NULL: none */
	double deadline_ms, local_MBps, temperature;
	bool direct, compare, json, bound;
	bool advise_moves;
	const char *openflow, *first_address; /* folder of the switches' sockets; NULL: none */
	int64_t openflow_timeout_ms;
	bool openflow_keep;
	const char *plot; /* picture; NULL: none */
	const char *latency_file, *curves, *curve;
	int latency_stat;
	struct dataflow_latency *latency; /* opened from latency_file and curves; NULL: none */
	/* Where the jobs come from. */
	const char *file; /* NULL: one of the following */
	const char *generate, *flink, *swim, *coflows, *topology, *scenario;
	int64_t slots, jobs, tasks;
	double link_MBps, split_MB;
	bool pin;
	/* Simulation. */
	bool simulate;
	double until_s, buffer_MB;
	struct option_list faults;
	/* On a lab. */
	bool apply, run, keep_routes; /* run: `nomora dataflow run` */
	int routes;                   /* of run: enum dataflow_routes */
	const char *lab;
	double seconds;
	int64_t tuple_bytes;
	const char *slurm;      /* folder that the nodes share; NULL: without Slurm */
	const char *throughput; /* picture of a run; NULL: none */
	int experiment;         /* < 0: none */
	const char *output;
	int64_t runs;
};

/* The option rows; they list the engines only after dataflow_settings_default(). */
extern const struct option_row dataflow_option_rows[];
void dataflow_settings_default(struct dataflow_settings *settings);

struct engine_options dataflow_engine_options(const struct dataflow_settings *settings);
struct topology_paths_options dataflow_paths_options(const struct dataflow_settings *settings);

/* Parses --fail. 0 or -EINVAL with err set. */
int dataflow_parse_faults(const struct dataflow_settings *settings, const struct topology *topology,
			  struct simulate_fault faults[OPTION_LIST_MAXIMUM], struct error *err);

/*
 * Checks that there is exactly one source of jobs (FILE, counted by `operands`, or an option that replaces it), and
 * that the options can be combined. Returns 0, or -EINVAL with err set.
 */
int dataflow_check_sources(const struct dataflow_settings *settings, int operands, struct error *err);

/* Opens the latencies of --latency. Returns NULL with err set on failure. */
struct dataflow_latency *dataflow_open_latency(const struct dataflow_settings *settings,
					       const struct dataflow *dataflow, struct error *err);

/* Loads the file `path` or, if `path` is NULL, the scenario of the options. Returns NULL with err set on failure. */
struct dataflow *dataflow_load(const struct dataflow_settings *settings, const char *path, struct error *err);

#endif
