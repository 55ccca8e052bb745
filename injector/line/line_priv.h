/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data shared by the loops and the control thread. Each field says who writes it: [L] the lcore that owns the line or
 * worker, [C] the control thread before start, [A] both, as an atomic.
 */
#ifndef INJECTOR_LINE_PRIV_H
#define INJECTOR_LINE_PRIV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <dp/packet.h>
#include <injector/line/line.h>

#include "capture_priv.h"
#include "heap_priv.h"
#include "hints_priv.h"
#include "mode_priv.h"

enum {
	LINE_RX_BURST = 32,
	LINE_TX_BURST = 16,        /* small, so that the last packet of a burst is not released late */
	LINE_TX_ROUNDS = 4,        /* maximum bursts per poll, so that a backlog does not block the other direction */
	LINE_WAITS = 4,            /* maximum waits for due times in a step */
	LINE_POLLS_PER_CHORE = 64, /* polls between two checks for a new configuration or request */
	/* Buckets of lateness in cycles: exact below 32, then 16 per octave (6 %), up to 2^36 cycles. */
	LATENESS_STEP_BITS = 4,
	LATENESS_OCTAVES = 32,
	LATENESS_BUCKETS = (LATENESS_OCTAVES + 1) << LATENESS_STEP_BITS,
};

/*
 * All packets received in one burst have the same due time. So a line has an array of packet pointers, which receive
 * bursts fill and transmit bursts read without a copy (8 bytes per packet), and one line_burst for each receive burst
 * (16 bytes).
 */
struct line_burst {
	uint64_t due;       /* TSC */
	uint32_t end;       /* index after its last packet; free-running like head and tail */
	uint32_t disturbed; /* arrived during a gap */
};

/* NIC clock -> TSC: tsc = tsc_0 + ((nic - nic_0) * multiplier >> 24). */
struct nic_clock {
	uint64_t nic_0, tsc_0, multiplier;
};

/* Written once by the control thread, then published by one pointer and never changed. */
struct line_config {
	uint64_t delay_cycles[INJECTOR_DIRECTIONS];
	uint64_t subtract_cycles; /* delay of the path itself, subtracted from the final delay */
	struct nic_clock nic_clock[INJECTOR_DIRECTIONS];
};

struct line_counters {
	uint64_t rx_packets, tx_packets, ring_full, tx_full, no_mbuf, lost, duplicated, bypassed, disturbed, calls;
};

/* One direction. */
struct line {
	struct dp_packet **packets;      /* [C]; entries [L]; LINE_RX_BURST more entries than slots, see fixed_loop.c */
	struct line_burst *bursts;       /* [C]; entries [L]; one per slot, as a burst has at least one packet */
	uint32_t mask, head, tail;       /* mask [C]; head and tail [L], free running */
	uint32_t burst_head, burst_tail; /* [L], free running */
	uint32_t counted, burst_counted; /* [L] packets from these to the tails were transmitted at sent_at, but not
					    counted yet */
	uint16_t rx_port, tx_port;       /* [C] */
	bool unsettled;                  /* [L] a gap occurred, and the receive queue has not been emptied since */
	bool gap;                        /* [L] a gap occurred since the last release */
	bool sent_in_gap;                /* [L] */
	uint32_t disturbed_head;         /* [L] packets before this met a stall; always the end of a burst */
	uint64_t sent_at;                /* [L] TSC */
	uint64_t prepare_at;             /* [L] TSC at which to poll the transmit port; UINT64_MAX = done */
	uint64_t delay_cycles;           /* [L] holding time of a packet; in the modal loop, before modes change it */
	uint64_t last_due;               /* [L] keeps due times monotone when D is lowered */
	struct line_counters count;      /* [L] */
	uint64_t late_clean[LATENESS_BUCKETS] CACHE_ALIGNED; /* [L], read relaxed by [C] */
	uint64_t late_disturbed[LATENESS_BUCKETS];           /* [L], read relaxed by [C] */

	/* Only for the modal loop: */
	struct injector_modes *modes;          /* [C]; state [L] */
	struct heap heap;                      /* [L] instead of packets and bursts */
	uint64_t sequence, disturbed_sequence; /* [L] packets before disturbed_sequence met a stall */
	struct heap_entry outbox[LINE_TX_BURST];
	uint16_t outbox_count; /* [L] packets taken from the heap that the port has not accepted yet */
	uint16_t sent_count;   /* [L] packets of `sent` that left at sent_at and are not counted yet */
	struct heap_entry sent[LINE_TX_BURST];
	struct dp_stamps stamps;        /* [C] */
	struct nic_clock nic_clock;     /* [L] copy of the configuration */
	uint64_t subtract_cycles;       /* [L] copy of the configuration; subtracted from the final delay */
	struct capture_ring *capture;   /* [C] NULL = none */
	uint8_t capture_rx, capture_tx; /* [C] numbers of the ports in the records */
} CACHE_ALIGNED;

enum worker_request { WORKER_REQUEST_READ, WORKER_REQUEST_RESET };

/*
 * The request and its number share one atomic word: a worker that is late with a request may read it while the control
 * thread writes the next one.
 */
enum { WORKER_REQUEST_BITS = 1 };

struct worker_snapshot {
	struct line_counters count[INJECTOR_DIRECTIONS];
	uint64_t held[INJECTOR_DIRECTIONS];
	uint64_t stalls, stall_cycles, stall_longest_cycles, stall_transmit_cycles, hiccups;
};

/* One lcore. */
struct worker {
	struct line *lines[INJECTOR_DIRECTIONS];                 /* [C] */
	enum injector_direction directions[INJECTOR_DIRECTIONS]; /* [C] of lines[i] */
	unsigned int line_count;                                 /* [C] */
	unsigned int lcore;                                      /* [C] */
	uint64_t last_look;                                      /* [L] TSC */
	bool full;                                               /* [L] a whole burst was received in the last step */
	uint64_t gap_cycles;                                     /* [C] a longer gap is at least a hiccup */
	uint64_t stall_gap_cycles;                               /* [C] a longer gap is a stall */
	int64_t wait_cycles;                                     /* [L] longest wait for a due time */
	uint64_t prepare_cycles; /* [C] approximate time until the receiver has the packets */
	uint64_t chunk_cycles;   /* [L] shortest time between two chores */
	uint64_t stalls, stall_cycles, stall_longest_cycles, hiccups; /* [L] */
	uint64_t stall_transmit_cycles;                               /* [L] part of stall_cycles in transmit calls */
	bool timed_transmit;                                          /* [C] measure the time of transmit calls */
	uint64_t transmit_cycles;         /* [L] time in transmit calls since transmit_since */
	uint64_t transmit_since;          /* [L] TSC */
	const struct line_config *config; /* [L] configuration in use */
	struct worker_snapshot snapshot;  /* [L] until `answered`, then [C] */
	_Atomic(const struct line_config *) next_config CACHE_ALIGNED; /* [A] control -> lcore */
	_Atomic(const struct line_config *) seen_config;               /* [A] lcore -> control */
	_Atomic uint32_t requested;      /* [A] number << WORKER_REQUEST_BITS | enum worker_request */
	_Atomic uint32_t answered;       /* [A] the last answered request */
	_Atomic bool stop;               /* [A] */
	_Atomic bool ended;              /* [A] the loop has ended */
	int nice;                        /* [C] */
	bool modal;                      /* [C] runs the modal loop */
	bool running;                    /* [C] */
	unsigned int polls_since_chores; /* [C] counted if the caller polls */
} CACHE_ALIGNED;

/*
 * worker.c: worker_run() runs the loop of an lcore until `stop`; worker_poll() runs some rounds of it, for
 * injector_poll().
 */
void worker_run(struct worker *worker);
void worker_poll(struct worker *worker, unsigned int rounds);
/* To be called between two rounds: the first uses a new configuration, the second answers the last request. */
void worker_adopt_config(struct worker *worker, const struct line_config *config);
void worker_answer(struct worker *worker);

/* gap.c: counts a gap between two clock readings that is at least a hiccup. */
void worker_note_gap(struct worker *worker, uint64_t gap);

/* Adds the time of a transmit call, `cycles`. */
static inline void worker_add_transmit(struct worker *worker, uint64_t cycles)
{
	if (worker->transmit_since != worker->last_look)
		worker->transmit_cycles = 0;
	worker->transmit_since = worker->last_look;
	worker->transmit_cycles += cycles;
}

/*
 * Takes the clock reading `now`, and records the gap since the last reading if it is too long. `whole`: the number of
 * whole bursts forwarded in between.
 */
static inline void worker_look_after(struct worker *worker, uint64_t now, unsigned int whole)
{
	uint64_t gap = now - worker->last_look, most = worker->gap_cycles;

	if (whole > 0 || worker->full)
		most = whole > 1 ? whole * worker->stall_gap_cycles : worker->stall_gap_cycles;
	worker->last_look = now;
	worker->full = whole > 0;
	if (UNLIKELY(gap > most))
		worker_note_gap(worker, gap);
}

/* The same for one burst. `full`: it was a whole burst. */
static inline void worker_look(struct worker *worker, uint64_t now, bool full)
{
	worker_look_after(worker, now, full);
}

static inline uint32_t lateness_bucket(uint64_t cycles)
{
	uint32_t octave;

	if (cycles < (2U << LATENESS_STEP_BITS))
		return (uint32_t)cycles;
	octave = 63U - (uint32_t)__builtin_clzll(cycles) - LATENESS_STEP_BITS;
	if (octave >= LATENESS_OCTAVES)
		return LATENESS_BUCKETS - 1;
	return (octave << LATENESS_STEP_BITS) + (uint32_t)(cycles >> octave);
}

/* Relaxed, because the control thread reads while the lcore counts; costs the same as a plain addition. */
static inline void lateness_add(uint64_t *buckets, uint64_t late_cycles, uint64_t count)
{
	uint64_t *bucket = &buckets[lateness_bucket(late_cycles)];

	__atomic_store_n(bucket, *bucket + count, __ATOMIC_RELAXED);
}

/* Run a number of rounds of the loop. */
void worker_fixed_rounds(struct worker *worker, unsigned int rounds);
void worker_modal_rounds(struct worker *worker, unsigned int rounds);

/* Counts the packets that the fixed loop transmitted and did not count yet. */
void line_fixed_settle(struct line *line);
/* The same for the modal loop. */
void line_modal_settle(struct line *line);

#endif
