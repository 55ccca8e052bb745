/* SPDX-License-Identifier: BSD-3-Clause */
#include "neighbours_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

static const struct ns first_backoff = {50 * NS_PER_MS}, longest_backoff = {NS_PER_S};

int64_t neighbours_add(struct neighbours *neighbours, uint32_t address, const uint8_t *mac)
{
	struct neighbour *neighbour, *items;

	for (size_t i = 0; i < neighbours->count; i++)
		if (neighbours->items[i].address == address)
			return (int64_t)i;
	items = array_grow(neighbours->items, neighbours->count, &neighbours->capacity, sizeof *items);
	if (!items)
		return -ENOMEM;
	neighbours->items = items;
	neighbour = &neighbours->items[neighbours->count];
	*neighbour = (struct neighbour){.address = address, .backoff = first_backoff};
	if (mac) {
		neighbour->known = neighbour->fixed = true;
		memcpy(neighbour->mac, mac, FRAME_MAC_BYTES);
	}
	return (int64_t)neighbours->count++;
}

void neighbours_learn(struct neighbours *neighbours, const struct frame *arp)
{
	if (arp->source_mac[0] & 1) /* a group's address is nobody's */
		return;
	for (size_t i = 0; i < neighbours->count; i++) {
		struct neighbour *neighbour = &neighbours->items[i];

		if (neighbour->address != arp->source_address || neighbour->fixed)
			continue;
		memcpy(neighbour->mac, arp->source_mac, FRAME_MAC_BYTES);
		neighbour->known = true;
	}
}

const struct neighbour *neighbours_ask(struct neighbours *neighbours, struct ns now)
{
	for (size_t i = 0; i < neighbours->count; i++) {
		struct neighbour *neighbour = &neighbours->items[i];

		if (neighbour->known || now.v < neighbour->ask_at.v)
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
