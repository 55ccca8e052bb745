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

/* Must live as long as the plan, which points into it. */
struct sweep_world {
	struct sweep_plan *plan;
	const char *file;
	const struct option_strings *strings; /* of that file */
	struct lab lab;
	struct lab_guard *guard;
	int claim;                             /* on the lab's name; -1 = none */
	bool plan_is_bad;                      /* an error is in the plan's file, not on the command line */
	const char *server_name, *client_name; /* as the plan has them */
	char server_host[SWEEP_HOST_BYTES], client_host[SWEEP_HOST_BYTES];
	char program[PATH_MAX], plan_folder[PATH_MAX]; /* program: nomora, which starts the injectors */
};

/* Checks all that can be wrong before anything is started; resolves the plan's lab. 0 or -errno with err set. */
int sweep_world_check(struct sweep_world *world, struct error *err);

/* A hook of the sweep: makes the lab with its injector. `context` is the world. */
int sweep_world_make_lab(void *context, struct error *err);
/* Removes the lab, unless `keep`, and releases its name. */
void sweep_world_release(struct sweep_world *world, bool keep);

/* The commands that repeat a plan's phases by hand, for a lab that stays up. */
void sweep_world_print_commands(const struct sweep_world *world, FILE *out);

/* Changes the plan to one run without delay, into a folder of its own. 0 or -errno with err set. */
int sweep_try_prepare(struct sweep_plan *plan, char output[PATH_MAX], struct error *err);
/* Removes that folder, unless a failure left its output there. */
void sweep_try_tidy(const char *output);

#endif
