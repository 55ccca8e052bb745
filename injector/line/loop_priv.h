/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The round, which both loops share. It has one step for each receive port: receive a burst, then release (transmit)
 * the due packets of both lines, so that no packet waits longer than one burst takes. A step reads the clock and
 * releases packets only if
 * - it received packets,
 * - the previous step received a whole burst, or
 * - it is the last step of a round in which the clock was not read before.
 *
 * If the next packet will be due before the next reading, the loop busy-waits for its due time, at most LINE_WAITS
 * times a step. A wait takes at most the measured time of two idle rounds, and the loop does not wait while a port
 * fills whole bursts; so packets are received about as soon as without waits. After a whole burst, and in the step that
 * follows, only the line of the step's own port is released, at once, while the data is in the cache.
 *
 * A gap is the time between two clock readings. A gap above the stall threshold disturbs every packet that is held. A
 * shorter gap, a hiccup, disturbs only packets that arrived or left during it: the others were waiting anyway. Packets
 * in a receive queue during a gap count as arrived during it; the first burst after the gap that is not whole shows
 * that all of them have been received. A whole burst takes time by itself, so after one only stalls are recorded, not
 * hiccups.
 *
 * If no line of the lcore delays or holds packets, a round receives and transmits for each port in turn, and reads the
 * clock once, at its end (the `pass` function of the fixed loop).
 */
#ifndef INJECTOR_LOOP_PRIV_H
#define INJECTOR_LOOP_PRIV_H

#include "line_priv.h"

/*
 * Transmits packets. If the driver makes a system call to transmit, measures the call's duration, so that a stall can
 * be attributed to it.
 */
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

/*
 * The functions in which the two loops differ. Each loop passes a constant of this type, so that the compiler inlines
 * the functions.
 */
struct loop {
	/*
	 * Receives a burst and holds it. Returns the number of packets received; if that is over 0, sets *now to a
	 * clock reading.
	 */
	uint32_t (*take)(struct worker *worker, struct line *line, uint64_t *now);
	/* Transmits the packets due at `now`; `full`: a whole burst was received just before. */
	void (*release)(struct worker *worker, struct line *line, uint64_t now, bool full);
	/* Sets *due to the due time of the line's next packet. Returns false if the line holds no packet. */
	bool (*next)(const struct line *line, uint64_t *due);
	/*
	 * If no line delays or holds packets, makes a whole round and returns true; else only returns false. NULL if
	 * the loop has no such function.
	 */
	bool (*pass)(struct worker *worker);
};

static ALWAYS_INLINED void loop_release(struct worker *worker, struct loop loop, struct line *line, uint64_t now,
					bool full)
{
	loop.release(worker, line, now, full);
	line->gap = false;
}

/*
 * Returns the time until the next packet of any line is due, cycles; 0 or less if a packet is due already; INT64_MAX if
 * no packet is held.
 */
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

/* Waits until `due`. Returns the last clock reading. */
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
 * Lets the drivers finish earlier transmissions before the next packet is due, so that the next transmit call is
 * faster. An X520 frees descriptors and buffers; a ring in memory loads the cache line that the receiver has written.
 * Done once after each transmission, when the receiver has had time to take the packets. Not done with drivers that
 * need a system call for it.
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

/*
 * Releases the packets of both lines that are due. Waits for packets that will be due before the next round, and
 * releases them too.
 */
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
			return; /* after a gap, receive the packets that arrived during it before releasing more */
	}
}

/* Releases the packets of both lines that are due, and receives none. */
static ALWAYS_INLINED void loop_drain(struct worker *worker, struct loop loop)
{
	uint64_t now = dp_cycles();

	worker_look(worker, now, false);
	for (unsigned int i = 0; i < worker->line_count; i++)
		loop_release(worker, loop, worker->lines[i], now, false);
}

/*
 * Makes one step: receives from the port of `line`, and releases due packets. `last`: this is the last step of the
 * round. `looked`: the previous step of the round read the clock. Returns true if this step read the clock.
 */
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
