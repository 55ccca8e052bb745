/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fixed delay, and nothing else. One clock reading and one due time per receive burst; the pointers stay where
 * dp_receive() put them until dp_transmit() reads them there, so that a packet in a full burst costs next to
 * nothing. The array of pointers is LINE_RX_BURST longer than the ring: a burst is always received in one piece (some
 * drivers return nothing when asked for less than four), and what lies over the end is moved to the start.
 *
 * No prefetch: fetching the headers of the packets that leave next, 0 to 64 ahead, measured 0 to 35 % slower over
 * rings (the driver does not look at what the loop does not touch either).
 */

#include "line_priv.h"

/* The ring has hardly room, or none: receive aside, keep what fits, count the rest. */
static NOT_INLINED uint32_t receive_tight(struct line *line, uint32_t room, uint32_t *received)
{
	struct dp_packet *packets[LINE_RX_BURST];
	uint32_t count = dp_receive(line->rx_port, packets, LINE_RX_BURST);
	uint32_t kept = MIN(count, room);

	for (uint32_t i = 0; i < kept; i++)
		line->packets[(line->head + i) & line->mask] = packets[i];
	if (count > kept) {
		dp_packets_free(packets + kept, count - kept);
		line->count.ring_full += count - kept;
	}
	*received = count;
	return kept;
}

/* Returns how many were kept; their pointers are in the ring, at head. */
static ALWAYS_INLINED uint32_t receive(struct line *line, uint32_t *received)
{
	uint32_t room = line->mask + 1 - (line->head - line->tail);
	uint32_t at = line->head & line->mask;
	uint32_t count;

	if (UNLIKELY(room < LINE_RX_BURST))
		return receive_tight(line, room, received);
	count = dp_receive(line->rx_port, line->packets + at, LINE_RX_BURST);
	for (uint32_t i = line->mask + 1; UNLIKELY(i < at + count); i++)
		line->packets[i & line->mask] = line->packets[i];
	*received = count;
	return count;
}

static ALWAYS_INLINED void hold(struct line *line, uint32_t count, uint64_t now)
{
	struct line_burst *burst = &line->bursts[line->burst_head++ & line->mask];
	uint64_t due = now + line->delay_cycles;

	if (UNLIKELY((int64_t)(due - line->last_due) < 0))
		due = line->last_due; /* D was lowered: behind the packets that still wait for the old one */
	line->last_due = due;
	line->head += count;
	burst->due = due;
	burst->end = line->head;
}

static ALWAYS_INLINED void count_sent(struct line *line, uint32_t sent, uint64_t now)
{
	uint32_t end = line->tail + sent;

	line->count.tx_packets += sent;
	while (line->tail != end) {
		const struct line_burst *burst = &line->bursts[line->burst_tail & line->mask];
		uint32_t count = MIN(burst->end - line->tail, end - line->tail);
		uint64_t *buckets = line->late_clean;

		if (UNLIKELY((int32_t)(line->disturbed_head - burst->end) >= 0)) {
			buckets = line->late_disturbed;
			line->count.disturbed += count;
		}
		lateness_add(buckets, now - burst->due, count);
		line->tail += count;
		line->burst_tail += line->tail == burst->end;
	}
	if ((int32_t)(line->disturbed_head - line->tail) < 0)
		line->disturbed_head = line->tail; /* dragged along, so that it never wraps around */
}

/* Packets at the tail that are due, at most a transmit burst: whole receive bursts if they fit. */
static ALWAYS_INLINED uint32_t count_due(const struct line *line, uint64_t now)
{
	uint32_t count = 0;

	for (uint32_t i = line->burst_tail; i != line->burst_head; i++) {
		const struct line_burst *burst = &line->bursts[i & line->mask];

		if ((int64_t)(now - burst->due) < 0)
			break;
		count = burst->end - line->tail;
		if (count >= LINE_TX_BURST)
			return LINE_TX_BURST;
	}
	return count;
}

static ALWAYS_INLINED void release(struct line *line, uint64_t now)
{
	for (unsigned int round = 0; round < LINE_TX_ROUNDS; round++) {
		uint32_t at = line->tail & line->mask;
		uint32_t count = count_due(line, now);
		uint16_t sent;

		if (count == 0)
			return;
		count = MIN(count, line->mask + 1 - at);
		sent = dp_transmit(line->tx_port, line->packets + at, (uint16_t)count);
		count_sent(line, sent, now);
		if (UNLIKELY(sent < count)) {
			line->count.tx_full += count - sent;
			return;
		}
	}
}

static ALWAYS_INLINED void poll(struct worker *worker, struct line *line)
{
	uint32_t received;
	uint32_t kept = receive(line, &received);
	uint64_t now = dp_cycles();

	worker_look(worker, now);
	line->count.rx_packets += received;
	if (kept > 0)
		hold(line, kept, now);
	if (UNLIKELY(line->stall_pending)) {
		/* What lay in the receive queue during the stall met it as well: all of it, until a burst is short. */
		line->disturbed_head = line->head;
		line->stall_pending = received == LINE_RX_BURST;
	}
	release(line, now);
}

static ALWAYS_INLINED void poll_rounds(struct worker *worker, unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++) {
		poll(worker, worker->lines[0]);
		if (worker->line_count > 1)
			poll(worker, worker->lines[1]);
	}
	for (unsigned int i = 0; i < worker->line_count; i++)
		worker->lines[i]->count.calls += rounds;
}

int worker_fixed_loop(void *argument)
{
	struct worker *worker = argument;

	worker->last_poll = dp_cycles();
	while (!atomic_load_explicit(&worker->stop, memory_order_relaxed)) {
		poll_rounds(worker, LINE_POLLS_PER_CHORE);
		worker_chores(worker);
	}
	return 0;
}

void worker_fixed_rounds(struct worker *worker, unsigned int rounds)
{
	poll_rounds(worker, rounds);
}
