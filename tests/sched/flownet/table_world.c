/* SPDX-License-Identifier: BSD-3-Clause */
#include "table_world.h"

static const double curve[] = {1, 1, 0.95, 0.925, 0.8, 0.5};

struct test_world world;
struct policy_settings settings;
struct flownet_network network;
struct flownet_round last;

void table_setup(void)
{
	test_world_make(&world, 1, 2, 2, 2);
	test_world_set_curve(&world, 0, curve, sizeof curve / sizeof curve[0]);
	test_world_settings(&settings);
	settings.flow.verify = true;
	/* From machine 0: itself 10 us, the other machine of its rack 30, the other rack 20 and 50. */
	latency_view_set(world.view, 0, 0, 10);
	latency_view_set(world.view, 0, 1, 30);
	latency_view_set(world.view, 0, 2, 20);
	latency_view_set(world.view, 0, 3, 50);
}

void table_teardown(void)
{
	flownet_network_free(&network);
	test_world_free(&world);
}

void solve(void)
{
	struct error err = {0};

	cr_assert_eq(flownet_solve(world.net, &last, &err), 0, "%s", err.text);
	cr_assert(last.verified);
}

int32_t find_node(enum flownet_node_kind kind, uint32_t number, uint32_t task)
{
	for (int32_t v = 0; v < network.problem.node_count; v++) {
		if (network.nodes[v].kind == kind && network.nodes[v].number == number && network.nodes[v].task == task)
			return v;
	}
	return -1;
}

/* Asserts that the network has exactly this arc from the task; cost -1: no such arc. */
void expect_arc(uint32_t task, enum flownet_node_kind kind, uint32_t number, int64_t cost)
{
	int32_t tail = find_node(FLOWNET_NODE_TASK, 0, task), head = find_node(kind, number, 0), found = 0;

	cr_assert_geq(tail, 0, "task %u is not in the network", task);
	for (int32_t a = 0; a < network.problem.arc_count; a++) {
		if (network.tail[a] != tail || network.head[a] != head)
			continue;
		found++;
		cr_expect_eq(network.cost[a], cost, "task %u to %d %u costs %lld, not %lld", task, kind, number,
			     (long long)network.cost[a], (long long)cost);
		cr_expect_eq(network.capacity[a], 1);
	}
	cr_expect_eq(found, cost >= 0, "task %u to %d %u: %d arcs", task, kind, number, found);
}

int count_arcs(uint32_t task)
{
	int32_t tail = find_node(FLOWNET_NODE_TASK, 0, task);
	int count = 0;

	for (int32_t a = 0; a < network.problem.arc_count; a++)
		count += network.tail[a] == tail;
	return count;
}

void build(void)
{
	struct error err = {0};

	flownet_network_free(&network);
	cr_assert_eq(flownet_network_build(world.net, &network, &err), 0, "%s", err.text);
}

/* A job of `tasks` tasks whose root runs on machine 0. */
void job_with_root_on_0(uint32_t tasks)
{
	test_world_start(&world, "nomora", &settings);
	cr_assert_eq(placer_job_arrived(world.placer, 0, 0, 0, 0), 0);
	cr_assert_eq(flownet_task_found(world.net, 0, 0, 0, 0), 0);
	for (uint32_t t = 1; t < tasks; t++)
		cr_assert_eq(flownet_task_arrived(world.net, 0, t, 0), 0);
}
