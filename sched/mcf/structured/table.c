/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "structured_table.h"

enum { CACHE_LINE_BYTES = 64 };

/* More than the old room, by half at least, so that growth one by one stays linear. */
static int32_t larger_room(int32_t room, int32_t needed)
{
	int64_t wanted = (int64_t)room + room / 2;

	if (wanted < needed)
		wanted = needed;
	return wanted > INT32_MAX ? INT32_MAX : (int32_t)wanted;
}

/* The allocation's own start lies before the table. */
void *zeroed_take(uint64_t bytes)
{
	char *whole = calloc(1, bytes + CACHE_LINE_BYTES);

	if (!whole)
		return NULL;
	char *table = whole + CACHE_LINE_BYTES - (uintptr_t)whole % CACHE_LINE_BYTES;

	memcpy(table - sizeof(whole), &whole, sizeof(whole));
	return table;
}

void zeroed_free(void *table)
{
	char *whole;

	if (!table)
		return;
	memcpy(&whole, (char *)table - sizeof(whole), sizeof(whole));
	free(whole);
}

bool tables_reserve(const struct table *tables, int32_t count, int32_t *room, int32_t needed)
{
	if (needed <= *room)
		return true;
	int32_t wanted = larger_room(*room, needed);

	for (int32_t i = 0; i < count; i++) {
		uint64_t old_bytes = (uint64_t)*room * tables[i].item_bytes;
		char *larger = zeroed_take((uint64_t)wanted * tables[i].item_bytes);

		if (!larger)
			return false;
		if (*tables[i].items)
			memcpy(larger, *tables[i].items, old_bytes);
		zeroed_free(*tables[i].items);
		*tables[i].items = larger;
	}
	*room = wanted;
	return true;
}

bool list_reserve(void **items, int32_t *room, int32_t needed, uint64_t item_bytes)
{
	const struct table table = {items, item_bytes};

	return tables_reserve(&table, 1, room, needed < 64 ? 64 : needed);
}
