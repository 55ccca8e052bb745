/* SPDX-License-Identifier: BSD-3-Clause */
/* The NoMora-like instances of tests/data/mcf: every algorithm finds the known optimum, with a valid certificate. */
#include <stdio.h>

#include <criterion/criterion.h>

#include <sched/mcf/algorithms.h>
#include <sched/mcf/dimacs.h>

#include "flow_certificate.h"

static const struct instance {
	char name[4];
	int64_t optimum;
	int32_t nodes, arcs;
} instances[] = {
	{"S1", 59014, 2467, 16889},    {"S2", 419315, 21936, 128550},  {"S3", 1121672, 11929, 242552},
	{"S4", 849063, 11971, 315039}, {"S5", 1667096, 14248, 363192},
};

static void solve_instance(int32_t number)
{
	const struct instance *instance = &instances[number];
	struct mcf_network network;
	struct mcf_solution solution = {0};
	struct error err = {0};
	char path[4096];

	snprintf(path, sizeof path, SOURCE_ROOT "/tests/data/mcf/%s.dmx.gz", instance->name);
	cr_assert_eq(mcf_dimacs_read(path, &network, &err), 0, "%s", err.text);
	cr_assert_eq(network.problem.node_count, instance->nodes);
	cr_assert_eq(network.problem.arc_count, instance->arcs);
	for (const struct mcf_algorithm *row = mcf_algorithms; row->name; row++) {
		flow_certificate_solve(instance->name, row, &network.problem, &solution);
		cr_assert_eq(solution.cost, instance->optimum, "%s by %s: %ld", instance->name, row->name,
			     (long)solution.cost);
		if (row == mcf_algorithms)
			cr_assert_lt(solution.statistics.aggregated_arcs * 3, instance->arcs);
	}
	mcf_solution_free(&solution);
	mcf_network_free(&network);
}

Test(mcf_shared, s1_no_preemption)
{
	solve_instance(0);
}

Test(mcf_shared, s2_no_preemption_12500_machines)
{
	solve_instance(1);
}

Test(mcf_shared, s3_preemption)
{
	solve_instance(2);
}

Test(mcf_shared, s4_time_run_counts)
{
	solve_instance(3);
}

Test(mcf_shared, s5_oversubscribed)
{
	solve_instance(4);
}
