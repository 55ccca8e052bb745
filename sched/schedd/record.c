/* SPDX-License-Identifier: BSD-3-Clause */
#include "record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/ns.h>
#include <model/journal.h>

#define DAY_S 86400.0

struct record {
	FILE *out; /* what is not committed yet */
	char *text;
	size_t bytes;
	double origin_s, days, checkpoint_s;
	int64_t last_us;
	bool is_new; /* the journal needs its header and the state that it begins with */
};

static double wall_s(void)
{
	return ns_to_s(ns_now_wall());
}

struct record *record_create(struct store *store, double days)
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
	store_journal_range(store, &record->origin_s, &last_s);
	record->is_new = record->origin_s <= 0;
	if (record->is_new)
		record->origin_s = last_s = floor(wall_s());
	record->last_us = (int64_t)((last_s - record->origin_s) * 1e6);
	record->checkpoint_s = wall_s();
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

/* Journal time never goes back, whatever the wall clock does. */
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
	journal_print(record->out, &event);
}

void record_machine_removed(struct record *record, const char *name, const char *rack)
{
	struct journal_event event = event_of(record, JOURNAL_MACHINE);

	event.machine = name;
	event.rack = rack;
	event.machine_state = JOURNAL_REMOVED;
	journal_print(record->out, &event);
}

void record_curve(struct record *record, const char *name, const char *text)
{
	struct journal_event event = event_of(record, JOURNAL_CURVE);

	event.curve = name;
	event.definition = text;
	journal_print(record->out, &event);
}

static void put_task(struct record *record, const struct live_job *job, const struct live_task *task,
		     enum journal_task_state state, const char *machine)
{
	struct journal_event event = event_of(record, JOURNAL_TASK);

	event.job = job->id;
	event.task = task->name;
	event.task_state = state;
	event.machine = machine;
	journal_print(record->out, &event);
}

void record_job(struct record *record, const struct live_job *job)
{
	struct journal_event event = event_of(record, JOURNAL_JOB);

	event.job = job->id;
	event.curve = job->curve;
	event.task = job->tasks[job->root].name;
	journal_print(record->out, &event);
	for (uint32_t t = 0; t < job->task_count; t++)
		put_task(record, job, &job->tasks[t], JOURNAL_WAITING, NULL);
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
		if (task->decision > 0 || task->attempts > 0) /* else it was submitted just now */
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
	default: /* a decision says it */
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
	static const enum journal_decision kinds[] = {
		[LIVE_PLACE] = JOURNAL_PLACE, [LIVE_MOVE] = JOURNAL_MOVE, [LIVE_ADVICE] = JOURNAL_ADVICE};
	struct journal_event event = event_of(record, JOURNAL_DECISION);

	event.decision = kinds[decision->kind];
	event.sequence = decision->sequence;
	event.job = decision->job;
	event.task = decision->task;
	event.from = decision->from;
	event.to = decision->to;
	event.rtt_us = decision->rtt_us;
	event.performance = decision->performance;
	event.gain = decision->kind == LIVE_PLACE ? NAN : decision->gain;
	journal_print(record->out, &event);
}

void record_latency(void *context, const struct live *live, uint32_t source, uint32_t destination, float rtt_us)
{
	struct record *record = context;
	struct journal_pair pair = {.to = machine_name(live, (int32_t)destination), .rtt_us = (double)rtt_us};
	struct journal_event event = event_of(record, JOURNAL_LATENCY);

	event.machine = machine_name(live, (int32_t)source);
	event.pairs = &pair;
	event.pair_count = 1;
	journal_print(record->out, &event);
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

/* Hands over what was collected and begins again. */
static void hand_over(struct record *record, struct store *store, bool checkpoint, double at_s)
{
	bool any = ftell(record->out) > 0;

	fputc('\0', record->out);
	fflush(record->out);
	if (any)
		store_put_journal(store, at_s, checkpoint ? record->origin_s : 0, record->text);
	rewind(record->out);
}

void record_put(struct record *record, struct store *store, const struct live *live)
{
	double now_s = wall_s();

	if (record->is_new) {
		rewind(record->out); /* the state has it */
		journal_print_header(record->out, record->origin_s);
		put_all(record, live);
		hand_over(record, store, true, now_s);
		record->is_new = false;
		record->checkpoint_s = now_s;
		return;
	}
	hand_over(record, store, false, now_s);
	if (now_s - record->checkpoint_s < DAY_S && now_s >= record->checkpoint_s)
		return;
	journal_print_header(record->out, record->origin_s);
	put_all(record, live);
	hand_over(record, store, true, now_s);
	record->checkpoint_s = now_s;
	store_cut_journal(store, now_s - record->days * DAY_S);
}
