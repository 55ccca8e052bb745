/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The round trip between any two machines of a cluster, measured or not, and where each value comes from. A pair that
 * was not measured gets the largest round trip measured between the two racks, else between the two pods, else the
 * topology's default; a machine to itself, where that was not measured, the constant for it. Round trips are
 * microseconds of type float (24 bits: exact to 1 ns up to 16 ms). INFINITY is a pair that was probed without an
 * answer: unreachable, which is not the same as not measured, and part of no maximum.
 *
 * A pair has one value: the larger of both ends' measurements (NoMora 5.2: the maximum, because nobody knows which of
 * the paths a flow will take). It has the age of the later one.
 *
 * Changes come in batches. The view records for each machine the racks to which its round trips changed; a reader gets
 * these by latency_view_moved() and clears them. Memory: 32 bytes a measured pair, a float for each pair of racks, a
 * bit for each machine and rack. One writer; readers need its lock.
 */
#ifndef COST_LATENCY_VIEW_H
#define COST_LATENCY_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <base/ns.h>
#include <model/cluster.h>
#include <model/latency_matrix.h>

#include <sched/cost/layout.h>
#include <sched/cost/moved.h>

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

/* Call it after cost_layout_add(). 0 or -ENOMEM. */
int latency_view_grow(struct latency_view *view);
/* Call it before cost_layout_remove(): pairs with this machine count as never measured. */
void latency_view_forget(struct latency_view *view, uint32_t machine);

/* Outcome of latency_view_load(). */
struct latency_view_load {
	uint64_t pairs;           /* taken */
	uint64_t unanswered;      /* rows of pairs that were probed without an answer: unreachable */
	uint64_t old;             /* rows older than the caller allows, which count as not measured */
	uint64_t unknown;         /* rows that name a machine the cluster does not have; left out */
	const char *unknown_name; /* the first of them, lives with the matrix; NULL = none */
};

/*
 * Adds every pair of a matrix that was measured at `oldest` (0: at any time) or later, as measurements of age 0. 0 or
 * -ENOMEM with err set.
 */
int latency_view_load(struct latency_view *view, const struct latency_matrix *matrix, enum latency_statistic statistic,
		      struct ns oldest, struct latency_view_load *outcome, struct error *err);

/* Measurement by `source` to `destination` (machine numbers). NAN or negative: the measurement is withdrawn. */
struct latency_sample {
	uint32_t source, destination;
	float rtt_us;
};

/*
 * One window of measurements, made at now_s (seconds on the caller's clock). Sorted by source and destination, each
 * sample takes about 0.1 us. 0 or -ENOMEM: only the first samples are stored.
 */
int latency_view_update(struct latency_view *view, const struct latency_sample *samples, size_t count, uint32_t now_s);

/* The same for one pair at 0 s. */
int latency_view_set(struct latency_view *view, uint32_t source, uint32_t destination, float rtt_us);

/*
 * Pairs last measured before this time count as not measured: the rack pair's maximum takes their place. gone(), unless
 * NULL, is called for each.
 */
void latency_view_expire(struct latency_view *view, uint32_t before_s,
			 void (*gone)(void *context, uint32_t a, uint32_t b), void *context);

/* Machines whose round trips changed since latency_view_moved_clear(), and the racks concerned. Borrowed. */
struct cost_moved latency_view_moved(const struct latency_view *view);
void latency_view_moved_clear(struct latency_view *view);

/* The round trip between two machines; *origin may be NULL. */
float latency_view_get(const struct latency_view *view, uint32_t a, uint32_t b, enum latency_origin *origin);

/* The source's own measurement; negative: none. */
float latency_view_own(const struct latency_view *view, uint32_t source, uint32_t destination);

uint64_t latency_view_pairs(const struct latency_view *view); /* number of measured pairs, each counted once */
/* Number of machines to which this one's round trip is measured. */
uint32_t latency_view_pairs_of(const struct latency_view *view, uint32_t machine);

/*
 * Round trips from machine `root` to the columns first..first+count-1 of the layout; -1 for columns without a reachable
 * machine.
 */
void latency_view_row(const struct latency_view *view, uint32_t root, uint32_t first, uint32_t count, float *rtt_us);

/*
 * Smallest and largest round trip from `root` to the machines of each rack that can be reached: [layout->rack_count]
 * each; -1 where there is none. Linear in the racks and in the pairs of `root`.
 */
void latency_view_extremes(const struct latency_view *view, uint32_t root, float *least_us, float *most_us);

#endif
