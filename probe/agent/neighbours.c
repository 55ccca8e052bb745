/* SPDX-License-Identifier: BSD-3-Clause */
#include "neighbours_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

/* Linux keeps a neighbour reachable for 30 s on average (base_reachable_time_ms). */
static const struct ns first_backoff = {50 * NS_PER_MS}, longest_backoff = {NS_PER_S}, refresh = {30 * NS_PER_S};

/* The one with this address, else a free one, else NULL. */
static struct neighbour *find(const struct neighbours *neighbours, ip_address address)
{
	struct neighbour *unused = NULL;

	for (size_t i = 0; i < neighbours->count; i++) {
		struct neighbour *neighbour = &neighbours->items[i];

		if (neighbour->users && neighbour->address == address)
			return neighbour;
		if (!neighbour->users)
			unused = neighbour;
	}
	return unused;
}

int64_t neighbours_add(struct neighbours *neighbours, ip_address address, const uint8_t *mac)
{
	struct neighbour *neighbour = find(neighbours, address), *items;

	if (!neighbour) {
		items = array_grow(neighbours->items, neighbours->count, &neighbours->capacity, sizeof *items);
		if (!items)
			return -ENOMEM;
		neighbours->items = items;
		neighbour = &neighbours->items[neighbours->count++];
		neighbour->users = 0;
	}
	if (neighbour->users++ == 0)
		*neighbour = (struct neighbour){.address = address, .users = 1, .backoff = first_backoff};
	if (mac) {
		neighbour->known = neighbour->fixed = true;
		memcpy(neighbour->mac, mac, FRAME_MAC_BYTES);
	}
	return neighbour - neighbours->items;
}

void neighbours_drop(struct neighbours *neighbours, size_t index)
{
	neighbours->items[index].users--;
}

void neighbours_learn(struct neighbours *neighbours, const struct frame *frame, struct ns now)
{
	if (frame->source_mac[0] & 1) /* a group's address is no host's */
		return;
	for (size_t i = 0; i < neighbours->count; i++) {
		struct neighbour *neighbour = &neighbours->items[i];

		if (!neighbour->users || neighbour->address != frame->source_address || neighbour->fixed)
			continue;
		memcpy(neighbour->mac, frame->source_mac, FRAME_MAC_BYTES);
		neighbour->known = true;
		neighbour->ask_at = ns_add(now, refresh);
		neighbour->backoff = first_backoff;
	}
}

const struct neighbour *neighbours_ask(struct neighbours *neighbours, struct ns now)
{
	for (size_t i = 0; i < neighbours->count; i++) {
		struct neighbour *neighbour = &neighbours->items[i];

		if (!neighbour->users || neighbour->fixed || now.v < neighbour->ask_at.v)
			continue;
		neighbour->ask_at = ns_add(now, neighbour->backoff);
		neighbour->backoff.v *= 2;
		if (neighbour->backoff.v > longest_backoff.v)
			neighbour->backoff = longest_backoff;
		return neighbour;
	}
	return NULL;
}

void neighbours_free(struct neighbours *neighbours)
{
	free(neighbours->items);
	*neighbours = (struct neighbours){0};
}
