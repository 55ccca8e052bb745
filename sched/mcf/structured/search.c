/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shortest paths in reduced costs. Forward searches start at units that need a slot, backward searches at slots that
 * need a unit. Nodes are settled in order of their distance from the roots up to the nearest target; then the price of
 * each settled node changes by the target's distance minus the node's. The caller uses the path to search.target.
 *
 * A label has the distance at which a search has reached a column or group in its lower half, and the complement of the
 * search's number in its upper half. So labels of earlier searches are larger than any of the current one, and one
 * comparison tells whether a node comes nearer. Distances are never negative, as reduced costs of arcs with residual
 * capacity are not.
 */
#include "structured_priv.h"

enum { LAYERS_BEYOND_PART = 4 }; /* after the first meeting, at most 1/4 more nodes are settled */

/* Expands a settled node in one direction. */
struct search_direction {
	void (*group)(struct structured *state, int32_t group, int32_t distance);
	void (*column)(struct structured *state, int32_t column, int32_t distance);
	void (*block)(struct structured *state, int32_t block);
};

/*
 * True if `distance` is shorter than the label `known`. Also false for a node nearer than the one being settled, which
 * only wrong prices could cause.
 */
static bool search_improves(const struct search *search, int32_t distance, uint64_t known)
{
	return distance < search->best && search_label(search, distance) < known && distance >= search->reached;
}

/*
 * A search in layers (to the aggregator) takes nodes of equal distance first in, first out, so that paths have few
 * arcs: nodes found at the distance being settled are appended to `visited`.
 */
static void search_enqueue(struct search *search, int32_t node, int32_t distance)
{
	if (search->source == TO_AGGREGATOR && distance == search->reached)
		search->visited[search->visited_count++] = node;
	else
		queue_push(&search->queue, node, distance);
}

static void search_target(struct search *search, enum target_kind kind, int32_t node, int32_t distance)
{
	if (distance >= search->best)
		return;
	search->best = distance;
	search->target = (struct target){kind, node};
}

/* Call it when the stamp wraps around: the labels of 2^32 searches ago would look current. */
static void forget_labels(struct structured *state)
{
	for (int32_t i = 0; i < state->column_count; i++)
		state->column_labels[i] = UINT64_MAX;
	for (int32_t i = 0; i < state->group_count; i++)
		state->group_labels[i] = UINT64_MAX;
	for (int32_t i = 0; i < state->block_count; i++)
		state->blocks[i].stamp = 0;
	state->search.stamp = 1;
}

/* limit: the search ignores targets at this distance or beyond. */
static void search_begin(struct structured *state, enum search_source source, int32_t limit)
{
	struct search *search = &state->search;

	queue_clear(&search->queue);
	if (++search->stamp == UINT32_MAX)
		forget_labels(state);
	search->label_base = (uint64_t)~search->stamp << 32;
	search->source = source;
	search->best = limit;
	search->reached = 0;
	search->visited_count = 0;
	state->meeting_list.count = 0;
	search->target.node = NONE;
	state->effort.searches++;
}

/*
 * A search for a change of the aggregator's price has several targets: all nodes where it meets the aggregator at the
 * least distance. To find them all, `best` is this distance + 1; nodes at this distance are not expanded.
 */
static void search_run(struct structured *state, const struct search_direction *direction)
{
	struct search *search = &state->search;
	int32_t node, key, links = search->source == TO_AGGREGATOR || search->source == FROM_WAITING;

	while (!state_halted(state) && queue_pop(&search->queue, &node, &key)) {
		if (key >= search->best - links)
			break;
		search->reached = key;
		if (node >= NODE_BLOCK) {
			if (state->blocks[node - NODE_BLOCK].key == key)
				direction->block(state, node - NODE_BLOCK);
		} else if (node >= 0) {
			if ((int32_t)state->column_labels[node] != key)
				continue;
			search->visited[search->visited_count++] = node;
			direction->column(state, node, key);
		} else {
			if ((int32_t)state->group_labels[~node] != key)
				continue;
			search->visited[search->visited_count++] = node;
			direction->group(state, ~node, key);
		}
	}
}

/*
 * Sets the node's layer for BLOCKING_OUTWARD. The roots, at the arcs for waiting, have layer 0. Each step away from the
 * roots lowers the layer by one, so that layers rise along a path of units towards an arc for waiting.
 */
static void search_mark(struct structured *state, int32_t node)
{
	struct visit *visit = node_visit(state, node);

	*visit = (struct visit){.stamp = state->blocking.stamp};
	if (node >= NODE_BLOCK) {
		visit->level = state->columns[state->blocks[node - NODE_BLOCK].parent_column].visit.level - 1;
	} else if (node >= 0) {
		visit->level = state->groups[state->columns[node].parent_group].visit.level - 1;
	} else if (state->groups[~node].parent_column != NONE) {
		const struct group *g = &state->groups[~node];

		visit->level = g->parent_cost >= 0
				       ? state->columns[g->parent_column].visit.level - 1
				       : state->blocks[state->column_blocks[g->parent_column]].visit.level - 1;
	}
}

/*
 * Records that the search meets the aggregator at `node`, at this distance. The search continues to other nodes at the
 * same distance.
 */
static void search_meet(struct structured *state, int32_t node, int32_t distance)
{
	struct search *search = &state->search;

	if (distance >= search->best)
		return;
	if (distance < search->best - 1) {
		search->best = distance + 1;
		state->meeting_list.count = 0;
	}
	list_push(state, &state->meeting_list, node);
}

/*
 * True if deferred units can leave through this node directly. The search need not go beyond the node, as paths for
 * deferred units begin here.
 */
static bool at_aggregator_price(const struct structured *state, int32_t node)
{
	if (node < 0)
		return state->groups[~node].deferred > 0;
	return node < NODE_BLOCK && state->prices[node] == state->aggregator_price;
}

static void settle(struct structured *state, const struct search_direction *direction, int32_t node, int32_t key)
{
	search_mark(state, node);
	if (at_aggregator_price(state, node))
		return;
	if (node >= NODE_BLOCK)
		direction->block(state, node - NODE_BLOCK);
	else if (node >= 0)
		direction->column(state, node, key);
	else
		direction->group(state, ~node, key);
}

/* True if the queued distance is still the node's shortest. */
static bool is_fresh(const struct structured *state, int32_t node, int32_t key)
{
	if (node >= NODE_BLOCK)
		return state->blocks[node - NODE_BLOCK].key == key;
	return (int32_t)(node >= 0 ? state->column_labels[node] : state->group_labels[~node]) == key;
}

/*
 * Settles the nodes in `visited` from *next on. Returns false if the search has met the aggregator and enough nodes at
 * that distance are settled: more nodes would only add other paths at the same distance, most of them useless. Settling
 * all nodes at that distance makes rounds take 1.12 times as long, the slowest 1.83 times.
 */
static bool settle_layer(struct structured *state, const struct search_direction *direction, int32_t *next,
			 int32_t *most)
{
	struct search *search = &state->search;

	for (; *next < search->visited_count; ++*next) {
		if (state->meeting_list.count > 0 && search->reached == search->best - 1) {
			*most = least(*most, *next + *next / LAYERS_BEYOND_PART);
			if (*next >= *most)
				return false;
		}
		settle(state, direction, search->visited[*next], search->reached);
	}
	return true;
}

/*
 * As search_run(), but settles all nodes of one distance before the next (in layers), and goes slightly beyond the
 * first meeting with the aggregator. Marks settled nodes and meetings for a blocking flow.
 */
static void search_run_layers(struct structured *state, const struct search_direction *direction)
{
	struct search *search = &state->search;
	int32_t node, key, next = 0, most = INT32_MAX;

	while (settle_layer(state, direction, &next, &most)) {
		if (!queue_pop(&search->queue, &node, &key) || key >= search->best)
			break;
		search->reached = key;
		do {
			if (is_fresh(state, node, key))
				search->visited[search->visited_count++] = node;
		} while (queue_peek(&search->queue, &node) && queue_pop(&search->queue, &node, &key));
	}
	search->visited_count = next;
	for (int32_t i = 0; i < state->meeting_list.count; i++)
		search_mark(state, state->meeting_list.ids[i]);
}

/*
 * Forward searches start at units that need a path to the sink: excess, or waiting units that could be placed. They end
 * at the nearest free slot, aggregator, deficit or "unscheduled".
 */

/*
 * Finds the distance at which a waiting unit would, through this group, get a slot at the aggregator's price, and
 * passes it to search_meet().
 */
static void aggregator_targets(struct structured *state, int32_t group, int32_t distance)
{
	const struct search *search = &state->search;
	const struct group *g = &state->groups[group];
	int32_t base = distance - g->price + state->aggregator_price, best = search->best, column;

	if (g->aggregator_cost != ARC_ABSENT)
		best = least(best, base + g->aggregator_cost);
	int32_t exit = group_free_slot(state, group, best - base, &column);

	if (exit != NONE)
		best = base + g->arcs[exit].cost;
	search_meet(state, group, best);
}

/*
 * Considers the group's own paths to the sink as soon as the group is reached. So the last and widest layer of a search
 * is not expanded.
 */
static void forward_group_targets(struct structured *state, int32_t group, int32_t distance)
{
	struct search *search = &state->search;
	const struct group *g = &state->groups[group];
	int32_t base = distance - g->price, column, exit;

	if (search->source == FROM_WAITING) {
		aggregator_targets(state, group, distance);
		return;
	}
	if (g->unscheduled_flow < g->unscheduled_capacity)
		search_target(search, TARGET_UNSCHEDULED, group, base + g->unscheduled_cost);
	search_target(search, TARGET_UNROUTED, group, base + UNROUTED_COST);
	base += state->aggregator_price;
	if (g->aggregator_cost != ARC_ABSENT)
		search_target(search, TARGET_AGGREGATOR, group, base + g->aggregator_cost);
	exit = group_free_slot(state, group, search->best - base, &column);
	if (exit != NONE)
		search_target(search, TARGET_SLOT, group, base + g->arcs[exit].cost);
}

/* `column` and `cost` are those of the group's share that would leave the column; NONE for a root. */
static void forward_relax_group(struct structured *state, int32_t group, int32_t distance, int32_t column, int32_t cost)
{
	struct search *search = &state->search;

	if (!search_improves(search, distance, state->group_labels[group]))
		return;
	state->group_labels[group] = search_label(search, distance);
	state->groups[group].parent_cost = cost;
	state->groups[group].parent_column = column;
	forward_group_targets(state, group, distance);
	queue_push(&search->queue, ~group, distance);
}

static inline void forward_relax_column(struct structured *state, int32_t column, int32_t distance,
					int32_t parent_group, int32_t parent_cost)
{
	struct search *search = &state->search;
	struct column *c = &state->columns[column];

	if (!search_improves(search, distance, state->column_labels[column]))
		return;
	state->column_labels[column] = search_label(search, distance);
	c->parent_group = parent_group;
	c->parent_cost = parent_cost;
	if (state->free_slots[column] > 0) {
		if (search->source == FROM_GROUP || search->source == FROM_EXCESS)
			search_target(search, TARGET_COLUMN, column, distance);
	} else {
		queue_push(&search->queue, column, distance);
	}
}

/*
 * `distance` is that of the arc's tail; `cost` is the arc's cost minus the tail's price. A block's floor may be lower
 * than every price in the block, which makes the arc appear cheaper than it is; but the key is never less than the
 * tail's distance.
 */
static void forward_relax_block(struct structured *state, int32_t block, int32_t distance, int32_t cost,
				int32_t parent_group, int32_t parent_cost)
{
	struct search *search = &state->search;
	struct block *b = &state->blocks[block];
	int32_t floor = b->floor > state->aggregator_price ? b->floor : state->aggregator_price;
	int32_t key = cost + floor > 0 ? distance + cost + floor : distance;

	if (key >= search->best || (b->stamp == search->stamp && b->distance <= distance + cost))
		return;
	b->stamp = search->stamp;
	b->distance = distance + cost;
	b->key = key;
	b->parent_group = parent_group;
	b->parent_cost = parent_cost;
	queue_push(&search->queue, block + NODE_BLOCK, key);
}

static void forward_settle_group(struct structured *state, int32_t group, int32_t distance)
{
	const struct search *search = &state->search;
	const struct group *g = &state->groups[group];
	int32_t base = distance - g->price, i = 0;

	for (; i < g->arc_count && base + g->arcs[i].cost + state->aggregator_price < search->best; i++) {
		struct arc arc = g->arcs[i];

		if (arc.target < 0)
			forward_relax_block(state, ~arc.target, distance, arc.cost - g->price, group, ~arc.cost);
		else if (arc_has_residual(g, i))
			forward_relax_column(state, arc.target, base + arc.cost + state->prices[arc.target], group,
					     arc.cost);
	}
	state->effort.scans += (uint64_t)i;
}

static void forward_settle_column(struct structured *state, int32_t column, int32_t distance)
{
	const struct search *search = &state->search;
	const struct column *c = &state->columns[column];
	int32_t base = distance - state->prices[column];

	for (int32_t i = 0; i < c->entry_count; i++) {
		struct entry entry = c->entries[i];
		int32_t reached = base - entry.cost + state->group_prices[entry.group];

		if (reached < search->best)
			forward_relax_group(state, entry.group, reached, column, entry.cost);
	}
	state->effort.scans += (uint64_t)c->entry_count;
}

/* Scans every column of the block and makes its floor exact. */
static void forward_settle_block(struct structured *state, int32_t block)
{
	struct block *b = &state->blocks[block];
	int32_t floor = PRICE_CLOSED;

	for (int32_t i = 0; i < b->member_count; i++) {
		int32_t column = b->members[i], price = state->prices[column];

		floor = least(floor, price);
		forward_relax_column(state, column, b->distance + price, b->parent_group, b->parent_cost);
	}
	b->floor = floor;
	state->effort.scans += (uint64_t)b->member_count;
}

static const struct search_direction forward = {forward_settle_group, forward_settle_column, forward_settle_block};

void search_group_forward(struct structured *state, int32_t group)
{
	search_begin(state, FROM_GROUP, INT32_MAX);
	forward_relax_group(state, group, 0, NONE, NONE);
	search_run(state, &forward);
	search_move_prices(state, 1);
}

void search_from_excess(struct structured *state)
{
	search_begin(state, FROM_EXCESS, INT32_MAX);
	for (int32_t i = 0; i < state->excess_list.count; i++)
		if (state->groups[state->excess_list.ids[i]].excess > 0)
			forward_relax_group(state, state->excess_list.ids[i], 0, NONE, NONE);
	search_run(state, &forward);
	search_move_prices(state, 1);
}

/* Sets search.best to the distance of the nearest meetings, or to `limit` if there are none up to this distance. */
void search_from_waiting(struct structured *state, int32_t limit)
{
	search_begin(state, FROM_WAITING, limit + 1);
	for (int32_t i = 0; i < state->group_count; i++) {
		const struct group *g = &state->groups[i];

		if (g->unrouted > 0)
			forward_relax_group(state, i, g->price - UNROUTED_COST, NONE, NONE);
		else if (g->unscheduled_flow > 0)
			forward_relax_group(state, i, g->price - g->unscheduled_cost, NONE, NONE);
	}
	search_run(state, &forward);
	state->search.best--;
}

/*
 * Backward searches follow references. There are two kinds:
 * - from a deficit (a free slot at a price above the aggregator's) to the unit that gains most by moving there
 * - from all arcs for waiting to deferred units without slots
 * At the aggregator's price a free slot is no deficit. So a search from a deficit goes no farther than the difference
 * between the price of the deficit and that of the aggregator.
 */

enum { NEAR_SPAN = 64 }; /* number of references examined at a time */

/* Considers as targets the group's units that would gain by moving. */
static void backward_group_targets(struct structured *state, int32_t group, int32_t distance)
{
	struct search *search = &state->search;
	const struct group *g = &state->groups[group];

	if (search->source == TO_AGGREGATOR) {
		if (g->deferred > 0)
			search_meet(state, ~group, distance);
		return;
	}
	if (g->unscheduled_flow > 0)
		search_target(search, TARGET_UNSCHEDULED, group, distance + g->price - g->unscheduled_cost);
	if (g->unrouted > 0)
		search_target(search, TARGET_UNROUTED, group, distance + g->price - UNROUTED_COST);
	if (g->deferred > 0)
		search_target(search, TARGET_AGGREGATOR, group,
			      distance + g->price - g->aggregator_cost - state->aggregator_price);
}

/* `cost` is the cost of the group's arc whose flow to `column` rises; ~cost if the arc leads to the column's block. */
static void backward_relax_group(struct structured *state, int32_t group, int32_t distance, int32_t cost,
				 int32_t column)
{
	struct search *search = &state->search;
	struct group *g = &state->groups[group];

	if (!search_improves(search, distance, state->group_labels[group]))
		return;
	state->group_labels[group] = search_label(search, distance);
	g->parent_cost = cost;
	g->parent_column = column;
	backward_group_targets(state, group, distance);
	search_enqueue(search, ~group, distance);
}

static void backward_relax_column(struct structured *state, int32_t column, int32_t distance, int32_t group,
				  int32_t cost)
{
	struct search *search = &state->search;
	struct column *c = &state->columns[column];

	if (!search_improves(search, distance, state->column_labels[column]))
		return;
	state->column_labels[column] = search_label(search, distance);
	c->parent_group = group;
	c->parent_cost = cost;
	if (search->source == FROM_DEFICIT)
		search_target(search, TARGET_COLUMN, column,
			      distance + state->prices[column] - state->aggregator_price);
	else
		search_meet(state, column, distance + state->prices[column] - state->aggregator_price);
	search_enqueue(search, column, distance);
}

static void backward_relax_block(struct structured *state, int32_t column, int32_t distance)
{
	struct search *search = &state->search;
	int32_t block = state->column_blocks[column];
	struct block *b = &state->blocks[block];

	/* In the reduced cost of an arc to the block, the block's price is the least price of its columns. */
	if (state->block_references[block].count == 0)
		return;
	distance += state->prices[column] - block_exact_floor(state, block);
	if (distance < search->reached || distance >= search->best || (b->stamp == search->stamp && b->key <= distance))
		return;
	b->stamp = search->stamp;
	b->key = distance;
	b->parent_column = column;
	search_enqueue(search, block + NODE_BLOCK, distance);
}

/*
 * Lists in near[] the indices of those references for which cost minus the group's price is less than `below`, and
 * returns their number. Most references are rejected, and the outcome is unpredictable: with branches, rounds with too
 * few slots take 1.10 to 1.15 times as long.
 */
static int32_t near_references(const struct reference *items, int32_t count, const int32_t *group_prices, int32_t below,
			       int32_t *near)
{
	int32_t found = 0;

	for (int32_t i = 0; i < count; i++) {
		int32_t group = items[i].group == NONE ? 0 : items[i].group;

		near[found] = i;
		found += (items[i].group != NONE) & (items[i].cost - group_prices[group] < below);
	}
	return found;
}

/* `base` is the distance plus the price of the column or block to which the references lead. */
static void settle_references(struct structured *state, const struct reference_list *list, bool over_block,
			      int32_t base, int32_t column)
{
	int32_t near[NEAR_SPAN];

	for (int32_t first = 0; first < list->count; first += NEAR_SPAN) {
		const struct reference *items = list->items + first;
		int32_t count = near_references(items, least(list->count - first, NEAR_SPAN), state->group_prices,
						state->search.best - base, near);

		for (int32_t i = 0; i < count; i++) {
			struct reference reference = items[near[i]];

			backward_relax_group(state, reference.group,
					     base + reference.cost - state->group_prices[reference.group],
					     over_block ? ~reference.cost : reference.cost, column);
		}
	}
	state->effort.scans += (uint64_t)list->count;
}

static void backward_settle_column(struct structured *state, int32_t column, int32_t distance)
{
	backward_relax_block(state, column, distance);
	settle_references(state, &state->column_references[column], false, distance + state->prices[column], column);
}

static void backward_settle_block(struct structured *state, int32_t block)
{
	const struct block *b = &state->blocks[block];

	settle_references(state, &state->block_references[block], true, b->key + b->floor, b->parent_column);
}

static void backward_settle_group(struct structured *state, int32_t group, int32_t distance)
{
	const struct group *g = &state->groups[group];

	for (int32_t i = 0; i < g->share_count; i++) {
		const struct structured_share *share = &g->shares[i];

		backward_relax_column(state, share->column,
				      distance + g->price - share->cost - state->prices[share->column], group,
				      share->cost);
	}
	state->effort.scans += (uint64_t)g->share_count;
}

static const struct search_direction backward = {backward_settle_group, backward_settle_column, backward_settle_block};

void search_from_deficit(struct structured *state, int32_t column)
{
	struct search *search = &state->search;

	search_begin(state, FROM_DEFICIT, state->prices[column] - state->aggregator_price);
	state->columns[column].parent_group = NONE;
	state->column_labels[column] = search_label(search, 0);
	queue_push(&search->queue, column, 0);
	search_run(state, &backward);
}

/*
 * Searches from all arcs for waiting to the aggregator. A search in the other direction would visit most of the
 * network, as nearly all columns and groups are at distance 0 from the aggregator. This search visits only nodes that
 * are nearer to an arc for waiting than the aggregator is.
 */
void search_to_aggregator(struct structured *state)
{
	search_begin(state, TO_AGGREGATOR, INT32_MAX);
	for (int32_t i = 0; i < state->group_count; i++)
		if (state->groups[i].supply > 0)
			backward_relax_group(state, i, group_waiting_cost(&state->groups[i]) - state->groups[i].price,
					     NONE, NONE);
	search_run_layers(state, &backward);
	state->search.best--;
}
