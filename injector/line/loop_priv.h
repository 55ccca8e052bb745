/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What both loops do in a round, a step for each port: receive a burst, and release what is due on either line, so that
 * no packet waits for more than one burst's work. After a port that had nothing there is no release and no reading of
 * the counter, but at the end of a round without any. When nothing is due yet, but will be before the next look at
 * the counter, they wait for that very moment with an eye on it instead, and again after the release, a few times at
 * most. A wait is two idle rounds long at most, as they were measured, and none is begun while a port fills whole
 * bursts, so that nothing arrives unseen for much longer than without it. A line whose port just filled one is released
 * at once, and alone: what it works on next is still in the cache.
 *
 * A gap is the time between two looks at the counter. Over the stall threshold it disturbs every packet that is held.
 * A shorter one, a hiccup, disturbs only those that arrived or left in it: the others were waiting anyway. What was in
 * a receive queue meanwhile arrived in the gap; it has all been received when a burst begun after the look is short.
 * To receive or release a whole burst takes as long as it does, and only stalls are told from it.
 *
 * Where no line of the lcore delays anything or holds any packet, a round receives and sends for each port in turn, and
 * reads the counter once, at its end.
 */
#ifndef INJECTOR_LOOP_PRIV_H
#define INJECTOR_LOOP_PRIV_H

#include "line_priv.h"

/* Where sending is a system call, its time is known when a stall is noted. */
static ALWAYS_INLINED uint16_t loop_transmit(struct worker *worker, struct line *line, struct dp_packet **packets,
					     uint16_t count)
{
	uint64_t before;
	uint16_t sent;

	line->prepare_at = worker->timed_transmit ? UINT64_MAX : line->sent_at + worker->prepare_cycles;
	if (LIKELY(!worker->timed_transmit))
		return dp_transmit(line->tx_port, 0, packets, count);
	before = dp_cycles();
	sent = dp_transmit(line->tx_port, 0, packets, count);
	worker_add_transmit(worker, dp_cycles() - before);
	return sent;
}

/* Constants of a loop, so that the compiler sees through them. */
struct loop {
	/* Receives a burst and holds it. Returns its size; if over 0, *now is the counter. */
	uint32_t (*take)(struct worker *worker, struct line *line, uint64_t *now);
	/* Sends what is due at `now`; `full`: a whole burst was received just before. */
	void (*release)(struct worker *worker, struct line *line, uint64_t now, bool full);
	/* When the next packet is due; false: none is held. */
	bool (*next)(const struct line *line, uint64_t *due);
	/* A whole round where nothing is delayed or held; false: this is no such round. */
	bool (*pass)(struct worker *worker);
};

static ALWAYS_INLINED void loop_release(struct worker *worker, struct loop loop, struct line *line, uint64_t now,
					bool full)
{
	loop.release(worker, line, now, full);
	line->gap = false;
}

/* Until the next packet of either line is due. */
static ALWAYS_INLINED int64_t loop_left(const struct worker *worker, struct loop loop, uint64_t now)
{
	int64_t left = INT64_MAX;
	uint64_t due;

	for (unsigned int i = 0; i < worker->line_count; i++) {
		if (loop.next(worker->lines[i], &due) && (int64_t)(due - now) < left)
			left = (int64_t)(due - now);
	}
	return left;
}

/* Returns the counter. */
static ALWAYS_INLINED uint64_t loop_wait(struct worker *worker, uint64_t due)
{
	uint64_t now;

	do {
		now = dp_cycles();
		worker_look(worker, now, false);
	} while ((int64_t)(now - due) < 0);
	return now;
}

/*
 * There is time before the next packet is due: the drivers look now at what has left since, so that the call that sends
 * finds it done (descriptors and buffers of an X520 to be freed; of a ring in memory, the cache line that the receiver
 * has written). Once after each sending, when the receiver has had its time. Not where it would be a system call.
 */
static ALWAYS_INLINED void loop_prepare(struct worker *worker, uint64_t now)
{
	for (unsigned int i = 0; i < worker->line_count; i++) {
		struct line *line = worker->lines[i];

		if (LIKELY(now < line->prepare_at))
			continue;
		line->prepare_at = UINT64_MAX;
		dp_transmit_poll(line->tx_port, 0);
	}
}

/* Releases what is due on both lines, and what will be before the loop comes by again. */
static ALWAYS_INLINED void loop_release_both(struct worker *worker, struct loop loop, uint64_t now)
{
	int64_t left = loop_left(worker, loop, now);

	for (unsigned int wait = 0; wait < LINE_WAITS; wait++) {
		if (left > 0 && left <= worker->wait_cycles)
			now = loop_wait(worker, now + (uint64_t)left);
		for (unsigned int i = 0; i < worker->line_count; i++)
			loop_release(worker, loop, worker->lines[i], now, false);
		left = loop_left(worker, loop, now);
		if (left > 2 * worker->wait_cycles)
			loop_prepare(worker, now);
		if (left <= 0 || left > worker->wait_cycles || UNLIKELY(worker->lines[0]->unsettled))
			return; /* unsettled: a gap, so first of all what arrived in it */
	}
}

/* `looked`: so did the step before, in this round. Returns whether this one looked at the counter. */
static ALWAYS_INLINED bool loop_step(struct worker *worker, struct loop loop, struct line *line, bool last, bool looked)
{
	bool owed = line->unsettled, busy = worker->full;
	uint64_t now = 0;
	uint32_t received = loop.take(worker, line, &now);

	if (UNLIKELY(owed))
		line->unsettled = line->gap || received == LINE_RX_BURST;
	if (received == LINE_RX_BURST) {
		loop_release(worker, loop, line, now, true);
		return true;
	}
	if (received == 0 && (!last || looked) && !busy)
		return false;
	if (received == 0) {
		now = dp_cycles();
		worker_look(worker, now, false);
	}
	if (busy)
		loop_release(worker, loop, line, now, false);
	else
		loop_release_both(worker, loop, now);
	return true;
}

static ALWAYS_INLINED void loop_rounds(struct worker *worker, struct loop loop, unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++) {
		bool looked = false;

		if (loop.pass && loop.pass(worker))
			continue;
		for (unsigned int l = 0; l < worker->line_count; l++)
			looked = loop_step(worker, loop, worker->lines[l], l + 1 == worker->line_count, looked);
	}
	for (unsigned int i = 0; i < worker->line_count; i++)
		worker->lines[i]->count.calls += rounds;
}

static ALWAYS_INLINED void loop_run(struct worker *worker, struct loop loop)
{
	worker->last_look = dp_cycles();
	while (!atomic_load_explicit(&worker->stop, memory_order_relaxed)) {
		uint64_t before = worker->last_look;

		loop_rounds(worker, loop, LINE_POLLS_PER_CHORE);
		worker_learn_round(worker, worker->last_look - before);
		worker_chores(worker);
	}
}

#endif
