/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of costs: what it costs a task of a job (its curve, its root's machine) to run on each machine, anywhere in
 * each rack, anywhere at all (NoMora 5.2, table 2 and eq. 6 to 9). A row keeps only the arcs that the network wants:
 * machines up to p_m, racks up to p_r, and the cluster. Rows are cached by curve and root, and mended rack by rack
 * where a latency moved, for as long as a job has its root there. Costs are integers, 100 times the inverse of
 * performance. Owned by one thread.
 */
#ifndef COST_ROWS_H
#define COST_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include <base/arc.h>
#include <base/error.h>
#include <model/curve.h>

#include <sched/cost/kernel.h>
#include <sched/cost/latency_view.h>
#include <sched/cost/layout.h>

/* Where round trips come from: fills rtt_us[count] for the layout's columns first.., negative where no machine is. */
struct cost_source {
	void (*row)(const void *context, uint32_t root, uint32_t first, uint32_t count, float *rtt_us);
	const void *context; /* borrowed */
};

/* The source that a latency view is. */
struct cost_source cost_source_from_view(const struct latency_view *view);

/* Where the arcs to a rack's machines begin. */
struct cost_span {
	uint32_t rack, first;
};

/*
 * Arcs lead to machines or racks, by number, and reach the solver without a copy. Memory is
 * linear in the arcs, whatever the size of the cluster (but for two bits a rack).
 */
struct cost_row {
	int32_t machine_limit; /* every present machine up to this cost is in `machines` */
	uint32_t root;         /* machine */
	uint64_t version;      /* another one whenever anything here is another; no two rows share one; 0: not kept */
	uint64_t mended_from;  /* the version from which only the `changed` racks differ; 0: anything may */
	int32_t cluster_cost;  /* largest of all machines; COST_ABSENT when there is none */
	uint32_t machine_count, rack_count, span_count, changed_count;
	struct arc *machines;    /* [machine_count] cost <= p_m, rack by rack, ascending in each */
	struct arc *racks;       /* [rack_count] largest cost of the rack <= p_r, ascending */
	struct cost_span *spans; /* [span_count + 1] of racks with arcs in `machines`, ascending, and the end;
				    NULL: in any order */
	uint32_t *changed;       /* [changed_count] racks */
};

/* The arcs of a kept row to a rack and to the machines in it. */
struct block_arcs cost_row_rack(const struct cost_row *row, uint32_t rack);

/* What its own arc to the machine, which is in this rack, costs; COST_ABSENT without one. */
int32_t cost_row_machine(const struct cost_row *row, uint32_t rack, uint32_t machine);

struct cost_rows;

struct cost_rows_settings {
	int32_t machine_threshold; /* p_m */
	int32_t rack_threshold;    /* p_r */
};

/* Rows at work, for statistics. */
struct cost_rows_work {
	uint64_t rows;   /* computed whole */
	uint64_t mended; /* of which only some racks were computed */
	uint64_t costs;  /* machine costs computed in all */
	uint64_t hits;   /* asked for and up to date */
};

/* NULL with errno ENOMEM. The layout and the source's context must outlive the rows. */
struct cost_rows *cost_rows_create(const struct cost_layout *layout, struct cost_source source,
				   struct cost_rows_settings settings);
void cost_rows_destroy(struct cost_rows *rows); /* NULL is legal */

/* Number of the curve for the calls below, or -ENOMEM. The curve is not kept. */
int32_t cost_rows_add_curve(struct cost_rows *rows, const struct curve *curve, enum latency_reference reference);

/* The row of a job with this curve whose root runs on `root`; NULL if out of memory. Valid until the next call. */
const struct cost_row *cost_rows_get(struct cost_rows *rows, int32_t curve, uint32_t root);

/*
 * Rows lie far apart in memory: brings the one that is about to be asked for nearer the cache. Each step leads to the
 * next, some time later: COST_FETCH_PLACE, COST_FETCH_ROW, COST_FETCH_ARCS.
 */
enum cost_fetch { COST_FETCH_PLACE, COST_FETCH_ROW, COST_FETCH_ARCS };
void cost_rows_fetch(const struct cost_rows *rows, int32_t curve, uint32_t root, enum cost_fetch step);

/* Cost of one machine (whether or not it is under a threshold). */
int32_t cost_rows_at(const struct cost_rows *rows, int32_t curve, uint32_t root, uint32_t machine);

/* The same of a rack's columns of the layout, COST_ABSENT for those without a machine and machines that are not there.
 */
void cost_rows_rack(struct cost_rows *rows, int32_t curve, uint32_t root, uint32_t rack, uint16_t *cost);

/* The same of every machine: cost[machine_count], COST_ABSENT for machines that are not there. */
void cost_rows_dense(struct cost_rows *rows, int32_t curve, uint32_t root, uint16_t *cost);

/* The latency between two machines moved, as latency_view_set() says: the rows that it touches will be mended. */
void cost_rows_latency_moved(struct cost_rows *rows, uint32_t a, uint32_t b, enum latency_moved moved);

/* Every latency may have moved. */
void cost_rows_all_moved(struct cost_rows *rows);

/* The machine left the cluster or came back: no arc leads to an absent machine, and no maximum counts it. */
void cost_rows_set_present(struct cost_rows *rows, uint32_t machine, bool present);

/*
 * A job with this curve has its root on this machine from now on, or no more; of the last one that leaves the row is
 * forgotten. Rows of roots that were never announced are kept.
 */
void cost_rows_root_came(struct cost_rows *rows, int32_t curve, uint32_t root);
void cost_rows_root_left(struct cost_rows *rows, int32_t curve, uint32_t root);
uint64_t cost_rows_kept(const struct cost_rows *rows); /* how many there are */

const struct cost_rows_work *cost_rows_work(const struct cost_rows *rows);

#endif
