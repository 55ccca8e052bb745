/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fixed delay, and nothing else: one clock reading per receive burst, 16 bytes per packet held. A burst's packets
 * share one due time, so their lateness is counted in one go.
 */
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_prefetch.h>

#include "line_priv.h"

static __rte_always_inline void hold(struct line *line, struct rte_mbuf **packets, uint32_t count, uint64_t now)
{
	uint64_t due = now + line->delay_cycles;
	uint32_t room = line->mask + 1 - (line->head - line->tail);

	line->count.rx_packets += count;
	if (unlikely(count > room)) {
		rte_pktmbuf_free_bulk(packets + room, count - room);
		line->count.ring_full += count - room;
		count = room;
	}
	if (unlikely((int64_t)(due - line->last_due) < 0))
		due = line->last_due; /* D was lowered: behind the packets that still wait for the old one */
	line->last_due = due;
	for (uint32_t i = 0; i < count; i++) {
		struct line_slot *slot = &line->slots[(line->head + i) & line->mask];

		slot->due = due;
		slot->packet = packets[i];
	}
	line->head += count;
}

static __rte_always_inline void count_sent(struct line *line, uint32_t sent, uint64_t now)
{
	uint32_t to_mark = line->disturbed_head - line->tail;
	uint32_t disturbed = 0;

	if (unlikely((int32_t)to_mark > 0))
		disturbed = RTE_MIN(to_mark, sent);
	line->count.disturbed += disturbed;
	for (uint32_t i = 0; i < sent;) {
		uint64_t due = line->slots[(line->tail + i) & line->mask].due;
		uint32_t end = i < disturbed ? disturbed : sent;
		uint32_t run = i + 1;

		while (run < end && line->slots[(line->tail + run) & line->mask].due == due)
			run++;
		lateness_add(i < disturbed ? line->late_disturbed : line->late_clean, now - due, run - i);
		i = run;
	}
	line->tail += sent;
	line->count.tx_packets += sent;
	if ((int32_t)(line->disturbed_head - line->tail) < 0)
		line->disturbed_head = line->tail; /* dragged along, so that it never wraps around */
}

static __rte_always_inline void release(struct line *line, uint64_t now)
{
	for (unsigned int round = 0; round < LINE_TX_ROUNDS; round++) {
		struct rte_mbuf *packets[LINE_TX_BURST];
		uint32_t limit = RTE_MIN(line->head - line->tail, (uint32_t)LINE_TX_BURST);
		uint32_t count = 0;
		uint16_t sent;

		while (count < limit) {
			const struct line_slot *slot = &line->slots[(line->tail + count) & line->mask];

			if ((int64_t)(now - slot->due) < 0)
				break;
			packets[count++] = slot->packet;
		}
		if (count == 0)
			return;
		sent = rte_eth_tx_burst(line->tx_port, 0, packets, (uint16_t)count);
		count_sent(line, sent, now);
		if (unlikely(sent < count)) {
			line->count.tx_full += count - sent;
			return;
		}
		if (count < LINE_TX_BURST)
			return;
	}
}

static __rte_always_inline void poll(struct worker *worker, struct line *line)
{
	struct rte_mbuf *packets[LINE_RX_BURST];
	uint16_t received = rte_eth_rx_burst(line->rx_port, 0, packets, LINE_RX_BURST);
	uint64_t now = rte_rdtsc();

	worker_look(worker, now);
	if (received > 0)
		hold(line, packets, received, now);
	if (unlikely(line->stall_pending)) {
		/* What lay in the receive queue during the stall met it as well: all of it, until a burst is short. */
		line->disturbed_head = line->head;
		line->stall_pending = received == LINE_RX_BURST;
	}
	release(line, now);
}

int worker_fixed_loop(void *argument)
{
	struct worker *worker = argument;

	worker->last_poll = rte_rdtsc();
	while (!atomic_load_explicit(&worker->stop, memory_order_relaxed)) {
		for (unsigned int i = 0; i < LINE_POLLS_PER_CHORE; i++) {
			poll(worker, worker->lines[0]);
			if (worker->line_count > 1)
				poll(worker, worker->lines[1]);
		}
		for (unsigned int i = 0; i < worker->line_count; i++)
			worker->lines[i]->count.calls += LINE_POLLS_PER_CHORE;
		worker_chores(worker);
	}
	return 0;
}
