/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The round trip between any two machines of a cluster, measured or not, and where each value comes from. A pair that
 * was not measured gets the largest round trip measured between the two racks, else between the two pods, else the
 * topology's default; a machine to itself, where that was not measured, the constant for it. Round trips are
 * microseconds of type float (24 bits: exact to 1 ns up to 16 ms).
 *
 * A pair has one value: the larger of what either end saw, if both measured (NoMora 5.2: the maximum, because nobody
 * knows which of the paths a flow will take). One writer; readers need its lock.
 */
#ifndef COST_LATENCY_VIEW_H
#define COST_LATENCY_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <model/cluster.h>
#include <model/latency_matrix.h>

#include <sched/cost/layout.h>

enum latency_statistic { LATENCY_STATISTIC_MAX, LATENCY_STATISTIC_P99, LATENCY_STATISTIC_P50 };

enum latency_origin {
	LATENCY_ORIGIN_MEASURED,     /* this pair */
	LATENCY_ORIGIN_RACK_PAIR,    /* maximum over the measured pairs between the two racks */
	LATENCY_ORIGIN_POD_PAIR,     /* maximum over the measured pairs between the two pods */
	LATENCY_ORIGIN_TOPOLOGY,     /* the cluster's default for this distance */
	LATENCY_ORIGIN_SAME_MACHINE, /* the cluster's constant within a machine that was not measured to itself */
};

/* "measured", "rack pair", "pod pair", "topology", "same machine". */
const char *latency_origin_name(enum latency_origin origin);

struct latency_view;

/* Nothing measured yet. NULL with errno ENOMEM. Cluster and layout must outlive the view. */
struct latency_view *latency_view_create(const struct cost_layout *layout);
void latency_view_destroy(struct latency_view *view); /* NULL is legal */

/* What latency_view_load() met. */
struct latency_view_load {
	uint64_t pairs;           /* taken */
	uint64_t unanswered;      /* rows without a round trip: the pair counts as not measured */
	uint64_t unknown;         /* rows that name a machine the cluster does not have; left out */
	const char *unknown_name; /* the first of them, lives with the matrix; NULL = none */
};

/* Takes in every pair of a matrix. 0 or -ENOMEM with err set. */
int latency_view_load(struct latency_view *view, const struct latency_matrix *matrix, enum latency_statistic statistic,
		      struct latency_view_load *outcome, struct error *err);

/* What a change of one pair moved, so that rows computed from the view can be mended. */
enum latency_moved {
	LATENCY_MOVED_NOTHING,
	LATENCY_MOVED_PAIR,      /* this pair alone */
	LATENCY_MOVED_RACK_PAIR, /* perhaps all pairs between the two racks */
	LATENCY_MOVED_POD_PAIR,  /* perhaps all pairs between the two pods */
};

/*
 * `source` saw this round trip to `destination` (machine numbers); under 0 or NAN: not measured any more. Returns an
 * enum latency_moved, or -ENOMEM.
 */
int latency_view_set(struct latency_view *view, uint32_t source, uint32_t destination, float rtt_us);

/* The round trip between two machines; *origin may be NULL. */
float latency_view_get(const struct latency_view *view, uint32_t a, uint32_t b, enum latency_origin *origin);

/* Round trips from machine `root` to the columns first..first+count-1 of the layout; -1 for padding. */
void latency_view_row(const struct latency_view *view, uint32_t root, uint32_t first, uint32_t count, float *rtt_us);

#endif
