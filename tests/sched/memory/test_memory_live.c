/* SPDX-License-Identifier: BSD-3-Clause */
/* sched/live when memory runs out: each call reports an error, or the day ends as ever. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>

#include "fail_allocation.h"
#include "fixture.h"

static int confirm_all(struct live *live, double now_s)
{
	struct error err = {0};
	uint32_t count;
	struct live_job *const *jobs = live_jobs(live, &count);
	int code = 0;

	for (uint32_t j = 0; j < count; j++)
		for (uint32_t t = 0; jobs[j] && t < jobs[j]->task_count && code == 0; t++) {
			const struct live_task *task = &jobs[j]->tasks[t];

			if (task->state == LIVE_DECIDED || task->state == LIVE_MOVING)
				code = live_started(live, jobs[j]->id, task->name,
						    live_cluster(live)->machines[task->machine].name, now_s, &err);
		}
	return code;
}

static int measure(struct live *live, double now_s)
{
	struct latency_sample samples[12];
	size_t count = 0;

	for (uint32_t a = 0; a < 4; a++)
		for (uint32_t b = 0; b < 6 && count < 12; b++)
			if (a != b)
				samples[count++] =
					(struct latency_sample){a, b, (float)(5 + 7 * ((a * b + (int)now_s) % 6))};
	return live_latency(live, samples, count, now_s);
}

static void print(const struct live *live, FILE *out)
{
	uint32_t count;
	size_t decisions;
	struct live_job *const *jobs = live_jobs(live, &count);
	const struct live_decision *decision = live_decisions(live, 0, &decisions);

	for (uint32_t j = 0; j < count; j++)
		for (uint32_t t = 0; jobs[j] && t < jobs[j]->task_count; t++)
			fprintf(out, "%s.%s %s on %d\n", jobs[j]->id, jobs[j]->tasks[t].name,
				live_task_state_name(jobs[j]->tasks[t].state), jobs[j]->tasks[t].machine);
	for (size_t d = 0; d < decisions; d++)
		fprintf(out, "%s\n", live_decision_kind_name(decision[d].kind));
	fprintf(out, "%a", live_performance(live));
}

/* Out of memory, a call may be missing in the journal; one that is there is one of the first day's. */
static char journal[1 << 16];
static bool call_is_wrong;

static void note_call(void *context, const char *call)
{
	bool *first = context;

	if (*first)
		strcat(strcat(journal, call), "\n");
	else if (!strstr(journal, call))
		call_is_wrong = true;
}

/*
 * Six machines; jobs with and without a graph, a gang, measurements, moves, a failed machine and a drained one,
 * deadlines, measurements that expire.
 */
static int day(FILE *out)
{
	struct live_settings settings;
	struct error err = {0};
	bool first = journal[0] == '\0';
	struct live *live;
	int code;

	live_settings_default(&settings);
	settings.max_age_s = 2000;
	settings.bound = true;
	settings.called = note_call;
	settings.context = &first;
	fail_allocation_pause();
	live = fixture_make(&settings);
	fail_allocation_go_on();
	code = fixture_submit(live, "a", 4, true, &err);
	code = code ? code : fixture_submit_limited(live, "g", 3, false, (struct job_limits){.minimum_tasks = 2}, &err);
	code = code ? code : measure(live, 1);
	code = code ? code : live_step(live, 2, &err) < 0;
	code = code ? code : confirm_all(live, 3);
	code = code ? code : measure(live, 4);
	code = code ? code : live_step(live, 30, &err) < 0;
	code = code ? code : confirm_all(live, 31);
	code = code ? code : live_machine_set(live, "m1", "r0", "p", 2, LIVE_DRAINING, &err);
	code = code ? code : live_machine_set(live, "m3", "r1", "p", 2, LIVE_DOWN, &err);
	code = code ? code : live_machine_set(live, "m9", "r2", "p", 3, LIVE_UP, &err);
	code = code ? code : live_ended(live, "a", "t2", &err);
	code = code ? code : fixture_submit(live, "b", 3, true, &err);
	code = code ? code : live_step(live, 60, &err) < 0;
	code = code ? code : confirm_all(live, 61);
	fail_allocation_pause(); /* out of memory, a job's number is not used again, and other placements are as good */
	code = code ? code : live_cancel(live, "g", &err);
	fail_allocation_go_on();
	code = code ? code : live_step(live, 90, &err) < 0;
	/* a job that nobody starts: its tasks fail at their deadline and are tried again */
	code = code ? code : fixture_submit(live, "c", 3, false, &err);
	for (double now_s = 100; now_s < 3000 && code == 0; now_s += 400)
		code = live_step(live, now_s, &err) < 0;
	code = code ? code : fixture_submit(live, "d", 9, false, &err) == -ENOMEM;
	code = code ? code : live_expire(live, 3000);
	code = code ? code : live_step(live, 3001, &err) < 0;
	if (code == 0)
		print(live, out);
	fail_allocation_pause();
	cr_expect_not(call_is_wrong, "a call of the journal lacks members");
	call_is_wrong = false;
	fail_allocation_go_on();
	live_destroy(live);
	return code;
}

Test(memory_live, a_day)
{
	cr_expect_gt(fail_each_allocation(day), 60);
}
