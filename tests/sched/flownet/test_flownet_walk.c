/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random walks of events through the maintained network. After every event: the incremental answer costs as much as the
 * network simplex's for the whole network from scratch (one node per task, certificate checked), the structured
 * solver's own certificate holds, and the tasks' actual placement is a flow of exactly that cost. Sometimes a solve of
 * only the roots comes first.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <string.h>

#include <sched/flownet/network.h>
#include <sched/mcf/algorithms.h>
#include <sched/mcf/verify.h>

#include "place_world.h"

enum { JOBS = 14, TASKS = 12, EVENTS = 5000, PODS = 2, RACKS_PER_POD = 2, RACKS = PODS * RACKS_PER_POD };
enum { MACHINES_PER_RACK = 6, MACHINES = RACKS * MACHINES_PER_RACK };

struct walk {
	const char *policy; /* not in a Criterion table: its parameters may not hold pointers */
	bool preemption;
	double omega_per_s, beta_per_s;
	int slots;
	int32_t unscheduled_capacity;
	uint64_t seed;
	bool general; /* solved by the simplex on the whole network, so only a few events */
};

static const struct walk walks[] = {
	{"nomora", false, 0, 0, 3, 0, 1},         {"nomora", true, 0, 0, 3, 0, 2},
	{"nomora", true, 0, 2.5, 2, 0, 3},        {"nomora", false, 3, 0, 1, 0, 4},
	{"nomora", true, 1.5, 1, 1, 0, 5},        {"quincy", true, 0, 0, 2, 0, 6},
	{"random", false, 0, 0, 2, 0, 7},         {"nomora", false, 0, 0, 1, 1, 8},
	{"nomora", true, 0, 0, 1, 2, 9},          {"nomora", true, 3, 0, 1, 0, 10},
	{"nomora", true, 3, 0.5, 1, 1, 11, true}, {"nomora", false, 2, 0, 1, 2, 12, true},
};

struct state {
	struct test_world world;
	struct rng rng;
	bool has_job[JOBS];
	size_t number; /* of the walk, for messages */
};

static void random_latency(struct state *state)
{
	uint32_t machines = state->world.cluster->machine_count;
	uint32_t a = (uint32_t)rng_below(&state->rng, machines), b = (uint32_t)rng_below(&state->rng, machines);
	float rtt_us = rng_below(&state->rng, 12) == 0 ? -1 : (float)(rng_uniform(&state->rng) * 300);

	test_world_measure(&state->world, a, b, rtt_us);
}

static void random_job_event(struct state *state)
{
	struct flownet *net = state->world.net;
	uint32_t job = (uint32_t)rng_below(&state->rng, JOBS), task = (uint32_t)rng_below(&state->rng, TASKS);

	if (!state->has_job[job]) {
		test_world_add_job(&state->world, job, (int)rng_below(&state->rng, TEST_CURVES),
				   1 + (uint32_t)rng_below(&state->rng, TASKS));
		state->has_job[job] = true;
	} else if (rng_below(&state->rng, 4) == 0) {
		cr_assert_eq(flownet_job_ended(net, job), 0);
		state->has_job[job] = false;
	} else if (flownet_task_present(net, job, task)) {
		cr_assert_eq(flownet_task_ended(net, job, task), 0);
	} else {
		cr_assert_eq(flownet_task_arrived(net, job, task, rng_uniform(&state->rng) * 20), 0);
	}
}

static void random_machine_event(struct state *state)
{
	struct flownet *net = state->world.net;
	uint32_t machine = (uint32_t)rng_below(&state->rng, state->world.cluster->machine_count);
	int32_t slots = (int32_t)rng_below(&state->rng, 5);

	if (flownet_slots_changed(net, machine, slots) != 0)
		cr_assert_eq(flownet_machine_added(net, machine, slots), 0);
	else if (rng_below(&state->rng, 2) == 0)
		cr_assert_eq(flownet_machine_removed(net, machine), 0);
}

static void random_event(struct state *state)
{
	uint64_t kind = rng_below(&state->rng, 10);

	if (kind < 4)
		random_latency(state);
	else if (kind < 8)
		random_job_event(state);
	else if (kind < 9)
		random_machine_event(state);
	else
		cr_assert_eq(flownet_time_passed(state->world.net, rng_uniform(&state->rng) * 5), 0);
}

/* Cost of a flow on the network, without pinned tasks and unrouted units. */
static int64_t flow_cost(const struct flownet_network *network, const int32_t *flow)
{
	int64_t cost = -network->pinned_cost;

	for (int32_t a = 0; a < network->problem.arc_count; a++) {
		if (network->overflow_cost == 0 || network->cost[a] != network->overflow_cost)
			cost += flow[a] * network->cost[a];
	}
	return cost;
}

/* Minimum cost of the whole network, from scratch. */
static int64_t scratch_cost(const struct flownet_network *network)
{
	struct mcf_solution solution = {0};
	struct mcf_verdict verdict;
	int64_t cost;

	cr_assert_eq(mcf_solve(mcf_algorithm_find("simplex"), &network->problem, &solution), MCF_OPTIMAL);
	cr_assert(mcf_verify(&network->problem, &solution, &verdict), "%s", verdict.text);
	cost = flow_cost(network, solution.flow);
	mcf_solution_free(&solution);
	return cost;
}

static int64_t cost_of_places(const struct flownet_network *network, const struct flownet *net, int event)
{
	int32_t *flow = calloc((size_t)network->problem.arc_count + 1, sizeof *flow);
	int64_t cost;

	cr_assert_eq(flownet_network_route(network, net, flow), 0);
	for (int32_t a = 0; a < network->problem.arc_count; a++) {
		cr_assert_leq(flow[a], network->capacity[a],
			      "event %d: arc %d (kind %d to %d) is over its capacity: %d of %d", event, a,
			      network->nodes[network->tail[a]].kind, network->nodes[network->head[a]].kind, flow[a],
			      network->capacity[a]);
	}
	cost = flow_cost(network, flow);
	free(flow);
	return cost;
}

static void round_and_compare(struct state *state, int event)
{
	struct flownet_network network;
	struct flownet_round round;
	struct error err = {0};
	int64_t expected;

	cr_assert_eq(flownet_network_build(state->world.net, &network, &err), 0, "%s", err.text);
	expected = scratch_cost(&network);
	cr_assert_eq(flownet_solve(state->world.net, &round, &err), 0, "event %d: %s", event, err.text);
	cr_assert(round.verified);
	cr_assert_eq(round.cost, expected, "walk %zu, event %d: incremental %lld, from scratch %lld", state->number,
		     event, (long long)round.cost, (long long)expected);
	cr_assert_eq(cost_of_places(&network, state->world.net, event), expected,
		     "walk %zu, event %d: the places have another cost", state->number, event);
	flownet_network_free(&network);
}

static void note_places(const struct flownet *net, int32_t places[JOBS][TASKS])
{
	for (uint32_t j = 0; j < JOBS; j++) {
		for (uint32_t t = 0; t < TASKS; t++)
			places[j][t] = flownet_task_machine(net, j, t);
	}
}

/* A solve of only the roots: no other task is placed or moved, and none is evicted while a slot is free. */
static void round_of_roots(struct state *state, int event)
{
	const struct flownet *net = state->world.net;
	int32_t before[JOBS][TASKS], after[JOBS][TASKS];
	int64_t slots = 0;

	cr_assert_eq(flownet_hold_others(state->world.net, true), 0);
	note_places(net, before);
	round_and_compare(state, event);
	note_places(net, after);
	for (uint32_t r = 0; r < RACKS; r++)
		slots += flownet_free_in_rack(net, r);
	for (uint32_t j = 0; j < flownet_job_limit(net); j++) {
		for (uint32_t t = 0; t < flownet_task_limit(net, j); t++) {
			if (t == flownet_root_task(net, j) || after[j][t] == before[j][t])
				continue;
			cr_assert(after[j][t] == FLOWNET_NONE && slots == 0,
				  "event %d: task %u of job %u went from %d to %d, %lld slots free", event, t, j,
				  before[j][t], after[j][t], (long long)slots);
		}
	}
	cr_assert_eq(flownet_hold_others(state->world.net, false), 0);
}

static void check_counts(const struct state *state)
{
	const struct flownet *net = state->world.net;
	uint32_t machines = state->world.cluster->machine_count;
	int32_t *running = calloc(machines, sizeof *running);
	int64_t rack_free[RACKS] = {0};

	for (uint32_t j = 0; j < flownet_job_limit(net); j++) {
		for (uint32_t t = 0; t < flownet_task_limit(net, j); t++) {
			if (flownet_task_machine(net, j, t) != FLOWNET_NONE)
				running[flownet_task_machine(net, j, t)]++;
		}
	}
	for (uint32_t m = 0; m < machines; m++) {
		cr_assert_eq(running[m], flownet_running(net, m), "machine %u: %d tasks, %d counted", m, running[m],
			     flownet_running(net, m));
		rack_free[state->world.cluster->machines[m].rack] += flownet_free(net, m);
	}
	for (uint32_t r = 0; r < RACKS; r++)
		cr_assert_eq(rack_free[r], flownet_free_in_rack(net, r), "rack %u", r);
	free(running);
}

ParameterizedTestParameters(flownet, walk)
{
	static size_t numbers[sizeof walks / sizeof walks[0]];

	for (size_t i = 0; i < sizeof walks / sizeof walks[0]; i++)
		numbers[i] = i;
	return cr_make_param_array(size_t, numbers, sizeof walks / sizeof walks[0]);
}

ParameterizedTest(size_t *number, flownet, walk)
{
	const struct walk *walk = &walks[*number];
	struct policy_settings settings;
	struct state state = {.number = *number};

	if (walk->seed % 2 == 0)
		policy_settings_default(&settings);
	else
		test_world_settings(&settings);
	if (walk->seed % 3 == 0)
		settings.machine_arcs = 5; /* so that most rows are truncated */
	settings.flow.preemption = walk->preemption;
	settings.flow.omega_per_s = walk->omega_per_s;
	settings.flow.beta_per_s = walk->beta_per_s;
	settings.flow.unscheduled_capacity = walk->unscheduled_capacity;
	settings.flow.verify = true;
	if (walk->general)
		settings.flow.algorithm = mcf_algorithm_find("simplex");
	rng_seed(&state.rng, walk->seed);
	test_world_make(&state.world, PODS, RACKS_PER_POD, MACHINES_PER_RACK, walk->slots);
	test_world_random_curves(&state.world, &state.rng);
	test_world_start(&state.world, walk->policy, &settings);
	for (int event = 0; event < (walk->general ? EVENTS / 10 : EVENTS); event++) {
		random_event(&state);
		if (strcmp(walk->policy, "nomora") == 0 && rng_below(&state.rng, 3) == 0)
			round_of_roots(&state, event);
		round_and_compare(&state, event);
		check_counts(&state);
	}
	test_world_free(&state.world);
}
