/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a schedule in GOAL (Hoefler et al., "Group Operation Assembly Language", ICPP'09; the text form of LogGOPSim)
 * and makes its execution graph:
 *
 *	num_ranks 2
 *	rank 0 {
 *	l1: calc 1000           (ns)
 *	l2: send 8b to 1 tag 5
 *	l2 requires l1          (after the end of l1; irequires: after its start)
 *	}
 *	rank 1 {
 *	l1: recv 8b from 0 tag 5 cpu 1
 *	}
 *
 * An operation without requirements may start at 0. A calc and a send occupy their cpu; a receive occupies it for the
 * overhead once the message is there. Operations of one cpu that could run at the same moment run in the order in which
 * they could begin at the model's latency, by line where that is the same; the graph keeps this order at every
 * latency. "nic" is read and not used. Wildcards (source or tag -1) are refused: what they match depends on the
 * latency.
 */
#ifndef PREDICT_GOAL_H
#define PREDICT_GOAL_H

#include <base/file.h>
#include <predict/graph/graph.h>

/*
 * Fills an uninitialised graph and closes the lines; NULL: they could not be opened, as err says. Returns 0, or -errno
 * with err set (file, line, field); execution_graph_free() is legal after both.
 */
int goal_read(struct file_lines *lines, const struct loggps *model, struct execution_graph *graph, struct error *err);

#endif
