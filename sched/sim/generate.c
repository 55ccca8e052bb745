/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/sim/generate.h>

#include <math.h>

#include <base/rng.h>

static const double second_us = 1e6;

/*
 * Quantiles of the number of tasks of jobs with several tasks. Google's first day has p50 15, p90 200, p99 2,000,
 * maximum 20,010. Between quantiles, the logarithm of the number is interpolated.
 */
static const struct {
	double share, tasks;
} size_quantiles[] = {{0, 2}, {0.5, 15}, {0.9, 200}, {0.99, 2000}, {1, 20000}};
static const double single_share = 0.75; /* share of the jobs that have one task */

/*
 * Run times: log-normal with p50 626 s and p90 8,789 s, as in the data. Tasks of one job are similar, so most of the
 * logarithm's deviation, 2.06 = hypot(1.9, 0.8), is between the medians of jobs.
 */
static const double run_median_s = 626, job_deviation = 1.9, task_deviation = 0.8;
static const double run_mean_s = 4000; /* mean run time, seconds, of tasks submitted during the day; below the mean of
					  the distribution, because the end of the day cuts runs off */

/*
 * Share of all slots that keep their task from time 0 to the end of the day. In the other slots in use at time 0, the
 * tasks end during the day and submitted tasks follow.
 */
static const double all_day_share = 0.6;

/* Share of the seconds with submissions: 2,870 of the day's 86,400. */
static const double burst_share = 2870.0 / 86400;

void sim_generate_settings_default(struct sim_generate_settings *settings)
{
	*settings = (struct sim_generate_settings){
		.machines = 12500,
		.slots = 12,
		.hours = 24,
		.load = 0.9,
		.churn_per_day = 0.025,
		.seed = 1,
	};
}

struct generator {
	const struct sim_generate_settings *settings;
	struct workload *workload;
	struct rng rng;
	uint64_t next_job;
	double end_us;
	bool failed;
};

static uint32_t draw_size(struct generator *generator)
{
	double u = rng_uniform(&generator->rng);
	size_t i = 1;

	if (rng_uniform(&generator->rng) < single_share)
		return 1;
	while (u > size_quantiles[i].share)
		i++;
	u = (u - size_quantiles[i - 1].share) / (size_quantiles[i].share - size_quantiles[i - 1].share);
	return (uint32_t)lround(size_quantiles[i - 1].tasks *
				pow(size_quantiles[i].tasks / size_quantiles[i - 1].tasks, u));
}

/* Adds a job of at most `most` tasks; returns its number of tasks. */
static uint64_t add_job(struct generator *generator, double submit_us, bool all_day, uint64_t most)
{
	double median_s = run_median_s * exp(job_deviation * rng_normal(&generator->rng));
	uint64_t size = draw_size(generator), job = 6000000000 + generator->next_job++;

	size = size > most ? most : size;
	for (uint32_t t = 0; t < size; t++) {
		double run_s = median_s * exp(task_deviation * rng_normal(&generator->rng));
		bool to_the_end = all_day || submit_us + run_s * second_us >= generator->end_us;

		run_s = run_s < 1 ? 1 : run_s;
		if (workload_add_task(generator->workload, job, t, (int64_t)submit_us,
				      to_the_end ? WORKLOAD_TO_THE_END : (int64_t)(run_s * second_us)) != 0)
			generator->failed = true;
	}
	return size;
}

static void add_machines(struct generator *generator)
{
	const struct sim_generate_settings *settings = generator->settings;
	double leave = settings->churn_per_day * settings->hours / 24;

	for (uint32_t m = 0; m < settings->machines; m++) {
		uint64_t id = 1000 + m;
		double away_us = generator->end_us * rng_uniform(&generator->rng);
		double back_us = away_us + 1800 * second_us * rng_exponential(&generator->rng);
		bool leaves = rng_uniform(&generator->rng) < leave && away_us >= second_us;
		int code = workload_add_machine_event(generator->workload, 0, id, WORKLOAD_MACHINE_ADDED, 0.5F);

		if (leaves && code == 0)
			code = workload_add_machine_event(generator->workload, (int64_t)away_us, id,
							  WORKLOAD_MACHINE_REMOVED, -1);
		if (leaves && back_us < generator->end_us && code == 0)
			code = workload_add_machine_event(generator->workload, (int64_t)back_us, id,
							  WORKLOAD_MACHINE_ADDED, 0.5F);
		generator->failed |= code != 0;
	}
}

static void fill(struct generator *generator, double slots, bool all_day)
{
	for (uint64_t tasks = 0, wanted = (uint64_t)slots; tasks < wanted && !generator->failed;)
		tasks += add_job(generator, 0, all_day, wanted - tasks);
}

/* Adds bursts of submissions, each at a random moment of a random second of the day. */
static void add_submissions(struct generator *generator, uint64_t wanted)
{
	double seconds = generator->end_us / second_us, bursts = ceil(seconds * burst_share);
	double each = (double)wanted / bursts, due = 0;
	uint64_t tasks = 0;

	for (uint64_t burst = 0; tasks < wanted && !generator->failed; burst++) {
		double at_us =
			(1 + floor((seconds - 1) * rng_uniform(&generator->rng)) + rng_uniform(&generator->rng)) *
			second_us;

		due += each;
		do
			tasks += add_job(generator, fmin(at_us, generator->end_us - 1), false, wanted - tasks);
		while ((double)tasks < due && tasks < wanted && !generator->failed);
	}
}

struct workload *sim_generate(const struct sim_generate_settings *settings)
{
	struct generator generator = {
		.settings = settings,
		.workload = workload_create(),
		.end_us = settings->hours * 3600 * second_us,
	};
	double slots = (double)settings->machines * settings->slots, moving;

	if (!generator.workload)
		return NULL;
	rng_seed(&generator.rng, settings->seed);
	add_machines(&generator);
	moving = settings->load > all_day_share ? settings->load - all_day_share : 0;
	fill(&generator, slots * (settings->load - moving), true);
	fill(&generator, slots * moving, false);
	add_submissions(&generator, settings->tasks ? settings->tasks
						    : (uint64_t)(slots * moving / run_mean_s * settings->hours * 3600));
	if (!generator.failed)
		return generator.workload;
	workload_destroy(generator.workload);
	return NULL;
}
