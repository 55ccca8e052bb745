/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces keep what they hold while others grow, out of small chunks and large ones, and past any chunk's size. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <base/rng.h>

#include "structured_arena.h"

enum { LISTS = 2000, STEPS = 60000, WANTED_BYTES = 24 << 20 };

struct list {
	int32_t *items;
	int32_t count, room;
};

static void list_add(struct arena *arena, struct list *list, int32_t number, int32_t more)
{
	list->items = arena_grow(arena, list->items, &list->room, list->count, list->count + more, sizeof(int32_t));
	cr_assert_not_null(list->items);
	cr_assert_eq((uintptr_t)list->items % 16, 0);
	cr_assert_geq(list->room, list->count + more);
	for (int32_t i = 0; i < more; i++, list->count++)
		list->items[list->count] = number * 7919 + list->count;
}

static void check_list(const struct list *list, int32_t number)
{
	for (int32_t i = 0; i < list->count; i++)
		cr_assert_eq(list->items[i], number * 7919 + i, "list %d, item %d", number, i);
}

Test(structured_arena, pieces_keep_what_they_hold)
{
	struct list *lists = calloc(LISTS, sizeof(*lists));
	struct arena arena = {0};
	struct rng rng;

	rng_seed(&rng, 13);
	for (int32_t step = 0; step < STEPS; step++) {
		int32_t number = (int32_t)rng_below(&rng, LISTS);
		struct list *list = &lists[number];

		if (rng_below(&rng, 50) == 0) {
			check_list(list, number);
			arena_release(&arena, list->items, list->room, sizeof(int32_t));
			*list = (struct list){0};
		}
		list_add(&arena, list, number, 1 + (int32_t)rng_below(&rng, 200));
	}
	list_add(&arena, &lists[1], 1, 2 << 20); /* larger than any chunk */
	for (int32_t number = 0; number < LISTS; number++)
		check_list(&lists[number], number);
	cr_assert_gt(arena.total_bytes, WANTED_BYTES, "large chunks were met");
	cr_assert_lt(arena.total_bytes, 4 * WANTED_BYTES);
	arena_free(&arena);
	free(lists);
}
