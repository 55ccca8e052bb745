/* SPDX-License-Identifier: BSD-3-Clause */
#include "recognise_priv.h"
bool recognise_is_quick(const struct mcf_problem *problem)
{
	(void)problem;
	return false;
}
enum mcf_status recognise_solve(const struct mcf_problem *problem, struct mcf_solution *solution)
{
	(void)problem;
	(void)solution;
	return MCF_UNSUITED;
}
