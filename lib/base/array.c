/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/array.h>

#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

void *array_grow(void *items, size_t count, size_t *capacity, size_t item_bytes)
{
	size_t wanted = *capacity ? *capacity * 2 : FIRST_CAPACITY;
	void *larger;

	if (count < *capacity)
		return items;
	larger = reallocarray(items, wanted, item_bytes);
	if (larger)
		*capacity = wanted;
	return larger;
}
