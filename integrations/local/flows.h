/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adds up what runs have sent to each other, from the counters of their TCP connections (machine.sh). A connection is
 * that between two runs if each has one end of it; behind address translation, none is found. What a connection sends
 * after it was last seen, and a connection that was never seen, is not counted. Pure; one thread.
 *
 * In each turn: run_flows_begin(), then for each machine run_flows_add() per line or, if the machine did not answer,
 * run_flows_keep(); then run_flows_end().
 */
#ifndef INTEGRATIONS_LOCAL_FLOWS_H
#define INTEGRATIONS_LOCAL_FLOWS_H

#include <jansson.h>

/* A zeroed struct is empty. */
struct run_flows {
	json_t *now, *before; /* "LOCAL PEER" -> {"run", "machine", "bytes", "counted"}: ends of connections */
	json_t *sent;         /* "RUN RUN" -> bytes from the first to the second */
};

void run_flows_free(struct run_flows *flows);
void run_flows_begin(struct run_flows *flows);
/* Takes "RUN LOCAL PEER BYTES"; other lines are ignored. machine: "" for those of this host. */
void run_flows_add(struct run_flows *flows, const char *machine, const char *line);
void run_flows_keep(struct run_flows *flows, const char *machine);
/*
 * Returns the lines for schedd, [{"job", "from", "to", "MB"}], for the caller to release. names: RUN -> [job, task] of
 * the runs that are still wanted; what other runs have sent is forgotten. NULL: out of memory.
 */
json_t *run_flows_end(struct run_flows *flows, const json_t *names);

#endif
