/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * latency_view.c stores measurements, latency_maxima.c maintains the maxima and records changes, latency_read.c reads.
 * Each machine has a row of its measured pairs, sorted by the column of the other machine. So the pairs with the
 * machines of one rack are adjacent. To read a rack, latency_read.c first gives all its machines the rack's value for
 * pairs that were not measured, and then overwrites this value in one pass over the measured pairs.
 */
#ifndef COST_LATENCY_VIEW_PRIV_H
#define COST_LATENCY_VIEW_PRIV_H

#include <sched/cost/latency_view.h>

#include "pair_map.h"

struct measured_pair {
	uint32_t column; /* column of the pair's other machine */
	uint32_t seen_s; /* time of the last measurement by either end */
	float out_us;    /* round trip measured by this machine; negative = none */
	float in_us;     /* round trip measured by the other machine; negative = none */
};

struct measured_row {
	struct measured_pair *pairs;
	uint32_t count, capacity;
	uint32_t next; /* index after the pair found last: for sorted samples, the next search often ends there */
};

struct latency_view {
	const struct cost_layout *layout;
	struct measured_row *rows; /* [row_count] by machine */
	uint32_t row_count;
	uint64_t pair_entries; /* sum of rows[].count: each pair of different machines counts twice */
	uint64_t moves;        /* layout->moves when the pairs' columns were last updated */
	uint32_t *rack_first;  /* [rack_count + 1] copy of layout->rack_first as of `moves` */
	uint32_t rack_count;
	/* largest round trips between two racks, two pods; unreachable pairs do not count */
	struct pair_map rack_maximum, pod_maximum;
	uint64_t *stale_racks; /* a bit per rack: its maxima may be too large */
	bool any_stale, pods_stale;
	bool measured_only; /* latency_view_require_measured() */
	float *scratch;     /* [rack_count] */
	uint64_t *moved;    /* [row_count][words] a bit for each rack to which the machine's round trips changed */
	uint32_t words;     /* 64-bit words per machine in moved[] */
	uint32_t *moved_list, moved_count; /* [row_count] machines with bits in moved[] */
	uint8_t *is_moved;                 /* [row_count] by machine: 1 = it is in moved_list */
};

static inline float pair_value(const struct measured_pair *pair)
{
	return pair->out_us > pair->in_us ? pair->out_us : pair->in_us;
}

/* Returns the round trip as maxima count it: -1 (not measured) for an unreachable pair. */
static inline float finite_rtt(float rtt_us)
{
	return rtt_us < __builtin_inff() ? rtt_us : -1;
}

static inline uint32_t rack_of(const struct latency_view *view, uint32_t machine)
{
	return view->layout->cluster->machines[machine].rack;
}

static inline uint32_t pod_of(const struct latency_view *view, uint32_t machine)
{
	return view->layout->cluster->racks[rack_of(view, machine)].pod;
}

/* Returns the index of the first pair whose column is at least `column`. */
uint32_t measured_row_find(const struct measured_row *row, uint32_t column);

/* latency_maxima.c */
/* Reports that the pair's value changed from `before` to `after` (negative: not measured). Returns 0 or -ENOMEM. */
int latency_maxima_note(struct latency_view *view, uint32_t a, uint32_t b, float before, float after);
/* Recomputes the maxima that may have fallen. Call it after each batch. Returns 0 or -ENOMEM. */
int latency_maxima_settle(struct latency_view *view);

#endif
