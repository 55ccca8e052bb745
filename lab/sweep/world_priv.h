/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LAB_SWEEP_WORLD_PRIV_H
#define LAB_SWEEP_WORLD_PRIV_H

#include <lab/sweep/world.h>

/*
 * If `value` is from the plan's file, not from the command line, prefixes err with the file and line. Returns -errno.
 */
int sweep_blame(struct sweep_world *world, const char *value, struct error *err);

/* Plans the lab; called before the plan's values are checked. Returns 0, or -errno with err set. */
int sweep_lab_plan(struct sweep_world *world, struct error *err);
/*
 * Replaces names of the lab's hosts in the plan by their namespaces and addresses. Returns 0, or -errno with err set.
 */
int sweep_lab_resolve(struct sweep_world *world, struct error *err);

/* A hook of the sweep: makes the lab with its injector. `context` is the world. */
int sweep_world_make_lab(void *context, struct error *err);
/* Removes the lab, unless `keep`, and releases its name. */
void sweep_world_release(struct sweep_world *world, bool keep);

/* Prints the commands that repeat a plan's phases by hand, for a lab that stays up. */
void sweep_world_print_commands(const struct sweep_world *world, FILE *out);

#endif
