/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A flow-level simulation of dataflow jobs in virtual time: jobs arrive, are placed by an engine, send at the max-min
 * fair rates that all sources sustain together under back-pressure (network_rates()), and end when each source has sent
 * its volume. A job without enough free slots waits; waiting jobs start in the order of their arrival.
 *
 * Without buffers, rates follow every change at once. With buffer_MB each flow has a queue of that size: a source may
 * send faster than the bottleneck of its data until the queues before the bottleneck are full, and a job ends when its
 * queues are empty (buffers.h). The data in the queues of a failed host is not lost.
 *
 * Links and hosts fail and return. Routes over a failed link are replaced, and restored when the link returns; other
 * routes do not change. A failed host loses its tasks: only these are placed again, and a source continues where it
 * was. One thread, seeded: the same input gives the same result.
 */
#ifndef SCHED_DATAFLOW_SIMULATE_H
#define SCHED_DATAFLOW_SIMULATE_H

#include <stdio.h>

#include <jansson.h>

#include <sched/dataflow/engine.h>

enum simulate_fault_kind {
	SIMULATE_LINK, /* subject: a link of the topology */
	SIMULATE_HOST, /* subject: a node */
	SIMULATE_USED, /* subject: percentage of the links between switches that carry data at that time, drawn at
			  random */
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
	double until_s;   /* INFINITY: until all jobs have ended */
	double buffer_MB; /* of each flow's queue; 0: none */
};

struct simulate_job {
	double arrival_s, start_s, end_s; /* NAN: it did not happen */
	double MB;                        /* sent by its sources */
	uint32_t moved_tasks;             /* because of failed hosts */
};

struct dataflow_simulate_result {
	struct simulate_job *jobs; /* in the order of the scenario */
	uint32_t job_count;
	/* The sum of all sources' rates from a time on; the last entry is the end. */
	struct simulate_rate {
		double time_s, MBps;
	} * rates;
	size_t rate_count, rate_capacity;
	uint32_t rerouted;              /* routes replaced after failures */
	double *decision_s, *reroute_s; /* wall-clock time of each placement, and of each rerouting after a failure; 0
					   without now() */
	size_t decision_count, decision_capacity, reroute_count, reroute_capacity;
};

/*
 * Changes the jobs' hosts and the state of the topology's links during the simulation, and restores both at the end.
 * Returns 0; or, with err set, -EINVAL (a job never ends and until_s is INFINITY; the gain of a cycle is 1 or more; a
 * job has a cycle, with buffers), -ENOSPC or -EHOSTUNREACH (a job can never start, or no running job can send any more)
 * or -ENOMEM.
 */
int dataflow_simulate(struct dataflow *dataflow, const struct dataflow_simulate_options *options,
		      struct dataflow_simulate_result *result, struct error *err);
/* Prints a table; returns nomora.dataflow-simulation/1, or NULL if out of memory. */
void simulate_result_print(const struct dataflow *dataflow, const struct dataflow_simulate_result *result, FILE *out);
json_t *simulate_result_to_json(const struct dataflow *dataflow, const struct dataflow_simulate_result *result,
				const char *engine);
void simulate_result_clear(struct dataflow_simulate_result *result);

/* Returns the mean of the total rate over an interval. */
double simulate_mean_MBps(const struct dataflow_simulate_result *result, double from_s, double to_s);

#endif
