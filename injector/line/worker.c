/* SPDX-License-Identifier: BSD-3-Clause */
/* An lcore's housekeeping between bursts. It makes no system call and allocates no memory. */
#include <math.h>
#include <string.h>

#include "injector_priv.h"

void worker_adopt_config(struct worker *worker, const struct line_config *config)
{
	for (unsigned int i = 0; i < worker->line_count; i++) {
		struct line *line = worker->lines[i];
		uint64_t cycles = config->delay_cycles[worker->directions[i]];

		line->delay_cycles = worker->modal ? cycles : cycles - MIN(cycles, config->subtract_cycles);
		line->subtract_cycles = config->subtract_cycles;
		line->nic_clock = config->nic_clock[worker->directions[i]];
	}
	worker->config = config;
	atomic_store_explicit(&worker->seen_config, config, memory_order_release);
}

void worker_note_gap(struct worker *worker, uint64_t gap)
{
	bool stall = gap > worker->stall_gap_cycles;

	worker->hiccups += !stall;
	worker->stalls += stall;
	worker->stall_cycles += stall ? gap : 0;
	if (stall && gap > worker->stall_longest_cycles)
		worker->stall_longest_cycles = gap;
	if (stall && worker->transmit_since == worker->last_look - gap) /* last_look is the end of the gap already */
		worker->stall_transmit_cycles += worker->transmit_cycles;
	for (unsigned int i = 0; i < worker->line_count; i++) {
		struct line *line = worker->lines[i];

		line->unsettled = line->gap = true;
		if (!stall)
			continue;
		line->disturbed_head = line->head;
		line->disturbed_sequence = line->sequence;
	}
}

/* Between two rounds of either loop. */
static void settle(struct line *line)
{
	if (line->packets)
		line_fixed_settle(line);
	else
		line_modal_settle(line);
}

static uint64_t held(const struct line *line)
{
	return line->packets ? line->head - line->tail : line->heap.count + line->outbox_count;
}

static void take_snapshot(struct worker *worker)
{
	struct worker_snapshot *snapshot = &worker->snapshot;

	for (unsigned int i = 0; i < worker->line_count; i++) {
		struct line *line = worker->lines[i];

		settle(line);
		snapshot->count[i] = line->count;
		snapshot->held[i] = held(line);
	}
	snapshot->stalls = worker->stalls;
	snapshot->stall_cycles = worker->stall_cycles;
	snapshot->stall_longest_cycles = worker->stall_longest_cycles;
	snapshot->hiccups = worker->hiccups;
	snapshot->stall_transmit_cycles = worker->stall_transmit_cycles;
}

static void reset(struct worker *worker)
{
	for (unsigned int i = 0; i < worker->line_count; i++) {
		struct line *line = worker->lines[i];

		settle(line);
		memset(&line->count, 0, sizeof line->count);
		/* Held packets count as received now, so that the sums stay consistent. */
		line->count.rx_packets = held(line);
		for (uint32_t bucket = 0; bucket < LATENESS_BUCKETS; bucket++) {
			__atomic_store_n(&line->late_clean[bucket], 0, __ATOMIC_RELAXED);
			__atomic_store_n(&line->late_disturbed[bucket], 0, __ATOMIC_RELAXED);
		}
	}
	worker->stalls = worker->stall_cycles = worker->stall_longest_cycles = worker->hiccups = 0;
	worker->stall_transmit_cycles = 0;
}

void worker_answer(struct worker *worker)
{
	uint32_t requested = atomic_load_explicit(&worker->requested, memory_order_acquire);

	if ((requested & ((1U << WORKER_REQUEST_BITS) - 1)) == WORKER_REQUEST_RESET)
		reset(worker);
	else
		take_snapshot(worker);
	atomic_store_explicit(&worker->answered, requested, memory_order_release);
}

double lateness_middle(uint32_t bucket)
{
	uint32_t octave;

	if (bucket < (2U << LATENESS_STEP_BITS))
		return bucket;
	octave = (bucket >> LATENESS_STEP_BITS) - 1;
	return ldexp((double)((1U << LATENESS_STEP_BITS) + (bucket & ((1U << LATENESS_STEP_BITS) - 1))) + 0.5,
		     (int)octave);
}
