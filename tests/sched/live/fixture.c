/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

struct live *fixture_make(struct live_settings *settings)
{
	struct error err = {0};
	const double steep[] = {1, 0.8, 0.6, 0.4, 0.2};
	struct curve *curve = curve_from_table("steep", steep, 5, &err);
	struct live *live = live_create(settings, &err);

	cr_assert_not_null(live, "%s", err.text);
	for (int m = 0; m < 6; m++) {
		char name[8], rack[8];

		snprintf(name, sizeof name, "m%d", m);
		snprintf(rack, sizeof rack, "r%d", m / 3);
		cr_assert_eq(live_machine_set(live, name, rack, "p", 2, LIVE_UP, &err), 0, "%s", err.text);
	}
	cr_assert_eq(live_curve_set(live, "steep", curve, &err), 0, "%s", err.text);
	curve_destroy(curve);
	return live;
}

struct live *fixture_make_default(void)
{
	struct live_settings settings;

	live_settings_default(&settings);
	settings.policy_settings.machine_threshold = settings.policy_settings.rack_threshold = 1000;
	settings.max_age_s = 0;
	return fixture_make(&settings);
}

int fixture_submit_graph(struct live *live, const char *id, uint32_t tasks, bool may_move, struct job_limits limits,
			 const char *graph, struct error *err)
{
	struct json_reader reader = {.file = "fixture", .err = err};
	json_t *form = !graph ? NULL : graph[0] == '[' ? json_loads(graph, 0, NULL) : json_string(graph);
	struct job_task of_job[16];
	char names[16][8];
	struct job job = {.id = (char *)id,
			  .curve = (char *)"steep",
			  .tasks = of_job,
			  .task_count = tasks,
			  .limits = limits,
			  .graph = job_graph_read(&reader, form, NULL, tasks)};
	int code;

	for (uint32_t t = 0; t < tasks; t++) {
		snprintf(names[t], sizeof names[t], "t%u", t);
		of_job[t] = (struct job_task){.name = names[t], .machine = JOB_NO_MACHINE};
	}
	code = live_submit(live, &job, 0, may_move, 0, err);
	job_graph_destroy(job.graph);
	json_decref(form);
	return code;
}

int fixture_submit_limited(struct live *live, const char *id, uint32_t tasks, bool may_move, struct job_limits limits,
			   struct error *err)
{
	return fixture_submit_graph(live, id, tasks, may_move, limits, NULL, err);
}

int fixture_submit(struct live *live, const char *id, uint32_t tasks, bool may_move, struct error *err)
{
	return fixture_submit_limited(live, id, tasks, may_move, (struct job_limits){0}, err);
}

int fixture_submit_running(struct live *live, const char *id, const char *machines, bool may_move, double running_s,
			   double now_s, struct error *err)
{
	struct job_task tasks[8];
	char names[8][8];
	struct job job = {.id = (char *)id, .curve = (char *)"steep", .tasks = tasks};

	for (const char *at = machines; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
		char machine[8];
		uint32_t t = job.task_count++;

		snprintf(machine, sizeof machine, "%.*s", (int)strcspn(at, " "), at);
		snprintf(names[t], sizeof names[t], "t%u", t);
		tasks[t] = (struct job_task){.name = names[t],
					     .machine = machine[0] == '-'
								? JOB_NO_MACHINE
								: cluster_find_machine(live_cluster(live), machine),
					     .running_s = running_s};
	}
	return live_submit(live, &job, 0, may_move, now_s, err);
}

void fixture_measure(struct live *live, const char *a, const char *b, float rtt_us, double now_s)
{
	struct latency_sample sample = {(uint32_t)cluster_find_machine(live_cluster(live), a),
					(uint32_t)cluster_find_machine(live_cluster(live), b), rtt_us};

	cr_assert_eq(live_latency(live, &sample, 1, now_s), 0);
}

int fixture_step(struct live *live, double now_s)
{
	struct error err = {0};
	int decisions = live_step(live, now_s, &err);

	cr_assert_geq(decisions, 0, "%s", err.text);
	return decisions;
}

const struct live_task *fixture_task_of(const struct live *live, const char *job, uint32_t task)
{
	return &live_find_job(live, job)->tasks[task];
}

const char *fixture_machine_of(const struct live *live, const char *job, uint32_t task)
{
	int32_t machine = fixture_task_of(live, job, task)->machine;

	return machine < 0 ? "-" : live_cluster(live)->machines[machine].name;
}

void fixture_confirm(struct live *live, const char *job, double now_s)
{
	const struct live_job *of = live_find_job(live, job);
	struct error err = {0};

	for (uint32_t t = 0; t < of->task_count; t++)
		if (of->tasks[t].state == LIVE_DECIDED || of->tasks[t].state == LIVE_MOVING)
			cr_assert_eq(live_started(live, job, of->tasks[t].name, fixture_machine_of(live, job, t), now_s,
						  &err),
				     0, "%s", err.text);
}
