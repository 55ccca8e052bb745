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
	DATAFLOW_FORWARD, /* task i sends to task i. For S senders and R other than S receivers, 0..1 is cut into S and
			     into R equal intervals, one per task; a sender's data go to the receivers whose intervals
			     overlap its own */
	DATAFLOW_GLOBAL,  /* task 0 gets all of it */
};
#define DATAFLOW_GROUPINGS (DATAFLOW_GLOBAL + 1)

/* A component without incoming edges is a source, one without outgoing edges a sink. */
struct dataflow_component {
	char *name;
	uint32_t first_task, task_count;
	double MBps;         /* maximum rate of a source's task; INFINITY: no limit */
	double MB;           /* a source's task ends when it has sent this volume; INFINITY: it never ends */
	double cpu_s_per_MB; /* CPU seconds that a task needs per MB that it receives, or sends if the component is a
				source */
};

struct dataflow_edge {
	uint32_t from, to; /* components */
	enum dataflow_grouping grouping;
	double skew;        /* >= 0; only for DATAFLOW_KEY */
	double selectivity; /* MB sent along this edge per MB that component `from` receives, or emits if it is a source
			     */
};

struct dataflow_job {
	char *name;
	double weight;    /* > 0; jobs with a common bottleneck share it in proportion to their weights */
	double arrival_s; /* time of submission; used only in simulations */
	char *curve;      /* name of the curve latency -> performance; NULL: none */
	struct dataflow_component *components;
	struct dataflow_edge *edges;
	uint32_t component_count, edge_count, task_count;
	size_t component_capacity, edge_capacity;
	uint32_t *hosts;   /* by task: the node number of its host, or DATAFLOW_NOWHERE if it is not placed yet */
	bool shares_slots; /* true: the tasks with the same number in their components share a slot, and thus a host, as
			      in Flink's default slot sharing group; false: each task takes a slot of its own */
};

struct dataflow {
	struct topology *topology;
	uint32_t *slots; /* by node of the topology; 0 for switches */
	double *cpu;     /* by node: CPU seconds available per second; INFINITY = no limit */
	struct dataflow_job *jobs;
	uint32_t job_count;
	size_t job_capacity;
	uint64_t seed;
};

/*
 * Reads a file ("-" = stdin). Returns NULL with err set (file, line of the job, field). Besides wrong types and ranges,
 * it refuses:
 * - duplicate names, and unknown components or hosts
 * - an edge from a component to itself, and a duplicate edge
 * - a job without a source or a sink, and a component that no source reaches
 * - more tasks on a host than it has slots
 *
 * It accepts cycles, but dataflow_graph_create() refuses a cycle that returns as much data as enters it, or more.
 */
struct dataflow *dataflow_read(const char *path, struct error *err);
struct dataflow *dataflow_parse(const char *name, const char *text, size_t bytes, struct error *err);
void dataflow_destroy(struct dataflow *dataflow); /* NULL is legal */

/* New reference, NULL if out of memory. The topology is written as a nomora.topology/1 object. */
json_t *dataflow_to_json(const struct dataflow *dataflow);

/*
 * Returns a dataflow without jobs, in which every host has `slots` slots, or NULL if out of memory. For generators, and
 * for readers of other formats. Takes ownership of the topology, also on failure.
 */
struct dataflow *dataflow_create(struct topology *topology, uint32_t slots);
/* Appends an empty job and returns it, valid until the next one is added; NULL if out of memory. */
struct dataflow_job *dataflow_add_job(struct dataflow *dataflow, const char *name, double arrival_s);
/* Adds a component without limits on rate and volume. Returns its number, or -ENOMEM. */
int64_t dataflow_add_component(struct dataflow_job *job, const char *name, uint32_t tasks);
/* Adds an edge of selectivity 1 and skew 0 and returns it, valid until the next one is added; NULL if out of memory. */
struct dataflow_edge *dataflow_add_edge(struct dataflow_job *job, uint32_t from, uint32_t to,
					enum dataflow_grouping grouping);
/* Sets every task to DATAFLOW_NOWHERE; call it after the last component was added. Returns 0 or -ENOMEM. */
int dataflow_place_nowhere(struct dataflow_job *job);

/*
 * For readers of measured volumes: call it when the selectivity of each edge is the volume that the edge has carried.
 * Sets the selectivities, which are relative to what a component receives or, for a source, to the edge that carries
 * most. Sets the MB of the sources' tasks if volumes are MB. Returns 0 or -ENOMEM.
 */
int dataflow_set_selectivities(struct dataflow_job *job, bool volumes_are_MB);

/*
 * Readers of other formats; each adds jobs to a dataflow. They return 0, or -errno with err set (file, line or field).
 * *_parse() reads memory; `name` is for messages.
 *
 * Flink: reads one job from the response to GET /jobs/ID/plan of Flink's REST interface. Each vertex becomes a
 * component that is named by the vertex's id. FORWARD and RESCALE become "forward"; HASH, RANGE and CUSTOM become "key"
 * without skew; REBALANCE, REDISTRIBUTE and SHUFFLE become "shuffle"; BROADCAST "all"; GLOBAL "global". Plans have no
 * rates: sources send all they can.
 */
int dataflow_read_flink(struct dataflow *dataflow, const char *path, struct error *err);
int dataflow_parse_flink(struct dataflow *dataflow, const char *name, const char *text, size_t bytes,
			 struct error *err);

/*
 * Sets the measured rates of a job that was read by dataflow_read_flink(). FOLDER/VERTEX.json, for each vertex with an
 * output, is the answer to GET /jobs/ID/vertices/VERTEX/subtasks/metrics?get=numBytesOutPerSecond. The sources get
 * their rates as maximum rates; edges from other vertices get the selectivity that the rates of the vertex and of its
 * inputs give. Returns 0, or -errno with err set (file and field); the job is then unchanged or has only some of its
 * rates.
 */
int dataflow_read_flink_rates(struct dataflow_job *job, const char *folder, struct error *err);
/* Parses one such answer. *MBps: sum over the subtasks. */
int dataflow_parse_flink_rate(const char *name, const char *text, size_t bytes, double *MBps, struct error *err);

/*
 * Storm: reads a topology from FOLDER/topology.json and FOLDER/metrics.json, the answers of Storm's UI to GET
 * /api/v1/topology/ID and /api/v1/topology/ID/metrics. Each spout and bolt becomes a component with a task per
 * executor; bolts that have executed no tuple of another component have no incoming edges. All edges are "shuffle",
 * with the selectivities of the tuples' numbers; sources send all they can.
 */
struct dataflow_storm_text {
	const char *name, *text; /* name: for messages */
	size_t bytes;
};
int dataflow_read_storm(struct dataflow *dataflow, const char *folder, struct error *err);
int dataflow_parse_storm(struct dataflow *dataflow, const struct dataflow_storm_text *topology,
			 const struct dataflow_storm_text *metrics, struct error *err);

/* Values that MapReduce traces lack. */
struct dataflow_trace_options {
	uint32_t jobs;   /* read at most this number of jobs; 0: all */
	uint32_t tasks;  /* SWIM: maximum number of mappers of a job, and of reducers */
	double split_MB; /* SWIM: one mapper per split of the input, one reducer per split of the shuffle */
	bool pin;        /* coflows: a task on port p runs on host number p */
};

/*
 * SWIM (github.com/SWIMProjectUCB/SWIM): tab-separated job_id, submit_time_s, gap_s, map_input_bytes, shuffle_bytes,
 * reduce_output_bytes. The mappers of a job send its shuffle_bytes; jobs with 0 shuffle_bytes send nothing and are left
 * out.
 */
int dataflow_read_swim(struct dataflow *dataflow, const char *path, const struct dataflow_trace_options *options,
		       struct error *err);
int dataflow_parse_swim(struct dataflow *dataflow, const char *name, const char *text, size_t bytes,
			const struct dataflow_trace_options *options, struct error *err);

/*
 * Spark: an event log (spark.eventLog.enabled), JSON lines; the files of a rolling log in their order are one log. Each
 * job that shuffles data becomes a job. A stage that reads or writes shuffled data becomes a component with one task
 * per executor that ran it. Edges carry the bytes that the successful tasks have read, local ones included. A stage
 * that the job skipped stands for the stage of an earlier job that computed the same RDD.
 */
int dataflow_read_spark(struct dataflow *dataflow, const char *path, const struct dataflow_trace_options *options,
			struct error *err);
int dataflow_parse_spark(struct dataflow *dataflow, const char *name, const char *text, size_t bytes,
			 const struct dataflow_trace_options *options, struct error *err);

/*
 * The coflow benchmark (model/recovery.h): one component has all mappers, and each reducer is a component. Returns
 * -ENOSPC if `pin` is set and there are more ports than hosts.
 */
int dataflow_read_coflows(struct dataflow *dataflow, const char *path, const struct dataflow_trace_options *options,
			  struct error *err);

/* Frees the memory of a job and clears it. */
void dataflow_job_clear(struct dataflow_job *job);

/* Returns the component of a task of the job. */
uint32_t dataflow_component_of(const struct dataflow_job *job, uint32_t task);

/*
 * Returns the task that stands for the slot of a task: the one of the same number in the first of the components with
 * the most tasks. If the job does not share slots, this is the task itself.
 */
uint32_t dataflow_slot_leader(const struct dataflow_job *job, uint32_t task);
/* Sets the host of all tasks in the slot of a leader. host: a node number, or DATAFLOW_NOWHERE. */
void dataflow_place_slot(struct dataflow_job *job, uint32_t leader, uint32_t host);

/* Writes "component.number" of a task to text[2 * DATAFLOW_NAME_BYTES]. */
void dataflow_task_name(const struct dataflow_job *job, uint32_t task, char *text);

const char *dataflow_grouping_name(enum dataflow_grouping grouping);

#endif
