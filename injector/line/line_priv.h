/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data that the loops and the control thread share. Marks say who writes a field:
 * - [L] the lcore that owns the line or worker
 * - [C] the control thread, before the lcore starts
 * - [A] both, atomically
 * Rounds, gaps, stalls and hiccups are explained in line.h, steps in loop_priv.h. Chores: between two rounds, a worker
 * adopts a new configuration and answers a request of the control thread.
 */
#ifndef LINE_LINE_PRIV_H
#define LINE_LINE_PRIV_H

#include <net/if.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <base/error.h>
#include <dp/packet.h>
#include <injector/line/capture.h>
#include <injector/line/line.h>

#include "mode_priv.h"

enum {
	LINE_RX_BURST = 32,
	LINE_TX_BURST = 16, /* small, so that the last packet of a burst is not released late */
	LINE_TX_ROUNDS = 4, /* maximum transmit bursts per release, so that a backlog of one line does not block the
			       other line */
	LINE_WAITS = 4,     /* maximum waits for due times in a step */
	LINE_POLLS_PER_CHORE = 64, /* rounds between two checks for a new configuration or request */
	/* Buckets of lateness in cycles: exact below 32, then 16 per octave (6 %), up to 2^36 cycles. */
	LATENESS_STEP_BITS = 4,
	LATENESS_OCTAVES = 32,
	LATENESS_BUCKETS = (LATENESS_OCTAVES + 1) << LATENESS_STEP_BITS,
};

/*
 * A received burst, whose packets all have the same due time. The pointers to its packets are in line.packets: receive
 * bursts write them there and transmit bursts read them there, without a copy. So a packet takes 8 bytes, and a receive
 * burst one line_burst of 16 bytes.
 */
struct line_burst {
	uint64_t due;       /* TSC */
	uint32_t end;       /* index after the burst's last packet; free-running like head and tail of the line */
	uint32_t disturbed; /* 1 if the packets arrived during a gap */
};

/* Converts a stamp `nic` of a NIC's clock to the TSC: tsc = tsc_0 + ((nic - nic_0) * multiplier >> 24). */
struct nic_clock {
	uint64_t nic_0, tsc_0, multiplier;
};

/*
 * A configuration of all lines. The control thread fills it, publishes it by one pointer (worker.next_config), and
 * never changes it after that.
 */
struct line_config {
	uint64_t delay_cycles[INJECTOR_DIRECTIONS];
	uint64_t subtract_cycles; /* time that a packet takes at D = 0; it is subtracted from each packet's delay */
	struct nic_clock nic_clock[INJECTOR_DIRECTIONS];
	struct rule_settings *rules[INJECTOR_DIRECTIONS][INJECTOR_RULES_MAXIMUM];
};

struct line_counters {
	uint64_t rx_packets, tx_packets, ring_full, too_late, tx_full, no_mbuf, lost, duplicated, corrupted, bypassed;
	uint64_t disturbed, calls;
	/* modal loop: packets held that were not exempt, and the sums of the delays requested and applied */
	uint64_t delayed, requested_cycles, applied_cycles;
};

/* Of one rule. */
struct rule_counters {
	uint64_t packets, lost;                             /* matched; dropped by a loss mode */
	uint64_t delayed, requested_cycles, applied_cycles; /* as in line_counters */
};

/* The state of one direction. Indices are free-running: index & mask is a place in the arrays. */
struct line {
	struct dp_packet **packets;      /* [C]; entries [L]; LINE_RX_BURST more entries than slots, see fixed_loop.c */
	struct line_burst *bursts;       /* [C]; entries [L]; as many as slots, as a burst has at least one packet */
	uint32_t mask, head, tail;       /* mask [C]; head, tail [L]: packets tail to head - 1 are held */
	uint32_t burst_head, burst_tail; /* [L] bursts burst_tail to burst_head - 1 have held packets */
	uint32_t counted, burst_counted; /* [L] packets `counted` to tail - 1 were transmitted at sent_at, but are not
					    in the counters yet; burst_counted is the burst of the first of them */
	uint16_t rx_port, tx_port;       /* [C] */
	bool unsettled;   /* [L] a gap occurred, and packets that arrived during it may still be in the receive queue */
	bool gap;         /* [L] a gap occurred since the last release */
	bool sent_in_gap; /* [L] a gap occurred between the previous release and sent_at */
	uint32_t disturbed_head; /* [L] packets before this index were held during a stall */
	uint64_t sent_at;        /* [L] TSC: clock reading before the latest transmit burst */
	int64_t late_cycles;     /* [C] later packets are dropped; INT64_MAX = none */
	uint64_t prepare_at;     /* [L] TSC from which on to call dp_transmit_poll(); UINT64_MAX = do not call it */
	uint64_t delay_cycles;   /* [L] time to hold a packet; in the modal loop, the delay before modes change it */
	uint64_t last_due; /* [L] TSC: the latest due time so far; later packets are never due before it, so order is
			      kept when D is lowered */
	struct line_counters count; /* [L] */
	/*
	 * [bucket of lateness]: transmitted packets that were not disturbed, and those that were; read by the control
	 * thread
	 */
	uint64_t late_clean[LATENESS_BUCKETS] CACHE_ALIGNED; /* [L] */
	uint64_t late_disturbed[LATENESS_BUCKETS];           /* [L] */
	/* [bucket of delay]: in the modal loop, packets whose delay was requested, and applied; buckets of lateness */
	uint64_t requested[LATENESS_BUCKETS], applied[LATENESS_BUCKETS]; /* [L] */

	/* Only for the modal loop: */
	struct injector_modes *modes; /* [C]; state [L] */
	struct injector_rules *rules; /* [C]; state [L]; NULL = none (rule_priv.h) */
	struct queue queue; /* [L] the held packets; the modal loop uses it instead of `packets` and `bursts` */
	/*
	 * [L] Packets are numbered in order of arrival. sequence: number of the next packet. Packets with numbers below
	 * disturbed_sequence were held during a stall.
	 */
	uint64_t sequence, disturbed_sequence;
	struct queue_entry outbox[LINE_TX_BURST];
	uint16_t outbox_count; /* [L] packets in the outbox: taken from the queue, but not accepted by the transmit port
				  yet */
	uint16_t sent_count;   /* [L] packets in `sent`: transmitted at sent_at, but not in the counters yet */
	struct queue_entry sent[LINE_TX_BURST];
	struct dp_stamps stamps;        /* [C] */
	struct nic_clock nic_clock;     /* [L] copied from the configuration */
	uint64_t subtract_cycles;       /* [L] copied from the configuration; subtracted from each packet's delay */
	struct capture_ring *capture;   /* [C] NULL = none */
	uint8_t capture_rx, capture_tx; /* [C] numbers of the receive and transmit port in the capture's records */
} CACHE_ALIGNED;

/* WORKER_DRAIN: receive no more, and end when no packet is held. */
enum worker_stop { WORKER_RUN, WORKER_DRAIN, WORKER_STOP };

enum worker_request { WORKER_REQUEST_READ, WORKER_REQUEST_RESET };

/*
 * A request and its sequence number share one atomic word, worker.requested. A late worker may read while the control
 * thread writes the next request; with two words, it could combine the number of one request with the kind of another.
 */
enum { WORKER_REQUEST_BITS = 1 };

struct worker_snapshot {
	struct line_counters count[INJECTOR_DIRECTIONS];
	uint64_t held[INJECTOR_DIRECTIONS];
	struct rule_counters rules[INJECTOR_DIRECTIONS][INJECTOR_RULES_MAXIMUM];
	uint64_t stalls, stall_cycles, stall_longest_cycles, stall_transmit_cycles, hiccups;
};

/* The state of one lcore, which serves one or both lines. */
struct worker {
	struct line *lines[INJECTOR_DIRECTIONS];                 /* [C] */
	enum injector_direction directions[INJECTOR_DIRECTIONS]; /* [C] of lines[i] */
	unsigned int line_count;                                 /* [C] */
	unsigned int lcore;                                      /* [C] */
	uint64_t last_look;                                      /* [L] TSC: the last clock reading */
	bool full;                 /* [L] a whole burst was received between the last two clock readings */
	uint64_t gap_cycles;       /* [C] a longer gap is a hiccup or a stall */
	uint64_t stall_gap_cycles; /* [C] a longer gap is a stall */
	int64_t wait_cycles;       /* [L] longest busy wait for the due time of a packet */
	uint64_t prepare_cycles;   /* [C] approximate time from a transmit call until the receiver has the packets */
	uint64_t chunk_cycles;     /* [L] shortest time that LINE_POLLS_PER_CHORE rounds have taken */
	uint64_t stalls, stall_cycles, stall_longest_cycles, hiccups; /* [L] */
	uint64_t stall_transmit_cycles;   /* [L] part of stall_cycles that was spent in transmit calls */
	bool timed_transmit;              /* [C] measure the time of transmit calls */
	uint64_t transmit_cycles;         /* [L] time spent in transmit calls since the clock reading transmit_since */
	uint64_t transmit_since;          /* [L] TSC */
	const struct line_config *config; /* [L] configuration in use */
	struct worker_snapshot snapshot;  /* [L] the counters as of the last WORKER_REQUEST_READ; valid for the control
					     thread once `answered` equals `requested` */
	_Atomic(const struct line_config *) next_config CACHE_ALIGNED; /* [A] control -> lcore */
	_Atomic(const struct line_config *) seen_config;               /* [A] lcore -> control */
	_Atomic uint32_t requested;      /* [A] sequence number << WORKER_REQUEST_BITS | enum worker_request */
	_Atomic uint32_t answered;       /* [A] the value of `requested` that was answered last */
	_Atomic int stop;                /* [A] enum worker_stop */
	_Atomic bool ended;              /* [A] the loop has ended */
	int nice;                        /* [C] */
	bool modal;                      /* [C] runs the modal loop */
	bool running;                    /* [C] */
	unsigned int polls_since_chores; /* [C] rounds since the last chores; used only by worker_poll() */
} CACHE_ALIGNED;

/*
 * worker.c: worker_run() runs the loop of an lcore until `stop`; worker_drain() then transmits the held packets if
 * `stop` is WORKER_DRAIN; worker_poll() runs some rounds of the loop, for injector_poll().
 */
void worker_run(struct worker *worker);
void worker_drain(struct worker *worker);
void worker_poll(struct worker *worker, unsigned int rounds);
/*
 * Call them between two rounds. worker_adopt_config() makes the worker use a new configuration; worker_answer() answers
 * the last request.
 */
void worker_adopt_config(struct worker *worker, const struct line_config *config);
void worker_answer(struct worker *worker);

/* gap.c: records a gap that is a hiccup or a stall, and marks the packets that it disturbs. */
void worker_note_gap(struct worker *worker, uint64_t gap);

/* Adds `cycles`, the duration of a transmit call, to the time spent in transmit calls since the last clock reading. */
static inline void worker_add_transmit(struct worker *worker, uint64_t cycles)
{
	if (worker->transmit_since != worker->last_look)
		worker->transmit_cycles = 0;
	worker->transmit_since = worker->last_look;
	worker->transmit_cycles += cycles;
}

/*
 * Call it after each clock reading. `now` is the reading; `whole` is the number of whole bursts received since the
 * previous reading. The gap between the two readings may be longer if there were whole bursts. Records a gap that is
 * longer than permitted.
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

/*
 * Like worker_look_after() if at most one burst was received since the previous reading. `full`: it was a whole burst.
 */
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

/*
 * Adds `count` packets to the bucket of their lateness. The store is relaxed and atomic, because the control thread
 * reads while the lcore counts; it costs the same as a plain addition.
 */
static inline void lateness_add(uint64_t *buckets, uint64_t late_cycles, uint64_t count)
{
	uint64_t *bucket = &buckets[lateness_bucket(late_cycles)];

	__atomic_store_n(bucket, *bucket + count, __ATOMIC_RELAXED);
}

void worker_fixed_rounds(struct worker *worker, unsigned int rounds);
void worker_modal_rounds(struct worker *worker, unsigned int rounds);
/* Transmit the packets that are due, and receive none. */
void worker_fixed_release(struct worker *worker);
void worker_modal_release(struct worker *worker);

/* Adds the packets that the fixed loop has transmitted, but not counted yet, to the counters of the line. */
void line_fixed_settle(struct line *line);
/* Like line_fixed_settle(), for the modal loop. */
void line_modal_settle(struct line *line);

/*
 * The part of the capture that runs on the lcores: a single-producer single-consumer ring of records per direction. The
 * lcore copies the first bytes of each frame and the TSC into a record; the capture's writer thread writes the records
 * to the file.
 */

enum { CAPTURE_RECORD_BYTES = 256, CAPTURE_SNAP_BYTES = CAPTURE_RECORD_BYTES - 16, CAPTURE_RECORDS = 1 << 16 };

struct capture_record {
	uint64_t tsc;      /* arrival or departure of the frame */
	uint32_t length;   /* length of the frame, bytes */
	uint16_t captured; /* number of valid bytes in bytes[] */
	uint8_t port;      /* 0 = A, 1 = B */
	uint8_t outbound;
	uint8_t bytes[CAPTURE_SNAP_BYTES];
};

struct capture_ring {
	struct capture_record *records;      /* [CAPTURE_RECORDS] */
	_Atomic uint32_t head CACHE_ALIGNED; /* producer */
	_Atomic uint64_t lost[2]; /* written by the lcore: frames of port A and B lost because the ring was full */
	_Atomic uint32_t tail CACHE_ALIGNED; /* consumer */
};

/* Returns the ring that the lcore of this direction fills. */
struct capture_ring *capture_ring_of(struct injector_capture *capture, unsigned int direction);

/* Fills the record that is `ahead` places after the first uncommitted one. Returns false if the ring is full. */
static inline bool capture_fill(struct capture_ring *ring, uint32_t ahead, const struct dp_packet *packet, uint64_t tsc,
				uint8_t port, bool outbound)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed) + ahead;
	struct capture_record *record = &ring->records[head & (CAPTURE_RECORDS - 1)];

	if (head - atomic_load_explicit(&ring->tail, memory_order_acquire) >= CAPTURE_RECORDS)
		return false;
	record->tsc = tsc;
	record->length = dp_packet_length(packet);
	record->captured = (uint16_t)MIN(dp_packet_contiguous(packet), (uint16_t)CAPTURE_SNAP_BYTES);
	record->port = port;
	record->outbound = outbound;
	memcpy(record->bytes, dp_packet_bytes(packet), record->captured);
	return true;
}

/* Sets the times of the first `filled` uncommitted records. */
static inline void capture_restamp(struct capture_ring *ring, uint32_t filled, uint64_t tsc)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	for (uint32_t i = 0; i < filled; i++)
		ring->records[(head + i) & (CAPTURE_RECORDS - 1)].tsc = tsc;
}

/*
 * Commits the first `filled` uncommitted records, which belong to one port. `seen` is the number of frames that passed
 * the port since the last commit; those without a record (seen - filled) count as lost.
 */
static inline void capture_commit(struct capture_ring *ring, uint8_t port, uint32_t filled, uint32_t seen)
{
	if (UNLIKELY(filled < seen))
		atomic_store_explicit(&ring->lost[port],
				      atomic_load_explicit(&ring->lost[port], memory_order_relaxed) + seen - filled,
				      memory_order_relaxed);
	atomic_store_explicit(&ring->head, atomic_load_explicit(&ring->head, memory_order_relaxed) + filled,
			      memory_order_release);
}

/*
 * Protects the Linux interfaces behind an injector's ports. Refuses an interface that the host itself uses. Restores
 * the flags of an interface at the end; if the injector is killed before, the next injector restores them. Call these
 * functions on the control thread.
 */

struct interface {
	char name[IF_NAMESIZE]; /* "" = the port is not an interface */
	unsigned int index;
	unsigned int flags; /* flags of the interface before the injector changed them: IFF_UP, IFF_PROMISC */
};

/* Sets `name` to the interface that a port's name (dp/port.h) refers to, or to "" if there is none. */
void interface_of_port(const char *port, char name[IF_NAMESIZE]);

/*
 * Returns 0, or -EBUSY with err set if the host uses the interface, that is, if it has an address or is in an IPv4
 * route. Link-local IPv6 addresses, which every interface has, do not count.
 */
int interface_check_unused(const char *name, struct error *err);

/*
 * Reads the flags of a port's interface and writes them to a note, the file /run/nomora/interface-*. If a killed
 * injector left such a note, takes the flags from it, because the interface still has the flags of the killed injector.
 */
void interface_note(const char *port, struct interface *interface);

/* Restores the flags, and removes the note. */
void interface_restore(const struct interface *interface);

/* The whole injector, as the control thread sees it. */
struct injector {
	struct worker workers[INJECTOR_DIRECTIONS];
	unsigned int worker_count;
	struct line *lines[INJECTOR_DIRECTIONS];
	const struct line_config *config; /* the configuration that was published last */
	struct dp_clock clock;
	struct nic_clock nic_clock[INJECTOR_DIRECTIONS];
	double delay_us[INJECTOR_DIRECTIONS];
	struct injector_modes *modes[INJECTOR_DIRECTIONS]; /* borrowed */
	struct injector_rules *rules[INJECTOR_DIRECTIONS]; /* borrowed */
	double subtract_ns, expected_pps, stall_us, hiccup_ns;
	uint64_t delay_changes;
	uint32_t slots;
	bool modal;
};

/* Sets the time that is subtracted from every delay; keeps the old value if out of memory. */
void injector_set_subtract_ns(struct injector *injector, double ns);

/* Returns the middle of a lateness bucket, in cycles. */
double lateness_middle(uint32_t bucket);

#endif
