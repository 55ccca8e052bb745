/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

#include "structured_queue.h"

void queue_clear(struct queue *queue)
{
	memset(queue->bits, 0, sizeof(queue->bits));
	queue->base = 0;
	queue->word = 0;
	queue->item_count = 0;
	queue->beyond = -1;
}

void queue_free(struct queue *queue)
{
	free(queue->items);
	queue->items = NULL;
	queue->capacity = 0;
}

bool queue_grow(struct queue *queue)
{
	struct queue_item *items =
		array_grow(queue->items, (size_t)queue->item_count, &queue->capacity, sizeof(*items));

	queue->no_memory |= !items;
	queue->items = items ? items : queue->items;
	return items != NULL;
}

/*
 * Moves the queue's window to the least key in the overflow list, and the items within the new window into buckets.
 * Returns false if the list is empty.
 */
bool queue_spread(struct queue *queue)
{
	int32_t least = INT32_MAX, next, item = queue->beyond;

	if (item < 0)
		return false;
	for (int32_t i = item; i >= 0; i = queue->items[i].next)
		if (queue->items[i].key < least)
			least = queue->items[i].key;
	queue->base = least;
	queue->word = 0;
	queue->beyond = -1;
	for (; item >= 0; item = next) {
		int32_t slot = queue->items[item].key - least;

		next = queue->items[item].next;
		if (slot >= QUEUE_WINDOW) {
			queue->items[item].next = queue->beyond;
			queue->beyond = item;
			continue;
		}
		queue_append(queue, item, slot);
	}
	return true;
}
