/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples the performance of every running task each second, and computes the means at the end. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "sim_priv.h"

double sim_performance_at(const struct sim *sim, uint32_t curve, double rtt_us)
{
	return performance_at(sim->settings->curves[curve], &sim->settings->policy_settings, rtt_us);
}

/*
 * Returns the number of steps of the longest curve table. Returns 0 if p_of_step cannot be used, because performance is
 * not looked up at the step nearest to the absolute round trip, or because the table is too long for step_of_cell.
 */
static uint32_t count_steps(const struct sim_settings *settings)
{
	const struct policy_settings *policy = &settings->policy_settings;
	size_t most = 0;

	if (policy->lookup == COST_LOOKUP_INTERPOLATED || policy->reference == LATENCY_REFERENCE_ADDED)
		return 0;
	for (uint32_t c = 0; c < settings->curve_count; c++)
		most = settings->curves[c]->table_count > most ? settings->curves[c]->table_count : most;
	return most < UINT16_MAX ? (uint32_t)most : 0;
}

int sim_create_p(struct sim *sim)
{
	sim->steps = count_steps(sim->settings);
	for (uint32_t c = 0; c < sim->settings->curve_count; c++) {
		float **place = sim->steps > 0 ? &sim->p_of_step[c] : &sim->p[c];

		*place = calloc(sim->steps > 0 ? sim->steps + 1 : SIM_LATENCY_CELLS, sizeof **place);
		if (!*place)
			return -ENOMEM;
		for (uint32_t s = 0; sim->steps > 0 && s <= sim->steps; s++)
			(*place)[s] = (float)curve_eval_nearest(sim->settings->curves[c], s * CURVE_STEP_US);
	}
	return 0;
}

/* Computes the step of each cell, rounded as in curve_eval_nearest(). */
static void compute_steps(struct sim *sim)
{
	for (uint32_t i = 0; i < SIM_LATENCY_CELLS; i++) {
		double index = (double)sim->latency.now.rtt_us[i] / CURVE_STEP_US + 0.5;

		sim->step_of_cell[i] = (uint16_t)(index < sim->steps ? index : sim->steps);
	}
}

void sim_compute_p(struct sim *sim)
{
	if (sim->steps > 0) {
		compute_steps(sim);
		return;
	}
	for (uint32_t c = 0; c < sim->settings->curve_count; c++) {
		for (uint32_t i = 0; i < SIM_LATENCY_CELLS; i++)
			sim->p[c][i] = (float)sim_performance_at(sim, c, (double)sim->latency.now.rtt_us[i]);
	}
}

/* Looks up the performance p of `count` cells, 4 at most, from cell i on. */
static inline void look_up(const struct sim *sim, const struct sim_job *job, uint32_t i, uint32_t count, float *p)
{
	for (uint32_t k = 0; k < count; k++)
		p[k] = sim->steps > 0 ? sim->p_of_step[job->curve][sim->step_of_cell[job->cells[i + k]]]
				      : sim->p[job->curve][job->cells[i + k]];
}

/*
 * Returns the sum of p over the job's cells; *worst is the smallest p. Uses four sums in turn: a single sum would be
 * slower, because each addition must wait for the previous one.
 */
static double sum_cells(const struct sim *sim, const struct sim_job *job, float *worst)
{
	double sums[4] = {0};
	float least = INFINITY, p[4];
	uint32_t i = 0, count = job->cell_count;

	for (; i + 4 <= count; i += 4) {
		look_up(sim, job, i, 4, p);
		for (uint32_t k = 0; k < 4; k++) {
			sums[k] += (double)p[k];
			least = p[k] < least ? p[k] : least;
		}
	}
	for (; i < count; i++) {
		look_up(sim, job, i, 1, p);
		sums[0] += (double)p[0];
		least = p[0] < least ? p[0] : least;
	}
	*worst = least;
	return sums[0] + sums[1] + sums[2] + sums[3];
}

/* Like sum_cells(), but with the recorded round trips, which are not in the latency table. */
static double sum_recorded(const struct sim *sim, const struct sim_job *job, float *worst)
{
	double sum = 0;

	*worst = INFINITY;
	for (uint32_t i = 0; i < job->cell_count; i++) {
		double rtt_us = (double)sim_latency_rtt_us(&sim->latency, (uint32_t)job->root_machine,
							   (uint32_t)sim->tasks[job->owners[i]].machine);
		double p = sim_performance_at(sim, job->curve, rtt_us);

		sum += p;
		*worst = fminf(*worst, (float)p);
	}
	return sum;
}

/*
 * Returns the smallest recorded round trip from the root to another machine; searches again only if round trips or
 * machines have changed.
 */
static double nearest_recorded(const struct sim *sim, struct sim_job *job)
{
	uint64_t now = sim->latency.changes + sim->result->machines_added + sim->result->machines_removed;

	if (job->nearest_at == now + 1)
		return job->nearest_us;
	job->nearest_at = now + 1;
	job->nearest_us = INFINITY;
	for (uint32_t m = 0; m < sim->cluster->machine_count; m++) {
		if (sim->present[m] && (int32_t)m != job->root_machine)
			job->nearest_us =
				fmin(job->nearest_us,
				     (double)sim_latency_rtt_us(&sim->latency, (uint32_t)job->root_machine, m));
	}
	return job->nearest_us;
}

/* Returns the best p on a machine other than the root's, which is the p of the nearest machine. */
static double best_other(struct sim *sim, struct sim_job *job)
{
	double rtt_us = sim->latency.view ? nearest_recorded(sim, job)
					  : (double)sim_latency_nearest_us(&sim->latency, (uint32_t)job->root_machine);

	return sim_performance_at(sim, job->curve, rtt_us);
}

/* The mean performance of the edges of the job's graph, by weight; NAN if no two tasks that talk are placed. */
static double graph_performance(const struct sim *sim, uint32_t job, float *worst)
{
	const struct job_graph *graph = sim->jobs[job].graph;
	const struct sim_task *tasks = &sim->tasks[sim->workload->jobs[job].first_task];
	double sum = 0, weight = 0;

	*worst = INFINITY;
	for (uint32_t t = 0; t < graph->task_count; t++) {
		for (size_t i = graph->first[t]; i < graph->first[t + 1] && tasks[t].machine != SIM_NONE; i++) {
			const struct job_neighbour *other = &graph->neighbours[i];
			double rtt_us, p;

			if (other->task < t || tasks[other->task].machine == SIM_NONE)
				continue;
			rtt_us = (double)sim_latency_rtt_us(&sim->latency, (uint32_t)tasks[t].machine,
							    (uint32_t)tasks[other->task].machine);
			p = sim_performance_at(sim, sim->jobs[job].curve, rtt_us);
			sum += other->weight * p;
			weight += other->weight;
			*worst = fminf(*worst, (float)p);
		}
	}
	return weight > 0 ? sum / weight : NAN;
}

/* Sums the performance of the job's tasks; in a job with a graph, each counts as the mean over its edges. */
static double sum_job(const struct sim *sim, uint32_t number, float *worst)
{
	const struct sim_job *job = &sim->jobs[number];

	if (job->graph)
		return graph_performance(sim, number, worst) * job->cell_count;
	return sim->latency.view ? sum_recorded(sim, job, worst) : sum_cells(sim, job, worst);
}

static void sample_job(struct sim *sim, uint32_t number)
{
	struct sim_job *job = &sim->jobs[number];
	float worst;
	double sum, best, other;

	if (job->root_machine == SIM_NONE || job->cell_count == 0)
		return;
	best = sim_performance_at(
		sim, job->curve,
		(double)sim_latency_rtt_us(&sim->latency, (uint32_t)job->root_machine, (uint32_t)job->root_machine));
	sum = sum_job(sim, number, &worst);
	if (isnan(sum))
		return;
	other = best_other(sim, job);
	performance_sum_add(&job->performance, sum / job->cell_count, (double)worst, fmax(best, other), other, 1);
	job->task_samples += job->cell_count;
	job->task_sum += sum;
}

static void mean_over_jobs(const struct sim *sim, double *area, double *task_mean)
{
	double sum = 0, samples = 0, tasks = 0;
	uint64_t jobs = 0;

	for (uint32_t j = 0; j < sim->workload->job_count; j++) {
		const struct sim_job *job = &sim->jobs[j];

		if (job->performance.intervals == 0)
			continue;
		sum += performance_average(&job->performance);
		samples += job->task_samples;
		tasks += job->task_sum;
		jobs++;
	}
	*area = jobs ? sum / (double)jobs : NAN;
	*task_mean = samples > 0 ? tasks / samples : NAN;
}

void sim_sample(struct sim *sim)
{
	struct sim_result *result = sim->result;
	double utilisation = sim->slot_count > 0 ? (double)sim->running / (double)sim->slot_count : 0;

	for (uint32_t a = 0; a < sim->active_count; a++)
		sample_job(sim, sim->active[a]);
	sim->samples++;
	sim->utilisation += utilisation;
	sim->waiting_sum += (double)sim->waiting;
	result->utilisation_maximum = fmax(result->utilisation_maximum, utilisation);
	result->waiting_maximum = sim->waiting > result->waiting_maximum ? sim->waiting : result->waiting_maximum;
	if (sim->samples == 1)
		mean_over_jobs(sim, &result->start_area, &result->start_task_mean);
}

static void add_job(struct sim_result *result, const struct sim *sim, uint32_t number)
{
	const struct sim_job *job = &sim->jobs[number];
	const struct workload_job *described = &sim->workload->jobs[number];

	result->jobs[result->job_count++] = (struct sim_job_result){
		.id = described->id,
		.tasks = described->task_count,
		.curve = job->curve,
		.performance = job->performance,
		.task_samples = job->task_samples,
		.task_sum = job->task_sum,
	};
	result->area_worst += performance_worst(&job->performance);
	result->area_other += performance_average_other(&job->performance);
}

int sim_finish_result(struct sim *sim)
{
	struct sim_result *result = sim->result;
	double jobs;

	result->jobs = calloc(sim->workload->job_count + 1, sizeof *result->jobs);
	if (!result->jobs)
		return -ENOMEM;
	for (uint32_t j = 0; j < sim->workload->job_count; j++) {
		if (sim->jobs[j].performance.intervals > 0)
			add_job(result, sim, j);
	}
	jobs = (double)result->job_count;
	mean_over_jobs(sim, &result->area, &result->task_mean);
	result->area_worst = jobs > 0 ? result->area_worst / jobs : NAN;
	result->area_other = jobs > 0 ? result->area_other / jobs : NAN;
	result->running = sim->running;
	result->waiting = sim->waiting;
	result->end_us = sim->now_us;
	result->task_hours = (sim->slot_us + (double)sim->running * (double)sim->now_us) / 3.6e9;
	result->utilisation_mean = sim->samples ? sim->utilisation / (double)sim->samples : 0;
	result->waiting_mean = sim->samples ? sim->waiting_sum / (double)sim->samples : 0;
	return 0;
}
