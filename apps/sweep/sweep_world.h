/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of `nomora sweep` share: the plan, its file, the lab that is made for it. */
#ifndef APPS_SWEEP_WORLD_H
#define APPS_SWEEP_WORLD_H

#include <limits.h>
#include <stdbool.h>

#include <base/options.h>
#include <base/progress.h>
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
	char program[PATH_MAX], folder[PATH_MAX], plan_folder[PATH_MAX];
	struct progress *bar;
};

/* sweep_check.c: all that can be refused before anything is started; resolves the plan's lab. 0 or -errno, err set. */
int sweep_check_plan(struct sweep_world *world, struct error *err);

/* Puts the plan's file and line in front of err if `value` is from there, not from the command line. Returns -errno. */
int sweep_blame(struct sweep_world *world, const char *value, struct error *err);

/* sweep_lab.c */
int sweep_lab_plan(struct sweep_world *world, struct error *err);
int sweep_lab_resolve(struct sweep_world *world, struct error *err);
/* A hook of the sweep: makes the lab with its injector. `context` is the world. */
int sweep_lab_make(void *context, struct error *err);
/* Removes the lab, unless `keep`, and releases its name. */
void sweep_lab_release(struct sweep_world *world, bool keep);

/* sweep_run.c: carries the plan out. Exit code of command.h. */
int sweep_run(struct sweep_world *world);

#endif
