/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a run: a plan for each task, their processes, and the control loop. */
#ifndef LAB_DATAFLOW_RUN_PRIV_H
#define LAB_DATAFLOW_RUN_PRIV_H

#include <lab/dataflow/run.h>
#include <lab/routes/links.h>
#include <lab/routes/routes.h>
#include <model/worker.h>
#include <sched/dataflow/network.h>

/*
 * Maps the nodes of a dataflow network's topology, and the routes in use in the network, to the nodes of a routed lab.
 */

struct fabric {
	const struct lab *lab;
	const struct network *network;
	int *node_of; /* by node of the topology: number of the node in the lab */
	struct lab_route *routes;
	size_t route_count;
	int *route_nodes; /* the nodes of all routes; routes[].nodes point to them */
	size_t route_nodes_capacity;
};

/*
 * Matches the nodes of topology and lab by name. Returns 0; or -EINVAL or -ENOMEM with err set. The caller calls
 * fabric_clear() in either case.
 */
int fabric_init(struct fabric *fabric, const struct lab *lab, const struct network *network, struct error *err);
void fabric_clear(struct fabric *fabric);

/*
 * Sets fabric->routes[] to the routes in use between hosts, one for each direction. Returns 0, or -ENOMEM with err set.
 */
int fabric_list_routes(struct fabric *fabric, struct network *network, struct error *err);

enum { RUN_LINE_BYTES = 4096 };

struct task_process {
	const struct plan_job *job;
	uint32_t task;
	struct worker_plan *plan;
	struct worker_report report; /* the latest report */
	bool fresh;                  /* the latest report arrived after the last report line */
	uint32_t reports;
	double first_s; /* first report: seconds since the task's start, number of tuples received until then */
	uint64_t first_received;
	double predicted_MBps, predicted_MB; /* of a sink: present rate; sum since the start */
	double predicted_s;                  /* time of predicted_MB */
};

/* A process that writes reports: a worker writes those of its task, srun those of all tasks. */
struct run_process {
	struct task_process *task; /* the worker's task; NULL: the process is srun */
	pid_t pid;                 /* 0: not running */
	int output;                /* read end of the pipe from the process; -1: it has been closed */
	char line[RUN_LINE_BYTES];
	size_t line_bytes;
};

/* A fault of one link. */
struct run_fault {
	uint32_t link;
	double fail_s, repair_s; /* seconds since the start; repair_s may be INFINITY */
	enum { RUN_FAULT_AHEAD, RUN_FAULT_DOWN, RUN_FAULT_REPAIRED } state;
	pid_t changer; /* child process that is changing the link; 0: none */
};

struct run {
	const struct lab *lab;
	struct dataflow *dataflow;
	struct dataflow_plan *plan;
	const struct run_options *options;
	struct fabric fabric;
	struct run_fault *faults; /* drawn before the start, because a guard process, which has a copy of this struct,
				     repairs the links if this process dies */
	uint32_t fault_count;
	struct routes *routes;
	struct watch *watch;
	struct probes *probes;
	struct task_process *tasks;
	uint32_t task_count;
	struct run_process *processes;
	uint32_t process_count;
	bool reported; /* at least one report has been received */
	char *plans;   /* folder of this run below slurm_folder, with the tasks' plans; NULL: without Slurm */
	struct ns start, last_second, predicted_since; /* predicted_since: last change of task_process.predicted_MBps */
	struct run_failure *failures;                  /* one for each job that has failed */
	uint32_t failure_count;
	double *nothing; /* offered rates of the sources of a failed job: zeros */
	bool ending;
	struct run_second second;
	struct run_flow *flows; /* connections with their ports, if run_options.ports */
	size_t flow_count, flow_capacity;
};

/* Fills tasks[] with the tasks of all jobs and their worker plans. Returns 0, or -errno with err set. */
int run_make_tasks(struct run *run, struct error *err);
bool run_is_source(const struct task_process *task);
bool run_is_sink(const struct task_process *task);

/*
 * Gives every connection between two hosts a source port with which it takes its route. Returns 0, or -errno with err
 * set.
 */
int run_choose_ports(struct run *run, struct error *err);

/* Starts the processes and fills processes[]. Returns 0, or -errno with err set. */
int run_start_tasks(struct run *run, struct error *err);
/* Starts srun, which starts all tasks. Returns 0, or -errno with err set. */
int run_start_by_slurm(struct run *run, struct run_process *process, struct error *err);
/* Takes a line "failed NODE.LOCALID STATUS" of srun's output. Returns 0, or -EBADMSG with err set. */
int run_take_slurm_failure(struct run *run, const char *line, size_t bytes, struct error *err);
void run_remove_plans(struct run *run);
/*
 * Reads the reports of a process. If a worker has failed, ends its job (run_fail_job()). Returns 0; or -errno with err
 * set, also if srun failed.
 */
int run_read_process(struct run *run, struct run_process *process, struct error *err);
/*
 * Ends the job of a worker that has failed with the given status of waitpid(): kills its other processes, adds it to
 * failures[], and lets its sources offer nothing. The job's failure is that of the process that failed by itself: the
 * neighbours of a killed worker fail because they lose their connections. Under Slurm, this ends the job's other
 * processes, and each one that fails comes here.
 */
void run_fail_job(struct run *run, const struct task_process *cause, int status);
/* The sources of failed jobs offer their rates again: the plan outlives the run. */
void run_offer_again(const struct run *run);
bool run_has_failed(const struct run *run, const struct plan_job *job);
void run_end_tasks(struct run *run);

/*
 * Fills faults[] with a fault of a single link for each link that the options' faults concern. Returns 0; or, with err
 * set, -EINVAL (a fault of a host, or one that begins after the end) or -ENOMEM.
 */
int run_draw_faults(struct run *run, struct error *err);
/*
 * Begins to take down the links whose faults have begun by second s, and to take up those whose faults have ended.
 * Returns 0; or -errno with err set, also if an earlier change failed.
 */
int run_apply_faults(struct run *run, double s, struct error *err);
/* Waits until all changes of links that were begun have ended. Returns 0, or -errno with err set. */
int run_await_faults(struct run *run, struct error *err);
/* Takes up the links of all faults. */
void run_return_links(const struct run *run);

/* Starts the tasks and runs the main loop until every task has ended. Returns 0, or -errno with err set. */
int run_control(struct run *run, struct error *err);

#endif
