/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A failure to recover from: servers with links, and applications whose tasks send to each other; some of the servers
 * or tasks have failed. File form "nomora.recovery/1" (JSON), described in docs/formats.md; the system model is that of
 * Chen, Li and Li, "Surviving Failures with Performance-Centric Bandwidth Allocation in Private Datacenters", section
 * III.
 *
 * Plain data. Servers, applications, tasks and flows are numbered in the order in which they were added; the tasks and
 * flows of an application are consecutive. Rates are MB/s and volumes MB of payload, 1 MB = 10^6 bytes. Owned by the
 * caller through recovery_destroy(); readers may share it between threads.
 */
#ifndef MODEL_RECOVERY_H
#define MODEL_RECOVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <base/file.h>

#define RECOVERY_SCHEMA "nomora.recovery/1"

struct recovery_server {
	char *name;
	double cpu; /* capacity, in the same unit as the tasks' cpu */
	double egress_MBps, ingress_MBps;
	bool failed;
};

struct recovery_task {
	char *name;
	uint32_t application;
	uint32_t server; /* server on which the task runs, or ran until it failed */
	bool failed;     /* the task itself or its server failed */
	int stage;       /* 1 = the task sends, 2 = it receives; used only for the order in the paper's Algorithm 1 */
	double cpu;
	double relaunch_s; /* time from the decision until a failed task sends and receives again */
	bool has_backups;  /* eq. 9: if the task fails, only its `backups` can take it */
	uint32_t backup_count;
	uint32_t *backups; /* servers, each once */
};

struct recovery_flow {
	uint32_t from, to; /* tasks of one application */
	double MB, sent_MB;
};

struct recovery_application {
	char *name;
	double weight; /* > 0 */
	uint32_t first_task, task_count, first_flow, flow_count;
};

struct recovery_scenario {
	struct recovery_server *servers;
	struct recovery_application *applications;
	struct recovery_task *tasks;
	struct recovery_flow *flows;
	uint32_t server_count, application_count, task_count, flow_count;
	size_t server_capacity, application_capacity, task_capacity, flow_capacity;
	json_t *server_index, *application_index, *task_index; /* name -> number; tasks by "application.task" */
};

/* Returns an empty scenario, or NULL if out of memory. */
struct recovery_scenario *recovery_create(void);
void recovery_destroy(struct recovery_scenario *scenario); /* NULL is legal */

/*
 * Each returns the new number, -EEXIST (the name is taken) or -ENOMEM. Strings are copied. Tasks and flows belong to
 * the application added last; the ends of a flow are numbers of its tasks.
 */
int64_t recovery_add_server(struct recovery_scenario *scenario, const struct recovery_server *server);
int64_t recovery_add_application(struct recovery_scenario *scenario, const char *name, double weight);
int64_t recovery_add_task(struct recovery_scenario *scenario, const struct recovery_task *task);
int64_t recovery_add_flow(struct recovery_scenario *scenario, const struct recovery_flow *flow);
/* Adds a server to the task's backups and sets has_backups. Returns 0 or -ENOMEM. */
int recovery_add_backup(struct recovery_scenario *scenario, uint32_t task, uint32_t server);

/* Marks a server and every task on it as failed. */
void recovery_fail_server(struct recovery_scenario *scenario, uint32_t server);

/* Return the number of the server or task, or -ENOENT. O(1). */
int64_t recovery_find_server(const struct recovery_scenario *scenario, const char *name);
int64_t recovery_find_task(const struct recovery_scenario *scenario, const char *application, const char *task);

/* Returns the MB that a flow still has to carry: all of them if the task at one end failed, else those not sent yet. */
double recovery_flow_left_MB(const struct recovery_scenario *scenario, const struct recovery_flow *flow);

/*
 * Reads a scenario ("-" = stdin). Returns NULL with err set (file, line, field) if it has
 * - an unknown task, server or backup
 * - a flow from a task to itself, or a duplicate flow
 * - numbers out of range, or a flow whose sent_MB exceeds its MB
 * - a server whose tasks use more CPU than it has, or that has traffic but no capacity for it
 * - no surviving server
 */
struct recovery_scenario *recovery_read(const char *path, struct error *err);
/* Like recovery_read(), from a text that ends with a NUL, which is not in `bytes`; `name` is for messages. */
struct recovery_scenario *recovery_parse(const char *name, const char *text, size_t bytes, struct error *err);

/*
 * The access links of a cluster's machines, as a scenario of servers without applications. Reads a scenario, of which
 * it takes the servers, or a network as topology_from_argument() does: a host's links that are up count together.
 * MBps: speed of generated links, and of those whose file has no speed. Returns NULL with err set (file, line, field).
 */
struct recovery_scenario *recovery_network_read(const char *argument, double MBps, struct error *err);
/* Like recovery_network_read(), from such a text of a file. */
struct recovery_scenario *recovery_network_parse(const char *name, const char *text, size_t bytes, double MBps,
						 struct error *err);
/* New reference, NULL if out of memory. */
json_t *recovery_to_json(const struct recovery_scenario *scenario);

/*
 * The format of the coflow benchmark (github.com/coflow/coflow-benchmark): a line "PORTS COFLOWS", then a line for each
 * coflow: id, arrival in ms, number of mappers, the port of each mapper, number of reducers, PORT:MB of each reducer. A
 * reducer receives the same volume from each mapper. Ports are numbered from 0, or from 1 if port number PORTS is in
 * use and port 0 is not.
 */
struct coflow_trace;
/* Closes the lines; NULL: they could not be opened, as err says. NULL with err set on failure. */
struct coflow_trace *coflow_read(struct file_lines *lines, struct error *err);
void coflow_destroy(struct coflow_trace *trace);
uint32_t coflow_port_count(const struct coflow_trace *trace);
uint64_t coflow_flow_count(const struct coflow_trace *trace);

/*
 * Returns the scenario of the coflows that are active at second `at_s`. A coflow is active from its arrival for the
 * time that its busiest port would need for this coflow alone; all its flows progress evenly during this time. Each
 * coflow becomes an application of weight 1 with one task per mapper and per reducer. The servers are port0, port1,
 * ..., with link_MBps in each direction and no CPU limit. Nothing has failed yet. Returns NULL with err set if no
 * coflow is active, or if out of memory.
 */
struct recovery_scenario *coflow_scenario(const struct coflow_trace *trace, double at_s, double link_MBps,
					  struct error *err);

#endif
