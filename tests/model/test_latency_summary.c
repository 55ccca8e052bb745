/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <model/latency_table.h>

static struct latency_matrix *matrix;
static struct cluster *cluster;

static void set_up(void)
{
	struct error err = {0};

	matrix = latency_matrix_create();
	cluster = cluster_create();
	for (int i = 0; i < 4; i++) {
		char name[8];

		snprintf(name, sizeof name, "h%d", i);
		cr_assert_eq(latency_matrix_add_host(matrix, name), i);
		if (i < 3)
			cr_assert_geq(cluster_add_machine(cluster, name, i < 2 ? "r0" : "r1", NULL, 1, &err), 0);
	}
}

static void tear_down(void)
{
	latency_matrix_destroy(matrix);
	cluster_destroy(cluster);
}

TestSuite(latency_summary, .init = set_up, .fini = tear_down);

static void set(uint32_t source, uint32_t destination, double p50_us, uint64_t samples)
{
	struct latency_entry entry = {.source = source, .destination = destination, .samples = samples};

	entry.rtt_p50_us = samples ? p50_us : NAN;
	entry.rtt_p99_us = samples ? p50_us * 2 : NAN;
	entry.rtt_max_us = samples ? p50_us * 10 : NAN;
	entry.loss = samples ? 0 : 1;
	cr_assert_eq(latency_matrix_set(matrix, &entry), 0);
}

Test(latency_summary, groups_pairs_by_where_their_racks_are)
{
	struct latency_group groups[LATENCY_RELATIONS];

	set(0, 1, 10, 5);
	set(1, 0, 30, 5);
	set(0, 0, 1, 5); /* a host and itself are not a pair */
	set(0, 2, 100, 1);
	set(1, 2, 200, 1);
	set(2, 0, 300, 1);
	set(2, 1, 0, 0);
	set(0, 3, 7, 1);
	cr_assert_eq(latency_summarise(matrix, cluster, groups), 0);
	cr_assert(groups[LATENCY_SAME_RACK].pairs == 2 && groups[LATENCY_SAME_RACK].samples == 10);
	cr_assert(groups[LATENCY_SAME_RACK].p50_us == 20 && groups[LATENCY_SAME_RACK].worst_us == 300);
	cr_assert(groups[LATENCY_OTHER_RACK].pairs == 4 && groups[LATENCY_OTHER_RACK].silent == 1);
	cr_assert(groups[LATENCY_OTHER_RACK].p50_us == 200 && groups[LATENCY_OTHER_RACK].p99_us == 400);
	cr_assert(groups[LATENCY_OTHER_RACK].lowest_p50_us == 100 && groups[LATENCY_OTHER_RACK].highest_p50_us == 300);
	cr_assert_eq(groups[LATENCY_OTHER_RACK].loss, 0.25);
	cr_assert_eq(groups[LATENCY_UNKNOWN_RACK].pairs, 1);
	cr_assert_eq(latency_summarise(matrix, NULL, groups), 0);
	cr_assert_eq(groups[LATENCY_SAME_RACK].pairs, 7, "without a cluster all are one rack");
	cr_assert(isnan(groups[LATENCY_OTHER_RACK].p50_us));
}
