/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/sim/sim.h>

#include <errno.h>
#include <stdlib.h>

#include <base/ns.h>

#include "sim_priv.h"

static const int64_t second_us = 1000000;

void sim_settings_default(struct sim_settings *settings)
{
	*settings = (struct sim_settings){
		.policy = policy_find("nomora"),
		.machines_per_rack = 48,
		.racks_per_pod = 16,
		.slots = 12,
		.end_us = 86400 * second_us,
		.seed = 1,
	};
	policy_settings_paper(&settings->policy_settings);
	settings->policy_settings.root_anywhere = true;
	sim_latency_settings_default(&settings->latency);
}

/* Takes the sample of the second that ends now, then sets the latencies of the next second. */
static int next_second(struct sim *sim, struct error *err)
{
	const struct policy_settings *policy = placer_settings(sim->placer);
	bool moved;

	sim_sample(sim);
	sim->next_sample_us += second_us;
	if (sim_latency_next_second(&sim->latency, sim->now_us, &moved) != 0)
		return error_set(err, ENOMEM, "out of memory");
	sim_compute_p(sim);
	sim->latencies_moved |= moved;
	sim_record_latencies(sim);
	/* As time passes, the costs of waiting and of staying change, too. */
	sim->changed |= policy->flow.preemption || sim->moves || (sim->waiting > 0 && policy->flow.omega_per_s > 0);
	progress_update(sim->watch->progress, (uint64_t)(sim->now_us / second_us), NULL);
	return 0;
}

static bool round_is_due(const struct sim *sim)
{
	if (sim->in_round)
		return false;
	return sim->settings->round_us > 0 ? sim->now_us >= sim->next_round_us : sim->changed;
}

/* Time of the next event of any kind. */
static int64_t next_time(const struct sim *sim)
{
	const struct event *first = event_queue_first(&sim->events);
	int64_t next_us = sim->next_sample_us;

	if (first && first->time < next_us)
		next_us = first->time;
	if (sim->in_round && sim->round_end_us < next_us)
		next_us = sim->round_end_us;
	if (!sim->in_round && sim->settings->round_us > 0 && sim->next_round_us < next_us)
		next_us = sim->next_round_us;
	return next_us;
}

/* Handles everything at now_us: sample, end of a round, events, start of a round. */
static int step(struct sim *sim, struct error *err)
{
	struct event event;
	int code = 0;

	if (sim->now_us == sim->next_sample_us)
		code = next_second(sim, err);
	if (code == 0 && sim->in_round && sim->now_us == sim->round_end_us)
		code = sim_end_round(sim, err);
	while (code == 0 && event_queue_take(&sim->events, sim->now_us, &event)) {
		code = sim_apply_event(sim, &event);
		if (code != 0)
			return error_set(err, -code, "the workload's event at %.6f s: %s", (double)event.time / 1e6,
					 code == -ENOMEM ? "out of memory"
							 : "it does not fit the state of its job, task or machine");
	}
	while (code == 0 && round_is_due(sim)) {
		sim->next_round_us = sim->now_us + sim->settings->round_us;
		code = sim_begin_round(sim, err);
	}
	return code;
}

static int run(struct sim *sim, struct error *err)
{
	int code = 0;

	sim->next_sample_us = second_us;
	while (code == 0) {
		int64_t next_us = next_time(sim);

		if (next_us > sim->settings->end_us)
			break;
		if (sim->watch->stop && *sim->watch->stop)
			return 0;
		sim->now_us = next_us;
		code = step(sim, err);
	}
	if (code == 0) {
		sim->now_us = sim->settings->end_us;
		sim->result->complete = true;
	}
	return code;
}

int sim_run(const struct workload *workload, const struct sim_settings *settings, const struct sim_watch *watch,
	    struct sim_result *result, struct error *err)
{
	struct sim *sim = calloc(1, sizeof *sim);
	struct ns begin = ns_now_monotonic(), cpu_begin = ns_now_cpu();
	int code;

	*result = (struct sim_result){0};
	if (!sim)
		return error_set(err, ENOMEM, "out of memory");
	sim->workload = workload;
	sim->settings = settings;
	sim->watch = watch;
	sim->result = result;
	code = sim_world_create(sim, err);
	if (code == 0)
		code = run(sim, err);
	if (code == 0 && sim_finish_result(sim) != 0)
		code = error_set(err, ENOMEM, "out of memory");
	sim_world_free(sim);
	free(sim);
	result->cpu_s = ns_to_s(ns_sub(ns_now_cpu(), cpu_begin));
	result->wall_s = ns_to_s(ns_sub(ns_now_monotonic(), begin));
	return code;
}

void sim_result_free(struct sim_result *result)
{
	histogram_destroy(result->runtime_us);
	histogram_destroy(result->cpu_us);
	histogram_destroy(result->took_us);
	histogram_destroy(result->placement_us);
	histogram_destroy(result->wait_root_us);
	histogram_destroy(result->wait_slot_us);
	histogram_destroy(result->wait_solver_us);
	histogram_destroy(result->response_us);
	histogram_destroy(result->migrated_ppm);
	free(result->jobs);
	*result = (struct sim_result){0};
}
