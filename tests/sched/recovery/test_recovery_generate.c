/* SPDX-License-Identifier: BSD-3-Clause */
/* Generated scenarios, random placements and the filters on them. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/rng.h>
#include <sched/recovery/recovery.h>

#include "recovery_world.h"

static struct recovery_scenario *generate(const char *text)
{
	struct recovery_recipe recipe;
	struct error err = {0};
	struct recovery_scenario *s;

	cr_assert_eq(recovery_recipe_parse(text, &recipe, &err), 0, "%s", err.text);
	s = recovery_generate(&recipe, &err);
	cr_assert_not_null(s, "%s", err.text);
	return s;
}

static bool same(struct recovery_scenario *a, struct recovery_scenario *b)
{
	json_t *x = recovery_to_json(a), *y = recovery_to_json(b);
	bool equal = json_equal(x, y);

	json_decref(x);
	json_decref(y);
	recovery_destroy(a);
	recovery_destroy(b);
	return equal;
}

Test(recovery_generate, a_recipe_is_one_scenario)
{
	static const char plain[] = "servers=50,apps=4,tasks=10,failed=3,seed=7";

	cr_expect(same(generate(plain), generate(plain)));
	cr_expect_not(same(generate(plain), generate("servers=50,apps=4,tasks=10,failed=3,seed=8")));
}

Test(recovery_generate, has_the_numbers_of_the_recipe)
{
	struct recovery_scenario *s = generate("servers=50,apps=4,tasks=10,failed=3,backups=2,weights=2-5");
	uint32_t failed = 0;

	cr_expect_eq(s->server_count, 50);
	cr_expect_eq(s->application_count, 4);
	cr_expect_eq(s->task_count, 40);
	cr_expect_eq(s->flow_count, 4 * 5 * 5);
	for (uint32_t t = 0; t < s->task_count; t++) {
		const struct recovery_task *task = &s->tasks[t];

		failed += task->failed;
		cr_expect(!task->failed || task->stage != 1 || task->backup_count == 2);
	}
	cr_expect_eq(failed, 3);
	for (uint32_t i = 0; i < s->flow_count; i++) {
		const struct recovery_flow *flow = &s->flows[i];

		cr_expect(flow->MB >= 10 && flow->MB <= 100 && flow->sent_MB >= 0 && flow->sent_MB <= 0.9 * flow->MB);
		cr_expect(s->tasks[flow->from].stage == 1 && s->tasks[flow->to].stage == 2);
	}
	for (uint32_t k = 0; k < s->application_count; k++)
		cr_expect(s->applications[k].weight >= 2 && s->applications[k].weight <= 5);
	recovery_destroy(s);
}

Test(recovery_generate, tight_cpu_fits_before_the_failure)
{
	struct recovery_scenario *s = generate("servers=30,apps=5,tasks=20,failed=2,fail=servers,cpu=tight");
	double *used = calloc(s->server_count, sizeof *used), sum = 0, all = 0;

	for (uint32_t t = 0; t < s->task_count; t++)
		used[s->tasks[t].server] += s->tasks[t].cpu;
	for (uint32_t n = 0; n < s->server_count; n++) {
		cr_expect_leq(used[n], s->servers[n].cpu + 1e-9);
		sum += used[n];
		all += s->servers[n].cpu;
	}
	cr_expect(sum / all > 0.6 && sum / all <= 1, "%g of the CPU in use", sum / all);
	free(used);
	recovery_destroy(s);
}

/* A task of cpu=tight wants up to 4 CPUs. */
Test(recovery_generate, every_server_of_tight_cpu_holds_the_largest_task)
{
	struct recovery_scenario *s = generate("servers=30,apps=1,tasks=4,failed=1,cpu=tight");

	for (uint32_t n = 0; n < s->server_count; n++)
		cr_expect_geq(s->servers[n].cpu, 4);
	recovery_destroy(s);
}

Test(recovery_generate, refuses_bad_recipes)
{
	static const char *const bad[] = {"servers=1", "apps=0",   "tasks=1",  "failed=0",  "seed=-1",
					  "demand=0",  "fail=all", "cpu=fast", "backups=0", "weights=4-1",
					  "links=1",   "dense=2",  "colour=1", "servers",   ""};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct recovery_recipe recipe;
		struct error err = {0};

		cr_expect_eq(recovery_recipe_parse(bad[i], &recipe, &err), -EINVAL, "%s", bad[i]);
		cr_expect_eq(strncmp(err.text, "--generate: found", 17), 0, "%s", err.text);
	}
}

Test(recovery_generate, random_placements_are_legal_and_no_better_than_the_answer)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct recovery_scenario *s = generate(seed % 2 ? "servers=20,apps=3,tasks=8,failed=3,demand=4"
								: "servers=20,apps=3,tasks=8,failed=3,cpu=tight");
		uint32_t *server = malloc(s->task_count * sizeof *server);
		struct recovery_answer answer;
		struct rng rng;

		rng_seed(&rng, seed);
		cr_assert_eq(recovery_solve(s, &(struct recovery_options){0}, &answer, NULL), 0);
		cr_assert_eq(answer.status, RECOVERY_OPTIMAL);
		for (int i = 0; i < 200; i++) {
			if (!recovery_random_placement(s, &rng, NULL, server))
				continue;
			cr_expect(world_is_legal(s, server));
			cr_expect_geq(recovery_evaluate(s, server, NULL), answer.p * (1 - 1e-9));
		}
		recovery_answer_free(&answer);
		free(server);
		recovery_destroy(s);
	}
}

/* `exact` keeps the optimum; `paper` offers at most eta servers per failed task. Failed servers are no candidates. */
Test(recovery_filter, exact_loses_nothing_and_paper_is_small)
{
	static const char *const recipes[] = {"servers=60,apps=4,tasks=10,failed=4,demand=4,seed=1",
					      "servers=60,apps=4,tasks=10,failed=4,demand=4,seed=2",
					      "servers=60,apps=4,tasks=10,failed=2,fail=servers,seed=3"};

	for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
		struct recovery_scenario *s = generate(recipes[i]);
		double p[4];

		for (int filter = RECOVERY_FILTER_EXACT; filter <= RECOVERY_FILTER_NONE; filter++) {
			struct recovery_options options = {.filter = (enum recovery_filter)filter, .eta = 3};
			bool *candidate = calloc(s->server_count, sizeof *candidate);
			struct recovery_answer answer;
			uint32_t count = 0;

			cr_assert_eq(recovery_candidates(s, &options, candidate), 0);
			for (uint32_t n = 0; n < s->server_count; n++) {
				count += candidate[n];
				cr_expect(!candidate[n] || !s->servers[n].failed);
			}
			cr_assert_eq(recovery_solve(s, &options, &answer, NULL), 0);
			cr_assert_eq(answer.status, RECOVERY_OPTIMAL);
			cr_expect(filter != RECOVERY_FILTER_PAPER || count <= 3 * answer.failed_count);
			p[filter] = answer.p;
			recovery_answer_free(&answer);
			free(candidate);
		}
		cr_expect_float_eq(p[RECOVERY_FILTER_EXACT], p[RECOVERY_FILTER_NONE], 1e-9 * p[RECOVERY_FILTER_NONE]);
		cr_expect_geq(p[RECOVERY_FILTER_PEERS], p[RECOVERY_FILTER_NONE] * (1 - 1e-9));
		cr_expect_geq(p[RECOVERY_FILTER_PAPER], p[RECOVERY_FILTER_PEERS] * (1 - 1e-9));
		recovery_destroy(s);
	}
}

/*
 * A rack of twenty servers: over a hundred failed tasks of applications with up to 20 of them, and few surviving
 * servers whose load only co-location can reduce. The optimum is proved within a few thousand nodes; with weaker bounds
 * the search does not end.
 */
Test(recovery_search, proves_a_rack)
{
	static const char *const recipes[] = {"servers=1000,apps=150,tasks=40,failed=20,fail=rack,seed=3",
					      "servers=1000,apps=150,tasks=40,failed=20,fail=rack,seed=36",
					      "servers=1000,apps=150,tasks=40,failed=20,fail=rack,seed=46"};

	for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
		struct recovery_scenario *s = generate(recipes[i]);
		struct recovery_answer answer;

		cr_assert_eq(recovery_solve(s, &(struct recovery_options){0}, &answer, NULL), 0);
		cr_expect_eq(answer.status, RECOVERY_OPTIMAL, "%s: gap %g", recipes[i], answer.gap);
		cr_expect_gt(answer.failed_count, 100);
		recovery_answer_free(&answer);
		recovery_destroy(s);
	}
}

static uint32_t add_server(struct recovery_scenario *s, const char *name, double cpu, double MBps)
{
	char copy[16];

	snprintf(copy, sizeof copy, "%s", name);
	return (uint32_t)recovery_add_server(
		s, &(struct recovery_server){.name = copy, .cpu = cpu, .egress_MBps = MBps, .ingress_MBps = MBps});
}

/*
 * Two failed tasks send to y on server `home`. Both prefer `fast`, and the task whose turn is first gets it: that with
 * more CPU or, of equal CPU, that of the earlier stage. It fits on no other server, so in the other order the filter
 * would keep only one server.
 */
static void expect_turns(double wide_cpu, int wide_stage, double thin_cpu, int thin_stage)
{
	struct recovery_scenario *s = recovery_create();
	struct recovery_options options = {.filter = RECOVERY_FILTER_PAPER, .eta = 1};
	uint32_t dead = add_server(s, "dead", 9, 100), home = add_server(s, "home", 1, 100),
		 fast = add_server(s, "fast", 9, 100), slow = add_server(s, "slow", 9, 50), thin, wide, y;
	bool candidate[4];
	char name[8] = "y";

	recovery_add_application(s, "a", 1);
	y = (uint32_t)recovery_add_task(s, &(struct recovery_task){.name = name, .server = home, .cpu = 1, .stage = 2});
	name[0] = 't';
	thin = (uint32_t)recovery_add_task(
		s, &(struct recovery_task){.name = name, .server = dead, .cpu = thin_cpu, .stage = thin_stage});
	name[0] = 'w';
	wide = (uint32_t)recovery_add_task(
		s, &(struct recovery_task){.name = name, .server = dead, .cpu = wide_cpu, .stage = wide_stage});
	recovery_add_backup(s, wide, fast);
	recovery_add_flow(s, &(struct recovery_flow){.from = thin, .to = y, .MB = 10});
	recovery_add_flow(s, &(struct recovery_flow){.from = wide, .to = y, .MB = 10});
	recovery_fail_server(s, dead);
	cr_assert_eq(recovery_candidates(s, &options, candidate), 0);
	cr_expect_not(candidate[dead]);
	cr_expect_not(candidate[home], "without CPU");
	cr_expect(candidate[fast] && candidate[slow]);
	recovery_destroy(s);
}

Test(recovery_filter, larger_and_earlier_tasks_choose_first)
{
	expect_turns(2, 2, 1, 1);
	expect_turns(2, 1, 2, 2);
}

/* One failed task sends to servers of its peers: Algorithm 1 keeps those with the lowest loads with the task. */
Test(recovery_filter, paper_and_peers_keep_the_servers_that_they_say)
{
	struct recovery_scenario *s = recovery_create();
	uint32_t dead = add_server(s, "dead", 9, 100), peer, first, y;
	struct recovery_options options = {.filter = RECOVERY_FILTER_PAPER, .eta = 2};
	bool candidate[6];
	char name[8] = "y";

	/* The task alone needs 10 MB: 0.25, 0.2, 0.5 and 0.125 s on these servers. */
	first = add_server(s, "b", 9, 40);
	add_server(s, "c", 9, 50);
	add_server(s, "d", 9, 20);
	add_server(s, "e", 9, 80);
	peer = add_server(s, "p", 9, 10); /* 1 s for y's other flow */
	recovery_add_application(s, "a", 1);
	y = (uint32_t)recovery_add_task(s, &(struct recovery_task){.name = name, .server = peer, .cpu = 1, .stage = 2});
	name[0] = 'x';
	recovery_add_task(s, &(struct recovery_task){.name = name, .server = dead, .cpu = 1, .stage = 1});
	name[0] = 'z';
	recovery_add_task(s, &(struct recovery_task){.name = name, .server = first + 2, .cpu = 1, .stage = 1});
	recovery_add_flow(s, &(struct recovery_flow){.from = y + 1, .to = y, .MB = 10});
	recovery_add_flow(s, &(struct recovery_flow){.from = y + 2, .to = y, .MB = 10});
	recovery_fail_server(s, dead);
	for (uint32_t eta = 0; eta <= 3; eta++) {
		bool wanted[6] = {false, eta >= 3, eta >= 2, false, true, false};

		options.eta = eta;
		options.filter = RECOVERY_FILTER_PAPER;
		cr_assert_eq(recovery_candidates(s, &options, candidate), 0);
		cr_expect_arr_eq(candidate, wanted, sizeof wanted, "eta %u", eta);
		options.filter = RECOVERY_FILTER_PEERS;
		wanted[peer] = true;
		cr_assert_eq(recovery_candidates(s, &options, candidate), 0);
		cr_expect_arr_eq(candidate, wanted, sizeof wanted, "with peers, eta %u", eta);
	}
	recovery_destroy(s);
}

/* Half a second is not enough to prove this optimum, 15.0753: 19 tasks on five servers, with peers on all of them. */
Test(recovery_generate, a_search_that_ends_early_states_a_bound_from_all_links)
{
	struct recovery_scenario *s = generate("servers=6,apps=2,tasks=40,failed=1,fail=servers,seed=8");
	struct recovery_options options = {.eta = 1, .deadline_ms = 500};
	struct recovery_answer answer;
	struct error err = {0};

	cr_assert_eq(recovery_solve(s, &options, &answer, &err), 0, "%s", err.text);
	cr_expect_gt(answer.bound, 13.3);
	cr_expect_lt(answer.bound, 15.0754);
	recovery_answer_free(&answer);
	recovery_destroy(s);
}
