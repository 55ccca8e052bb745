/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/hash.h>
#include <base/rng.h>
#include <sched/live/calls.h>

#include "fixture.h"
#include "live_priv.h"

/* The network places a root for all tasks without a machine, also for those that pause after a failure. */
static void check_expected(const struct live *live, const struct live_job *job)
{
	uint32_t waiting = 0;

	for (uint32_t t = 0; job && t < job->task_count; t++)
		waiting += job->tasks[t].state == LIVE_WAITING;
	if (job && !job->is_held) /* a held job is not in the network */
		cr_assert_geq(flownet_unplaced_tasks(live->net, job->number), waiting, "job %s", job->id);
}

/* Invariants, checked after every event. */
static void check(const struct live *live)
{
	uint32_t jobs, used[64] = {0};
	struct live_job *const *list = live_jobs(live, &jobs);
	size_t count;
	const struct live_decision *decisions = live_decisions(live, 0, &count);

	for (uint32_t j = 0; j < jobs; j++)
		for (uint32_t t = 0; list[j] && t < list[j]->task_count; t++) {
			const struct live_task *task = &list[j]->tasks[t];
			bool holds = task->state == LIVE_DECIDED || task->state == LIVE_RUNNING ||
				     task->state == LIVE_MOVING;

			cr_assert_eq(holds, task->machine >= 0, "job %s task %s: %s", list[j]->id, task->name,
				     live_task_state_name(task->state));
			cr_assert_eq(task->state == LIVE_MOVING, task->origin >= 0);
			if (holds) {
				cr_assert_neq(live_machine_state_of(live, (uint32_t)task->machine), LIVE_DOWN);
				used[task->machine]++;
			}
			if (task->origin >= 0)
				used[task->origin]++;
		}
	for (uint32_t m = 0; m < live_cluster(live)->machine_count; m++)
		if (live_cluster(live)->machines[m].name)
			cr_assert_eq(used[m], live_machine_tasks(live, m), "machine %s: %u tasks, the network has %u",
				     live_cluster(live)->machines[m].name, used[m], live_machine_tasks(live, m));
	cr_assert_eq(live_find_mismatch(live), LIVE_MATCH);
	for (uint32_t j = 0; j < jobs; j++)
		check_expected(live, list[j]);
	for (size_t d = 1; d < count; d++)
		cr_assert_eq(decisions[d].sequence, decisions[d - 1].sequence + 1);
}

static void random_report(struct live *live, struct rng *rng, double now_s)
{
	uint32_t jobs;
	struct live_job *const *list = live_jobs(live, &jobs);
	uint32_t j = jobs ? (uint32_t)rng_below(rng, jobs) : 0;
	const struct live_task *task;
	struct error err = {0};
	char id[16], name[16];

	if (jobs == 0 || !list[j])
		return;
	task = &list[j]->tasks[rng_below(rng, list[j]->task_count)];
	strcpy(id, list[j]->id);
	strcpy(name, task->name);
	switch (rng_below(rng, 6)) {
	case 0:
		live_failed(live, id, name, now_s, &err);
		break;
	case 1:
		live_ended(live, id, name, &err);
		break;
	case 2:
		live_cancel(live, id, &err);
		break;
	default:
		if (task->machine >= 0)
			live_started(live, id, name, live_cluster(live)->machines[task->machine].name, now_s, &err);
	}
}

static void random_event(struct live *live, struct rng *rng, double now_s)
{
	struct error err = {0};
	char id[16], name[16], rack[16];
	uint32_t machine = (uint32_t)rng_below(rng, 6);

	snprintf(name, sizeof name, "m%u", machine);
	snprintf(rack, sizeof rack, "r%u", machine / 3);
	switch (rng_below(rng, 5)) {
	case 0: {
		uint32_t tasks = 1 + (uint32_t)rng_below(rng, 4), minimum = (uint32_t)rng_below(rng, tasks + 1);

		snprintf(id, sizeof id, "j%u", (uint32_t)rng_below(rng, 8));
		fixture_submit_limited(live, id, tasks, rng_below(rng, 2),
				       (struct job_limits){.minimum_tasks = minimum}, &err);
		break;
	}
	case 1:
		live_machine_set(live, name, rack, "p", (uint32_t)rng_below(rng, 4),
				 (enum live_machine_state)rng_below(rng, 3), &err);
		break;
	case 2: {
		struct latency_sample sample = {machine, (uint32_t)rng_below(rng, 6),
						rng_below(rng, 5) ? (float)(50 * rng_uniform(rng)) : INFINITY};

		cr_assert_eq(live_latency(live, &sample, 1, now_s), 0);
		cr_assert_eq(live_expire(live, now_s), 0);
		break;
	}
	default:
		random_report(live, rng, now_s);
	}
}

/* What a restart of the daemon does: a new live state from the machines, the curve, and the jobs as stored. */
static struct live *restart(struct live *old, struct live_settings *settings, double now_s)
{
	struct live *live = fixture_make(settings);
	struct error err = {0};
	uint32_t jobs;
	struct live_job *const *list = live_jobs(old, &jobs);

	for (uint32_t m = 0; m < 6; m++) {
		const struct cluster_machine *machine = &live_cluster(old)->machines[m];

		cr_assert_eq(live_machine_set(live, machine->name, m < 3 ? "r0" : "r1", "p", machine->slots,
					      live_machine_state_of(old, m), &err),
			     0);
	}
	for (uint32_t j = 0; j < jobs; j++) {
		struct job_task of_job[16];
		struct job job = {.tasks = of_job};

		if (!list[j])
			continue;
		job.id = list[j]->id;
		job.curve = list[j]->curve;
		job.root = list[j]->root;
		job.task_count = list[j]->task_count;
		job.limits = list[j]->limits;
		for (uint32_t t = 0; t < job.task_count; t++)
			of_job[t] = (struct job_task){.name = list[j]->tasks[t].name, .machine = JOB_NO_MACHINE};
		cr_assert_eq(live_restore(live, &job, 0, list[j]->may_move, list[j]->tasks, now_s, &err), 0, "%s",
			     err.text);
	}
	live_number_decisions(live, live_last_decision(old));
	live_destroy(old);
	return live;
}

/* Events between restarts, so that tasks of each state are restored and then leave that state in each way. */
Test(live_random, restarts_at_any_state_keep_every_law)
{
	struct live_settings settings;
	struct live *live;
	struct rng rng;
	double now_s = 0;

	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ON;
	settings.start_timeout_s = 5;
	settings.attempts_maximum = 3;
	live = fixture_make(&settings);
	rng_seed(&rng, 31);
	for (int event = 0; event < 20000; event++) {
		random_event(live, &rng, now_s);
		now_s += 0.3 * rng_uniform(&rng);
		if (rng_below(&rng, 2))
			fixture_step(live, now_s);
		check(live);
		if (rng_below(&rng, 40) == 0) {
			live = restart(live, &settings, now_s);
			check(live);
		}
	}
	live_destroy(live);
}

/* Random events of all kinds, in two runs: every invariant holds after each event, and both runs decide the same. */
Test(live_random, random_events_keep_every_law_and_are_repeatable)
{
	uint64_t hashes[2];

	for (int run = 0; run < 2; run++) {
		struct live_settings settings;
		struct live *live;
		struct rng rng;
		double now_s = 0;
		uint64_t hash = HASH_FNV_START, seen = 0;

		live_settings_default(&settings);
		settings.policy_settings.machine_threshold = settings.policy_settings.rack_threshold = 1000;
		settings.moves.mode = MIGRATION_ON;
		settings.start_timeout_s = 5;
		settings.moves.no_return_s = 10;
		settings.decisions_kept = 100;
		live = fixture_make(&settings);
		rng_seed(&rng, 17);
		for (int event = 0; event < 30000; event++) {
			const struct live_decision *decisions;
			size_t count;

			random_event(live, &rng, now_s);
			now_s += 0.3 * rng_uniform(&rng);
			if (rng_below(&rng, 2))
				fixture_step(live, now_s);
			check(live);
			decisions = live_decisions(live, seen, &count);
			for (size_t d = 0; d < count; d++) {
				hash = hash_fnv_bytes(hash, decisions[d].job, strlen(decisions[d].job));
				hash = hash_fnv_bytes(hash, decisions[d].to, strlen(decisions[d].to));
			}
			seen = live_last_decision(live);
		}
		cr_expect_gt(live_totals(live).decisions, 500);
		cr_expect_gt(live_totals(live).moves, 5);
		cr_expect_eq(live_totals(live).solver_errors, 0);
		hashes[run] = hash;
		live_destroy(live);
	}
	cr_expect_eq(hashes[0], hashes[1]);
}

struct journal {
	FILE *out;
	int64_t time_us;
};

static void print(struct journal *journal, struct journal_event event)
{
	event.time_us = journal->time_us++;
	event.run_us = JOURNAL_RUN_UNKNOWN;
	cr_assert(journal_print(journal->out, &event));
}

static void note_call(void *context, const char *call)
{
	print(context, (struct journal_event){.kind = JOURNAL_CALL, .definition = call});
}

static void note_measured(void *context, const struct live *live, const struct latency_sample *samples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct cluster_machine *machines = live_cluster(live)->machines;
		struct journal_pair pair = {machines[samples[i].destination].name, (double)samples[i].rtt_us};

		print(context, (struct journal_event){.kind = JOURNAL_LATENCY,
						      .machine = machines[samples[i].source].name,
						      .pairs = &pair,
						      .pair_count = 1});
	}
}

/* Random events, and the calls that a journal records for them: replaying the calls gives the same decisions. */
Test(live_random, a_journal_of_its_calls_leads_to_the_same_decisions)
{
	struct journal journal = {0};
	struct live_settings settings;
	struct live_replayed replayed;
	struct error err = {0};
	struct file_lines *lines;
	struct live *live;
	struct rng rng;
	double now_s = 0;
	uint64_t seen = 0;
	size_t bytes;
	char *text;

	journal.out = open_memstream(&text, &bytes);
	cr_assert(journal_print_header(journal.out, 0, NULL));
	live_settings_default(&settings);
	settings.moves.mode = MIGRATION_ON;
	settings.moves.gain = 0.02;
	settings.start_timeout_s = 5;
	settings.moves.no_return_s = 10;
	settings.max_age_s = 20;
	settings.called = note_call;
	settings.measured = note_measured;
	settings.context = &journal;
	live = fixture_make(&settings);
	rng_seed(&rng, 23);
	for (int event = 0; event < 6000; event++) {
		const struct live_decision *decisions;
		size_t count;

		random_event(live, &rng, now_s);
		now_s += 0.3 * rng_uniform(&rng);
		if (rng_below(&rng, 2))
			fixture_step(live, now_s);
		decisions = live_decisions(live, seen, &count);
		for (size_t d = 0; d < count; d++) {
			struct journal_event decision;

			live_decision_event(&decisions[d], 0, &decision);
			print(&journal, decision);
		}
		seen = live_last_decision(live);
	}
	cr_assert_gt(seen, 300);
	cr_expect_gt(live_totals(live).moves, 0, "%d", (int)live_totals(live).moves);
	fclose(journal.out);
	lines = file_lines_from_memory("journal", text, bytes, &err);
	cr_assert_eq(live_replay(lines, NULL, &replayed, &err), 0, "%s", err.text);
	cr_expect_eq(replayed.recorded, seen);
	cr_expect_eq(replayed.decisions, seen);
	cr_expect_eq(replayed.unmade, 0, "%s", replayed.first);
	file_lines_close(lines);
	live_destroy(live);
	free(text);
}

/*
 * All round trips become equal, so that the arc through the cluster costs no more than an arc to a machine, and some
 * machines become unreachable: restarted tasks go to a reachable machine, as long as one has a slot.
 */
Test(live_random, a_task_goes_to_a_machine_that_can_be_reached_while_there_is_one)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct live *live = fixture_make_default();
		struct error err = {0};
		uint32_t slots = 0, tasks;
		const char *root;
		struct rng rng;

		rng_seed(&rng, seed);
		tasks = 2 + (uint32_t)rng_below(&rng, 5);
		cr_assert_eq(fixture_submit(live, "web", tasks, false, &err), 0);
		cr_assert_eq(fixture_step(live, 1), (int)tasks);
		fixture_confirm(live, "web", 1);
		root = fixture_machine_of(live, "web", 0);
		for (int m = 0; m < 6; m++) {
			char name[8];
			bool reached = rng_below(&rng, 2);

			snprintf(name, sizeof name, "m%d", m);
			if (strcmp(name, root) != 0)
				fixture_measure(live, root, name, reached ? 20 : INFINITY, 1);
			slots += strcmp(name, root) == 0 || reached ? 2 : 0;
		}
		for (uint32_t t = 1; t < tasks; t++)
			cr_assert_eq(live_failed(live, "web", fixture_task_of(live, "web", t)->name, 1, &err), 0);
		for (int round = 3; round < 7; round++)
			fixture_step(live, round);
		cr_expect_eq(live_totals(live).waiting, tasks > slots ? tasks - slots : 0,
			     "seed %d: %d of %u tasks wait, %u slots", (int)seed, (int)live_totals(live).waiting, tasks,
			     slots);
		live_destroy(live);
	}
}
