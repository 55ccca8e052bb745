/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <base/rng.h>

#include "mode_priv.h"

enum { COUNT = 5000 };

Test(queue, gives_back_by_due_time_and_arrival)
{
	static struct queue_entry ring[COUNT], heap[COUNT];
	struct queue queue = {.ring = ring, .heap = heap, .capacity = COUNT};
	struct rng rng;
	uint64_t pushed = 0, popped = 0, floor = 0;
	struct queue_entry before = {0};

	rng_seed(&rng, 3);
	while (popped < COUNT * 4) {
		bool fill = queue.count < COUNT && pushed < COUNT * 4 && (queue.count == 0 || rng_below(&rng, 3) > 0);

		if (fill) {
			/* Few distinct due times, so that some are equal; none before the last one that left. */
			queue_push(&queue,
				   (struct queue_entry){.due = floor + rng_below(&rng, 50), .sequence = pushed++});
			continue;
		}
		struct queue_entry entry = queue_pop(&queue);

		if (popped++ > 0) {
			cr_assert_geq(entry.due, before.due);
			if (entry.due == before.due)
				cr_assert_gt(entry.sequence, before.sequence);
		}
		before = entry;
		floor = entry.due + 1;
	}
	cr_assert_eq(queue.count, 0);
}

Test(queue, equal_due_times_leave_in_order_of_arrival)
{
	static struct queue_entry ring[100], heap[100];
	struct queue queue = {.ring = ring, .heap = heap, .capacity = 100};

	for (uint64_t i = 0; i < 100; i++)
		queue_push(&queue, (struct queue_entry){.due = 7, .sequence = i});
	for (uint64_t i = 0; i < 100; i++)
		cr_assert_eq(queue_pop(&queue).sequence, i);
}

Test(queue, due_times_may_wrap_around)
{
	static struct queue_entry ring[4], heap[4];
	struct queue queue = {.ring = ring, .heap = heap, .capacity = 4};

	queue_push(&queue, (struct queue_entry){.due = 5, .sequence = 1});
	queue_push(&queue, (struct queue_entry){.due = UINT64_MAX - 5, .sequence = 2});
	cr_assert_eq(queue_pop(&queue).sequence, 2);
}
