/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans may append to the same file if their fingerprints are equal. */
#include <string.h>

#include <criterion/criterion.h>

#include <model/sweep.h>
#include <injector/sweep/plan.h>

static struct sweep_plan plan;

static void begin(void)
{
	sweep_plan_defaults(&plan);
	plan.client = "client";
	plan.injector = "i.sock";
	plan.metrics.items[0] = "qps 1/s higher json:qps";
	plan.metrics.count = 1;
}

TestSuite(plan, .init = begin);

static size_t count_differences(const struct sweep_plan *a, const struct sweep_plan *b)
{
	static struct sweep_plan_parts left, right;
	size_t differences = 0;

	sweep_plan_list_parts(a, &left);
	sweep_plan_list_parts(b, &right);
	if (left.count != right.count)
		return 1;
	for (size_t i = 0; i < left.count; i++)
		differences += strcmp(left.items[i].text, right.items[i].text) != 0;
	return differences;
}

#define EXPECT_ANOTHER(field, value)                                                                                   \
	do {                                                                                                           \
		struct sweep_plan other = plan;                                                                        \
		other.field = value;                                                                                   \
		cr_assert_neq(sweep_plan_fingerprint(&other), sweep_plan_fingerprint(&plan), #field);                  \
		cr_assert_eq(count_differences(&plan, &other), 1, #field);                                             \
	} while (0)

#define EXPECT_SAME(field, value)                                                                                      \
	do {                                                                                                           \
		struct sweep_plan other = plan;                                                                        \
		other.field = value;                                                                                   \
		cr_assert_eq(sweep_plan_fingerprint(&other), sweep_plan_fingerprint(&plan), #field);                   \
	} while (0)

Test(plan, what_changes_a_row_changes_the_fingerprint)
{
	EXPECT_ANOTHER(application, "other");
	EXPECT_ANOTHER(direction, SWEEP_AB);
	EXPECT_ANOTHER(injector, "j.sock");
	EXPECT_ANOTHER(lab_inject, "core");
	EXPECT_ANOTHER(lab_injector_arguments, "--lcores 2");
	EXPECT_ANOTHER(server_host, "netns:a");
	EXPECT_ANOTHER(client_host, "netns:a");
	EXPECT_ANOTHER(server_address, "10.0.0.1");
	EXPECT_ANOTHER(client_address, "10.0.0.1");
	EXPECT_ANOTHER(setup, "true");
	EXPECT_ANOTHER(server, "true");
	EXPECT_ANOTHER(server_ready, "fill");
	EXPECT_ANOTHER(before_run, "true");
	EXPECT_ANOTHER(warm_up, "true");
	EXPECT_ANOTHER(client, "true");
	EXPECT_ANOTHER(after_run, "true");
	EXPECT_ANOTHER(server_restart, SWEEP_PLAN_RESTART_RUN);
	EXPECT_ANOTHER(nice, -5);
	EXPECT_ANOTHER(keep_awake, true);
	EXPECT_ANOTHER(metrics.count, 0);
	plan.lab = "lab0";
	EXPECT_ANOTHER(lab_hosts, 8);
	EXPECT_ANOTHER(lab_racks, 2);
}

/* The fingerprint must not change between versions: existing logs can then be continued. */
Test(plan, a_fingerprint_stays_what_it_was)
{
	plan.server_address = "10.0.0.1";
	plan.nice = -5;
	plan.keep_awake = true;
	plan.lab = "lab0";
	cr_assert_eq(sweep_plan_fingerprint(&plan), UINT64_C(0x48c63bcee36b4e29));
}

Test(plan, a_text_is_one_fields_alone)
{
	struct sweep_plan other = plan;

	plan.server_address = other.client_address = "10.0.0.1";
	cr_assert_neq(sweep_plan_fingerprint(&other), sweep_plan_fingerprint(&plan));
}

Test(plan, how_often_and_how_carefully_does_not)
{
	EXPECT_SAME(delays, "0 1 2");
	EXPECT_SAME(repetitions, 9);
	EXPECT_SAME(seed, 9);
	EXPECT_SAME(attempts, 9);
	EXPECT_SAME(settle_s, 2);
	EXPECT_SAME(timeout_s, 2);
	EXPECT_SAME(maximum_stall_percent, 2);
	EXPECT_SAME(teardown, "true");
	EXPECT_SAME(ssh_config, "other");
	EXPECT_SAME(output, "other.csv");
	EXPECT_SAME(lab_hosts, 8); /* without a lab */
}
