/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments to messages, by connection. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/array.h>
#include <base/hash.h>

#include "turns_priv.h"

static uint64_t hash_end(ip_address address, uint16_t port)
{
	return hash_mix((uint64_t)address ^ hash_mix((uint64_t)(address >> 64) + port));
}

/* The same in both directions. */
static uint64_t hash_frame(const struct frame *frame)
{
	return hash_end(frame->source_address, frame->source_port) +
	       hash_end(frame->destination_address, frame->destination_port);
}

static bool is_end(const struct side *side, ip_address address, uint16_t port)
{
	return side->address == address && side->port == port;
}

/* Which side sent the frame; -1: none of this flow. */
static int sender(const struct flow *flow, const struct frame *frame)
{
	for (int i = 0; i < 2; i++)
		if (is_end(&flow->sides[i], frame->source_address, frame->source_port) &&
		    is_end(&flow->sides[!i], frame->destination_address, frame->destination_port))
			return i;
	return -1;
}

/* A new connection may have the addresses and ports of an old one. */
static bool is_new_connection(const struct flow *flow, int from, const struct frame *frame)
{
	const struct side *side = &flow->sides[from];

	return frame->tcp_flags & FRAME_TCP_SYN && !(frame->tcp_flags & FRAME_TCP_ACK) && side->seen &&
	       (!side->greeted || side->start != frame->tcp_sequence);
}

static struct flow *add_flow(struct flows *flows, const struct frame *frame)
{
	struct flow *items = array_grow(flows->items, flows->count, &flows->capacity, sizeof *items);

	if (!items)
		return NULL;
	flows->items = items;
	items[flows->count] = (struct flow){
		.sides = {{.address = frame->source_address, .port = frame->source_port, .rtt_ns = INFINITY},
			  {.address = frame->destination_address, .port = frame->destination_port, .rtt_ns = INFINITY}},
		.established_ns = NAN,
		/* Without SYN: servers have the lower ports. */
		.client = frame->source_port < frame->destination_port,
	};
	return &items[flows->count++];
}

/* Returns the flow of a frame, a new one if there is none, and its sender; NULL if out of memory. */
static struct flow *find_flow(struct flows *flows, const struct frame *frame, int *from)
{
	uint64_t key = hash_frame(frame);

	HASH_TABLE_EACH (&flows->table, key, at) {
		struct flow *flow = &flows->items[hash_table_value(&flows->table, at)];

		*from = sender(flow, frame);
		if (*from < 0)
			continue;
		if (!is_new_connection(flow, *from, frame))
			return flow;
		hash_table_set_value(&flows->table, at, (uint32_t)flows->count);
		*from = 0;
		return add_flow(flows, frame);
	}
	*from = 0;
	if (hash_table_insert(&flows->table, key, (uint32_t)flows->count) < 0)
		return NULL;
	return add_flow(flows, frame);
}

/* Ends a measurement of the round trip, from the segment of `side` to the other side's acknowledgement. */
static uint64_t take_acknowledgement(struct side *side, uint32_t acknowledged, double now_ns)
{
	int64_t bytes = (int64_t)side->bytes + (int32_t)(acknowledged - side->next);

	if (side->pending && bytes >= (int64_t)side->pending_end) {
		side->pending = false;
		side->rtt_ns = fmin(side->rtt_ns, now_ns - side->pending_ns);
	}
	return bytes < 0 ? 0 : bytes > (int64_t)side->bytes ? side->bytes : (uint64_t)bytes;
}

static int add_message(struct side *side, double now_ns, uint64_t acknowledged)
{
	struct message *messages = array_grow(side->messages, side->count, &side->capacity, sizeof *messages);

	if (!messages)
		return -ENOMEM;
	side->messages = messages;
	messages[side->count++] = (struct message){.first_ns = now_ns, .acknowledged = acknowledged};
	return 0;
}

/* Takes `length` bytes (with SYN) at the frame's sequence number. Returns 0 or -ENOMEM. */
static int take_bytes(struct flow *flow, struct side *side, const struct frame *frame, double now_ns,
		      uint64_t acknowledged)
{
	bool syn = frame->tcp_flags & FRAME_TCP_SYN;
	uint32_t length = (uint32_t)frame->payload_bytes, end = frame->tcp_sequence + length;
	int32_t fresh = (int32_t)(end - side->next), gap = (int32_t)(frame->tcp_sequence - side->next);
	struct message *message;

	flow->segments += !syn;
	if (fresh <= 0) {
		flow->repeated++;
		side->pending = false;
		return 0;
	}
	flow->missing += gap > 0;
	side->bytes += (uint64_t)fresh;
	side->next = end;
	if (!side->pending) {
		side->pending = true;
		side->pending_end = side->bytes;
		side->pending_ns = now_ns;
	}
	if (syn && length == 1) /* no data (TCP fast open has) */
		return 0;
	if (!side->open && add_message(side, now_ns, acknowledged) < 0)
		return -ENOMEM;
	message = &side->messages[side->count - 1];
	message->last_ns = now_ns;
	message->end = side->bytes;
	message->bytes += (uint64_t)fresh;
	side->open = !(frame->tcp_flags & FRAME_TCP_PSH);
	return 0;
}

static void take_syn(struct flow *flow, int from, const struct frame *frame, double now_ns)
{
	struct side *side = &flow->sides[from];

	if (!side->greeted)
		side->greeted_ns = now_ns;
	side->greeted = true;
	flow->client = frame->tcp_flags & FRAME_TCP_ACK ? !from : from;
}

static int take_segment(struct flow *flow, int from, const struct frame *frame, double now_ns)
{
	struct side *side = &flow->sides[from], *other = &flow->sides[!from];
	uint64_t acknowledged = 0;

	if (!side->seen)
		side->start = side->next = frame->tcp_sequence;
	side->seen = true;
	if (frame->tcp_flags & FRAME_TCP_SYN)
		take_syn(flow, from, frame, now_ns);
	if (frame->tcp_flags & FRAME_TCP_ACK && other->seen)
		acknowledged = take_acknowledgement(other, frame->tcp_acknowledged, now_ns);
	if (from == flow->client && other->greeted && side->greeted && isnan(flow->established_ns))
		flow->established_ns = now_ns;
	return frame->payload_bytes && !(frame->tcp_flags & FRAME_TCP_RST)
		       ? take_bytes(flow, side, frame, now_ns, acknowledged)
		       : 0;
}

static int take_packet(void *context, const struct frame *frame, struct ns at)
{
	struct flows *flows = context;
	double now_ns;
	struct flow *flow;
	int from;

	flows->packets++;
	flows->broken += frame->kind == FRAME_BROKEN;
	if (frame->kind != FRAME_TCP)
		return 0;
	if (!flows->started)
		flows->start = at;
	flows->started = true;
	/* Stamps of two CPUs may be out of order by a little. */
	now_ns = (double)(int64_t)((uint64_t)at.v - (uint64_t)flows->start.v);
	flows->now_ns = fmax(flows->now_ns, now_ns);
	flow = find_flow(flows, frame, &from);
	return flow ? take_segment(flow, from, frame, flows->now_ns) : -ENOMEM;
}

int flows_read(struct packets *packets, struct flows *flows, struct error *err)
{
	int code = packets_read(packets, take_packet, flows, err);

	return code == -ENOMEM ? error_set(err, ENOMEM, "out of memory") : code;
}

void flows_free(struct flows *flows)
{
	for (size_t i = 0; i < flows->count; i++) {
		free(flows->items[i].sides[0].messages);
		free(flows->items[i].sides[1].messages);
	}
	free(flows->items);
	hash_table_free(&flows->table);
}
