/* SPDX-License-Identifier: BSD-3-Clause */
/* Growing arrays of the structured solver. */
#ifndef STRUCTURED_TABLE_H
#define STRUCTURED_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct table {
	void **items;
	uint64_t item_bytes;
};

/*
 * Zeroed memory that begins where a cache line does, for zeroed_free(); NULL without memory. What the system gives as
 * zeroed is not touched: pages of a large table cost nothing before they are used.
 */
void *zeroed_take(uint64_t bytes);
void zeroed_free(void *table); /* NULL is legal */

/* Tables that share a room grow together, to `needed` items or more; what is new is zero. False without memory. */
bool tables_reserve(const struct table *tables, int32_t count, int32_t *room, int32_t needed);
bool list_reserve(void **items, int32_t *room, int32_t needed, uint64_t item_bytes);

#endif
