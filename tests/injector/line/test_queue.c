/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <string.h>

#include <base/rng.h>

#include "mode_priv.h"

enum { CAPACITY = 300, STEPS = 20000 };

/* Of 300 packets: the queue, and a list in which the first packet is searched for. */
static struct queue_entry ring[CAPACITY], model[CAPACITY];
static struct queue_node nodes[CAPACITY + 1];
static struct queue_wheel wheel;
static struct queue queue;

static void make(void)
{
	memset(nodes, 0, sizeof nodes);
	memset(&wheel, 0, sizeof wheel);
	queue = (struct queue){.ring = ring, .nodes = nodes, .wheel = &wheel, .capacity = CAPACITY};
}

static uint32_t search(void)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < queue.count; i++)
		best = queue_before(&model[i], &model[best]) ? i : best;
	return best;
}

static uint64_t pop_as_expected(void)
{
	uint32_t best = search();
	struct queue_entry expected = model[best], found;

	model[best] = model[queue.count - 1];
	cr_assert_eq(queue_first(&queue)->sequence, expected.sequence);
	found = queue_pop(&queue);
	cr_assert_eq(found.due, expected.due);
	cr_assert_eq(found.sequence, expected.sequence);
	return found.due;
}

/*
 * Packets that are due up to `spread` cycles after the last one that left, or a little before it; many of them at the
 * same time if `spread` is small. The queue is nearly empty and nearly full in turns.
 */
static void fill_and_empty(uint64_t start, uint64_t spread, uint64_t seed)
{
	uint64_t floor = start, sequence = 0;
	struct rng rng;

	make();
	rng_seed(&rng, seed);
	for (int i = 0; i < STEPS; i++) {
		bool fills = rng_below(&rng, 100) < (i / 1000 % 2 ? 70 : 30);
		struct queue_entry entry = {.due = floor + rng_below(&rng, spread), .sequence = sequence};

		if (queue.count > 0 && (!fills || queue.count == CAPACITY)) {
			floor = pop_as_expected();
			continue;
		}
		entry.due -= rng_below(&rng, 50) == 0 ? spread / 8 : 0;
		model[queue.count] = entry;
		queue_push(&queue, entry);
		sequence++;
	}
	while (queue.count > 0)
		pop_as_expected();
	cr_assert_null(queue_first(&queue));
	for (uint32_t i = 0; i < QUEUE_BUCKETS; i++)
		cr_assert_eq(wheel.last[i], 0);
	for (uint32_t i = 0; i < QUEUE_BUCKETS / 64; i++)
		cr_assert(wheel.occupied[i] == 0 && wheel.words[i / 64] == 0);
}

Test(queue, gives_back_by_due_time_and_arrival)
{
	/* one time, some, a bucket, several, half a turn, a turn, many turns */
	static const uint64_t spreads[] = {1, 50, 512, 100000, 1 << 25, 1 << 26, UINT64_C(1) << 34};

	for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++)
		fill_and_empty(UINT64_C(1) << 40, spreads[i], i);
}

Test(queue, due_times_may_wrap_around)
{
	fill_and_empty(UINT64_MAX - 1000000, 3000, 7);
	fill_and_empty(UINT64_MAX - 1000000, 1 << 24, 8);
}

Test(queue, equal_due_times_leave_in_order_of_arrival)
{
	make();
	queue_push(&queue, (struct queue_entry){.due = 8}); /* then the others are not in the ring */
	for (uint64_t i = 1; i < 100; i++)
		queue_push(&queue, (struct queue_entry){.due = 7, .sequence = i});
	cr_assert_eq(queue.wheel_count, 99);
	for (uint64_t i = 1; i < 100; i++)
		cr_assert_eq(queue_pop(&queue).sequence, i);
	cr_assert_eq(queue_pop(&queue).due, 8);
}
