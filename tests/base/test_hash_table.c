/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include <base/hash_table.h>
#include <base/rng.h>

enum { KEYS = 300, STEPS = 200000, PER_KEY = 4 };

/* The expected contents of a table: each key's values in their order. */
struct model {
	uint32_t values[KEYS][PER_KEY], count[KEYS];
	uint32_t all;
};

/* Few distinct low and high bits, so that keys collide and runs wrap around the end of the table. */
static uint64_t key_of(uint32_t k)
{
	return (uint64_t)(k % 7) << 61 | k / 7;
}

static void compare(const struct hash_table *table, const struct model *model, uint32_t k)
{
	uint32_t i = 0;

	HASH_TABLE_EACH (table, key_of(k), at) {
		cr_assert_lt(i, model->count[k]);
		cr_assert_eq(hash_table_value(table, at), model->values[k][i]);
		i++;
	}
	cr_assert_eq(i, model->count[k]);
	cr_assert_eq(hash_table_find(table, key_of(k)), i > 0 ? model->values[k][0] : HASH_TABLE_NONE);
}

static void insert(struct hash_table *table, struct model *model, uint32_t k, uint32_t value)
{
	if (model->count[k] == PER_KEY)
		return;
	cr_assert_eq(hash_table_insert(table, key_of(k), value), 0);
	model->values[k][model->count[k]++] = value;
	model->all++;
}

static void remove_one(struct hash_table *table, struct model *model, uint32_t k, uint32_t which)
{
	uint32_t i = 0;

	if (model->count[k] == 0)
		return;
	which %= model->count[k];
	HASH_TABLE_EACH (table, key_of(k), at) {
		if (i++ == which) {
			hash_table_remove(table, at);
			break;
		}
	}
	memmove(&model->values[k][which], &model->values[k][which + 1],
		(model->count[k] - which - 1) * sizeof model->values[k][0]);
	model->count[k]--;
	model->all--;
}

Test(hash_table, holds_what_a_list_holds_in_its_order)
{
	static struct model model;
	struct hash_table table = {0};
	struct rng rng;

	rng_seed(&rng, 7);
	for (uint32_t step = 0; step < STEPS; step++) {
		uint32_t k = (uint32_t)rng_below(&rng, KEYS);
		/*
		 * The table grows until nearly all keys are in it and shrinks until it is nearly empty, several times.
		 */
		uint64_t inserts = step / 20000 % 2 ? 3 : 7;

		if (rng_below(&rng, 10) < inserts)
			insert(&table, &model, k, step);
		else
			remove_one(&table, &model, k, (uint32_t)rng_below(&rng, PER_KEY));
		compare(&table, &model, k);
		cr_assert_eq(table.count, model.all);
		for (uint32_t other = 0; step % 1000 == 0 && other < KEYS; other++)
			compare(&table, &model, other);
	}
	hash_table_free(&table);
}

Test(hash_table, an_empty_one_needs_no_memory)
{
	struct hash_table table = {0};

	cr_assert_eq(hash_table_find(&table, 0), HASH_TABLE_NONE);
	hash_table_clear(&table);
	hash_table_free(&table);
	cr_assert_eq(hash_table_insert(&table, 0, 5), 0);
	cr_assert_eq(hash_table_find(&table, 0), 5);
	cr_assert_eq(hash_table_find(&table, 1), HASH_TABLE_NONE);
	hash_table_free(&table);
}

Test(hash_table, neither_moves_nor_grows_within_what_was_reserved)
{
	struct hash_table table = {0};
	const struct hash_table_slot *slots;

	cr_assert_eq(hash_table_reserve(&table, 1000), 0);
	slots = table.slots;
	for (uint32_t i = 0; i < 1000; i++)
		cr_assert_eq(hash_table_insert(&table, (uint64_t)i << 32, i), 0);
	cr_assert_eq(table.slots, slots);
	for (uint32_t i = 0; i < 1000; i++)
		cr_assert_eq(hash_table_find(&table, (uint64_t)i << 32), i);
	hash_table_clear(&table);
	cr_assert_eq(table.slots, slots);
	cr_assert_eq(hash_table_find(&table, 0), HASH_TABLE_NONE);
	hash_table_free(&table);
}

Test(hash_table, names_are_found_by_their_hash_and_a_comparison)
{
	static char names[500][8];
	struct hash_table table = {0};

	for (uint32_t i = 0; i < 500; i++) {
		snprintf(names[i], sizeof names[i], "h%u", i);
		cr_assert_eq(hash_table_insert(&table, hash_text(names[i]) % 64, i), 0, "hashes that collide");
	}
	for (uint32_t i = 0; i < 500; i++) {
		uint32_t found = HASH_TABLE_NONE;

		HASH_TABLE_EACH (&table, hash_text(names[i]) % 64, at)
			if (strcmp(names[hash_table_value(&table, at)], names[i]) == 0)
				found = hash_table_value(&table, at);
		cr_assert_eq(found, i);
	}
	hash_table_free(&table);
}
