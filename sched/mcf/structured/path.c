/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Augments flow along the path that a search has found. Parents lead from the node where the search ended back to its
 * root. In a forward search, flow rises on steps from a group into a column, and falls on steps from a column to a
 * group; in a backward search the other way round.
 */
#include "structured_priv.h"

/*
 * One step of a path: a change of the group's flow into the column. If the flow rises, `cost` is that of the group's
 * arc to the column, or ~cost if the arc leads to the block. If the flow falls, `cost` is that of the share.
 */
struct step {
	int32_t group, column, cost;
	bool rises;
};

static bool is_forward(const struct structured *state)
{
	return state->search.source != FROM_DEFICIT && state->search.source != TO_AGGREGATOR;
}

/*
 * Sets *step to the step by which the search reached the node, and *node to the step's other end. Returns false at the
 * root.
 */
static bool path_step(const struct structured *state, int32_t *node, struct step *step)
{
	bool forward = is_forward(state);

	if (*node >= 0) {
		const struct column *c = &state->columns[*node];

		*step = (struct step){c->parent_group, *node, c->parent_cost, forward};
		*node = ~c->parent_group;
		return c->parent_group != NONE;
	}
	const struct group *g = &state->groups[~*node];

	if (g->parent_column == NONE)
		return false;
	*step = (struct step){~*node, g->parent_column, g->parent_cost, !forward};
	*node = g->parent_column;
	return true;
}

static int32_t step_capacity(const struct structured *state, const struct step *step)
{
	const struct group *g = &state->groups[step->group];

	if (!step->rises)
		return flow_units(g, step->column, step->cost);
	return step->cost >= 0 ? arc_residual_at(g, step->column, step->cost) : INT32_MAX;
}

/*
 * In a search with several roots, returns the counter of the group's units that the search started from. NULL: the
 * caller counts the units itself.
 */
static int32_t *root_units(const struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];

	if (state->search.source == FROM_EXCESS)
		return &g->excess;
	if (state->search.source == FROM_WAITING)
		return g->price == UNROUTED_COST ? &g->unrouted : &g->unscheduled_flow;
	return NULL;
}

/*
 * Returns the residual capacity of the path between the root and the node, at most `units`. The root limits the result,
 * too: in a forward search with several roots, to the number of its units that the search started from; in a search to
 * the aggregator, to the number of units that can wait there.
 */
static int32_t path_capacity(const struct structured *state, int32_t node, int32_t units)
{
	struct step step;

	while (path_step(state, &node, &step))
		units = least(units, step_capacity(state, &step));
	if (is_forward(state)) {
		const int32_t *root = root_units(state, ~node);

		return root ? least(units, *root) : units;
	}
	return state->search.source == TO_AGGREGATOR ? group_waiting_capacity(&state->groups[~node], units) : units;
}

/* Moves the units along the path, which must have capacity for them, and updates the root. */
static void path_push(struct structured *state, int32_t node, int32_t units)
{
	struct step step = {0};

	while (path_step(state, &node, &step)) {
		if (step.rises)
			flow_add(state, step.group, step.column, step.cost < 0 ? ~step.cost : step.cost, units);
		else
			flow_take(state, step.group, step.column, step.cost, units);
	}
	if (state->search.source == TO_AGGREGATOR) {
		(void)group_wait(state, ~node, units);
	} else if (state->search.source == FROM_DEFICIT) {
		column_fill(state, step.column, units);
	} else if (root_units(state, ~node)) {
		*root_units(state, ~node) -= units;
		group_changed(state, ~node);
	}
}

/* Returns the residual capacity of the target, at most `units`. */
static int32_t target_capacity(const struct structured *state, const struct target *target, int32_t units)
{
	const struct group *g = &state->groups[target->node];

	if (target->kind == TARGET_COLUMN)
		return is_forward(state) ? least(units, state->free_slots[target->node]) : units;
	if (is_forward(state))
		return target->kind == TARGET_UNSCHEDULED ? least(units, g->unscheduled_capacity - g->unscheduled_flow)
							  : units;
	return least(units, target->kind == TARGET_UNSCHEDULED ? g->unscheduled_flow
			    : target->kind == TARGET_UNROUTED  ? g->unrouted
							       : g->deferred);
}

static void target_change(struct structured *state, const struct target *target, int32_t units)
{
	struct group *g = &state->groups[target->node];

	if (target->kind == TARGET_COLUMN) {
		if (units > 0)
			column_fill(state, target->node, units);
		else
			column_free(state, target->node, -units);
		return;
	}
	if (target->kind == TARGET_UNSCHEDULED || target->kind == TARGET_UNROUTED)
		group_waits(state, target->node);
	else
		group_changed(state, target->node);
	if (target->kind == TARGET_UNSCHEDULED)
		g->unscheduled_flow += units;
	else if (target->kind == TARGET_UNROUTED)
		g->unrouted += units;
	else
		group_add_deferred(state, target->node, units);
}

/* Moves up to `units` units to free slots, which may be on several columns. Returns their number. */
static int32_t augment_slots(struct structured *state, int32_t group, int32_t units)
{
	const struct group *g = &state->groups[group];
	int32_t sent = 0, column;

	while (sent < units) {
		int32_t more = path_capacity(state, ~group, units - sent);
		int32_t exit = more > 0 ? group_free_slot(state, group, g->price - state->aggregator_price + 1, &column)
					: NONE;

		if (exit == NONE)
			break;
		more = least(more, least(state->free_slots[column], arc_residual(g, exit)));
		column_fill(state, column, more);
		path_push(state, ~group, more);
		flow_add(state, group, column, g->arcs[exit].cost, more);
		sent += more;
	}
	return sent;
}

int32_t path_augment(struct structured *state, int32_t units)
{
	const struct target *target = &state->search.target;
	int32_t node = target->kind == TARGET_COLUMN ? target->node : ~target->node;

	state->effort.augmentations++;
	if (target->kind == TARGET_SLOT)
		return augment_slots(state, target->node, units);
	units = path_capacity(state, node, target_capacity(state, target, units));
	if (units <= 0)
		return 0;
	target_change(state, target, is_forward(state) ? units : -units);
	path_push(state, node, units);
	return units;
}

int32_t path_augment_inward(struct structured *state, int32_t group, int32_t units)
{
	struct search *search = &state->search;
	const struct group *g = &state->groups[group];
	enum target_kind kind = TARGET_SLOT;

	if (state->group_labels[group] > search_label(search, search->best))
		return 0;
	if (g->aggregator_cost != ARC_ABSENT && g->aggregator_cost + state->aggregator_price == g->price)
		kind = TARGET_AGGREGATOR;
	search->target = (struct target){kind, group};
	return path_augment(state, units);
}

int32_t path_augment_outward(struct structured *state, int32_t node, int32_t units)
{
	if (node < 0)
		units = least(units, state->groups[~node].deferred);
	units = path_capacity(state, node, units);
	if (units <= 0)
		return 0;
	state->effort.augmentations++;
	path_push(state, node, units);
	if (node >= 0)
		flow_bind(state, node, units);
	else
		group_add_deferred(state, ~node, -units);
	return units;
}

/* A block has no price of its own, only a floor: a lower bound on the prices of its columns. */
void search_move_prices(struct structured *state, int32_t sign)
{
	const struct search *search = &state->search;

	for (int32_t i = 0; i < search->visited_count; i++) {
		int32_t node = search->visited[i];

		if (node >= NODE_BLOCK)
			continue;
		int32_t moved =
			search->best - (int32_t)(node >= 0 ? state->column_labels[node] : state->group_labels[~node]);

		if (moved <= 0)
			continue;
		if (node < 0) {
			state->groups[~node].price += sign * moved;
			group_note_price(state, ~node);
			continue;
		}
		struct block *b = &state->blocks[state->column_blocks[node]];
		int32_t price = state->prices[node] += sign * moved;

		b->floor = least(b->floor, price);
	}
}
