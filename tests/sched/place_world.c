/* SPDX-License-Identifier: BSD-3-Clause */
#include "place_world.h"

#include <stdio.h>
#include <stdlib.h>

static void need(int holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "test world: %s\n", what);
		abort();
	}
}

void test_world_make(struct test_world *world, uint32_t pods, uint32_t racks, uint32_t machines, int64_t slots)
{
	struct error err = {0};
	uint32_t number = 0;

	*world = (struct test_world){.cluster = cluster_create()};
	need(world->cluster != NULL, "cluster");
	for (uint32_t r = 0; r < pods * racks; r++) {
		for (uint32_t m = 0; m < machines; m++) {
			char name[24], rack[24], pod[24];

			snprintf(name, sizeof name, "m%u", number++);
			snprintf(rack, sizeof rack, "r%u", r);
			snprintf(pod, sizeof pod, "p%u", r / racks);
			need(cluster_add_machine(world->cluster, name, rack, pod, slots, &err) >= 0, err.text);
		}
	}
	world->layout = cost_layout_create(world->cluster);
	need(world->layout != NULL, "layout");
	world->view = latency_view_create(world->layout);
	need(world->view != NULL, "view");
}

void test_world_set_curve(struct test_world *world, int number, const double *p, size_t count)
{
	struct error err = {0};

	curve_destroy(world->curves[number]);
	world->curves[number] = curve_from_table("test", p, count, &err);
	need(world->curves[number] != NULL, err.text);
}

void test_world_random_curves(struct test_world *world, struct rng *rng)
{
	for (int k = 0; k < TEST_CURVES; k++) {
		size_t count = 10 + rng_below(rng, 90), threshold = rng_below(rng, 6);
		double p[100], fall = 0.005 + 0.03 * rng_uniform(rng);

		for (size_t i = 0; i < count; i++)
			p[i] = i < threshold ? 1 : 1 - fall * (double)(i - threshold);
		test_world_set_curve(world, k, p, count);
	}
}

void test_world_settings(struct policy_settings *settings)
{
	policy_settings_default(settings);
	settings->machine_threshold = 105;
	settings->rack_threshold = 110;
	settings->machine_arcs = 0;
	settings->lookup = COST_LOOKUP_NEAREST;
}

void test_world_start(struct test_world *world, const char *policy, const struct policy_settings *settings)
{
	test_world_start_policy(world, policy_find(policy), settings);
}

void test_world_start_policy(struct test_world *world, const struct policy *policy,
			     const struct policy_settings *settings)
{
	struct policy_settings defaults;
	struct error err = {0};

	test_world_settings(&defaults);
	world->placer = placer_create(policy, world->layout, cost_source_from_view(world->view),
				      settings ? settings : &defaults, &err);
	need(world->placer != NULL, err.text);
	world->net = placer_net(world->placer);
	for (int k = 0; k < TEST_CURVES; k++) {
		if (world->curves[k])
			need(placer_add_curve(world->placer, world->curves[k]) == k, "curve");
	}
	for (uint32_t m = 0; m < world->cluster->machine_count; m++)
		need(flownet_machine_added(world->net, m, (int32_t)world->cluster->machines[m].slots) == 0, "machine");
}

void test_world_add_job(struct test_world *world, uint32_t job, int curve, uint32_t tasks)
{
	need(placer_job_arrived(world->placer, job, curve, 0, tasks) == 0, "job");
	for (uint32_t t = 0; t < tasks; t++)
		need(flownet_task_arrived(world->net, job, t, 0) == 0, "task");
}

void test_world_measure(struct test_world *world, uint32_t a, uint32_t b, float rtt_us)
{
	struct cost_moved moved;

	need(latency_view_set(world->view, a, b, rtt_us) == 0, "memory");
	if (!world->net)
		return;
	moved = latency_view_moved(world->view);
	need(flownet_latency_changed(world->net, &moved) == 0, "memory");
	latency_view_moved_clear(world->view);
}

void test_world_free(struct test_world *world)
{
	placer_destroy(world->placer);
	for (int k = 0; k < TEST_CURVES; k++)
		curve_destroy(world->curves[k]);
	latency_view_destroy(world->view);
	cost_layout_destroy(world->layout);
	cluster_destroy(world->cluster);
}
