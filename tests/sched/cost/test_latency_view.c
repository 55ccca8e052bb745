/* SPDX-License-Identifier: BSD-3-Clause */
/* The origin of each round trip (DESIGN.md, decision 8), and what a change affects. */
#include <criterion/criterion.h>

#include <math.h>

#include "place_world.h"

/* 2 pods x 2 racks x 3 machines: rack r holds 3r..3r+2, racks 0 and 1 are pod 0. */
static struct test_world world;

static void setup(void)
{
	test_world_make(&world, 2, 2, 3, 2);
	world.cluster->default_rtt = (struct cluster_default_rtt){1, 20, 300, 4000};
}

static void teardown(void)
{
	test_world_free(&world);
}

TestSuite(latency_view, .init = setup, .fini = teardown);

static void expect(uint32_t a, uint32_t b, double rtt_us, enum latency_origin origin)
{
	enum latency_origin found;
	float value = latency_view_get(world.view, a, b, &found), row[64];

	cr_expect_float_eq(value, rtt_us, 1e-6, "%u to %u: %f, not %f", a, b, (double)value, rtt_us);
	cr_expect_eq(found, origin, "%u to %u: %s, not %s", a, b, latency_origin_name(found),
		     latency_origin_name(origin));
	latency_view_row(world.view, a, 0, world.layout->column_count, row);
	cr_expect_float_eq(row[world.layout->column_of_machine[b]], rtt_us, 1e-6, "the row says otherwise");
}

/* The racks to which round trips of the machine changed. */
static void expect_moved(uint32_t machine, uint64_t racks)
{
	struct cost_moved moved = latency_view_moved(world.view);
	uint64_t found = 0;

	for (size_t i = 0; i < moved.count; i++) {
		if (moved.machines[i] == machine)
			found = moved.racks[machine * moved.words];
	}
	cr_expect_eq(found, racks, "machine %u: racks %llx, not %llx", machine, (unsigned long long)found,
		     (unsigned long long)racks);
}

Test(latency_view, nothing_measured)
{
	expect(0, 0, 1, LATENCY_ORIGIN_SAME_MACHINE);
	expect(0, 1, 20, LATENCY_ORIGIN_TOPOLOGY);
	expect(0, 3, 300, LATENCY_ORIGIN_TOPOLOGY);
	expect(0, 6, 4000, LATENCY_ORIGIN_TOPOLOGY);
}

Test(latency_view, a_measured_pair_counts_with_its_larger_end)
{
	latency_view_set(world.view, 0, 1, 50);
	expect_moved(0, 1 << 0 | 1 << 1); /* unmeasured pairs of the pod take the measured value */
	expect_moved(3, 1 << 0 | 1 << 1);
	expect_moved(6, 0);
	expect(0, 1, 50, LATENCY_ORIGIN_MEASURED);
	expect(1, 0, 50, LATENCY_ORIGIN_MEASURED);
	latency_view_set(world.view, 1, 0, 70);
	expect(0, 1, 70, LATENCY_ORIGIN_MEASURED);
	latency_view_moved_clear(world.view);
	latency_view_set(world.view, 0, 1, 60);
	cr_expect_eq(latency_view_moved(world.view).count, 0, "the other end saw more");
}

Test(latency_view, unmeasured_pairs_take_rack_pair_then_pod_pair)
{
	latency_view_set(world.view, 0, 3, 100); /* racks 0 and 1 */
	latency_view_set(world.view, 1, 4, 140);
	expect(2, 5, 140, LATENCY_ORIGIN_RACK_PAIR);
	expect(5, 2, 140, LATENCY_ORIGIN_RACK_PAIR);
	expect(0, 1, 140, LATENCY_ORIGIN_POD_PAIR); /* nothing was measured within rack 0, but within the pod */
	expect(6, 7, 20, LATENCY_ORIGIN_TOPOLOGY);
	expect(0, 9, 4000, LATENCY_ORIGIN_TOPOLOGY);
	latency_view_set(world.view, 0, 6, 900);
	expect(4, 10, 900, LATENCY_ORIGIN_POD_PAIR);
	expect(2, 8, 900, LATENCY_ORIGIN_RACK_PAIR);
}

Test(latency_view, a_maximum_that_falls_is_looked_for_again)
{
	latency_view_set(world.view, 0, 3, 100);
	latency_view_set(world.view, 1, 4, 140);
	latency_view_moved_clear(world.view);
	latency_view_set(world.view, 1, 4, 90);
	expect(2, 5, 100, LATENCY_ORIGIN_RACK_PAIR);
	expect_moved(2, 1 << 0 | 1 << 1);
	latency_view_moved_clear(world.view);
	latency_view_set(world.view, 1, 4, 95);
	expect_moved(1, 1 << 1);
	expect_moved(4, 1 << 0);
	expect_moved(2, 0);
	latency_view_set(world.view, 0, 3, -1);
	expect(0, 3, 95, LATENCY_ORIGIN_RACK_PAIR);
	latency_view_set(world.view, 1, 4, NAN);
	expect(0, 3, 300, LATENCY_ORIGIN_TOPOLOGY);
	expect(1, 4, 300, LATENCY_ORIGIN_TOPOLOGY);
}

struct gone {
	uint32_t pairs[8][2];
	size_t count;
};

static void note_gone(void *context, uint32_t a, uint32_t b)
{
	struct gone *gone = context;

	cr_assert_lt(gone->count, 8);
	gone->pairs[gone->count][0] = a;
	gone->pairs[gone->count++][1] = b;
}

Test(latency_view, pairs_not_measured_for_long_expire_and_the_maxima_follow)
{
	static const struct latency_sample old[] = {{0, 1, 50}, {0, 3, 140}, {0, 6, 900}},
					   young[] = {{0, 2, 40}, {1, 4, 100}};
	struct gone gone = {0};

	cr_assert_eq(latency_view_update(world.view, old, 3, 10), 0);
	cr_assert_eq(latency_view_update(world.view, young, 2, 20), 0);
	latency_view_expire(world.view, 10, note_gone, &gone);
	cr_expect_eq(gone.count, 0);
	expect(0, 6, 900, LATENCY_ORIGIN_MEASURED);
	latency_view_expire(world.view, 20, note_gone, &gone);
	cr_expect_eq(latency_view_pairs(world.view), 2);
	cr_assert_eq(gone.count, 3);
	cr_expect(gone.pairs[0][0] == 0 && gone.pairs[0][1] == 6);
	cr_expect(gone.pairs[1][0] == 0 && gone.pairs[1][1] == 3);
	cr_expect(gone.pairs[2][0] == 0 && gone.pairs[2][1] == 1);
	expect(0, 2, 40, LATENCY_ORIGIN_MEASURED);
	expect(1, 4, 100, LATENCY_ORIGIN_MEASURED);
	expect(0, 1, 40, LATENCY_ORIGIN_RACK_PAIR);
	expect(0, 3, 100, LATENCY_ORIGIN_RACK_PAIR);
	expect(0, 6, 4000, LATENCY_ORIGIN_TOPOLOGY);
}

Test(latency_view, a_machine_with_itself_is_no_rack_pair)
{
	latency_view_set(world.view, 0, 0, 7);
	expect_moved(0, 1 << 0);
	expect_moved(1, 0);
	expect(0, 0, 7, LATENCY_ORIGIN_MEASURED);
	expect(1, 1, 1, LATENCY_ORIGIN_SAME_MACHINE);
	expect(0, 1, 20, LATENCY_ORIGIN_TOPOLOGY);
}

Test(latency_view, loads_a_matrix_and_counts_what_it_left_out)
{
	static const char text[] = "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n"
				   "m0,m1,10,20,30,0,100,1\n"
				   "m1,m0,11,22,33,0,100,1\n"
				   "m0,stranger,1,2,3,0,100,1\n"
				   "m0,m2,,,,1,0,1\n";
	struct file_lines *lines = file_lines_from_memory("mesh.csv", text, sizeof text - 1, NULL);
	struct error err = {0};
	struct latency_matrix *matrix = latency_matrix_parse(lines, &err);
	struct latency_view_load loaded;

	cr_assert_not_null(matrix, "%s", err.text);
	cr_assert_eq(latency_view_load(world.view, matrix, LATENCY_STATISTIC_P99, (struct ns){0},
				       (struct ns){INT64_MAX}, &loaded, &err),
		     0);
	cr_expect_eq(loaded.pairs, 2);
	cr_expect_eq(loaded.old, 0);
	cr_expect_eq(loaded.unknown, 1);
	cr_expect_eq(loaded.unanswered, 1);
	cr_expect_str_eq(loaded.unknown_name, "stranger");
	expect(0, 1, 22, LATENCY_ORIGIN_MEASURED);
	latency_matrix_destroy(matrix);
	file_lines_close(lines);
}

Test(latency_view, a_pair_that_never_answered_is_unreachable_and_one_of_another_time_not_measured)
{
	static const char text[] = "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\n"
				   "m0,m1,10,20,30,0,100,100\n"
				   "m0,m2,,,,1,0,100\n"
				   "m1,m2,40,50,60,0,100,99\n"
				   "m2,m1,40,50,60,0,100,201\n";
	struct file_lines *lines = file_lines_from_memory("mesh.csv", text, sizeof text - 1, NULL);
	struct error err = {0};
	struct latency_matrix *matrix = latency_matrix_parse(lines, &err);
	struct latency_view_load loaded;
	enum latency_origin origin;
	float row[64];

	cr_assert_not_null(matrix, "%s", err.text);
	cr_assert_eq(latency_view_load(world.view, matrix, LATENCY_STATISTIC_P99, (struct ns){100000000000},
				       (struct ns){200000000000}, &loaded, &err),
		     0);
	cr_expect(loaded.pairs == 1 && loaded.unanswered == 1 && loaded.old == 1 && loaded.future == 1);
	cr_expect(isinf(latency_view_get(world.view, 0, 2, &origin)));
	cr_expect_eq(origin, LATENCY_ORIGIN_MEASURED);
	latency_view_row(world.view, 0, 0, world.layout->column_count, row);
	cr_expect_float_eq(row[world.layout->column_of_machine[2]], -1, 1e-6);
	expect(1, 2, 20, LATENCY_ORIGIN_RACK_PAIR); /* no maximum has the old 50 or the pair without answer */
	latency_matrix_destroy(matrix);
	file_lines_close(lines);
}
