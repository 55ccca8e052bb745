/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/hash_table.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64, LARGEST_CAPACITY = 1 << 30 };

static uint32_t home(const struct hash_table *table, uint64_t key)
{
	return (uint32_t)hash_mix(key) & (table->capacity - 1);
}

static bool is_full(uint32_t count, uint32_t capacity)
{
	return count > capacity - capacity / 4;
}

/*
 * Stores the value in the first free slot from the key's home slot on. So it comes after the key's other values, and
 * the run of used slots has no gap.
 */
static void put(struct hash_table *table, uint64_t key, uint32_t value)
{
	uint32_t at = home(table, key);

	while (table->slots[at].used)
		at = (at + 1) & (table->capacity - 1);
	table->slots[at] = (struct hash_table_slot){key, value, 1};
	table->count++;
}

/* Copies all values. Starts after a free slot, so that no run is split and each key's values keep their order. */
static void move_all(struct hash_table *to, const struct hash_table *from)
{
	uint32_t start = 0;

	while (start < from->capacity && from->slots[start].used)
		start++;
	for (uint32_t i = 1; i <= from->capacity; i++) {
		const struct hash_table_slot *slot = &from->slots[(start + i) & (from->capacity - 1)];

		if (slot->used)
			put(to, slot->key, slot->value);
	}
}

int hash_table_reserve(struct hash_table *table, uint32_t count)
{
	struct hash_table larger = {.capacity = table->capacity ? table->capacity : FIRST_CAPACITY};

	if (table->capacity > 0 && !is_full(count, table->capacity))
		return 0;
	while (is_full(count, larger.capacity)) {
		if (larger.capacity == LARGEST_CAPACITY)
			return -ENOMEM;
		larger.capacity *= 2;
	}
	larger.slots = calloc(larger.capacity, sizeof *larger.slots);
	if (!larger.slots)
		return -ENOMEM;
	move_all(&larger, table);
	free(table->slots);
	*table = larger;
	return 0;
}

int hash_table_insert(struct hash_table *table, uint64_t key, uint32_t value)
{
	if (hash_table_reserve(table, table->count + 1) != 0)
		return -ENOMEM;
	put(table, key, value);
	return 0;
}

/*
 * Removing leaves a gap. Each later entry of the run moves into the gap, and its old slot becomes the gap, unless the
 * gap is before the entry's home slot.
 */
void hash_table_remove(struct hash_table *table, uint32_t at)
{
	uint32_t mask = table->capacity - 1, gap = at;

	for (uint32_t i = (at + 1) & mask; table->slots[i].used; i = (i + 1) & mask) {
		uint32_t way = (i - home(table, table->slots[i].key)) & mask;

		if (way < ((i - gap) & mask))
			continue;
		table->slots[gap] = table->slots[i];
		gap = i;
	}
	table->slots[gap].used = 0;
	table->count--;
}

void hash_table_clear(struct hash_table *table)
{
	if (table->count > 0)
		memset(table->slots, 0, (size_t)table->capacity * sizeof *table->slots);
	table->count = 0;
}

void hash_table_free(struct hash_table *table)
{
	free(table->slots);
	*table = (struct hash_table){0};
}
