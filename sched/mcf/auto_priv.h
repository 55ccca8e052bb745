/* SPDX-License-Identifier: BSD-3-Clause */
/* The algorithms that aggregate first (auto.c). */
#ifndef AUTO_PRIV_H
#define AUTO_PRIV_H

#include <sched/mcf/mcf.h>

enum mcf_status mcf_auto_algorithm(const struct mcf_problem *problem, struct mcf_solution *solution);
enum mcf_status mcf_structured_algorithm(const struct mcf_problem *problem, struct mcf_solution *solution);

#endif
