/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machines of the agent. An exchange with a machine is a process, `sh` here or `ssh`, that carries out orders and
 * lists the machine's runs (machine.sh). One thread.
 */
#ifndef INTEGRATIONS_LOCAL_MACHINE_H
#define INTEGRATIONS_LOCAL_MACHINE_H

#include <stdint.h>

#include <jansson.h>

#include <base/process.h>
#include <integrations/local/agent.h>

struct machine {
	char *name, *rack, *ssh, *state; /* as in the file; rack, ssh: NULL if missing */
	uint32_t slots;
	struct process *exchange; /* in progress; NULL: none */
	struct ns until;          /* time limit of the exchange */
	uint64_t token;           /* the machine accepts orders with this token; 0: it has to be taken over first */
	json_t *runs;             /* RUN -> "alive", "exit CODE", "killed" or "lost"; NULL: not known at present */
	json_t *flows;            /* lines "RUN LOCAL PEER BYTES" of machine.sh; NULL: not known at present */
	char *orders;             /* lines of the next exchange; NULL: none */
	bool silent;              /* the last exchange failed, and this was logged */
};

struct machines {
	struct machine *items;
	size_t count, capacity;
};

/* Reads the file. Returns 0 or -errno with err set: "file:line: field: ...". */
int machines_read(struct machines *machines, const char *path, struct error *err);
void machines_free(struct machines *machines);
struct machine *machines_find(const struct machines *machines, const char *name); /* NULL: unknown */

/* Appends an order: words without blanks or quotes in `format`, then `words`, each quoted for the shell; NULL: none. */
void machine_order(struct machine *machine, const json_t *words, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Begins an exchange with each machine that is not "down" and has none. Until it is complete, the machine's runs are
 * not known.
 */
void machines_begin(struct machines *machines, const struct local_agent_options *options);
/* Waits until all exchanges are complete, at most until `until`, and takes the results. */
void machines_wait(struct machines *machines, struct ns until);

/*
 * Adds up what runs have sent to each other, from the counters of their TCP connections (machine.sh). A connection is
 * that between two runs if each has one end of it; behind address translation, none is found. What a connection sends
 * after it was last seen, and a connection that was never seen, is not counted. Pure; one thread.
 *
 * In each turn: run_flows_begin(), then for each machine run_flows_add() per line or, if the machine did not answer,
 * run_flows_keep(); then run_flows_end().
 */

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
