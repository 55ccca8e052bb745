/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <base/rng.h>
#include <base/array.h>

Test(search, finds_the_first_that_is_not_before_the_key)
{
	struct rng rng;
	int items[40] = {0};

	rng_seed(&rng, 1);
	for (int count = 0; count <= 40; count++) {
		for (int i = 0, value = 0; i < count; i++)
			items[i] = value += (int)rng_below(&rng, 3); /* some are equal */
		for (int key = -1; key < 90; key++) {
			int lower, upper, first = 0, behind = 0;

			while (first < count && items[first] < key)
				first++;
			while (behind < count && items[behind] <= key)
				behind++;
			SEARCH_LOWER_BOUND(lower, 0, count, items[lower] < key);
			SEARCH_LOWER_BOUND(upper, 0, count, items[upper] <= key);
			cr_assert_eq(lower, first);
			cr_assert_eq(upper, behind);
		}
	}
}

Test(search, looks_at_its_part_alone)
{
	static const int items[] = {9, 1, 2, 3, 0};
	unsigned int at;

	SEARCH_LOWER_BOUND(at, 1, 4, items[at] < 4);
	cr_assert_eq(at, 4);
	SEARCH_LOWER_BOUND(at, 1, 4, items[at] < 0);
	cr_assert_eq(at, 1);
	SEARCH_LOWER_BOUND(at, 2, 2, items[at] < 9);
	cr_assert_eq(at, 2);
}
