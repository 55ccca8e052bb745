/* SPDX-License-Identifier: BSD-3-Clause */
/* The exact solver compared with all placements of small scenarios. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <sched/recovery/recovery.h>

#include "recovery_world.h"

enum { SCENARIOS_EACH = 250 };

static const struct world_options kinds[] = {
	{.servers = 5, .applications = 3, .tasks = 6, .failed = 4},
	{.servers = 5, .applications = 2, .tasks = 6, .failed = 5, .talk = true},
	{.servers = 5, .applications = 2, .tasks = 7, .failed = 5, .talk = true, .links = true, .weights = true},
	{.servers = 4, .applications = 3, .tasks = 5, .failed = 5, .talk = true, .ties = true},
	{.servers = 5, .applications = 3, .tasks = 5, .failed = 4, .talk = true, .cpu = true, .backups = true},
	{.servers = 5, .applications = 2, .tasks = 5, .failed = 5, .cpu = true, .links = true, .talk = true},
	{.servers = 6,
	 .applications = 4,
	 .tasks = 4,
	 .failed = 4,
	 .links = true,
	 .ties = true,
	 .backups = true,
	 .talk = true},
	{.servers = 4, .applications = 2, .tasks = 5, .failed = 4, .talk = true, .relaunch = true, .links = true},
	{.servers = 3, .applications = 1, .tasks = 9, .failed = 6, .talk = true, .ties = true},
};

static char *as_text(const struct recovery_scenario *s)
{
	json_t *json = recovery_to_json(s);
	char *text = json_to_text(json);

	json_decref(json);
	return text;
}

static bool may_take(const struct recovery_scenario *s, const struct recovery_task *task, uint32_t n)
{
	bool allowed = !task->has_backups;

	for (uint32_t b = 0; b < task->backup_count; b++)
		allowed = allowed || task->backups[b] == n;
	return allowed && !s->servers[n].failed;
}

/* True if tasks[0..count-1] without `skip` can be placed. */
static bool fit(const struct recovery_scenario *s, const uint32_t *tasks, uint32_t count, uint32_t skip, double *space)
{
	const struct recovery_task *task = &s->tasks[tasks[0]];
	bool found = false;

	if (count == 0)
		return true;
	if (tasks[0] == skip)
		return fit(s, tasks + 1, count - 1, skip, space);
	for (uint32_t n = 0; n < s->server_count && !found; n++) {
		if (!may_take(s, task, n) || task->cpu > space[n] + 1e-9)
			continue;
		space[n] -= task->cpu;
		found = fit(s, tasks + 1, count - 1, skip, space);
		space[n] += task->cpu;
	}
	return found;
}

/* A proof of infeasibility names tasks that cannot be placed together, but could without any one of them. */
static void check_proof(const struct recovery_scenario *s, const struct recovery_answer *answer)
{
	double *space = calloc(s->server_count, sizeof *space);

	for (uint32_t n = 0; n < s->server_count; n++)
		space[n] = s->servers[n].cpu;
	for (uint32_t t = 0; t < s->task_count; t++)
		space[s->tasks[t].server] -= s->tasks[t].failed ? 0 : s->tasks[t].cpu;
	cr_expect_not(fit(s, answer->proof_tasks, answer->proof_task_count, UINT32_MAX, space));
	for (uint32_t i = 0; i < answer->proof_task_count; i++)
		cr_expect(fit(s, answer->proof_tasks, answer->proof_task_count, answer->proof_tasks[i], space));
	free(space);
	cr_expect_gt(answer->proof_task_count, 0);
	for (uint32_t i = 0; i < answer->proof_task_count; i++)
		cr_expect(s->tasks[answer->proof_tasks[i]].failed);
	for (uint32_t i = 0; i < answer->proof_server_count; i++)
		cr_expect(!s->servers[answer->proof_servers[i]].failed);
}

static void check(const struct recovery_scenario *s, enum recovery_filter filter, bool legal,
		  const struct world_value *best, int kind, int number)
{
	struct recovery_options options = {.filter = filter};
	struct recovery_answer answer;
	struct error err = {0};

	cr_assert_eq(recovery_solve(s, &options, &answer, &err), 0, "%s", err.text);
	if (!legal) {
		cr_expect_eq(answer.status, RECOVERY_INFEASIBLE, "kind %d scenario %d", kind, number);
		check_proof(s, &answer);
	} else {
		uint32_t *server = recovery_placement(s, &answer);
		struct world_value value = {0};
		bool good = answer.status == RECOVERY_OPTIMAL && world_is_legal(s, server);

		if (good) {
			value = world_evaluate(s, server);
			good = world_compare(&value, best) == 0 && answer.ties_proved &&
			       fabs(value.p - answer.p) <= 1e-7 * fmax(1, value.p);
		}
		if (!good) {
			char *text = as_text(s);

			cr_expect(good,
				  "kind %d scenario %d filter %d: %s p %.12g touched %.12g MB %.12g (ties %d), says p "
				  "%.12g; "
				  "brute force %.12g %.12g %.12g\n%s",
				  kind, number, (int)filter, recovery_status_name(answer.status), value.p,
				  value.touched, value.network_MB, answer.ties_proved, answer.p, best->p, best->touched,
				  best->network_MB, getenv("SHOW_SCENARIO") ? text : "");
			free(text);
		}
		free(server);
	}
	recovery_answer_free(&answer);
}

ParameterizedTestParameters(recovery_brute, equals_all_placements)
{
	static int index[sizeof kinds / sizeof *kinds];

	for (size_t i = 0; i < sizeof index / sizeof *index; i++)
		index[i] = (int)i;
	return cr_make_param_array(int, index, sizeof index / sizeof *index);
}

ParameterizedTest(int *index, recovery_brute, equals_all_placements)
{
	struct rng rng;
	int impossible = 0;

	rng_seed(&rng, 2200u + (uint64_t)*index);
	for (int i = 0; i < SCENARIOS_EACH; i++) {
		struct recovery_scenario *s = world_create(&rng, &kinds[*index]);
		uint32_t *best = calloc(s->task_count, sizeof *best);
		struct world_value value;
		bool legal = world_brute_force(s, &value, best);

		impossible += !legal;
		check(s, RECOVERY_FILTER_NONE, legal, &value, *index, i);
		check(s, RECOVERY_FILTER_EXACT, legal, &value, *index, i);
		free(best);
		recovery_destroy(s);
	}
	/* Infeasible scenarios occur where CPU or backups are limited, but not in most cases. */
	cr_expect_lt(impossible, SCENARIOS_EACH / 2);
	if (kinds[*index].cpu || kinds[*index].backups)
		cr_expect_gt(impossible, 0);
}

/*
 * The greedy start places the largest task on the emptiest server, the only one for the two others: only the packing
 * search finds the placement.
 */
Test(recovery_brute, packs_where_the_greedy_start_fails)
{
	struct recovery_scenario *s = recovery_create();
	static const double cpu[] = {4, 3, 7}, size[] = {3, 2, 2};
	static const char *const names[] = {"s0", "s1", "s2"}, *const tasks[] = {"t0", "t1", "t2"};
	struct recovery_answer answer;

	for (uint32_t n = 0; n < 3; n++) {
		struct recovery_server server = {.name = (char *)(uintptr_t)names[n],
						 .cpu = cpu[n],
						 .egress_MBps = n == 0 ? 1000 : 10,
						 .ingress_MBps = n == 0 ? 1000 : 10};

		cr_assert_geq(recovery_add_server(s, &server), 0);
	}
	cr_assert_geq(recovery_add_application(s, "a", 1), 0);
	for (uint32_t t = 0; t < 3; t++) {
		struct recovery_task task = {
			.name = (char *)(uintptr_t)tasks[t], .cpu = size[t], .server = 2, .stage = 1};

		cr_assert_geq(recovery_add_task(s, &task), 0);
	}
	for (uint32_t t = 1; t < 3; t++)
		cr_assert_geq(recovery_add_flow(s, &(struct recovery_flow){.from = 0, .to = t, .MB = 10}), 0);
	recovery_fail_server(s, 2);
	cr_assert_eq(recovery_solve(s, &(struct recovery_options){0}, &answer, NULL), 0);
	cr_assert_eq(answer.status, RECOVERY_OPTIMAL);
	cr_expect_eq(answer.server[0], 1);
	cr_expect_eq(answer.server[1], 0);
	cr_expect_eq(answer.server[2], 0);
	cr_expect_float_eq(answer.p, 2, 1e-9);
	recovery_answer_free(&answer);
	recovery_destroy(s);
}
