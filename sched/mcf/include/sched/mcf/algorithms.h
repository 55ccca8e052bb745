/* SPDX-License-Identifier: BSD-3-Clause */
/* The algorithms that mcf_solve() can be given, by name. */
#ifndef MCF_ALGORITHMS_H
#define MCF_ALGORITHMS_H

#include <sched/mcf/mcf.h>

/* Every algorithm, ended by a row whose name is NULL. The first row is `auto`. */
extern const struct mcf_algorithm mcf_algorithms[];

/* NULL when there is no such name. */
const struct mcf_algorithm *mcf_algorithm_find(const char *name);

#endif
