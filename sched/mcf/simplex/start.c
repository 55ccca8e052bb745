/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * First pivots of a network with one source and one sink. As long as units use artificial arcs, the cost of these arcs
 * dominates every pivot; a single path with capacity for all units ends this at once. Measured: with it, a torus takes
 * half the time, and a long path takes a third of the pivots. (LEMON starts in the same way.)
 */
#include <stdlib.h>
#include <string.h>

#include "simplex_priv.h"

/*
 * With simplex_be_impatient(), the solve gives up if entering the path into the basis would visit more nodes than this
 * per arc of the network.
 */
enum { START_WORK_MOST = 200 };

struct ends {
	int32_t source, sink; /* NO_NODE: none */
	int32_t source_count, sink_count;
	int64_t units;
};

static struct ends find_ends(const struct mcf_problem *problem)
{
	struct ends ends = {.source = NO_NODE, .sink = NO_NODE};

	for (int32_t v = 0; v < problem->node_count; v++) {
		if (problem->supply[v] > 0) {
			ends.source = v;
			ends.source_count++;
			ends.units = problem->supply[v];
		} else if (problem->supply[v] < 0) {
			ends.sink = v;
			ends.sink_count++;
		}
	}
	return ends;
}

/* True if cost scaling would take less time than entering a path of this length into the basis and pivoting on it. */
static bool is_too_deep(const struct simplex *simplex, int64_t levels)
{
	return simplex->patience < INT64_MAX && levels * levels / 2 > (int64_t)START_WORK_MOST * simplex->arc_count;
}

/* Lists by head the arcs that are wide enough for all units: newest[head] is the first, next[arc] the one after it. */
static void list_wide_arcs(const struct mcf_problem *problem, int64_t units, int32_t *newest, int32_t *next)
{
	for (int32_t v = 0; v < problem->node_count; v++)
		newest[v] = NO_NODE;
	for (int32_t a = 0; a < problem->arc_count; a++) {
		if (problem->capacity[a] < units)
			continue;
		next[a] = newest[problem->head[a]];
		newest[problem->head[a]] = a;
	}
}

/*
 * Searches breadth first from the sink to the source, along the listed wide arcs against their direction. The arcs
 * enter the basis in the order in which they were found.
 */
static void enter_wide_arcs(struct simplex *simplex, struct ends ends, int32_t *next, int32_t *way, int32_t *queue)
{
	const struct mcf_problem *problem = simplex->problem;
	int32_t *newest = simplex->scratch, count = 0, levels = 0, level_end = 0;

	list_wide_arcs(problem, ends.units, newest, next);
	memset(way, 0xff, (size_t)problem->node_count * sizeof *way);
	queue[count++] = ends.sink;
	for (int32_t k = 0; k < count && way[ends.source] == NO_NODE; k++) {
		if (k == level_end) {
			levels++;
			level_end = count;
		}
		for (int32_t a = newest[queue[k]]; a != NO_NODE; a = next[a]) {
			int32_t tail = problem->tail[a];

			if (tail == ends.sink || way[tail] != NO_NODE)
				continue;
			way[tail] = a;
			queue[count++] = tail;
		}
	}
	simplex->given_up = is_too_deep(simplex, levels);
	for (int32_t k = 1; k < count && !simplex->given_up; k++)
		simplex_enter(simplex, simplex->position[way[queue[k]]]);
}

void simplex_start(struct simplex *simplex)
{
	size_t nodes = (size_t)simplex->node_count + 1;
	struct ends ends = find_ends(simplex->problem);
	int32_t *next, *way, *queue;

	if (ends.source_count != 1 || ends.sink_count != 1)
		return;
	next = malloc(((size_t)simplex->arc_count + 1) * sizeof *next);
	way = malloc(nodes * sizeof *way);
	queue = malloc(nodes * sizeof *queue);
	if (next && way && queue) /* if out of memory, the simplex pivots from the artificial arcs */
		enter_wide_arcs(simplex, ends, next, way, queue);
	free(next);
	free(way);
	free(queue);
}
