/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cost scaling (Goldberg & Tarjan 1990; Goldberg 1997): push and relabel with a tolerance that falls from the largest
 * cost to under 1.
 */
#ifndef MCF_SCALING_H
#define MCF_SCALING_H

#include <sched/mcf/mcf.h>

/* A solve function of struct mcf_algorithm. */
enum mcf_status mcf_scaling_algorithm(const struct mcf_problem *problem, struct mcf_solution *solution);

#endif
