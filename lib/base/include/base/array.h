/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Growing arrays: a block, its capacity in items, and how many items are needed. Capacity at least doubles, so that
 * appending n items costs O(n). The block belongs to the caller, who frees it with free().
 *
 *	items = array_grow(list->items, list->count, &list->capacity, sizeof *items);
 *	if (!items)
 *		return -ENOMEM;
 *	list->items = items;
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

/*
 * Makes room for `needed` items in all. Returns the block, moved or not (new items are not initialised), and updates
 * *capacity; NULL when out of memory or too large for size_t, then `items` and *capacity are unchanged.
 */
void *array_reserve(void *items, size_t needed, size_t *capacity, size_t item_bytes);

/* Makes room for one item after `count`: array_reserve() of count + 1. */
void *array_grow(void *items, size_t count, size_t *capacity, size_t item_bytes);

#endif
