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
	int fd;             /* -1: the connection has ended */
	uint64_t expected;  /* sequence number of the next tuple */
	struct ns taken;    /* time of the last tuple; v == 0: none */
	size_t head, count; /* bytes that are not taken yet: bytes[head] .. bytes[head + count - 1] */
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
	double credit; /* tuples by which the target is behind its share */
};

/* Returns a listening socket, or -errno with err set. */
int link_listen(const struct worker_plan *plan, struct error *err);
/* Accepts a waiting connection. Returns 1, 0 if there is none, or -errno. */
int link_accept(int listener, struct input *input);
/* Reads available data, unless a complete tuple is waiting already. Returns 0, or -errno with err set. */
int link_read(struct input *input, struct error *err);
/* Takes the next complete tuple from the data read. Returns 1, 0 if there is none, or -EBADMSG with err set. */
int link_take(struct input *input, struct tuple *tuple, struct error *err);

/*
 * Continues to connect, with a new attempt after RETRY_MS if the receiver does not listen yet; to be called until
 * output->connected. Returns 0, or -errno with err set.
 */
int link_connect(const struct worker_plan *plan, struct output *output, struct ns now, struct error *err);
bool link_has_space(const struct output *output, size_t bytes);
void link_append(struct output *output, struct tuple tuple);
/* Sends as much of the queue as the connection accepts. Returns 0, or -errno with err set. */
int link_flush(struct output *output, struct error *err);

#endif
