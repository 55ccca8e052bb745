/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks of failed machines, placed by recovery: random worlds, judged by sums of this file's own. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/rng.h>
#include <sched/live/calls.h>
#include <sched/live/change.h>

#include "fixture.h"

enum { MACHINES = 10, JOBS = 4, TASKS_MOST = 8 };

/* A world, and the journal of its calls. */
struct world {
	struct live *live;
	struct recovery_scenario *network;
	FILE *journal;
	char *text;
	size_t bytes;
	int64_t time_us;
	uint64_t seen;
	/* By job, sender and receiver: the volume of the flow, stated or measured, and what of it is measured as sent.
	 */
	double MB[JOBS][TASKS_MOST][TASKS_MOST], sent_MB[JOBS][TASKS_MOST][TASKS_MOST];
};

static void print(struct world *world, struct journal_event event)
{
	event.time_us = world->time_us++;
	event.run_us = JOURNAL_RUN_UNKNOWN;
	cr_assert(journal_print(world->journal, &event));
}

static void note_call(void *context, const char *call)
{
	print(context, (struct journal_event){.kind = JOURNAL_CALL, .definition = call});
}

static void note_decisions(struct world *world)
{
	size_t count;
	const struct live_decision *decisions = live_decisions(world->live, world->seen, &count);

	for (size_t d = 0; d < count; d++) {
		struct journal_event event;

		live_decision_event(&decisions[d], 0, &event);
		print(world, event);
	}
	world->seen = live_last_decision(world->live);
}

static void step(struct world *world, double now_s)
{
	fixture_step(world->live, now_s);
	note_decisions(world);
}

static void confirm_all(struct world *world, double now_s)
{
	uint32_t jobs;
	struct live_job *const *list = live_jobs(world->live, &jobs);

	for (uint32_t j = 0; j < jobs; j++)
		if (list[j])
			fixture_confirm(world->live, list[j]->id, now_s);
}

static void submit_random(struct live *live, struct rng *rng, int number)
{
	uint32_t tasks = 3 + (uint32_t)rng_below(rng, TASKS_MOST - 2);
	char id[8], graph[2048] = "[", *at = graph + 1;
	struct error err = {0};

	for (uint32_t t = 1; t < tasks; t++)
		at += sprintf(at, "%s[%u, %u, 1, %u, %u]", t > 1 ? ", " : "", (unsigned)rng_below(rng, t), t,
			      (unsigned)(rng_below(rng, 4) ? 10 + rng_below(rng, 90) : 0),
			      (unsigned)(rng_below(rng, 2) ? 10 + rng_below(rng, 90) : 0));
	strcpy(at, "]");
	snprintf(id, sizeof id, "j%d", number);
	cr_assert_eq(fixture_submit_graph(live, id, tasks, false,
					  (struct job_limits){.minimum_tasks = rng_below(rng, 5) ? 0 : 2},
					  rng_below(rng, 6) ? graph : NULL, &err),
		     0, "%s", err.text);
}

/* Half of the pairs of running tasks have a flow with a counter; some counters exceed the stated volume. */
static void measure_flows(struct world *world, struct rng *rng)
{
	for (int j = 0; j < JOBS; j++) {
		char id[8];
		const struct live_job *job;

		snprintf(id, sizeof id, "j%d", j);
		job = live_find_job(world->live, id);
		for (uint32_t t = 0; job->graph && t < job->task_count; t++)
			for (size_t n = job->graph->first[t]; n < job->graph->first[t + 1]; n++)
				world->MB[j][t][job->graph->neighbours[n].task] = job->graph->neighbours[n].MB;
		for (uint32_t a = 0; a < job->task_count; a++)
			for (uint32_t b = 0; b < job->task_count; b++) {
				double MB = (double)rng_below(rng, 120);

				if (a == b || rng_below(rng, 2) || (!world->MB[j][a][b] && rng_below(rng, 4)) ||
				    live_flow(world->live, id, job->tasks[a].name, job->tasks[b].name, MB, 2) != 0)
					continue;
				if (world->MB[j][a][b] > 0)
					world->sent_MB[j][a][b] = fmin(MB, world->MB[j][a][b]);
				else
					world->MB[j][a][b] = MB;
			}
	}
}

/* Ten machines of 4 slots with links of different speeds, and running jobs: the same for the same seed. */
static void world_make(struct world *world, uint64_t seed)
{
	struct live_settings settings;
	struct error err = {0};
	struct rng rng;

	*world = (struct world){.network = recovery_create()};
	rng_seed(&rng, seed);
	world->journal = open_memstream(&world->text, &world->bytes);
	cr_assert(journal_print_header(world->journal, 0, NULL));
	live_settings_default(&settings);
	settings.max_age_s = 0;
	settings.network = world->network;
	settings.recovery_ms = 5000;
	settings.called = note_call;
	settings.context = world;
	world->live = fixture_make(&settings);
	for (int m = 0; m < MACHINES; m++) {
		static const double speeds[] = {10, 40, 125};
		char name[8], rack[8];
		double MBps = speeds[rng_below(&rng, 3)];
		struct recovery_server server = {
			.name = name, .egress_MBps = MBps, .ingress_MBps = rng_below(&rng, 4) ? MBps : MBps / 2};

		snprintf(name, sizeof name, "m%d", m);
		snprintf(rack, sizeof rack, "r%d", m / 3);
		cr_assert_eq(live_machine_set(world->live, name, rack, "p", 4, LIVE_UP, &err), 0, "%s", err.text);
		if (m != 9 || rng_below(&rng, 2)) /* the last machine may not be in the network */
			cr_assert_geq(recovery_add_server(world->network, &server), 0);
	}
	for (int j = 0; j < JOBS; j++)
		submit_random(world->live, &rng, j);
	fixture_step(world->live, 1);
	confirm_all(world, 1);
	measure_flows(world, &rng);
	world->seen = 0;
	note_decisions(world);
}

static void world_free(struct world *world)
{
	live_destroy(world->live);
	recovery_destroy(world->network);
	fclose(world->journal);
	free(world->text);
}

static void fail(struct live *live, uint32_t machine)
{
	char text[16];
	struct live_change change;
	struct error err = {0};

	snprintf(text, sizeof text, "down m%u", machine);
	cr_assert_eq(live_change_parse(text, &change, &err), 0);
	cr_assert_eq(live_change_apply(live, &change, NULL, NULL, &err), 0, "%s", err.text);
}

/* No task is lost or doubled, and no machine has more tasks than slots. Returns the number of waiting tasks. */
static uint32_t check_slots(const struct live *live)
{
	uint32_t jobs, used[MACHINES] = {0}, waiting = 0;
	struct live_job *const *list = live_jobs(live, &jobs);

	for (uint32_t j = 0; j < jobs; j++)
		for (uint32_t t = 0; list[j] && t < list[j]->task_count; t++) {
			const struct live_task *task = &list[j]->tasks[t];

			waiting += task->state == LIVE_WAITING;
			cr_assert_eq(task->state == LIVE_WAITING, task->machine < 0);
			if (task->machine < 0)
				continue;
			cr_assert_eq(live_machine_state_of(live, (uint32_t)task->machine), LIVE_UP);
			used[task->machine]++;
		}
	for (uint32_t m = 0; m < MACHINES; m++)
		cr_assert_leq(used[m], live_machine_state_of(live, m) == LIVE_UP ? 4 : 0);
	cr_assert_eq(live_find_mismatch(live), LIVE_MATCH);
	return waiting;
}

/*
 * The transfer time of the slowest job where the tasks are now, from the flows alone: each of K jobs has 1/K of a link,
 * so p is the largest load of a link times 1/K, and a job takes K p.
 */
static double slowest_now(const struct world *world)
{
	double out[MACHINES] = {0}, in[MACHINES] = {0}, slowest = 0;
	uint32_t jobs;
	struct live_job *const *list = live_jobs(world->live, &jobs);

	for (uint32_t j = 0; j < jobs; j++)
		for (uint32_t t = 0; list[j] && t < list[j]->task_count; t++)
			for (uint32_t n = 0; n < list[j]->task_count; n++) {
				const struct live_task *from = &list[j]->tasks[t], *to = &list[j]->tasks[n];
				int number = atoi(list[j]->id + 1);
				bool again = from->state != LIVE_RUNNING || to->state != LIVE_RUNNING;
				double MB = world->MB[number][t][n] - (again ? 0 : world->sent_MB[number][t][n]);

				if (from->machine < 0 || to->machine < 0 || from->machine == to->machine)
					continue;
				out[from->machine] += MB;
				in[to->machine] += MB;
			}
	for (uint32_t m = 0; m < MACHINES; m++) {
		int64_t server = recovery_find_server(world->network, live_cluster(world->live)->machines[m].name);

		if (server < 0)
			continue;
		slowest = fmax(slowest, out[m] / world->network->servers[server].egress_MBps);
		slowest = fmax(slowest, in[m] / world->network->servers[server].ingress_MBps);
	}
	return slowest;
}

static double number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static int32_t machine_at(const struct live *live, const json_t *rate, const char *key)
{
	const struct live_job *job = live_find_job(live, json_string_value(json_object_get(rate, "job")));
	uint32_t t = 0;

	while (strcmp(job->tasks[t].name, json_string_value(json_object_get(rate, key))) != 0)
		t++;
	return job->tasks[t].machine;
}

/* The rates of all flows load no link beyond its capacity, and fill the slowest one. */
static void check_rates(const struct world *world, const json_t *recovery)
{
	double out[MACHINES] = {0}, in[MACHINES] = {0}, fullest = 0;
	const json_t *rate, *rates = json_object_get(recovery, "rates");
	size_t at;

	json_array_foreach (rates, at, rate) {
		out[machine_at(world->live, rate, "from")] += number_of(rate, "MBps");
		in[machine_at(world->live, rate, "to")] += number_of(rate, "MBps");
	}
	for (uint32_t m = 0; m < MACHINES; m++) {
		int64_t server = recovery_find_server(world->network, live_cluster(world->live)->machines[m].name);

		if (server < 0)
			continue;
		fullest = fmax(fullest, out[m] / world->network->servers[server].egress_MBps);
		fullest = fmax(fullest, in[m] / world->network->servers[server].ingress_MBps);
	}
	if (json_array_size(rates) > 0)
		cr_assert_float_eq(fullest, 1, 1e-6, "%.12g", fullest);
}

/* The journal's calls, without the network, lead to the same decisions. */
static void check_replay(struct world *world)
{
	struct live_replayed replayed;
	struct file_lines *lines;
	struct error err = {0};

	fflush(world->journal);
	lines = file_lines_from_memory("journal", world->text, world->bytes, &err);
	cr_assert_eq(live_replay(lines, NULL, &replayed, &err), 0, "%s", err.text);
	cr_assert_eq(replayed.recorded, world->seen);
	cr_assert_eq(replayed.decisions, world->seen);
	cr_assert_eq(replayed.unmade, 0, "%s", replayed.first);
	file_lines_close(lines);
}

static uint32_t count_by(const struct live *live, enum live_recovery recovery)
{
	uint32_t jobs, count = 0;
	struct live_job *const *list = live_jobs(live, &jobs);

	for (uint32_t j = 0; j < jobs; j++)
		for (uint32_t t = 0; list[j] && t < list[j]->task_count; t++)
			count += list[j]->tasks[t].recovery == recovery;
	return count;
}

static uint32_t count_by_policy(const struct live *live)
{
	uint32_t count = 0;

	for (int r = LIVE_RECOVERY_NO_FLOWS; r <= LIVE_RECOVERY_CUT_OFF; r++)
		count += count_by(live, (enum live_recovery)r);
	return count;
}

/*
 * One to three machines fail at once, then one that just got a task: every task has one slot, the answer's figures are
 * those of this file's sums, and the policy alone never does better by the same measure.
 */
Test(live_recover, lost_tasks_are_placed_together_and_never_worse_than_by_the_policy)
{
	uint32_t better = 0, compared = 0, placed = 0, again = 0;

	for (uint64_t seed = 0; seed < 250; seed++) {
		struct world world, other;
		struct error err = {0};
		struct rng rng;
		json_t *policy, *recovery;
		uint32_t failures;

		world_make(&world, seed);
		world_make(&other, seed);
		rng_seed(&rng, seed + 1000);
		failures = 1 + (uint32_t)rng_below(&rng, 3);
		for (uint32_t i = 0; i < failures; i++) {
			uint32_t machine = (uint32_t)rng_below(&rng, MACHINES);

			fail(world.live, machine);
			fail(other.live, machine);
		}
		step(&world, 2);
		check_slots(world.live);
		recovery = live_recovery_to_json(world.live);
		policy = live_recovery_by_policy(other.live, 2, 0, &err);
		cr_assert_not_null(policy, "%s", err.text);
		cr_assert_eq(!recovery, json_is_null(policy), "seed %d", (int)seed);
		if (recovery && json_object_get(recovery, "slowest_s")) {
			double mine = number_of(recovery, "slowest_s"), theirs = number_of(policy, "slowest_s");

			placed += count_by(world.live, LIVE_RECOVERY_PLACED);
			check_rates(&world, recovery);
			if (json_is_real(json_object_get(policy, "slowest_s"))) {
				compared++;
				better += mine < 0.99 * theirs;
				cr_assert_leq(mine, theirs * (1 + 1e-9), "seed %d: %g, by the policy %g", (int)seed,
					      mine, theirs);
			}
			if (count_by_policy(world.live) + check_slots(world.live) == 0)
				cr_assert_float_eq(mine, slowest_now(&world), 1e-9 * (1 + mine), "seed %d: %.12g %.12g",
						   (int)seed, mine, slowest_now(&world));
		}
		json_decref(policy);
		json_decref(recovery);
		/* A second failure, of a machine whose tasks are decided but have not started. */
		for (uint32_t m = 0; m < MACHINES; m++)
			if (live_machine_state_of(world.live, m) == LIVE_UP && live_machine_tasks(world.live, m) > 0) {
				uint64_t before = live_totals(world.live).recoveries;

				fail(world.live, m);
				step(&world, 2.1);
				check_slots(world.live);
				again += live_totals(world.live).recoveries > before;
				break;
			}
		confirm_all(&world, 3);
		step(&world, 4);
		check_slots(world.live);
		check_replay(&world);
		world_free(&world);
		world_free(&other);
	}
	cr_expect_gt(placed, 500, "%d", (int)placed);
	cr_expect_gt(compared, 120, "%d", (int)compared);
	cr_expect_gt(better, 20, "%d of %d", (int)better, (int)compared);
	cr_expect_gt(again, 150, "%d", (int)again);
}

/* The fixture's six machines of two slots, each with MBps[m] in both directions; 0: the machine is not in the network.
 */
static struct live *small(const double MBps[6], struct recovery_scenario **network)
{
	struct live_settings settings;

	*network = recovery_create();
	for (int m = 0; m < 6; m++) {
		char name[8];
		struct recovery_server server = {.name = name, .egress_MBps = MBps[m], .ingress_MBps = MBps[m]};

		snprintf(name, sizeof name, "m%d", m);
		if (MBps[m] > 0)
			cr_assert_geq(recovery_add_server(*network, &server), 0);
	}
	live_settings_default(&settings);
	settings.max_age_s = 0;
	settings.network = *network;
	return fixture_make(&settings);
}

/* Submits a job whose tasks t0, t1, ... run on these machines. */
static void submit_on(struct live *live, const char *id, const char *machines, const char *graph)
{
	struct error err = {0};
	struct json_reader reader = {.file = "test", .err = &err};
	json_t *form = json_loads(graph, 0, NULL);
	char names[8][8];
	struct job_task tasks[8];
	struct job job = {.id = (char *)id, .curve = (char *)"steep", .tasks = tasks};

	for (; machines[0]; machines += machines[2] ? 3 : 2) {
		char machine[3] = {machines[0], machines[1], '\0'};

		snprintf(names[job.task_count], sizeof names[0], "t%u", job.task_count);
		tasks[job.task_count] = (struct job_task){.name = names[job.task_count],
							  .machine = cluster_find_machine(live_cluster(live), machine)};
		job.task_count++;
	}
	job.graph = job_graph_read(&reader, form, NULL, job.task_count);
	cr_assert_eq(live_submit(live, &job, 0, false, 1, &err), 0, "%s", err.text);
	job_graph_destroy(job.graph);
	json_decref(form);
}

static void expect_why(struct live *live, const char *job, const char *task, const char *expected)
{
	struct live_candidate candidates[4];
	struct error err = {0};
	char why[160];

	cr_assert_geq(live_explain(live, job, task, candidates, 4, why, &err), 0, "%s", err.text);
	cr_expect_str_eq(why, expected);
}

static void small_free(struct live *live, struct recovery_scenario *network)
{
	live_destroy(live);
	recovery_destroy(network);
}

/* t1 sends 100 MB to t0 on m0. Of the free machines, m4 alone has a link of 50 MB/s: 2 s instead of 10. */
Test(live_recover, the_machine_with_the_fast_link_gets_the_task)
{
	static const double MBps[6] = {50, 50, 10, 10, 50, 10};
	struct recovery_scenario *network;
	struct live *live = small(MBps, &network);
	struct error err = {0};
	json_t *recovery;

	submit_on(live, "a", "m0 m1", "[[1, 0, 1, 100]]");
	submit_on(live, "fill", "m0 m1", "[[0, 1]]");
	submit_on(live, "c", "m4 m5", "[[1, 0, 1, 1]]"); /* leaves one slot of m4 */
	fixture_step(live, 1);
	fail(live, 1);
	cr_assert_eq(fixture_step(live, 2), 2);
	cr_expect_str_eq(fixture_machine_of(live, "a", 1), "m4");
	expect_why(live, "a", "t1",
		   "its machine failed; recovery placed all lost tasks together: the slowest job "
		   "transfers for 2 s (0 flows measured, 2 stated)");
	expect_why(live, "fill", "t1",
		   "its machine failed; placed by the policy: no flow of the task is stated or measured");
	recovery = live_recovery_to_json(live);
	cr_expect_float_eq(number_of(recovery, "slowest_before_s"), 2, 1e-9);
	cr_expect_float_eq(number_of(recovery, "slowest_s"), 2, 1e-9);
	json_decref(recovery);
	/* A task that fails later, and is placed by the policy, was not placed by recovery. */
	fixture_confirm(live, "a", 2);
	cr_assert_eq(live_failed(live, "a", "t1", 3, &err), 0);
	fixture_step(live, 5);
	cr_expect_eq(fixture_task_of(live, "a", 1)->recovery, LIVE_RECOVERY_NONE);
	small_free(live, network);
}

static void measure_flow(struct live *live, const char *job, const char *from, const char *to, double MB, double now_s)
{
	cr_assert_eq(live_flow(live, job, from, to, MB, now_s), 0);
}

static double slowest_of(struct live *live)
{
	json_t *recovery = live_recovery_to_json(live);
	double slowest = number_of(recovery, "slowest_s");

	json_decref(recovery);
	return slowest;
}

/*
 * Of the two machines with free slots, m4 sends the rest of a stated flow, and m5 has a link of half the speed: the
 * lost task goes to m5 unless most of m4's flow is measured as sent.
 */
Test(live_recover, what_is_measured_as_sent_does_not_count)
{
	static const double MBps[6] = {50, 50, 100, 100, 50, 25};

	for (int measured = 0; measured < 2; measured++) {
		struct recovery_scenario *network;
		struct live *live = small(MBps, &network);

		submit_on(live, "a", "m0 m1", "[[1, 0, 1, 100]]");
		submit_on(live, "b", "m4 m2", "[[0, 1, 1, 200]]");
		submit_on(live, "fill", "m0 m2 m3 m3 m5", "[]");
		fixture_step(live, 1);
		if (measured)
			measure_flow(live, "b", "t0", "t1", 190, 2);
		fail(live, 1);
		fixture_step(live, 3);
		cr_expect_str_eq(fixture_machine_of(live, "a", 1), measured ? "m4" : "m5");
		expect_why(live, "a", "t1",
			   measured ? "its machine failed; recovery placed all lost tasks together: the slowest job "
				      "transfers for 2.2 s (1 flows measured, 1 stated)"
				    : "its machine failed; recovery placed all lost tasks together: the slowest job "
				      "transfers for 4 s (0 flows measured, 2 stated)");
		small_free(live, network);
	}
}

/* Of a flow that is not stated, the last minute counts: m4 has the fast link. */
Test(live_recover, a_flow_that_is_only_measured_counts)
{
	static const double MBps[6] = {50, 50, 10, 10, 50, 10};
	struct recovery_scenario *network;
	struct live *live = small(MBps, &network);

	submit_on(live, "a", "m0 m1", "[]");
	submit_on(live, "fill", "m0 m2 m3 m5", "[]");
	fixture_step(live, 1);
	cr_expect_eq(live_flow(live, "a", "t0", "t0", 1, 2), 1);
	cr_expect_eq(live_flow(live, "a", "t0", "none", 1, 2), 1);
	cr_expect_eq(live_flow(live, "none", "t0", "t1", 1, 2), 1);
	measure_flow(live, "a", "t1", "t0", 3000, 1);
	for (int s = 2; s <= 600; s++)
		measure_flow(live, "a", "t1", "t0", 3000 + 10 * (s - 1), s);
	fail(live, 1);
	fixture_step(live, 601);
	cr_expect_str_eq(fixture_machine_of(live, "a", 1), "m4");
	cr_expect_float_eq(slowest_of(live), 10 * 60 / 50.0, 0.2, "%g", slowest_of(live));
	/* The task is lost again before it has started; then it runs, and its flow begins again. */
	fail(live, 4);
	fixture_step(live, 602);
	cr_expect_eq(fixture_task_of(live, "a", 1)->recovery, LIVE_RECOVERY_PLACED);
	cr_expect_eq(live_flow(live, "a", "t1", "t0", 1, 602), 1);
	small_free(live, network);
}

/* The first report comes after ten minutes: a minute's part counts, not all that was sent. */
Test(live_recover, a_late_first_report_counts_a_minutes_part)
{
	static const double MBps[6] = {50, 50, 10, 10, 50, 10};
	struct recovery_scenario *network;
	struct live *live = small(MBps, &network);

	submit_on(live, "a", "m0 m1", "[]");
	submit_on(live, "fill", "m0", "[]");
	fixture_step(live, 1);
	measure_flow(live, "a", "t1", "t0", 6000, 601);
	fail(live, 1);
	fixture_step(live, 601);
	cr_expect_float_eq(slowest_of(live), 600 / 50.0, 1e-6, "%g", slowest_of(live));
	small_free(live, network);
}

/* After a restart of a task, the flow's stated volume is to be sent again, until the counters of the new run say more.
 */
Test(live_recover, a_task_that_began_again_has_sent_nothing)
{
	static const double MBps[6] = {50, 50, 50, 50, 50, 50};
	struct recovery_scenario *network;
	struct live *live = small(MBps, &network);

	submit_on(live, "a", "m0 m1 m2", "[[1, 0, 1, 100], [2, 0, 1, 100]]");
	submit_on(live, "fill", "m0 m2", "[]");
	fixture_step(live, 1);
	measure_flow(live, "a", "t1", "t0", 100, 2);
	measure_flow(live, "a", "t2", "t0", 100, 2);
	fail(live, 1);
	fixture_step(live, 3);
	cr_expect_float_eq(slowest_of(live), 2, 1e-9); /* t1 alone */
	fixture_confirm(live, "a", 4);
	fail(live, 2);
	fixture_step(live, 5);
	cr_expect_float_eq(slowest_of(live), 4, 1e-9); /* t2, and t1 again */
	fixture_confirm(live, "a", 6);
	measure_flow(live, "a", "t1", "t0", 50, 7);
	measure_flow(live, "a", "t2", "t0", 50, 7);
	fail(live, (uint32_t)fixture_task_of(live, "a", 1)->machine);
	fixture_step(live, 8);
	cr_expect_leq(slowest_of(live), 3 + 1e-9);
	small_free(live, network);
}

/* A machine that the root cannot reach gets no task, be its link ever so fast. */
Test(live_recover, a_machine_that_the_root_cannot_reach_gets_no_task)
{
	static const double MBps[6] = {50, 50, 10, 10, 50, 10};
	struct recovery_scenario *network;
	struct live *live = small(MBps, &network);

	submit_on(live, "a", "m0 m1", "[[1, 0, 1, 100]]");
	submit_on(live, "fill", "m0 m1", "[[0, 1]]");
	fixture_measure(live, "m0", "m4", INFINITY, 1);
	fixture_step(live, 1);
	fail(live, 1);
	fixture_step(live, 2);
	cr_expect_str_neq(fixture_machine_of(live, "a", 1), "m4");
	cr_expect_eq(fixture_task_of(live, "a", 1)->recovery, LIVE_RECOVERY_PLACED);
	small_free(live, network);
}

/* The root and the other task are lost, and the two fast machines cannot reach each other. */
Test(live_recover, the_policy_places_what_the_new_root_cannot_reach)
{
	static const double MBps[6] = {10, 10, 10, 10, 50, 50};
	struct recovery_scenario *network;
	struct live *live = small(MBps, &network);

	submit_on(live, "fill", "m4 m5", "[[0, 1]]");
	submit_on(live, "a", "m0 m1 m2", "[[0, 1, 1, 100], [1, 2, 1, 1]]");
	submit_on(live, "b", "m2 m2 m3 m3", "[[0, 1], [0, 2], [0, 3]]");
	fixture_measure(live, "m4", "m5", INFINITY, 1);
	fixture_measure(live, "m5", "m4", INFINITY, 1);
	fixture_step(live, 1);
	fail(live, 0);
	fail(live, 1);
	fixture_step(live, 2);
	cr_expect_eq(fixture_task_of(live, "a", 0)->recovery, LIVE_RECOVERY_PLACED);
	cr_expect_eq(fixture_task_of(live, "a", 1)->recovery, LIVE_RECOVERY_CUT_OFF);
	cr_expect_eq(fixture_task_of(live, "a", 1)->machine, -1, "%s", fixture_machine_of(live, "a", 1));
	small_free(live, network);
}

Test(live_recover, the_policy_places_all_if_recovery_has_no_placement)
{
	static const double MBps[6] = {50, 50, 0, 0, 0, 0}, three[6] = {50, 50, 50, 0, 0, 0};
	struct recovery_scenario *network;
	struct live *live = small(MBps, &network);

	submit_on(live, "a", "m0 m1", "[[1, 0, 1, 100]]");
	submit_on(live, "fill", "m0", "[]");
	fixture_step(live, 1);
	fail(live, 1);
	fixture_step(live, 2);
	expect_why(live, "a", "t1",
		   "its machine failed; placed by the policy: recovery found no slots for all lost "
		   "tasks");
	small_free(live, network);
	live = small(three, &network);
	network->servers[2].ingress_MBps = network->servers[2].egress_MBps = 0;
	submit_on(live, "a", "m0 m1", "[[1, 0, 1, 100]]");
	submit_on(live, "fill", "m0", "[]");
	fixture_step(live, 1);
	fail(live, 1);
	fixture_step(live, 2);
	expect_why(live, "a", "t1",
		   "its machine failed; placed by the policy: in recovery, a flow would need a link "
		   "without capacity");
	small_free(live, network);
}

/* A recovery waits for further failures; until then, no round is run. */
Test(live_recover, failures_within_the_hold_are_one_problem)
{
	static const double MBps[6] = {50, 50, 50, 50, 50, 50};
	struct live_settings settings;
	struct recovery_scenario *network;
	struct live *live = small(MBps, &network);
	json_t *recovery;

	live_destroy(live);
	live_settings_default(&settings);
	settings.max_age_s = 0;
	settings.network = network;
	settings.recovery_hold_s = 0.5;
	live = fixture_make(&settings);
	submit_on(live, "a", "m0 m1 m2", "[[1, 0, 1, 100], [2, 0, 1, 100]]");
	fixture_step(live, 1);
	fail(live, 1);
	cr_expect_eq(fixture_step(live, 2), 0);
	cr_expect_float_eq(live_next_s(live, 2.1), 0.4, 1e-9);
	fail(live, 2);
	cr_expect_eq(fixture_step(live, 2.4), 0);
	cr_expect_eq(fixture_step(live, 2.5), 2);
	recovery = live_recovery_to_json(live);
	cr_expect_eq(json_integer_value(json_object_get(recovery, "lost")), 2);
	json_decref(recovery);
	cr_expect_eq(live_totals(live).recoveries, 1);
	/* A machine that is removed is forgotten: its number may be another machine's soon. */
	fail(live, 0);
	cr_expect_eq(fixture_step(live, 3), 0);
	cr_assert_eq(live_machine_remove(live, "m0", NULL), 0);
	fixture_step(live, 4);
	cr_expect_eq(fixture_task_of(live, "a", 0)->recovery, LIVE_RECOVERY_NONE);
	cr_expect_geq(fixture_task_of(live, "a", 0)->machine, 0);
	small_free(live, network);
}

/*
 * Another job determines the transfer time, so m4 and m5 are equal but for the round trip to the root on m0: the flow
 * between them has been sent.
 */
Test(live_recover, of_equal_machines_the_one_near_the_root_gets_the_task)
{
	static const double MBps[6] = {50, 50, 50, 50, 50, 50};
	const char *const near[] = {"m4", "m5"}, *const far[] = {"m5", "m4"};

	for (int i = 0; i < 2; i++) {
		struct recovery_scenario *network;
		struct live *live = small(MBps, &network);

		submit_on(live, "a", "m0 m1", "[[1, 0, 1, 10]]");
		submit_on(live, "other", "m2 m3", "[[1, 0, 1, 1000]]");
		submit_on(live, "fill", "m0 m2 m3", "[]");
		submit_on(live, "sent", "m4 m5", "[[0, 1, 1, 5000, 5000]]");
		fixture_measure(live, "m0", near[i], 10, 1);
		fixture_measure(live, "m0", far[i], 30, 1);
		fixture_step(live, 1);
		measure_flow(live, "sent", "t0", "t1", 5000, 1);
		measure_flow(live, "sent", "t1", "t0", 5000, 1);
		fail(live, 1);
		fixture_step(live, 2);
		cr_expect_eq(fixture_task_of(live, "a", 1)->recovery, LIVE_RECOVERY_PLACED);
		cr_expect_str_eq(fixture_machine_of(live, "a", 1), near[i]);
		small_free(live, network);
	}
}

/* m4 and m5 have one free slot each: the near one does not get both tasks. */
Test(live_recover, a_near_machine_gets_no_more_tasks_than_it_has_slots)
{
	static const double MBps[6] = {50, 50, 50, 50, 50, 50};
	const char *const near[] = {"m4", "m5"}, *const far[] = {"m5", "m4"};

	for (int i = 0; i < 2; i++) {
		struct recovery_scenario *network;
		struct live *live = small(MBps, &network);

		submit_on(live, "a", "m0 m1 m2", "[[1, 0, 1, 10], [2, 0, 1, 10]]");
		submit_on(live, "fill", "m0 m3 m3 m4 m5", "[]");
		fixture_measure(live, "m0", near[i], 10, 1);
		fixture_measure(live, "m0", far[i], 30, 1);
		fixture_step(live, 1);
		fail(live, 1);
		fail(live, 2);
		fixture_step(live, 2);
		cr_expect_str_neq(fixture_machine_of(live, "a", 1), fixture_machine_of(live, "a", 2));
		small_free(live, network);
	}
}

/* A near machine with a slow link, on which the transfers would take longer, does not get it. */
Test(live_recover, no_nearness_outweighs_the_transfer_time)
{
	static const double MBps[6] = {50, 50, 50, 50, 50, 10};
	struct recovery_scenario *network;
	struct live *live = small(MBps, &network);

	submit_on(live, "a", "m0 m1", "[[1, 0, 1, 100]]");
	submit_on(live, "fill", "m0 m2 m2 m3 m3", "[]");
	fixture_measure(live, "m0", "m5", 1, 1);
	fixture_measure(live, "m0", "m4", 30, 1);
	fixture_step(live, 1);
	fail(live, 1);
	fixture_step(live, 2);
	cr_expect_str_eq(fixture_machine_of(live, "a", 1), "m4");
	small_free(live, network);
}
