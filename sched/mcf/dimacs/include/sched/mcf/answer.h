/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the answer to a problem that was read from a file: as JSON of the schema nomora.solve/1 or, if the problem is
 * infeasible, as a text that says why. Nodes are numbered from 1.
 */
#ifndef MCF_ANSWER_H
#define MCF_ANSWER_H

#include <stdbool.h>
#include <stdio.h>

#include <sched/mcf/cut.h>
#include <sched/mcf/mcf.h>

struct mcf_answer {
	const char *name; /* name of the file */
	const struct mcf_problem *problem;
	const struct mcf_solution *solution;
	struct mcf_cut cut; /* valid if the problem is infeasible */
	double parse_s, verify_s;
	bool verified;
};

/* Prints one line that names the cut: the supply of its nodes exceeds the capacity of the arcs that leave them. */
void mcf_answer_print_cut(const struct mcf_answer *answer, FILE *out);

/* Prints nomora.solve/1. If `flow` is true, its last member has the flow of every arc in use. Returns 0 or -ENOMEM. */
int mcf_answer_print_json(const struct mcf_answer *answer, bool flow, FILE *out);

#endif
