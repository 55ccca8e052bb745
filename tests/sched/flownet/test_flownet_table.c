/* SPDX-License-Identifier: BSD-3-Clause */
/* NoMora's table 2, arc by arc. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sched/mcf/algorithms.h>
#include <sched/mcf/verify.h>

#include "table_world.h"

static bool is_wrong; /* no solution passes */

bool __real_mcf_verify(const struct mcf_problem *problem, const struct mcf_solution *solution,
		       struct mcf_verdict *verdict);
bool __wrap_mcf_verify(const struct mcf_problem *problem, const struct mcf_solution *solution,
		       struct mcf_verdict *verdict);

bool __wrap_mcf_verify(const struct mcf_problem *problem, const struct mcf_solution *solution,
		       struct mcf_verdict *verdict)
{
	bool passes = __real_mcf_verify(problem, solution, verdict);

	if (is_wrong)
		snprintf(verdict->text, sizeof verdict->text, "arc 3 is wrong");
	return passes && !is_wrong;
}

TestSuite(flownet_table, .init = table_setup, .fini = table_teardown);

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

Test(flownet_table, an_answer_that_fails_verification_is_an_error)
{
	static const char *const algorithms[] = {"", "simplex"}; /* none: the structured solver */

	for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
		struct error err = {0};

		settings.flow.algorithm = mcf_algorithm_find(algorithms[i]);
		job_with_root_on_0(3);
		is_wrong = true;
		cr_expect_eq(flownet_solve(world.net, &last, &err), -EIO);
		cr_expect_str_eq(err.text, "the solver's answer fails verification: arc 3 is wrong");
		cr_expect_not(last.verified);
		is_wrong = false;
		table_teardown();
		table_setup();
	}
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
	expect_arc(1, FLOWNET_NODE_MACHINE, 2, 105); /* a cost of exactly p_m still gets an arc */
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

Test(flownet_table, roots_alone_are_placed_while_the_others_are_held_back)
{
	int32_t cost;

	settings.flow.preemption = true;
	settings.flow.gamma = 110;
	job_with_root_on_0(2);
	cr_assert_eq(flownet_task_found(world.net, 0, 2, 3, 0), 0);
	test_world_add_job(&world, 1, 0, 2);
	cr_assert_eq(flownet_hold_others(world.net, true), 0);
	build();
	cr_expect_eq(find_node(FLOWNET_NODE_TASK, 0, 1), -1, "it waits for its turn");
	expect_arc(2, FLOWNET_NODE_MACHINE, 3, 109); /* 200, but nobody needs its slot: staying is cheaper */
	expect_arc(2, FLOWNET_NODE_UNSCHEDULED, 0, 110);
	cr_expect_eq(count_arcs(2), 2);
	cr_expect_eq(flownet_arc_to(world.net, 0, 2, 2, &cost), FLOWNET_ARC_NONE);
	for (int twice = 0; twice < 2; twice++) {
		solve();
		cr_expect_eq(last.move_count, !twice);
		cr_expect_eq(last.cost, 0, "the root found a slot; the others' staying is not counted");
		cr_assert_eq(flownet_costs_changed(world.net, 0), 0);
	}
	cr_expect_neq(flownet_root_machine(world.net, 1), FLOWNET_NONE);
	cr_assert_eq(flownet_task_arrived(world.net, 0, 3, 0), 0);
	solve();
	cr_expect_eq(last.cost, 0);
	cr_assert_eq(flownet_hold_others(world.net, false), 0);
	build();
	expect_arc(2, FLOWNET_NODE_MACHINE, 3, 200);
	solve();
	cr_expect_eq(flownet_waiting_tasks(world.net, 1), 0);
	cr_expect_neq(flownet_task_machine(world.net, 0, 1), FLOWNET_NONE);
	cr_expect_neq(flownet_task_machine(world.net, 0, 2), 3, "waiting or another machine is cheaper");
}

Test(flownet_table, without_preemption_a_running_task_keeps_one_arc_at_its_cost)
{
	settings.flow.beta_per_s = 3;
	job_with_root_on_0(1);
	cr_assert_eq(flownet_task_found(world.net, 0, 1, 3, 20), 0);
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
	test_world_measure(&world, 0, 2, 40);
	build();
	expect_arc(1, FLOWNET_NODE_MACHINE, 2, -1);
	test_world_measure(&world, 0, 3, 30);
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
	test_world_measure(&world, 0, 1, 31);
	test_world_measure(&world, 0, 1, 32);
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
	cr_expect_eq(flownet_machine_drained(world.net, 99, true), -EINVAL);
	cr_expect_eq(flownet_confirm(world.net, 0, 0), -EINVAL, "it runs");
	cr_expect_eq(flownet_task_leave(world.net, 0, 1, true), -EINVAL, "it waits");
	cr_expect_eq(flownet_apply(world.net, 0), -ESTALE, "nothing was proposed");
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

/* Preemption is set per job: a task does not move if it would gain less than the job's minimum. */
Test(flownet_table, a_job_moves_for_its_gain_and_only_if_it_may)
{
	job_with_root_on_0(1);
	cr_assert_eq(flownet_task_found(world.net, 0, 1, 3, 0), 0); /* p = 0.5; machine 0 has 1 */
	solve();
	cr_expect_eq(last.move_count, 0, "it may not move");
	cr_assert_eq(flownet_job_moves(world.net, 0, true, 0.6), 0);
	solve();
	cr_expect_eq(last.move_count, 0, "0.5 is less than the gain");
	cr_assert_eq(flownet_job_moves(world.net, 0, true, 0.45), 0);
	solve();
	cr_expect_eq(last.move_count, 1);
	cr_expect_eq(flownet_task_machine(world.net, 0, 1), 0);
	cr_expect_eq(flownet_job_moves(world.net, 0, true, -1), -EINVAL);
}

Test(flownet_table, nobody_is_evicted_from_a_machine_whose_slots_shrink_and_none_comes)
{
	settings.flow.preemption = true;
	job_with_root_on_0(1);
	for (uint32_t t = 1; t < 4; t++)
		cr_assert_eq(flownet_task_found(world.net, 0, t, 2, 0), 0); /* more than its slots: adopted anyway */
	cr_expect_eq(flownet_running(world.net, 2), 3);
	cr_assert_eq(flownet_slots_changed(world.net, 2, 0), 0);
	cr_assert_eq(flownet_slots_changed(world.net, 1, 0), 0);
	solve();
	cr_expect_eq(last.move_count, 0);
	cr_assert_eq(flownet_task_arrived(world.net, 0, 4, 0), 0);
	cr_assert_eq(flownet_task_ended(world.net, 0, 1), 0);
	solve();
	cr_expect_eq(flownet_task_machine(world.net, 0, 4), 0);
	cr_assert_eq(flownet_slots_changed(world.net, 2, 3), 0);
	cr_expect_eq(flownet_free(world.net, 2), 1, "open again");
}

Test(flownet_table, tasks_leave_a_draining_machine_one_by_one_as_asked)
{
	job_with_root_on_0(1);
	cr_assert_eq(flownet_task_found(world.net, 0, 1, 2, 0), 0);
	cr_assert_eq(flownet_task_found(world.net, 0, 2, 2, 0), 0);
	cr_assert_eq(flownet_machine_drained(world.net, 2, true), 0);
	solve();
	cr_expect_eq(last.move_count, 0);
	cr_assert_eq(flownet_task_leave(world.net, 0, 1, true), 0);
	solve();
	cr_expect_eq(last.move_count, 1);
	cr_expect_eq(flownet_task_machine(world.net, 0, 1), 0, "the root's machine has a slot");
	cr_expect_eq(flownet_task_machine(world.net, 0, 2), 2);
	for (uint32_t m = 0; m < 4; m++)
		cr_assert_eq(flownet_machine_drained(world.net, m, true), 0);
	cr_assert_eq(flownet_task_leave(world.net, 0, 2, true), 0);
	solve();
	cr_expect_eq(flownet_task_machine(world.net, 0, 2), 2, "without another slot it stays");
}

Test(flownet_table, a_root_that_ended_stays_the_reference)
{
	job_with_root_on_0(1);
	cr_assert_eq(flownet_task_ended(world.net, 0, 0), 0);
	cr_expect_eq(flownet_root_machine(world.net, 0), 0);
	cr_expect(flownet_machine_is_reference(world.net, 0));
	cr_assert_eq(flownet_task_arrived(world.net, 0, 1, 0), 0);
	build();
	expect_arc(1, FLOWNET_NODE_MACHINE, 2, 105);
	solve();
	cr_expect_eq(flownet_task_machine(world.net, 0, 1), 0);
	cr_assert_eq(flownet_task_arrived(world.net, 0, 0, 0), 0);
	cr_expect_eq(flownet_root_machine(world.net, 0), FLOWNET_NONE, "another root: the others wait for it");
	cr_assert_eq(flownet_job_ended(world.net, 0), 0);
	cr_expect_not(flownet_machine_is_reference(world.net, 0));
}

Test(flownet_table, a_proposal_is_decided_confirmed_or_failed)
{
	struct error err = {0};
	int32_t origin;

	settings.flow.preemption = true;
	job_with_root_on_0(2);
	cr_assert_eq(flownet_propose(world.net, &last, &err), 0, "%s", err.text);
	cr_assert_eq(last.move_count, 1);
	cr_expect_eq(flownet_task_machine(world.net, 0, 1), FLOWNET_NONE, "nothing has moved yet");
	cr_assert_eq(flownet_propose(world.net, &last, &err), 0);
	cr_assert_eq(last.move_count, 1, "refused: proposed again");
	cr_assert_eq(flownet_reserve(world.net, 0), 0);
	cr_expect_eq(flownet_reserve(world.net, 0), -ESTALE);
	cr_expect(flownet_task_in_transit(world.net, 0, 1, &origin));
	cr_expect_eq(origin, FLOWNET_NONE);
	cr_expect_eq(flownet_free(world.net, 0), 0, "its slot is taken");
	cr_assert_eq(flownet_fail(world.net, 0, 1), 0);
	cr_expect_eq(flownet_waiting_tasks(world.net, 0), 1);
	solve();
	cr_assert_eq(flownet_task_machine(world.net, 0, 1), 0);
	/* A move: the task keeps the slot on its old machine until it has started on the new one. */
	cr_assert_eq(flownet_task_found(world.net, 0, 2, 3, 0), 0);
	cr_assert_eq(flownet_propose(world.net, &last, &err), 0);
	cr_assert_eq(last.move_count, 1);
	cr_assert_eq(flownet_reserve(world.net, 0), 0);
	cr_expect(flownet_task_in_transit(world.net, 0, 2, &origin));
	cr_expect_eq(origin, 3);
	cr_expect_eq(flownet_running(world.net, 3), 1);
	cr_assert_eq(flownet_propose(world.net, &last, &err), 0);
	cr_expect_eq(last.move_count, 0, "it takes part in no round");
	cr_assert_eq(flownet_confirm(world.net, 0, 2), 0);
	cr_expect_eq(flownet_running(world.net, 3), 0);
	cr_expect_eq(flownet_task_machine(world.net, 0, 2), 2);
}

Test(flownet_table, job_numbers_are_used_again_and_live_jobs_are_a_list)
{
	size_t count;

	test_world_start(&world, "nomora", &settings);
	for (uint32_t job = 0; job < 3; job++) {
		cr_expect_eq(flownet_spare_job(world.net), job);
		test_world_add_job(&world, job, 0, 1);
	}
	cr_assert_eq(flownet_job_ended(world.net, 1), 0);
	cr_expect_eq(flownet_spare_job(world.net), 1);
	flownet_jobs(world.net, &count);
	cr_expect_eq(count, 2);
	test_world_add_job(&world, 1, 0, 1);
	cr_expect_eq(flownet_spare_job(world.net), 3);
	cr_expect_eq(flownet_job_limit(world.net), 3);
}
