/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a plan on a routed lab: sets its routes, or chooses source ports that take them, starts a process for each task
 * in the network namespace of its host, and watches the links. Routes over a link that has lost its carrier are chosen
 * again, others stay; when the link returns, so do the routes that had left it. When the time is over, the sources end,
 * and every tuple is passed on.
 *
 * Processes, routes and faults end with the caller, by SIGKILL too. Root only; one thread. Rates are MB/s (10^6 bytes
 * of tuples).
 */
#ifndef LAB_DATAFLOW_RUN_H
#define LAB_DATAFLOW_RUN_H

#include <signal.h>

#include <lab/lab.h>
#include <sched/dataflow/plan.h>
#include <sched/dataflow/simulate.h>

/* Since the run's last line. */
struct run_second {
	double s; /* since the start */
	double source_MBps, sink_MBps;
	double latency_p99_us;         /* of the worst sink; NAN: no tuple came to one */
	uint64_t lost, duplicated;     /* since the start */
	uint32_t links_down, rerouted; /* links of the lab; routes that changed */
	double reroute_ms; /* from the kernel's notice until every switch had its new route; the longest, 0: none */
};

struct run_sink {
	const char *job;
	uint32_t task;                        /* of the job */
	double predicted_MBps, measured_MBps; /* the mean without the first second */
};

struct run_flow {
	const char *from, *to; /* hosts */
	uint16_t source_port, port;
};

struct run_result {
	uint64_t sent, received, lost, duplicated; /* tuples, over all connections */
	bool complete; /* every task has ended, and every tuple that was sent was received */
	struct run_sink *sinks;
	uint32_t sink_count;
	struct run_flow *flows; /* connections between two hosts; none but with run_options.ports */
	size_t flow_count;
};

struct run_options {
	const char *program; /* this one: it is started again as "dataflow worker" */
	double seconds, local_MBps;
	uint32_t tuple_bytes;
	bool keep_routes;
	bool ports; /* nothing is set in the switches: source ports make their hashing take the routes; links may not
		       fail */
	const struct simulate_fault *faults; /* of links alone; links that stay down return at the end */
	uint32_t fault_count;
	const volatile sig_atomic_t *stop; /* ends the run early */
	void (*each_second)(void *context, const struct run_second *second);
	void *context;
};

/*
 * The topology's link states follow those of the lab and stay so. 0; -EINVAL (a fault of another kind, a job with a
 * cycle), -EHOSTUNREACH (no source port takes a flow over its route), -errno with err set. `result` is cleared by
 * run_result_clear() in any case.
 */
int run_plan(const struct lab *lab, struct dataflow *dataflow, struct dataflow_plan *plan,
	     const struct run_options *options, struct run_result *result, struct error *err);
void run_result_clear(struct run_result *result);

#endif
