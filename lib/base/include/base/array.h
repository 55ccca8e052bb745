/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow by doubling. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

/*
 * `items` with room for one more than `count`: the same or a larger block, which takes its place and is the caller's to
 * free. *capacity is kept up. NULL when out of memory: `items` is as before.
 */
void *array_grow(void *items, size_t count, size_t *capacity, size_t item_bytes);

#endif
