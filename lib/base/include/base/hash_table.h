/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hash table from 64-bit keys to 32-bit values, mostly indices of records in the caller's array (which may move: the
 * table holds no pointers). Open addressing with linear probing, at most 3/4 full, no tombstones (Knuth, The Art of
 * Computer Programming 3, section 6.4, algorithm R). Slots have 16 bytes. One thread.
 *
 * A zeroed struct is an empty table:
 *
 *	struct hash_table table = {0};
 *	code = hash_table_insert(&table, key, index);          O(1)
 *	index = hash_table_find(&table, key);                  HASH_TABLE_NONE when absent
 *	hash_table_free(&table);
 *
 * A key may be inserted several times; its values are then found in the order of insertion. That serves records with
 * long keys, such as names: the table's key is a hash, and the caller compares the records that it finds.
 *
 *	HASH_TABLE_EACH (&table, hash_text(name), at)
 *		if (strcmp(records[hash_table_value(&table, at)].name, name) == 0)
 *			...
 */
#ifndef BASE_HASH_TABLE_H
#define BASE_HASH_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include <base/hash.h>

#define HASH_TABLE_NONE UINT32_MAX /* no slot, or no value */

struct hash_table {
	struct hash_table_slot {
		uint64_t key;
		uint32_t value;
		uint32_t used;
	} * slots;
	uint32_t capacity; /* 0 or a power of two */
	uint32_t count;
};

/*
 * Adds a value to the key, after the key's other values. Returns 0; or -ENOMEM (out of memory, or more than 3 * 2^28
 * values), with the table unchanged.
 */
int hash_table_insert(struct hash_table *table, uint64_t key, uint32_t value);

/* Makes room for `count` values in all, so that inserting them neither moves the table nor fails. 0 or -ENOMEM. */
int hash_table_reserve(struct hash_table *table, uint32_t count);

/* Removes the value in a slot. Other values may move to other slots: end a loop over a key's values after this. */
void hash_table_remove(struct hash_table *table, uint32_t at);

/* Removes all values and keeps the memory. */
void hash_table_clear(struct hash_table *table);

/* Frees the memory; the table is empty and may be used again. */
void hash_table_free(struct hash_table *table);

/*
 * Returns the first slot from `at` on that holds the key, or HASH_TABLE_NONE. The search ends at the first unused slot.
 */
static inline uint32_t hash_table_scan(const struct hash_table *table, uint64_t key, uint32_t at)
{
	while (table->slots[at].used) {
		if (table->slots[at].key == key)
			return at;
		at = (at + 1) & (table->capacity - 1);
	}
	return HASH_TABLE_NONE;
}

/* Return the slots of the key's values one after the other, in the order of insertion, then HASH_TABLE_NONE. */
static inline uint32_t hash_table_first(const struct hash_table *table, uint64_t key)
{
	if (table->count == 0)
		return HASH_TABLE_NONE;
	return hash_table_scan(table, key, (uint32_t)hash_mix(key) & (table->capacity - 1));
}

static inline uint32_t hash_table_next(const struct hash_table *table, uint64_t key, uint32_t at)
{
	return hash_table_scan(table, key, (at + 1) & (table->capacity - 1));
}

#define HASH_TABLE_EACH(table, key, at)                                                                                \
	for (uint32_t at = hash_table_first(table, key); at != HASH_TABLE_NONE; at = hash_table_next(table, key, at))

static inline uint32_t hash_table_value(const struct hash_table *table, uint32_t at)
{
	return table->slots[at].value;
}

static inline void hash_table_set_value(struct hash_table *table, uint32_t at, uint32_t value)
{
	table->slots[at].value = value;
}

/* The key's first value, or HASH_TABLE_NONE if it has none. (A stored value of HASH_TABLE_NONE looks the same.) */
static inline uint32_t hash_table_find(const struct hash_table *table, uint64_t key)
{
	uint32_t at = hash_table_first(table, key);

	return at == HASH_TABLE_NONE ? HASH_TABLE_NONE : table->slots[at].value;
}

#endif
