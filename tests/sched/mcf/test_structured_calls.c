/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that are refused, and answers computed by hand. */
#include <errno.h>
#include <stdlib.h>

#include <criterion/criterion.h>

#include <base/rng.h>
#include <sched/mcf/structured.h>

Test(structured_calls, refuses_bad_numbers)
{
	struct structured *state = structured_create(0, 0, 0);
	struct arc arc = {0, STRUCTURED_COST_MAXIMUM + 1};
	struct structured_row row = {
		.aggregator_cost = ARC_ABSENT, .unscheduled_cost = ARC_ABSENT, .columns = &arc, .column_count = 1};

	cr_assert_eq(structured_set_row(state, 0, &row), -ERANGE);
	arc = (struct arc){-1, 1};
	cr_assert_eq(structured_set_row(state, 0, &row), -EINVAL);
	cr_assert_eq(structured_set_column(state, 0, 0, -1), -EINVAL);
	cr_assert_eq(structured_set_supply(state, 0, 1), -EINVAL);
	cr_assert_eq(structured_end_unit(state, 0, 0), -EINVAL);
	structured_destroy(state);
}

/* Two groups want column 0, which has one slot: the group that loses less elsewhere moves. */
Test(structured_calls, the_one_who_loses_less_moves)
{
	struct structured *state = structured_create(2, 2, 1);
	struct arc near = {0, 100};
	struct structured_row row = {
		.unscheduled_cost = 1001, .unscheduled_capacity = 1, .columns = &near, .column_count = 1};
	struct structured_result result;
	struct structured_share share;

	structured_set_column(state, 0, 0, 1);
	structured_set_column(state, 1, 0, 1);
	for (int32_t group = 0; group < 2; group++) {
		row.aggregator_cost = group == 0 ? 110 : 300;
		cr_assert_eq(structured_set_row(state, group, &row), 0);
		cr_assert_eq(structured_set_supply(state, group, 1), 0);
	}
	cr_assert_eq(structured_solve(state, &result), MCF_OPTIMAL);
	cr_assert_eq(result.cost, 210);
	cr_assert_eq(structured_read(state, 0, &share, 1), 1);
	cr_assert_eq(share.column, 1);
	structured_remove_column(state, 1);
	cr_assert_eq(structured_solve(state, &result), MCF_OPTIMAL);
	cr_assert_eq(result.cost, 1101);
	cr_assert_eq(result.unscheduled, 1);
	structured_destroy(state);
}

/* Two columns at the same cost: a solve from scratch leaves units where the last change reported them as running. */
Test(structured_calls, what_runs_elsewhere_now_stays_there)
{
	struct structured *state = structured_create(1, 2, 1);
	const struct arc columns[] = {{0, 100}, {1, 100}};
	const struct structured_running first = {0, 100, 3}, second = {1, 100, 3};
	const struct structured_row row = {.aggregator_cost = ARC_ABSENT,
					   .unscheduled_cost = ARC_ABSENT,
					   .columns = columns,
					   .column_count = 2,
					   .running = &first,
					   .running_count = 1};
	const struct structured_row_change change = {.running = &second, .running_count = 1};
	struct structured_result result;
	struct structured_share shares[2];

	structured_set_column(state, 0, 0, 5);
	structured_set_column(state, 1, 0, 5);
	cr_assert_eq(structured_set_row(state, 0, &row), 0);
	cr_assert_eq(structured_set_supply(state, 0, 3), 0);
	cr_assert_eq(structured_solve_fresh(state, &result), MCF_OPTIMAL);
	cr_assert_eq(structured_read(state, 0, shares, 2), 1);
	cr_assert_eq(shares[0].column, 0);
	cr_assert_eq(structured_change_row(state, 0, &change), 0);
	cr_assert_eq(structured_solve_fresh(state, &result), MCF_OPTIMAL);
	cr_assert_eq(structured_read(state, 0, shares, 2), 1);
	cr_assert_eq(shares[0].column, 1);
	cr_assert_eq(shares[0].units, 3);
	structured_destroy(state);
}

/* When the supply falls by one, the most expensive unit leaves, on the first column or on the last. */
Test(structured_calls, the_most_expensive_unit_leaves_first)
{
	for (int32_t expensive = 0; expensive < 2; expensive++) {
		struct structured *state = structured_create(1, 2, 1);
		const struct arc columns[] = {{0, expensive == 0 ? 300 : 100}, {1, expensive == 1 ? 300 : 100}};
		const struct structured_row row = {.aggregator_cost = ARC_ABSENT,
						   .unscheduled_cost = ARC_ABSENT,
						   .columns = columns,
						   .column_count = 2};
		struct structured_result result;
		struct structured_share shares[2];

		structured_set_column(state, 0, 0, 1);
		structured_set_column(state, 1, 0, 1);
		cr_assert_eq(structured_set_row(state, 0, &row), 0);
		cr_assert_eq(structured_set_supply(state, 0, 2), 0);
		cr_assert_eq(structured_solve(state, &result), MCF_OPTIMAL);
		cr_assert_eq(structured_set_supply(state, 0, 1), 0);
		cr_assert_eq(structured_read(state, 0, shares, 2), 1);
		cr_expect_eq(shares[0].column, 1 - expensive, "before any repair");
		cr_assert_eq(structured_solve(state, &result), MCF_OPTIMAL);
		cr_expect_eq(result.cost, 100);
		cr_expect_eq(result.searches, 0, "nothing was left to repair");
		structured_destroy(state);
	}
}

/* A running unit whose block arc is as cheap needs no arc of its own: it stays, and others may use the column. */
Test(structured_calls, a_running_unit_at_its_blocks_cost_has_no_arc_of_its_own)
{
	struct structured *state = structured_create(1, 2, 1);
	const struct arc block = {0, 100};
	const struct structured_running running = {1, 100, 1};
	const struct structured_row row = {.aggregator_cost = ARC_ABSENT,
					   .unscheduled_cost = ARC_ABSENT,
					   .blocks = &block,
					   .block_count = 1,
					   .running = &running,
					   .running_count = 1};
	struct structured_export out;
	struct structured_result result;
	int32_t arcs_of_group = 0;

	structured_set_column(state, 0, 0, 1);
	structured_set_column(state, 1, 0, 1);
	cr_assert_eq(structured_set_row(state, 0, &row), 0);
	cr_assert_eq(structured_set_supply(state, 0, 1), 0);
	cr_assert_eq(structured_solve(state, &result), MCF_OPTIMAL);
	cr_assert_eq(structured_export(state, &out), 0);
	for (int32_t a = 0; a < out.problem.arc_count; a++)
		arcs_of_group += out.problem.tail[a] == 0 && out.problem.cost[a] == 100;
	cr_expect_eq(arcs_of_group, 1, "%d arcs: to the block alone", arcs_of_group);
	structured_export_free(&out);
	structured_destroy(state);
}

Test(structured_calls, says_when_units_cannot_be_routed)
{
	struct structured *state = structured_create(0, 0, 0);
	struct structured_row row = {.aggregator_cost = 5, .unscheduled_cost = 9, .unscheduled_capacity = 1};
	struct structured_result result;

	structured_set_column(state, 0, 0, 2);
	structured_set_row(state, 0, &row);
	structured_set_supply(state, 0, 5);
	cr_assert_eq(structured_solve(state, &result), MCF_INFEASIBLE);
	cr_assert_eq(result.unrouted, 2);
	cr_assert_eq(result.cost, 19);
	structured_destroy(state);
}

/*
 * The price at which demand was met stays when the demand falls. Lowered, it is what one more slot would save: the unit
 * that did not fit would cost 100 instead of 110.
 */
Test(structured_calls, a_lowered_price_is_what_a_slot_saves)
{
	struct structured *state = structured_create(2, 2, 1);
	struct arc near = {0, 100};
	struct structured_row row = {
		.unscheduled_cost = 1001, .unscheduled_capacity = 1, .columns = &near, .column_count = 1};
	struct structured_result result;

	structured_set_column(state, 0, 0, 1);
	structured_set_column(state, 1, 0, 2);
	for (int32_t group = 0; group < 2; group++) {
		row.aggregator_cost = group == 0 ? 300 : 200;
		cr_assert_eq(structured_set_row(state, group, &row), 0);
		cr_assert_eq(structured_set_supply(state, group, 1), 0);
	}
	cr_assert_eq(structured_solve(state, &result), MCF_OPTIMAL);
	cr_assert_geq(structured_column_price(state, 0), 100);
	row.aggregator_cost = 110;
	cr_assert_eq(structured_set_row(state, 1, &row), 0);
	cr_assert_eq(structured_solve(state, &result), MCF_OPTIMAL);
	cr_assert_geq(structured_column_price(state, 0), 100);
	cr_assert_eq(structured_lower_price(state, 0), 10);
	cr_assert_eq(structured_column_price(state, 0), 10);
	cr_assert_eq(structured_solve(state, &result), MCF_OPTIMAL);
	cr_assert_eq(result.cost, 210);
	cr_assert_gt(result.scans, 0, "the search counts as work of the next solve");
	structured_destroy(state);
}

/* A unit that is new to the solver, but runs already, takes its running arc; the others, which cost more, stay. */
Test(structured_calls, what_runs_already_moves_nothing)
{
	enum { UNITS = 6 };
	struct structured *state = structured_create(1, UNITS, 1);
	const struct structured_row row = {.aggregator_cost = 300, .unscheduled_cost = ARC_ABSENT};
	struct structured_running running[UNITS];
	struct structured_result result;

	for (int32_t column = 0; column < UNITS; column++) {
		structured_set_column(state, column, 0, 1);
		running[column] = (struct structured_running){column, column == UNITS - 1 ? 10 : 50, 1};
	}
	cr_assert_eq(structured_set_row(state, 0, &row), 0);
	cr_assert_eq(structured_set_running(state, 0, running, UNITS - 1), 0);
	cr_assert_eq(structured_set_supply(state, 0, UNITS - 1), 0);
	cr_assert_eq(structured_solve(state, &result), MCF_OPTIMAL);
	cr_assert_eq(result.cost, 50 * (UNITS - 1));
	cr_assert_eq(structured_set_supply(state, 0, UNITS), 0);
	cr_assert_eq(structured_set_running(state, 0, running, UNITS), 0);
	cr_assert_eq(structured_solve(state, &result), MCF_OPTIMAL);
	cr_assert_eq(result.cost, 50 * (UNITS - 1) + 10);
	cr_assert_eq(result.searches, 0);
	structured_destroy(state);
}

static int ascending(const void *left, const void *right)
{
	return ((const struct structured_running *)left)->cost - ((const struct structured_running *)right)->cost;
}

/*
 * Each column has two slots and one unit of group 0 that runs there, at a cost of its own; more of its units wait.
 * Group 1 takes `taken` slots more than half, anywhere and at no cost: it displaces the units that gain least by
 * staying.
 */
static void check_displaced(int32_t columns, int32_t taken, int32_t wait_cost)
{
	enum { MOST = 700, WAITING = 5, ROUNDS = 4 };
	struct structured *state = structured_create(0, 0, 0);
	struct structured_running running[MOST];
	struct arc arcs[MOST];
	struct structured_row first = {.aggregator_cost = ARC_ABSENT,
				       .unscheduled_cost = wait_cost,
				       .unscheduled_capacity = columns,
				       .running_count = columns,
				       .running = running},
			      second = {.aggregator_cost = ARC_ABSENT,
					.unscheduled_cost = ARC_ABSENT,
					.column_count = columns,
					.columns = arcs};
	struct structured_result result;
	struct rng rng;

	rng_seed(&rng, 20261127);
	for (int32_t i = 0; i < columns; i++) {
		cr_assert_eq(structured_set_column(state, i, i / 48, 2), 0);
		arcs[i] = (struct arc){i, 0};
	}
	for (int round = 0; round < ROUNDS; round++) {
		int64_t expected = (int64_t)(taken + WAITING) * wait_cost;

		for (int32_t i = 0; i < columns; i++) {
			int32_t cost = (int32_t)rng_below(&rng, (uint64_t)wait_cost);

			running[i] = (struct structured_running){columns - 1 - i, cost, 1};
		}
		if (round % 2 == 0)
			cr_assert_eq(structured_set_row(state, 0, &first), 0);
		else
			cr_assert_eq(structured_set_running(state, 0, running, columns), 0);
		cr_assert_eq(structured_set_row(state, 1, &second), 0);
		cr_assert_eq(structured_set_supply(state, 0, columns + WAITING), 0);
		cr_assert_eq(structured_set_supply(state, 1, columns + taken), 0);
		qsort(running, (size_t)columns, sizeof(*running), ascending);
		for (int32_t i = 0; i < columns - taken; i++)
			expected += running[i].cost;
		cr_assert_eq(structured_solve(state, &result), MCF_OPTIMAL);
		cr_assert_eq(result.cost, expected, "%d columns, round %d: %lld, not %lld", columns, round,
			     (long long)result.cost, (long long)expected);
		cr_assert_eq(structured_unscheduled(state, 0), taken + WAITING);
	}
	structured_destroy(state);
}

Test(structured_calls, of_many_running_units_the_dearest_are_displaced)
{
	check_displaced(700, 100, 1200);
	check_displaced(700, 100, 250);
	check_displaced(20, 5, 1200);
}
