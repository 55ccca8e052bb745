/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A flow-level simulation of dataflow jobs in virtual time. When a job arrives, an engine places it. Its sources send
 * at the max-min fair rates that all sources sustain together under back-pressure (network_rates()); there are no
 * queues, so all rates follow a change at once. A job ends when each source has sent its volume. A job without enough
 * free slots waits; waiting jobs start in the order of their arrival.
 *
 * Links and hosts fail and return. When a link fails, the routes over it are replaced. When it returns, these routes
 * are restored. Other routes do not change. When a host fails, only its tasks are placed again; a source among them
 * continues after the data that it has already sent. Use from one thread. The same input and seed give the same result.
 */
#ifndef SCHED_DATAFLOW_SIMULATE_H
#define SCHED_DATAFLOW_SIMULATE_H

#include <stdio.h>

#include <jansson.h>

#include <sched/dataflow/engine.h>

enum simulate_fault_kind {
	SIMULATE_LINK, /* subject: a link of the topology */
	SIMULATE_HOST, /* subject: a node */
	SIMULATE_USED, /* subject: a percentage. Of the links between switches that carry data at fail_s, this share
			  fails, drawn at random. */
};

struct simulate_fault {
	enum simulate_fault_kind kind;
	uint32_t subject;
	double fail_s, repair_s; /* repair_s INFINITY: never */
};

/*
 * Parses "link:A:B@500-800", "host:H@500" (never repaired), "used:10@500-800" (10 % of the links in use). Returns 0, or
 * -EINVAL with err set.
 */
int simulate_fault_parse(const char *text, const struct topology *topology, struct simulate_fault *fault,
			 struct error *err);

struct dataflow_simulate_options {
	const struct engine *engine;
	struct engine_options engine_options;
	struct topology_paths_options paths;
	const struct simulate_fault *faults;
	uint32_t fault_count;
	double until_s; /* INFINITY: until all jobs have ended */
};

struct simulate_job {
	double arrival_s, start_s, end_s; /* NAN: the job did not arrive, start or end */
	double MB;                        /* data that the job's sources have sent, MB */
	uint32_t moved_tasks;             /* tasks whose host failed; a task counts once per failure */
};

struct dataflow_simulate_result {
	struct simulate_job *jobs; /* in the order of the scenario */
	uint32_t job_count;
	/*
	 * From time_s to the next entry's time_s, the sum of all sources' rates is MBps; the last entry is the end of
	 * the simulation.
	 */
	struct simulate_rate {
		double time_s, MBps;
	} * rates;
	size_t rate_count, rate_capacity;
	uint32_t rerouted;              /* number of routes replaced after failures of links */
	double *decision_s, *reroute_s; /* duration of each placement and of each rerouting after a link failure, by
					   now(); 0 without now() */
	size_t decision_count, decision_capacity, reroute_count, reroute_capacity;
};

/*
 * Changes the jobs' hosts and the states of the topology's links during the simulation. At the end, restores the hosts,
 * and the links that are still down because of a fault are set up again.
 *
 * Returns 0; or, with err set:
 * - -EINVAL: a job never ends and until_s is INFINITY; or a cycle of edges passes on at least as much data as it
 *   receives
 * - -ENOSPC: a job can never start, because it needs more free slots
 * - -EHOSTUNREACH: a job can never start, because hosts are not connected; or no running job can send and no event is
 *   left
 * - -E2BIG: a job has too many flows
 * - -ENOMEM
 */
int dataflow_simulate(struct dataflow *dataflow, const struct dataflow_simulate_options *options,
		      struct dataflow_simulate_result *result, struct error *err);
/*
 * simulate_result_print() prints a table; simulate_result_to_json() returns nomora.dataflow-simulation/1, or NULL if
 * out of memory.
 */
void simulate_result_print(const struct dataflow *dataflow, const struct dataflow_simulate_result *result, FILE *out);
json_t *simulate_result_to_json(const struct dataflow *dataflow, const struct dataflow_simulate_result *result,
				const char *engine);
void simulate_result_clear(struct dataflow_simulate_result *result);

/* Returns the mean, from from_s to to_s, of the sum of all sources' rates. */
double simulate_mean_MBps(const struct dataflow_simulate_result *result, double from_s, double to_s);

#endif
