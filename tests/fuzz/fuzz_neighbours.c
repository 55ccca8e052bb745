/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The neighbour cache against a model of it: peers come and go, with and without a MAC, frames arrive as they are on
 * the wire or written by frame_write_neighbour(), time passes. Every next hop in use that must be resolved has one
 * pending query; frames change no MAC that was given.
 */
#include <string.h>

#include "fuzz_events.h"
#include "agent_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ADDRESSES = 12 };

static const int64_t first_ns = 50 * NS_PER_MS, longest_ns = NS_PER_S, refresh_ns = 30 * NS_PER_S;

struct next_hop {
	int64_t index;
	uint32_t users;
	bool known, fixed;
	uint8_t mac[FRAME_MAC_BYTES];
	int64_t asked_at; /* -1: not since it was added */
};

static struct {
	struct neighbours cache;
	struct next_hop hops[ADDRESSES];
	size_t most; /* next hops in use at the same time */
	int64_t now, dropped_at;
	struct events events;
} world;

static ip_address address_of(size_t hop)
{
	return hop % 2 ? ((ip_address)0xfd00 << 112 | hop) : 0x0a000001 + hop;
}

static void read_mac(uint8_t *mac)
{
	for (int i = 0; i < FRAME_MAC_BYTES; i++)
		mac[i] = events_byte(&world.events);
}

static void add(struct next_hop *hop, bool with_mac)
{
	uint8_t mac[FRAME_MAC_BYTES];
	size_t in_use = 0;
	int64_t index;

	if (with_mac)
		read_mac(mac);
	index = neighbours_add(&world.cache, address_of((size_t)(hop - world.hops)), with_mac ? mac : NULL);
	law(index >= 0 && (!hop->users || index == hop->index));
	if (!hop->users)
		*hop = (struct next_hop){.index = index, .asked_at = -1};
	hop->users++;
	if (with_mac) {
		hop->known = hop->fixed = true;
		memcpy(hop->mac, mac, sizeof mac);
	}
	for (size_t i = 0; i < ADDRESSES; i++)
		in_use += world.hops[i].users > 0;
	world.most = in_use > world.most ? in_use : world.most;
}

static void drop(struct next_hop *hop)
{
	if (!hop->users)
		return;
	neighbours_drop(&world.cache, (size_t)hop->index);
	hop->users--;
	world.dropped_at = world.now;
}

static void learn(const struct frame *frame)
{
	neighbours_learn(&world.cache, frame, (struct ns){world.now});
	for (size_t i = 0; i < ADDRESSES; i++) {
		struct next_hop *hop = &world.hops[i];

		if (frame->source_address != address_of(i) || !hop->users || hop->fixed || frame->source_mac[0] & 1)
			continue;
		hop->known = true;
		memcpy(hop->mac, frame->source_mac, FRAME_MAC_BYTES);
		law(world.cache.items[hop->index].ask_at.v == world.now + refresh_ns);
	}
}

/* As the agent does: a frame that is read from the wire, and is a query or an answer. */
static void learn_from_wire(size_t hop, bool raw)
{
	uint8_t bytes[FRAME_NEIGHBOUR_BYTES];
	struct frame frame = {.kind = events_byte(&world.events) & 1 ? FRAME_IS_AT : FRAME_WHO_HAS,
			      .source_address = address_of(hop),
			      .destination_address = address_of(hop % 2)};
	size_t length;

	if (raw) {
		const uint8_t *given = events_bytes(&world.events, sizeof bytes, &length);

		memcpy(bytes, given, length);
	} else {
		read_mac(frame.source_mac);
		length = frame_write_neighbour(&frame, bytes, sizeof bytes);
		law(length > 0);
	}
	frame_read(bytes, length, length, &frame);
	law(raw || frame.source_address == address_of(hop));
	if (frame.kind == FRAME_WHO_HAS || frame.kind == FRAME_IS_AT)
		learn(&frame);
}

static void ask(void)
{
	const struct neighbour *neighbour;
	size_t asked = 0;

	while ((neighbour = neighbours_ask(&world.cache, (struct ns){world.now}))) {
		struct next_hop *hop = world.hops;

		while (hop < world.hops + ADDRESSES && (!hop->users || hop->index != neighbour - world.cache.items))
			hop++;
		law(hop < world.hops + ADDRESSES && !hop->fixed);
		law(hop->asked_at < 0 || world.now >= hop->asked_at + first_ns);
		law(++asked <= ADDRESSES);
		hop->asked_at = world.now;
	}
}

static void check_hop(const struct next_hop *hop, bool has_asked)
{
	const struct neighbour *neighbour = &world.cache.items[hop->index];
	size_t pending = 0;

	law(neighbour->address == address_of((size_t)(hop - world.hops)) && neighbour->users == hop->users);
	law(neighbour->known == hop->known && neighbour->fixed == hop->fixed);
	law(!hop->known || memcmp(neighbour->mac, hop->mac, FRAME_MAC_BYTES) == 0);
	for (size_t i = 0; i < world.cache.questions.count; i++) {
		const struct event *question = &world.cache.questions.events[i];

		if (question->subject != hop->index)
			continue;
		pending += question->detail == neighbour->use;
		/* Queries of an earlier use of the entry end. */
		law(question->time <= (question->detail == neighbour->use ? world.now : world.dropped_at) + refresh_ns);
	}
	law(pending == !hop->fixed || (hop->fixed && pending <= 1));
	if (has_asked && !hop->fixed)
		law(neighbour->ask_at.v > world.now &&
		    neighbour->ask_at.v <= world.now + (hop->known ? refresh_ns : longest_ns));
}

static void happen(void)
{
	uint8_t event = events_byte(&world.events);
	size_t at = (event >> 3) % ADDRESSES;
	bool asks = false;

	switch (event & 7) {
	case 0:
	case 1:
		add(&world.hops[at], event & 1);
		break;
	case 2:
		drop(&world.hops[at]);
		break;
	case 3:
	case 4:
		learn_from_wire(at, (event & 7) == 3);
		break;
	case 5:
		world.now += (int64_t)(event >> 3) * NS_PER_S;
		break;
	case 6:
		world.now += (int64_t)(event >> 3) * 10 * NS_PER_MS;
		break;
	case 7:
		ask();
		asks = true;
		break;
	}
	for (size_t i = 0; i < ADDRESSES; i++)
		if (world.hops[i].users)
			check_hop(&world.hops[i], asks);
	law(world.cache.count <= world.most);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	memset(&world, 0, sizeof world);
	world.events = (struct events){data, size};
	for (int i = 0; i < 200 && events_left(&world.events); i++)
		happen();
	neighbours_free(&world.cache);
	return 0;
}
