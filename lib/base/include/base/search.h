/* SPDX-License-Identifier: BSD-3-Clause */
/* Binary search in sorted sequences. Pure. */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

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
