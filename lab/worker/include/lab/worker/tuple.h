/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tuple on a connection: a header in network byte order, then bytes without meaning. Pure.
 *
 *   0  bytes of the tuple, header included    u32
 *   4  number of the source's task            u32
 *   8  sequence number on this connection     u64, from 0
 *  16  when the source emitted it             i64, ns of the monotonic clock
 */
#ifndef LAB_WORKER_TUPLE_H
#define LAB_WORKER_TUPLE_H

#include <stddef.h>
#include <stdint.h>

#include <base/ns.h>

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

#endif
