/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DIMACS minimum-cost flow files (First DIMACS Implementation Challenge, 1991), plain or gzip:
 *
 *   c comment
 *   p min NODES ARCS                       once, before all n and a lines
 *   n NODE SUPPLY                          at most one per node; nodes without an n line have supply 0
 *   a TAIL HEAD LOWER CAPACITY COST        exactly ARCS of them
 *
 * Nodes are numbered from 1. A file is refused if it ends early, has a wrong number of arcs, an unknown node, a second
 * n line for a node, a negative or too large bound, a cost over the limit in mcf/mcf.h, or supplies that do not sum to
 * 0. The error names the file, line, field and expected value. Files are read in chunks, so reading needs little memory
 * besides the arrays. No state outlives a call.
 */
#ifndef MCF_DIMACS_H
#define MCF_DIMACS_H

#include <stdbool.h>
#include <stdio.h>

#include <base/error.h>
#include <sched/mcf/verify.h>
#include <sched/mcf/mcf.h>

/* Upper limits of NODES and ARCS, so that a p line alone cannot use up a host's memory. */
enum { MCF_DIMACS_NODES = 1 << 26, MCF_DIMACS_ARCS = 1 << 28 };

/*
 * A problem that owns its arrays. Initialise it to {0} and release it with mcf_network_free(). Its nodes are numbered
 * from 0.
 */
struct mcf_network {
	struct mcf_problem problem; /* points to the arrays below; lower is NULL when all are 0 */
	int32_t *tail, *head, *lower, *capacity;
	int64_t *cost, *supply;
	int32_t arc_room;
};

void mcf_network_free(struct mcf_network *network);

/* Reads a file; `path` may be "-" for stdin. Returns 0, or -errno with err set and the network empty. */
int mcf_dimacs_read(const char *path, struct mcf_network *network, struct error *err);

/* Like mcf_dimacs_read(), for text in memory; `name` is the file's name in messages. */
int mcf_dimacs_parse(const char *name, const char *text, size_t bytes, struct mcf_network *network, struct error *err);

/* Writes the problem; each line of `comment` (NULL = none) becomes a c line. Returns 0 or -EIO. */
int mcf_dimacs_write(const struct mcf_problem *problem, const char *comment, FILE *out);

/* Writes "s COST" and, if `flows`, "f TAIL HEAD FLOW" for every arc with flow. Returns 0 or -EIO. */
int mcf_dimacs_write_solution(const struct mcf_problem *problem, const struct mcf_solution *solution, bool flows,
			      FILE *out);

/*
 * Prints the answer to a problem that was read from a file: as JSON of the schema nomora.solve/1 or, if the problem is
 * infeasible, as a text that says why. Nodes are numbered from 1.
 */

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
