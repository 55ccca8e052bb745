/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The structured solver: successive shortest paths with potentials, here called prices. A search may end at the
 * aggregator as if it were a sink; its units (deferred units) get their columns later.
 *
 * A node's price is its cost to the sink; the reduced cost of an arc v -> w is cost + price(w) - price(v). Blocks and
 * the aggregator carry no flow: they are shortcuts of the search, and a unit that takes one gets a share on its column
 * at the shortcut's cost. A free slot has the aggregator's price: a column can have a higher price only while it is
 * full.
 *
 * Terms. Unscheduled and unrouted units wait; a group's arc for waiting is the arc "unscheduled" while it has residual
 * capacity, otherwise an imaginary arc of cost UNROUTED_COST. A column without slots is closed, the others are open. A
 * search starts at its roots. It settles a node when the node's distance is final. It meets the aggregator at a node
 * from which a unit can get a slot at the aggregator's price (forward search), or through which deferred units can
 * leave (backward search); such nodes are meetings.
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
 *     if nothing was solved before, or a repair would take longer (solve.c):
 *         forget flow; all prices = a guess of the aggregator's price; keep units where they run at least cost;
 *         give free slots on cheapest arcs to groups in order of regret (repair.c)     -> the rest is excess
 *     repair:
 *       1. for each group with excess (repair.c):
 *              forward search (Dijkstra in reduced costs) to the nearest of: a free slot, a deficit, the aggregator,
 *              "unscheduled"; the price of each settled node rises by the target's distance minus the node's distance
 *              augment along the path (path.c), then a blocking flow along arcs of reduced cost 0 (blocking.c)
 *       2. for each deficit (repair.c):
 *              backward search to the unit that gains most by moving there, no farther than the aggregator's price
 *              augment along the path
 *       3. bind deferred units to free slots; while there are
 *              more deferred units than slots: raise all prices by the distance from the aggregator to the nearest arc
 *              for waiting, but less at nodes nearer to one; blocking flow outward
 *              more slots than units and a price above 0: lower all prices until a waiting unit takes a slot, or to 0;
 *              blocking flow inward
 *
 * A solve ends, because a search settles each node at most once, and because each augmentation, deficit and step of the
 * aggregator's price moves a unit or a price. A step that moves neither would be repeated for ever; it ends the solve
 * with MCF_STALLED.
 *
 * Files, from the ground up: state (memory, queue, arcs by target), flow (units on columns, free slots), group (price,
 * supply, arcs of limited capacity), row (arcs), column (changes of columns, and of a row's blocks), search, path,
 * blocking, repair (also the aggregator and solves from scratch), solve, export (also import, restore and read).
 */
#ifndef STRUCTURED_PRIV_H
#define STRUCTURED_PRIV_H

#include <sched/mcf/structured.h>

#include "queue_priv.h"

enum {
	ROW_MOST_ARCS = INT32_MAX / 8,
	PASS_LIMIT = 128,        /* effort.pass_limit of a new state, see structured.h, Work */
	REPAIR_SCANS = 100000,   /* effort.repair_scans of a new state */
	SINGLE_PASSES = 10,      /* effort.single_passes of a new state */
	UNROUTED_COST = 1 << 28, /* cost of an unrouted unit; above every path's cost in practice */
	PRICE_CLOSED = 1 << 29,  /* price of a column without slots, above every other price */
	NONE = -1,
	PRICE_NO_SUPPLY = -(1 << 30), /* price of a group without supply: less than any other price */
	NODE_BLOCK = 1 << 29,         /* a node's number is a column, ~group, or this value + a block */
	/*
	 * Stands for the cost of a full limited arc in references. It is so high that the arc's reduced cost exceeds
	 * every price, whatever the price of the group; REFERENCE_FULL - PRICE_NO_SUPPLY still fits int32.
	 */
	REFERENCE_FULL = 3 << 28,
};

/*
 * The rest of a group's data of the arc at the same index in arcs[]. arcs[] itself has only the target and the cost,
 * because searches read only these.
 */
struct link {
	int32_t place : 30;   /* index in its target's list of references; NONE: not in it yet */
	uint32_t limited : 1; /* the arc belongs to an entry of `running` */
	uint32_t full : 1;    /* the arc is limited and has no residual capacity */
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
	int32_t flow; /* with a limited arc: number of units in the group's share of this column and cost */
	int32_t arc;  /* with a limited arc: index of the arc in group.arcs */
};

/* An arc of a row that is being installed. */
struct row_arc {
	int32_t target, cost; /* as in group.arcs */
	int32_t back;         /* index of the arc's reference at the target; NONE: it has none yet */
};

/* An arc that is to join a row, recorded at its target. Both fields are NONE between calls. */
struct wanted {
	int32_t cost;
	int32_t back; /* index of the old arc's reference, which the new arc takes over */
};

/*
 * Flow into a column, stored with the column: one entry for each group and cost. The number of units is in the group's
 * share of the same column and cost. These units use the group's arc to the column, to the block or to the aggregator,
 * whichever has that cost.
 */
struct entry {
	int32_t group;
	int32_t cost;
};

/*
 * An arc into a column or block, stored with this target. Full limited arcs have a cost so high that no search uses
 * them.
 */
struct reference {
	int32_t group; /* NONE: an unused item */
	int32_t cost;  /* the arc's cost, or REFERENCE_FULL; in an unused item: index + 1 of the next unused item */
};

struct reference_list {
	struct reference *items;
	int32_t count, room;
	int32_t spare; /* index + 1 of the first unused item; 0: none */
};

/*
 * A node's state in the current blocking flow: `level` is its layer, `next` the index of the arc, entry or member to
 * scan next.
 */
struct visit {
	uint32_t stamp; /* of the last blocking flow that reached it */
	int32_t level, next;
};

/*
 * Half a cache line. Fields that searches read for many columns (prices, column_labels, free_slots) are in tables of
 * their own, as are fields that are set even if the column has no flow. So pages of struct column are touched only
 * where there is flow.
 */
struct column {
	int32_t parent_group; /* NONE: the search's root */
	/*
	 * In a forward search: cost of parent_group's arc to the column, or ~cost if the flow goes over the block. In a
	 * backward search: cost of the share of parent_group that would leave the column.
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
	int32_t distance; /* in a forward search: add a column's price to get the column's distance */
	/*
	 * key in the queue. In a forward search: distance + floor, a lower bound of the columns' distances; in a
	 * backward search: the block's distance
	 */
	int32_t key;
	uint32_t stamp; /* of the last search that reached the block */
	int32_t parent_group, parent_cost;
	int32_t parent_column; /* column over which a backward search reached the block */
	/* members[] before this index have no free slot, as long as slot_epoch equals the state's */
	int32_t slot_member;
	uint32_t slot_epoch;
	struct visit visit; /* next: a member */
	uint32_t exact;     /* stamp of the last blocking flow that made the floor exact */
	int32_t member_count, member_allocated;
	int32_t *members; /* columns */
	int32_t row_cost; /* cost of the arc to the block while a row is installed, otherwise INT32_MAX */
	struct wanted wanted;
	bool changes; /* true while the arcs of a row to the block and its columns are replaced */
};

/* Two cache lines, of which searches need the first. */
struct group {
	int32_t price; /* valid while supply > 0 */
	int32_t aggregator_cost;
	int32_t unscheduled_cost, unscheduled_capacity, unscheduled_flow;
	int32_t deferred, unrouted;
	/*
	 * In a forward search: column and cost of the group's share over which the search reached the group; its units
	 * would leave the column. parent_column is NONE at a root. In a backward search: parent_cost is the cost of the
	 * group's arc whose flow to parent_column would rise; ~cost if the arc leads to a block.
	 */
	int32_t parent_cost, parent_column;
	int32_t arc_count;
	struct arc *arcs;                /* [arc_count] ascending by cost; target: column, or ~block */
	struct structured_share *shares; /* [share_count] ascending by column, then cost */
	/* arcs[] before this index lead to no free slot, as long as slot_epoch equals the state's */
	int32_t slot_arc;
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

/*
 * A list of ids of groups or columns. A flag of the group or column says whether it is in the list; meeting_list and
 * moved_groups have no such flags.
 */
struct id_list {
	int32_t *ids;
	int32_t count;
	size_t capacity;
};

/*
 * What a search ends at. TARGET_SLOT: a group's arc to a free slot at the aggregator's price. TARGET_COLUMN: in a
 * forward search, a column with a deficit; in a backward search, a column at the aggregator's price.
 */
enum target_kind { TARGET_SLOT, TARGET_COLUMN, TARGET_AGGREGATOR, TARGET_UNSCHEDULED, TARGET_UNROUTED };

struct target {
	enum target_kind kind;
	int32_t node; /* column or group */
};

/*
 * Backward searches: FROM_DEFICIT; TO_AGGREGATOR, from all arcs for waiting. Forward searches: from one group's excess,
 * from the excess of all groups, or from all waiting units.
 */
enum search_source { FROM_DEFICIT, TO_AGGREGATOR, FROM_GROUP, FROM_EXCESS, FROM_WAITING };

struct search {
	uint32_t stamp;
	uint64_t label_base; /* the upper half of this search's labels */
	enum search_source source;
	int32_t reached; /* distance of the node that is being settled; nodes settled later are not nearer */
	int32_t best;    /* distance of the nearest target so far; nodes at this distance or beyond are irrelevant */
	struct target target;
	int32_t visited_count;
	int32_t *visited; /* settled nodes, for the change of prices: columns, ~groups */
	size_t visited_capacity;
	struct queue queue;
};

enum blocking_kind { BLOCKING_LAYERED, BLOCKING_UNLAYERED, BLOCKING_INWARD, BLOCKING_OUTWARD };

struct blocking {
	enum blocking_kind kind;
	uint32_t stamp;
	int32_t sink_level; /* the first layer with a path to the sink */
	int32_t depth;      /* number of nodes on the current path, limited by DEPTH_MOST */
};

/* Scratch of row.c, column.c and group.c. */
struct row_scratch {
	/* [columns] units to be assigned to an arc to the column, or a mark; all 0 between calls */
	int32_t *unplaced;
	struct wanted *wanted; /* [columns] */
	struct row_arc *arcs;
	struct structured_share *detached; /* shares whose units keep their column while their arcs are replaced */
	struct running *running;
	size_t arc_capacity, detached_capacity, running_capacity;
};

/* Work done and allowed. The unit of scans is one arc (or entry, reference or block member) read. */
struct effort {
	uint64_t scans, searches, augmentations; /* work done by the current solve */
	uint64_t scan_limit; /* value of `scans` beyond which the current attempt or repair is abandoned */
	uint64_t pass_limit; /* limit of a solve, in passes: scans divided by the number of arcs */
	/* if there are slots for all units, push_together() starts after this number of passes */
	uint64_t single_passes;
	uint64_t repair_scans; /* a repair may scan this many arcs, or 8 * start_scans if that is more */
	uint64_t start_scans;  /* scans of the last solve from scratch, but at most twice the value before */
	uint64_t price_scans;  /* scans by structured_lower_price() since the last solve */
	int32_t repair_skips;  /* number of solves, from the next on, that will not attempt a repair */
	int32_t repair_pause;  /* value of repair_skips after the next abandoned repair */
	int32_t start_price;   /* aggregator's price with which the last solve from scratch should have begun */
	bool started_over;
	bool start_is_loose; /* a solve from scratch with slots for all units is in progress */
};

struct structured {
	/* [groups] */
	struct group *groups;
	int32_t *group_prices;  /* copies of the groups' prices: most searches read nothing else of a group */
	uint64_t *group_labels; /* [groups] distances found by the current search, see search.c */
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
	bool referenced; /* the lists of references exist, see state.c */
	bool solved;     /* flow and prices satisfy the invariants above */
	bool no_memory;
	bool stalled;  /* a step moved neither a unit nor a price */
	bool gives_up; /* a solve that takes too long gives up instead of using the simplex */
	bool given_up;
	int32_t aggregator_price;
	uint32_t slot_epoch;                                /* changes when a slot becomes free */
	int64_t total_capacity, total_free, total_deferred; /* the last two are valid once there was a solve */
	int64_t column_cost;                                /* total cost of all units on columns */
	int64_t arc_total;                                  /* number of arcs of all groups */
	struct id_list excess_list, deferred_list, deficit_list, free_list, changed_list;
	struct id_list waiting_list; /* has all groups with waiting units, and some without */
	/* meetings of the last search. search_from_waiting(): groups; search_to_aggregator(): columns and ~groups */
	struct id_list meeting_list;
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
 * For replacing a row. flow_detach() detaches the share at this index of the group's shares, and appends it to the
 * scratch space. The caller must have removed the limited arc to the share's column, and detaches all other shares of
 * this column, too. Then flow_attach() gives detached units another cost on their column; call it in ascending order of
 * cost. Finally, flow_drop_detached() removes the detached shares that flow_attach() has not reused. A share of which
 * only the cost changes keeps its index, as does its entry. `limited` is the index of the new arc in `running`, or NONE
 * if the arc is unlimited.
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
 * Assigns `units` deferred units, which must exist, to `column`. The caller updates the column's slots.
 */
void flow_bind(struct structured *state, int32_t column, int32_t units);
/* Return the cost of the group's arc for waiting, and how many of `units` can use it at reduced cost 0. */
int32_t group_waiting_cost(const struct group *g);
int32_t group_waiting_capacity(const struct group *g, int32_t units);
/*
 * Makes up to `units` units wait, as far as the arc for waiting has residual capacity and reduced cost 0. Returns the
 * number of units that now wait.
 */
int32_t group_wait(struct structured *state, int32_t group, int32_t units);
void group_changed(struct structured *state, int32_t group); /* records that the group's answer may have changed */
/* as group_changed(), and puts the group in waiting_list */
void group_waits(struct structured *state, int32_t group);

/* The capacity of limited arcs. */
int32_t limited_find(const struct group *group, int32_t column, int32_t cost); /* index in `running`, or NONE */
/* Returns INT32_MAX for an unlimited arc. */
int32_t arc_capacity(const struct group *group, int32_t target, int32_t cost);
/*
 * Adds `flow` to the flow and `units` to the capacity of the limited arc of entry `place` of `running`. Both may be
 * negative.
 */
void limited_change(struct structured *state, int32_t group, int32_t place, int32_t flow, int32_t units);
int32_t arc_residual_at(const struct group *group, int32_t target, int32_t cost);

/*
 * group.c: running_drop() removes the limited arcs and the entries of `running`; running_add() adds new ones. Each
 * scans the row only if there are limited arcs to remove or add. running_exchange() does both in a row whose unlimited
 * arcs stay. Columns whose limited arcs do not change keep their flow; the shares on the other columns are detached,
 * and *detached is their number.
 */
void running_drop(struct structured *state, int32_t group);
bool running_add(struct structured *state, int32_t group, const struct structured_running *running, int32_t count);
bool running_exchange(struct structured *state, int32_t group, const struct structured_running *running, int32_t count,
		      int32_t *detached);

/* References, see state.c. */
void references_build(struct structured *state);
void references_unlink(struct structured *state, int32_t group);
/* `cost` is as in struct reference. Returns the index of the reference, or NONE if out of memory. */
int32_t reference_link(struct structured *state, int32_t group, int32_t target, int32_t cost);
/*
 * Prefetches the target's reference at index `back` or, if that is NONE, the item that the next reference_link() will
 * use.
 */
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

/*
 * group.c: sets the group's price to the least cost to the sink over arcs with residual capacity. Units that use a more
 * expensive arc become excess.
 */
void group_reprice(struct structured *state, int32_t group);

/* export.c: true if the export has an arc from the group to the sink for units that cannot be routed. */
bool export_has_unrouted(const struct group *group);

/* solve.c: computes flow and prices by the network simplex. If that fails, sets no_memory or stalled. */
void import_simplex(struct structured *state);

/* repair.c: solves from scratch, and repairs. */

/* Removes all units, and sets every open column to the aggregator's price. */
void start_forget(struct structured *state, int32_t aggregator_price);
void start_fresh(struct structured *state, int32_t aggregator_price);

void push_all(struct structured *state);
void repair(struct structured *state);

/* search.c: shortest paths in reduced costs, forward and backward. */
void search_group_forward(struct structured *state, int32_t group);
void search_from_excess(struct structured *state); /* of all groups in excess_list */
/*
 * Searches from all waiting units for the nearest place where a unit would get a slot at the aggregator's price, up to
 * distance `limit`.
 */
void search_from_waiting(struct structured *state, int32_t limit);
void search_from_deficit(struct structured *state, int32_t column);
void search_to_aggregator(struct structured *state);

/* path.c: moves up to `units` units along the path of the last search. Returns their number. */
int32_t path_augment(struct structured *state, int32_t units);
/* As path_augment(), but from a meeting. Return 0 if the node is no longer on a shortest path. */
int32_t path_augment_inward(struct structured *state, int32_t group, int32_t units);
int32_t path_augment_outward(struct structured *state, int32_t node, int32_t units);
/* Changes the prices of nodes that the last search settled by their distance to the target: up (sign 1) or down (-1).
 */
void search_move_prices(struct structured *state, int32_t sign);

/* flow.c: free slots at the aggregator's price. */
int32_t block_free_slot(struct structured *state, int32_t block);
int32_t group_free_slot(struct structured *state, int32_t group, int32_t below, int32_t *column);
/* returns PRICE_CLOSED if no column of the block is open */
int32_t block_least_price(const struct structured *state, int32_t block);
/* as block_least_price(), and sets block.floor to it */
int32_t block_exact_floor(struct structured *state, int32_t block);

/* blocking.c: the functions return the number of units that were moved. */
void blocking_begin(struct structured *state, enum blocking_kind kind);
int32_t blocking_from_group(struct structured *state, int32_t group, int32_t units);
int32_t blocking_from_excess(struct structured *state); /* of all groups in excess_list */
int32_t blocking_inward(struct structured *state, int32_t units);
/* Makes up to `units` deferred units wait, along paths from `node`, a meeting. Returns the number of units. */
int32_t blocking_outward(struct structured *state, int32_t node, int32_t units);

/*
 * repair.c: fills deficits, binds deferred units to slots and sets the aggregator's price. Call it when no excess
 * is left.
 */
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

/* A label of the current search, see search.c. */
static inline uint64_t search_label(const struct search *search, int32_t distance)
{
	return search->label_base | (uint32_t)distance;
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
