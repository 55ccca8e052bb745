/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/ns.h>
#include <stdlib.h>
#include <string.h>

#include "structured_rounds.h"

enum { STEP_US = 10, STEPS = 256, CURVES = 4, SHARES = 4096 };

struct job {
	int32_t supply;
	int32_t share_count, share_room;
	struct structured_share *shares; /* where its units are, according to the last reading */
	uint8_t *steps;                  /* [machines] latency to the root */
};

struct row {
	int32_t group;
	int64_t first_arc, first_running; /* its columns; its blocks follow them */
	struct structured_row row;
};

struct rounds {
	const struct instance *instance;
	struct rng rng;
	struct structured *state;
	int32_t job_count, arrived; /* jobs 0..arrived-1 have arrived */
	struct job *jobs;
	uint8_t *step_pool;
	int32_t cost_of_step[CURVES][STEPS];
	/*
	 * Rows of a round, computed before they are passed to the solver: that time belongs to the costs, not to the
	 * solver.
	 */
	struct row *rows;
	int32_t row_count;
	struct arc *arcs;
	struct structured_running *running;
	int64_t arc_count, arc_room, running_count, running_room;
	/* Scratch space for one row and for reading. */
	struct arc *columns, *blocks;
	struct structured_share *shares;
	int32_t *touched, *ended_job, *ended_column;
	int64_t units, moves;
	int32_t owed; /* units that ended and have not been replaced yet, as only complete jobs arrive */
};

static void draw_latencies(struct rounds *rounds, int32_t job)
{
	const struct instance *instance = rounds->instance;

	for (int32_t m = 0; m < instance->settings.machines; m++) {
		double steps = instance_latency_us(instance, instance->jobs[job].root, m) / STEP_US + 0.5;

		rounds->jobs[job].steps[m] = steps > STEPS - 1 ? STEPS - 1 : (uint8_t)steps;
	}
}

struct rounds *rounds_create(const struct instance *instance, int32_t first_spare, uint64_t seed)
{
	struct rounds *rounds = calloc(1, sizeof(*rounds));
	size_t machines = (size_t)instance->settings.machines, jobs = (size_t)instance->job_count;

	if (!rounds)
		return NULL;
	rng_seed(&rounds->rng, seed);
	rounds->instance = instance;
	rounds->job_count = instance->job_count;
	rounds->arrived = first_spare;
	rounds->jobs = calloc(jobs, sizeof(*rounds->jobs));
	rounds->step_pool = malloc(jobs * machines);
	rounds->columns = malloc(machines * sizeof(*rounds->columns));
	rounds->blocks = malloc(machines * sizeof(*rounds->blocks));
	rounds->rows = malloc(jobs * sizeof(*rounds->rows));
	rounds->shares = malloc(SHARES * sizeof(*rounds->shares));
	rounds->touched = calloc(jobs, sizeof(*rounds->touched));
	rounds->ended_job = calloc(machines, sizeof(*rounds->ended_job));
	rounds->ended_column = calloc(machines, sizeof(*rounds->ended_column));
	if (!rounds->jobs || !rounds->step_pool || !rounds->columns || !rounds->blocks || !rounds->rows ||
	    !rounds->shares || !rounds->touched || !rounds->ended_job || !rounds->ended_column) {
		rounds_destroy(rounds);
		return NULL;
	}
	for (int32_t curve = 0; curve < CURVES; curve++)
		for (int32_t step = 0; step < STEPS; step++)
			rounds->cost_of_step[curve][step] = instance_curve_cost(curve, step * STEP_US);
	for (int32_t job = 0; job < rounds->job_count; job++) {
		rounds->jobs[job].steps = rounds->step_pool + (size_t)job * machines;
		draw_latencies(rounds, job);
	}
	return rounds;
}

void rounds_destroy(struct rounds *rounds)
{
	if (!rounds)
		return;
	structured_destroy(rounds->state);
	for (int32_t job = 0; rounds->jobs && job < rounds->job_count; job++)
		free(rounds->jobs[job].shares);
	free(rounds->jobs);
	free(rounds->step_pool);
	free(rounds->columns);
	free(rounds->blocks);
	free(rounds->rows);
	free(rounds->arcs);
	free(rounds->running);
	free(rounds->shares);
	free(rounds->touched);
	free(rounds->ended_job);
	free(rounds->ended_column);
	free(rounds);
}

/*
 * The curves fall, so a rack's extreme costs are at its extreme latencies. These are steps of one byte each,
 * of which a vector instruction compares 16.
 */
static void rack_row(struct rounds *rounds, const int32_t *cost, const uint8_t *steps, int32_t rack, int32_t root,
		     struct structured_row *row)
{
	const struct instance_settings *settings = &rounds->instance->settings;
	int32_t begin = rack * settings->machines_per_rack, end = begin + settings->machines_per_rack;
	uint8_t most = 0, least = STEPS - 1;

	end = end < settings->machines ? end : settings->machines;
	for (int32_t m = begin; m < end; m++) {
		most = steps[m] > most ? steps[m] : most;
		least = steps[m] < least ? steps[m] : least;
	}
	int32_t top = cost[most], limit = settings->machine_threshold, root_rack = root / settings->machines_per_rack;

	if (top > row->aggregator_cost)
		row->aggregator_cost = top;
	if (!settings->wide && rack / settings->racks_per_pod != root_rack / settings->racks_per_pod)
		return;
	if (top <= settings->rack_threshold) {
		rounds->blocks[row->block_count++] = (struct arc){rack, top};
		limit = top - 1 < limit ? top - 1 : limit;
	}
	if (cost[least] > limit || (!settings->wide && rack != root_rack))
		return;
	for (int32_t m = begin; m < end; m++)
		if (cost[steps[m]] <= limit)
			rounds->columns[row->column_count++] = (struct arc){m, cost[steps[m]]};
}

static void reserve(void **items, int64_t *room, int64_t needed, size_t item_bytes)
{
	if (needed <= *room)
		return;
	*room = 2 * needed;
	*items = realloc(*items, (size_t)*room * item_bytes);
	if (!*items)
		abort();
}

static int32_t fill_running(struct rounds *rounds, int32_t id)
{
	const struct job *job = &rounds->jobs[id];
	const int32_t *cost = rounds->cost_of_step[rounds->instance->jobs[id].curve];
	int64_t first = rounds->running_count;

	reserve((void **)&rounds->running, &rounds->running_room, first + job->share_count, sizeof(*rounds->running));
	for (int32_t i = 0; i < job->share_count; i++)
		rounds->running[first + i] = (struct structured_running){
			job->shares[i].column, cost[job->steps[job->shares[i].column]], job->shares[i].units};
	return job->share_count;
}

static void make_row(struct rounds *rounds, int32_t id)
{
	const struct instance_job *from = &rounds->instance->jobs[id];
	const int32_t *cost = rounds->cost_of_step[from->curve];
	struct row *made = &rounds->rows[rounds->row_count++];
	struct structured_row *row = &made->row;

	*made = (struct row){id, rounds->arc_count, rounds->running_count, {0}};
	row->unscheduled_cost = from->unscheduled_cost;
	row->unscheduled_capacity = INT32_MAX;
	for (int32_t rack = 0; rack < rounds->instance->rack_count; rack++)
		rack_row(rounds, cost, rounds->jobs[id].steps, rack, from->root, row);
	row->running_count = fill_running(rounds, id);
	rounds->running_count += row->running_count;
	reserve((void **)&rounds->arcs, &rounds->arc_room, made->first_arc + row->column_count + row->block_count,
		sizeof(*rounds->arcs));
	memcpy(rounds->arcs + made->first_arc, rounds->columns, (size_t)row->column_count * sizeof(*rounds->arcs));
	memcpy(rounds->arcs + made->first_arc + row->column_count, rounds->blocks,
	       (size_t)row->block_count * sizeof(*rounds->arcs));
	rounds->arc_count = made->first_arc + row->column_count + row->block_count;
}

/* Passes the computed rows and the supplies of their groups to the solver. */
static void send_rows(struct rounds *rounds)
{
	for (int32_t i = 0; i < rounds->row_count; i++) {
		struct row *made = &rounds->rows[i];

		made->row.columns = rounds->arcs + made->first_arc;
		made->row.blocks = made->row.columns + made->row.column_count;
		made->row.running = rounds->running + made->first_running;
		structured_set_row(rounds->state, made->group, &made->row);
		structured_set_supply(rounds->state, made->group, rounds->jobs[made->group].supply);
	}
	rounds->row_count = 0;
	rounds->arc_count = rounds->running_count = 0;
}

/* Updates the running arcs only: tasks have moved, costs have not changed. */
static void send_running(struct rounds *rounds, int32_t id)
{
	int32_t count = fill_running(rounds, id);

	structured_set_running(rounds->state, id, rounds->running, count);
}

/* Stores a group's shares. False if no unit has moved. */
static bool keep_shares(struct rounds *rounds, struct job *job, int32_t count)
{
	int32_t old = 0, stay = 0, total = 0;

	for (int32_t i = 0; i < count; i++) {
		while (old < job->share_count && job->shares[old].column < rounds->shares[i].column)
			old++;
		total += rounds->shares[i].units;
		if (old < job->share_count && job->shares[old].column == rounds->shares[i].column)
			stay += job->shares[old].units < rounds->shares[i].units ? job->shares[old].units
										 : rounds->shares[i].units;
	}
	if (total == stay && count == job->share_count)
		return false;
	rounds->moves += total - stay;
	if (count > job->share_room) {
		free(job->shares);
		job->share_room = 2 * count;
		job->shares = malloc(sizeof(*job->shares) * (size_t)job->share_room);
	}
	if (count > 0)
		memcpy(job->shares, rounds->shares, sizeof(*job->shares) * (size_t)count);
	job->share_count = count;
	return true;
}

/* Reads the changed shares and reports them back to the solver as running. */
static void adopt(struct rounds *rounds)
{
	const int32_t *changed;
	int32_t count = structured_changed(rounds->state, &changed);

	memcpy(rounds->touched, changed, sizeof(*changed) * (size_t)count);
	structured_changed_clear(rounds->state);
	rounds->moves = 0;
	for (int32_t i = 0; i < count; i++) {
		int32_t id = rounds->touched[i];
		int32_t shares = structured_read(rounds->state, id, rounds->shares, SHARES);

		if (keep_shares(rounds, &rounds->jobs[id], shares) && rounds->jobs[id].supply > 0)
			send_running(rounds, id);
	}
	structured_changed_clear(rounds->state);
}

static void arrive(struct rounds *rounds, int32_t id)
{
	const struct instance_job *from = &rounds->instance->jobs[id];

	rounds->jobs[id].supply = from->waiting + from->running_count;
	rounds->units += rounds->jobs[id].supply;
	make_row(rounds, id);
}

double rounds_start(struct rounds *rounds, struct structured_result *result)
{
	const struct instance *instance = rounds->instance;

	rounds->state = structured_create(rounds->job_count, instance->settings.machines, instance->rack_count);
	if (!rounds->state)
		return -1;
	for (int32_t m = 0; m < instance->settings.machines; m++)
		structured_set_column(rounds->state, m, m / instance->settings.machines_per_rack, instance->slots[m]);
	for (int32_t id = 0; id < rounds->arrived; id++)
		arrive(rounds, id);
	send_rows(rounds);
	double start = ns_to_s(ns_now_cpu());

	structured_solve(rounds->state, result);
	double seconds = ns_to_s(ns_now_cpu()) - start;

	adopt(rounds);
	return seconds;
}

/* Ends random running tasks; waiting tasks do not end. */
static int32_t draw_ends(struct rounds *rounds, int32_t wanted)
{
	int32_t count = 0;

	for (int32_t tries = 0; count < wanted && tries < 50 * wanted; tries++) {
		int32_t id = (int32_t)rng_below(&rounds->rng, (uint64_t)rounds->arrived);
		struct job *job = &rounds->jobs[id];

		if (job->share_count == 0)
			continue;
		struct structured_share *share = &job->shares[rng_below(&rounds->rng, (uint64_t)job->share_count)];

		if (share->units == 0)
			continue;
		share->units--;
		job->supply--;
		rounds->ended_job[count] = id;
		rounds->ended_column[count++] = share->column;
	}
	return count;
}

/* Changes a quarter of the job's latencies by one or two steps. */
static int32_t draw_recosts(struct rounds *rounds, double share)
{
	int32_t count = 0;

	for (int32_t id = 0; id < rounds->arrived; id++) {
		if (rounds->jobs[id].supply == 0 || rng_uniform(&rounds->rng) >= share)
			continue;
		for (int32_t m = 0; m < rounds->instance->settings.machines; m++) {
			uint64_t bits = rng_next(&rounds->rng);
			int32_t step =
				rounds->jobs[id].steps[m] + (int32_t)(bits >> 8 & 3) - 1 - (int32_t)(bits >> 10 & 1);

			if ((bits & 3) == 0)
				rounds->jobs[id].steps[m] = (uint8_t)(step < 0 ? 0 : step >= STEPS ? STEPS - 1 : step);
		}
		rounds->touched[count++] = id;
	}
	return count;
}

struct round_seconds rounds_next(struct rounds *rounds, int32_t turnover, double recost,
				 struct structured_result *result)
{
	int32_t ends = draw_ends(rounds, turnover), recosts = draw_recosts(rounds, recost);
	double start = ns_to_s(ns_now_cpu());

	rounds->units -= ends;
	for (int32_t i = 0; i < recosts; i++)
		if (rounds->jobs[rounds->touched[i]].supply > 0)
			make_row(rounds, rounds->touched[i]);
	for (rounds->owed += ends; rounds->owed > 0 && rounds->arrived < rounds->job_count;) {
		arrive(rounds, rounds->arrived);
		rounds->owed -= rounds->jobs[rounds->arrived++].supply;
	}
	double made = ns_to_s(ns_now_cpu());

	for (int32_t i = 0; i < ends; i++)
		structured_end_unit(rounds->state, rounds->ended_job[i], rounds->ended_column[i]);
	send_rows(rounds);
	structured_solve(rounds->state, result);
	adopt(rounds);
	return (struct round_seconds){made - start, ns_to_s(ns_now_cpu()) - made};
}

const struct structured *rounds_state(const struct rounds *rounds)
{
	return rounds->state;
}

int64_t rounds_units(const struct rounds *rounds)
{
	return rounds->units;
}

int64_t rounds_moves(const struct rounds *rounds)
{
	return rounds->moves;
}
