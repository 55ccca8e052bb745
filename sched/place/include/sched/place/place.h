/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes a placement from files: reads a cluster, jobs, curves and a latency matrix, runs rounds (sched/round),
 * explains the last round (sched/explain) and prints it. Use from one thread.
 */
#ifndef SCHED_PLACE_PLACE_H
#define SCHED_PLACE_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <base/progress.h>
#include <model/curve_library.h>
#include <model/jobs.h>
#include <sched/explain/explain.h>
#include <sched/round/round.h>

struct place_settings {
	const char *cluster, *jobs, *latency, *curves;
	/*
	 * policy: index in policies[]. statistic, reference, weights: enum latency_statistic, latency_reference,
	 * policy_weights. algorithm: for the option row of the command only; the solver is algorithm_name.
	 */
	int policy, statistic, reference, weights, algorithm;
	int64_t p_m, p_r, gamma, unscheduled_capacity, rounds, seed;
	double omega_per_s, beta_per_s, round_s; /* round_s: time from one round to the next, s */
	double max_age_s;                        /* older measurements count as not measured; 0 = no limit */
	bool paper, preemption, verify;
	const char *dump_dimacs, *draw;
	const char *algorithm_name; /* solver; NULL: the structured solver, which keeps its state between rounds */
};

/* Sets the defaults or, if `paper` is true, the paper's values. The names of files become NULL. */
void place_settings_default(struct place_settings *settings, bool paper);

struct place_world {
	const struct place_settings *settings;
	struct cluster *cluster;
	struct jobs *jobs;
	struct latency_view_load loaded;
	struct cost_layout *layout;
	struct latency_view *view;
	struct curve_library *library;
	const struct curve **curve_of_job; /* [jobs] */
	int32_t *curve_number_of_job;      /* [jobs] number of the job's curve in `library`, and also in `placer` */
	struct round_gang *gangs;          /* [gang_count] the jobs of which a minimum number of tasks starts at once */
	size_t gang_count;
	struct placer *placer;
	struct progress *progress; /* borrowed; NULL is legal */
};

/*
 * Reads the settings' files. Borrows the settings. Returns 0, or -errno with err set; the caller calls
 * place_world_free() in either case.
 */
int place_world_load(struct place_world *world, const struct place_settings *settings, struct error *err);
/*
 * As place_world_load(), from a cluster and jobs that the caller has made: the world owns them from now on, also after
 * an error. The matrix is borrowed during the call; NULL: that of the settings is read.
 */
int place_world_build(struct place_world *world, const struct place_settings *settings, struct cluster *cluster,
		      struct jobs *jobs, const struct latency_matrix *matrix, struct error *err);
/*
 * Begins again, with other settings of the policy and the solver, or after the caller has changed the machines of the
 * jobs' tasks. Undoes all rounds. Returns 0, or -errno with err set.
 */
int place_world_restart(struct place_world *world, const struct place_settings *settings, struct error *err);
void place_world_free(struct place_world *world);
/* Return the names and the scene that sched/explain needs; they refer to the world. */
struct flownet_names place_names(const struct place_world *world);
struct explain_scene place_scene(const struct place_world *world);

struct place_outcome {
	struct explanation explanation;
	struct round_outcome round; /* outcome of the last round */
	uint64_t solves;            /* number of solves in all rounds */
	double seconds;             /* round.seconds, summed over all rounds */
	uint64_t capped_tasks;      /* maximum of flownet_capped_tasks() over the rounds */
	double longest_wait_s;      /* longest wait of a task in the round with this maximum, s */
};

/*
 * Runs the rounds and fills the outcome. Returns 0, or -errno with err set; the caller calls place_outcome_free() in
 * either case.
 */
int place_run(struct place_world *world, struct place_outcome *outcome, struct error *err);
void place_outcome_free(struct place_outcome *outcome);

/* Return 0, -EIO or -ENOMEM. */
int place_print_table(const struct place_world *world, const struct place_outcome *outcome, FILE *out);
int place_print_json(const struct place_world *world, const struct place_outcome *outcome, FILE *out);

#endif
