/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>

#include <model/latency_table.h>

static struct latency_matrix *matrix;

static void set(uint32_t source, uint32_t destination, double us, enum latency_state state, int64_t at_s)
{
	bool measured = state == LATENCY_STATE_MEASURED;
	struct latency_entry entry = {.source = source, .destination = destination, .updated_at = {at_s * NS_PER_S}};

	entry.rtt_p50_us = entry.rtt_p99_us = entry.rtt_max_us = measured ? us : NAN;
	entry.samples = measured;
	entry.loss = state == LATENCY_STATE_UNREACHABLE;
	entry.state = (uint8_t)state;
	cr_assert_eq(latency_matrix_set(matrix, &entry), 0);
}

static void set_up(void)
{
	matrix = latency_matrix_create();
	for (int i = 0; i < 20; i++) {
		char name[8];

		snprintf(name, sizeof name, "h%d", i);
		latency_matrix_add_host(matrix, name);
	}
}

static void tear_down(void)
{
	latency_matrix_destroy(matrix);
}

TestSuite(latency_census, .init = set_up, .fini = tear_down);

Test(latency_census, counts_states_and_ranks_the_worst)
{
	struct latency_census census;

	for (uint32_t i = 1; i < 16; i++)
		set(0, i, 10.0 * (i * 7 % 16), LATENCY_STATE_MEASURED, 1000);
	set(1, 0, 5000, LATENCY_STATE_MEASURED, 900);
	set(1, 1, 9000, LATENCY_STATE_MEASURED, 1000); /* a host and itself are not a pair */
	set(0, 17, 0, LATENCY_STATE_NEVER, 0);
	set(0, 16, 0, LATENCY_STATE_UNREACHABLE, 999);
	cr_assert_eq(latency_census_take(matrix, LATENCY_STATISTIC_P99, (struct ns){1001 * NS_PER_S},
					 (struct ns){60 * NS_PER_S}, &census),
		     0);
	cr_assert_eq(census.pairs, 18);
	cr_assert(census.by_state[LATENCY_STATE_MEASURED] == 15 && census.by_state[LATENCY_STATE_STALE] == 1);
	cr_assert(census.by_state[LATENCY_STATE_NEVER] == 1 && census.by_state[LATENCY_STATE_UNREACHABLE] == 1);
	cr_assert_eq(census.oldest.v, 101 * NS_PER_S);
	cr_assert_eq(census.worst_count, LATENCY_WORST);
	for (size_t i = 0; i < LATENCY_WORST; i++)
		cr_assert_eq(census.worst[i].rtt_p99_us, 150 - 10.0 * (double)i);
	cr_assert_eq(census.lost_count, 0, "one pair does not make a lost host");
	latency_census_free(&census);
}

Test(latency_census, a_host_that_nobody_reaches_is_lost)
{
	struct latency_census census;

	set(0, 3, 0, LATENCY_STATE_UNREACHABLE, 10);
	set(1, 3, 0, LATENCY_STATE_UNREACHABLE, 10);
	set(0, 4, 0, LATENCY_STATE_UNREACHABLE, 10);
	set(1, 4, 7, LATENCY_STATE_MEASURED, 10);
	cr_assert_eq(
		latency_census_take(matrix, LATENCY_STATISTIC_MAX, (struct ns){11 * NS_PER_S}, (struct ns){0}, &census),
		0);
	cr_assert(census.lost_count == 1 && census.lost_hosts[0] == 3);
	latency_census_free(&census);
}
