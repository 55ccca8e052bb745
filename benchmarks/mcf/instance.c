/* SPDX-License-Identifier: BSD-3-Clause */
#include "instance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CURVES = 4, COST_GAMMA = 1001, COST_X_NODE = 1, JOB_SMALLEST = 3, JOB_LARGEST = 2000 };

struct instance_settings instance_defaults(void)
{
	return (struct instance_settings){.machines = 1250,
					  .machines_per_rack = 48,
					  .racks_per_pod = 16,
					  .slots_low = 8,
					  .slots_high = 12,
					  .running = 9500,
					  .waiting = 500,
					  .preemption = true,
					  .machine_threshold = 105,
					  .rack_threshold = 110,
					  .waits = 1,
					  .seed = 1};
}

static int32_t rack_of(const struct instance *instance, int32_t machine)
{
	return machine / instance->settings.machines_per_rack;
}

static int32_t pod_of(const struct instance *instance, int32_t machine)
{
	return rack_of(instance, machine) / instance->settings.racks_per_pod;
}

/* splitmix64's finaliser: a random number that depends only on the pair, so no matrix is stored. */
static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

double instance_latency_us(const struct instance *instance, int32_t a, int32_t b)
{
	int32_t low = a < b ? a : b, high = a < b ? b : a;
	uint64_t bits = mix(instance->latency_salt ^ ((uint64_t)(uint32_t)low << 32 | (uint32_t)high));
	/* The sum of three 20-bit uniforms is about normal with deviation 1/2; the remaining bits draw the tail. */
	double sum = (double)((bits & 0xfffff) + (bits >> 20 & 0xfffff) + (bits >> 40 & 0xfffff)) * 0x1p-20 - 1.5;
	double tail = bits >> 60 ? 1.0 : 1.6;

	if (a == b)
		return 0;
	if (rack_of(instance, a) == rack_of(instance, b))
		return 40.0 * exp(0.7 * sum) * tail;
	if (pod_of(instance, a) == pod_of(instance, b))
		return 80.0 * exp(0.5 * sum) * tail;
	return 170.0 * exp(0.6 * sum) * tail;
}

/* Equations 2 to 5 of the paper: 1 under the threshold, a polynomial in the added latency from there on. */
int32_t instance_curve_cost(int32_t curve, double x)
{
	static const struct {
		double threshold, coefficients[4];
	} curves[CURVES] = {
		{40, {1.067, -3.093e-3, 4.084e-6, -1.898e-9}},
		{20, {1.009, -2.095e-3, 2.571e-6, -1.232e-9}},
		{200, {1.0199, -1.161e-4, 0, 0}},
		{40, {1.005, -5.146e-4, 5.837e-7, -3.46e-10}},
	};
	const double *c = curves[curve].coefficients;
	double p = x < curves[curve].threshold ? 1.0 : c[0] + x * (c[1] + x * (c[2] + x * c[3]));

	return (int32_t)lround(100.0 / (p > 1.0 ? 1.0 : p < 0.1 ? 0.1 : p));
}

int32_t instance_unscheduled_cost(const struct instance *instance, const struct instance_job *job, int32_t k)
{
	return job->unscheduled_cost + k % instance->settings.waits;
}

static int32_t draw_between(struct rng *rng, int32_t low, int32_t high)
{
	return low + (int32_t)rng_below(rng, (uint64_t)(high - low) + 1);
}

/* The most tolerant curve has arcs nearly everywhere: 15 % of the jobs have it, the rest share evenly. */
static int32_t draw_curve(struct rng *rng)
{
	static const int32_t others[] = {0, 1, 3};

	return rng_below(rng, 20) < 3 ? 2 : others[rng_below(rng, 3)];
}

/* Heavy tail as in cluster traces: most jobs have a few tasks, a few have most of the tasks. */
static int32_t draw_job_size(struct rng *rng)
{
	double size = JOB_SMALLEST * pow(1.0 - rng_uniform(rng), -1.0 / 1.2);

	return size > JOB_LARGEST ? JOB_LARGEST : (int32_t)size;
}

static void place_running(struct instance *instance, struct rng *rng, int32_t *free_slots)
{
	const struct instance_settings *settings = &instance->settings;

	for (int32_t j = 0; j < instance->job_count; j++) {
		const struct instance_job *job = &instance->jobs[j];

		for (int32_t i = job->running_begin; i < job->running_begin + job->running_count; i++) {
			int32_t m = (int32_t)rng_below(rng, (uint64_t)settings->machines);

			if (rng_below(rng, 2)) /* half of them at random in the root's rack, where it has free slots */
				m = rack_of(instance, job->root) * settings->machines_per_rack +
				    m % settings->machines_per_rack;
			if (m >= settings->machines || free_slots[m] == 0)
				m = (int32_t)rng_below(rng, (uint64_t)settings->machines);
			while (free_slots[m] == 0)
				m = (m + 1) % settings->machines;
			free_slots[m]--;
			instance->running[i].machine = m;
			instance->running[i].discount = draw_between(rng, 0, settings->beta_limit);
		}
	}
}

static void draw_jobs(struct instance *instance, struct rng *rng)
{
	const struct instance_settings *settings = &instance->settings;
	int32_t running = settings->running, waiting = settings->waiting, begin = 0;

	for (instance->job_count = 0; running + waiting > 0; instance->job_count++) {
		struct instance_job *job = &instance->jobs[instance->job_count];
		int32_t size = draw_job_size(rng);
		/*
		 * All tasks of a job wait or all run; only the last job of either kind is cut to the remaining number.
		 */
		bool waits = (int32_t)rng_below(rng, (uint64_t)(running + waiting)) < waiting;
		int32_t *left = waits ? &waiting : &running;

		size = size > *left ? *left : size;
		*left -= size;
		job->root = (int32_t)rng_below(rng, (uint64_t)settings->machines);
		job->curve = draw_curve(rng);
		job->waiting = waits ? size : 0;
		job->running_begin = begin;
		job->running_count = waits ? 0 : size;
		job->unscheduled_cost = COST_GAMMA + draw_between(rng, 0, 100);
		begin += job->running_count;
	}
}

static void price_row(const struct instance *instance, const struct instance_job *job, int32_t *row)
{
	for (int32_t m = 0; m < instance->settings.machines; m++)
		row[m] = instance_curve_cost(job->curve, instance_latency_us(instance, job->root, m));
}

/* Adds the arcs of a job to racks, each at the cost of the rack's worst machine. Returns the cost of the worst rack. */
static int32_t rack_arcs(const struct instance *instance, int32_t pod, const int32_t *row, struct instance_arc *arcs,
			 int32_t *count)
{
	const struct instance_settings *settings = &instance->settings;
	int32_t worst = 0;

	for (int32_t r = 0; r < instance->rack_count; r++) {
		int32_t begin = r * settings->machines_per_rack, end = begin + settings->machines_per_rack, cost = 0;

		for (int32_t m = begin; m < end && m < settings->machines; m++)
			cost = row[m] > cost ? row[m] : cost;
		if ((settings->wide || r / settings->racks_per_pod == pod) && cost <= settings->rack_threshold)
			arcs[(*count)++] = (struct instance_arc){instance->rack_node + r, cost};
		worst = cost > worst ? cost : worst;
	}
	return worst;
}

/* Arcs that all tasks of a job share, in node order: X, racks, machines. Returns their number. */
static int32_t job_arcs(const struct instance *instance, const struct instance_job *job, const int32_t *row,
			struct instance_arc *arcs)
{
	const struct instance_settings *settings = &instance->settings;
	int32_t pod = pod_of(instance, job->root), count = 1;
	int32_t span = settings->machines_per_rack * (settings->wide ? settings->racks_per_pod : 1);
	int32_t begin = job->root / span * span, end = begin + span;
	int32_t worst = rack_arcs(instance, pod, row, arcs, &count);

	arcs[0] = (struct instance_arc){COST_X_NODE, worst};
	for (int32_t m = begin; m < end && m < settings->machines; m++) {
		if (row[m] <= settings->machine_threshold)
			arcs[count++] = (struct instance_arc){instance->machine_node + m, row[m]};
	}
	return count;
}

static void price_running(struct instance *instance)
{
	for (int32_t j = 0; j < instance->job_count; j++) {
		const struct instance_job *job = &instance->jobs[j];

		for (int32_t i = job->running_begin; i < job->running_begin + job->running_count; i++) {
			struct instance_running *running = &instance->running[i];
			int32_t full = instance_curve_cost(job->curve,
							   instance_latency_us(instance, job->root, running->machine));

			running->cost = full > running->discount ? full - running->discount : 0;
		}
	}
}

static int draw_arcs(struct instance *instance)
{
	int32_t room = 0, used = 0, most = 1 + instance->rack_count + instance->settings.machines;
	int32_t *row = malloc((size_t)instance->settings.machines * sizeof *row);

	if (!row)
		return -ENOMEM;
	for (int32_t j = 0; j < instance->job_count; j++) {
		struct instance_job *job = &instance->jobs[j];

		if (room - used < most) {
			struct instance_arc *grown;

			room = used + most + room / 2;
			grown = realloc(instance->arcs, (size_t)room * sizeof *grown);
			if (!grown) {
				free(row);
				return -ENOMEM;
			}
			instance->arcs = grown;
		}
		price_row(instance, job, row);
		job->arc_begin = used;
		job->arc_count = job_arcs(instance, job, row, instance->arcs + used);
		used += job->arc_count;
	}
	free(row);
	return 0;
}

static bool settings_fit(const struct instance_settings *s)
{
	return s->machines > 0 && s->machines_per_rack > 0 && s->racks_per_pod > 0 && s->slots_low > 0 &&
	       s->slots_high >= s->slots_low && s->running >= 0 && s->waiting >= 0 && s->waits > 0 &&
	       (int64_t)s->machines * s->slots_low >= s->running;
}

struct instance *instance_create(const struct instance_settings *settings)
{
	struct instance *instance;
	struct rng rng;
	int32_t *free_slots;
	size_t tasks, machines;

	if (!settings_fit(settings)) {
		errno = EINVAL;
		return NULL;
	}
	instance = calloc(1, sizeof *instance);
	if (!instance)
		return NULL;
	tasks = (size_t)settings->running + (size_t)settings->waiting;
	machines = (size_t)settings->machines;
	rng_seed(&rng, settings->seed);
	instance->settings = *settings;
	instance->latency_salt = rng_next(&rng);
	instance->rack_count = (settings->machines + settings->machines_per_rack - 1) / settings->machines_per_rack;
	instance->slots = malloc(machines * sizeof *instance->slots);
	instance->jobs = calloc(tasks + 1, sizeof *instance->jobs);
	instance->running = calloc((size_t)settings->running + 1, sizeof *instance->running);
	free_slots = malloc(machines * sizeof *free_slots);
	if (!instance->slots || !instance->jobs || !instance->running || !free_slots)
		goto out;
	for (size_t m = 0; m < machines; m++)
		free_slots[m] = instance->slots[m] = draw_between(&rng, settings->slots_low, settings->slots_high);
	draw_jobs(instance, &rng);
	place_running(instance, &rng, free_slots);
	if (!settings->preemption)
		memcpy(instance->slots, free_slots, machines * sizeof *free_slots);
	instance->rack_node = 2;
	instance->machine_node = instance->rack_node + instance->rack_count;
	instance->unscheduled_node = instance->machine_node + settings->machines;
	instance->task_node = instance->unscheduled_node + instance->job_count;
	price_running(instance);
	if (draw_arcs(instance) < 0)
		goto out;
	free(free_slots);
	return instance;
out:
	free(free_slots);
	instance_destroy(instance);
	errno = ENOMEM;
	return NULL;
}

void instance_destroy(struct instance *instance)
{
	if (!instance)
		return;
	free(instance->slots);
	free(instance->jobs);
	free(instance->running);
	free(instance->arcs);
	free(instance);
}
