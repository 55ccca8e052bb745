/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of nomora dataflow: settings from the command line, where the scenario comes from, printing. Private. */
#ifndef APPS_DATAFLOW_H
#define APPS_DATAFLOW_H

#include <stdbool.h>
#include <stdint.h>

#include <base/options.h>
#include <lab/lab.h>
#include <sched/dataflow/advise.h>
#include <sched/dataflow/latency.h>
#include <sched/dataflow/plan.h>

enum dataflow_routes { DATAFLOW_NETLINK, DATAFLOW_PORTS }; /* order of the option's names */

struct dataflow_settings {
	int engine;
	int64_t seed, k, detour, evaluations, starts, random_runs, steps, route_steps, repeats;
	double deadline_ms, local_MBps, temperature;
	bool direct, compare, json, bound;
	bool advise_moves;
	const char *plot; /* picture; NULL: none */
	const char *latency_file, *curves, *curve;
	int latency_stat;
	struct dataflow_latency *latency; /* opened from these; NULL: none */
	/* Where the jobs come from. */
	const char *generate, *flink, *swim, *coflows, *topology, *scenario;
	int64_t slots, jobs, tasks;
	double link_MBps, split_MB;
	bool pin;
	/* Simulation. */
	bool simulate;
	double until_s;
	struct option_list faults;
	/* On a lab. */
	bool apply, run, keep_routes; /* run: `nomora dataflow run` */
	int routes;                   /* of run: enum dataflow_routes */
	const char *lab;
	double seconds;
	int64_t tuple_bytes;
	int experiment; /* < 0: none */
	const char *output;
	int64_t runs;
};

/* Exactly one of FILE (operands) and the options that replace it; 0 or -EINVAL with err set. */
int dataflow_check_sources(const struct dataflow_settings *settings, int operands, struct error *err);

/* What --latency asks for. NULL with err set. */
struct dataflow_latency *dataflow_open_latency(const struct dataflow_settings *settings,
					       const struct dataflow *dataflow, struct error *err);

/* The scenario of the command line: `path`, or NULL. NULL with err set. */
struct dataflow *dataflow_load(const struct dataflow_settings *settings, const char *path, struct error *err);

struct engine_options dataflow_engine_options(const struct dataflow_settings *settings);
struct paths_options dataflow_paths_options(const struct dataflow_settings *settings);

/* Simulates with the engine of the command line and prints; an exit code. */
int dataflow_run_simulation(const struct dataflow_settings *settings, struct dataflow *dataflow);

/* The lab of --apply: it must be routed, with limited links. 0 or -errno with err set. */
int dataflow_read_lab(const char *name, struct lab *lab, struct error *err);
/* Sets the plan's routes, runs its flows and prints predicted and measured rates. 0 or -errno with err set. */
int dataflow_apply(const struct dataflow_settings *settings, struct dataflow_plan *plan, struct error *err);

/* The figures of --experiment into -o DIR, their values on standard output; an exit code. */
int dataflow_run_experiment(const struct dataflow_settings *settings);

/* nomora dataflow run: prints a line each second, and the rates of the sinks. 0 or -errno with err set. */
int dataflow_run(const struct dataflow_settings *settings, struct dataflow *dataflow, struct dataflow_plan *plan,
		 struct error *err);
/* nomora dataflow worker */
int dataflow_command_worker(int argc, char **argv);

/* The exit code for an error of the rooms: 3 where the answer is no. */
int dataflow_fail(const struct error *err);

/* bound_MBps: NAN if not asked for. */
void dataflow_print_plan(const struct dataflow_settings *settings, const struct dataflow_plan *plan,
			 const struct dataflow_advice *advice, double bound_MBps);
/* The network with the load of its links, to a file. 0 or -errno with err set. */
int dataflow_plot(const struct dataflow_plan *plan, const char *engine, const char *path, struct error *err);
int dataflow_print_plan_json(const struct dataflow_settings *settings, const struct dataflow_plan *plan,
			     const struct dataflow_advice *advice, double bound_MBps);

#endif
