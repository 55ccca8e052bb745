/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrivals with equal digests form a list, oldest first; a hash table maps a digest to the head of its list. Entries
 * are reused, so memory is proportional to the largest number of arrivals that were pending at one time. pending_put()
 * and pending_take() take constant time, even with many equal digests.
 */
#include "pending_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <base/array.h>
#include <base/hash_table.h>

enum { NONE = -1 };

struct entry {
	struct arrival arrival;
	int32_t next; /* the next entry in its list or in the list of free entries */
	int32_t tail; /* valid in the first entry of a list: the list's last entry */
};

struct pending {
	struct hash_table heads; /* digest -> index of the list's head */
	struct entry *entries;
	size_t count, capacity; /* count: entries in use or free */
	int32_t free;
};

struct pending *pending_create(void)
{
	struct pending *pending = calloc(1, sizeof *pending);

	if (pending)
		pending->free = NONE;
	return pending;
}

void pending_destroy(struct pending *pending)
{
	if (!pending)
		return;
	hash_table_free(&pending->heads);
	free(pending->entries);
	free(pending);
}

/* Returns an unused entry, or NONE if out of memory. */
static int32_t take_entry(struct pending *pending)
{
	int32_t at = pending->free;
	struct entry *grown;

	if (at != NONE) {
		pending->free = pending->entries[at].next;
		return at;
	}
	grown = pending->count < INT32_MAX
			? array_grow(pending->entries, pending->count, &pending->capacity, sizeof *grown)
			: NULL;
	if (!grown)
		return NONE;
	pending->entries = grown;
	return (int32_t)pending->count++;
}

static void free_entry(struct pending *pending, int32_t at)
{
	pending->entries[at].next = pending->free;
	pending->free = at;
}

int pending_put(struct pending *pending, uint64_t digest, struct arrival arrival)
{
	uint32_t slot = hash_table_first(&pending->heads, digest);
	int32_t at = take_entry(pending);
	struct entry *head;

	if (at == NONE)
		return -ENOMEM;
	pending->entries[at] = (struct entry){.arrival = arrival, .next = NONE, .tail = at};
	if (slot == HASH_TABLE_NONE) {
		if (hash_table_insert(&pending->heads, digest, (uint32_t)at) == 0)
			return 0;
		free_entry(pending, at);
		return -ENOMEM;
	}
	head = &pending->entries[hash_table_value(&pending->heads, slot)];
	pending->entries[head->tail].next = at;
	head->tail = at;
	return 0;
}

bool pending_take(struct pending *pending, uint64_t digest, struct arrival *arrival)
{
	uint32_t slot = hash_table_first(&pending->heads, digest);
	const struct entry *head;
	int32_t at;

	if (slot == HASH_TABLE_NONE)
		return false;
	at = (int32_t)hash_table_value(&pending->heads, slot);
	head = &pending->entries[at];
	*arrival = head->arrival;
	if (head->next == NONE) {
		hash_table_remove(&pending->heads, slot);
	} else {
		hash_table_set_value(&pending->heads, slot, (uint32_t)head->next);
		pending->entries[head->next].tail = head->tail;
	}
	free_entry(pending, at);
	return true;
}
