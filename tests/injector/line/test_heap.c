/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <base/rng.h>

#include "mode_priv.h"

enum { COUNT = 5000 };

Test(heap, gives_back_by_due_time_and_arrival)
{
	static struct heap_entry entries[COUNT];
	struct heap heap = {.entries = entries, .capacity = COUNT};
	struct rng rng;
	uint64_t pushed = 0, popped = 0, floor = 0;
	struct heap_entry before = {0};

	rng_seed(&rng, 3);
	while (popped < COUNT * 4) {
		bool fill = heap.count < COUNT && pushed < COUNT * 4 && (heap.count == 0 || rng_below(&rng, 3) > 0);

		if (fill) {
			/* Few distinct due times, so that some are equal; none before the last one that left. */
			heap_push(&heap, (struct heap_entry){.due = floor + rng_below(&rng, 50), .sequence = pushed++});
			continue;
		}
		struct heap_entry entry = heap_pop(&heap);

		if (popped++ > 0) {
			cr_assert_geq(entry.due, before.due);
			if (entry.due == before.due)
				cr_assert_gt(entry.sequence, before.sequence);
		}
		before = entry;
		floor = entry.due + 1;
	}
	cr_assert_eq(heap.count, 0);
}

Test(heap, equal_due_times_leave_in_order_of_arrival)
{
	static struct heap_entry entries[100];
	struct heap heap = {.entries = entries, .capacity = 100};

	for (uint64_t i = 0; i < 100; i++)
		heap_push(&heap, (struct heap_entry){.due = 7, .sequence = i});
	for (uint64_t i = 0; i < 100; i++)
		cr_assert_eq(heap_pop(&heap).sequence, i);
}

Test(heap, due_times_may_wrap_around)
{
	static struct heap_entry entries[4];
	struct heap heap = {.entries = entries, .capacity = 4};

	heap_push(&heap, (struct heap_entry){.due = 5, .sequence = 1});
	heap_push(&heap, (struct heap_entry){.due = UINT64_MAX - 5, .sequence = 2});
	cr_assert_eq(heap_pop(&heap).sequence, 2);
}
