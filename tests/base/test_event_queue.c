/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <base/event_queue.h>
#include <base/rng.h>

Test(event_queue, events_leave_by_time_then_in_the_order_of_adding)
{
	struct event_queue queue = {0};
	struct event event, last = {.time = INT64_MIN};
	struct rng rng;
	size_t taken = 0;

	rng_seed(&rng, 7);
	cr_expect_null(event_queue_first(&queue));
	cr_expect_not(event_queue_take(&queue, INT64_MAX, &event));
	for (uint32_t i = 0; i < 5000; i++) {
		int64_t now = i / 4;

		cr_assert_eq(event_queue_add(&queue, now + (int64_t)rng_below(&rng, 50), i % 3, i, i), 0);
		cr_expect_leq(event_queue_first(&queue)->time, now + 50);
		while (event_queue_take(&queue, now, &event)) {
			cr_expect_leq(event.time, now);
			cr_expect(event.time > last.time || (event.time == last.time && event.order > last.order));
			cr_expect_eq(event.order, event.subject);
			cr_expect_eq(event.kind, event.subject % 3);
			last = event;
			taken++;
		}
	}
	while (event_queue_take(&queue, INT64_MAX, &event)) {
		cr_expect(event.time > last.time || (event.time == last.time && event.order > last.order));
		last = event;
		taken++;
	}
	cr_expect_eq(taken, 5000);
	event_queue_free(&queue);
}
