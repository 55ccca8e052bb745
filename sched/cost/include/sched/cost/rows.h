/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A row has the costs of running a task on each machine, in each rack and in the whole cluster (NoMora 5.2, table 2 and
 * eq. 6 to 9). It depends on the curve of the task's job and on the machine where the job's root task runs; in this
 * header, `root` is the number of that machine. A row keeps only the arcs that the flow network needs: to machines that
 * cost up to p_m (machine_threshold), to racks that cost up to p_r (rack_threshold), and to the cluster. The cost of a
 * rack or of the cluster is that of its most expensive machine. A machine that is down is absent: no arc leads to it,
 * and no maximum counts it. No arc leads to a machine that the root cannot reach, nor to a rack or a cluster that has
 * one: such a rack is partial. Then each other machine of a partial rack has an arc, and each other rack has one, at
 * any cost. Rows are cached by curve and root for as long as a job has its root there, and updated rack
 * by rack when a latency changes. Costs are integers, 100 times the inverse of performance. Only one thread at a time
 * may use the rows.
 *
 * Long rows. A row with more than `machine_arcs` arcs to machines is cut: it keeps only arcs that cost less than the
 * arc to the machine's rack, and if these are still too many, only the cheapest. Updates of single racks may then add
 * arcs, up to twice `machine_arcs`, before the row is cut again. So a row of an almost flat curve has one arc per rack,
 * and arcs to the few machines that are cheaper than their rack. Tasks reach the other machines through their rack or
 * the cluster.
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

/* Where round trips come from: a measured view, or a simulator's model. */
struct cost_source {
	/*
	 * Fills rtt_us[count] with the round trips from `root` to the layout's columns from `first` on; negative for
	 * columns without a reachable machine.
	 */
	void (*row)(const void *context, uint32_t root, uint32_t first, uint32_t count, float *rtt_us);
	const void *context; /* borrowed */
	/*
	 * Optional. Sets least_us[racks] and most_us[racks] to bounds of the round trips from `root` to the machines of
	 * each rack; most_us is negative if the rack has no machine, and infinite if it has one that the root cannot
	 * reach. The machines of a rack whose least_us costs more
	 * than p_m need not be examined, so that computing a row takes little more than this call and the few near
	 * racks. If an upper bound is not exact, the arcs to the rack and to the cluster become more expensive than
	 * necessary. Machines that are down are included, as in row().
	 */
	void (*extremes)(const void *context, uint32_t root, float *least_us, float *most_us);
	/*
	 * True: extremes() counts only machines that are up, and its upper bounds are not exact, except the largest
	 * one. Racks that may get an arc of their own are therefore computed machine by machine. Each call of
	 * extremes() then requests only one of the two bounds, with NULL for the other, because upper bounds take long
	 * to compute and are often not needed.
	 */
	bool coarse;
	/* Optional. Returns true if no other machine can reach the machine, by all that is measured of it. */
	bool (*silent)(const void *context, uint32_t machine);
};

/* The source that reads a latency view. */
struct cost_source cost_source_from_view(const struct latency_view *view);

/* Where the arcs to a rack's machines begin in cost_row.machines. */
struct cost_span {
	uint32_t rack, first;
};

/* A row's memory is linear in its number of arcs; in addition, it has two bits for each rack of the cluster. */
struct cost_row {
	/* every machine that is up and costs at most this has an arc, unless its rack's arc costs the same */
	int32_t machine_limit;
	uint32_t root; /* machine */
	/* changes whenever the row's costs or arcs change; unique among all rows; 0: the row is not cached */
	uint64_t version;
	/*
	 * an earlier version of the row: since then, only the racks in `changed` have changed; 0: any rack may have
	 * changed
	 */
	uint64_t mended_from;
	int32_t cluster_cost; /* largest cost of all machines; COST_ABSENT without a machine, or with a partial rack */
	uint32_t machine_count, rack_count, span_count, changed_count;
	struct arc *machines; /* [machine_count] rack by rack */
	/* [rack_count] racks with an arc, whose cost is the rack's largest (at most p_r); ascending by rack */
	struct arc *racks;
	/*
	 * [span_count + 1] racks with arcs in `machines`, ascending; the last item only marks the end of `machines`.
	 * NULL: `machines` is in any order
	 */
	struct cost_span *spans;
	uint32_t *changed; /* [changed_count] racks that have changed since version mended_from */
};

/* Returns the arcs of a cached row to a rack and to the machines in it. */
struct block_arcs cost_row_rack(const struct cost_row *row, uint32_t rack);

/* Returns the cost of the row's arc to the rack, or COST_ABSENT if there is none. */
int32_t cost_row_rack_cost(const struct cost_row *row, uint32_t rack);

/*
 * Returns the cost of the row's arc to the machine itself, or COST_ABSENT if there is none. `rack` is the machine's
 * rack.
 */
int32_t cost_row_machine(const struct cost_row *row, uint32_t rack, uint32_t machine);

struct cost_rows;

struct cost_rows_settings {
	int32_t machine_threshold; /* p_m */
	int32_t rack_threshold;    /* p_r */
	/* number of arcs to machines above which a row is cut, see "Long rows"; 0 = never, as in the paper */
	uint32_t machine_arcs;
	enum cost_lookup lookup;
};

/* Work done so far, for statistics. */
struct cost_rows_work {
	uint64_t rows;    /* rows of which all racks were computed */
	uint64_t updated; /* rows of which only some racks were computed */
	uint64_t costs;   /* costs of single machines computed, over all rows */
	uint64_t hits;    /* requests for rows that were up to date */
};

/* Returns NULL with errno ENOMEM if out of memory. The layout and the source's context must outlive the rows. */
struct cost_rows *cost_rows_create(const struct cost_layout *layout, struct cost_source source,
				   struct cost_rows_settings settings);
void cost_rows_destroy(struct cost_rows *rows); /* NULL is legal */

/* Call it after cost_layout_add(). The new machines are absent until cost_rows_set_present(). Returns 0 or -ENOMEM. */
int cost_rows_grow(struct cost_rows *rows);
/* Call it before cost_layout_remove(), for an absent machine. Drops the rows whose root is this machine. */
void cost_rows_forget(struct cost_rows *rows, uint32_t machine);

/* Returns the number of the curve for the calls below, or -ENOMEM. Keeps no reference to the curve. */
int32_t cost_rows_add_curve(struct cost_rows *rows, const struct curve *curve, enum latency_reference reference);
/* Replaces the curve with this number and has its rows computed again. Returns 0 or -ENOMEM. */
int cost_rows_replace_curve(struct cost_rows *rows, int32_t number, const struct curve *curve,
			    enum latency_reference reference);
/* Releases a curve that no job uses any more; its number may be reused. */
void cost_rows_remove_curve(struct cost_rows *rows, int32_t number);

/*
 * Returns the row of a job with this curve whose root runs on `root`, or NULL if out of memory. The row is valid until
 * the next call with the same `rows`.
 */
const struct cost_row *cost_rows_get(struct cost_rows *rows, int32_t curve, uint32_t root);

/*
 * Prefetches the rows of `root`, which will be requested soon and are scattered in memory. Call it three times, with
 * some time in between: with COST_FETCH_PLACE, COST_FETCH_ROW, then COST_FETCH_ARCS.
 */
enum cost_fetch { COST_FETCH_PLACE, COST_FETCH_ROW, COST_FETCH_ARCS };
void cost_rows_fetch(const struct cost_rows *rows, uint32_t root, enum cost_fetch step);

/* Returns the cost of one machine, regardless of thresholds, or COST_ABSENT if it cannot be reached. */
int32_t cost_rows_at(const struct cost_rows *rows, int32_t curve, uint32_t root, uint32_t machine);

/* Returns true if no other machine can reach the machine, by all that is measured of it. */
bool cost_rows_silent(const struct cost_rows *rows, uint32_t machine);

/* Writes the costs of a rack's columns to `cost`; COST_ABSENT for columns without a present machine. */
void cost_rows_rack(struct cost_rows *rows, int32_t curve, uint32_t root, uint32_t rack, uint16_t *cost);

/*
 * Writes the cost of every machine to cost[layout->machine_count]; COST_ABSENT for machines that are absent or have no
 * column.
 */
void cost_rows_dense(struct cost_rows *rows, int32_t curve, uint32_t root, uint16_t *cost);

/* Reports that round trips changed: the rows whose root is one of these machines are updated at their next request. */
void cost_rows_latency_moved(struct cost_rows *rows, const struct cost_moved *moved);

/* Reports that any latency may have changed: every row is computed again at its next request. */
void cost_rows_all_moved(struct cost_rows *rows);

/* Reports that the machine went down or came up. No arc leads to an absent machine, and no maximum counts it. */
void cost_rows_set_present(struct cost_rows *rows, uint32_t machine, bool present);

/*
 * Report that a job with this curve now has its root on this machine (came), or no longer has it there (left). A row is
 * dropped when all jobs that were reported for it have left. A row for which no job was ever reported is kept.
 */
void cost_rows_root_came(struct cost_rows *rows, int32_t curve, uint32_t root);
void cost_rows_root_left(struct cost_rows *rows, int32_t curve, uint32_t root);
uint64_t cost_rows_kept(const struct cost_rows *rows); /* current number of rows */

const struct cost_rows_work *cost_rows_work(const struct cost_rows *rows);

#endif
