/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The code of an lcore: rounds of its loop, and housekeeping between them. It allocates no memory, and makes no system
 * call, except in drivers whose bursts are system calls.
 */
#include <math.h>
#include <string.h>

#include "line_priv.h"
#include "rule_priv.h"

void worker_adopt_config(struct worker *worker, const struct line_config *config)
{
	for (unsigned int i = 0; i < worker->line_count; i++) {
		struct line *line = worker->lines[i];
		uint64_t cycles = config->delay_cycles[worker->directions[i]];

		line->delay_cycles = worker->modal ? cycles : cycles - MIN(cycles, config->subtract_cycles);
		line->subtract_cycles = config->subtract_cycles;
		line->nic_clock = config->nic_clock[worker->directions[i]];
		for (size_t r = 0; line->rules && r < line->rules->count; r++)
			line->rules->rules[r].settings = config->rules[worker->directions[i]][r];
	}
	worker->config = config;
	atomic_store_explicit(&worker->seen_config, config, memory_order_release);
}

/* Counts the packets transmitted so far. Called between two rounds of either loop. */
static void settle(struct line *line)
{
	if (line->packets)
		line_fixed_settle(line);
	else
		line_modal_settle(line);
}

static uint64_t held(const struct line *line)
{
	return line->packets ? line->head - line->tail : line->queue.count + line->outbox_count;
}

static void take_snapshot(struct worker *worker)
{
	struct worker_snapshot *snapshot = &worker->snapshot;

	for (unsigned int i = 0; i < worker->line_count; i++) {
		struct line *line = worker->lines[i];

		settle(line);
		snapshot->count[i] = line->count;
		snapshot->held[i] = held(line);
		for (size_t r = 0; line->rules && r < line->rules->count; r++)
			snapshot->rules[i][r] = line->rules->rules[r].count;
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
		rules_reset(line->rules);
		/* The held packets count as received after the reset, so that rx = tx + held + ... is still true. */
		line->count.rx_packets = held(line);
		for (uint32_t bucket = 0; bucket < LATENESS_BUCKETS; bucket++) {
			__atomic_store_n(&line->late_clean[bucket], 0, __ATOMIC_RELAXED);
			__atomic_store_n(&line->late_disturbed[bucket], 0, __ATOMIC_RELAXED);
			__atomic_store_n(&line->requested[bucket], 0, __ATOMIC_RELAXED);
			__atomic_store_n(&line->applied[bucket], 0, __ATOMIC_RELAXED);
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

static void do_chores(struct worker *worker)
{
	const struct line_config *config = atomic_load_explicit(&worker->next_config, memory_order_acquire);

	if (UNLIKELY(config != worker->config))
		worker_adopt_config(worker, config);
	if (UNLIKELY(atomic_load_explicit(&worker->requested, memory_order_acquire) !=
		     atomic_load_explicit(&worker->answered, memory_order_relaxed)))
		worker_answer(worker);
}

static void do_rounds(struct worker *worker, unsigned int rounds)
{
	if (worker->modal)
		worker_modal_rounds(worker, rounds);
	else
		worker_fixed_rounds(worker, rounds);
}

/*
 * Adapts the longest busy wait to `cycles`, the time that LINE_POLLS_PER_CHORE rounds took. The shortest of these times
 * is that of idle rounds. The longest wait is the time of two idle rounds, but at most the hiccup threshold.
 */
static void learn_round(struct worker *worker, uint64_t cycles)
{
	if (LIKELY(cycles >= worker->chunk_cycles))
		return;
	worker->chunk_cycles = cycles;
	worker->wait_cycles = (int64_t)MIN(2 * cycles / LINE_POLLS_PER_CHORE, worker->gap_cycles);
}

void worker_run(struct worker *worker)
{
	worker->last_look = dp_cycles();
	while (atomic_load_explicit(&worker->stop, memory_order_relaxed) == WORKER_RUN) {
		uint64_t before = worker->last_look;

		do_rounds(worker, LINE_POLLS_PER_CHORE);
		learn_round(worker, worker->last_look - before);
		do_chores(worker);
	}
}

static uint64_t held_by(const struct worker *worker)
{
	uint64_t count = 0;

	for (unsigned int i = 0; i < worker->line_count; i++)
		count += held(worker->lines[i]);
	return count;
}

void worker_drain(struct worker *worker)
{
	while (atomic_load_explicit(&worker->stop, memory_order_relaxed) == WORKER_DRAIN && held_by(worker) > 0) {
		if (worker->modal)
			worker_modal_release(worker);
		else
			worker_fixed_release(worker);
		do_chores(worker);
	}
}

void worker_poll(struct worker *worker, unsigned int rounds)
{
	if (worker->last_look == 0)
		worker->last_look = dp_cycles();
	do_rounds(worker, rounds);
	worker->polls_since_chores += rounds;
	if (worker->polls_since_chores < LINE_POLLS_PER_CHORE)
		return;
	worker->polls_since_chores = 0;
	do_chores(worker);
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
