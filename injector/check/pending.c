/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chained hash table over an array of entries. A chain is kept in order of arrival, so the first entry with a digest is
 * the oldest. Freed entries are reused: memory follows the number held, not the number seen.
 */
#include "pending_priv.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 1024, NONE = 0 };

struct entry {
	uint64_t digest;
	struct arrival arrival;
	uint32_t next; /* index + 1 in the chain or the free list, NONE = end */
};

struct pending {
	struct entry *entries;
	uint32_t *heads, *tails; /* index + 1 of each chain's ends */
	uint32_t capacity;       /* of entries, and number of chains: a power of two */
	uint32_t used, free_list;
};

static bool allocate(struct pending *pending, uint32_t capacity)
{
	pending->entries = calloc(capacity, sizeof *pending->entries);
	pending->heads = calloc(capacity, sizeof *pending->heads);
	pending->tails = calloc(capacity, sizeof *pending->tails);
	pending->capacity = capacity;
	pending->used = 0;
	pending->free_list = NONE;
	return pending->entries && pending->heads && pending->tails;
}

static void release(struct pending *pending)
{
	free(pending->entries);
	free(pending->heads);
	free(pending->tails);
}

struct pending *pending_create(void)
{
	struct pending *pending = calloc(1, sizeof *pending);

	if (pending && !allocate(pending, FIRST_CAPACITY)) {
		pending_destroy(pending);
		return NULL;
	}
	return pending;
}

void pending_destroy(struct pending *pending)
{
	if (!pending)
		return;
	release(pending);
	free(pending);
}

static void append(struct pending *pending, uint64_t digest, struct arrival arrival)
{
	uint32_t chain = (uint32_t)(digest >> 32) & (pending->capacity - 1);
	uint32_t at = pending->free_list;

	if (at != NONE)
		pending->free_list = pending->entries[at - 1].next;
	else
		at = ++pending->used;
	pending->entries[at - 1] = (struct entry){.digest = digest, .arrival = arrival, .next = NONE};
	if (pending->heads[chain] == NONE)
		pending->heads[chain] = at;
	else
		pending->entries[pending->tails[chain] - 1].next = at;
	pending->tails[chain] = at;
}

/* Twice the room; chains are walked in order, so equal digests keep their order. */
static int grow(struct pending *pending)
{
	struct pending larger;

	if (pending->capacity >= (UINT32_C(1) << 30) || !allocate(&larger, 2 * pending->capacity)) {
		if (pending->capacity < (UINT32_C(1) << 30))
			release(&larger);
		return -ENOMEM;
	}
	for (uint32_t chain = 0; chain < pending->capacity; chain++) {
		for (uint32_t at = pending->heads[chain]; at != NONE; at = pending->entries[at - 1].next)
			append(&larger, pending->entries[at - 1].digest, pending->entries[at - 1].arrival);
	}
	release(pending);
	*pending = larger;
	return 0;
}

int pending_put(struct pending *pending, uint64_t digest, struct arrival arrival)
{
	if (pending->free_list == NONE && pending->used == pending->capacity && grow(pending) != 0)
		return -ENOMEM;
	append(pending, digest, arrival);
	return 0;
}

bool pending_take(struct pending *pending, uint64_t digest, struct arrival *arrival)
{
	uint32_t chain = (uint32_t)(digest >> 32) & (pending->capacity - 1);
	uint32_t before = NONE, at = pending->heads[chain];

	while (at != NONE && pending->entries[at - 1].digest != digest) {
		before = at;
		at = pending->entries[at - 1].next;
	}
	if (at == NONE)
		return false;
	*arrival = pending->entries[at - 1].arrival;
	if (before == NONE)
		pending->heads[chain] = pending->entries[at - 1].next;
	else
		pending->entries[before - 1].next = pending->entries[at - 1].next;
	if (pending->tails[chain] == at)
		pending->tails[chain] = before;
	pending->entries[at - 1].next = pending->free_list;
	pending->free_list = at;
	return true;
}
