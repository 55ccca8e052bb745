/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <base/array.h>

Test(array, growing_keeps_the_items_and_at_least_doubles)
{
	int *items = NULL;
	size_t capacity = 0, moves = 0;

	for (size_t count = 0; count < 10000; count++) {
		size_t before = capacity;

		items = array_grow(items, count, &capacity, sizeof *items);
		cr_assert_not_null(items);
		cr_assert_gt(capacity, count);
		cr_assert(capacity == before || capacity >= 2 * before);
		moves += capacity != before;
		items[count] = (int)count;
	}
	for (int i = 0; i < 10000; i++)
		cr_assert_eq(items[i], i);
	cr_assert_lt(moves, 12);
	free(items);
}

Test(array, reserves_all_that_is_needed_at_once)
{
	size_t capacity = 0;
	char *items = array_reserve(NULL, 1000, &capacity, 1);

	cr_assert_not_null(items);
	cr_assert_geq(capacity, 1000);
	cr_assert_eq(array_reserve(items, 1000, &capacity, 1), items);
	free(items);
}

Test(array, a_size_that_overflows_is_out_of_memory)
{
	size_t capacity = 0;
	void *items = array_reserve(NULL, 1, &capacity, 8);
	size_t before = capacity;

	cr_assert_null(array_reserve(items, SIZE_MAX / 4, &capacity, 8));
	cr_assert_eq(capacity, before);
	free(items);
}

Test(array, a_resized_array_keeps_its_items)
{
	int *items = NULL;

	cr_assert_eq(array_resize(&items, 3, sizeof *items), 0);
	for (int i = 0; i < 3; i++)
		items[i] = i;
	cr_assert_eq(array_resize(&items, 100000, sizeof *items), 0);
	cr_expect(items[0] == 0 && items[1] == 1 && items[2] == 2);
	cr_expect_eq(array_resize(&items, SIZE_MAX / 2, sizeof *items), -ENOMEM);
	cr_expect_eq(items[2], 2, "unchanged");
	free(items);
}
