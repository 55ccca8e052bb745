/* SPDX-License-Identifier: BSD-3-Clause */
/* A sweep with a lab of its own: the plan, its file and the lab that is made for it. One thread. */
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
	SWEEP_DISTURBED, /* carried out, but runs were disturbed or are left out */
};

/* Must live as long as the plan, which points into it. */
struct sweep_world {
	struct sweep_plan *plan;
	const char *file;
	const struct option_strings *strings; /* strings read from that file */
	struct lab lab;
	struct lab_guard *guard;
	int claim;                             /* descriptor that holds the lock on the lab's name; -1 = none */
	bool plan_is_bad;                      /* the error is in the plan's file, not on the command line */
	const char *server_name, *client_name; /* as written in the plan */
	char server_host[SWEEP_HOST_BYTES], client_host[SWEEP_HOST_BYTES];
	char program[PATH_MAX], plan_folder[PATH_MAX]; /* program: nomora, which starts the injectors */
	struct progress *bar;
	FILE *out;
};

/*
 * Checks everything that could be wrong before anything is started; resolves the plan's lab. 0 or -errno with err set.
 */
int sweep_world_check(struct sweep_world *world, struct error *err);

/*
 * Carries out a plan that was checked, in a session with the plan's priority. Prints the summary to `out`; errors and
 * warnings are logged. Ends early when stop_flag() is set.
 */
enum sweep_outcome sweep_world_run(struct sweep_world *world, FILE *out);

/* Changes the plan to one run without delay, whose output is in a new folder. Returns 0, or -errno with err set. */
int sweep_try_prepare(struct sweep_plan *plan, char output[PATH_MAX], struct error *err);
/* Removes that folder. Returns 0; or -errno if it contains outputs of commands, so that it is kept. */
int sweep_try_tidy(const char *output);

#endif
