/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

/* refresh: as Linux, which keeps a neighbour reachable for 30 s on average (base_reachable_time_ms). */
static const struct ns first_backoff = {50 * NS_PER_MS}, longest_backoff = {NS_PER_S}, refresh = {30 * NS_PER_S};

static struct neighbour *find(const struct neighbours *neighbours, ip_address address)
{
	HASH_TABLE_EACH (&neighbours->by_address, address_hash(address), at) {
		struct neighbour *neighbour = &neighbours->items[hash_table_value(&neighbours->by_address, at)];

		if (neighbour->address == address)
			return neighbour;
	}
	return NULL;
}

/* Reserves memory for one more neighbour, so that the following steps cannot fail. */
static int make_room(struct neighbours *neighbours)
{
	struct neighbour *items =
		array_grow(neighbours->items, neighbours->count, &neighbours->capacity, sizeof *items);

	if (!items)
		return -ENOMEM;
	neighbours->items = items;
	return hash_table_reserve(&neighbours->by_address, (uint32_t)neighbours->count + 1);
}

/* Returns the index of a free entry, or of a new one. */
static uint32_t take_place(struct neighbours *neighbours)
{
	uint32_t place = neighbours->first_free;

	if (place) {
		neighbours->first_free = neighbours->items[place - 1].next_free;
		return place - 1;
	}
	neighbours->items[neighbours->count] = (struct neighbour){0};
	return (uint32_t)neighbours->count++;
}

static void give_back(struct neighbours *neighbours, uint32_t place)
{
	neighbours->items[place].next_free = neighbours->first_free;
	neighbours->first_free = place + 1;
}

int64_t neighbours_add(struct neighbours *neighbours, ip_address address, const uint8_t *mac)
{
	struct neighbour *neighbour = find(neighbours, address);

	if (!neighbour) {
		uint32_t place, use;

		if (make_room(neighbours))
			return -ENOMEM;
		place = take_place(neighbours);
		neighbour = &neighbours->items[place];
		use = neighbour->use + 1;
		/* A neighbour whose MAC is given is never queried. */
		if (!mac && event_queue_add(&neighbours->questions, 0, 0, place, use)) {
			give_back(neighbours, place);
			return -ENOMEM;
		}
		*neighbour = (struct neighbour){.address = address, .use = use, .backoff = first_backoff};
		hash_table_insert(&neighbours->by_address, address_hash(address), place);
	}
	neighbour->users++;
	if (mac) {
		neighbour->known = neighbour->fixed = true;
		memcpy(neighbour->mac, mac, FRAME_MAC_BYTES);
	}
	return neighbour - neighbours->items;
}

void neighbours_drop(struct neighbours *neighbours, size_t index)
{
	struct neighbour *neighbour = &neighbours->items[index];

	if (--neighbour->users)
		return;
	HASH_TABLE_EACH (&neighbours->by_address, address_hash(neighbour->address), at) {
		if (hash_table_value(&neighbours->by_address, at) != index)
			continue;
		hash_table_remove(&neighbours->by_address, at);
		break;
	}
	give_back(neighbours, (uint32_t)index);
}

void neighbours_learn(struct neighbours *neighbours, const struct frame *frame, struct ns now)
{
	/* A group (multicast) MAC cannot be the address of a host. */
	struct neighbour *neighbour = frame->source_mac[0] & 1 ? NULL : find(neighbours, frame->source_address);

	if (!neighbour || neighbour->fixed)
		return;
	memcpy(neighbour->mac, frame->source_mac, FRAME_MAC_BYTES);
	neighbour->known = true;
	neighbour->ask_at = ns_add(now, refresh);
	neighbour->backoff = first_backoff;
}

/*
 * Every neighbour that must be resolved has one pending query in the queue. Taking the query leaves its memory in the
 * queue, so adding the neighbour's following query cannot fail.
 */
const struct neighbour *neighbours_ask(struct neighbours *neighbours, struct ns now)
{
	struct event question;

	while (event_queue_take(&neighbours->questions, now.v, &question)) {
		struct neighbour *neighbour = &neighbours->items[question.subject];
		bool due = neighbour->ask_at.v <= now.v;

		if (!neighbour->users || neighbour->fixed || neighbour->use != question.detail)
			continue;
		if (due) {
			neighbour->ask_at = ns_add(now, neighbour->backoff);
			neighbour->backoff.v *= 2;
			if (neighbour->backoff.v > longest_backoff.v)
				neighbour->backoff = longest_backoff;
		}
		event_queue_add(&neighbours->questions, neighbour->ask_at.v, 0, question.subject, question.detail);
		if (due)
			return neighbour;
	}
	return NULL;
}

void neighbours_free(struct neighbours *neighbours)
{
	free(neighbours->items);
	hash_table_free(&neighbours->by_address);
	event_queue_free(&neighbours->questions);
	*neighbours = (struct neighbours){0};
}
