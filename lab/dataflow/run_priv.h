/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a run: a plan for each task, their processes, and the control loop. */
#ifndef LAB_DATAFLOW_RUN_PRIV_H
#define LAB_DATAFLOW_RUN_PRIV_H

#include <lab/dataflow/fabric.h>
#include <lab/dataflow/run.h>
#include <lab/routes/watch.h>
#include <model/worker.h>

enum { RUN_LINE_BYTES = 4096 };

struct task_process {
	const struct plan_job *job;
	uint32_t task;
	struct worker_plan *plan;
	pid_t pid;  /* 0: not running */
	int output; /* -1: ended */
	char line[RUN_LINE_BYTES];
	size_t line_bytes;
	struct worker_report report; /* the latest */
	uint32_t reports;
	double first_s; /* of the first report, and what had come by then */
	uint64_t first_received;
};

struct run {
	const struct lab *lab;
	struct dataflow *dataflow;
	struct dataflow_plan *plan;
	const struct run_options *options;
	struct fabric fabric;
	struct routes *routes;
	struct watch *watch;
	struct task_process *tasks;
	uint32_t task_count;
	struct ns start, last_second;
	bool ending;
	struct run_second second;
	struct run_flow *flows; /* with their ports, where those choose the routes */
	size_t flow_count, flow_capacity;
};

/* tasks[] with their plans. 0 or -errno with err set. */
int run_make_tasks(struct run *run, struct error *err);
bool run_is_source(const struct task_process *task);
bool run_is_sink(const struct task_process *task);

/* Gives every connection between two hosts the source port that takes it over its route. 0 or -errno with err set. */
int run_choose_ports(struct run *run, struct error *err);

int run_start_task(struct run *run, struct task_process *task, struct error *err);
/* Takes in the reports of a task; 0 or -errno with err set, also where its process failed. */
int run_read_task(struct run *run, struct task_process *task, struct error *err);
void run_end_tasks(struct run *run);

/* Until every task has ended. 0 or -errno with err set. */
int run_control(struct run *run, struct error *err);

#endif
