/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A day in the life of a scheduler: random events of every kind. Machines, racks, pods, jobs and curves come and go and
 * take over each other's numbers; measurements arrive in batches and expire; proposals are applied, decided, refused,
 * confirmed and failed. Now and then the round's cost is compared with the simplex's for the whole network, and the
 * counts with a recount; at the end everything is compared with a world that is built from the same state.
 *
 * NOMORA_EVENTS=1000000 runs the long walk (some minutes).
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sched/flownet/network.h>
#include <sched/mcf/algorithms.h>
#include <sched/mcf/verify.h>

#include "place_world.h"

enum { EVENTS = 6000, CHECK_EVERY = 20, JOBS = 16, TASKS = 10, MACHINES = 64, RACKS = 10, CURVES = 5 };

struct day {
	bool preemption;
	double omega_per_s, beta_per_s;
	uint32_t machine_arcs;
	uint64_t seed;
};

static const struct day days[] = {
	{false, 0, 0, 0, 1}, {true, 0, 0, 0, 2},   {true, 0, 1, 0, 3},   {true, 2, 0.5, 0, 4},
	{true, 0, 0, 6, 5},  {true, 0, 0, 6, 587}, {true, 0, 0, 0, 140},
};

/* What the test knows by itself. */
struct state {
	struct test_world world;
	struct rng rng;
	struct policy_settings settings;
	double now_s;
	bool up[MACHINES], drained[MACHINES];
	float out_us[MACHINES][MACHINES]; /* negative: not measured */
	uint32_t seen_s[MACHINES][MACHINES];
	struct curve *curves[CURVES]; /* by number; NULL: none */
	int32_t curve_of_job[JOBS];   /* -1: no such job */
	bool preemptible[JOBS];
	double gain[JOBS];
	uint32_t machine_name;
	uint64_t seed; /* of the day, for messages */
};

static uint32_t draw(struct state *state, uint32_t limit)
{
	return (uint32_t)rng_below(&state->rng, limit);
}

static void done(int code)
{
	cr_assert_eq(code, 0, "code %d", code);
}

static bool is_there(const struct state *state, uint32_t machine)
{
	return machine < state->world.cluster->machine_count && state->world.cluster->machines[machine].name;
}

/* A machine with a name; -1: drawn in vain. */
static int64_t some_machine(struct state *state)
{
	uint32_t machine = draw(state, state->world.cluster->machine_count);

	return is_there(state, machine) ? (int64_t)machine : -1;
}

static void add_machine(struct state *state)
{
	struct test_world *world = &state->world;
	char name[24], rack[24], pod[24];
	uint32_t in_rack = draw(state, 2) == 0 ? 1 : draw(state, RACKS); /* one rack outgrows its columns */
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

	if (job >= JOBS || !state->curves[curve])
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
	uint32_t job = draw(state, JOBS), kind = draw(state, 12);

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

/* Cost of the optimum by the simplex; pinned tasks are not counted. */
static int64_t scratch_cost(const struct flownet *net)
{
	struct flownet_network network;
	struct mcf_solution solution = {0};
	struct mcf_verdict verdict;
	struct error err = {0};
	int64_t cost;

	cr_assert_eq(flownet_network_build(net, &network, &err), 0, "%s", err.text);
	cr_assert_eq(mcf_solve(mcf_algorithm_find("simplex"), &network.problem, &solution), MCF_OPTIMAL);
	cr_assert(mcf_verify(&network.problem, &solution, &verdict), "%s", verdict.text);
	cost = solution.cost - network.pinned_cost;
	mcf_solution_free(&solution);
	flownet_network_free(&network);
	return cost;
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

/* Nobody is moved onto a machine that is shut, full or down. */
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
	check_moves(state, &round, event);
	handle(state, &round);
}

/* Slots held by tasks, counted task by task. */
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

/* The same machines, measurements and curves, made in one go. Machine numbers go to `number`. */
static void build_fresh(const struct state *state, struct test_world *fresh, int64_t *number)
{
	const struct cluster *cluster = state->world.cluster;
	struct error err = {0};

	*fresh = (struct test_world){.cluster = cluster_create()};
	fresh->cluster->default_rtt = cluster->default_rtt;
	for (uint32_t m = 0; m < cluster->machine_count; m++) {
		const struct cluster_machine *machine = &cluster->machines[m];

		number[m] = -1;
		if (machine->name)
			number[m] = cluster_add_machine(
				fresh->cluster, machine->name, cluster->racks[machine->rack].name,
				cluster->pods[cluster->racks[machine->rack].pod], machine->slots, &err);
	}
	fresh->layout = cost_layout_create(fresh->cluster);
	fresh->view = latency_view_create(fresh->layout);
	for (uint32_t a = 0; a < cluster->machine_count; a++) {
		for (uint32_t b = 0; b < cluster->machine_count; b++) {
			if (number[a] >= 0 && number[b] >= 0 && state->out_us[a][b] >= 0)
				done(latency_view_set(fresh->view, (uint32_t)number[a], (uint32_t)number[b],
						      state->out_us[a][b]));
		}
	}
	fresh->placer = placer_create(policy_find("nomora"), fresh->layout, cost_source_from_view(fresh->view),
				      &state->settings, &err);
	cr_assert_not_null(fresh->placer, "%s", err.text);
	fresh->net = placer_net(fresh->placer);
	for (uint32_t m = 0; m < cluster->machine_count; m++) {
		if (number[m] < 0 || !state->up[m])
			continue;
		done(flownet_machine_added(fresh->net, (uint32_t)number[m], flownet_slots(state->world.net, m)));
		done(flownet_machine_drained(fresh->net, (uint32_t)number[m], state->drained[m]));
	}
}

static void compare_views(const struct state *state, const struct test_world *fresh, const int64_t *number)
{
	for (uint32_t a = 0; a < state->world.cluster->machine_count; a++) {
		for (uint32_t b = 0; b < state->world.cluster->machine_count; b++) {
			enum latency_origin origin, fresh_origin;
			float now, then;

			if (number[a] < 0 || number[b] < 0)
				continue;
			now = latency_view_get(state->world.view, a, b, &origin);
			then = latency_view_get(fresh->view, (uint32_t)number[a], (uint32_t)number[b], &fresh_origin);
			cr_assert(!(now < then) && !(now > then), "%u to %u: %g, fresh %g", a, b, (double)now,
				  (double)then);
			cr_assert_eq(origin, fresh_origin);
		}
	}
	cr_assert_eq(latency_view_pairs(state->world.view), latency_view_pairs(fresh->view));
}

/* Every task settles where it is, so that the state can be told by flownet_task_found(). */
static void settle(struct state *state)
{
	struct flownet *net = state->world.net;
	int32_t origin;

	for (uint32_t job = 0; job < JOBS; job++) {
		if (state->curve_of_job[job] < 0)
			continue;
		if (!flownet_task_present(net, job, 0) && flownet_root_machine(net, job) >= 0) {
			done(flownet_job_ended(net, job)); /* a root that ended cannot be found */
			state->curve_of_job[job] = -1;
			continue;
		}
		for (uint32_t t = 0; t < flownet_task_limit(net, job); t++) {
			if (flownet_task_in_transit(net, job, t, &origin))
				done(flownet_confirm(net, job, t));
			else if (flownet_task_machine(net, job, t) >= 0)
				done(flownet_task_leave(net, job, t, false));
		}
	}
}

static void add_fresh_job(const struct state *state, struct test_world *fresh, uint32_t job, const int32_t *curves,
			  const int64_t *number)
{
	const struct flownet *net = state->world.net;

	done(placer_set_job_curve(fresh->placer, job, curves[state->curve_of_job[job]]));
	done(flownet_job_arrived(fresh->net, job, 0));
	for (uint32_t t = 0; t < flownet_task_limit(net, job); t++) {
		int32_t machine = flownet_task_machine(net, job, t);

		if (!flownet_task_present(net, job, t))
			continue;
		if (machine < 0)
			done(flownet_task_arrived(fresh->net, job, t, 0));
		else
			done(flownet_task_found(fresh->net, job, t, (uint32_t)number[machine], 0));
	}
	done(flownet_job_moves(fresh->net, job, state->preemptible[job], state->gain[job]));
}

/* A long row is cut again only when its arcs have become many more or fewer: now all are. */
static void recompute_rows(struct state *state)
{
	uint32_t machines[MACHINES];

	for (uint32_t m = 0; m < state->world.cluster->machine_count; m++)
		machines[m] = m;
	done(flownet_latency_changed(
		state->world.net,
		&(struct cost_moved){.machines = machines, .count = state->world.cluster->machine_count}));
}

/* With omega or beta the histories differ, which a fresh world does not know. */
static void compare_with_fresh(struct state *state, const struct day *day)
{
	struct test_world fresh;
	int32_t curves[CURVES] = {0};
	int64_t number[MACHINES];
	struct flownet_round round, fresh_round;
	struct error err = {0};
	uint64_t bytes, fresh_bytes;

	settle(state);
	build_fresh(state, &fresh, number);
	compare_views(state, &fresh, number);
	for (int k = 0; k < CURVES; k++)
		curves[k] = state->curves[k] ? placer_add_curve(fresh.placer, state->curves[k]) : -1;
	for (uint32_t job = 0; job < JOBS; job++) {
		if (state->curve_of_job[job] >= 0)
			add_fresh_job(state, &fresh, job, curves, number);
	}
	if (day->machine_arcs > 0)
		recompute_rows(state);
	if (day->omega_per_s <= 0 && day->beta_per_s <= 0)
		cr_assert_eq(scratch_cost(state->world.net), scratch_cost(fresh.net));
	cr_assert_eq(flownet_propose(state->world.net, &round, &err), 0, "%s", err.text);
	cr_assert_eq(flownet_propose(fresh.net, &fresh_round, &err), 0, "%s", err.text);
	if (day->omega_per_s <= 0 && day->beta_per_s <= 0 && day->machine_arcs == 0)
		cr_assert_eq(round.cost, fresh_round.cost);
	cr_assert_eq(placer_rows_kept(state->world.placer), placer_rows_kept(fresh.placer));
	bytes = flownet_memory_bytes(state->world.net);
	fresh_bytes = flownet_memory_bytes(fresh.net);
	cr_assert_leq(bytes, 3 * fresh_bytes, "the solver holds %llu bytes, a fresh one %llu",
		      (unsigned long long)bytes, (unsigned long long)fresh_bytes);
	test_world_free(&fresh);
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
	start(state, day);
	for (int event = 0; event < events; event++) {
		random_event(state);
		if (event % 3 == 0 || event % every == 0)
			solve(state, event, event % every == 0);
		if (event % every == 0)
			check_counts(state, event);
	}
	compare_with_fresh(state, day);
	test_world_free(&state->world);
	for (int k = 0; k < CURVES; k++)
		curve_destroy(state->curves[k]);
	free(state);
}
