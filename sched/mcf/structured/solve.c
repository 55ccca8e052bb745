/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A solve from scratch. If there are more units than slots, the solve needs a guess of the aggregator's price. If the
 * guess is below the price at which demand equals the slots, slots run out while units are pushed, and each search
 * visits most of the network. If the guess is above that price, some units wait; blocking flows place them afterwards,
 * with little work for each. So attempts start at a price that is slightly too high, and are abandoned once slots run
 * out or once they scan much more than the last solve from scratch did. The price for the next solve is remembered
 * (start_price). If attempts take too long, the simplex is faster. If there are slots for all units, the price is 0.
 *
 * Without the remembered start_price, rounds with wide rows (groups with arcs all over the cluster, see
 * bench_structured) scan 6.6 times as many arcs. Starting from an upper bound of the price, at which there are slots
 * for all units that want one, is no better: in such rounds it takes 1.04 times fewer scans with 5 % too few slots, but
 * 2.6 times more with 25 % too few.
 */
#include <stdlib.h>

#include <sched/mcf/simplex.h>

#include "structured_priv.h"

enum {
	/* if few slots are left: the next price is higher by 1/32 of its distance to the highest cost of waiting */
	HEADROOM_PART = 32,
	/*
	 * after the first solve from scratch, unless many slots are left: higher by 1/8 of that distance, as this solve
	 * is a bad guide for the next
	 */
	FIRST_HEADROOM_PART = 8,
	FEW_LEFT_PART = 128, /* "few": less than 1/128 of all slots, so the price was nearly too low */
	MANY_LEFT_PART = 32, /* "many": more than 1/32 of all slots, so the price was too high */
	/* if many slots are left: the next price is lower by half of its distance to the answer's price */
	START_PART = 2,
	/*
	 * scans per slot that the first attempt may take if there was no solve from scratch yet; also part of its upper
	 * limit (first_scans())
	 */
	UNIT_SCANS = 32,
	ATTEMPT_PART = 4, /* every attempt may scan at least 1/4 of all arcs */
	/* time of the simplex in passes over all arcs: after this number of passes, there is no further attempt */
	SIMPLEX_PASSES = 32,
	FIRST_PASSES = 8, /* as SIMPLEX_PASSES, for the first solve from scratch, whose price may be far off */
};

/*
 * Returns a price a quarter below the most expensive cost of waiting, which is near the answer's price if there are
 * slightly too few slots.
 */
static int32_t usual_price(int32_t dearest)
{
	return dearest - dearest / 4;
}

/*
 * Returns the most expensive cost of waiting, or 0 if there are slots for all units, as the aggregator's price is then
 * 0.
 */
static int32_t dearest_wait(const struct structured *state)
{
	int64_t units = 0, slots = state->total_capacity;
	int32_t dearest = 0;

	for (int32_t i = 0; i < state->group_count; i++) {
		if (!group_has_supply(state, i))
			continue;
		const struct group *g = &state->groups[i];

		units += g->supply;
		if (g->unscheduled_capacity > 0 && g->unscheduled_cost > dearest)
			dearest = g->unscheduled_cost;
	}
	return units > slots && slots > 0 ? dearest : 0;
}

/*
 * Returns the price of the first attempt: start_price if that is above usual_price() and below the highest cost of
 * waiting, otherwise usual_price(). A price too high is better than one too low: if slots run out, each search visits
 * most of the network, while a slot left free costs little.
 */
static int32_t first_price(const struct structured *state, int32_t dearest)
{
	int32_t price = usual_price(dearest);

	return state->effort.start_price > price && state->effort.start_price < dearest ? state->effort.start_price
											: price;
}

/*
 * Computes start_price for the next solve from `price`, with which an attempt succeeded. `left` slots were free after
 * the searches.
 */
static void note_start(struct structured *state, int32_t price, int32_t dearest, int64_t left)
{
	state->effort.start_price = price;
	if (left > state->total_capacity / MANY_LEFT_PART)
		state->effort.start_price -= (price - state->aggregator_price + START_PART - 1) / START_PART;
	else if (state->effort.start_scans == 0)
		state->effort.start_price += (dearest - price) / FIRST_HEADROOM_PART;
	else if (left < state->total_capacity / FEW_LEFT_PART)
		state->effort.start_price += (dearest - price) / HEADROOM_PART;
}

/*
 * Returns the price after an abandoned attempt: the price that this attempt reached, or a higher one if slots ran
 * short.
 */
static int32_t next_price(const struct structured *state, int32_t dearest)
{
	int32_t price = state->aggregator_price;

	if (state->total_free > state->total_deferred || price >= dearest)
		return least(price, dearest);
	return price + (dearest - price + 1) / 2;
}

enum attempt {
	ATTEMPT_ENDED, /* done, or failed */
	ATTEMPT_SHORT, /* slots run short at that price */
	ATTEMPT_LONG,  /* too many scans */
};

static enum attempt attempt_from(struct structured *state, int32_t aggregator_price, int32_t dearest, uint64_t scans)
{
	uint64_t before = state->effort.scans;

	state->effort.scan_limit = before + scans;
	start_fresh(state, aggregator_price);
	state->effort.start_is_loose =
		aggregator_price == 0; /* there are slots for all units, so most nodes have a path to the sink */
	if (!state_failed(state))
		push_all(state);
	state->effort.start_is_loose = false;
	int64_t left = state->total_free - state->total_deferred;

	if (left < 0 && aggregator_price < dearest && !state->referenced && !state_halted(state))
		return ATTEMPT_SHORT; /* a solve from scratch at a higher price takes less time than listing all
					 references */
	if (!state_halted(state))
		aggregator_settle(state);
	if (!state_failed(state) && state_halted(state))
		return ATTEMPT_LONG;
	note_start(state, aggregator_price, dearest, left);
	uint64_t twice = 2 * state->effort.start_scans;

	state->effort.start_scans = state->effort.scans - before;
	if (twice > 0 && twice < state->effort.start_scans)
		state->effort.start_scans = twice;
	return ATTEMPT_ENDED;
}

/*
 * Returns the number of scans that the first attempt is allowed: 1.5 times as many as the last solve from scratch took,
 * or UNIT_SCANS per slot if there was none. The upper limit is the simplex's time or UNIT_SCANS per slot, whichever is
 * more. If there are slots for all units, the number is unlimited, because there is only one price to try.
 */
static uint64_t first_scans(const struct structured *state, int32_t dearest, uint64_t passes)
{
	uint64_t least_scans = (uint64_t)state->arc_total / ATTEMPT_PART;
	uint64_t scans = UNIT_SCANS * (uint64_t)state->total_capacity, bound = scans > passes ? scans : passes;

	if (dearest == 0)
		return UINT64_MAX;
	if (state->effort.start_scans > 0)
		scans = state->effort.start_scans + state->effort.start_scans / 2;
	if (scans > bound)
		scans = bound;
	return scans < least_scans ? least_scans : scans;
}

/*
 * Makes attempts with one price after another until an attempt ends within its limit of scans. If the attempts together
 * take longer than the simplex, hands over to the simplex, or gives up if the caller has asked for that.
 */
static void start_solve(struct structured *state)
{
	uint64_t arcs = (uint64_t)state->arc_total, most = state->effort.pass_limit * arcs;
	uint64_t passes = (state->effort.start_scans > 0 ? SIMPLEX_PASSES : FIRST_PASSES) * arcs;
	int32_t dearest = dearest_wait(state), price = first_price(state, dearest);
	uint64_t scans = first_scans(state, dearest, passes);

	for (;;) {
		enum attempt attempt = attempt_from(state, price, dearest, scans < most ? scans : most);

		if (attempt == ATTEMPT_ENDED)
			return;
		if (attempt == ATTEMPT_LONG && (scans >= most || state->effort.scans >= passes))
			break;
		if (attempt == ATTEMPT_LONG)
			scans += scans / 2 + 1;
		price = next_price(state, dearest);
	}
	if (state->gives_up) {
		state->given_up = true;
		return;
	}
	state->effort.scan_limit = UINT64_MAX;
	state->effort.start_scans = SIMPLEX_PASSES * arcs;
	import_simplex(state);
	if (!state_failed(state))
		repair(state);
}

/*
 * Imports an answer from the network simplex. If there are more units than slots and rows reach over the whole cluster,
 * a change of the aggregator's price displaces units far away, and those displace others: searches scan the same arcs
 * hundreds of times; the simplex does not. So a solve that has scanned too much is stopped, the simplex solves the
 * exported network, and its flow and prices are imported; later repairs start from these.
 *
 * The simplex's prices satisfy the invariants except at nodes without flow, whose prices may be chosen. An empty column
 * gets the price 0. The aggregator gets the least price of the open columns, which is also its own price if flow passes
 * it. Each group gets the least price that its arcs with residual capacity allow.
 */

struct reader {
	struct structured *state;
	const struct mcf_solution *solution;
	int32_t arc;        /* the next arc to read, in the order of the export */
	int32_t *left;      /* [column_count] flow from the block to the column that is not yet assigned to a group */
	int32_t *exhausted; /* [block_count] block members before this index have left[] = 0 */
};

static int32_t next_flow(struct reader *reader)
{
	return reader->solution->flow[reader->arc++];
}

static void place_units(struct reader *reader, int32_t group, int32_t arc, int32_t column, int32_t units)
{
	if (units == 0)
		return;
	flow_add(reader->state, group, column, reader->state->groups[group].arcs[arc].cost, units);
	column_fill(reader->state, column, units);
}

/*
 * Places the units of the group's `arc`, which leads to a block, on columns that get flow from the block. All these
 * columns have the same price.
 */
static void place_over_block(struct reader *reader, int32_t group, int32_t arc, int32_t units)
{
	int32_t number = ~reader->state->groups[group].arcs[arc].target;
	const struct block *block = &reader->state->blocks[number];

	for (int32_t *i = &reader->exhausted[number]; units > 0 && *i < block->member_count;) {
		int32_t column = block->members[*i], taken = least(units, reader->left[column]);

		place_units(reader, group, arc, column, taken);
		reader->left[column] -= taken;
		units -= taken;
		*i += reader->left[column] == 0;
	}
}

/*
 * Reads a group's flow. Units on the aggregator become deferred: they get the remaining slots, which all have the
 * aggregator's price.
 */
static void read_group(struct reader *reader, int32_t group)
{
	struct structured *state = reader->state;
	struct group *g = &state->groups[group];

	for (int32_t i = 0; i < g->arc_count; i++) {
		int32_t units = next_flow(reader);

		if (g->arcs[i].target < 0)
			place_over_block(reader, group, i, units);
		else
			place_units(reader, group, i, g->arcs[i].target, units);
	}
	g->excess = 0;
	if (g->aggregator_cost != ARC_ABSENT)
		group_add_deferred(state, group, next_flow(reader));
	if (g->unscheduled_capacity > 0)
		g->unscheduled_flow = next_flow(reader);
	if (export_has_unrouted(g))
		g->unrouted = next_flow(reader);
	if (g->unscheduled_flow > 0 || g->unrouted > 0)
		group_waits(state, group);
}

/* Reads the last arcs of the export. A column's price is the sink's potential less its own. */
static void read_columns(struct reader *reader, int32_t first_column, int64_t sink)
{
	struct structured *state = reader->state;
	int32_t aggregator_price = UNROUTED_COST;

	for (int32_t i = 0; i < state->column_count; i++) {
		int64_t price = sink - reader->solution->potential[first_column + i];

		if (state->column_blocks[i] == NONE)
			continue;
		reader->left[i] = next_flow(reader);
		if (next_flow(reader) == 0)
			price = 0;
		if (state->capacities[i] == 0)
			continue;
		state->prices[i] = (int32_t)price;
		aggregator_price = least(aggregator_price, state->prices[i]);
	}
	state->aggregator_price = aggregator_price;
	for (int32_t i = 0; i < state->block_count; i++)
		block_exact_floor(state, i);
}

static void read_answer(struct reader *reader, const struct mcf_problem *problem)
{
	struct structured *state = reader->state;
	int32_t sink = problem->node_count - 1, columns = 0;

	for (int32_t i = 0; i < state->column_count; i++)
		columns += state->column_blocks[i] != NONE;
	reader->arc = problem->arc_count - 2 * columns;
	read_columns(reader, state->group_count, reader->solution->potential[sink]);
	reader->arc = 0;
	for (int32_t i = 0; i < state->group_count; i++)
		if (state->groups[i].supply > 0)
			read_group(reader, i);
	for (int32_t i = 0; i < state->group_count; i++)
		group_reprice(state, i);
}

void import_simplex(struct structured *state)
{
	struct structured_export network;
	struct reader reader = {.state = state};

	start_forget(state, 0);
	if (structured_export(state, &network)) {
		state->no_memory = true;
		return;
	}
	reader.solution = &network.solution;
	reader.left = calloc((size_t)state->column_count + 1, sizeof(*reader.left));
	reader.exhausted = calloc((size_t)state->block_count + 1, sizeof(*reader.exhausted));
	state->no_memory = !reader.left || !reader.exhausted;
	if (!state->no_memory) {
		enum mcf_status status = mcf_simplex_algorithm(&network.problem, &network.solution);

		state->no_memory = status == MCF_NO_MEMORY;
		state->stalled = status != MCF_OPTIMAL && !state->no_memory;
		if (status == MCF_OPTIMAL)
			read_answer(&reader, &network.problem);
	}
	free(reader.left);
	free(reader.exhausted);
	structured_export_free(&network);
}

/*
 * A solve repairs the last answer, or solves from scratch if that is expected to take less time (start_solve()).
 * Without this choice, start_is_better(), rounds with wide rows (see start_is_better()) and too few slots scan 2.9
 * times as many arcs. Without pauses between attempts to repair, a state whose repairs all fail would take the time of
 * 9 solves from scratch per solve, instead of 1.5.
 */

enum {
	/* a repair is tried if it is expected to take up to this many times the scans of a solve from scratch */
	START_BETTER = 4,
	REPAIR_SCRATCHES = 8, /* a repair is allowed this many times the scans of the last solve from scratch */
	REFERENCE_SCANS = 8,  /* cost of listing an arc by its target, in scans */
	/* estimate: with too few slots, a repair scans 1/2048 of all arcs for each unit to be placed */
	REPAIR_PART = 2048,
	REPAIR_PAUSE_MOST = 16, /* maximum number of solves without an attempt to repair, after abandoned repairs */
};

/* Sums up the waiting units and their cost. Removes groups without waiting units from the list. */
static void count_waiting(struct structured *state, struct structured_result *result)
{
	struct id_list *list = &state->waiting_list;
	int32_t left = 0;

	for (int32_t i = 0; i < list->count; i++) {
		struct group *g = &state->groups[list->ids[i]];

		result->unscheduled += g->unscheduled_flow;
		result->unrouted += g->unrouted;
		result->cost += (int64_t)g->unscheduled_flow * g->unscheduled_cost;
		g->in_waiting_list = g->unscheduled_flow > 0 || g->unrouted > 0;
		if (g->in_waiting_list)
			list->ids[left++] = list->ids[i];
	}
	list->count = left;
}

static enum mcf_status fill_result(struct structured *state, struct structured_result *result)
{
	*result = (struct structured_result){.cost = state->column_cost,
					     .searches = state->effort.searches,
					     .scans = state->effort.scans + state->effort.price_scans,
					     .augmentations = state->effort.augmentations,
					     .started_over = state->effort.started_over,
					     .handed_over = state->effort.scan_limit == UINT64_MAX};
	state->effort.price_scans = 0;
	count_waiting(state, result);
	result->status = state->no_memory       ? MCF_NO_MEMORY
			 : state->stalled       ? MCF_STALLED
			 : state->given_up      ? MCF_UNSUITED
			 : result->unrouted > 0 ? MCF_INFEASIBLE
						: MCF_OPTIMAL;
	return result->status;
}

/*
 * True if a solve from scratch is expected to be faster than a repair. This is possible only if there are more units
 * than slots.
 */
static bool start_is_better(const struct structured *state)
{
	uint64_t units = 0;

	for (int32_t i = 0; i < state->excess_list.count; i++)
		units += (uint64_t)state->groups[state->excess_list.ids[i]].excess;
	uint64_t arcs = (uint64_t)state->arc_total, scans = units * (arcs / REPAIR_PART);

	if (!state->referenced)
		scans += REFERENCE_SCANS * arcs;
	return state->aggregator_price > 0 && scans > state->effort.repair_scans &&
	       scans > START_BETTER * state->effort.start_scans;
}

/*
 * Returns false if the caller must solve from scratch: because that is expected to be faster, because the repair took
 * too long, or because recent repairs did. After consecutive failures, repairs are attempted less and less often.
 */
static bool attempt_repair(struct structured *state)
{
	uint64_t most = REPAIR_SCRATCHES * state->effort.start_scans;

	if (start_is_better(state))
		return false;
	if (state->effort.repair_skips > 0) {
		state->effort.repair_skips--;
		return false;
	}
	state->effort.scan_limit = state->effort.pass_limit * (uint64_t)state->arc_total;
	if (most < state->effort.repair_scans)
		most = state->effort.repair_scans;
	if (most < state->effort.scan_limit)
		state->effort.scan_limit = most;
	repair(state);
	if (state_failed(state) || !state_halted(state)) {
		state->effort.repair_pause = 0;
		return true;
	}
	state->effort.repair_skips = state->effort.repair_pause;
	state->effort.repair_pause = least(2 * state->effort.repair_pause + 1, REPAIR_PAUSE_MOST);
	return false;
}

enum mcf_status structured_solve(struct structured *state, struct structured_result *result)
{
	bool repairs = state->solved;

	state->effort.searches = state->effort.scans = state->effort.augmentations = 0;
	state->effort.scan_limit = 0;
	state->effort.started_over = false;
	if (!state_failed(state) && !(repairs && attempt_repair(state))) {
		state->effort.started_over = repairs;
		start_solve(state);
	}
	if (state->search.queue.no_memory)
		state->no_memory = true;
	return fill_result(state, result);
}

void structured_give_up_after(struct structured *state, uint32_t passes)
{
	state->gives_up = true;
	state->effort.pass_limit = passes;
}

enum mcf_status structured_solve_fresh(struct structured *state, struct structured_result *result)
{
	state->solved = false;
	return structured_solve(state, result);
}
