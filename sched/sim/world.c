/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a simulation: cluster, latencies, placer, and the events of the workload. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim_priv.h"

/*
 * Returns the number of a curve for a job, chosen in proportion to curve_shares by a hash of the job's id and the seed.
 */
static uint32_t curve_of_job(const struct sim_settings *settings, uint64_t job_id)
{
	double u = (double)(hash_mix(job_id ^ hash_mix(settings->seed)) >> 11) * 0x1p-53;
	uint32_t curve = 0;

	while (curve + 1 < settings->curve_count && u >= settings->curve_shares[curve])
		u -= settings->curve_shares[curve++];
	return curve;
}

/* Adds machine `number` of `places`, with the name, rack and pod that a journal gave it. */
static int64_t add_placed_machine(struct cluster *cluster, const struct cluster *places, uint64_t number,
				  struct error *err)
{
	const struct cluster_machine *machine = &places->machines[number];
	const struct cluster_rack *rack = &places->racks[machine->rack];

	return cluster_add_machine(cluster, machine->name, rack->name, places->pods[rack->pod], machine->slots, err);
}

static int64_t add_machine(struct cluster *cluster, size_t number, const struct sim_settings *settings,
			   struct error *err)
{
	char name[24], rack[24], pod[24];
	size_t rack_number = number / settings->machines_per_rack;

	snprintf(name, sizeof name, "m%zu", number);
	snprintf(rack, sizeof rack, "r%zu", rack_number);
	snprintf(pod, sizeof pod, "p%zu", rack_number / settings->racks_per_pod);
	return cluster_add_machine(cluster, name, rack, pod, settings->slots, err);
}

/*
 * Builds the cluster. In a journal, machines have racks and pods. In a trace they have none: in the order of their
 * first appearance, machines fill racks and racks fill pods.
 */
static struct cluster *build_cluster(const struct workload *workload, const struct sim_settings *settings,
				     struct error *err)
{
	struct cluster *cluster = cluster_create();

	for (size_t m = 0; cluster && m < workload->machine_count; m++) {
		int64_t number = workload->places
					 ? add_placed_machine(cluster, workload->places, workload->machine_ids[m], err)
					 : add_machine(cluster, m, settings, err);

		if (number < 0) {
			cluster_destroy(cluster);
			return NULL;
		}
	}
	return cluster;
}

/*
 * Returns the number of the curve that a journal or --job-curves gives the job, or else of one chosen by
 * curve_of_job().
 */
static uint32_t curve_of(const struct sim *sim, const struct workload_job *job)
{
	const struct workload *workload = sim->workload;

	for (uint32_t c = 0; job->note != WORKLOAD_NO_NOTE && c < sim->settings->curve_count; c++) {
		if (strcmp(sim->settings->curve_names[c], workload->curves[workload->notes[job->note].curve]) == 0)
			return c;
	}
	return curve_of_job(sim->settings, job->id);
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
		sim->jobs[j].curve = curve_of(sim, &workload->jobs[j]);
	}
	return code;
}

static int create_arrays(struct sim *sim)
{
	const struct workload *workload = sim->workload;

	sim->present = calloc(workload->machine_count + 1, sizeof *sim->present);
	sim->announced_up = calloc(workload->machine_count + 1, sizeof *sim->announced_up);
	sim->slots = calloc(workload->machine_count + 1, sizeof *sim->slots);
	sim->tasks = calloc(workload->task_count + 1, sizeof *sim->tasks);
	sim->jobs = calloc(workload->job_count + 1, sizeof *sim->jobs);
	sim->active = calloc(workload->job_count + 1, sizeof *sim->active);
	if (!sim->present || !sim->announced_up || !sim->slots || !sim->tasks || !sim->jobs || !sim->active)
		return -ENOMEM;
	return sim_create_p(sim) == 0 && sim_moves_create(sim) == 0 ? add_events(sim) : -ENOMEM;
}

static int create_histograms(struct sim_result *result)
{
	struct histogram **histograms[] = {&result->runtime_us,     &result->cpu_us,       &result->took_us,
					   &result->placement_us,   &result->wait_root_us, &result->wait_slot_us,
					   &result->wait_solver_us, &result->response_us,  &result->migrated_ppm};

	for (size_t i = 0; i < sizeof histograms / sizeof histograms[0]; i++) {
		*histograms[i] = histogram_create(1, INT64_C(1000000000000), 3);
		if (!*histograms[i])
			return -ENOMEM;
	}
	return 0;
}

int sim_create_placer(struct sim *sim, struct error *err)
{
	const struct sim_settings *settings = sim->settings;
	struct policy_settings policy = settings->policy_settings;

	policy.seed = settings->seed;
	policy.flow.preemption = policy.flow.preemption && !sim_moves_by_rules(sim);
	placer_destroy(sim->placer);
	sim->placer = placer_create(settings->policy, sim->layout, sim_latency_source(&sim->latency), &policy, err);
	if (!sim->placer)
		return error_code(err, ENOMEM);
	sim->net = placer_net(sim->placer);
	for (uint32_t c = 0; c < settings->curve_count; c++) {
		if (placer_add_curve(sim->placer, settings->curves[c]) != (int32_t)c)
			return error_set(err, ENOMEM, "out of memory");
	}
	return 0;
}

int sim_world_create(struct sim *sim, struct error *err)
{
	const struct sim_settings *settings = sim->settings;
	int code;

	if (create_histograms(sim->result) != 0 || create_arrays(sim) != 0)
		return error_set(err, ENOMEM, "out of memory");
	rng_seed(&sim->rng, settings->seed);
	sim->cluster = build_cluster(sim->workload, settings, err);
	if (!sim->cluster)
		return error_code(err, ENOMEM);
	sim->layout = cost_layout_create(sim->cluster);
	if (!sim->layout)
		return error_set(err, ENOMEM, "out of memory");
	sim->cluster->default_rtt = (struct cluster_default_rtt){
		settings->latency.same_machine_us, settings->latency.level_us[SIM_SAME_RACK],
		settings->latency.level_us[SIM_SAME_POD], settings->latency.level_us[SIM_OTHER_POD]};
	if (sim_latency_start(&sim->latency, &settings->latency, sim->layout, sim->workload) != 0)
		return error_set(err, ENOMEM, "out of memory");
	code = sim_create_placer(sim, err);
	if (code != 0)
		return code;
	sim_compute_p(sim);
	return sim_record_begin(sim, err);
}

void sim_world_free(struct sim *sim)
{
	for (uint32_t j = 0; sim->jobs && j < sim->workload->job_count; j++) {
		free(sim->jobs[j].cells);
		free(sim->jobs[j].owners);
		job_graph_destroy(sim->jobs[j].graph);
	}
	for (uint32_t c = 0; c < SIM_CURVES_MAXIMUM; c++) {
		free(sim->p[c]);
		free(sim->p_of_step[c]);
	}
	placer_destroy(sim->placer);
	sim_latency_end(&sim->latency);
	cost_layout_destroy(sim->layout);
	cluster_destroy(sim->cluster);
	event_queue_free(&sim->events);
	round_outcome_free(&sim->outcome);
	sim_moves_free(sim);
	free(sim->deferred);
	free(sim->gangs);
	free(sim->present);
	free(sim->slots);
	free(sim->announced_up);
	free(sim->tasks);
	free(sim->jobs);
	free(sim->active);
}
