/* SPDX-License-Identifier: BSD-3-Clause */
/* What a simulation consists of: cluster, latencies, placer, and the events of the workload. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim_priv.h"

/* Machines fill racks, and racks fill pods, in the order in which the trace first names them. */
static struct cluster *build_cluster(const struct workload *workload, const struct sim_settings *settings,
				     struct error *err)
{
	struct cluster *cluster = cluster_create();

	for (size_t m = 0; cluster && m < workload->machine_count; m++) {
		char name[24], rack[24], pod[24];
		size_t number = m / settings->machines_per_rack;

		snprintf(name, sizeof name, "m%zu", m);
		snprintf(rack, sizeof rack, "r%zu", number);
		snprintf(pod, sizeof pod, "p%zu", number / settings->racks_per_pod);
		if (cluster_add_machine(cluster, name, rack, pod, settings->slots, err) < 0) {
			cluster_destroy(cluster);
			return NULL;
		}
	}
	return cluster;
}

static int add_events(struct sim *sim)
{
	const struct workload *workload = sim->workload;
	int code = 0;

	for (size_t e = 0; e < workload->machine_event_count && code == 0; e++)
		code = event_queue_add(&sim->events, workload->machine_events[e].time_us, SIM_MACHINE, (uint32_t)e, 0);
	for (uint32_t t = 0; t < workload->task_count && code == 0; t++) {
		sim->tasks[t] = (struct sim_task){
			.left_us = workload->tasks[t].run_us,
			.placed_us = SIM_NONE,
			.machine = SIM_NONE,
			.moved_from = SIM_NONE,
		};
		code = event_queue_add(&sim->events, workload->tasks[t].submit_us, SIM_SUBMIT, t, 0);
	}
	for (uint32_t j = 0; j < workload->job_count; j++) {
		sim->jobs[j].root_machine = SIM_NONE;
		sim->jobs[j].curve = sim_curve_of_job(sim->settings, workload->jobs[j].id);
	}
	return code;
}

static int create_arrays(struct sim *sim)
{
	const struct workload *workload = sim->workload;

	sim->present = calloc(workload->machine_count + 1, sizeof *sim->present);
	sim->slots = calloc(workload->machine_count + 1, sizeof *sim->slots);
	sim->tasks = calloc(workload->task_count + 1, sizeof *sim->tasks);
	sim->jobs = calloc(workload->job_count + 1, sizeof *sim->jobs);
	sim->active = calloc(workload->job_count + 1, sizeof *sim->active);
	if (!sim->present || !sim->slots || !sim->tasks || !sim->jobs || !sim->active)
		return -ENOMEM;
	for (uint32_t c = 0; c < sim->settings->curve_count; c++) {
		sim->p[c] = calloc(SIM_LATENCY_CELLS, sizeof *sim->p[c]);
		if (!sim->p[c])
			return -ENOMEM;
	}
	return add_events(sim);
}

static int create_histograms(struct sim_result *result)
{
	struct histogram **histograms[] = {&result->runtime_us,   &result->took_us,      &result->placement_us,
					   &result->wait_root_us, &result->wait_slot_us, &result->wait_solver_us,
					   &result->response_us,  &result->migrated_ppm};

	for (size_t i = 0; i < sizeof histograms / sizeof histograms[0]; i++) {
		*histograms[i] = histogram_create(1, INT64_C(1000000000000), 3);
		if (!*histograms[i])
			return -ENOMEM;
	}
	return 0;
}

int sim_world_create(struct sim *sim, struct error *err)
{
	const struct sim_settings *settings = sim->settings;
	struct policy_settings policy = settings->policy_settings;

	if (create_histograms(sim->result) != 0 || create_arrays(sim) != 0)
		return error_set(err, ENOMEM, "out of memory");
	rng_seed(&sim->rng, settings->seed);
	sim->cluster = build_cluster(sim->workload, settings, err);
	if (!sim->cluster)
		return -(err && err->code ? err->code : ENOMEM);
	sim->layout = cost_layout_create(sim->cluster);
	if (!sim->layout)
		return error_set(err, ENOMEM, "out of memory");
	sim_latency_start(&sim->latency, &settings->latency, sim->layout);
	policy.seed = settings->seed;
	sim->placer = placer_create(settings->policy, sim->layout, sim_latency_source(&sim->latency), &policy, err);
	if (!sim->placer)
		return -(err && err->code ? err->code : ENOMEM);
	sim->net = placer_net(sim->placer);
	for (uint32_t c = 0; c < settings->curve_count; c++) {
		if (placer_add_curve(sim->placer, settings->curves[c]) != (int32_t)c)
			return error_set(err, ENOMEM, "out of memory");
	}
	sim_compute_p(sim);
	return 0;
}

void sim_world_free(struct sim *sim)
{
	for (uint32_t j = 0; sim->jobs && j < sim->workload->job_count; j++) {
		free(sim->jobs[j].cells);
		free(sim->jobs[j].owners);
		free(sim->jobs[j].nearest);
	}
	for (uint32_t c = 0; c < SIM_CURVES_MAXIMUM; c++)
		free(sim->p[c]);
	placer_destroy(sim->placer);
	cost_layout_destroy(sim->layout);
	cluster_destroy(sim->cluster);
	event_queue_free(&sim->events);
	round_outcome_free(&sim->outcome);
	free(sim->deferred);
	free(sim->present);
	free(sim->slots);
	free(sim->tasks);
	free(sim->jobs);
	free(sim->active);
}
