/* SPDX-License-Identifier: BSD-3-Clause */
/* The algorithms for mcf_solve(), by name. */
#ifndef MCF_ALGORITHMS_H
#define MCF_ALGORITHMS_H

#include <sched/mcf/mcf.h>

/* Every algorithm, ended by a row whose name is NULL. The first row is `auto`. */
extern const struct mcf_algorithm mcf_algorithms[];

/* Returns the algorithm with this name, or NULL if there is none. */
const struct mcf_algorithm *mcf_algorithm_find(const char *name);

#endif
