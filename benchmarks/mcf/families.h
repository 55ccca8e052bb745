/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Networks of the families that codes for min-cost flow are compared on (Kiraly & Kovacs 2012), drawn by simple rules
 * of our own in the manner of NETGEN, GRIDGEN and GOTO. Seeded: the same network on every machine. All are feasible.
 */
#ifndef MCF_FAMILIES_H
#define MCF_FAMILIES_H

#include <sched/mcf/mcf.h>

struct family_builder;

struct family {
	const char *name;
	int32_t size; /* as the benchmark runs it; what it counts is the family's own */
	void (*draw)(struct family_builder *builder, int32_t size);
};

/* Ended by a row whose name is NULL. */
extern const struct family families[];

/* The problem owns its arrays: family_free(). 0 or -ENOMEM. */
int family_make(const struct family *family, int32_t size, uint64_t seed, struct mcf_problem *problem);
void family_free(struct mcf_problem *problem);

#endif
