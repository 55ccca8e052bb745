/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LAB_SWEEP_WORLD_PRIV_H
#define LAB_SWEEP_WORLD_PRIV_H

#include <lab/sweep/world.h>

/*
 * If `value` is a string from the plan's file, and not from the command line, prefixes err with the file and the line.
 * Returns -errno.
 */
int sweep_blame(struct sweep_world *world, const char *value, struct error *err);

/* Fills world->lab from the plan. Called before the plan's values are checked. Returns 0, or -errno with err set. */
int sweep_lab_plan(struct sweep_world *world, struct error *err);
/*
 * Replaces names of the lab's hosts in the plan by their namespaces and addresses. Returns 0, or -errno with err set.
 */
int sweep_lab_resolve(struct sweep_world *world, struct error *err);

/*
 * The sweep's hook make_path: makes the lab and starts its injector. `context` is the struct sweep_world. Returns 0, or
 * -errno with err set.
 */
int sweep_world_make_lab(void *context, struct error *err);
/* Removes the lab, unless `keep`, and releases its name. */
void sweep_world_release(struct sweep_world *world, bool keep);

/* Prints, for a lab that stays up, the commands with which the user can run the plan's phases by hand. */
void sweep_world_print_commands(const struct sweep_world *world, FILE *out);

#endif
