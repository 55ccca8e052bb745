/* SPDX-License-Identifier: BSD-3-Clause */
/* The connections of a worker, and the tuples on them. Private. */
#ifndef LAB_WORKER_PRIV_H
#define LAB_WORKER_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/ns.h>
#include <model/worker.h>
#include <sys/socket.h>

/*
 * A tuple on a connection: a header in network byte order, then bytes without meaning. Pure.
 *
 *   0  bytes of the tuple, header included    u32
 *   4  number of the source's task            u32
 *   8  sequence number on this connection     u64, from 0
 *  16  when the source emitted it             i64, ns of the monotonic clock
 */

enum { TUPLE_HEADER_BYTES = 24 };

struct tuple {
	uint32_t bytes, source;
	uint64_t sequence;
	struct ns emitted;
};

/* Writes the tuple to text[]: the header, then zeros, tuple->bytes in all. */
void tuple_write(const struct tuple *tuple, uint8_t *text);
/*
 * Reads the header of the tuple at the beginning of text[], of which `bytes` bytes have been received. Returns the size
 * of the tuple in bytes, 0 if it is incomplete, or -EBADMSG if its size is out of range.
 */
int tuple_read(const uint8_t *text, size_t bytes, struct tuple *tuple);

/* A worker's connections. */

struct input {
	int fd;             /* socket; -1: the sender has closed the connection */
	uint64_t expected;  /* sequence number that the next tuple should have */
	struct ns taken;    /* time at which the last tuple was taken; v == 0: none */
	size_t head, count; /* received data that is not taken yet: bytes[head] .. bytes[head + count - 1] */
	uint8_t bytes[2 * WORKER_TUPLE_MAXIMUM];
};

struct output {
	const struct worker_target *target;
	int fd;
	bool connected;
	uint64_t sequence;  /* of the next tuple */
	struct ns next_try; /* time of the next attempt to connect */
	uint8_t *queue;     /* bytes not sent yet: queue[head] .. queue[tail - 1] */
	size_t head, tail, capacity;
	double credit; /* how far the target is behind its share of the tuples, see next_target() */
};

/* Returns a listening socket, or -errno with err set. */
int link_listen(const struct worker_plan *plan, struct error *err);
/* Accepts a waiting connection as an input. Returns 1, 0 if none is waiting, or -errno. */
int link_accept(int listener, struct input *input);
/* Reads available data, unless input->bytes already holds a complete tuple. Returns 0, or -errno with err set. */
int link_read(struct input *input, struct error *err);
/* Takes the next complete tuple from the data read. Returns 1, 0 if there is none, or -EBADMSG with err set. */
int link_take(struct input *input, struct tuple *tuple, struct error *err);

/*
 * Continues to connect an output; if the receiver does not listen yet, tries again after RETRY_MS. To be called until
 * output->connected. Returns 0, or -errno with err set.
 */
int link_connect(const struct worker_plan *plan, struct output *output, struct ns now, struct error *err);
bool link_has_space(const struct output *output, size_t bytes);
void link_append(struct output *output, struct tuple tuple);
/* Sends as much of the queue as the connection accepts. Returns 0, or -errno with err set. */
int link_flush(struct output *output, struct error *err);

#endif
