/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A workload to simulate: machines that come and go, jobs and their tasks with submission and run times. Readers of
 * traces and the generator add tasks and machine events in any order; workload_finish() then drops the items that a
 * filter leaves out, and sorts. Times are microseconds from the start of the simulation. Plain data; readers may
 * share a finished workload between threads.
 */
#ifndef MODEL_WORKLOAD_H
#define MODEL_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/hash_table.h>
#include <model/cluster.h>
#include <model/job_graph.h>

enum { WORKLOAD_TO_THE_END = -1 }; /* run_us of a task that never ends */
enum { WORKLOAD_SLOTS_UNKNOWN = -1 };
#define WORKLOAD_NO_NOTE UINT32_MAX

enum workload_machine_change { WORKLOAD_MACHINE_ADDED, WORKLOAD_MACHINE_REMOVED, WORKLOAD_MACHINE_UPDATED };

struct workload_machine_event {
	int64_t time_us;
	uint32_t machine; /* number */
	uint32_t order;   /* position in the order in which events were added */
	enum workload_machine_change change;
	float cpu;     /* CPU capacity relative to the largest machine, 0..1; negative = not known */
	int32_t slots; /* number of slots of the machine from now on, or WORKLOAD_SLOTS_UNKNOWN */
};

struct workload_task {
	int64_t submit_us;
	int64_t run_us; /* run time, the sum over the task's attempts; or WORKLOAD_TO_THE_END */
	uint64_t job_id;
	uint32_t index; /* within the job, as in the trace */
	uint32_t job;   /* index in jobs[], set by workload_finish() */
};

/* The tasks are first_task..first_task+task_count-1, sorted by index; the first is the root. */
struct workload_job {
	uint64_t id;
	uint32_t first_task, task_count;
	uint32_t note;  /* position in `notes`, or WORKLOAD_NO_NOTE */
	uint32_t gang;  /* number of its tasks, with the root, that start together; 0: each starts when it can */
	uint32_t graph; /* position in `graphs`, or HASH_TABLE_NONE: all tasks talk to the root */
};

/* The name and the curve of a job; most traces do not have them. */
struct workload_note {
	uint64_t id;
	char *name;
	uint32_t curve; /* position in `curves` */
};

/* Which tasks of a job talk to each other: the value of "graph" in jobs.jsonl, whose tasks are numbered by `index`. */
struct workload_graph {
	char *form; /* JSON text */
	uint32_t tasks;
};

/* A measured round trip between two machines. rtt_us NAN: the measurement is withdrawn; INFINITY: unreachable. */
struct workload_latency {
	int64_t time_us;
	uint32_t a, b; /* machines */
	float rtt_us;
};

/* Counts of the items that workload_finish() and the readers left out. */
struct workload_left_out {
	uint64_t never_ran;   /* tasks without an attempt */
	uint64_t too_early;   /* tasks that ended before the beginning, if each began to run when it was submitted */
	uint64_t too_late;    /* tasks submitted at or after the end */
	uint64_t not_drawn;   /* tasks of jobs that the filter's `fraction` does not keep */
	uint64_t single_jobs; /* jobs with one task */
	uint64_t machines_not_drawn;
};

struct workload_filter {
	/*
	 * Times of the trace, once divided by speed_up, between which submissions are kept. All times are shifted so
	 * that begin_us is 0. A task that was submitted before and still runs then is submitted at the beginning, with
	 * the rest of its run time.
	 */
	int64_t begin_us, end_us;
	double fraction;  /* share of machines and of jobs to keep, chosen by a hash of their ids; 1 = all */
	double speed_up;  /* submission times are divided by this; 1 = as in the trace */
	bool keep_single; /* keep jobs with one task */
};

struct workload {
	uint64_t *machine_ids; /* [machine_count] in the order of first appearance */
	size_t machine_count, machine_capacity;
	struct workload_machine_event *machine_events;
	size_t machine_event_count, machine_event_capacity;
	struct workload_task *tasks;
	size_t task_count, task_capacity;
	struct workload_job *jobs;
	size_t job_count;
	/*
	 * Racks, pods and slots of the machines, from a journal; NULL for other traces. Machine m is
	 * places->machines[machine_ids[m]].
	 */
	struct cluster *places;
	bool has_default_rtt; /* places->default_rtt comes from the journal */
	struct workload_note *notes;
	size_t note_count, note_capacity;
	char **curves; /* names */
	size_t curve_count, curve_capacity;
	struct workload_graph *graphs;
	size_t graph_count, graph_capacity;
	struct workload_latency *latencies; /* by time */
	size_t latency_count, latency_capacity;
	struct workload_left_out left_out;
	/*
	 * NULL, or the filter of workload_finish(): workload_add_tasks() then counts the tasks that it leaves out
	 * instead of storing them. Belongs to the caller.
	 */
	const struct workload_filter *early;
	/* From ids; of jobs, to struct workload_job.gang and .graph. */
	struct hash_table machine_index, note_index, gangs, graph_index;
};

struct workload *workload_create(void);           /* NULL = out of memory */
void workload_destroy(struct workload *workload); /* NULL is legal */

/* Returns the number of the machine, or -ENOENT. */
int64_t workload_find_machine(const struct workload *workload, uint64_t id);
int workload_add_machine_event(struct workload *workload, int64_t time_us, uint64_t id,
			       enum workload_machine_change change, float cpu);
int workload_add_task(struct workload *workload, uint64_t job_id, uint32_t index, int64_t submit_us, int64_t run_us);
/* Adds `count` tasks like *first, with the indices from first->index on; first->job is ignored. 0 or -ENOMEM. */
int workload_add_tasks(struct workload *workload, const struct workload_task *first, uint32_t count);

/* Returns the number of the curve, which is added if its name is new; or -ENOMEM. */
int64_t workload_curve(struct workload *workload, const char *name);
/*
 * Records the name and the curve of a job, whose tasks may be added later. Returns 0, -EEXIST (the id is taken) or
 * -ENOMEM.
 */
int workload_note_job(struct workload *workload, uint64_t job_id, const char *name, const char *curve);
/* Sets the job's gang; its tasks may be added later. It is cut to the number of tasks that are kept. 0 or -ENOMEM. */
int workload_set_gang(struct workload *workload, uint64_t job_id, uint32_t gang);
/* Sets the job's graph between `tasks` tasks, the JSON text `form`; its tasks may be added later. 0 or -ENOMEM. */
int workload_set_graph(struct workload *workload, uint64_t job_id, const char *form, uint32_t tasks);
/*
 * Returns the graph between the job's tasks in their order, to be destroyed by the caller. Returns NULL if it has no
 * edge, so that all talk to the root; or with err set, if out of memory or if the form is none.
 */
struct job_graph *workload_graph_of(const struct workload *workload, const struct workload_job *job, struct error *err);
/* Returns NULL if workload_note_job() was not called for the job. */
const struct workload_note *workload_find_note(const struct workload *workload, uint64_t job_id);
/* Adds a round trip between the machines with the numbers a and b. Returns 0 or -ENOMEM. */
int workload_add_latency(struct workload *workload, int64_t time_us, uint32_t a, uint32_t b, float rtt_us);

/* Applies the filter, sorts machine events by time, groups tasks into jobs in the order of submission. 0 or -ENOMEM. */
int workload_finish(struct workload *workload, const struct workload_filter *filter);

/* When the first of a job's tasks is submitted, us; INT64_MAX for a job without tasks. */
int64_t workload_first_submission(const struct workload *workload, const struct workload_job *job);

#endif
