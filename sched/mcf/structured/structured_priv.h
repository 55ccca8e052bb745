/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The structured solver: successive shortest paths with potentials, priced lazily, with a deferred sink at the
 * aggregator.
 *
 * A node's price is its cost to the sink; the reduced cost of an arc v -> w is cost + price(w) - price(v). Blocks and
 * the aggregator carry no flow: they are shortcuts of the search, and a unit that takes one gets a share on its column
 * at the shortcut's cost. A free slot has the aggregator's price: a column can have a higher price only while it is
 * full.
 *
 * Invariants, between any two calls:
 *
 *   I1  Arcs of groups with supply have reduced cost >= 0 if they have residual capacity, and <= 0 if they have flow.
 *   I2  aggregator_price <= price of every open column. Free slots at a higher price are deficits, and queued.
 *   I3  A unit is in exactly one place: a share on a column, unscheduled, unrouted, deferred (on the aggregator,
 *       without a column yet), or excess (queued).
 *
 * A solve (solve.c) restores I1 to I3 with no excess, no deficit, no deferred unit, and no free slot unless
 * aggregator_price is 0. Those are the conditions of optimality (complementary slackness):
 *
 *   solve:
 *     if nothing was solved before, or a repair would take longer (attempt.c):
 *         forget flow; all prices = a guess of the aggregator's price; keep units where they run at least cost;
 *         give free slots on cheapest arcs to groups in order of regret (start.c)      -> the rest is excess
 *     repair:
 *       1. for each group with excess (repair.c):
 *              forward search (Dijkstra in reduced costs) to the nearest of: a free slot, a deficit, the aggregator,
 *              "unscheduled"; each settled node's price rises by the target's distance - its own distance
 *              augment along the path (path.c), then a blocking flow along arcs of reduced cost 0 (blocking.c)
 *       2. for each deficit (aggregator.c):
 *              backward search to the unit that gains most by moving there, no farther than the aggregator's price
 *              augment along the path
 *       3. bind deferred units to free slots; while there are
 *              more deferred units than slots: raise all prices by the distance from the aggregator to the nearest arc
 *              for waiting, but less at nodes nearer to one; blocking flow outward
 *              more slots than units and a price above 0: lower all prices until a waiting unit takes a slot, or to 0;
 *              blocking flow inward
 *
 * Each search settles a node once, since nothing is nearer than the node being settled; each augmentation, deficit and
 * step of the aggregator's price moves a unit or a price. A step that moved neither would repeat for ever: the solve
 * ends with MCF_STALLED.
 *
 * Files, from the ground up: queue, state (memory), reference (arcs by target), running (arcs of limited
 * capacity), flow (units on columns), slot (free slots), group and column (changes), row and change (arcs),
 * search, forward, backward, path, blocking, aggregator, repair, start, export, import, attempt, solve; restore, read.
 */
#ifndef STRUCTURED_PRIV_H
#define STRUCTURED_PRIV_H

#include <sched/mcf/structured.h>

#include "structured_queue.h"

enum {
	ROW_MOST_ARCS = INT32_MAX / 8,
	PASS_LIMIT = 128,        /* effort.pass_limit of a new state, see structured.h, Work */
	REPAIR_SCANS = 100000,   /* effort.repair_scans of a new state */
	SINGLE_PASSES = 10,      /* effort.single_passes of a new state */
	UNROUTED_COST = 1 << 28, /* price of not being routed; above every path's cost in practice */
	PRICE_CLOSED = 1 << 29,  /* price of a column without slots: never reached */
	NONE = -1,
	PRICE_NO_SUPPLY = -(1 << 30), /* price of a group without supply: less than any other price */
	NODE_BLOCK = 1 << 29,         /* added to a block's number where columns and ~groups are node numbers, too */
	/* Cost of a full limited arc: minus any group's price above all prices, minus PRICE_NO_SUPPLY within 31 bits.
	 */
	REFERENCE_FULL = 3 << 28,
};

/* The other data of the arc at the same index: searches read only costs and targets. */
struct link {
	int32_t place : 30;   /* index in its target's list of references; NONE: not in it yet */
	uint32_t limited : 1; /* it is the arc of a `running` */
	uint32_t full : 1;    /* a limited one without residual capacity */
};

/*
 * Units that ran on a column when the row was set. If no unlimited arc leads there at their cost or less, they have a
 * limited arc; otherwise the entry only records that they run there, at the unlimited arc's cost. A group's entries
 * with limited arcs come first, ascending by cost, then column; the others follow, ascending by cost.
 */
struct running {
	int32_t column;
	int32_t cost;
	int32_t units;
	int32_t flow; /* of a limited arc: the units of the group's share of that column and cost */
	int32_t arc;  /* of a limited arc: its place among the group's arcs */
};

/* An arc of a row that is being installed. */
struct row_arc {
	int32_t target, cost; /* as in group.arcs */
	int32_t back;         /* NONE: it has no reference yet */
};

/* An arc that is to join a row, recorded at its target. Both fields are NONE between calls. */
struct wanted {
	int32_t cost;
	int32_t back; /* index of the reference that it takes over */
};

/*
 * Flow into a column, seen from the column: one entry for each group and cost. The group's share of the same column and
 * cost has the number of units. They use an arc to the column, to its block or to the aggregator, whichever has that
 * cost.
 */
struct entry {
	int32_t group;
	int32_t cost;
};

/* An arc into a column or block, seen from there. Full limited arcs have a cost so high that no search uses them. */
struct reference {
	int32_t group; /* NONE: an unused item */
	int32_t cost;  /* or REFERENCE_FULL; in an unused item: index + 1 of the next unused item */
};

struct reference_list {
	struct reference *items;
	int32_t count, room;
	int32_t spare; /* index + 1 of the first unused item; 0: none */
};

/* A node's state in the current blocking flow: its layer, and the cursor into its arcs, entries or members. */
struct visit {
	uint32_t stamp; /* of the last blocking flow that reached it */
	int32_t level, next;
};

/*
 * Half a cache line. Fields that searches read of many columns are in separate tables (prices, column_labels,
 * free_slots). So are fields that are set from the start on: pages of struct column are touched only where there is
 * flow.
 */
struct column {
	int32_t parent_group; /* NONE: the search's root */
	/*
	 * Forward: cost of the parent_group's arc to the column, ~cost over its block. Backward: cost of the
	 * parent_group's unit that leaves.
	 */
	int32_t parent_cost;
	int32_t entry_count;
	struct visit visit; /* next: an entry */
	struct entry *entries;
};

/* Bits of state->column_lists: the lists that have the column. */
enum { IN_FREE_LIST = 1, IN_DEFICIT_LIST = 2 };

struct block {
	int32_t floor;    /* <= least price of its open columns */
	int32_t distance; /* forward: the distance of a column minus its price */
	int32_t key; /* forward: distance + floor, where the search scans the columns; backward: the block's distance */
	uint32_t stamp;
	int32_t parent_group, parent_cost;
	int32_t parent_column; /* backward searches */
	int32_t slot_member;   /* members before this index have no free slot, if slot_epoch equals the state's */
	uint32_t slot_epoch;
	struct visit visit; /* next: a member */
	uint32_t exact;     /* stamp of the last blocking flow that made the floor exact */
	int32_t member_count, member_allocated;
	int32_t *members; /* columns */
	int32_t row_cost; /* cost of the arc to the block while a row is installed, otherwise INT32_MAX */
	struct wanted wanted;
	bool changes; /* true while its arcs in a row are replaced */
};

/* Two cache lines, of which searches need the first. */
struct group {
	int32_t price; /* valid while supply > 0 */
	int32_t aggregator_cost;
	int32_t unscheduled_cost, unscheduled_capacity, unscheduled_flow;
	int32_t deferred, unrouted;
	/*
	 * Forward: cost of the share on parent_column that is taken back; parent_column is NONE at a root. Backward:
	 * cost of the group's arc whose flow to parent_column rises; ~cost if the arc leads to a block.
	 */
	int32_t parent_cost, parent_column;
	int32_t arc_count;
	struct arc *arcs;                /* [arc_count] ascending by cost; target: column, or ~block */
	struct structured_share *shares; /* [share_count] ascending by column, then cost */
	int32_t slot_arc; /* arcs before this index lead to no free slot, if slot_epoch equals the state's */
	uint32_t slot_epoch;
	int32_t share_count, limited_count, running_count;
	int32_t supply, excess;
	struct running *running; /* [running_count] the first limited_count entries have arcs of their own */
	struct link *links;      /* [arc_count] */
	struct visit visit;      /* next: an arc */
	bool exists, in_excess_list, in_deferred_list, in_changed_list, in_waiting_list;
};

/* Allocated sizes of a group's arrays, stored separately because they are read only when the arrays grow. */
struct allocated {
	int32_t arcs, links, shares, running;
};

/* A list of ids. Each id's owner has a flag that says whether the id is in the list. */
struct id_list {
	int32_t *ids;
	int32_t count;
	size_t capacity;
};

/*
 * TARGET_SLOT: a group's arc to a free slot at the aggregator's price. TARGET_COLUMN: a deficit; in a backward search,
 * a column.
 */
enum target_kind { TARGET_SLOT, TARGET_COLUMN, TARGET_AGGREGATOR, TARGET_UNSCHEDULED, TARGET_UNROUTED };

struct target {
	enum target_kind kind;
	int32_t node; /* column or group */
};

/*
 * Backward: from a deficit, or from all arcs for waiting to the aggregator. Forward: from a group's excess, from that
 * of all groups, or from all waiting units.
 */
enum search_source { FROM_DEFICIT, TO_AGGREGATOR, FROM_GROUP, FROM_EXCESS, FROM_WAITING };

struct search {
	uint32_t stamp;
	uint64_t label_base; /* the upper half of this search's labels */
	enum search_source source;
	int32_t reached; /* distance of the node that is being settled; no further node is nearer */
	int32_t best;    /* distance of the target; nodes at this distance or beyond are irrelevant */
	struct target target;
	int32_t visited_count;
	int32_t *visited; /* settled nodes: columns, ~groups; blocks have no price of their own */
	size_t visited_capacity;
	struct queue queue;
};

enum blocking_kind { BLOCKING_LAYERED, BLOCKING_UNLAYERED, BLOCKING_INWARD, BLOCKING_OUTWARD };

struct blocking {
	enum blocking_kind kind;
	uint32_t stamp;
	int32_t sink_level; /* the first layer with a path to the sink */
	int32_t depth;      /* of the recursion */
};

/* Scratch of row.c, change.c and running.c. */
struct row_scratch {
	int32_t *unplaced;     /* [columns] units that wait for an arc, all 0 between calls */
	struct wanted *wanted; /* [columns] */
	struct row_arc *arcs;
	struct structured_share *detached; /* detached units, and the columns on which they stay */
	struct running *running;
	size_t arc_capacity, detached_capacity, running_capacity;
};

/* Work done and allowed, in arcs scanned, and estimates from earlier solves. */
struct effort {
	uint64_t scans, searches, augmentations; /* of this solve */
	uint64_t scan_limit;                     /* of the current attempt, which is abandoned beyond it */
	uint64_t pass_limit;                     /* of a solve, in passes over all arcs */
	uint64_t single_passes; /* passes over all arcs before push_together(), if there are slots for all units */
	uint64_t repair_scans;  /* a repair may scan this many arcs, or 8 * start_scans if that is more */
	uint64_t start_scans;   /* scans of the last solve from scratch */
	uint64_t price_scans;   /* outside of solves, since the last solve */
	int32_t repair_skips;   /* number of next solves that do not attempt a repair */
	int32_t repair_pause;   /* the same after the next abandoned repair */
	int32_t start_price; /* of the aggregator: the price at which the last solve from scratch should have begun */
	bool started_over;
	bool start_is_loose; /* a solve from scratch with slots for all units is in progress */
};

struct structured {
	/* [groups] */
	struct group *groups;
	int32_t *group_prices;  /* copies of the groups' prices: most searches read nothing else of a group */
	uint64_t *group_labels; /* structured_search.h */
	struct allocated *allocated;
	/* [columns] */
	struct column *columns;
	int32_t *prices;
	int32_t *capacities, *free_slots;
	int32_t *entry_allocated;
	uint8_t *column_lists;
	int32_t *column_blocks; /* NONE: the column does not exist */
	uint64_t *column_labels;
	struct reference_list *column_references; /* maintained while `referenced` */
	/* [blocks] */
	struct block *blocks;
	struct reference_list *block_references;
	int32_t group_count, group_allocated, column_count, column_allocated, block_count, block_allocated;
	bool referenced; /* the lists of references exist, see reference.c */
	bool solved;     /* flow and prices satisfy the invariants above */
	bool no_memory;
	bool stalled;  /* a step moved neither a unit nor a price */
	bool gives_up; /* a solve that takes too long gives up instead of using the simplex */
	bool given_up;
	int32_t aggregator_price;
	uint32_t slot_epoch;                                /* changes when a slot becomes free */
	int64_t total_capacity, total_free, total_deferred; /* the last two are valid once there was a solve */
	int64_t column_cost;                                /* of all flow into columns */
	int64_t arc_total;                                  /* of all groups */
	struct id_list excess_list, deferred_list, deficit_list, free_list, changed_list;
	struct id_list waiting_list; /* all groups with unscheduled or unrouted units, and some without */
	struct id_list meeting_list; /* columns or ~groups where a search has met the aggregator */
	struct id_list moved_groups; /* scratch of column.c */
	struct search search;
	struct blocking blocking;
	struct row_scratch scratch;
	struct effort effort;
	uint64_t array_bytes; /* of all arrays of single groups, columns and blocks */
};

/* state.c */
void list_push(struct structured *state, struct id_list *list, int32_t id);
bool list_reserve(struct id_list *list, int32_t needed); /* false if out of memory */
/*
 * Reserves `needed` items. If the array must grow, its size at least doubles, and *room is updated. Returns NULL if out
 * of memory; the items are kept.
 */
void *items_grow(struct structured *state, void *items, int32_t *room, int32_t needed, size_t item_bytes);
/* Reserves `needed` arcs of the group. Returns false, with no_memory set, if out of memory. */
bool group_reserve_arcs(struct structured *state, struct group *g, int32_t needed);
void group_free_arrays(struct structured *state, int32_t group);
int state_reserve_columns(struct structured *state, int32_t count);
int state_reserve_blocks(struct structured *state, int32_t count);
int state_reserve_groups(struct structured *state, int32_t count);

/* flow.c: moves units on columns, at the cost of the arc that they used, and updates the queues and lists. */
void flow_add(struct structured *state, int32_t group, int32_t column, int32_t cost, int32_t units);
void flow_take(struct structured *state, int32_t group, int32_t column, int32_t cost, int32_t units);
/*
 * For replacing a row. flow_detach() detaches the share at this index and appends it to the scratch space; the caller
 * also detaches all other shares of its column, and has removed its limited arc. Then flow_attach() gives detached
 * units another cost on their column, in ascending order of cost, and flow_drop_detached() drops the shares that it has
 * not used. A share that only changes its cost keeps its place, as does its entry. `limited` is the index of the arc
 * among the limited ones, or NONE.
 */
void flow_detach(struct structured *state, int32_t group, int32_t place, int32_t *count);
void flow_attach(struct structured *state, int32_t group, int32_t column, int32_t cost, int32_t units, int32_t limited);
void flow_drop_detached(struct structured *state, int32_t group);
int32_t flow_units(const struct group *group, int32_t column, int32_t cost);
int32_t flow_units_on(const struct group *group, int32_t column); /* at any cost */
void column_free(struct structured *state, int32_t column, int32_t units);
void column_fill(struct structured *state, int32_t column, int32_t units);
void group_add_excess(struct structured *state, int32_t group, int32_t units);
void group_add_deferred(struct structured *state, int32_t group, int32_t units);
/*
 * Assigns `units` deferred units to `column`. There must be at least that many; the caller updates the column's slots.
 */
void flow_bind(struct structured *state, int32_t column, int32_t units);
/* Return the price of waiting at the group, and the number of `units` that can wait at the group's price. */
int32_t group_waiting_cost(const struct group *g);
int32_t group_waiting_capacity(const struct group *g, int32_t units);
/* Makes as many of `units` as possible wait at the group's price. Returns their number. */
int32_t group_wait(struct structured *state, int32_t group, int32_t units);
void group_changed(struct structured *state, int32_t group); /* its answer has changed, or may have */
void group_waits(struct structured *state, int32_t group);   /* the same; more of its units wait */

/* limited.c: the capacity of limited arcs. */
int32_t limited_find(const struct group *group, int32_t column, int32_t cost); /* index in `running`, or NONE */
/* Returns INT32_MAX for an unlimited arc. */
int32_t arc_capacity(const struct group *group, int32_t target, int32_t cost);
/* Adds `flow` to the flow, and `units` to the capacity, of the limited arc at this index of `running`. */
void limited_change(struct structured *state, int32_t group, int32_t place, int32_t flow, int32_t units);
int32_t arc_residual_at(const struct group *group, int32_t target, int32_t cost);

/*
 * running.c: running_drop() removes the limited arcs and the entries of running units from the row; running_add() adds
 * new ones. Both scan the row if there are any. running_exchange() does both in a row whose other arcs stay: columns
 * whose limited arcs do not change keep their flow; the shares of the others are detached, and *detached is their
 * number.
 */
void running_drop(struct structured *state, int32_t group);
bool running_add(struct structured *state, int32_t group, const struct structured_running *running, int32_t count);
bool running_exchange(struct structured *state, int32_t group, const struct structured_running *running, int32_t count,
		      int32_t *detached);

/* reference.c */
void references_build(struct structured *state);
void references_unlink(struct structured *state, int32_t group);
/* `cost` is as in struct reference. Returns the index of the reference, or NONE if out of memory. */
int32_t reference_link(struct structured *state, int32_t group, int32_t target, int32_t cost);
/* Prefetches the item at index `back` or, if that is NONE, the place of the next reference to be linked. */
void reference_fetch(const struct structured *state, int32_t target, int32_t back);

/* row.c */
bool row_cost_legal(int32_t cost);
/* Reserves this number of arcs in the scratch space. Returns 0 or -ENOMEM. */
int row_reserve(struct structured *state, int32_t group, int32_t arcs);
/* The unlimited arcs that are replaced: all, those to the blocks that change and to their columns, or none. */
enum row_part { ROW_WHOLE, ROW_BLOCKS, ROW_RUNNING };
/*
 * Replaces that part of the group's arcs by the `count` arcs in the scratch space, and its limited arcs by `running`.
 * The group's units stay on their columns if possible. Returns 0 or -ENOMEM.
 */
int row_install(struct structured *state, int32_t group, enum row_part part, int32_t count,
		const struct structured_running *running, int32_t running_count);

/* group.c: sets the price to the least over arcs with residual capacity; more expensive units become excess. */
void group_reprice(struct structured *state, int32_t group);

/* export.c: true if the export has an arc from the group to the sink for units that cannot be routed. */
bool export_has_unrouted(const struct group *group);

/* import.c: computes flow and prices by the network simplex. If that fails, sets no_memory or stalled. */
void import_simplex(struct structured *state);

/* start.c */
/* Removes all units, and sets every open column to the aggregator's price. */
void start_forget(struct structured *state, int32_t aggregator_price);
void start_fresh(struct structured *state, int32_t aggregator_price);

/* attempt.c */
void start_solve(struct structured *state);

/* repair.c */
void push_all(struct structured *state);
void repair(struct structured *state);

/* forward.c */
void search_group_forward(struct structured *state, int32_t group);
void search_from_excess(struct structured *state); /* of all groups in excess_list */
/*
 * Searches from all waiting units for the nearest place where one of them would reach a slot at the aggregator's price.
 */
void search_from_waiting(struct structured *state, int32_t limit);

/* backward.c */
void search_from_deficit(struct structured *state, int32_t column);
void search_to_aggregator(struct structured *state);

/* path.c: moves up to `units` units along the path of the last search. Returns their number. */
int32_t path_augment(struct structured *state, int32_t units);
/* The same from a node of the meeting list, if the node is still on a shortest path. */
int32_t path_augment_inward(struct structured *state, int32_t group, int32_t units);
int32_t path_augment_outward(struct structured *state, int32_t node, int32_t units);

/* slot.c: free slots at the aggregator's price. */
int32_t block_free_slot(struct structured *state, int32_t block);
int32_t group_free_slot(struct structured *state, int32_t group, int32_t below, int32_t *column);
int32_t block_least_price(const struct structured *state, int32_t block); /* PRICE_CLOSED: no open column */
int32_t block_exact_floor(struct structured *state, int32_t block); /* the same, and stores it as the block's floor */

/* blocking.c: the functions return the number of units that were moved. */
void blocking_begin(struct structured *state, enum blocking_kind kind);
int32_t blocking_from_group(struct structured *state, int32_t group, int32_t units);
int32_t blocking_from_excess(struct structured *state); /* of all groups in excess_list */
int32_t blocking_inward(struct structured *state, int32_t units);
/* Moves up to `units` deferred units away, through `node` of the meeting list. Returns the number that moved. */
int32_t blocking_outward(struct structured *state, int32_t node, int32_t units);

/* aggregator.c: fills deficits, binds deferred units to slots and settles the price, once no excess is left. */
void aggregator_settle(struct structured *state);

static inline struct visit *node_visit(const struct structured *state, int32_t node)
{
	if (node < 0)
		return &state->groups[~node].visit;
	return node >= NODE_BLOCK ? &state->blocks[node - NODE_BLOCK].visit : &state->columns[node].visit;
}

static inline struct allocated *allocated_of(const struct structured *state, const struct group *group)
{
	return &state->allocated[group - state->groups];
}

static inline bool arc_is_limited(const struct group *group, int32_t target, int32_t cost)
{
	return limited_find(group, target, cost) != NONE;
}

static inline int32_t arc_residual(const struct group *group, int32_t arc)
{
	return group->links[arc].limited ? arc_residual_at(group, group->arcs[arc].target, group->arcs[arc].cost)
					 : INT32_MAX;
}

static inline bool arc_has_residual(const struct group *group, int32_t arc)
{
	return !group->links[arc].full;
}

/* Returns the first of the group's arcs low..high-1 that costs at least `cost`, or `high` if none does. */
static inline int32_t group_first_arc(const struct group *group, int32_t low, int32_t high, int32_t cost)
{
	while (low < high) {
		int32_t middle = low + (high - low) / 2;

		if (group->arcs[middle].cost < cost)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static inline bool state_failed(const struct structured *state)
{
	return state->no_memory || state->stalled || state->given_up;
}

static inline bool state_halted(const struct structured *state)
{
	return state_failed(state) || state->effort.scans > state->effort.scan_limit;
}

/* True if the group has supply. Does not read the group itself. */
static inline bool group_has_supply(const struct structured *state, int32_t group)
{
	return state->group_prices[group] != PRICE_NO_SUPPLY;
}

/* Call it after each change of the group's price, or of its supply from or to 0. */
static inline void group_note_price(struct structured *state, int32_t group)
{
	state->group_prices[group] = state->groups[group].supply > 0 ? state->groups[group].price : PRICE_NO_SUPPLY;
}

static inline struct reference_list *reference_list_of(const struct structured *state, int32_t target)
{
	return target >= 0 ? &state->column_references[target] : &state->block_references[~target];
}

static inline void reference_unlink(struct structured *state, int32_t target, int32_t place)
{
	struct reference_list *list = reference_list_of(state, target);

	list->items[place] = (struct reference){NONE, list->spare};
	list->spare = place + 1;
}

static inline int32_t least(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

#endif
