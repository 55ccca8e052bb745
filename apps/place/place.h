/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nomora place, in parts: place_world.c reads the files and sets the network up, place_run.c solves, place_explain.c
 * says what became of each task and what else it could have got, place_report.c prints that.
 */
#ifndef APPS_PLACE_H
#define APPS_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <base/progress.h>
#include <sched/flownet/network.h>
#include <model/jobs.h>
#include <sched/policy/policy.h>

struct place_settings {
	const char *cluster, *jobs, *latency, *curves;
	int policy, statistic, reference, algorithm;
	int64_t p_m, p_r, gamma, unscheduled_capacity, rounds, seed;
	double omega_per_s, beta_per_s, round_s;
	bool preemption, root_anywhere, verify, json, strict;
	const char *dump_dimacs, *draw;
	const char *algorithm_name; /* NULL: the structured solver, kept between rounds */
};

struct place_curve {
	char *name;
	struct curve *curve;
	int32_t number; /* of the placer */
};

struct place_world {
	const struct place_settings *settings;
	const struct policy *policy;
	struct cluster *cluster;
	struct jobs *jobs;
	struct latency_matrix *matrix; /* NULL: no file was given */
	struct latency_view_load loaded;
	struct cost_layout *layout;
	struct latency_view *view;
	struct place_curve *curves;
	size_t curve_count;
	size_t *curve_of_job; /* [jobs] into curves */
	struct placer *placer;
	struct progress *progress; /* borrowed; NULL is legal */
};

int place_world_load(struct place_world *world, const struct place_settings *settings, struct error *err);
void place_world_free(struct place_world *world);
/* Names for the network's drawings; the context is the world. */
struct flownet_names place_names(const struct place_world *world);

enum place_state {
	PLACE_ROOT,   /* a root on a machine: nothing to predict */
	PLACE_TASK,   /* a task on a machine, its root too */
	PLACE_ORPHAN, /* a task on a machine, its root on none */
	PLACE_WAITING,
};

/* Where a task could be and what that would mean. */
struct place_option {
	int64_t machine; /* -1 = there is none */
	int32_t cost;    /* 100 / p, whatever the policy asks */
	double rtt_us, performance;
	enum latency_origin origin;
};

struct place_task {
	uint32_t job, task;
	enum place_state state;
	int64_t from; /* machine before the round, -1 = waited */
	struct place_option taken, next_best;
	enum flownet_arc arc;
	int32_t arc_cost;
	double random_performance; /* expected over the slots that were free; NAN = there were none, or no root */
	char why[160];             /* it waits; "" = it does not */
};

struct place_totals {
	uint64_t tasks, roots, placed, running, waiting, moved;
	uint64_t predicted; /* tasks on a machine, their roots too */
	uint64_t compared;  /* those of them that random has an expectation for: all, or none where no slot was free */
	double performance; /* mean of the predicted; NAN if there are none */
	double random_performance; /* mean of the compared; NAN if there are none */
	double worst;              /* least predicted one */
	uint64_t in_root_rack;     /* tasks in their root's rack */
};

struct place_outcome {
	struct place_task *tasks;
	size_t task_count;
	/* When the last solve began: */
	int32_t *free_slots; /* [machines] */
	bool *root_known;    /* [jobs] its root was on a machine */
	struct place_totals totals;
	int64_t slots, free_before, free_after;
	int64_t roots_placed, others_placed; /* roots by the first solve, moves of the second; last round */
	struct flownet_round last;           /* of the last solve; moves not valid any more */
	int64_t cost; /* of the last solve's network, as it is dumped: with pinned tasks and units without a way */
	uint64_t solves;
	double seconds;        /* of all solves, changes and extraction included */
	uint64_t capped_tasks; /* flownet_capped_tasks() of the round that has most */
	double longest_wait_s; /* in it */
};

/* Runs the rounds and fills the outcome; release with place_outcome_free(). */
int place_run(struct place_world *world, struct place_outcome *outcome, struct error *err);
void place_outcome_free(struct place_outcome *outcome);
/* Called by place_run(): what the last solve begins with, and after it what came of that. 0 or -ENOMEM. */
int place_explain_before(const struct place_world *world, struct place_outcome *outcome);
int place_explain_after(struct place_world *world, struct place_outcome *outcome);

/* 0 or -EIO. */
int place_print_table(const struct place_world *world, const struct place_outcome *outcome, FILE *out);
int place_print_json(const struct place_world *world, const struct place_outcome *outcome, FILE *out);

#endif
