/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes arrays grow, and searches sorted ones. The caller keeps the pointer to the memory, the number of items and the
 * capacity in items. The capacity at least doubles each time, so that appending n items costs O(n). The caller frees
 * the memory with free().
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

/* Binary search in sorted sequences. Pure. */

/*
 * Sets `at`, an integer variable, to the first number in low..high-1 for which `is_before` is false, or to `high` if it
 * is true for all of them. `is_before` is an expression that contains `at`; as `at` grows, it may change from true to
 * false once, and never back.
 *
 *	SEARCH_LOWER_BOUND(at, 0, list->count, list->items[at].key < key);
 *	if (at < list->count && list->items[at].key == key)
 *		...
 *
 * `<` finds the first item that is not less than the key (lower bound), `<=` the first that is greater (upper bound).
 */
#define SEARCH_LOWER_BOUND(at, low, high, is_before)                                                                   \
	do {                                                                                                           \
		__typeof__(at) search_low_ = (low), search_high_ = (high);                                             \
                                                                                                                       \
		while (search_low_ < search_high_) {                                                                   \
			(at) = search_low_ + (search_high_ - search_low_) / 2;                                         \
			if (is_before)                                                                                 \
				search_low_ = (at) + 1;                                                                \
			else                                                                                           \
				search_high_ = (at);                                                                   \
		}                                                                                                      \
		(at) = search_low_;                                                                                    \
	} while (0)

#endif
