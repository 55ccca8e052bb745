/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of nomora dataflow with the option rows of its subcommands, and the loading of the scenario that the
 * settings name: a file, a generator, or a file of another system. The strings belong to the caller.
 */
#ifndef LAB_DATAFLOW_SETTINGS_H
#define LAB_DATAFLOW_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include <base/options.h>
#include <sched/dataflow/plan.h>
#include <sched/dataflow/simulate.h>

/* In the order of the names of the options --routes and --from. */
enum dataflow_routes { DATAFLOW_NETLINK, DATAFLOW_PORTS };
enum dataflow_from {
	DATAFLOW_SCENARIO,
	DATAFLOW_FLINK,
	DATAFLOW_SWIM,
	DATAFLOW_COFLOWS,
	DATAFLOW_SPARK,
	DATAFLOW_STORM_TOPOLOGY
};

struct dataflow_settings {
	int engine;    /* index in engine_names[] */
	int available; /* index in engine_available_names[] */
	int64_t seed, k, detour, evaluations, starts, random_runs, steps, route_steps, repeats;
	const char *map; /* file of the candidate routes (topology_paths_options.file); NULL: none */
	double deadline_ms, local_MBps, temperature;
	bool direct, compare, json, bound;
	bool advise_moves;
	const char *plot;     /* file for a picture of the network; NULL: none */
	const char *pods;     /* folder to which the jobs' pod templates are written; NULL: none */
	const char *scenario; /* file to which the scenario is written; NULL: none */
	const char *latency_file, *curves, *curve;
	int latency_stat;
	struct dataflow_latency *latency; /* opened from latency_file and curves; NULL: none */
	/* Where the jobs come from: one of `file` and `generate`; the other is NULL. */
	int from; /* format of `file`, enum dataflow_from */
	const char *file, *generate, *topology;
	const char *rates; /* folder of dataflow_read_flink_rates(); NULL: none */
	int64_t slots, jobs, tasks;
	double link_MBps, split_MB;
	bool pin;
	struct ns start; /* when deadline_ms begins: dataflow_settings_default() sets it to the present */
	/* Simulation. */
	double until_s;
	struct option_list faults; /* also of run */
	/* On a lab. */
	const char *lab; /* NULL: the network is that of `file` or `topology` */
	bool keep_routes;
	int routes; /* how connections get the plan's routes, enum dataflow_routes */
	double seconds;
	int64_t tuple_bytes;
	const char *slurm;      /* run_options.slurm_folder */
	const char *throughput; /* file for a picture of the rates of a run; NULL: none */
	/* OpenFlow. */
	const char *openflow;      /* folder of the switches' sockets */
	const char *first_address; /* IPv4 address of the network's first host */
	int64_t timeout_ms;
	bool keep;
};

/* The option rows. The names of the engines are missing until dataflow_settings_default() has been called. */
extern const struct option_row dataflow_plan_rows[], dataflow_simulate_rows[], dataflow_apply_rows[],
	dataflow_run_rows[], dataflow_openflow_rows[];
void dataflow_settings_default(struct dataflow_settings *settings);

struct engine_options dataflow_engine_options(const struct dataflow_settings *settings);
struct topology_paths_options dataflow_paths_options(const struct dataflow_settings *settings);

/* Parses the values of --fail. Returns 0, or -EINVAL with err set. */
int dataflow_parse_faults(const struct dataflow_settings *settings, const struct topology *topology,
			  struct simulate_fault faults[OPTION_LIST_MAXIMUM], struct error *err);

/* Opens the latency matrix and the curves of --latency, --curves and --curve. Returns NULL with err set on failure. */
struct dataflow_latency *dataflow_open_latency(const struct dataflow_settings *settings,
					       const struct dataflow *dataflow, struct error *err);

/* Loads the scenario. Returns NULL with err set on failure. */
struct dataflow *dataflow_load(const struct dataflow_settings *settings, struct error *err);

#endif
