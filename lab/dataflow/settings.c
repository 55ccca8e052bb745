/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/dataflow/settings.h>

#include <base/ns.h>
#include <model/latency_matrix.h>
#include <model/topology.h>
#include <model/worker.h>
#include <sched/topology/paths.h>

enum { ENGINES_MOST = 16 };

#define ROW(kind, ...) OPTION_##kind(struct dataflow_settings, __VA_ARGS__)

static const char *engine_names[ENGINES_MOST + 1]; /* filled by dataflow_settings_default() */

static const char *const route_names[] = {"netlink", "ports", NULL}, *const from_names[] = {
									     "scenario", "flink", "swim", "coflows",
									     "spark",    "storm", NULL};

#define ROWS_ENGINE                                                                                                    \
	ROW(CHOICE, engine, "engine", 'e', "NAME", engine_names, "placement engine"),                                  \
		ROW(INTEGER, seed, "seed", 's', "N", 0, INT32_MAX, "seed of all random choices"),                      \
		ROW(INTEGER, k, "k", 'k', "N", 1, TOPOLOGY_PATHS_K_MAXIMUM, "candidate routes per pair of switches"),  \
		ROW(INTEGER, detour, "detour", 0, "LINKS", 0, TOPOLOGY_PATHS_DETOUR_MAXIMUM,                           \
		    "candidate routes are at most this much longer than the shortest"),                                \
		ROW(STRING, map, "map", 0, "FILE",                                                                     \
		    "read the candidate routes from FILE; if it does not exist, compute all and write it"),            \
		ROW(DOUBLE, local_MBps, "local-MBps", 0, "MBPS", 1e-3, 1e9,                                            \
		    "maximum rate of a source, even if all its data stays on one host"),                               \
		ROW(FLAG, json, "json", 'j', "print JSON"), OPTION_HEADING("Engines rate and completion"),             \
		ROW(INTEGER, starts, "starts", 0, "N", 1, 10000, "number of local searches"),                          \
		ROW(INTEGER, evaluations, "evaluations", 0, "N", 0, INT32_MAX,                                         \
		    "stop a job's search after N evaluations; 0: the engine's default"),                               \
		ROW(DOUBLE, deadline_ms, "deadline-ms", 0, "MS", 0, 1e7, "deadline of the answer; 0: none")

#define ROWS_ANNEALING                                                                                                 \
	OPTION_HEADING("Engines both, application, routing (the paper does not give these values)"),                   \
		ROW(DOUBLE, temperature, "temperature", 0, "MBPS", 1e-6, 1e12, "initial temperature"),                 \
		ROW(INTEGER, steps, "steps", 0, "N", 1, INT32_MAX, "number of steps of the placement"),                \
		ROW(INTEGER, route_steps, "route-steps", 0, "N", 1, INT32_MAX, "number of steps of the routes"),       \
		ROW(INTEGER, repeats, "repeats", 0, "N", 1, INT32_MAX, "number of runs of the annealing"),             \
		ROW(FLAG, direct, "direct", 0,                                                                         \
		    "evaluate a sink by its host's direct route from the root, as printed in the paper"),              \
		ROW(CHOICE, available, "available", 0, "FLOWS", engine_available_names,                                \
		    "flows that share a link when a route is chosen: of running jobs, or all")

/* Jobs from another source than a scenario. */
#define ROWS_JOBS                                                                                                      \
	OPTION_HEADING("Jobs that are not in a scenario"),                                                             \
		ROW(CHOICE, from, "from", 0, "FORMAT", from_names, "format of FILE"),                                  \
		ROW(STRING, generate, "generate", 'g', "RECIPE",                                                       \
		    "random jobs: storm or mapreduce, then jobs=10,seed=1...; see nomora-dataflow(1)"),                \
		ROW(INTEGER, slots, "slots", 0, "N", 1, DATAFLOW_SLOTS_MAXIMUM, "tasks that each host can run"),       \
		ROW(STRING, rates, "rates", 0, "FOLDER",                                                               \
		    "flink: measured rates, VERTEX.json; see nomora-dataflow(1)"),                                     \
		ROW(INTEGER, jobs, "jobs", 0, "N", 0, INT32_MAX, "read the first N jobs of a trace; 0: all"),          \
		ROW(INTEGER, tasks, "tasks", 0, "N", 1, 10000, "swim: at most N mappers and N reducers of a job"),     \
		ROW(DOUBLE, split_MB, "split-MB", 0, "MB", 1e-3, 1e9,                                                  \
		    "swim: input of each mapper, shuffle data of each reducer"),                                       \
		ROW(FLAG, pin, "pin", 0, "coflows: a task on port N stays on host N")

#define ROWS_NETWORK                                                                                                   \
	ROW(STRING, topology, "topology", 't', "NETWORK",                                                              \
	    "the network: fattree:K[,HOSTS], jellyfish:SWITCHES,PORTS,HOSTS, leafspine:LEAVES,SPINES,HOSTS, a file "   \
	    "(nomora.topology/1 or GraphML) or a folder of lldpctl -f json, DEVICE.json"),                             \
		ROW(DOUBLE, link_MBps, "link-MBps", 0, "R", 1e-3, TOPOLOGY_MBPS_MAXIMUM, "capacity of its links")

#define ROWS_LATENCY                                                                                                   \
	OPTION_HEADING("Latency"),                                                                                     \
		ROW(STRING, latency_file, "latency", 'l', "FILE",                                                      \
		    "measured round trips; a job's rates are multiplied by its performance at these round trips"),     \
		ROW(STRING, curves, "curves", 'C', "DIR",                                                              \
		    "folder of the jobs' curves, NAME.json; default: the curves that come with nomora"),               \
		ROW(STRING, curve, "curve", 0, "NAME", "curve of jobs that name none"),                                \
		ROW(CHOICE, latency_stat, "latency-stat", 0, "STAT", latency_rtt_statistic_names,                      \
		    "statistic of each pair's round trips to use")

#define ROWS_LAB                                                                                                       \
	OPTION_HEADING("On the lab"), ROW(STRING, lab, "lab", 0, "NAME", "name of the lab"),                           \
		ROW(DOUBLE, seconds, "seconds", 0, "S", 0.1, 3600,                                                     \
		    "length of the transfers, or time that the sources send"),                                         \
		ROW(FLAG, keep_routes, "keep-routes", 0,                                                               \
		    "leave the routes in the lab; the next apply or run replaces them")

#define ROW_FAIL                                                                                                       \
	ROW(LIST, faults, "fail", 0, "FAULT",                                                                          \
	    "link:A:B@500-800, used:10@500-800 (10 % of the links in use) or, simulated, host:H@500; repeatable")

const struct option_row dataflow_plan_rows[] = {
	ROW(INTEGER, random_runs, "random-runs", 0, "N", 0, 10000,
	    "number of random placements; their mean rate is printed for each job"),
	ROW(FLAG, bound, "bound", 'b',
	    "print an upper bound on the sum of the rates for this placement (linear programming)"),
	ROW(STRING, plot, "plot", 'p', "FILE", "draw the network with the load of its links, .svg or .png"),
	ROW(FLAG, advise_moves, "advise-moves", 0,
	    "print the moves of single tasks of running jobs that would raise the sum of the rates"),
	ROW(FLAG, compare, "compare", 'c', "run every engine and print one line for each"),
	ROW(STRING, pods, "pods", 0, "FOLDER",
	    "write FOLDER/JOB.json, a Kubernetes pod template with an affinity to the job's hosts"),
	ROW(STRING, scenario, "scenario", 0, "FILE", "write the scenario to FILE (JSON) and exit"),
	ROWS_ENGINE,
	ROWS_LATENCY,
	ROWS_ANNEALING,
	ROWS_JOBS,
	ROWS_NETWORK,
	OPTION_END,
};

const struct option_row dataflow_simulate_rows[] = {
	ROW(DOUBLE, until_s, "until", 0, "S", 0, 1e9, "end of the simulation; 0: when all jobs have ended"),
	ROW_FAIL,
	ROWS_ENGINE,
	ROWS_ANNEALING,
	ROWS_JOBS,
	ROWS_NETWORK,
	OPTION_END,
};

const struct option_row dataflow_apply_rows[] = {ROWS_ENGINE, ROWS_LATENCY, ROWS_JOBS, ROWS_LAB, OPTION_END};

const struct option_row dataflow_run_rows[] = {
	ROWS_ENGINE,
	ROWS_LATENCY,
	ROWS_JOBS,
	ROWS_LAB,
	ROW_FAIL,
	ROW(CHOICE, routes, "routes", 0, "HOW", route_names,
	    "set the routes in the switches, or choose source ports that take them"),
	ROW(INTEGER, tuple_bytes, "tuple-bytes", 0, "BYTES", WORKER_TUPLE_MINIMUM, WORKER_TUPLE_MAXIMUM,
	    "size of the tuples"),
	ROW(STRING, slurm, "slurm", 0, "DIR",
	    "start the tasks by srun on the nodes with their hosts' names; the nodes share DIR"),
	ROW(STRING, throughput, "throughput", 0, "FILE", "draw the rates of each second, .svg or .png"),
	OPTION_END,
};

const struct option_row dataflow_openflow_rows[] = {
	ROW(STRING, first_address, "first-address", 0, "IPV4",
	    "address of the network's first host; the others follow"),
	ROW(INTEGER, timeout_ms, "timeout-ms", 0, "MS", 1, 600000, "time for a switch to connect or to confirm"),
	ROW(FLAG, keep, "keep", 0, "stay, and set lost flows again, until Ctrl-C"),
	ROWS_ENGINE,
	ROWS_LATENCY,
	ROWS_JOBS,
	ROWS_NETWORK,
	OPTION_END,
};

void dataflow_settings_default(struct dataflow_settings *settings)
{
	const struct engine_options defaults = engine_defaults();

	for (size_t e = 0; e < ENGINES_MOST && engine_name(e); e++)
		engine_names[e] = engine_name(e);
	*settings = (struct dataflow_settings){.seed = 1,
					       .k = 10,
					       .detour = TOPOLOGY_PATHS_DETOUR,
					       .random_runs = 20,
					       .start = ns_now_monotonic(),
					       .starts = defaults.starts,
					       .local_MBps = defaults.local_MBps,
					       .temperature = defaults.temperature,
					       .steps = defaults.steps,
					       .route_steps = defaults.route_steps,
					       .repeats = defaults.repeats,
					       .topology = "fattree:4",
					       .link_MBps = 100,
					       .slots = 2,
					       .tasks = 10,
					       .split_MB = 128,
					       .seconds = 5,
					       .tuple_bytes = 1000,
					       .first_address = "10.0.0.1",
					       .timeout_ms = 5000,
					       .latency_stat = LATENCY_STATISTIC_P99};
}

struct engine_options dataflow_engine_options(const struct dataflow_settings *settings)
{
	struct engine_options options = engine_defaults();

	options.seed = (uint64_t)settings->seed;
	options.evaluations = (uint32_t)settings->evaluations;
	options.starts = (uint32_t)settings->starts;
	options.local_MBps = settings->local_MBps;
	options.temperature = settings->temperature;
	options.steps = (uint32_t)settings->steps;
	options.route_steps = (uint32_t)settings->route_steps;
	options.repeats = (uint32_t)settings->repeats;
	options.direct = settings->direct;
	options.available = (enum engine_available)settings->available;
	options.latency = settings->latency;
	options.now = ns_now_monotonic;
	if (settings->deadline_ms > 0)
		options.deadline = ns_add(settings->start, ns_from_us(settings->deadline_ms * 1e3));
	return options;
}

struct topology_paths_options dataflow_paths_options(const struct dataflow_settings *settings)
{
	return (struct topology_paths_options){.k = (uint32_t)settings->k,
					       .detour = (uint32_t)settings->detour,
					       .seed = (uint64_t)settings->seed,
					       .file = settings->map};
}
