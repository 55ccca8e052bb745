/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The round of both loops, with a step for each port: receive a burst, then release the due packets of either line, so
 * that no packet waits longer than one burst takes. A step that received nothing neither releases packets nor reads the
 * clock, except at the end of a round without packets. If the next packet is due before the next reading, the loop
 * busy-waits for its due time, at most LINE_WAITS times a step. A wait takes at most two idle rounds, as measured, and
 * there is none while a port fills whole bursts: packets are received about as soon as without waits. A line whose port
 * just filled a burst is released at once and alone, while its data is in the cache.
 *
 * A gap is the time between two clock readings. One above the stall threshold disturbs every packet that is held. A
 * shorter one, a hiccup, disturbs only packets that arrived or left in it: others were waiting anyway. Packets in a
 * receive queue during a gap count as arrived in it; all of them have been received once a burst that was started after
 * the reading is short. A whole burst takes time by itself, so that only stalls are recorded from it.
 *
 * Where no line of the lcore delays or holds packets, a round receives and transmits for each port in turn, and reads
 * the counter once, at its end.
 */
#ifndef INJECTOR_LOOP_PRIV_H
#define INJECTOR_LOOP_PRIV_H

#include "line_priv.h"

/* Where transmitting is a system call, its time is known when a stall is recorded. */
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

/* The functions of a loop, constant so that the compiler inlines them. */
struct loop {
	/* Receives a burst and holds it. Returns its size; if over 0, *now is the counter. */
	uint32_t (*take)(struct worker *worker, struct line *line, uint64_t *now);
	/* Transmits the packets due at `now`; `full`: a whole burst was received just before. */
	void (*release)(struct worker *worker, struct line *line, uint64_t now, bool full);
	/* The due time of the next packet; false: none is held. */
	bool (*next)(const struct line *line, uint64_t *due);
	/* A whole round in which no line delays or holds packets; false where a line does. */
	bool (*pass)(struct worker *worker);
};

static ALWAYS_INLINED void loop_release(struct worker *worker, struct loop loop, struct line *line, uint64_t now,
					bool full)
{
	loop.release(worker, line, now, full);
	line->gap = false;
}

/* Time until the next packet of either line is due. */
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
 * Before the next packet is due, lets the drivers process earlier transmissions, so that the next transmit call finds
 * this done (an X520's descriptors and buffers to be freed; for a ring in memory, the cache line that the receiver has
 * written). Once after each transmission, after the receiver had time. Not where it would be a system call.
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

/* Releases the packets of both lines that are due, or will be before the loop comes round again. */
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
			return; /* after a gap, the packets that arrived in it are received first */
	}
}

/* `looked`: the step before in this round read the counter. Returns whether this one did. */
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

#endif
