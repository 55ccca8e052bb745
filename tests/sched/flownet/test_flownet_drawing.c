/* SPDX-License-Identifier: BSD-3-Clause */
/* The flow on the network of NoMora's table 2, and the network as DOT, JSON and DIMACS. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sched/mcf/algorithms.h>

#include "table_world.h"

TestSuite(flownet_drawing, .init = table_setup, .fini = table_teardown);

/*
 * The arc that carries the task's flow in the network that was built, for the current placement. `among`: its position
 * among the arcs to the same node, from 0.
 */
static struct drawn_arc {
	enum flownet_node_kind to;
	int32_t cost, among;
} drawn_arc(uint32_t task)
{
	int32_t tail = find_node(FLOWNET_NODE_TASK, 0, task), arcs = network.problem.arc_count, taken = -1;
	int32_t *flow = calloc((size_t)arcs + 1, sizeof *flow);
	struct drawn_arc found;

	cr_assert_eq(flownet_network_route(&network, world.net, flow), 0);
	for (int32_t a = 0; a < arcs; a++) {
		if (network.tail[a] != tail || flow[a] == 0)
			continue;
		cr_assert(taken < 0 && flow[a] == 1, "task %u: more than one unit", task);
		taken = a;
	}
	cr_assert_geq(taken, 0, "task %u: no unit", task);
	found = (struct drawn_arc){network.nodes[network.head[taken]].kind, (int32_t)network.cost[taken], 0};
	for (int32_t a = 0; a < taken; a++)
		found.among += network.tail[a] == tail && network.head[a] == network.head[taken];
	free(flow);
	return found;
}

static void expect_drawn(uint32_t task, enum flownet_node_kind to, int32_t cost)
{
	struct drawn_arc found = drawn_arc(task);

	cr_expect_eq(found.to, to, "task %u is drawn to a node of kind %d, not %d", task, found.to, to);
	cr_expect_eq(found.cost, cost);
	cr_expect_eq(found.among, 0, "task %u: the arc behind another one to the same node", task);
}

Test(flownet_drawing, a_task_that_stays_is_drawn_so_where_its_rack_costs_as_much)
{
	int32_t cost;

	settings.flow.preemption = true;
	job_with_root_on_0(1);
	cr_assert_eq(flownet_slots_changed(world.net, 0, 1), 0);
	cr_assert_eq(flownet_slots_changed(world.net, 2, 0), 0);
	cr_assert_eq(flownet_task_found(world.net, 0, 1, 1, 5), 0);
	build();
	expect_arc(1, FLOWNET_NODE_MACHINE, 1, 108);
	expect_arc(1, FLOWNET_NODE_RACK, 0, 108);
	solve();
	cr_expect_eq(last.move_count, 0);
	expect_drawn(1, FLOWNET_NODE_MACHINE, 108);
	cr_expect_eq(flownet_arc_to(world.net, 0, 1, 1, &cost), FLOWNET_ARC_RUNNING);
}

/* From machine 0, all machines have the same round trip as machine 0 itself. */
static void all_alike(void)
{
	for (uint32_t m = 0; m < 4; m++)
		latency_view_set(world.view, 0, m, 10);
}

Test(flownet_drawing, of_equal_ways_the_drawing_takes_the_most_direct)
{
	all_alike();
	job_with_root_on_0(2);
	build();
	solve();
	expect_drawn(1, FLOWNET_NODE_MACHINE, 100);
	cr_expect_eq(last.moves[0].arc, FLOWNET_ARC_MACHINE);
}

Test(flownet_drawing, of_rack_and_cluster_at_one_cost_the_drawing_takes_the_rack)
{
	all_alike();
	settings.machine_threshold = 99;
	job_with_root_on_0(2);
	build();
	solve();
	expect_drawn(1, FLOWNET_NODE_RACK, 100);
	cr_expect_eq(last.moves[0].arc, FLOWNET_ARC_RACK);
}

Test(flownet_drawing, a_task_that_stays_is_drawn_so_where_any_machine_costs_as_much)
{
	all_alike();
	settings.flow.preemption = true;
	job_with_root_on_0(1);
	cr_assert_eq(flownet_task_found(world.net, 0, 1, 3, 5), 0);
	build();
	solve();
	cr_expect_eq(last.move_count, 0);
	expect_drawn(1, FLOWNET_NODE_MACHINE, 100);
}

/*
 * Five tasks, one slot, and room for one waiting task: the task with the lowest waiting cost waits; the expensive ones
 * have no arc left.
 */
Test(flownet_drawing, a_narrow_way_to_wait_holds_whom_waiting_costs_least)
{
	static const double waited_s[] = {0, 40, 10, 30, 20};
	int64_t drawn_cost = 0;
	bool unrouted[5] = {true, true, true, true, true};
	int32_t *flow;

	settings.flow.unscheduled_capacity = 1;
	settings.flow.omega_per_s = 2;
	settings.flow.algorithm = mcf_algorithm_find("simplex");
	for (uint32_t m = 0; m < 4; m++)
		world.cluster->machines[m].slots = m == 0 ? 2 : 0;
	job_with_root_on_0(1);
	for (uint32_t t = 1; t < 5; t++)
		cr_assert_eq(flownet_task_arrived(world.net, 0, t, waited_s[t]), 0);
	build();
	solve();
	cr_expect_eq(last.unrouted, 2);
	cr_assert_eq(flownet_list_unrouted(world.net, 0, unrouted), 0);
	for (uint32_t t = 1; t < 5; t++) {
		if (flownet_task_machine(world.net, 0, t) != FLOWNET_NONE) {
			cr_expect_neq(t, 2, "its place among those that wait is the cheapest");
			cr_expect_not(unrouted[t]);
		} else {
			cr_expect_eq(unrouted[t], t != 2, "task %u", t);
			expect_drawn(t, t == 2 ? FLOWNET_NODE_UNSCHEDULED : FLOWNET_NODE_SINK,
				     t == 2 ? 1001 + 2 * 10 : (int32_t)network.overflow_cost);
		}
	}
	flow = calloc((size_t)network.problem.arc_count + 1, sizeof *flow);
	cr_assert_eq(flownet_network_route(&network, world.net, flow), 0);
	for (int32_t a = 0; a < network.problem.arc_count; a++)
		drawn_cost += flow[a] * network.cost[a];
	cr_expect_eq(drawn_cost, last.cost + network.pinned_cost + 2 * network.overflow_cost);
	free(flow);
}

static char *drawn(int (*write)(const struct flownet_network *, const struct flownet *, const struct flownet_names *,
				const int32_t *, FILE *))
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	cr_assert_eq(write(&network, world.net, NULL, NULL, out), 0);
	fclose(out);
	return text;
}

/* 400 bytes of two-byte characters. */
static const char *long_name(const void *context, uint32_t job)
{
	static char name[401];

	(void)context;
	(void)job;
	for (int i = 0; i < 400; i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	return name;
}

Test(flownet_drawing, drawings_keep_long_names_and_all_nodes)
{
	struct flownet_names names = {.job = long_name};
	const char *name = long_name(NULL, 0), *at;
	int32_t nodes = 0;
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	job_with_root_on_0(3);
	build();
	cr_assert_eq(flownet_network_write_json(&network, world.net, &names, NULL, out), 0);
	fclose(out);
	for (at = text; (at = strstr(at, "\"kind\"")) != NULL; at++)
		nodes++;
	cr_expect_eq(nodes, network.problem.node_count);
	at = strstr(text, ".T0\"");
	cr_assert_not_null(at);
	cr_expect_eq(strncmp(at - 400, name, 400), 0);
	free(text);
}

/* Half a letter. */
static const char *broken_name(const void *context, uint32_t job)
{
	(void)context;
	(void)job;
	return "\xc3";
}

Test(flownet_drawing, drawings_of_names_that_are_no_text_and_on_full_disks_fail)
{
	struct flownet_names broken = {.job = broken_name};
	FILE *out = fopen("/dev/null", "w"), *full = fopen("/dev/full", "w");

	job_with_root_on_0(2);
	build();
	cr_expect_lt(flownet_network_write_json(&network, world.net, &broken, NULL, out), 0);
	setvbuf(full, NULL, _IONBF, 0);
	cr_expect_eq(flownet_network_write_json(&network, world.net, NULL, NULL, full), -EIO);
	cr_expect_eq(flownet_network_write_dot(&network, world.net, NULL, NULL, full), -EIO);
	cr_expect_eq(flownet_network_write_dimacs(&network, world.net, NULL, full), -EIO);
	fclose(full);
	fclose(out);
}

Test(flownet_drawing, drawings_name_the_nodes)
{
	char *dot, *json;

	job_with_root_on_0(2);
	build();
	dot = drawn(flownet_network_write_dot);
	json = drawn(flownet_network_write_json);
	cr_expect_not_null(strstr(dot, "\"J0.T1\""));
	cr_expect_not_null(strstr(dot, "\"U(J0)\""));
	cr_expect_not_null(strstr(dot, "\"R(r1)\""));
	cr_expect_not_null(strstr(json, "\"nomora.flownet/1\""));
	cr_expect_not_null(strstr(json, "\"name\": \"m3\""));
	free(dot);
	free(json);
}
