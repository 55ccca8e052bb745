/* SPDX-License-Identifier: BSD-3-Clause */
#include "schedd_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/ns.h>
#include <model/journal.h>
#include <sched/live/calls.h>

#define DAY_S 86400.0

struct record {
	FILE *out; /* the lines that are not committed yet */
	char *text;
	size_t bytes;
	double origin_s, days, checkpoint_s;
	struct cluster_default_rtt default_rtt;
	int64_t last_us;
	bool is_new; /* the store has no journal yet */
	bool failed; /* a line is missing, because memory ran out */
};

static double wall_s(void)
{
	return ns_to_s(ns_now_wall());
}

struct record *record_create(struct store *store, double days, const struct cluster_default_rtt *default_rtt)
{
	struct record *record = calloc(1, sizeof *record);
	double last_s;

	if (record)
		record->out = open_memstream(&record->text, &record->bytes);
	if (!record || !record->out) {
		free(record);
		return NULL;
	}
	record->days = days;
	record->default_rtt = *default_rtt;
	store_journal_range(store, &record->origin_s, &last_s);
	record->is_new = record->origin_s <= 0;
	if (record->is_new)
		record->origin_s = last_s = floor(wall_s());
	record->last_us = (int64_t)((last_s - record->origin_s) * 1e6);
	record->checkpoint_s = wall_s();
	if (record->is_new)
		record->failed = !journal_print_header(record->out, record->origin_s, &record->default_rtt);
	return record;
}

void record_destroy(struct record *record)
{
	if (!record)
		return;
	fclose(record->out);
	free(record->text);
	free(record);
}

/*
 * Returns the present time as microseconds since the journal's origin. Never returns less than the last time, even if
 * the wall clock is set back.
 */
static int64_t now_us(struct record *record)
{
	int64_t now = (int64_t)((wall_s() - record->origin_s) * 1e6);

	if (now > record->last_us)
		record->last_us = now;
	return record->last_us;
}

static struct journal_event event_of(struct record *record, enum journal_kind kind)
{
	return (struct journal_event){.kind = kind,
				      .time_us = now_us(record),
				      .run_us = JOURNAL_RUN_UNKNOWN,
				      .rtt_us = NAN,
				      .performance = NAN,
				      .gain = NAN};
}

static void print(struct record *record, const struct journal_event *event)
{
	record->failed |= !journal_print(record->out, event);
}

void record_machine(struct record *record, const struct live *live, uint32_t number)
{
	static const enum journal_machine_state states[] = {
		[LIVE_UP] = JOURNAL_UP, [LIVE_DRAINING] = JOURNAL_DRAINING, [LIVE_DOWN] = JOURNAL_DOWN};
	const struct cluster *cluster = live_cluster(live);
	const struct cluster_machine *machine = &cluster->machines[number];
	struct journal_event event = event_of(record, JOURNAL_MACHINE);

	event.machine = machine->name;
	event.rack = cluster->racks[machine->rack].name;
	event.pod = cluster->pods[cluster->racks[machine->rack].pod];
	event.pod = event.pod && event.pod[0] ? event.pod : NULL;
	event.slots = machine->slots;
	event.machine_state = states[live_machine_state_of(live, number)];
	print(record, &event);
}

void record_machine_removed(struct record *record, const char *name, const char *rack)
{
	struct journal_event event = event_of(record, JOURNAL_MACHINE);

	event.machine = name;
	event.rack = rack;
	event.machine_state = JOURNAL_REMOVED;
	print(record, &event);
}

void record_curve(struct record *record, const char *name, const char *text)
{
	struct journal_event event = event_of(record, JOURNAL_CURVE);

	event.curve = name;
	event.definition = text;
	print(record, &event);
}

static void put_task_at(struct record *record, int64_t time_us, const struct live_job *job,
			const struct live_task *task, enum journal_task_state state, const char *machine)
{
	struct journal_event event = event_of(record, JOURNAL_TASK);

	event.time_us = time_us;
	event.job = job->id;
	event.task = task->name;
	event.task_state = state;
	event.machine = machine;
	print(record, &event);
}

static void put_task(struct record *record, const struct live_job *job, const struct live_task *task,
		     enum journal_task_state state, const char *machine)
{
	put_task_at(record, now_us(record), job, task, state, machine);
}

/* Returns the edges between the job's tasks; NULL: no graph, or out of memory. */
static json_t *graph_json(const struct live_job *job)
{
	const char **names = job->graph ? calloc(job->task_count, sizeof *names) : NULL;
	json_t *edges;

	if (!names)
		return NULL;
	for (uint32_t t = 0; t < job->task_count; t++)
		names[t] = job->tasks[t].name;
	edges = job_graph_edges(job->graph, names);
	free(names);
	return edges;
}

/*
 * Records a job and its tasks. All events get the same time, because a simulation of the journal submits a job as a
 * whole.
 */
void record_job(struct record *record, const struct live_job *job)
{
	struct journal_event event = event_of(record, JOURNAL_JOB);

	event.job = job->id;
	event.curve = job->curve;
	event.task = job->tasks[job->root].name;
	event.gang = job->limits.minimum_tasks;
	event.graph = graph_json(job);
	record->failed |= job->graph && !event.graph;
	print(record, &event);
	json_decref(event.graph);
	for (uint32_t t = 0; t < job->task_count; t++)
		put_task_at(record, event.time_us, job, &job->tasks[t], JOURNAL_WAITING, NULL);
}

static const char *machine_name(const struct live *live, int32_t machine)
{
	return live_cluster(live)->machines[machine].name;
}

static void put_state(struct record *record, const struct live *live, const struct live_job *job,
		      const struct live_task *task)
{
	switch (task->state) {
	case LIVE_WAITING:
		if (task->decision > 0 ||
		    task->attempts > 0) /* a task without decision and failure is recorded as waiting by record_job() */
			put_task(record, job, task, JOURNAL_WAITING, NULL);
		return;
	case LIVE_RUNNING:
		put_task(record, job, task, JOURNAL_RUNNING, machine_name(live, task->machine));
		return;
	case LIVE_ENDED:
		put_task(record, job, task, JOURNAL_ENDED, NULL);
		return;
	case LIVE_FAILED:
		put_task(record, job, task, JOURNAL_FAILED, NULL);
		return;
	default: /* decided and moving: recorded by record_decision() */
		return;
	}
}

void record_tasks(struct record *record, const struct live *live, const struct live_job *job, bool is_gone)
{
	for (uint32_t t = 0; t < job->task_count; t++) {
		const struct live_task *task = &job->tasks[t];

		if (is_gone && (task->dirty || task->state != LIVE_ENDED))
			put_task(record, job, task, JOURNAL_ENDED, NULL);
		else if (task->dirty)
			put_state(record, live, job, task);
	}
}

void record_decision(struct record *record, const struct live_decision *decision)
{
	struct journal_event event;

	live_decision_event(decision, now_us(record), &event);
	print(record, &event);
}

void record_call(void *context, const char *call)
{
	struct record *record = context;
	struct journal_event event = event_of(record, JOURNAL_CALL);

	event.definition = call;
	print(record, &event);
}

/* Writes a line for each source machine, or several lines if the source has more than PAIRS_MOST samples. */
void record_latency(void *context, const struct live *live, const struct latency_sample *samples, size_t count)
{
	enum { PAIRS_MOST = 256 };
	struct record *record = context;
	struct journal_pair pairs[PAIRS_MOST];

	for (size_t first = 0, last; first < count; first = last) {
		struct journal_event event = event_of(record, JOURNAL_LATENCY);

		for (last = first;
		     last < count && last - first < PAIRS_MOST && samples[last].source == samples[first].source; last++)
			pairs[last - first] =
				(struct journal_pair){.to = machine_name(live, (int32_t)samples[last].destination),
						      .rtt_us = (double)samples[last].rtt_us};
		event.machine = machine_name(live, (int32_t)samples[first].source);
		event.pairs = pairs;
		event.pair_count = last - first;
		print(record, &event);
	}
}

static void put_all(struct record *record, const struct live *live)
{
	const struct cluster *cluster = live_cluster(live);
	struct live_job *const *jobs;
	uint32_t count;

	for (uint32_t m = 0; m < cluster->machine_count; m++)
		if (cluster->machines[m].name)
			record_machine(record, live, m);
	for (size_t c = 0; live_curve_name(live, c); c++)
		if (live_curve_name(live, c)[0])
			record_curve(record, live_curve_name(live, c), live_curve_text(live, live_curve_name(live, c)));
	jobs = live_jobs(live, &count);
	for (uint32_t j = 0; j < count; j++) {
		if (!jobs[j])
			continue;
		record_job(record, jobs[j]);
		for (uint32_t t = 0; t < jobs[j]->task_count; t++)
			put_state(record, live, jobs[j], &jobs[j]->tasks[t]);
	}
}

void record_state(struct record *record, const struct live *live)
{
	if (record->is_new)
		put_all(record, live);
}

/* Passes the collected lines to the store and empties the buffer. If a line is missing, nothing is committed. */
static void hand_over(struct record *record, struct store *store, bool checkpoint, double at_s)
{
	bool any = ftell(record->out) > 0;

	if (fputc('\0', record->out) == EOF || fflush(record->out) != 0 || record->failed)
		store_give_up(store);
	else if (any)
		store_put_journal(store, at_s, checkpoint ? record->origin_s : 0, record->text);
	rewind(record->out);
}

void record_put(struct record *record, struct store *store, const struct live *live)
{
	double now_s = wall_s();

	hand_over(record, store, record->is_new, now_s);
	record->is_new = false;
	if (now_s - record->checkpoint_s < DAY_S && now_s >= record->checkpoint_s)
		return;
	record->failed |= !journal_print_header(record->out, record->origin_s, &record->default_rtt);
	put_all(record, live);
	hand_over(record, store, true, now_s);
	record->checkpoint_s = now_s;
	store_cut_journal(store, now_s - record->days * DAY_S);
}
