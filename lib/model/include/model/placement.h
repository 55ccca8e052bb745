/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A placement with its explanation, `nomora.place/1` (docs/formats.md): each task with its machine, the predicted
 * performance, the next best machine and the performance expected of a random placement, or the reason why it waits.
 * The writer takes the tasks one at a time, since a large cluster has 10^5 of them; the reader reads the whole file.
 *
 * Round trips are microseconds; performance is a share of the performance without latency. A missing value is NAN or
 * NULL, and null in the file. The writer borrows strings; a placement that was read owns its strings. One thread.
 */
#ifndef MODEL_PLACEMENT_H
#define MODEL_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>

#define PLACEMENT_SCHEMA "nomora.place/1"

enum placement_state {
	PLACEMENT_ROOT,   /* a root on a machine; roots have no predicted performance */
	PLACEMENT_PLACED, /* a task on a machine; the root of its job is on a machine, too */
	PLACEMENT_ORPHAN, /* a task on a machine; the root of its job is on no machine */
	PLACEMENT_WAITING,
	PLACEMENT_STATES, /* number of states */
};

/* A machine, and the cost and performance of a task there. */
struct placement_option {
	const char *machine, *rack; /* NULL = no machine */
	int32_t cost;               /* 100 / performance */
	double rtt_us, performance;
	const char *rtt_origin; /* how rtt_us is known: "measured", "topology", ..., see docs/formats.md */
};

struct placement_task {
	const char *job, *task;
	bool root;
	enum placement_state state;
	struct placement_option taken; /* the machine that the task got; `cost` is not in the file */
	const char *was_on;            /* machine before the round; NULL = the task waited */
	const char *arc;               /* kind of the arc of the flow network that the task's unit of flow takes */
	int32_t arc_cost;
	struct placement_option next_best;
	double random_performance; /* expected performance in a slot chosen at random among the free ones */
	const char *why_waiting;
};

/* The options of `nomora place` with these names. */
struct placement_settings {
	int64_t p_m, p_r, gamma, unscheduled_capacity, rounds;
	double omega_per_s, beta_per_s;
	bool preemption;
	const char *latency_reference, *latency_stat;
};

struct placement_totals {
	int64_t tasks, roots, placed, stay, moved, waiting;
	int64_t predicted; /* number of tasks that are on a machine and whose root is on a machine, too */
	int64_t compared;  /* number of predicted tasks that have a random_performance: all of them, or 0 if no slot was
			      free */
	double mean_performance, random_mean_performance, worst_performance;
	/*
	 * Application performance (sched/explain/performance.h), the mean over the jobs. This round is its only
	 * measurement interval.
	 */
	double application_performance;
	int64_t performance_cost; /* sum of 100 / performance over the predicted tasks */
	int64_t in_root_rack, slots, slots_free_before, slots_free_after;
};

/*
 * cost: of the flow of the last solve. Numbers of tasks that wait: unscheduled, through an arc of the last solve's
 * network; unrouted, because unscheduled_capacity leaves no path for them. seconds: duration of all solves.
 */
struct placement_solver {
	const char *algorithm; /* of the last solve */
	int64_t solves, cost, unscheduled, unrouted;
	int64_t refused; /* moves of the last round to machines that the root cannot reach; the tasks wait or stay */
	double seconds;
	bool verified;
};

/*
 * Write the text up to the first task, then one task per call, then the end. They return false if out of memory or if
 * the stream has an error.
 */
bool placement_print_begin(FILE *out, const char *policy, const struct placement_settings *settings);
bool placement_print_task(FILE *out, const struct placement_task *task, bool first);
/* graphs, round: NULL, or values that are added as "graphs" and "round" and then released. */
bool placement_print_end(FILE *out, const struct placement_totals *totals, const struct placement_solver *solver,
			 json_t *graphs, json_t *round);

struct placement {
	const char *policy;
	struct placement_settings settings;
	struct placement_task *tasks;
	size_t task_count;
	struct placement_totals totals;
	struct placement_solver solver;
	json_t *document; /* owns the strings */
};

/*
 * Takes the document, which was read from the file `name`; NULL: it could not be read, as err says. NULL with err set
 * (file, field, expected value) on failure.
 */
struct placement *placement_from_json(const char *name, json_t *document, struct error *err);
void placement_destroy(struct placement *placement); /* NULL is legal */

#endif
