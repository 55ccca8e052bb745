/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes arrays grow. The caller keeps the pointer to the memory, the number of items and the capacity in items. The
 * capacity at least doubles each time, so that appending n items costs O(n). The caller frees the memory with free().
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
 * Makes room for `needed` items in all. Returns the array, which may have moved, and updates *capacity; new items are
 * not initialised. Returns NULL if out of memory or if the size does not fit size_t; `items` and *capacity are then
 * unchanged.
 */
void *array_reserve(void *items, size_t needed, size_t *capacity, size_t item_bytes);

/* As array_reserve() for count + 1 items. */
void *array_grow(void *items, size_t count, size_t *capacity, size_t item_bytes);

/*
 * For arrays of a known size: changes the array to which *items points to `count` items, at least 1. New items are not
 * initialised. Returns 0, or -ENOMEM with *items unchanged.
 */
int array_resize(void *items, size_t count, size_t item_bytes);

#endif
