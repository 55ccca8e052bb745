/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LAB_SWEEP_WORLD_PRIV_H
#define LAB_SWEEP_WORLD_PRIV_H

#include <lab/sweep/world.h>

/* Prefixes err with the plan's file and line if `value` is from there, not from the command line. Returns -errno. */
int sweep_blame(struct sweep_world *world, const char *value, struct error *err);

/* Plans the lab, before the plan's values are checked. 0 or -errno with err set. */
int sweep_lab_plan(struct sweep_world *world, struct error *err);
/* Replaces names of the lab's hosts in the plan by their namespaces and addresses. 0 or -errno with err set. */
int sweep_lab_resolve(struct sweep_world *world, struct error *err);

/* A hook of the sweep: makes the lab with its injector. `context` is the world. */
int sweep_world_make_lab(void *context, struct error *err);
/* Removes the lab, unless `keep`, and releases its name. */
void sweep_world_release(struct sweep_world *world, bool keep);

/* The commands that repeat a plan's phases by hand, for a lab that stays up. */
void sweep_world_print_commands(const struct sweep_world *world, FILE *out);

#endif
