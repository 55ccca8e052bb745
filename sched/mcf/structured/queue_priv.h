/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A priority queue (Dial's buckets) for keys that never fall below the last key taken. It has a window: buckets for the
 * 4096 keys from `base` on, with a bitmap of the non-empty buckets. Items with larger keys are in an overflow list;
 * when the window is empty, it moves on, and the list is distributed again. Any int32 key works; keys within the window
 * cost O(1). In the window, items with equal keys are first in, first out: so searches are breadth first among ties and
 * find paths of few steps. An item stays in the queue if its node is pushed again with a lesser key, so the caller must
 * skip such stale items.
 */
#ifndef STRUCTURED_QUEUE_PRIV_H
#define STRUCTURED_QUEUE_PRIV_H

#include <stdbool.h>
#include <stdint.h>

enum { QUEUE_WINDOW = 4096, QUEUE_WORDS = QUEUE_WINDOW / 64 };

struct queue_item {
	int32_t node;
	int32_t key;
	int32_t next;
};

struct queue_bucket {
	int32_t first, last;
};

struct queue {
	int32_t base; /* key of bucket 0 */
	int32_t word; /* all words of the bitmap before this one are 0 */
	int32_t item_count;
	size_t capacity; /* of items */
	int32_t beyond;  /* index of the first item of the overflow list, -1 = empty */
	int32_t ahead;   /* index of the next item in the bucket of the item taken last, -1 = none */
	bool no_memory;
	struct queue_item *items;
	uint64_t bits[QUEUE_WORDS];
	struct queue_bucket buckets[QUEUE_WINDOW]; /* a bucket is valid if its bit is set */
};

void queue_clear(struct queue *queue);
bool queue_grow(struct queue *queue);
bool queue_spread(struct queue *queue);

/* Appends the item, whose key is in the window, to its bucket. */
static inline void queue_append(struct queue *queue, int32_t item, int32_t slot)
{
	struct queue_bucket *bucket = &queue->buckets[slot];
	uint64_t bit = UINT64_C(1) << (slot % 64);

	queue->items[item].next = -1;
	if (queue->bits[slot / 64] & bit)
		queue->items[bucket->last].next = item;
	else
		bucket->first = item;
	bucket->last = item;
	queue->bits[slot / 64] |= bit;
}

/* `key` must be at least the last key taken. */
static inline void queue_push(struct queue *queue, int32_t node, int32_t key)
{
	int32_t item, slot = key - queue->base;

	if (queue->item_count == (int32_t)queue->capacity && !queue_grow(queue))
		return;
	item = queue->item_count++;
	queue->items[item].node = node;
	queue->items[item].key = key;
	if (slot >= QUEUE_WINDOW) {
		queue->items[item].next = queue->beyond;
		queue->beyond = item;
		return;
	}
	queue_append(queue, item, slot);
}

/* Takes the node with the least key. Returns false if the queue is empty. */
static inline bool queue_pop(struct queue *queue, int32_t *node, int32_t *key)
{
	for (;;) {
		while (queue->word < QUEUE_WORDS && queue->bits[queue->word] == 0)
			queue->word++;
		if (queue->word < QUEUE_WORDS)
			break;
		if (!queue_spread(queue))
			return false;
	}
	int32_t slot = queue->word * 64 + __builtin_ctzll(queue->bits[queue->word]);
	const struct queue_item *item = &queue->items[queue->buckets[slot].first];

	*node = item->node;
	*key = item->key;
	queue->buckets[slot].first = queue->ahead = item->next;
	if (item->next < 0)
		queue->bits[queue->word] &= queue->bits[queue->word] - 1;
	return true;
}

/*
 * Sets *node to the node that queue_pop() would take next, if it is in the same bucket as the one taken last. Otherwise
 * returns false.
 */
static inline bool queue_peek(const struct queue *queue, int32_t *node)
{
	if (queue->ahead < 0)
		return false;
	*node = queue->items[queue->ahead].node;
	return true;
}

#endif
