/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The round trip between any two machines of a cluster, and where each value comes from. A pair that was not measured
 * gets the first of these values that exists:
 * - the largest round trip measured between the racks of the two machines
 * - the largest round trip measured between their pods
 * - the cluster's default for the distance
 * The round trip of a machine to itself, if not measured, is a constant of the cluster. Round trips are floats, in
 * microseconds (24 bits: exact to 1 ns up to 16 ms). INFINITY means that the pair was probed without an answer. Such a
 * pair is unreachable; unlike a pair that was not measured, it gets no other value. No maximum counts it.
 *
 * A pair has one value: the larger of the measurements by its two ends (NoMora 5.2: the maximum, because nobody knows
 * which of the paths a flow will take). The pair's age is that of the later measurement.
 *
 * Changes arrive in batches. For each machine, the view records the racks to which the machine's round trips changed;
 * latency_view_moved() returns these records, latency_view_moved_clear() clears them. Memory: 32 bytes per measured
 * pair, a float per pair of racks, a bit per machine and rack. Only one thread may write. The caller must provide a
 * lock, which the writer and all readers hold during each call.
 */
#ifndef COST_LATENCY_VIEW_H
#define COST_LATENCY_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/ns.h>
#include <model/cluster.h>
#include <model/latency_matrix.h>
#include <sched/cost/layout.h>

/*
 * The round trips that changed since the last report. A latency view, or a simulator's model of one, passes them to the
 * rows of costs.
 */

struct cost_moved {
	const uint32_t *machines; /* [count] machines with changed round trips, each once */
	size_t count;
	/*
	 * For each machine number, `words` words of 64 bits, with a bit for each rack: the racks to which the machine's
	 * round trips changed. NULL: they changed to all racks.
	 */
	const uint64_t *racks;
	uint32_t words;
};

enum latency_origin {
	LATENCY_ORIGIN_MEASURED,     /* this pair */
	LATENCY_ORIGIN_RACK_PAIR,    /* maximum over the measured pairs between the two racks */
	LATENCY_ORIGIN_POD_PAIR,     /* maximum over the measured pairs between the two pods */
	LATENCY_ORIGIN_TOPOLOGY,     /* the cluster's default for this distance */
	LATENCY_ORIGIN_SAME_MACHINE, /* a machine to itself, not measured: the cluster's constant */
};

/* "measured", "rack pair", "pod pair", "topology", "same machine". */
const char *latency_origin_name(enum latency_origin origin);

struct latency_view;

/*
 * Creates a view without measurements. Returns NULL with errno ENOMEM if out of memory. Cluster and layout must outlive
 * the view.
 */
struct latency_view *latency_view_create(const struct cost_layout *layout);
void latency_view_destroy(struct latency_view *view); /* NULL is legal */

/*
 * From now on, latency_view_row() and latency_view_extremes() treat pairs that were not measured as unreachable.
 * Changes no value that latency_view_get() returns.
 */
void latency_view_require_measured(struct latency_view *view);

/* Call it after cost_layout_add(). Returns 0 or -ENOMEM. */
int latency_view_grow(struct latency_view *view);
/* Call it before cost_layout_remove(). Removes the measurements of all pairs with this machine. */
void latency_view_forget(struct latency_view *view, uint32_t machine);

/* Outcome of latency_view_load(). */
struct latency_view_load {
	uint64_t pairs;           /* pairs of the matrix that were added to the view */
	uint64_t unanswered;      /* rows whose pair was probed without an answer, which makes it unreachable */
	uint64_t old;             /* rows older than the caller allows, which count as not measured */
	uint64_t future;          /* rows newer than the caller allows, which count as not measured */
	uint64_t unknown;         /* ignored rows, which name a machine that is not in the cluster */
	const char *unknown_name; /* name of the first unknown machine, or NULL; the string belongs to the matrix */
};

/*
 * Adds the pairs of a matrix that were measured from `oldest` to `newest`. In the view, they count as measured at 0 s.
 * Returns 0, or -ENOMEM with err set.
 */
int latency_view_load(struct latency_view *view, const struct latency_matrix *matrix, enum latency_statistic statistic,
		      struct ns oldest, struct ns newest, struct latency_view_load *outcome, struct error *err);

/*
 * A measurement by `source` to `destination` (machine numbers). If rtt_us is NAN or negative, the source's earlier
 * measurement is withdrawn.
 */
struct latency_sample {
	uint32_t source, destination;
	float rtt_us;
};

/*
 * Adds the measurements of one window (the interval after which the probers publish), made at now_s (seconds on the
 * caller's clock). If they are sorted by source and destination, each takes about 0.1 us. Returns 0, or -ENOMEM if the
 * view could not take all of them.
 */
int latency_view_update(struct latency_view *view, const struct latency_sample *samples, size_t count, uint32_t now_s);

/* Like latency_view_update(), for one measurement that was made at 0 s. */
int latency_view_set(struct latency_view *view, uint32_t source, uint32_t destination, float rtt_us);

/*
 * Removes pairs last measured before before_s. From then on they count as not measured. Calls gone(), unless it is
 * NULL, for each removed pair.
 */
void latency_view_expire(struct latency_view *view, uint32_t before_s,
			 void (*gone)(void *context, uint32_t a, uint32_t b), void *context);

/*
 * Returns the machines whose round trips changed since the last latency_view_moved_clear(), and the racks to which they
 * changed. The arrays belong to the view.
 */
struct cost_moved latency_view_moved(const struct latency_view *view);
void latency_view_moved_clear(struct latency_view *view);

/* Returns the round trip between two machines. Sets *origin unless `origin` is NULL. */
float latency_view_get(const struct latency_view *view, uint32_t a, uint32_t b, enum latency_origin *origin);

/* Returns true if the machine was measured, but no pair of it and another machine answers in both directions. */
bool latency_view_silent(const struct latency_view *view, uint32_t machine);

/* Returns the round trip that `source` itself measured to `destination`; negative if it has measured none. */
float latency_view_own(const struct latency_view *view, uint32_t source, uint32_t destination);

uint64_t latency_view_pairs(const struct latency_view *view); /* number of measured pairs, each counted once */
/* Returns the number of measured pairs with this machine. */
uint32_t latency_view_pairs_of(const struct latency_view *view, uint32_t machine);

/*
 * Writes the round trips from machine `root` to the layout's columns first..first+count-1; -1 for a column without a
 * reachable machine.
 */
void latency_view_row(const struct latency_view *view, uint32_t root, uint32_t first, uint32_t count, float *rtt_us);

/*
 * For each rack, writes the smallest and the largest round trip from machine `root` to the rack's machines: INFINITY
 * for an unreachable one; -1 if the rack has no machine. Both arrays have layout->rack_count elements. Takes time
 * linear in the number of racks and of measured pairs with `root`.
 */
void latency_view_extremes(const struct latency_view *view, uint32_t root, float *least_us, float *most_us);

#endif
