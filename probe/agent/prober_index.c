/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds targets by address. A hash table maps the address to the target's identifier, 0..target_count - 1. */
#include <errno.h>

#include <base/array.h>

#include "agent_priv.h"

/* Returns the slot of the address in by_address, or HASH_TABLE_NONE. */
static uint32_t place_of(const struct prober *prober, ip_address address)
{
	HASH_TABLE_EACH (&prober->by_address, address_hash(address), at)
		if (prober->by_id[hash_table_value(&prober->by_address, at)]->address == address)
			return at;
	return HASH_TABLE_NONE;
}

struct prober_target *prober_find(const struct prober *prober, ip_address address)
{
	uint32_t place = place_of(prober, address);

	return place == HASH_TABLE_NONE ? NULL : prober->by_id[hash_table_value(&prober->by_address, place)];
}

struct prober_target *prober_likely(const struct prober *prober, ip_address address)
{
	uint32_t id = hash_table_find(&prober->by_address, address_hash(address));

	return id == HASH_TABLE_NONE ? NULL : prober->by_id[id];
}

int prober_index_reserve(struct prober *prober)
{
	struct prober_target **items =
		array_grow(prober->by_id, prober->target_count, &prober->id_capacity, sizeof(struct prober_target *));

	if (!items)
		return -ENOMEM;
	prober->by_id = items;
	return hash_table_reserve(&prober->by_address, (uint32_t)prober->target_count + 1);
}

void prober_index_add(struct prober *prober, struct prober_target *target)
{
	target->id = (uint32_t)prober->target_count;
	prober->by_id[target->id] = target;
	hash_table_insert(&prober->by_address, address_hash(target->address), target->id);
}

/* The target with the highest identifier gets the identifier of the removed target, so that there are no gaps. */
void prober_index_remove(struct prober *prober, const struct prober_target *target)
{
	struct prober_target *last = prober->by_id[prober->target_count - 1];

	hash_table_remove(&prober->by_address, place_of(prober, target->address));
	if (last == target)
		return;
	hash_table_set_value(&prober->by_address, place_of(prober, last->address), target->id);
	prober->by_id[target->id] = last;
	last->id = target->id;
}
