/* SPDX-License-Identifier: BSD-3-Clause */
#include "random_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void need(int holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "random case: %s\n", what);
		abort();
	}
}

static void draw_curves(struct random_case *random, struct rng *rng)
{
	for (int k = 0; k < CASE_CURVES; k++) {
		size_t threshold = rng_below(rng, 6);
		double fall = 0.005 + 0.05 * rng_uniform(rng);
		struct error err = {0};

		for (size_t i = 0; i < 30; i++)
			random->p[k][i] = i < threshold ? 1 : fmax(0.1, 1 - fall * (double)(i - threshold));
		random->curves[k] = curve_from_table("random", random->p[k], 30, &err);
		need(random->curves[k] != NULL, err.text);
	}
}

/* Near in a rack, far across racks, in steps of the curves' tables; the two directions may differ. */
static void draw_latencies(struct random_case *random, struct rng *rng, double silent)
{
	for (uint32_t a = 0; a < random->machine_count; a++) {
		for (uint32_t b = 0; b < random->machine_count; b++) {
			bool near = random->machines[a].rack == random->machines[b].rack;

			random->rtt_us[a][b] = (float)(10 * (near ? 1 + rng_below(rng, 8) : 8 + rng_below(rng, 25)));
			if (a != b && rng_uniform(rng) < silent)
				random->rtt_us[a][b] = INFINITY;
		}
	}
}

int64_t random_case_free_slots(const struct random_case *random, uint32_t machine)
{
	int64_t slots = random->machines[machine].slots;

	for (uint32_t j = 0; j < random->job_count; j++)
		for (uint32_t t = 0; t < random->jobs[j].tasks; t++)
			slots -= random->jobs[j].machine[t] == (int32_t)machine;
	return slots;
}

int32_t random_case_place(const struct random_case *random, struct rng *rng)
{
	uint32_t machine = (uint32_t)rng_below(rng, random->machine_count);

	for (uint32_t i = 0; i < random->machine_count; i++, machine = (machine + 1) % random->machine_count)
		if (random_case_free_slots(random, machine) > 0)
			return (int32_t)machine;
	return CASE_WAITS;
}

void random_case_draw(struct random_case *random, struct rng *rng, double silent)
{
	uint32_t racks = 1 + (uint32_t)rng_below(rng, 4);
	int64_t slots = 0;

	*random = (struct random_case){.machine_count = 3 + (uint32_t)rng_below(rng, CASE_MACHINES - 2)};
	for (uint32_t m = 0; m < random->machine_count; m++)
		random->machines[m] = (struct case_machine){.rack = (uint32_t)rng_below(rng, racks),
							    .slots = 1 + (int64_t)rng_below(rng, 3),
							    .draining = rng_below(rng, 12) == 0};
	for (uint32_t m = 0; m < random->machine_count; m++)
		slots += random->machines[m].slots;
	draw_curves(random, rng);
	draw_latencies(random, rng, silent);
	for (uint32_t j = 0; j < CASE_JOBS; j++) {
		struct case_job job = {.weight = 1,
				       .curve = (int)rng_below(rng, CASE_CURVES),
				       .tasks = 1 + (uint32_t)rng_below(rng, slots < CASE_TASKS ? slots : CASE_TASKS)};

		job.machine[0] = random_case_place(random, rng);
		if (job.machine[0] == CASE_WAITS)
			return;
		for (uint32_t t = 1; t < job.tasks; t++)
			job.machine[t] = CASE_WAITS;
		random->jobs[random->job_count++] = job;
		if (job.tasks > 1 && rng_below(rng, 3) == 0)
			random->jobs[j].machine[1] = random_case_place(random, rng);
	}
}

void random_case_free(struct random_case *random)
{
	for (int k = 0; k < CASE_CURVES; k++)
		curve_destroy(random->curves[k]);
}

int64_t random_case_cost(const struct random_case *random, int curve, int32_t root, int32_t machine)
{
	double out = (double)random->rtt_us[root][machine], in = (double)random->rtt_us[machine][root];
	double rtt_us = out > in ? out : in, p;

	if (isinf(rtt_us))
		return 0;
	p = rtt_us >= 290 ? random->p[curve][29] : random->p[curve][(int)(rtt_us / 10)];
	return lround(100 / p);
}

int64_t random_case_cost_of(const struct random_case *random, int32_t places[CASE_JOBS][CASE_TASKS])
{
	int64_t total = 0, used[CASE_MACHINES] = {0};

	for (uint32_t j = 0; j < random->job_count; j++) {
		const struct case_job *job = &random->jobs[j];

		for (uint32_t t = 0; t < job->tasks; t++) {
			int64_t cost = CASE_WAITING_COST;

			if (job->machine[t] != CASE_WAITS) {
				need(places[j][t] == job->machine[t], "a running task has moved");
				continue;
			}
			if (places[j][t] != CASE_WAITS) {
				cost = random_case_cost(random, job->curve, job->machine[0], places[j][t]);
				need(cost > 0, "a task is on an unreachable machine");
				need(!random->machines[places[j][t]].draining, "a task is on a draining machine");
				need(used[places[j][t]]++ < random_case_free_slots(random, (uint32_t)places[j][t]),
				     "a machine is overfull");
			}
			total += job->weight * cost;
		}
	}
	return total;
}

/* A waiting task, and its place in the assignment so far. */
struct seeker {
	int curve;
	int64_t weight;
	int32_t root, place;
};

static int64_t cost_at(const struct random_case *random, const struct seeker *seeker, int32_t place)
{
	int64_t cost =
		place == CASE_WAITS ? CASE_WAITING_COST : random_case_cost(random, seeker->curve, seeker->root, place);

	return cost > 0 ? seeker->weight * cost : 100000000;
}

/*
 * Adds seekers[count] along the cheapest path: it takes a place, whose occupant takes another, and so on, until one
 * takes a free slot or waits. Bellman and Ford's algorithm over places.
 */
static void add_seeker(const struct random_case *random, struct seeker *seekers, uint32_t count, int64_t *slots)
{
	int64_t distance[CASE_MACHINES] = {0}, best = cost_at(random, &seekers[count], CASE_WAITS);
	int32_t from[CASE_MACHINES] = {0}, mover[CASE_MACHINES] = {0}, end = CASE_WAITS;
	struct seeker *leaver = NULL;

	for (uint32_t m = 0; m < random->machine_count; m++) {
		distance[m] = cost_at(random, &seekers[count], (int32_t)m);
		from[m] = CASE_WAITS;
		mover[m] = (int32_t)count;
	}
	for (uint32_t round = 0; round < random->machine_count; round++) {
		for (uint32_t s = 0; s < count; s++) {
			int32_t here = seekers[s].place;

			for (uint32_t m = 0; here != CASE_WAITS && m < random->machine_count; m++) {
				int64_t through = distance[here] + cost_at(random, &seekers[s], (int32_t)m) -
						  cost_at(random, &seekers[s], here);

				if (through < distance[m]) {
					distance[m] = through;
					from[m] = here;
					mover[m] = (int32_t)s;
				}
			}
		}
	}
	for (uint32_t m = 0; m < random->machine_count; m++) {
		if (slots[m] > 0 && distance[m] < best) {
			best = distance[m];
			end = (int32_t)m;
		}
	}
	for (uint32_t s = 0; s < count; s++) {
		int32_t here = seekers[s].place;
		int64_t waits = cost_at(random, &seekers[s], CASE_WAITS) - cost_at(random, &seekers[s], here);

		if (here != CASE_WAITS && distance[here] + waits < best) {
			best = distance[here] + waits;
			end = here;
			leaver = &seekers[s];
		}
	}
	if (leaver) {
		leaver->place = CASE_WAITS;
		slots[end]++;
	}
	seekers[count].place = end;
	if (end != CASE_WAITS)
		slots[end]--;
	for (int32_t at = end; at != CASE_WAITS; at = from[at])
		seekers[mover[at]].place = at;
}

int64_t random_case_optimum(const struct random_case *random)
{
	struct seeker seekers[CASE_JOBS * CASE_TASKS];
	int64_t slots[CASE_MACHINES], total = 0;
	uint32_t count = 0;

	for (uint32_t m = 0; m < random->machine_count; m++)
		slots[m] = random->machines[m].draining ? 0 : random_case_free_slots(random, m);
	for (uint32_t j = 0; j < random->job_count; j++) {
		for (uint32_t t = 0; t < random->jobs[j].tasks; t++) {
			if (random->jobs[j].machine[t] != CASE_WAITS)
				continue;
			seekers[count] = (struct seeker){random->jobs[j].curve, random->jobs[j].weight,
							 random->jobs[j].machine[0], CASE_WAITS};
			add_seeker(random, seekers, count, slots);
			count++;
		}
	}
	for (uint32_t s = 0; s < count; s++)
		total += cost_at(random, &seekers[s], seekers[s].place);
	return total;
}

const struct job_graph *random_case_graph(const struct random_case *random, uint32_t job)
{
	static const char *const names[] = {"star", "ring", "tree"};
	static struct job_graph *graphs[3][CASE_TASKS + 1];
	uint32_t tasks = random->jobs[job].tasks;
	struct job_graph **graph = &graphs[job % 3][tasks];
	struct error err = {0};
	struct json_reader reader = {.file = "case", .err = &err};
	json_t *name = json_string(names[job % 3]);

	if (!*graph)
		*graph = job_graph_read(&reader, name, NULL, tasks);
	json_decref(name);
	if (reader.failed)
		abort();
	return *graph;
}
