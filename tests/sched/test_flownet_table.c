/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NoMora's table 2, arc by arc, on networks small enough to check by hand. Two racks of two machines; curve: p = 1 up
 * to 14 us, 0.95 (cost 105) at 20, 0.925 (108) at 30, 0.8 (125) at 40, 0.5 (200) at 50 and more.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include <flownet/network.h>

#include "place_world.h"

static const double curve[] = {1, 1, 0.95, 0.925, 0.8, 0.5};

static struct test_world world;
static struct policy_settings settings;
static struct flownet_network network;
static struct flownet_round last;

static void setup(void)
{
	test_world_make(&world, 1, 2, 2, 2);
	test_world_set_curve(&world, 0, curve, sizeof curve / sizeof curve[0]);
	policy_settings_default(&settings);
	settings.flow.verify = true;
	/* From machine 0: itself 10 us, its rack-mate 30, the other rack 20 and 50. */
	latency_view_set(world.view, 0, 0, 10);
	latency_view_set(world.view, 0, 1, 30);
	latency_view_set(world.view, 0, 2, 20);
	latency_view_set(world.view, 0, 3, 50);
}

static void teardown(void)
{
	flownet_network_free(&network);
	test_world_free(&world);
}

TestSuite(flownet_table, .init = setup, .fini = teardown);

static void solve(void)
{
	struct error err = {0};

	cr_assert_eq(flownet_solve(world.net, &last, &err), 0, "%s", err.text);
	cr_assert(last.verified);
}

static int32_t find_node(enum flownet_node_kind kind, uint32_t number, uint32_t task)
{
	for (int32_t v = 0; v < network.problem.node_count; v++) {
		if (network.nodes[v].kind == kind && network.nodes[v].number == number && network.nodes[v].task == task)
			return v;
	}
	return -1;
}

/* The network has exactly this arc from the task; cost -1: it has none. */
static void expect_arc(uint32_t task, enum flownet_node_kind kind, uint32_t number, int64_t cost)
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

static int count_arcs(uint32_t task)
{
	int32_t tail = find_node(FLOWNET_NODE_TASK, 0, task);
	int count = 0;

	for (int32_t a = 0; a < network.problem.arc_count; a++)
		count += network.tail[a] == tail;
	return count;
}

static void build(void)
{
	struct error err = {0};

	flownet_network_free(&network);
	cr_assert_eq(flownet_network_build(world.net, &network, &err), 0, "%s", err.text);
}

/* A job of `tasks`, its root put on machine 0. */
static void job_with_root_on_0(uint32_t tasks)
{
	test_world_start(&world, "nomora", &settings);
	cr_assert_eq(placer_set_job_curve(world.placer, 0, 0), 0);
	cr_assert_eq(flownet_job_arrived(world.net, 0, 0), 0);
	cr_assert_eq(flownet_task_found(world.net, 0, 0, 0, 0), 0);
	for (uint32_t t = 1; t < tasks; t++)
		cr_assert_eq(flownet_task_arrived(world.net, 0, t, 0), 0);
}

Test(flownet_table, a_waiting_root_has_the_cluster_at_cost_0_and_the_others_wait_for_it)
{
	test_world_start(&world, "nomora", &settings);
	test_world_add_job(&world, 0, 0, 3);
	build();
	expect_arc(0, FLOWNET_NODE_CLUSTER, 0, 0);
	expect_arc(0, FLOWNET_NODE_UNSCHEDULED, 0, 1001);
	cr_expect_eq(count_arcs(0), 2);
	cr_expect_eq(find_node(FLOWNET_NODE_TASK, 0, 1), -1, "a task whose root waits is not in the network");
	solve();
	cr_expect_eq(last.move_count, 1);
	cr_expect_eq(last.moves[0].task, 0);
	cr_expect_neq(flownet_root_machine(world.net, 0), FLOWNET_NONE);
}

Test(flownet_table, a_running_root_has_its_machine_alone)
{
	settings.flow.preemption = true;
	job_with_root_on_0(2);
	build();
	expect_arc(0, FLOWNET_NODE_MACHINE, 0, 0);
	cr_expect_eq(count_arcs(0), 1);
}

Test(flownet_table, a_waiting_task_has_the_papers_arcs)
{
	settings.flow.omega_per_s = 2;
	job_with_root_on_0(2);
	cr_assert_eq(flownet_time_passed(world.net, 10), 0);
	build();
	expect_arc(1, FLOWNET_NODE_UNSCHEDULED, 0, 1001 + 2 * 10);
	expect_arc(1, FLOWNET_NODE_CLUSTER, 0, 200); /* the worst of all machines */
	expect_arc(1, FLOWNET_NODE_RACK, 0, 108);    /* the worst of the rack, at most p_r = 110 */
	expect_arc(1, FLOWNET_NODE_RACK, 1, -1);     /* 200 */
	expect_arc(1, FLOWNET_NODE_MACHINE, 0, 100);
	expect_arc(1, FLOWNET_NODE_MACHINE, 1, -1);  /* 108 is over p_m = 105 */
	expect_arc(1, FLOWNET_NODE_MACHINE, 2, 105); /* p_m itself is still in */
	expect_arc(1, FLOWNET_NODE_MACHINE, 3, -1);
	cr_expect_eq(count_arcs(1), 5);
}

Test(flownet_table, capacities_are_slots)
{
	job_with_root_on_0(2);
	cr_assert_eq(flownet_slots_changed(world.net, 3, 5), 0);
	build();
	for (int32_t a = 0; a < network.problem.arc_count; a++) {
		const struct flownet_node *tail = &network.nodes[network.tail[a]],
					  *head = &network.nodes[network.head[a]];

		if (tail->kind == FLOWNET_NODE_CLUSTER)
			cr_expect_eq(network.capacity[a], head->number == 0 ? 4 : 7);
		else if (tail->kind == FLOWNET_NODE_RACK)
			cr_expect_eq(network.capacity[a], head->number == 3 ? 5 : 2);
		else if (tail->kind == FLOWNET_NODE_MACHINE)
			cr_expect_eq(network.capacity[a], tail->number == 3 ? 5 : 2);
		else if (tail->kind == FLOWNET_NODE_UNSCHEDULED)
			cr_expect_eq(network.capacity[a], 2, "as many as the job has tasks");
		if (tail->kind != FLOWNET_NODE_TASK)
			cr_expect_eq(network.cost[a], 0);
	}
}

Test(flownet_table, the_cheapest_slots_fill_first)
{
	job_with_root_on_0(7); /* root and six others; 7 slots left */
	solve();
	cr_expect_eq(last.cost, 100 + 2 * 105 + 2 * 108 + 200);
	cr_expect_eq(flownet_running(world.net, 0), 2);
	cr_expect_eq(flownet_running(world.net, 1), 2);
	cr_expect_eq(flownet_running(world.net, 2), 2);
	cr_expect_eq(flownet_running(world.net, 3), 1);
	cr_expect_eq(last.unscheduled, 0);
}

Test(flownet_table, what_finds_no_slot_waits)
{
	job_with_root_on_0(10);
	solve();
	cr_expect_eq(last.unscheduled, 2);
	cr_expect_eq(flownet_waiting_tasks(world.net, 0), 2);
	cr_expect_eq(last.cost, 100 + 2 * 105 + 2 * 108 + 2 * 200 + 2 * 1001);
}

Test(flownet_table, the_papers_capacity_of_1_leaves_tasks_without_a_way)
{
	settings.flow.unscheduled_capacity = 1;
	job_with_root_on_0(11);
	solve();
	cr_expect_eq(last.unscheduled, 1);
	cr_expect_eq(last.unrouted, 2);
	cr_expect_eq(flownet_waiting_tasks(world.net, 0), 3);
}

Test(flownet_table, without_preemption_a_running_task_keeps_one_arc)
{
	job_with_root_on_0(1);
	cr_assert_eq(flownet_task_found(world.net, 0, 1, 3, 0), 0);
	build();
	expect_arc(1, FLOWNET_NODE_MACHINE, 3, 200);
	cr_expect_eq(count_arcs(1), 1);
	solve();
	cr_expect_eq(last.move_count, 0);
}

Test(flownet_table, with_preemption_it_has_all_and_its_own_costs_less_by_beta)
{
	settings.flow.preemption = true;
	settings.flow.beta_per_s = 3;
	job_with_root_on_0(1);
	cr_assert_eq(flownet_task_found(world.net, 0, 1, 3, 20), 0);
	build();
	expect_arc(1, FLOWNET_NODE_MACHINE, 3, 200 - 3 * 20);
	expect_arc(1, FLOWNET_NODE_MACHINE, 2, 105);
	expect_arc(1, FLOWNET_NODE_CLUSTER, 0, 200);
	expect_arc(1, FLOWNET_NODE_UNSCHEDULED, 0, 1001);
	solve();
	cr_assert_eq(last.move_count, 1, "140 to stay is more than 100 beside the root");
	cr_expect_eq(last.moves[0].from, 3);
	cr_expect_eq(last.moves[0].to, 0);
}

Test(flownet_table, beta_holds_a_task_where_it_is_and_never_goes_under_0)
{
	settings.flow.preemption = true;
	settings.flow.beta_per_s = 3;
	job_with_root_on_0(1);
	cr_assert_eq(flownet_task_found(world.net, 0, 1, 3, 500), 0);
	build();
	expect_arc(1, FLOWNET_NODE_MACHINE, 3, 0);
	solve();
	cr_expect_eq(last.move_count, 0);
	cr_expect_eq(last.cost, 0);
}

Test(flownet_table, a_latency_that_crosses_p_m_takes_an_arc_away)
{
	job_with_root_on_0(2);
	build();
	expect_arc(1, FLOWNET_NODE_MACHINE, 2, 105);
	cr_assert_eq(
		flownet_latency_changed(world.net, 0, 2, (enum latency_moved)latency_view_set(world.view, 0, 2, 40)),
		0);
	build();
	expect_arc(1, FLOWNET_NODE_MACHINE, 2, -1);
	cr_assert_eq(
		flownet_latency_changed(world.net, 0, 3, (enum latency_moved)latency_view_set(world.view, 0, 3, 30)),
		0);
	build();
	expect_arc(1, FLOWNET_NODE_CLUSTER, 0, 125);
}

Test(flownet_table, changes_of_one_thing_merge_and_keep_their_first_reason)
{
	const struct flownet_change *changes;
	size_t count, found = 0;

	job_with_root_on_0(3);
	solve();
	cr_assert_eq(flownet_slots_changed(world.net, 1, 7), 0);
	cr_assert_eq(flownet_slots_changed(world.net, 1, 9), 0);
	cr_assert_eq(flownet_latency_changed(world.net, 0, 1, LATENCY_MOVED_PAIR), 0);
	cr_assert_eq(flownet_latency_changed(world.net, 0, 1, LATENCY_MOVED_PAIR), 0);
	changes = flownet_pending(world.net, &count);
	for (size_t i = 0; i < count; i++) {
		if (changes[i].kind == FLOWNET_CHANGE_CAPACITY && changes[i].subject == 1 &&
		    changes[i].reason == FLOWNET_SLOTS_CHANGED) {
			cr_expect_eq(changes[i].events, 2);
			cr_expect_eq(changes[i].after, 9 - flownet_running(world.net, 1));
			found++;
		}
		if (changes[i].kind == FLOWNET_CHANGE_ARCS && changes[i].reason == FLOWNET_LATENCY_CHANGED) {
			cr_expect_eq(changes[i].events, 2);
			found++;
		}
	}
	cr_expect_eq(found, 2);
	solve();
	cr_expect_geq(last.merged, 2);
	flownet_pending(world.net, &count);
	cr_expect_eq(count, 0);
}

Test(flownet_table, events_about_what_is_not_there_are_refused)
{
	job_with_root_on_0(2);
	cr_expect_eq(flownet_machine_added(world.net, 0, 2), -EINVAL);
	cr_expect_eq(flownet_machine_removed(world.net, 99), -EINVAL);
	cr_expect_eq(flownet_slots_changed(world.net, 0, -1), -EINVAL);
	cr_expect_eq(flownet_job_arrived(world.net, 0, 0), -EINVAL);
	cr_expect_eq(flownet_job_ended(world.net, 5), -EINVAL);
	cr_expect_eq(flownet_task_arrived(world.net, 0, 1, 0), -EINVAL);
	cr_expect_eq(flownet_task_ended(world.net, 0, 9), -EINVAL);
	cr_expect_eq(flownet_task_found(world.net, 0, 7, 77, 0), -EINVAL);
	cr_assert_eq(flownet_slots_changed(world.net, 3, 0), 0);
	cr_expect_eq(flownet_task_found(world.net, 0, 7, 3, 0), -EBUSY);
}

Test(flownet_table, a_lost_machine_sends_its_tasks_back_to_waiting)
{
	job_with_root_on_0(4);
	solve();
	cr_assert_eq(flownet_machine_removed(world.net, 0), 0);
	cr_expect_eq(flownet_root_machine(world.net, 0), FLOWNET_NONE);
	cr_expect_eq(flownet_waiting_tasks(world.net, 0), 2, "the root and the task that was with it");
	solve();
	solve();
	cr_expect_eq(flownet_waiting_tasks(world.net, 0), 0);
	cr_expect_eq(flownet_running(world.net, 0), 0);
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

Test(flownet_table, drawings_name_the_nodes)
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
