/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_certificate.h"

#include <stdio.h>

#include <criterion/criterion.h>

#include <sched/mcf/verify.h>

void flow_certificate_check(const char *label, const struct mcf_problem *problem, const struct mcf_solution *solution)
{
	struct mcf_verdict verdict;

	cr_assert(mcf_verify(problem, solution, &verdict), "%s: %s: %s", label, mcf_fault_name(verdict.fault),
		  verdict.text);
}

void flow_certificate_solve(const char *label, const struct mcf_algorithm *algorithm, const struct mcf_problem *problem,
			    struct mcf_solution *solution)
{
	char where[256];

	mcf_solve(algorithm, problem, solution);
	snprintf(where, sizeof where, "%s, %s", label, algorithm->name);
	flow_certificate_check(where, problem, solution);
}
