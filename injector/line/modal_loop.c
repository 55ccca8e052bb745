/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop for modes, due times from NIC stamps, and captures. Its packets wait in a queue with a timing wheel, because
 * due times need not be in order of arrival; so this loop is slower than the fixed loop. Delay, order and counters are
 * as described in line.h.
 */

#include "loop_priv.h"
#include "rule_priv.h"

__extension__ typedef __int128 wide;

static inline uint64_t arrival_of(const struct line *line, const struct dp_packet *packet, uint64_t now)
{
	uint64_t ticks;
	int64_t offset;

	if (!dp_packet_stamp(packet, &line->stamps, &ticks))
		return now;
	offset = (int64_t)(((wide)(int64_t)(ticks - line->nic_clock.nic_0) * (wide)line->nic_clock.multiplier) >> 24);
	/* A stamp later than `now` is an error of the conversion: use `now`. */
	return MIN(line->nic_clock.tsc_0 + (uint64_t)offset, now);
}

/* Returns true, and changes *due if a link is busy until later; or drops the packet and returns false. */
static bool push(struct line *line, struct dp_packet *packet, uint64_t *due, const struct verdict *verdict)
{
	if (line->queue.count == line->queue.capacity) {
		dp_packet_free(packet);
		line->count.ring_full++;
		return false;
	}
	*due = verdict_leave(verdict, *due);
	queue_push(&line->queue, (struct queue_entry){
					 .due = *due,
					 .sequence = line->sequence++,
					 .disturbed = line->unsettled,
					 .packet = packet,
				 });
	return true;
}

static void duplicate(struct line *line, struct dp_packet *packet, uint64_t due, const struct verdict *verdict)
{
	for (uint32_t i = 0; i < verdict->copies; i++) {
		struct dp_packet *copy = dp_packet_copy(packet);

		if (!copy) {
			line->count.no_mbuf++;
			return;
		}
		line->count.duplicated++;
		push(line, copy, &due, verdict);
	}
}

static void count_delay(struct line *line, struct rule *rule, uint64_t requested_cycles, uint64_t applied_cycles)
{
	if (UNLIKELY(rule)) {
		rule->count.delayed++;
		rule->count.requested_cycles += requested_cycles;
		rule->count.applied_cycles += applied_cycles;
		lateness_add(rule->requested, requested_cycles, 1);
		lateness_add(rule->applied, applied_cycles, 1);
	}
	line->count.delayed++;
	line->count.requested_cycles += requested_cycles;
	line->count.applied_cycles += applied_cycles;
	lateness_add(line->requested, requested_cycles, 1);
	lateness_add(line->applied, applied_cycles, 1);
}

/* Flips the bit that the verdict's random number chooses. */
static void corrupt(struct line *line, struct dp_packet *packet, uint64_t random)
{
	uint64_t bits = (uint64_t)dp_packet_contiguous(packet) * 8, bit = (uint64_t)((wide)random * bits >> 64);

	if (bits == 0)
		return;
	dp_packet_bytes(packet)[bit / 8] ^= (uint8_t)(1 << bit % 8);
	line->count.corrupted++;
}

/* Returns the rule that decides about the packet, or NULL, and the decision. */
static struct rule *judge(struct line *line, const struct dp_packet *packet, uint64_t arrival, struct verdict *verdict)
{
	struct rule *rule = UNLIKELY(line->rules) ? rules_find(line->rules, packet) : NULL;
	const struct injector_modes *modes = rule ? rule->settings->modes : line->modes;

	if (UNLIKELY(rule)) {
		rule->count.packets++;
		if (rule->settings->fixed)
			verdict->delay_cycles = rule->settings->delay_cycles;
	}
	if (modes)
		modes_apply(modes, packet, arrival, verdict);
	return rule;
}

static void lose(struct line *line, struct rule *rule, struct dp_packet *packet)
{
	dp_packet_free(packet);
	line->count.lost++;
	if (rule)
		rule->count.lost++;
}

static void take_packet(struct line *line, struct dp_packet *packet, uint64_t now)
{
	uint64_t arrival = arrival_of(line, packet, now);
	struct verdict verdict = {.delay_cycles = line->delay_cycles};
	uint64_t due, subtracted, *last_due = NULL;
	struct rule *rule;

	line->count.rx_packets++;
	if (line->capture)
		capture_commit(line->capture, line->capture_rx,
			       capture_fill(line->capture, 0, packet, arrival, line->capture_rx, false), 1);
	rule = judge(line, packet, arrival, &verdict);
	if (verdict.lost) {
		lose(line, rule, packet);
		return;
	}
	if (verdict.bypass) {
		line->count.bypassed++;
		push(line, packet, &now, &verdict);
		return;
	}
	subtracted = MIN(verdict.delay_cycles, line->subtract_cycles);
	due = arrival + verdict.delay_cycles - subtracted;
	if (!verdict.overtake) {
		last_due = rule ? &rule->last_due : &line->last_due;
		if ((int64_t)(due - *last_due) < 0)
			due = *last_due;
	}
	if (UNLIKELY(verdict.corrupt))
		corrupt(line, packet, verdict.random);
	if (verdict.copies)
		duplicate(line, packet, due, &verdict);
	if (push(line, packet, &due, &verdict))
		count_delay(line, rule, verdict.delay_cycles, due - arrival + subtracted);
	if (last_due)
		*last_due = due; /* with the time on a link: the next packet may have another one, after a change */
}

/*
 * Counts the packets transmitted at line->sent_at, and records their lateness. Called after the next clock reading, as
 * in the fixed loop.
 */
static void count_sent(struct line *line)
{
	for (uint16_t i = 0; i < line->sent_count; i++) {
		const struct queue_entry *entry = &line->sent[i];
		bool disturbed = line->gap || line->sent_in_gap || entry->disturbed ||
				 entry->sequence < line->disturbed_sequence;

		line->count.disturbed += disturbed;
		lateness_add(disturbed ? line->late_disturbed : line->late_clean, line->sent_at - entry->due, 1);
	}
	line->count.tx_packets += line->sent_count;
	line->sent_count = 0;
}

/*
 * Starts a transmit burst after the clock reading `now`: counts the packets of the previous transmit burst, and sets
 * the time of the new one to `now`.
 */
static void begin_burst(struct line *line, uint64_t now)
{
	count_sent(line);
	line->sent_at = now;
	line->sent_in_gap = line->gap;
}

/*
 * Fills the capture's records of the packets in the outbox. This is done before the port gets the packets, because the
 * port may free them. If the port refuses packets, their records are filled again before the next attempt. Returns the
 * number of records for which the ring had space.
 */
static uint32_t capture_outbox(const struct line *line)
{
	uint32_t captured = 0;

	while (line->capture && captured < line->outbox_count &&
	       capture_fill(line->capture, captured, line->outbox[captured].packet, line->sent_at, line->capture_tx,
			    true))
		captured++;
	return captured;
}

/*
 * Commits the records of the `sent` packets. After a gap since line->sent_at, the packets may have departed later than
 * sent_at, so their records get the current time. This is not done if transmitting is a system call: the call returns
 * after the receiver's kernel has handled the packet, so its duration cannot be distinguished from a gap.
 */
static void commit_captured(const struct worker *worker, const struct line *line, uint32_t captured, uint16_t sent)
{
	uint64_t now = dp_cycles();

	captured = MIN(captured, (uint32_t)sent);
	if (now - line->sent_at > worker->gap_cycles && !worker->timed_transmit)
		capture_restamp(line->capture, captured, now);
	capture_commit(line->capture, line->capture_tx, captured, sent);
}

/* Transmits the outbox; refused packets stay at its front. Returns true if all were accepted. */
static bool send_outbox(struct worker *worker, struct line *line)
{
	struct dp_packet *packets[LINE_TX_BURST];
	uint32_t captured = capture_outbox(line);
	uint16_t count = line->outbox_count, sent;

	for (uint16_t i = 0; i < count; i++)
		packets[i] = line->outbox[i].packet;
	sent = loop_transmit(worker, line, packets, count);
	if (line->capture)
		commit_captured(worker, line, captured, sent);
	for (uint16_t i = 0; i < sent; i++)
		line->sent[i] = line->outbox[i];
	line->sent_count = sent;
	for (uint16_t i = sent; i < count; i++)
		line->outbox[i - sent] = line->outbox[i];
	line->outbox_count = (uint16_t)(count - sent);
	line->count.tx_full += line->outbox_count;
	return line->outbox_count == 0;
}

/* Drops the packets that are too late at `now`; those in the outbox are due before those in the queue. */
static NOT_INLINED void drop_late(struct line *line, uint64_t now)
{
	const struct queue_entry *first;
	uint16_t late = 0;

	while (late < line->outbox_count && (int64_t)(now - line->outbox[late].due) > line->late_cycles)
		dp_packet_free(line->outbox[late++].packet);
	line->outbox_count = (uint16_t)(line->outbox_count - late);
	memmove(line->outbox, line->outbox + late, line->outbox_count * sizeof line->outbox[0]);
	line->count.too_late += late;
	while ((first = queue_first(&line->queue)) && (int64_t)(now - first->due) > line->late_cycles) {
		dp_packet_free(queue_pop(&line->queue).packet);
		line->count.too_late++;
	}
}

static void fill_outbox(struct line *line, uint64_t now)
{
	const struct queue_entry *first;

	while (line->outbox_count < LINE_TX_BURST && (first = queue_first(&line->queue)) &&
	       (int64_t)(now - first->due) >= 0)
		line->outbox[line->outbox_count++] = queue_pop(&line->queue);
}

static void release(struct worker *worker, struct line *line, uint64_t now, bool full)
{
	begin_burst(line, now);
	for (unsigned int round = 0; round < LINE_TX_ROUNDS; round++) {
		fill_outbox(line, now);
		if (line->outbox_count == 0)
			return;
		if (UNLIKELY(round == 0 && (int64_t)(now - line->outbox[0].due) > line->late_cycles)) {
			drop_late(line, now);
			return;
		}
		if (round > 0) { /* read the clock again, because the first transmit burst took time */
			now = dp_cycles();
			worker_look(worker, now, full);
			begin_burst(line, now);
		}
		if (!send_outbox(worker, line))
			return;
	}
}

static uint32_t take(struct worker *worker, struct line *line, uint64_t *now)
{
	struct dp_packet *packets[LINE_RX_BURST];
	uint16_t received = dp_receive(line->rx_port, 0, packets, LINE_RX_BURST);
	uint64_t arrival;

	if (received == 0)
		return 0;
	arrival = dp_cycles();
	worker_look(worker, arrival, received == LINE_RX_BURST);
	for (uint16_t i = 0; i < received; i++)
		take_packet(line, packets[i], arrival);
	*now = dp_cycles(); /* read the clock again, as modes and capture took time */
	return received;
}

static bool next(const struct line *line, uint64_t *due)
{
	const struct queue_entry *first = queue_first(&line->queue);

	if (!first)
		return false;
	*due = first->due;
	return true;
}

static const struct loop modal = {take, release, next, NULL};

void worker_modal_rounds(struct worker *worker, unsigned int rounds)
{
	loop_rounds(worker, modal, rounds);
}

void worker_modal_release(struct worker *worker)
{
	loop_drain(worker, modal);
}

void line_modal_settle(struct line *line)
{
	count_sent(line);
}
