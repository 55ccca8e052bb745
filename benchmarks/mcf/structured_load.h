/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An instance as rows of the structured solver: one group per job with units. Rows are prepared once and loaded many
 * times.
 */
#ifndef STRUCTURED_LOAD_H
#define STRUCTURED_LOAD_H

#include <sched/mcf/structured.h>

#include "instance.h"

struct load_group {
	int32_t supply;
	struct structured_row row; /* points into the struct load */
};

struct load {
	const struct instance *instance;
	struct load_group *groups; /* [group_count] */
	int32_t group_count;
	struct arc *arcs;
	struct structured_running *running;
	struct structured_share *shares;
	int32_t share_room;
};

/* NULL when out of memory. The instance must outlive it. */
struct load *load_create(const struct instance *instance);
void load_destroy(struct load *load);

/* A new state with all columns and groups; NULL when out of memory. */
struct structured *load_state(const struct load *load);

/* Reads every group's answer. Returns the number of units on columns. */
int64_t load_read(const struct load *load, const struct structured *state);

#endif
