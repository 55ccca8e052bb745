/* SPDX-License-Identifier: BSD-3-Clause */
/* Small clusters with latencies and curves for the tests of cost, flownet and policy. Aborts if out of memory. */
#ifndef TESTS_SCHED_PLACE_WORLD_H
#define TESTS_SCHED_PLACE_WORLD_H

#include <base/rng.h>
#include <sched/policy/policy.h>

enum { TEST_CURVES = 3 };

struct test_world {
	struct cluster *cluster;
	struct cost_layout *layout;
	struct latency_view *view;
	struct curve *curves[TEST_CURVES];
	struct placer *placer;
	struct flownet *net;
};

/* pods x racks x machines, named m0.., with `slots` each; nothing is measured; there is no placer yet. */
void test_world_make(struct test_world *world, uint32_t pods, uint32_t racks, uint32_t machines, int64_t slots);
/* Curve `number`: p is table[0..count-1] at 0, 10, 20, ... us. */
void test_world_set_curve(struct test_world *world, int number, const double *p, size_t count);
/* Curves shaped like the paper's: 1 up to a threshold, then falling; beyond the table its smallest value. */
void test_world_random_curves(struct test_world *world, struct rng *rng);
/* The paper's thresholds and table look-up, for which the tests were computed by hand; the rest are defaults. */
void test_world_settings(struct policy_settings *settings);
/* Makes the placer with these settings (NULL: test_world_settings()) and adds all machines. */
void test_world_start(struct test_world *world, const char *policy, const struct policy_settings *settings);
void test_world_start_policy(struct test_world *world, const struct policy *policy,
			     const struct policy_settings *settings);
/* Stores a measured round trip and updates the network. */
void test_world_measure(struct test_world *world, uint32_t a, uint32_t b, float rtt_us);

void test_world_free(struct test_world *world);

/* A job whose first task is its root. */
void test_world_add_job(struct test_world *world, uint32_t job, int curve, uint32_t tasks);

#endif
