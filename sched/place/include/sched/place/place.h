/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes a placement from files: reads a cluster, jobs, curves and a latency matrix, runs rounds (sched/round),
 * explains the last one (sched/explain) and prints it. One thread.
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
	int policy, statistic, reference, algorithm;
	int64_t p_m, p_r, gamma, unscheduled_capacity, rounds, seed;
	double omega_per_s, beta_per_s, round_s;
	double max_age_s; /* older measurements count as not measured; 0 = no limit */
	bool paper, preemption, root_anywhere, verify;
	const char *dump_dimacs, *draw;
	const char *algorithm_name; /* NULL: the structured solver, which is kept between rounds */
};

/* The defaults, or with `paper` the paper's values; no files. */
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
	int32_t *curve_number_of_job;      /* [jobs] number of the job's curve, the same in `library` and in `placer` */
	struct placer *placer;
	struct progress *progress; /* borrowed; NULL is legal */
};

/* Borrows the settings. 0 or -errno with err set; release with place_world_free() in either case. */
int place_world_load(struct place_world *world, const struct place_settings *settings, struct error *err);
void place_world_free(struct place_world *world);
/* Names for drawings and explanations; the context is the world. */
struct flownet_names place_names(const struct place_world *world);
struct explain_scene place_scene(const struct place_world *world);

struct place_outcome {
	struct explanation explanation;
	struct round_outcome round; /* the last one */
	uint64_t solves;            /* number of solves in all rounds */
	double seconds;
	uint64_t capped_tasks; /* flownet_capped_tasks() of the round in which it was highest */
	double longest_wait_s; /* longest wait of a task in that round, in seconds */
};

/* Runs the rounds and fills the outcome; release with place_outcome_free(), also after an error. */
int place_run(struct place_world *world, struct place_outcome *outcome, struct error *err);
void place_outcome_free(struct place_outcome *outcome);

/* 0 or -EIO. */
int place_print_table(const struct place_world *world, const struct place_outcome *outcome, FILE *out);
int place_print_json(const struct place_world *world, const struct place_outcome *outcome, FILE *out);

#endif
