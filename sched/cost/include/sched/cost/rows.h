/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of costs: the costs for a task of a job (its curve, its root's machine) on each machine, in each rack and in the
 * whole cluster (NoMora 5.2, table 2 and eq. 6 to 9). A row keeps only the arcs that the network wants: machines up to
 * p_m, racks up to p_r, and the cluster. Rows are cached by curve and root, and updated rack by rack when a latency
 * changes, for as long as a job has its root there. Costs are integers, 100 times the inverse of performance. Owned by
 * one thread.
 *
 * Long rows. With `machine_arcs`, a row in which nearly all machines qualify keeps only the cheapest ones, and of those
 * only the ones that cost less than their rack's arc: an almost flat curve has an arc per rack, and arcs for its
 * exceptions. Tasks reach the machines without an arc through their rack or the cluster.
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
#include <sched/cost/moved.h>

/* Where round trips come from: a measured view, or a simulator's model. */
struct cost_source {
	/* Fills rtt_us[count] for the layout's columns first..; negative for columns without a reachable machine. */
	void (*row)(const void *context, uint32_t root, uint32_t first, uint32_t count, float *rtt_us);
	const void *context; /* borrowed */
	/*
	 * Optional. Bounds of the round trips from `root` to each rack: least_us[racks] <= all of them <=
	 * most_us[racks]; most_us negative: no machine there. In racks whose lower bound is above p_m, no machine has
	 * to be examined, so that a row takes the time of this call and of the few near racks. An upper bound that is
	 * not exact makes the arcs to the rack and to the cluster more expensive than necessary. `least_us` and
	 * `most_us` are as in row() for machines that are down.
	 */
	void (*extremes)(const void *context, uint32_t root, float *least_us, float *most_us);
	/*
	 * extremes() counts only machines that are up. Only the largest of its upper bounds is exact, so racks that may
	 * have their own arc are also computed. The two bounds are requested by separate calls, the other one NULL:
	 * upper bounds take long, and are often not needed.
	 */
	bool coarse;
};

/* The source that reads a latency view. */
struct cost_source cost_source_from_view(const struct latency_view *view);

/* First arc to a rack's machines. */
struct cost_span {
	uint32_t rack, first;
};

/* Memory is linear in the number of arcs, whatever the size of the cluster (except for two bits per rack). */
struct cost_row {
	int32_t machine_limit; /* every present machine up to this cost has an arc, or its rack has one at that cost */
	uint32_t root;         /* machine */
	uint64_t version;      /* changes with the fields below; unique among all rows; 0: not cached */
	uint64_t mended_from;  /* only the `changed` racks differ from that version; 0: any rack may differ */
	int32_t cluster_cost;  /* largest of all machines; COST_ABSENT when there is none */
	uint32_t machine_count, rack_count, span_count, changed_count;
	struct arc *machines;    /* [machine_count] rack by rack */
	struct arc *racks;       /* [rack_count] largest cost of each rack, if <= p_r; ascending by rack */
	struct cost_span *spans; /* [span_count + 1] of racks with arcs in `machines`, ascending, and the end;
				    NULL: in any order */
	uint32_t *changed;       /* [changed_count] racks */
};

/* The arcs of a cached row to a rack and to the machines in it. */
struct block_arcs cost_row_rack(const struct cost_row *row, uint32_t rack);

/* Cost of the row's arc to the rack; COST_ABSENT without one. */
int32_t cost_row_rack_cost(const struct cost_row *row, uint32_t rack);

/* Cost of the row's own arc to the machine, which is in this rack; COST_ABSENT without one. */
int32_t cost_row_machine(const struct cost_row *row, uint32_t rack, uint32_t machine);

struct cost_rows;

struct cost_rows_settings {
	int32_t machine_threshold; /* p_m */
	int32_t rack_threshold;    /* p_r */
	uint32_t machine_arcs;     /* maximum per row, see "Long rows"; 0 = no limit, as in the paper */
	enum cost_lookup lookup;
};

/* Work done so far, for statistics. */
struct cost_rows_work {
	uint64_t rows;    /* computed whole */
	uint64_t updated; /* rows of which only some racks were computed */
	uint64_t costs;   /* machine costs computed in all */
	uint64_t hits;    /* requests for rows that were up to date */
};

/* NULL with errno ENOMEM. The layout and the source's context must outlive the rows. */
struct cost_rows *cost_rows_create(const struct cost_layout *layout, struct cost_source source,
				   struct cost_rows_settings settings);
void cost_rows_destroy(struct cost_rows *rows); /* NULL is legal */

/* Call it after cost_layout_add(): the new machines are absent. 0 or -ENOMEM. */
int cost_rows_grow(struct cost_rows *rows);
/* Call it before cost_layout_remove(), for an absent machine: rows with their root there are forgotten. */
void cost_rows_forget(struct cost_rows *rows, uint32_t machine);

/* Number of the curve for the calls below, or -ENOMEM. The curve is not kept. */
int32_t cost_rows_add_curve(struct cost_rows *rows, const struct curve *curve, enum latency_reference reference);
/* Replaces the curve of this number: its rows are computed again. 0 or -ENOMEM. */
int cost_rows_replace_curve(struct cost_rows *rows, int32_t number, const struct curve *curve,
			    enum latency_reference reference);
/* Releases a curve that no job uses any more; its number may be reused. */
void cost_rows_remove_curve(struct cost_rows *rows, int32_t number);

/* The row of a job with this curve whose root runs on `root`; NULL if out of memory. Valid until the next call. */
const struct cost_row *cost_rows_get(struct cost_rows *rows, int32_t curve, uint32_t root);

/*
 * Rows are scattered in memory: prefetches a row that will be requested soon. Call the steps in this order, with some
 * time between them: COST_FETCH_PLACE, COST_FETCH_ROW, COST_FETCH_ARCS.
 */
enum cost_fetch { COST_FETCH_PLACE, COST_FETCH_ROW, COST_FETCH_ARCS };
void cost_rows_fetch(const struct cost_rows *rows, uint32_t root, enum cost_fetch step);

/* Cost of one machine, regardless of thresholds; COST_ABSENT: it cannot be reached. */
int32_t cost_rows_at(const struct cost_rows *rows, int32_t curve, uint32_t root, uint32_t machine);

/* Costs of a rack's columns of the layout, COST_ABSENT for those without a present machine. */
void cost_rows_rack(struct cost_rows *rows, int32_t curve, uint32_t root, uint32_t rack, uint16_t *cost);

/* Costs of every machine: cost[layout->machine_count], COST_ABSENT for machines without a column or absent ones. */
void cost_rows_dense(struct cost_rows *rows, int32_t curve, uint32_t root, uint16_t *cost);

/* Round trips changed: rows with their roots on these machines are updated at the next request. */
void cost_rows_latency_moved(struct cost_rows *rows, const struct cost_moved *moved);

/* Any latency may have changed. */
void cost_rows_all_moved(struct cost_rows *rows);

/* The machine went down or came up: no arc leads to an absent machine, and no maximum counts it. */
void cost_rows_set_present(struct cost_rows *rows, uint32_t machine, bool present);

/*
 * Announces that a job with this curve has its root on this machine, or no longer has; the row is dropped with its last
 * job. Rows of roots that were never announced are kept.
 */
void cost_rows_root_came(struct cost_rows *rows, int32_t curve, uint32_t root);
void cost_rows_root_left(struct cost_rows *rows, int32_t curve, uint32_t root);
uint64_t cost_rows_kept(const struct cost_rows *rows); /* current number of rows */

const struct cost_rows_work *cost_rows_work(const struct cost_rows *rows);

#endif
