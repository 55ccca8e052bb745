/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact minimum-cost flow for networks of the shape that occurs in scheduling. The answer is kept between the
 * scheduler's rounds, each of which changes the network a little and solves it again; a solve then only repairs it.
 *
 * Shape
 *
 *   Groups send units to the sink. A group is a set of interchangeable units (the tasks of one job whose costs are all
 *   equal). It has a supply, and arcs to:
 *   - columns (machines); each column has a capacity and belongs to one block;
 *   - blocks (racks): the unit may use any column of the block;
 *   - the aggregator: the unit may use any column;
 *   - "unscheduled": the group's own arc to the sink, of limited capacity.
 *   One unit of a column's capacity is a slot. Units on "unscheduled" wait, as do unrouted ones: those for which the
 *   network has no path to the sink. A column without slots is closed.
 *   The arcs aggregator -> block -> column cost 0, and never limit the flow more than the columns' capacities do, as in
 *   NoMora's table 2. Units that already run on a column may be cheaper there: their group has an additional arc to
 *   that column (`running`), whose capacity is the number of these units.
 *
 * Method
 *
 *   Successive shortest paths with potentials (Ahuja, Magnanti & Orlin, chapter 9), started from the last answer: a
 *   change leaves excess and deficits, and a solve repairs only these. structured_priv.h has the algorithm.
 *
 * Work
 *
 *   Linear in groups + columns + arcs, apart from searches. A repair stops, and a solve from scratch follows, once the
 *   repair has looked at 8 times as many arcs as the last solve from scratch did. After several such failures in a row,
 *   repairs are tried less often, down to one in 17 solves. No repair is tried if a solve from scratch is expected to
 *   take less time, as with many arcs per group, many units to place and too few slots. A solve that has scanned 128
 *   times the number of arcs (8 to 32 times with too few slots) hands over to the network simplex, which takes about 45
 *   bytes per arc; every group's answer then counts as changed.
 *   Units stay where `running` says if that is optimal. Among equally good answers the solver may choose one that moves
 *   more units than necessary (structured_restore_placement() undoes that).
 *
 * Numbers
 *
 *   0 <= cost <= STRUCTURED_COST_MAXIMUM; other costs are refused with -ERANGE. Capacities, supplies and their sums
 *   must fit int32. The caller chooses the ids, from 0 and without large gaps: memory grows with the largest id used.
 *
 * Errors
 *
 *   Functions that return int return 0, -EINVAL, -ERANGE or -ENOMEM. After -ENOMEM or MCF_STALLED the state may only be
 *   destroyed. The arrays of a row are copied.
 *
 * Threads
 *
 *   The solver starts no threads. Only one thread at a time may use a state.
 */
#ifndef MCF_STRUCTURED_H
#define MCF_STRUCTURED_H

#include <stdbool.h>
#include <stdint.h>

#include <base/arc.h>
#include <sched/mcf/mcf.h>

enum { STRUCTURED_COST_MAXIMUM = 1 << 20 };

struct structured; /* opaque */

/* Units of the group that are already on `column` and may stay there at this cost: an arc of capacity `units`. */
struct structured_running {
	int32_t column;
	int32_t cost;
	int32_t units;
};

/*
 * All arcs of one group. The solver drops arcs to a target that the group also reaches by a cheaper arc of unlimited
 * capacity (to the column's block or to the aggregator). The first solve after `running` changes keeps the units of
 * `running` where they are if that is optimal.
 */
struct structured_row {
	int32_t aggregator_cost;      /* or ARC_ABSENT */
	int32_t unscheduled_cost;     /* or ARC_ABSENT */
	int32_t unscheduled_capacity; /* capacity of the arc "unscheduled"; ignored if its cost is ARC_ABSENT */
	int32_t column_count, block_count, running_count;
	const struct arc *columns; /* [column_count] of unlimited capacity, each column at most once */
	const struct arc *blocks;  /* [block_count] of unlimited capacity, each block at most once */
	/* [running_count] one column may have several entries, at different costs */
	const struct structured_running *running;
};

/* Returns NULL with errno ENOMEM if out of memory. The counts are hints for the largest ids; 0 is legal. */
struct structured *structured_create(int32_t group_hint, int32_t column_hint, int32_t block_hint);
void structured_destroy(struct structured *state);

/* Adds the column, or changes its capacity (0: it is closed). The block of an existing column cannot change. */
int structured_set_column(struct structured *state, int32_t column, int32_t block, int32_t capacity);

/* Removes the column. Its units become excess; arcs to it are ignored until it is set again. */
int structured_remove_column(struct structured *state, int32_t column);

/*
 * Adds the group, with supply 0, or replaces all arcs of an existing group. Its units stay on their columns where that
 * is still optimal.
 */
int structured_set_row(struct structured *state, int32_t group, const struct structured_row *row);

/* A change of a row: the arcs of some blocks, and all running arcs. */
struct structured_row_change {
	int32_t block_count, running_count;
	const struct block_arcs *blocks;          /* [block_count] each block at most once */
	const struct structured_running *running; /* [running_count] as in structured_row */
};

/*
 * Replaces the arcs to some blocks and their columns, and all running arcs; the other arcs stay. Scans each arc of the
 * row once, and touches a few cache lines for each arc that is added, removed, gets another cost or carries units.
 * Arcs to columns that do not exist are dropped.
 */
int structured_change_row(struct structured *state, int32_t group, const struct structured_row_change *change);

/*
 * Prefetch a group that is about to change or to be read. The calls, with some time between them, are
 * structured_fetch(), then structured_fetch_arcs() (before a change) or structured_fetch_shares() (before
 * structured_read()), then structured_fetch_columns(), for the columns that the group's units are on.
 */
void structured_fetch(const struct structured *state, int32_t group);
void structured_fetch_arcs(const struct structured *state, int32_t group);
void structured_fetch_shares(const struct structured *state, int32_t group);
void structured_fetch_columns(const struct structured *state, int32_t group);

/*
 * structured_set_running() replaces the group's running arcs. structured_set_unscheduled() replaces the group's arc to
 * the sink, whose cost grows with the waiting time.
 */
int structured_set_running(struct structured *state, int32_t group, const struct structured_running *running,
			   int32_t count);
int structured_set_unscheduled(struct structured *state, int32_t group, int32_t cost, int32_t capacity);

/*
 * Sets the group's number of units. If the number falls, excess units leave first, then waiting ones, then those on the
 * most expensive columns.
 */
int structured_set_supply(struct structured *state, int32_t group, int32_t supply);

/*
 * Ends one unit of the group on `column`, where the last solve placed it: the supply falls by one, the column gets a
 * free slot, and a running arc to it loses one unit of capacity. Returns -EINVAL if no unit of the group is there.
 */
int structured_end_unit(struct structured *state, int32_t group, int32_t column);

int structured_remove_group(struct structured *state, int32_t group);

struct structured_result {
	enum mcf_status status; /* MCF_OPTIMAL, MCF_INFEASIBLE, MCF_NO_MEMORY, MCF_STALLED, MCF_UNSUITED */
	int64_t cost;           /* total cost of all routed units, including unscheduled ones */
	int64_t unscheduled;    /* units */
	/*
	 * number of units without a path to the sink, > 0 if MCF_INFEASIBLE. It is the minimum, and the cost of the
	 * other units is minimal
	 */
	int64_t unrouted;
	/* Work done by this solve. */
	uint64_t searches, scans, augmentations;
	bool started_over; /* solved from scratch instead of repaired, see Work */
	bool handed_over;  /* the network simplex solved it, see Work */
};

/* Repairs the last answer; the first solve is from scratch. */
enum mcf_status structured_solve(struct structured *state, struct structured_result *result);

/*
 * Lists the arcs by their targets, as the first repair would, at 8 bytes and about 15 ns per arc; from then on the
 * lists are maintained. Call it after the first solve of a state that will be repaired often. Returns 0 or -ENOMEM.
 */
int structured_prepare(struct structured *state);

/*
 * From now on a solve that scans `passes` times the number of arcs ends with MCF_UNSUITED instead of handing over to
 * the network simplex. After such a solve, the state may only be destroyed. For callers that have another solver.
 */
void structured_give_up_after(struct structured *state, uint32_t passes);

/* Drops flow and prices, then solves from scratch. Units stay where `running` says if that is optimal. */
enum mcf_status structured_solve_fresh(struct structured *state, struct structured_result *result);

/*
 * One preference: `units` units of the group prefer `column` among equally good columns. All preferences of a group
 * must be adjacent; a pair of group and column may occur more than once.
 */
struct structured_placement {
	int32_t group, column;
	int32_t units;
};

/*
 * Call it between two solves. Moves units to their preferred columns where that costs nothing. Units that occupy the
 * slots there, and do not prefer the column, become excess, for which the next solve finds other slots at no cost. If
 * the preferences are an optimal answer, it is restored completely. Otherwise most of the preferences are met, but not
 * always as many as possible. Takes time linear in the preferences and in the arcs of their groups.
 */
int structured_restore_placement(struct structured *state, const struct structured_placement *preferences,
				 int32_t count);

/*
 * A share of a group's answer: its units on one column. A group's shares are in ascending order of columns, each column
 * once.
 */
struct structured_share {
	int32_t column;
	int32_t units;
	/*
	 * cost of the most expensive of the group's arcs that these units use: to the column, its block or the
	 * aggregator
	 */
	int32_t cost;
};
int32_t structured_unscheduled(const struct structured *state, int32_t group);
int32_t structured_unrouted(const struct structured *state, int32_t group);
/*
 * Returns the number of shares written. If `room` (in shares) is too small, writes nothing and returns a number that
 * suffices.
 */
int32_t structured_read(const struct structured *state, int32_t group, struct structured_share *shares, int32_t room);

/*
 * Sets *groups to the groups whose answer may have changed since structured_changed_clear(), each once, in no order,
 * and returns their number. Borrowed, valid until the next call that changes the state.
 */
int32_t structured_changed(const struct structured *state, const int32_t **groups);
void structured_changed_clear(struct structured *state);

/* Returns the cost of sending one more unit from the column to the sink: 0 while it has a free slot. */
int32_t structured_column_price(const struct structured *state, int32_t column);
/*
 * Call it between two solves. Lowers the column's price as far as the answer allows, to the amount that one more slot
 * there would save, and returns it. (Solves raise the prices of full columns with demand, but do not lower them when
 * demand falls.) Takes one backward search.
 */
int32_t structured_lower_price(struct structured *state, int32_t column);
/*
 * Returns the cost of sending one more unit from the aggregator to the sink: at most the price of any column with
 * capacity.
 */
int32_t structured_aggregator_price(const struct structured *state);

/*
 * The network as arrays with the last answer's flow and potentials, for mcf_verify() or for a general solver.
 * Nodes: groups, columns, blocks, the aggregator, the sink. `problem` points into the export; free it with
 * structured_export_free(). Unrouted units use arcs to the sink that exist in the export only.
 */
struct structured_export {
	struct mcf_problem problem;
	struct mcf_solution solution;
	int32_t *arrays;  /* tail, head, capacity in one allocation */
	int64_t *numbers; /* cost and supply in one allocation */
};
int structured_export(const struct structured *state, struct structured_export *out);
void structured_export_free(struct structured_export *out);

/* Returns the number of bytes that the state occupies now. */
uint64_t structured_memory_bytes(const struct structured *state);

#endif
