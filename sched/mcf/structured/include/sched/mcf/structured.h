/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact minimum-cost flow for networks of scheduling's shape, kept and repaired between rounds.
 *
 * Shape.    Groups send units to the sink. A group is a set of interchangeable units (the tasks of one job that share
 *           all costs): supply k, and arcs to columns (machines: capacity C, each in one block), to blocks (racks: any
 *           column of the block), to the aggregator (any column at all) and to "unscheduled" (its own way to the sink).
 *           Aggregator -> block -> column costs 0 and is never narrower than the columns themselves, as in NoMora's
 *           table 2. An arc of limited capacity to a column (`running`) says that some units are cheaper there.
 * Method.   Successive shortest paths from a start that keeps what is already right, with prices (costs to the sink)
 *           that stay valid between calls: a change makes excess or holes, and a solve repairs only those, by searches
 *           bounded by the prices. Blocks and the aggregator carry no flow of their own: they are shortcuts of the
 *           search, and a unit that takes one gets an arc to its column at the shortcut's cost. The price of the
 *           aggregator is the market's: searches buy and sell there, and what is then out of balance is settled once.
 * Work.     A repair is given up, and the network solved from nothing, where it has looked at 8 times as many arcs as
 *           the last solve from nothing had; what runs where `running` says stays there if that is optimal, but among
 *           equals more units move than a repair would (structured_restore_placement() undoes that). Repairs given up
 * one after the other are attempted ever more rarely, one solve in 17 at last. With more units than slots a solve from
 * nothing begins near the market's last price, above it where slots ran short there; one that looks at too much begins
 * anew at another. Where that is likely to take less than a repair, with long rows and many units to be placed, none is
 * attempted. At 128 times as many arcs as there are, and with too few slots at 8 to 32 times, the network simplex takes
 * over; that needs about 70 bytes an arc while it lasts, and every group's answer counts as changed. Numbers.  0 <=
 * cost <= STRUCTURED_COST_MAXIMUM (1 << 20); violations are refused with -ERANGE. Capacities and supplies are int32,
 * their sum fits int32 as well. Ids are the caller's, dense from 0: memory grows with the largest id used. Linear in
 * groups + columns + arcs otherwise. Errors.   int functions return 0 or -EINVAL, -ERANGE, -ENOMEM. After -ENOMEM or
 * MCF_STALLED the state may only be destroyed. Threads.  None inside; one state belongs to one thread at a time. Rows
 * are copied.
 */
#ifndef MCF_STRUCTURED_H
#define MCF_STRUCTURED_H

#include <stdbool.h>
#include <stdint.h>

#include <base/arc.h>
#include <sched/mcf/mcf.h>

enum { STRUCTURED_COST_MAXIMUM = 1 << 20 };

struct structured; /* opaque */

/* Units of the group that already are on `column` and may stay there for `cost`: an arc of capacity `units`. */
struct structured_running {
	int32_t column;
	int32_t cost;
	int32_t units;
};

/*
 * All arcs of one group. Arcs that another arc of unlimited capacity makes useless may be given: they are dropped.
 * The first solve after `running` changes believes that these units are there (and keeps them if that is optimal).
 */
struct structured_row {
	int32_t aggregator_cost;      /* or ARC_ABSENT */
	int32_t unscheduled_cost;     /* or ARC_ABSENT */
	int32_t unscheduled_capacity; /* ignored without the arc */
	int32_t column_count, block_count, running_count;
	const struct arc *columns;                /* [column_count] of unlimited capacity, each column at most once */
	const struct arc *blocks;                 /* [block_count] of unlimited capacity, each block at most once */
	const struct structured_running *running; /* [running_count] a column may repeat at different costs */
};

/* NULL with errno ENOMEM. The counts are hints of how large the ids will get; 0 is legal. */
struct structured *structured_create(int32_t group_hint, int32_t column_hint, int32_t block_hint);
void structured_destroy(struct structured *state);

/* Adds the column, or changes its capacity (0 keeps it closed). The block of a column that exists cannot change. */
int structured_set_column(struct structured *state, int32_t column, int32_t block, int32_t capacity);

/* Its units become excess; arcs of groups that still name it are ignored until it is set again. */
int structured_remove_column(struct structured *state, int32_t column);

/* Adds the group (supply 0) or replaces all its arcs. Flow stays on the columns where it still is optimal. */
int structured_set_row(struct structured *state, int32_t group, const struct structured_row *row);

/* What changed of a row: some blocks' arcs, and the running arcs, all of which are given. */
struct structured_row_change {
	int32_t block_count, running_count;
	const struct block_arcs *blocks;          /* [block_count] each block at most once */
	const struct structured_running *running; /* [running_count] as in structured_row */
};

/*
 * As structured_set_row() with all arcs, the others as they were. Costs a look at each arc of the row, and a few cache
 * lines for each arc that comes, leaves or gets another cost, or that has units then; what is told at the cost it had
 * costs no more than that look. Arcs to columns that do not exist now are forgotten.
 */
int structured_change_row(struct structured *state, int32_t group, const struct structured_row_change *change);

/*
 * Groups lie far apart in memory: brings one nearer the cache that is about to change or to be read; then, some time
 * later, its arcs or what structured_read() looks at; then, after either, the columns where its units are.
 */
void structured_fetch(const struct structured *state, int32_t group);
void structured_fetch_arcs(const struct structured *state, int32_t group);
void structured_fetch_shares(const struct structured *state, int32_t group);
void structured_fetch_columns(const struct structured *state, int32_t group);

/* Replaces the running arcs alone, or the way to the sink alone (the waiting time's share grows every round). */
int structured_set_running(struct structured *state, int32_t group, const struct structured_running *running,
			   int32_t count);
int structured_set_unscheduled(struct structured *state, int32_t group, int32_t cost, int32_t capacity);

/* When fewer, units that are excess go first, then unscheduled ones, then those on the dearest columns. */
int structured_set_supply(struct structured *state, int32_t group, int32_t supply);

/*
 * One unit of the group ends on `column` (it must be there according to the last solve): supply falls by one, the
 * column has a deficit, and a running arc to it loses one unit. -EINVAL if no unit of the group is there.
 */
int structured_end_unit(struct structured *state, int32_t group, int32_t column);

int structured_remove_group(struct structured *state, int32_t group);

struct structured_result {
	enum mcf_status status; /* MCF_OPTIMAL, MCF_INFEASIBLE, MCF_NO_MEMORY, MCF_STALLED, MCF_UNSUITED */
	int64_t cost;           /* of all routed units */
	int64_t unscheduled;    /* units */
	int64_t unrouted; /* > 0 when MCF_INFEASIBLE: the fewest possible; the rest is then routed at least cost */
	/* Work done by this solve. */
	uint64_t searches, scans, augmentations;
	bool started_over; /* instead of a repair, see Work */
	bool handed_over;  /* to the network simplex, see Work */
};

/* Repairs what changed since the last solve; the first solve is one from scratch. */
enum mcf_status structured_solve(struct structured *state, struct structured_result *result);

/*
 * Does now what a solve after a change would do once: lists the arcs by their targets, at 8 bytes an arc and some 15
 * ns, and as much for each arc of a row that is told later. For a state that is to be repaired often, after its first
 * solve. 0 or -ENOMEM.
 */
int structured_prepare(struct structured *state);

/*
 * A solve that has looked at so many times as many arcs as there are is given up from now on, instead of handed over:
 * MCF_UNSUITED, and the state may only be destroyed. For callers that have another way to solve it.
 */
void structured_give_up_after(struct structured *state, uint32_t passes);

/* Forgets flow and prices (units still run where `running` says), then solves. */
enum mcf_status structured_solve_fresh(struct structured *state, struct structured_result *result);

/*
 * Where units of a group would rather be than anywhere else that costs as much; those of one group follow each other.
 * A pair may come again.
 */
struct structured_placement {
	int32_t group, column;
	int32_t units;
};

/*
 * After a solve, and to be followed by one: units go home where that costs nothing, and others that are in their way
 * leave; the cost stays what it was. Of an answer that is optimal, given as homes, every unit is at home then; in other
 * cases most of those that may be, though not the most there can be. Linear in homes and in arcs of their groups; the
 * homes of one column are few.
 */
int structured_restore_placement(struct structured *state, const struct structured_placement *homes, int32_t count);

/* A group's answer after a solve. Columns ascending, each once. */
struct structured_share {
	int32_t column;
	int32_t units;
	int32_t cost; /* of the dearest arc that leads these units there, over a block or the aggregator or not */
};
int32_t structured_unscheduled(const struct structured *state, int32_t group);
int32_t structured_unrouted(const struct structured *state, int32_t group);
/* Returns how many shares were written, or, over `room` and with nothing written, a room that is enough. */
int32_t structured_read(const struct structured *state, int32_t group, struct structured_share *shares, int32_t room);

/*
 * Groups whose answer may have changed since structured_changed_clear(): whole extraction touches only these.
 * Borrowed, valid until the next call that changes the state; each group once, in no order.
 */
int32_t structured_changed(const struct structured *state, const int32_t **groups);
void structured_changed_clear(struct structured *state);

/* Price of one more unit at a column: 0 while it has a free slot. */
int32_t structured_column_price(const struct structured *state, int32_t column);

/*
 * The network as arrays with the last answer's flow and potentials, for mcf_verify() or for a general solver.
 * Nodes: groups, columns, blocks, the aggregator, the sink. `problem` points into the export; free it with
 * structured_export_free(). Units that could not be routed take arcs to the sink that exist in the export only.
 */
struct structured_export {
	struct mcf_problem problem;
	struct mcf_solution solution;
	int32_t *arrays;  /* tail, head, capacity in one allocation */
	int64_t *numbers; /* cost and supply in one allocation */
};
int structured_export(const struct structured *state, struct structured_export *out);
void structured_export_free(struct structured_export *out);

/* Bytes that the state holds now. */
uint64_t structured_memory_bytes(const struct structured *state);

#endif
