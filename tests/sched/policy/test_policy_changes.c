/* SPDX-License-Identifier: BSD-3-Clause */
/* A policy's caches must follow changes of the cluster. */
#include <criterion/criterion.h>

#include "place_world.h"

/* p_m and p_r allow no arc: the network sends every task to the cluster, where the policy chooses the machine. */
static const double steep[] = {0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3};

static struct test_world world;

static void make(uint32_t machines, int64_t slots)
{
	test_world_make(&world, 1, 1, machines, slots);
	test_world_set_curve(&world, 0, steep, sizeof steep / sizeof steep[0]);
	test_world_start(&world, "nomora", NULL);
}

static void solve(void)
{
	struct flownet_round round;
	struct error err = {0};

	cr_assert_eq(flownet_solve(world.net, &round, &err), 0, "%s", err.text);
}

static void set_latency(uint32_t a, uint32_t b, float rtt_us)
{
	test_world_measure(&world, a, b, rtt_us);
}

/* Job 0 with its root on machine 0, which has no free slot left. */
static void add_rooted_job(void)
{
	cr_assert_eq(flownet_slots_changed(world.net, 0, 1), 0);
	cr_assert_eq(placer_job_arrived(world.placer, 0, 0, 0, 0), 0);
	cr_assert_eq(flownet_task_found(world.net, 0, 0, 0, 0), 0);
}

/* Returns the machine of the job's next task. */
static int32_t place_another(uint32_t task)
{
	cr_assert_eq(flownet_task_arrived(world.net, 0, task, 0), 0);
	solve();
	return flownet_task_machine(world.net, 0, task);
}

Test(policy_changes, the_next_task_of_a_job_goes_to_a_nearer_machine_that_came)
{
	make(4, 3);
	cr_assert_eq(flownet_machine_removed(world.net, 3), 0);
	add_rooted_job();
	set_latency(0, 1, 40);
	set_latency(0, 2, 50);
	set_latency(0, 3, 10);
	cr_expect_eq(place_another(1), 1);
	cr_assert_eq(flownet_machine_added(world.net, 3, 3), 0);
	cr_expect_eq(place_another(2), 3);
	test_world_free(&world);
}

Test(policy_changes, the_next_task_of_a_job_goes_by_the_latency_that_moved)
{
	make(3, 3);
	add_rooted_job();
	set_latency(0, 1, 20);
	set_latency(0, 2, 40);
	cr_expect_eq(place_another(1), 1);
	set_latency(0, 1, 60);
	cr_expect_eq(place_another(2), 2);
	test_world_free(&world);
}

/* By a curve that rises, which no application has, the farthest machine is the best. */
Test(policy_changes, the_next_task_of_a_job_goes_by_the_curve_that_changed)
{
	static const double rising[] = {0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};

	make(3, 3);
	add_rooted_job();
	set_latency(0, 1, 20);
	set_latency(0, 2, 40);
	cr_expect_eq(place_another(1), 1);
	test_world_set_curve(&world, 1, rising, sizeof rising / sizeof *rising);
	cr_assert_eq(placer_replace_curve(world.placer, 0, world.curves[1]), 0);
	cr_expect_eq(place_another(2), 2);
	test_world_free(&world);
}

/* Two pairs of near machines; each root goes to the pair that is nearer when it arrives. */
Test(policy_changes, the_next_root_goes_by_the_latency_that_moved)
{
	make(4, 2);
	set_latency(0, 1, 50);
	set_latency(2, 3, 30);
	test_world_add_job(&world, 0, 0, 3);
	solve();
	cr_expect_eq(flownet_task_machine(world.net, 0, 0), 2);
	cr_assert_eq(flownet_job_ended(world.net, 0), 0);
	set_latency(0, 1, 20);
	test_world_add_job(&world, 1, 0, 3);
	solve();
	cr_expect_eq(flownet_task_machine(world.net, 1, 0), 0);
	test_world_free(&world);
}

/* The nearer pair has too few slots for the first root's job, but enough for the next one's. */
Test(policy_changes, the_next_root_goes_where_slots_have_come_free)
{
	make(4, 2);
	set_latency(0, 1, 20);
	set_latency(2, 3, 30);
	set_latency(1, 3, 60); /* unmeasured pairs count as 60 us, too */
	cr_assert_eq(placer_job_arrived(world.placer, 0, 0, 0, 0), 0);
	for (uint32_t t = 0; t < 2; t++)
		cr_assert_eq(flownet_task_found(world.net, 0, t, 1, 0), 0);
	test_world_add_job(&world, 1, 0, 3);
	solve();
	cr_expect_eq(flownet_task_machine(world.net, 1, 0), 2);
	cr_assert_eq(flownet_job_ended(world.net, 0), 0);
	cr_assert_eq(flownet_job_ended(world.net, 1), 0);
	test_world_add_job(&world, 2, 0, 3);
	solve();
	cr_expect_eq(flownet_task_machine(world.net, 2, 0), 0);
	test_world_free(&world);
}
