/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dataflow jobs on a network: components (spouts, bolts, mappers, reducers) that run as tasks and send data along
 * edges. File form "nomora.dataflow/1" (JSON), described in docs/formats.md:
 *
 *   {"schema": "nomora.dataflow/1",
 *    "topology": "fattree:4", "MBps": 100, "seed": 1, "slots": 2,
 *    "hosts": [{"name": "h3", "slots": 4, "cpu": 2}],
 *    "jobs": [
 *      {"name": "count", "weight": 1, "arrival_s": 0,
 *       "components": [{"name": "words", "tasks": 2, "MBps": 50, "MB": 1000},
 *                      {"name": "sum", "tasks": 4, "cpu_s_per_MB": 0.01}],
 *       "edges": [{"from": "words", "to": "sum", "grouping": "key", "skew": 0.5, "selectivity": 1}],
 *       "placement": {"words.0": "h1", "words.1": "h2"}}]}
 *
 * Plain data, owned by the caller through dataflow_destroy(). Components, edges and tasks are numbered from 0 in the
 * order of the file; a job's tasks are numbered component by component. Rates are MB/s (10^6 bytes of payload).
 */
#ifndef MODEL_DATAFLOW_H
#define MODEL_DATAFLOW_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <base/error.h>
#include <model/topology.h>

enum {
	DATAFLOW_TASKS_MAXIMUM = 100000, /* of one job */
	DATAFLOW_SLOTS_MAXIMUM = 100000, /* of one host */
	DATAFLOW_NAME_BYTES = 64,
};
#define DATAFLOW_NOWHERE UINT32_MAX

/* How the output of one task is divided among the receiving component's tasks. */
enum dataflow_grouping {
	DATAFLOW_SHUFFLE, /* evenly */
	DATAFLOW_KEY,     /* task i (from 0) gets a share proportional to 1 / (i + 1)^skew */
	DATAFLOW_ALL,     /* every task gets all of it */
	DATAFLOW_FORWARD, /* task i to the tasks at the same place: one to one, or in groups where the numbers differ */
	DATAFLOW_GLOBAL,  /* task 0 gets all of it */
};
#define DATAFLOW_GROUPINGS (DATAFLOW_GLOBAL + 1)

/* A component without incoming edges is a source, one without outgoing edges a sink. */
struct dataflow_component {
	char *name;
	uint32_t first_task, task_count;
	double MBps;         /* a source's task offers at most this; INFINITY: as much as it can */
	double MB;           /* a source's task ends when it has sent this; INFINITY: it never ends */
	double cpu_s_per_MB; /* CPU seconds that a task needs per MB received (a source's: sent) */
};

struct dataflow_edge {
	uint32_t from, to; /* components */
	enum dataflow_grouping grouping;
	double skew;        /* >= 0; DATAFLOW_KEY's */
	double selectivity; /* MB sent along this edge per MB that the component receives (a source: emits) */
};

struct dataflow_job {
	char *name;
	double weight;    /* > 0: a share of a common bottleneck */
	double arrival_s; /* of simulations */
	char *curve;      /* performance by latency; NULL: none */
	struct dataflow_component *components;
	struct dataflow_edge *edges;
	uint32_t component_count, edge_count, task_count;
	size_t component_capacity, edge_capacity;
	uint32_t *hosts; /* by task: number of a node, or DATAFLOW_NOWHERE: to be placed */
};

struct dataflow {
	struct topology *topology;
	uint32_t *slots; /* by node of the topology; 0 for switches */
	double *cpu;     /* CPU seconds per second, by node; INFINITY where not limited */
	struct dataflow_job *jobs;
	uint32_t job_count;
	size_t job_capacity;
	uint64_t seed;
};

/*
 * Reads a file ("-" = stdin). NULL with err set, naming file, line of the job and field. Refused besides wrong types
 * and ranges: duplicate names, unknown components or hosts, an edge from a component to itself or given twice, a job
 * without a source, more tasks on a host than it has slots. Cycles are allowed; dataflow_graph_create() refuses those
 * that gain.
 */
struct dataflow *dataflow_read(const char *path, struct error *err);
struct dataflow *dataflow_parse(const char *name, const char *text, size_t bytes, struct error *err);
void dataflow_destroy(struct dataflow *dataflow); /* NULL is legal */

/* New reference, NULL if out of memory. The topology is written as a nomora.topology/1 object. */
json_t *dataflow_to_json(const struct dataflow *dataflow);

/*
 * Building blocks of generators and of readers of other formats. The topology becomes the dataflow's, also on failure.
 * Every host has `slots` slots. NULL if out of memory.
 */
struct dataflow *dataflow_create(struct topology *topology, uint32_t slots);
/* An empty job at the end, valid until the next one is added; NULL if out of memory. */
struct dataflow_job *dataflow_add_job(struct dataflow *dataflow, const char *name, double arrival_s);
/* Adds a component without limits of rate and volume. Returns its number, or -ENOMEM. */
int64_t dataflow_add_component(struct dataflow_job *job, const char *name, uint32_t tasks);
/* An edge of selectivity 1 and skew 0, valid until the next one is added; NULL if out of memory. */
struct dataflow_edge *dataflow_add_edge(struct dataflow_job *job, uint32_t from, uint32_t to,
					enum dataflow_grouping grouping);
/* After the last component: no task has a host. 0 or -ENOMEM. */
int dataflow_place_nowhere(struct dataflow_job *job);

/*
 * Readers of other formats; each adds jobs to a dataflow. 0 or -errno with err set (file, line or field). *_parse()
 * reads memory; `name` is for messages.
 *
 * Flink: the answer to GET /jobs/ID/plan of Flink's REST interface, one job. A vertex is a component named by its id;
 * FORWARD and RESCALE become "forward", HASH, RANGE and CUSTOM "key" without skew, REBALANCE and SHUFFLE "shuffle",
 * BROADCAST "all", GLOBAL "global". Plans have no rates: sources send all they can.
 */
int dataflow_read_flink(struct dataflow *dataflow, const char *path, struct error *err);
int dataflow_parse_flink(struct dataflow *dataflow, const char *name, const char *text, size_t bytes,
			 struct error *err);

/* How MapReduce traces become jobs: values that the formats lack. */
struct dataflow_trace_options {
	uint32_t jobs;   /* read only the first ones; 0: all */
	uint32_t tasks;  /* SWIM: most mappers, and most reducers, of a job */
	double split_MB; /* SWIM: a mapper for each split of the input, a reducer for each split of the shuffle */
	bool pin;        /* coflows: a task on port p runs on host number p */
};

/*
 * SWIM (github.com/SWIMProjectUCB/SWIM): tab-separated job_id, submit_time_s, gap_s, map_input_bytes, shuffle_bytes,
 * reduce_output_bytes. Jobs that shuffle nothing send nothing and are left out. Mappers send the shuffle's bytes.
 */
int dataflow_read_swim(struct dataflow *dataflow, const char *path, const struct dataflow_trace_options *options,
		       struct error *err);
int dataflow_parse_swim(struct dataflow *dataflow, const char *name, const char *text, size_t bytes,
			const struct dataflow_trace_options *options, struct error *err);

/*
 * The coflow benchmark (model/recovery.h): mappers are one component, each reducer is one of its own. -ENOSPC: --pin
 * with more ports than hosts.
 */
int dataflow_read_coflows(struct dataflow *dataflow, const char *path, const struct dataflow_trace_options *options,
			  struct error *err);

/* Frees what a job holds. */
void dataflow_job_clear(struct dataflow_job *job);

/* Component of a task of the job. */
uint32_t dataflow_component_of(const struct dataflow_job *job, uint32_t task);

/* "component.number" of a task; text[2 * DATAFLOW_NAME_BYTES]. */
void dataflow_task_name(const struct dataflow_job *job, uint32_t task, char *text);

const char *dataflow_grouping_name(enum dataflow_grouping grouping);

#endif
