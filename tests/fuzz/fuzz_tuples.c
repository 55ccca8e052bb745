/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker's connection from its queue to the receiver's buffer, over a fake stream that takes and gives any number of
 * bytes at a time: tuples arrive whole, once and in order. A changed stream is refused or read within its bounds.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "worker_priv.h"

#include "fuzz_events.h"
#include "worker_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STREAM = 4 * WORKER_TUPLE_MAXIMUM, QUEUE = WORKER_TUPLE_MAXIMUM + 1000, FD = 1000 };

static struct {
	uint8_t bytes[STREAM];
	size_t head, tail;
	bool ended, changed;
	struct events events;
} stream;

ssize_t __wrap_send(int fd, const void *bytes, size_t count, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t count, int flags);
int __wrap_close(int fd);

/* Up to what the next byte of the input allows: nothing, a few bytes or all. */
static size_t share(size_t most)
{
	uint8_t kind = events_byte(&stream.events);
	size_t part = kind < 200 ? kind : kind < 250 ? (size_t)(kind - 200) * 2000 : most;

	return part < most ? part : most;
}

ssize_t __wrap_send(int fd, const void *bytes, size_t count, int flags)
{
	size_t part = share(count < STREAM - stream.tail ? count : STREAM - stream.tail);

	law(fd == FD && flags & MSG_NOSIGNAL);
	if (!part) {
		errno = EAGAIN;
		return -1;
	}
	memcpy(stream.bytes + stream.tail, bytes, part);
	stream.tail += part;
	return (ssize_t)part;
}

ssize_t __wrap_recv(int fd, void *bytes, size_t count, int flags)
{
	size_t part = share(count < stream.tail - stream.head ? count : stream.tail - stream.head);

	law(fd == FD && flags == 0 && count > 0);
	if (!part && stream.ended && stream.head == stream.tail)
		return 0;
	if (!part) {
		errno = EAGAIN;
		return -1;
	}
	memcpy(bytes, stream.bytes + stream.head, part);
	stream.head += part;
	if (stream.head == stream.tail)
		stream.head = stream.tail = 0;
	return (ssize_t)part;
}

int __wrap_close(int fd)
{
	law(fd == FD);
	return 0;
}

struct world {
	struct output output;
	uint8_t queue[QUEUE];
	uint32_t sizes[256];
	uint64_t taken;
	bool failed;
};

static struct world world;
static struct input input;

static void append(void)
{
	uint8_t kind = events_byte(&stream.events);
	struct tuple tuple = {.bytes = kind == 255 ? WORKER_TUPLE_MAXIMUM : WORKER_TUPLE_MINIMUM + kind * 200U,
			      .source = kind,
			      .emitted = {kind}};

	if (world.output.sequence >= 256 || !link_has_space(&world.output, tuple.bytes))
		return;
	world.sizes[world.output.sequence] = tuple.bytes;
	link_append(&world.output, tuple);
}

static void take(void)
{
	struct error err = {0};
	struct tuple tuple;
	int code;

	if (world.failed || input.fd < 0)
		return;
	world.failed = link_read(&input, &err) < 0;
	while (!world.failed && (code = link_take(&input, &tuple, &err)) != 0) {
		world.failed = code < 0;
		if (code < 0 || stream.changed)
			continue;
		law(tuple.sequence == world.taken && tuple.sequence < world.output.sequence);
		law(tuple.bytes == world.sizes[tuple.sequence] && tuple.emitted.v == tuple.source);
		world.taken++;
	}
	law(!world.failed || (stream.changed && err.text[0]));
	law(input.head + input.count <= sizeof input.bytes);
}

static void change(void)
{
	size_t waiting = stream.tail - stream.head;

	stream.changed = true;
	if (waiting)
		stream.bytes[stream.head + (events_byte(&stream.events) * 16U + events_byte(&stream.events)) %
						   waiting] ^= events_byte(&stream.events);
}

static void happen(void)
{
	struct error err = {0};

	switch (events_byte(&stream.events) & 7) {
	case 0:
	case 1:
	case 2:
		append();
		break;
	case 3:
	case 4:
		law(link_flush(&world.output, &err) == 0);
		break;
	case 5:
	case 6:
		take();
		break;
	case 7:
		if ((events_byte(&stream.events) & 7) == 7)
			change();
		break;
	}
	law(world.output.head <= world.output.tail && world.output.tail <= QUEUE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	uint8_t whole[64];

	stream.head = stream.tail = 0;
	stream.ended = stream.changed = false;
	stream.events = (struct events){data, size};
	world.output = (struct output){.fd = FD, .queue = world.queue, .capacity = QUEUE, .connected = true};
	world.taken = 0;
	world.failed = false;
	input.fd = FD;
	input.head = input.count = 0;
	while (events_left(&stream.events))
		happen();
	/* With the rest of the stream, all that was appended arrives, and then the end. */
	memset(whole, 255, sizeof whole);
	stream.events = (struct events){whole, sizeof whole};
	stream.ended = true;
	for (int i = 0; i < 16 && !world.failed && input.fd >= 0; i++) {
		law(link_flush(&world.output, &err) == 0);
		take();
	}
	law(stream.changed || (input.fd < 0 && world.taken == world.output.sequence));
	return 0;
}
