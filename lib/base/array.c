/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/array.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

void *array_reserve(void *items, size_t needed, size_t *capacity, size_t item_bytes)
{
	size_t wanted = *capacity > FIRST_CAPACITY / 2 ? *capacity * 2 : FIRST_CAPACITY;
	void *larger;

	if (needed <= *capacity && items)
		return items;
	if (wanted < needed)
		wanted = needed;
	larger = wanted > SIZE_MAX / item_bytes ? NULL : realloc(items, wanted * item_bytes);
	if (larger)
		*capacity = wanted;
	return larger;
}

void *array_grow(void *items, size_t count, size_t *capacity, size_t item_bytes)
{
	return array_reserve(items, count + 1, capacity, item_bytes);
}

int array_resize(void *items, size_t count, size_t item_bytes)
{
	void **place = items, *changed;

	/* reallocarray() checks too, but AddressSanitizer ends the program there. */
	if (count > SIZE_MAX / item_bytes)
		return -ENOMEM;
	changed = realloc(*place, count * item_bytes);
	if (!changed)
		return -ENOMEM;
	*place = changed;
	return 0;
}
