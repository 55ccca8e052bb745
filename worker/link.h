/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker's connections. Private. */
#ifndef WORKER_LINK_H
#define WORKER_LINK_H

#include <stdbool.h>
#include <sys/socket.h>

#include <base/error.h>
#include <base/ns.h>
#include <model/worker.h>
#include <worker/tuple.h>

struct input {
	int fd;             /* -1: has ended */
	uint64_t expected;  /* sequence number of the next tuple */
	struct ns taken;    /* time of the last one; v == 0: none */
	size_t head, count; /* bytes not taken yet: count from head on */
	uint8_t bytes[2 * WORKER_TUPLE_MAXIMUM];
};

struct output {
	const struct worker_target *target;
	int fd;
	bool connected;
	uint64_t sequence;
	struct ns next_try;
	uint8_t *queue;
	size_t head, tail, capacity;
	double credit; /* of its edge's tuples */
};

/* Listens; -errno with err set. */
int link_listen(const struct worker_plan *plan, struct error *err);
/* Accepts a waiting connection: 1, 0 if there is none, or -errno. */
int link_accept(int listener, struct input *input);
/* Reads available data, unless data read before is still sufficient; 0, or -errno with err set. */
int link_read(struct input *input, struct error *err);
/* Takes the next complete tuple from the data read: 1, 0, or -EBADMSG with err set. */
int link_take(struct input *input, struct tuple *tuple, struct error *err);

/* Tries to connect, again and again; 0 or -errno with err set. */
int link_connect(const struct worker_plan *plan, struct output *output, struct ns now, struct error *err);
bool link_has_space(const struct output *output, size_t bytes);
void link_append(struct output *output, struct tuple tuple);
/* Sends what the connection takes; 0 or -errno with err set. */
int link_flush(struct output *output, struct error *err);

#endif
