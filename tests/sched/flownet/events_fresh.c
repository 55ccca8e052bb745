/* SPDX-License-Identifier: BSD-3-Clause */
#include "events_state.h"

#include <sched/flownet/network.h>
#include <sched/mcf/algorithms.h>
#include <sched/mcf/verify.h>

int64_t scratch_cost(const struct flownet *net)
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

/* Builds the same machines, measurements and curves at once. `number` gets the machine numbers. */
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

/* Completes every move in progress, so that flownet_task_found() can reproduce the state. */
static void settle(struct state *state)
{
	struct flownet *net = state->world.net;
	int32_t origin;

	for (uint32_t job = 0; job < JOBS; job++) {
		if (state->curve_of_job[job] < 0)
			continue;
		if (!flownet_task_present(net, job, 0) && flownet_root_machine(net, job) >= 0) {
			done(flownet_job_ended(net, job)); /* flownet_task_found() cannot reproduce an ended root */
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

	done(placer_job_arrived(fresh->placer, job, curves[state->curve_of_job[job]], 0, 0));
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

/* A truncated row is recomputed only when its number of arcs has changed a lot: this recomputes all. */
static void recompute_rows(struct state *state)
{
	uint32_t machines[MACHINES];

	for (uint32_t m = 0; m < state->world.cluster->machine_count; m++)
		machines[m] = m;
	done(flownet_latency_changed(
		state->world.net,
		&(struct cost_moved){.machines = machines, .count = state->world.cluster->machine_count}));
}

void compare_with_fresh(struct state *state, const struct day *day)
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
