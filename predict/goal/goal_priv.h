/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations of a GOAL schedule, between its reader (read.c) and the builder of the graph (build.c). */
#ifndef GOAL_PRIV_H
#define GOAL_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <predict/goal/goal.h>

enum operation_kind { OPERATION_CALC, OPERATION_SEND, OPERATION_RECV };

enum { CPUS_MAXIMUM = 256 };

struct operation {
	uint64_t amount; /* ns of a calc, bytes of a message */
	uint32_t rank, peer, tag;
	uint32_t line;
	uint32_t missing;    /* requirements that are not yet met */
	uint32_t dependents; /* first one: number of a requirement + 1, 0 = none */
	uint32_t ready;      /* node: the requirements met so far; for a send that waits: it is with the network */
	uint8_t kind, cpu;
	bool started_needed : 1; /* something requires its start */
	bool done : 1;           /* a short send is done before it is matched */
	bool matched : 1;        /* the message's other end is there */
};

struct requirement {
	uint32_t operation; /* that requires */
	uint32_t next : 31; /* number of a requirement + 1, 0 = none */
	bool start : 1;
};

enum { REQUIREMENTS_MAXIMUM = INT32_MAX };

struct schedule {
	const char *file;
	struct operation *operations;
	size_t count, capacity;
	struct requirement *requirements;
	size_t requirement_count, requirement_capacity;
	uint32_t ranks, cpus; /* cpus: highest number + 1 */
	struct error *err;
};

/* Fails with the operation's place. Returns a negative code. */
int schedule_fail(const struct schedule *schedule, const struct operation *operation, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

struct file_lines;
int schedule_read(struct file_lines *lines, struct schedule *schedule);
int schedule_build(struct schedule *schedule, const struct loggps *model, struct execution_graph *graph);

#endif
