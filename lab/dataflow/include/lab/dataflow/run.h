/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a plan on a routed lab:
 *   - Gives the connections the plan's routes: sets the routes in the switches, or chooses source ports with which
 *     equal-cost hashing sends the connections over these routes.
 *   - Starts a process for each task in the network namespace of its host.
 *   - Watches the links. A link is down if it has lost its carrier. It is lossy if it has a carrier but loses packets
 *     (<lab/routes/links.h>).
 *   - Replaces the routes over links that are down or lossy, until these can be used again. Routes that source ports
 *     select never change.
 *   - If a task's process fails, ends the processes of its job, whose tuples are lost; the other jobs run on.
 *   - When the time is over, ends the sources. The other tasks still pass on all tuples that the sources have sent.
 *
 * Processes, routes and faults are removed when the caller ends, even by SIGKILL; srun then ends the job that it
 * started. Root only; one thread. Rates are MB/s (10^6 bytes of tuples).
 */
#ifndef LAB_DATAFLOW_RUN_H
#define LAB_DATAFLOW_RUN_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <lab/lab.h>
#include <sched/dataflow/plan.h>
#include <sched/dataflow/simulate.h>

/* The values of a report line. They refer to the time since the previous line, unless noted otherwise. */
struct run_second {
	double s; /* since the start */
	double source_MBps, sink_MBps;
	double latency_p99_us; /* 99th percentile of the tuples' latency at the sink where it is highest; NAN: no sink
				  received a tuple */
	double gap_ms;         /* maximum time between the receptions of two successive tuples of a connection */
	uint64_t lost, duplicated;        /* since the start */
	uint32_t links_down, links_lossy; /* number of links that are down; number of lossy links */
	uint32_t rerouted;                /* number of routes that changed */
	double notice_windows;            /* maximum of probes_notice_windows() over the links found lossy; 0: none */
	double reroute_ms; /* maximum time from the detection of a change of links until every switch had its new
			      routes; 0: none */
};

struct run_sink {
	const char *job;
	uint32_t task;         /* number of the task in the job */
	double predicted_MBps; /* mean until the end of the job: the prediction changes with the links and routes */
	double measured_MBps;  /* mean since the task's first report */
};

/* A job that ended because the process of one of its tasks failed. */
struct run_failure {
	const char *job, *host;
	uint32_t task; /* number in the job of the task that failed first */
	double s;      /* since the start */
	int status;    /* of waitpid(), of the task's process; 0 although the task had not ended: exit status 0 */
};

struct run_flow {
	const char *from, *to; /* hosts */
	uint16_t source_port, port;
};

struct run_result {
	uint64_t sent, received, lost, duplicated; /* numbers of tuples, over all connections */
	bool complete;                             /* every task has ended, and every sent tuple was received */
	uint32_t faults_missed;                    /* number of links whose faults had not begun when the run ended */
	struct run_failure *failures;              /* at most one for each job */
	uint32_t failure_count;
	struct run_sink *sinks;
	uint32_t sink_count;
	struct run_flow *flows; /* connections between two hosts; only with run_options.ports */
	size_t flow_count;
};

struct run_options {
	const char *program;        /* path of this program, which is started again as "dataflow worker" */
	double seconds, local_MBps; /* length of the run; maximum rate of a source (engine_options.local_MBps) */
	uint32_t tuple_bytes;
	const char *slurm_folder; /* folder that Slurm's nodes share, for the plans; srun starts each task on the node
				     with its host's name. NULL: the tasks are started here, without Slurm */
	bool keep_routes;
	/*
	 * true: does not change the switches, but chooses source ports with which equal-cost hashing sends the
	 * connections over the plan's routes. There must then be no faults.
	 */
	bool ports;
	bool improve_routes; /* true: after a failure, looks for routes with which the jobs' rates have a greater sum */
	const struct simulate_fault *faults; /* faults of links only; at the end, all links with faults are up */
	uint64_t seed;                       /* for SIMULATE_USED: selects links from those in use at the start */
	uint32_t fault_count;
	const volatile sig_atomic_t *stop; /* if *stop becomes nonzero, the run ends early; not NULL */
	/* Called with each report line; not NULL. */
	void (*each_second)(void *context, const struct run_second *second);
	void *context;
};

/*
 * Runs the plan. Sets the states of the topology's links to those of the lab's links and does not restore them. Returns
 * 0; or, with err set, -EINVAL (a fault of a host, a job with a cycle), -EHOSTUNREACH (no source port takes
 * a flow over its route) or another -errno. In either case the caller clears `result` by run_result_clear().
 */
int run_plan(const struct lab *lab, struct dataflow *dataflow, struct dataflow_plan *plan,
	     const struct run_options *options, struct run_result *result, struct error *err);
/*
 * Returns 0; or -EIO with err set if a task failed, tuples were lost or duplicated, or the run ended before one of its
 * faults.
 */
int run_result_check(const struct run_result *result, struct error *err);
void run_result_clear(struct run_result *result);

/* The report lines so far, for a chart. Initially all zero. */
struct run_history {
	struct run_second *seconds;
	size_t count, capacity;
};
int run_history_add(struct run_history *history, const struct run_second *second); /* 0 or -ENOMEM */
void run_history_clear(struct run_history *history);
/*
 * Draws the rates of sources and sinks over time, and the times of the options' faults, to a .svg or .png file. Returns
 * 0, or -errno with err set.
 */
int run_history_plot(const struct run_history *history, const struct run_options *options, const char *path,
		     struct error *err);

/* How to print a run: as text, or as JSON lines, nomora.dataflow-run-second/1 and nomora.dataflow-run/1. */
struct run_report {
	bool json;
	FILE *out;
	struct run_history *history; /* to which report lines are added; NULL: none */
};
void run_report_heading(const struct run_report *report);
/* For run_options.each_second; `context` is the struct run_report. */
void run_report_second(void *context, const struct run_second *second);
void run_report_result(const struct run_report *report, const struct dataflow *dataflow,
		       const struct run_result *result);

/*
 * Applies a plan to a routed lab: sets the plan's routes in the switches, then sends, for every flow between two hosts,
 * a TCP transfer at the rate that the plan predicts for the flow, all at the same time. The plan is confirmed if each
 * transfer ends in the predicted time.
 */

/*
 * Reads a lab and checks that it is routed and has limited links, so that a plan can be applied to it. Returns 0, or
 * -errno with err set. Root only.
 */
int apply_read_lab(const char *name, struct lab *lab, struct error *err);

struct applied_flow {
	const struct plan_job *job;
	uint32_t from_task, to_task; /* numbers of the tasks in the job */
	int from_host, to_host;      /* hosts of the lab, from 0 */
	double predicted_MBps, measured_MBps;
};

struct apply_result {
	struct applied_flow *flows;
	size_t flow_count, flow_capacity;
	bool measured; /* true when every transfer has ended, so that each measured_MBps is set */
};

/*
 * Sets the routes and sends each flow for `seconds` at its predicted rate. Removes the routes afterwards unless
 * keep_routes. Returns 0, or -errno with err set; in either case the caller clears `result`, which refers to the plan,
 * by apply_result_clear(). Root only.
 */
int apply_plan(const struct lab *lab, struct dataflow_plan *plan, double seconds, bool keep_routes,
	       struct apply_result *result, struct error *err);
void apply_result_clear(struct apply_result *result);
void apply_result_print(const struct lab *lab, const struct apply_result *result, FILE *out);
/* Returns nomora.dataflow-apply/1, or NULL if out of memory. */
json_t *apply_result_to_json(const struct lab *lab, const struct apply_result *result);

#endif
