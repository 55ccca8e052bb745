/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks a solver's answer in a Criterion test: every answer of every solver passes through here. */
#ifndef TESTS_FLOW_CERTIFICATE_H
#define TESTS_FLOW_CERTIFICATE_H

#include <sched/mcf/mcf.h>

/* Solves `problem` with the algorithm and fails the test, naming `label` and the fault, unless the answer's
 * certificate holds (optimal or infeasible). The solution belongs to the caller. */
void flow_certificate_solve(const char *label, const struct mcf_algorithm *algorithm, const struct mcf_problem *problem,
			    struct mcf_solution *solution);

/* The same for an answer that was obtained in another way. */
void flow_certificate_check(const char *label, const struct mcf_problem *problem, const struct mcf_solution *solution);

#endif
