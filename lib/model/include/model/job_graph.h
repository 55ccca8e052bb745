/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which tasks of a job talk to each other, and how much: an undirected graph with weighted edges. A job without a graph
 * is a star: all tasks talk to the root. The caller owns the graphs; threads may share them.
 */
#ifndef MODEL_JOB_GRAPH_H
#define MODEL_JOB_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include <base/json.h>

enum { JOB_GRAPH_EDGES_MAXIMUM = 1000000 };

struct job_neighbour {
	uint32_t task;
	double weight;
	double MB; /* that the task sends to this neighbour, 10^6 bytes; 0: not stated, or after job_graph_pick() */
};

struct job_graph {
	json_t *form; /* as in jobs.jsonl, but with numbers of tasks instead of names; NULL after job_graph_pick() */
	uint32_t task_count;
	size_t edge_count;
	size_t *first;                    /* [task_count + 1] */
	struct job_neighbour *neighbours; /* of task t: first[t] .. first[t + 1] - 1; an edge is in both tasks' lists */
};

/*
 * Reads the value of "graph" (docs/formats.md): a name, or a list of edges. names: numbers of the tasks by name, or
 * NULL if edges have numbers only. Returns NULL for a star, and on failure, which the reader has then noted.
 */
struct job_graph *job_graph_read(struct json_reader *reader, const json_t *value, const json_t *names, uint32_t tasks);
struct job_graph *job_graph_copy(const struct job_graph *graph); /* NULL: out of memory */
/*
 * Returns the graph between the tasks task[0..count), which are in ascending order and get the numbers 0 to count - 1;
 * those that the graph does not have get no edges. NULL: out of memory.
 */
struct job_graph *job_graph_pick(const struct job_graph *graph, const uint32_t *task, uint32_t count);
/* Returns the edges as [name, name, weight], by the names of the tasks; NULL: out of memory. */
json_t *job_graph_edges(const struct job_graph *graph, const char *const *names);
void job_graph_destroy(struct job_graph *graph); /* NULL is legal */

#endif
