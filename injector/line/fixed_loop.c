/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop for a fixed delay without modes. It reads the clock and computes a due time once per receive burst.
 * dp_transmit() reads the pointers to packets where dp_receive() stored them, so that a packet in a full burst costs
 * almost nothing. The array of pointers is LINE_RX_BURST longer than the ring, so that a burst can always be received
 * in one piece: some drivers return nothing when asked for fewer than four packets. Pointers beyond the end of the ring
 * are then moved to its start.
 *
 * The loop counts transmitted packets after the next clock reading, because only then is it known whether there was a
 * gap during the transmit call. So, from the moment when it finds a packet to be due until the packet has left, the
 * loop only calls the driver.
 */
#include "loop_priv.h"

/*
 * Receives a burst if the ring has space for only `room` packets, less than a burst. Receives into a separate array,
 * keeps the packets that fit, and drops and counts the others.
 */
static NOT_INLINED uint32_t receive_tight(struct line *line, uint32_t room, uint32_t *received)
{
	struct dp_packet *packets[LINE_RX_BURST];
	uint32_t count = dp_receive(line->rx_port, 0, packets, LINE_RX_BURST);
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

/*
 * Receives a burst; *received is its number of packets. Keeps the packets for which the ring has space, and returns
 * their number. Their pointers are in the ring from line->head on.
 */
static ALWAYS_INLINED uint32_t receive(struct line *line, uint32_t *received)
{
	uint32_t room = line->mask + 1 - (line->head - line->counted);
	uint32_t at = line->head & line->mask;
	uint32_t count;

	if (UNLIKELY(room < LINE_RX_BURST))
		return receive_tight(line, room, received);
	count = dp_receive(line->rx_port, 0, line->packets + at, LINE_RX_BURST);
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
		due = line->last_due; /* D was lowered: do not overtake packets that wait for the old D */
	line->last_due = due;
	line->head += count;
	burst->due = due;
	burst->end = line->head;
	burst->disturbed = line->unsettled;
}

static ALWAYS_INLINED uint32_t take(struct worker *worker, struct line *line, uint64_t *now)
{
	uint32_t received;
	uint32_t kept = receive(line, &received);

	if (received == 0)
		return 0;
	*now = dp_cycles();
	worker_look(worker, *now, received == LINE_RX_BURST);
	line->count.rx_packets += received;
	if (LIKELY(kept > 0))
		hold(line, kept, *now);
	return received;
}

/* Counts the packets transmitted at line->sent_at, and records their lateness. */
static ALWAYS_INLINED void count_sent(struct line *line)
{
	line->count.tx_packets += line->tail - line->counted;
	while (line->counted != line->tail) {
		const struct line_burst *burst = &line->bursts[line->burst_counted & line->mask];
		bool whole = (int32_t)(line->tail - burst->end) >= 0;
		uint32_t count = (whole ? burst->end : line->tail) - line->counted;
		uint64_t *buckets = line->late_clean;

		if (UNLIKELY(line->gap || line->sent_in_gap || burst->disturbed ||
			     (int32_t)(line->disturbed_head - burst->end) >= 0)) {
			buckets = line->late_disturbed;
			line->count.disturbed += count;
		}
		lateness_add(buckets, line->sent_at - burst->due, count);
		line->counted += count;
		line->burst_counted += whole;
	}
	if ((int32_t)(line->disturbed_head - line->counted) < 0)
		line->disturbed_head = line->counted; /* keep it close to `counted`: a distance of 2^31 or more between
							 two indices would overflow the signed difference */
}

/* Returns the number of packets, from line->tail on, that are due at `now`; at most `most`. */
static ALWAYS_INLINED uint32_t count_due(const struct line *line, uint64_t now, uint32_t most)
{
	uint32_t count = 0;

	for (uint32_t i = line->burst_tail; i != line->burst_head; i++) {
		const struct line_burst *burst = &line->bursts[i & line->mask];

		if ((int64_t)(now - burst->due) < 0)
			break;
		count = burst->end - line->tail;
		if (count >= most)
			return most;
	}
	return count;
}

static ALWAYS_INLINED void advance(struct line *line, uint32_t sent)
{
	line->tail += sent;
	while (line->burst_tail != line->burst_head &&
	       (int32_t)(line->tail - line->bursts[line->burst_tail & line->mask].end) >= 0)
		line->burst_tail++;
}

/*
 * Starts a transmit burst after the clock reading `now`: counts the packets of the previous transmit burst, and sets
 * the time of the new one to `now`.
 */
static ALWAYS_INLINED void begin_burst(struct line *line, uint64_t now)
{
	if (line->counted != line->tail)
		count_sent(line);
	line->sent_at = now;
	line->sent_in_gap = line->gap;
}

/* Returns true if the first packet is too late at `now`. */
static ALWAYS_INLINED bool is_late(const struct line *line, uint64_t now)
{
	return (int64_t)(now - line->bursts[line->burst_tail & line->mask].due) > line->late_cycles;
}

/* Drops the packets that are too late at `now`, when all packets transmitted before are counted. */
static NOT_INLINED void drop_late(struct line *line, uint64_t now)
{
	while (line->burst_tail != line->burst_head && is_late(line, now)) {
		dp_packet_free(line->packets[line->tail & line->mask]);
		line->count.too_late++;
		advance(line, 1);
	}
	line->counted = line->tail;
	line->burst_counted = line->burst_tail;
}

static ALWAYS_INLINED void release(struct worker *worker, struct line *line, uint64_t now, bool full)
{
	const uint32_t most = full ? LINE_RX_BURST : LINE_TX_BURST; /* after a whole receive burst, throughput matters
								       more than a short transmit burst */

	begin_burst(line, now);
	for (unsigned int round = 0; round < LINE_TX_ROUNDS * LINE_TX_BURST / most; round++) {
		uint32_t at = line->tail & line->mask;
		uint32_t count = count_due(line, now, most);
		uint16_t sent;

		if (count == 0)
			return;
		if (UNLIKELY(round == 0 && is_late(line, now))) {
			drop_late(line, now);
			return;
		}
		if (UNLIKELY(round > 0)) { /* read the clock again, because the first transmit burst took time */
			now = dp_cycles();
			worker_look(worker, now, full);
			begin_burst(line, now);
		}
		count = MIN(count, line->mask + 1 - at);
		sent = loop_transmit(worker, line, line->packets + at, (uint16_t)count);
		advance(line, sent);
		if (UNLIKELY(sent < count)) {
			line->count.tx_full += count - sent;
			return;
		}
	}
}

/* Puts the packets that the transmit port refused in pass() into the ring; they are due at once. */
static NOT_INLINED void hold_refused(struct line *line, uint32_t sent, uint32_t received, uint64_t now)
{
	struct dp_packet **packets = line->packets + (line->head & line->mask) + sent;
	uint32_t count = received - sent;

	for (uint32_t i = 0; i < count; i++)
		line->packets[(line->head + i) & line->mask] = packets[i];
	line->count.tx_full += count;
	hold(line, count, now);
}

/*
 * Counts the packets that pass() received and forwarded before the clock reading `now`, and holds those that the
 * transmit port refused.
 */
static ALWAYS_INLINED void count_passed(struct line *line, uint32_t received, uint32_t sent, uint64_t now)
{
	bool disturbed = line->unsettled; /* also set by a gap that ended at `now` */

	if (UNLIKELY(line->counted != line->tail))
		count_sent(line);
	line->count.rx_packets += received;
	line->count.tx_packets += sent;
	if (UNLIKELY(disturbed)) {
		line->count.disturbed += sent;
		lateness_add(line->late_disturbed, 0, sent);
		line->unsettled = line->gap || received == LINE_RX_BURST;
		line->gap = false;
	} else {
		lateness_add(line->late_clean, 0, sent);
	}
	if (UNLIKELY(sent < received))
		hold_refused(line, sent, received, now);
}

/*
 * Makes a round in which no line delays or holds packets: forwards each received burst at once, and reads the clock at
 * the end of the round. Returns false, and does nothing, if a line has a delay or holds packets.
 */
static ALWAYS_INLINED bool pass(struct worker *worker)
{
	uint16_t received[INJECTOR_DIRECTIONS], sent[INJECTOR_DIRECTIONS];
	unsigned int whole = 0;
	uint64_t now;

	for (unsigned int i = 0; i < worker->line_count; i++) {
		const struct line *line = worker->lines[i];

		if (line->delay_cycles != 0 || line->head != line->tail)
			return false;
	}
	for (unsigned int i = 0; i < worker->line_count; i++) {
		struct line *line = worker->lines[i];
		struct dp_packet **packets = line->packets + (line->head & line->mask);

		sent[i] = 0;
		received[i] = dp_receive(line->rx_port, 0, packets, LINE_RX_BURST);
		if (received[i] > 0)
			sent[i] = loop_transmit(worker, line, packets, received[i]);
		whole += received[i] == LINE_RX_BURST;
	}
	now = dp_cycles();
	worker_look_after(worker, now, whole);
	for (unsigned int i = 0; i < worker->line_count; i++)
		count_passed(worker->lines[i], received[i], sent[i], now);
	return true;
}

static ALWAYS_INLINED bool next(const struct line *line, uint64_t *due)
{
	*due = line->bursts[line->burst_tail & line->mask].due;
	return line->burst_tail != line->burst_head;
}

static const struct loop fixed = {take, release, next, pass};

void worker_fixed_rounds(struct worker *worker, unsigned int rounds)
{
	loop_rounds(worker, fixed, rounds);
}

void worker_fixed_release(struct worker *worker)
{
	loop_drain(worker, fixed);
}

void line_fixed_settle(struct line *line)
{
	count_sent(line);
}
