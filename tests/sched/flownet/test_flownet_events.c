/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random events of every kind. Machines, racks, pods, jobs and curves are added and removed and reuse each other's
 * numbers; measurements arrive in batches and expire; proposals are applied, decided, refused, confirmed and failed.
 * Now and then, the round's cost is compared with that of the network simplex on the whole network, and the counters
 * are recounted; at the end everything is compared with a network built from the same state.
 *
 * NOMORA_EVENTS=1000000 runs the long walk (some minutes).
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "events_state.h"

enum { EVENTS = 6000, CHECK_EVERY = 20 };

static const struct day days[] = {
	{false, 0, 0, 0, 1, 0}, {true, 0, 0, 0, 2, 0},   {true, 0, 1, 0, 3, 0},   {true, 2, 0.5, 0, 4, 0},
	{true, 0, 0, 6, 5, 0},  {true, 0, 0, 6, 587, 0}, {true, 0, 0, 0, 140, 0}, {true, 0, 100, 0, 6, 6},
	{true, 3, 60, 0, 7, 8}, {true, 0, 200, 6, 8, 7},
};

static uint32_t draw(struct state *state, uint32_t limit)
{
	return (uint32_t)rng_below(&state->rng, limit);
}

static bool is_there(const struct state *state, uint32_t machine)
{
	return machine < state->world.cluster->machine_count && state->world.cluster->machines[machine].name;
}

/* A random machine that exists; -1: none found. */
static int64_t some_machine(struct state *state)
{
	uint32_t machine = draw(state, state->world.cluster->machine_count);

	return is_there(state, machine) ? (int64_t)machine : -1;
}

static void add_machine(struct state *state)
{
	struct test_world *world = &state->world;
	char name[24], rack[24], pod[24];
	uint32_t in_rack = draw(state, 2) == 0 ? 1 : draw(state, RACKS); /* rack 1 outgrows its columns */
	int64_t slots = 1 + draw(state, 3), machine;

	if (world->cluster->machine_count - world->cluster->machine_spares >= MACHINES * 3 / 4)
		return;
	snprintf(name, sizeof name, "x%u", state->machine_name++);
	snprintf(rack, sizeof rack, "y%u", in_rack);
	snprintf(pod, sizeof pod, "z%u", in_rack / 3);
	machine = cluster_add_machine(world->cluster, name, rack, pod, slots, NULL);
	cr_assert(machine >= 0 && machine < MACHINES);
	done(cost_layout_add(world->layout, (uint32_t)machine));
	done(latency_view_grow(world->view));
	done(placer_grow(world->placer));
	done(flownet_machine_added(world->net, (uint32_t)machine, (int32_t)slots));
	state->up[machine] = true;
	state->drained[machine] = false;
}

static void moved(struct state *state)
{
	struct cost_moved now = latency_view_moved(state->world.view);

	done(flownet_latency_changed(state->world.net, &now));
	latency_view_moved_clear(state->world.view);
}

static void forget_machine(struct state *state, uint32_t machine)
{
	struct test_world *world = &state->world;

	if (state->up[machine])
		done(flownet_machine_removed(world->net, machine));
	state->up[machine] = false;
	if (world->cluster->machine_count - world->cluster->machine_spares < 6 ||
	    placer_forget_machine(world->placer, machine) == -EBUSY)
		return;
	latency_view_forget(world->view, machine);
	moved(state);
	cost_layout_remove(world->layout, machine);
	cluster_remove_machine(world->cluster, machine);
	for (uint32_t m = 0; m < MACHINES; m++)
		state->out_us[machine][m] = state->out_us[m][machine] = -1;
}

static void machine_event(struct state *state)
{
	struct test_world *world = &state->world;
	int64_t machine = some_machine(state);
	uint32_t kind = draw(state, 8), m = (uint32_t)machine;

	if (machine < 0 || kind < 2) {
		add_machine(state);
	} else if (!state->up[m]) {
		if (kind < 4)
			forget_machine(state, m);
		else {
			done(flownet_machine_added(world->net, m, (int32_t)draw(state, 4)));
			state->up[m] = true;
			state->drained[m] = false;
		}
	} else if (kind < 4) {
		done(flownet_slots_changed(world->net, m, (int32_t)draw(state, 5)));
	} else if (kind < 6) {
		state->drained[m] = !state->drained[m];
		done(flownet_machine_drained(world->net, m, state->drained[m]));
	} else if (kind < 7) {
		done(flownet_machine_removed(world->net, m));
		state->up[m] = false;
	} else {
		forget_machine(state, m);
	}
}

static void measure(struct state *state)
{
	struct latency_sample samples[12];
	size_t count = 0;

	for (uint32_t i = 0, wanted = 1 + draw(state, 12); i < wanted; i++) {
		int64_t a = some_machine(state), b = some_machine(state);
		uint32_t kind = draw(state, 12);
		float rtt_us = kind == 0 ? -1 : kind == 1 ? INFINITY : (float)draw(state, 60) * 5;

		if (a < 0 || b < 0)
			continue;
		samples[count++] = (struct latency_sample){(uint32_t)a, (uint32_t)b, rtt_us};
		state->out_us[a][b] = rtt_us;
		if (rtt_us >= 0)
			state->seen_s[a][b] = state->seen_s[b][a] = (uint32_t)state->now_s;
	}
	done(latency_view_update(state->world.view, samples, count, (uint32_t)state->now_s));
	moved(state);
}

static void expire(struct state *state)
{
	uint32_t before_s = state->now_s > 300 ? (uint32_t)state->now_s - 300 : 0;

	latency_view_expire(state->world.view, before_s, NULL, NULL);
	for (uint32_t a = 0; a < MACHINES; a++) {
		for (uint32_t b = 0; b < MACHINES; b++) {
			if (state->seen_s[a][b] < before_s)
				state->out_us[a][b] = -1;
		}
	}
	moved(state);
}

static struct curve *random_curve(struct state *state)
{
	double p[40], fall = draw(state, 4) == 0 ? 0.0005 : 0.005 + 0.03 * rng_uniform(&state->rng);
	size_t count = 2 + draw(state, 38);

	for (size_t i = 0; i < count; i++)
		p[i] = 1 - fall * (double)i;
	return curve_from_table("random", p, count, NULL);
}

static void curve_event(struct state *state)
{
	int32_t number = (int32_t)draw(state, CURVES);
	struct curve *curve = random_curve(state);

	if (!state->curves[number]) {
		number = placer_add_curve(state->world.placer, curve);
		cr_assert(number >= 0 && number < CURVES && !state->curves[number], "the first free number");
	} else if (draw(state, 2) == 0) {
		done(placer_replace_curve(state->world.placer, number, curve));
		curve_destroy(state->curves[number]);
	} else {
		if (placer_remove_curve(state->world.placer, number) == 0) {
			curve_destroy(state->curves[number]);
			state->curves[number] = NULL;
		}
		curve_destroy(curve);
		return;
	}
	state->curves[number] = curve;
}

static void start_job(struct state *state)
{
	uint32_t job = flownet_spare_job(state->world.net), tasks = 1 + draw(state, TASKS);
	int32_t curve = (int32_t)draw(state, CURVES);

	if (job >= state->jobs || !state->curves[curve])
		return;
	cr_assert_eq(state->curve_of_job[job], -1, "a number that no job has");
	test_world_add_job(&state->world, job, curve, tasks);
	state->curve_of_job[job] = curve;
	state->preemptible[job] = state->settings.flow.preemption;
	state->gain[job] = 0;
}

static void task_event(struct state *state, uint32_t job)
{
	struct flownet *net = state->world.net;
	uint32_t task = draw(state, TASKS);
	int64_t machine = some_machine(state);
	uint32_t kind = draw(state, 8);
	int32_t origin;

	if (!flownet_task_present(net, job, task)) {
		if (kind < 3 && machine >= 0 && state->up[machine])
			done(flownet_task_found(net, job, task, (uint32_t)machine, rng_uniform(&state->rng) * 50));
		else
			done(flownet_task_arrived(net, job, task, rng_uniform(&state->rng) * 20));
	} else if (flownet_task_in_transit(net, job, task, &origin) && kind < 6) {
		done(kind < 4 ? flownet_confirm(net, job, task) : flownet_fail(net, job, task));
	} else if (kind == 0 && flownet_task_machine(net, job, task) >= 0 &&
		   !flownet_task_in_transit(net, job, task, &origin)) {
		done(flownet_task_leave(net, job, task, draw(state, 4) != 0));
	} else if (kind < 4) {
		done(flownet_task_ended(net, job, task));
	}
}

static void job_event(struct state *state)
{
	uint32_t job = draw(state, state->jobs), kind = draw(state, 12);

	if (state->curve_of_job[job] < 0) {
		start_job(state);
	} else if (kind == 0) {
		done(flownet_job_ended(state->world.net, job));
		state->curve_of_job[job] = -1;
	} else if (kind == 1) {
		state->preemptible[job] = draw(state, 3) != 0;
		state->gain[job] = draw(state, 2) == 0 ? 0 : rng_uniform(&state->rng) * 0.3;
		done(flownet_job_moves(state->world.net, job, state->preemptible[job], state->gain[job]));
	} else {
		task_event(state, job);
	}
}

static void random_event(struct state *state)
{
	uint32_t kind = draw(state, 40);

	if (kind < 8) {
		measure(state);
	} else if (kind < 30) {
		job_event(state);
	} else if (kind < 35) {
		machine_event(state);
	} else if (kind < 36) {
		curve_event(state);
	} else if (kind < 37) {
		expire(state);
	} else {
		double seconds = rng_uniform(&state->rng) * 20;

		done(flownet_time_passed(state->world.net, seconds));
		state->now_s += seconds;
	}
}

/* Each proposal is applied, decided or refused. */
static void handle(struct state *state, const struct flownet_round *round)
{
	struct flownet *net = state->world.net;

	if (draw(state, 2) == 0) {
		done(flownet_apply_all(net));
		return;
	}
	for (size_t i = 0; i < round->move_count; i++) {
		uint32_t kind = draw(state, 4);
		int code = kind < 2 ? flownet_apply(net, i) : kind < 3 ? flownet_reserve(net, i) : 0;

		cr_assert(code == 0 || code == -EBUSY || (code == -EINVAL && round->moves[i].to == FLOWNET_NONE));
		if (kind < 2 && code == 0) {
			cr_assert_eq(flownet_task_machine(net, round->moves[i].job, round->moves[i].task),
				     round->moves[i].to);
			cr_assert_eq(flownet_apply(net, i), -ESTALE, "applied twice");
		}
	}
}

/* Asserts that no move leads to a machine that is closed, full or down. */
static void check_moves(const struct state *state, const struct flownet_round *round, int event)
{
	int32_t coming[MACHINES] = {0}, going[MACHINES] = {0};
	const struct flownet *net = state->world.net;

	for (size_t i = 0; i < round->move_count; i++) {
		if (round->moves[i].from >= 0)
			going[round->moves[i].from]++;
		if (round->moves[i].to >= 0)
			coming[round->moves[i].to]++;
	}
	for (uint32_t m = 0; m < MACHINES; m++) {
		if (coming[m] == 0)
			continue;
		cr_assert(state->up[m] && !state->drained[m], "event %d: a task comes to machine %u", event, m);
		cr_assert_leq(flownet_running(net, m) + coming[m] - going[m], flownet_slots(net, m),
			      "day %llu, event %d: machine %u has %d tasks, %d leave, %d come",
			      (unsigned long long)state->seed, event, m, flownet_running(net, m), going[m], coming[m]);
	}
}

static void solve(struct state *state, int event, bool compare)
{
	struct flownet *net = state->world.net;
	bool roots = draw(state, 4) == 0;
	struct flownet_round round;
	struct error err = {0};
	int64_t expected;

	flownet_hold_others(net, roots);
	expected = compare ? scratch_cost(net) : 0;
	cr_assert_eq(flownet_propose(net, &round, &err), 0, "event %d: %s", event, err.text);
	if (compare)
		cr_assert_eq(round.cost, expected, "day %llu, event %d: %s cost %lld, from scratch %lld",
			     (unsigned long long)state->seed, event, roots ? "roots" : "all", (long long)round.cost,
			     (long long)expected);
	flownet_hold_others(net, false);
	if (flownet_resting(net) > state->most_resting)
		state->most_resting = flownet_resting(net);
	check_moves(state, &round, event);
	handle(state, &round);
}

/* Counts the slots held, task by task. */
static void check_counts(const struct state *state, int event)
{
	const struct flownet *net = state->world.net;
	int32_t held[MACHINES] = {0}, origin;
	int64_t rack_free[RACKS + 8] = {0};
	size_t count;
	const uint32_t *jobs = flownet_jobs(net, &count);

	for (size_t i = 0; i < count; i++) {
		uint32_t waiting = 0;

		for (uint32_t t = 0; t < flownet_task_limit(net, jobs[i]); t++) {
			int32_t machine = flownet_task_machine(net, jobs[i], t);

			if (!flownet_task_present(net, jobs[i], t))
				continue;
			waiting += machine < 0;
			if (machine >= 0)
				held[machine]++;
			if (flownet_task_in_transit(net, jobs[i], t, &origin) && origin >= 0)
				held[origin]++;
		}
		cr_assert_eq(waiting, flownet_waiting_tasks(net, jobs[i]));
	}
	for (uint32_t m = 0; m < state->world.cluster->machine_count; m++) {
		cr_assert_eq(held[m], flownet_running(net, m), "event %d: machine %u", event, m);
		rack_free[state->world.cluster->machines[m].rack] += flownet_free(net, m);
	}
	for (uint32_t r = 0; r < state->world.cluster->rack_count; r++)
		cr_assert_eq(rack_free[r], flownet_free_in_rack(net, r), "event %d: rack %u", event, r);
}

static void start(struct state *state, const struct day *day)
{
	struct error err = {0};

	rng_seed(&state->rng, day->seed);
	test_world_settings(&state->settings);
	state->settings.machine_arcs = day->machine_arcs;
	if (day->machine_arcs > 0)
		state->settings.machine_threshold = state->settings.rack_threshold = COST_MAXIMUM;
	state->settings.flow.preemption = day->preemption;
	state->settings.flow.omega_per_s = day->omega_per_s;
	state->settings.flow.beta_per_s = day->beta_per_s;
	state->world.cluster = cluster_create();
	state->world.layout = cost_layout_create(state->world.cluster);
	state->world.view = latency_view_create(state->world.layout);
	state->world.placer = placer_create(policy_find("nomora"), state->world.layout,
					    cost_source_from_view(state->world.view), &state->settings, &err);
	cr_assert_not_null(state->world.placer, "%s", err.text);
	state->world.net = placer_net(state->world.placer);
	for (uint32_t a = 0; a < MACHINES; a++) {
		for (uint32_t b = 0; b < MACHINES; b++)
			state->out_us[a][b] = -1;
	}
	for (uint32_t job = 0; job < JOBS; job++)
		state->curve_of_job[job] = -1;
	for (int i = 0; i < 12; i++)
		add_machine(state);
}

ParameterizedTestParameters(flownet_events, day)
{
	static size_t numbers[sizeof days / sizeof days[0]];

	for (size_t i = 0; i < sizeof days / sizeof days[0]; i++)
		numbers[i] = i;
	return cr_make_param_array(size_t, numbers, sizeof days / sizeof days[0]);
}

ParameterizedTest(size_t *number, flownet_events, day, .timeout = 3600)
{
	const char *wanted = getenv("NOMORA_EVENTS");
	int events = wanted ? atoi(wanted) : EVENTS, every = wanted ? 1000 : CHECK_EVERY;
	const struct day *day = &days[*number];
	struct state *state = calloc(1, sizeof *state);

	state->seed = day->seed;
	state->jobs = day->jobs > 0 ? day->jobs : JOBS;
	start(state, day);
	for (int event = 0; event < events; event++) {
		random_event(state);
		if (event % 3 == 0 || event % every == 0)
			solve(state, event, event % every == 0);
		if (event % every == 0)
			check_counts(state, event);
	}
	cr_assert(day->jobs == 0 || state->most_resting >= 5, "%llu tasks rested",
		  (unsigned long long)state->most_resting);
	compare_with_fresh(state, day);
	test_world_free(&state->world);
	for (int k = 0; k < CURVES; k++)
		curve_destroy(state->curves[k]);
	free(state);
}
