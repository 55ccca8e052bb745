/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that a sweep with a lab makes before it starts anything. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <lab/sweep/world.h>

static struct sweep_plan plan;
static struct sweep_world world;

static void begin(void)
{
	sweep_plan_defaults(&plan);
	plan.application = "web";
	plan.lab = "tworld";
	plan.server_host = "h1";
	plan.client_host = "h2";
	plan.client = "true";
	plan.output = "web.csv";
	plan.metrics.items[0] = "qps 1/s higher json:qps";
	plan.metrics.count = 1;
	world = (struct sweep_world){.plan = &plan, .file = "/dev/null", .claim = -1};
}

TestSuite(world, .init = begin);

static void refuse(const char *expected)
{
	struct error err = {0};

	cr_assert_lt(sweep_world_check(&world, &err), 0);
	cr_assert(strstr(err.text, expected), "%s", err.text);
}

Test(world, hosts_of_the_lab_become_namespaces_and_addresses)
{
	struct error err = {0};

	cr_assert_eq(sweep_world_check(&world, &err), 0, "%s", err.text);
	cr_assert_str_eq(plan.server_host, "netns:tworld-h1");
	cr_assert_str_eq(world.server_name, "h1");
	cr_assert_str_eq(plan.server_address, world.lab.hosts[0].address);
	cr_assert_str_eq(plan.folder, "/dev");
	cr_assert_not_null(plan.injector);
}

Test(world, two_metrics_of_one_name_are_refused)
{
	plan.metrics.items[1] = "qps ms lower json:p99";
	plan.metrics.count = 2;
	refuse("duplicate metric name 'qps', first on the command line");
}

Test(world, a_client_outside_of_the_lab_is_refused)
{
	plan.client_host = "local";
	refuse("client-host: a plan with a lab needs");
}

Test(world, a_try_is_one_run_without_delay_and_leaves_nothing)
{
	char output[PATH_MAX];
	struct error err = {0};
	FILE *file;

	cr_assert_eq(sweep_try_prepare(&plan, output, &err), 0, "%s", err.text);
	cr_assert_str_eq(plan.delays, "0");
	cr_assert_eq(plan.repetitions, 1);
	file = fopen(output, "w");
	cr_assert(file && fclose(file) == 0);
	sweep_try_tidy(output);
	cr_assert_neq(access(output, F_OK), 0);
	*strrchr(output, '/') = '\0';
	cr_assert_neq(access(output, F_OK), 0);
}
