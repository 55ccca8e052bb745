/* SPDX-License-Identifier: BSD-3-Clause */
/* A sweep that may have a lab of its own: the plan, its file and the lab that is made for it. One thread. */
#ifndef LAB_SWEEP_WORLD_H
#define LAB_SWEEP_WORLD_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include <base/options.h>
#include <injector/sweep/plan.h>
#include <injector/sweep/sweeper.h>
#include <lab/lab.h>

enum { SWEEP_HOST_BYTES = 64 };

enum sweep_outcome {
	SWEEP_COMPLETE,
	SWEEP_FAILED,
	SWEEP_DISTURBED, /* the sweep was carried out, but some runs were disturbed, or are missing because the
			    benchmark failed */
};

/* A sweep and its lab. The plan points into this struct, which must live as long as the plan. */
struct sweep_world {
	struct sweep_plan *plan;
	const char *file;
	const struct option_strings *strings; /* the strings of the plan that were read from `file`, with their lines */
	struct lab lab;
	struct lab_guard *guard;
	int claim;        /* descriptor that holds the lock on the lab's name; -1 = none */
	bool plan_is_bad; /* after an error of sweep_world_check(): the error is in `file`, not on the command line */
	const char *server_name, *client_name; /* hosts as written in the plan; the plan's own fields are replaced by
						  sweep_world_check() */
	char server_host[SWEEP_HOST_BYTES], client_host[SWEEP_HOST_BYTES];
	char program[PATH_MAX], plan_folder[PATH_MAX]; /* program: path of nomora, which is also run as the injector */
	struct progress *bar;
	FILE *out;
};

/*
 * Checks the plan before anything is started, and replaces the lab's host names in it. Returns 0, or -errno with err
 * set.
 */
int sweep_world_check(struct sweep_world *world, struct error *err);

/*
 * Carries out a checked plan. If the plan sets a nice value, does so with this value and in a new session. Prints the
 * summary to `out` and logs errors and warnings. Ends early when stop_flag() is set.
 */
enum sweep_outcome sweep_world_run(struct sweep_world *world, FILE *out);

/*
 * Changes the plan to one run without delay, and its output to a file in a new folder; writes the file's path to
 * output[]. Returns 0, or -errno with err set.
 */
int sweep_try_prepare(struct sweep_plan *plan, char output[PATH_MAX], struct error *err);
/*
 * Removes the files and the folder made by sweep_try_prepare(). Returns 0; or -errno if the folder stays because it
 * contains outputs of commands.
 */
int sweep_try_tidy(const char *output);

#endif
