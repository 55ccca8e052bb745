/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Synthetic workloads similar to Google's first day (generate.c has the figures used, and those of the data): a cluster
 * filled at time 0, bursts of submissions, heavy-tailed job sizes and run times, machines that leave and come back.
 * Pure: the same settings give the same workload on every machine.
 */
#ifndef SIM_GENERATE_H
#define SIM_GENERATE_H

#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <model/workload.h>

struct sim_generate_settings {
	uint32_t machines;
	uint32_t slots; /* of one machine */
	double hours;
	double load;          /* target for the mean share of slots in use, 0..1 */
	uint64_t tasks;       /* submitted after time 0; 0 = as many as the load requires */
	double churn_per_day; /* share of the machines that leave for a while each day */
	uint64_t seed;
};
/* 12,500 machines of 12 slots, 24 h, load 0.9, churn 0.025, seed 1. */
void sim_generate_settings_default(struct sim_generate_settings *settings);

/* Returns a workload on which the caller must still call workload_finish(), or NULL if out of memory. */
struct workload *sim_generate(const struct sim_generate_settings *settings);

/*
 * Workloads like a given trace: jobs are drawn from those of the trace, with their tasks and run times, and are
 * submitted at the rates that the trace has at each hour of the day. The draw is stratified over the jobs in the order
 * of their task-seconds: n draws from n jobs take each job once, so a workload as long as the trace has the same
 * numbers of jobs, tasks and task-hours. The jobs that the trace submits at time 0 are submitted at time 0 again.
 * Machines stay. Pure but for sim_like_create(): the same settings give the same workload on every machine.
 */

enum { SIM_LIKE_HOURS = 24 };

/* What was taken from a trace. */
struct sim_like {
	struct workload *workload;            /* the trace; its jobs are in the order of their first submission */
	size_t initial_jobs;                  /* submitted at time 0 */
	size_t single_jobs;                   /* jobs with one task */
	size_t endless_tasks;                 /* without an end in the trace */
	double task_hours;                    /* of the tasks with an end */
	double hours;                         /* from time 0 to the last submission */
	double jobs_per_hour[SIM_LIKE_HOURS]; /* by hour of the day, without the initial jobs; hour 0 begins at time 0
					       */
	uint64_t machines;                    /* number of machines in the trace; 0 = it does not say */
	uint64_t peak_tasks;                  /* number of tasks that run at the same time, if machines is 0 */
};

/*
 * Reads a trace: a folder of Google clusterdata-2011-2, or a table of jobs (nomora simulate --csv). Returns 0, or
 * -errno with err set; the caller calls sim_like_free() in both cases.
 */
int sim_like_create(struct sim_like *like, const char *path, struct error *err);
void sim_like_free(struct sim_like *like);

/* Prints what was taken, as text. Returns 0 or -ENOMEM. */
int sim_like_print(const struct sim_like *like, FILE *out);

struct sim_like_settings {
	double hours;      /* length of the time in which jobs are submitted; 0 = as long as the trace */
	uint32_t machines; /* 0 = as many as the trace has, or as its peak needs */
	uint32_t slots;    /* of a machine, for that peak */
	uint64_t seed;
};

/* Returns a workload on which the caller must still call workload_finish(), or NULL if out of memory. */
struct workload *sim_like_generate(const struct sim_like *like, const struct sim_like_settings *settings);

#endif
