/* SPDX-License-Identifier: BSD-3-Clause */
/* Rates: each policy's definition, checked on the flows; the fluid simulation. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sched/recovery/recovery.h>
#include <sched/recovery/sharing.h>

#include "recovery_world.h"

/* No link exceeds its capacity. */
static void check_links(const struct fluid *fluid, const double *rate, const char *what)
{
	uint32_t servers = fluid->scenario->server_count;
	double *used = calloc(2 * servers, sizeof *used);

	for (uint32_t i = 0; i < fluid->count; i++) {
		used[fluid->flows[i].from] += rate[i];
		used[servers + fluid->flows[i].to] += rate[i];
	}
	for (uint32_t n = 0; n < servers; n++) {
		cr_expect_leq(used[n], fluid->scenario->servers[n].egress_MBps * (1 + 1e-9), "%s", what);
		cr_expect_leq(used[servers + n], fluid->scenario->servers[n].ingress_MBps * (1 + 1e-9), "%s", what);
	}
	free(used);
}

/* Max-min: each flow crosses a saturated link on which no flow is faster. */
static void check_max_min(const struct fluid *fluid, const double *rate)
{
	for (uint32_t i = 0; i < fluid->count; i++) {
		bool limited = false;

		for (int end = 0; end < 2; end++) {
			uint32_t n = end ? fluid->flows[i].to : fluid->flows[i].from;
			double used = 0, fastest = 0;

			for (uint32_t j = 0; j < fluid->count; j++) {
				if ((end ? fluid->flows[j].to : fluid->flows[j].from) != n)
					continue;
				used += rate[j];
				fastest = fmax(fastest, rate[j]);
			}
			limited =
				limited || (used >= (end ? fluid->ingress_MBps : fluid->egress_MBps)[n] * (1 - 1e-9) &&
					    fastest <= rate[i] * (1 + 1e-9));
		}
		cr_expect(limited, "flow %u could be faster", i);
	}
}

static void check_scenario(const struct recovery_scenario *s, const uint32_t *server, double p, bool relaunch)
{
	struct fluid fluid;
	struct fluid_result exact, spare;
	double *rate = calloc(s->flow_count + 1, sizeof *rate);

	cr_assert_eq(fluid_create(s, server, p, &fluid), 0);
	for (uint32_t i = 0; i < fluid.count; i++) {
		fluid.flows[i].left_MB = fluid.flows[i].MB;
		fluid.flows[i].active = true;
	}
	for (int i = 0; sharing_policies[i]; i++) {
		cr_assert_eq(sharing_policies[i]->rates(&fluid, rate), 0);
		check_links(&fluid, rate, sharing_policies[i]->name);
	}
	check_max_min(&fluid, rate);
	cr_assert_eq(fluid_run(&fluid, &sharing_performance, 0, &exact), 0);
	cr_assert_eq(fluid_run(&fluid, &sharing_work_conserving, 0, &spare), 0);
	/* Proportional and equal ends: every flow over the network ends together with its application, at p / share. */
	for (uint32_t i = 0; i < fluid.count; i++)
		cr_expect_float_eq(exact.flow_end_s[fluid.flows[i].index],
				   recovery_transfer_time_s(s, fluid.flows[i].application, p),
				   1e-9 * (1 + exact.flow_end_s[fluid.flows[i].index]));
	for (uint32_t k = 0; k < s->application_count; k++)
		cr_expect_leq(spare.application_end_s[k], exact.application_end_s[k] * (1 + 1e-7) + 1e-12, "later%s",
			      relaunch ? " with relaunch" : "");
	fluid_result_free(&exact);
	fluid_result_free(&spare);
	fluid_free(&fluid);
	free(rate);
}

Test(recovery_sharing, keeps_its_laws_on_random_scenarios)
{
	enum { SCENARIOS = 1200 };
	struct world_options options = {
		.servers = 6, .applications = 4, .tasks = 6, .failed = 4, .talk = true, .links = true, .weights = true};
	struct rng rng;

	rng_seed(&rng, 7);
	for (int i = 0; i < SCENARIOS; i++) {
		struct recovery_options solve = {0};
		struct recovery_answer answer;
		struct recovery_scenario *s;
		uint32_t *server;

		options.relaunch = i % 3 == 0;
		s = world_create(&rng, &options);
		cr_assert_eq(recovery_solve(s, &solve, &answer, NULL), 0);
		cr_assert_eq(answer.status, RECOVERY_OPTIMAL);
		server = recovery_placement(s, &answer);
		if (answer.p > 0)
			check_scenario(s, server, answer.p, options.relaunch);
		free(server);
		recovery_answer_free(&answer);
		recovery_destroy(s);
	}
}

/*
 * Two flows of 100 MB share the egress of 90 MB/s of one server: A has twice the weight of B. At p = 10 / 9 s, the
 * rates of eq. 19 use the whole link: 60 and 30. At twice this p, half of the link is left to share.
 */
Test(recovery_sharing, each_policy_by_hand)
{
	static const struct {
		const struct sharing_policy *policy;
		double both[2], alone; /* alone: the rate of B while A is not active */
	} cases[] = {{&sharing_performance, {30, 15}, 15},
		     {&sharing_work_conserving, {60, 30}, 90},
		     {&sharing_equal, {45, 45}, 45},
		     {&sharing_max_min, {45, 45}, 90}};
	struct recovery_scenario *s = recovery_create();
	uint32_t server[] = {0, 1, 0, 1};
	struct fluid fluid;
	double rate[2];

	for (int n = 0; n < 2; n++) {
		char name[] = {'s', (char)('0' + n), '\0'};

		recovery_add_server(s, &(struct recovery_server){.name = name,
								 .cpu = 9,
								 .egress_MBps = n ? 1000 : 90,
								 .ingress_MBps = n ? 200 : 1000});
	}
	for (uint32_t k = 0; k < 2; k++) {
		char name[] = {(char)('A' + k), '\0'}, task[] = "x";

		recovery_add_application(s, name, k ? 1 : 2);
		recovery_add_task(s, &(struct recovery_task){.name = task, .server = 0, .cpu = 1, .stage = 1});
		task[0] = 'y';
		recovery_add_task(s, &(struct recovery_task){.name = task, .server = 1, .cpu = 1, .stage = 2});
		recovery_add_flow(s, &(struct recovery_flow){.from = 2 * k, .to = 2 * k + 1, .MB = 100});
	}
	cr_assert_eq(fluid_create(s, server, 20.0 / 9, &fluid), 0);
	cr_assert_eq(fluid.count, 2);
	for (int i = 0; i < 2; i++) {
		fluid.flows[i].left_MB = fluid.flows[i].MB;
		fluid.flows[i].active = true;
	}
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cr_assert_eq(cases[i].policy->rates(&fluid, rate), 0);
		cr_expect_float_eq(rate[0], cases[i].both[0], 1e-9, "%s", cases[i].policy->name);
		cr_expect_float_eq(rate[1], cases[i].both[1], 1e-9, "%s", cases[i].policy->name);
		fluid.flows[0].active = false;
		cr_assert_eq(cases[i].policy->rates(&fluid, rate), 0);
		cr_expect_float_eq(rate[1], cases[i].alone, 1e-9, "%s alone", cases[i].policy->name);
		fluid.flows[0].active = true;
	}
	fluid_free(&fluid);
	recovery_destroy(s);
}

/* The testbed with A1, B1, C3 on S3, S4, S6. */
static void run_testbed(const struct sharing_policy *policy, struct fluid_result *result)
{
	struct recovery_scenario *s = recovery_testbed(1);
	uint32_t server[64];
	struct fluid fluid;

	for (uint32_t t = 0; t < s->task_count; t++)
		server[t] = s->tasks[t].server;
	server[recovery_find_task(s, "A", "1")] = 3;
	server[recovery_find_task(s, "B", "1")] = 4;
	server[recovery_find_task(s, "C", "3")] = 6;
	cr_assert_eq(fluid_create(s, server, 4.8, &fluid), 0);
	cr_assert_eq(fluid_run(&fluid, policy, 0, result), 0);
	/* Returns the applications' ends, and the latest end of a flow of other applications than C3's. */
	result->events = 0;
	for (uint32_t f = 0; f < s->flow_count; f++) {
		bool of_C3 = s->flows[f].from == (uint32_t)recovery_find_task(s, "C", "3");

		if (!of_C3 && result->flow_end_s[f] > (double)result->events)
			result->events = (uint64_t)ceil(result->flow_end_s[f]);
	}
	fluid_free(&fluid);
	recovery_destroy(s);
}

Test(recovery_sharing, the_testbed)
{
	struct fluid_result result;

	run_testbed(&sharing_performance, &result);
	for (int k = 0; k < 5; k++)
		cr_expect_float_eq(result.application_end_s[k], 24, 1e-9);
	fluid_result_free(&result);
	run_testbed(&sharing_equal, &result);
	cr_expect_float_eq(result.application_end_s[2], 40, 1e-9);
	cr_expect_leq(result.events, 24);
	fluid_result_free(&result);
	run_testbed(&sharing_max_min, &result);
	cr_expect_float_eq(result.application_end_s[2], 26.6, 0.05);
	fluid_result_free(&result);
}

Test(recovery_sharing, a_step_changes_little)
{
	struct recovery_recipe recipe;
	struct recovery_options options = {0};
	struct recovery_answer answer;
	struct recovery_scenario *s;
	struct fluid_result exact, coarse;
	struct fluid fluid;
	uint32_t *server;

	recovery_recipe_parse("servers=60,apps=6,tasks=10,failed=4,demand=4,seed=3", &recipe, NULL);
	s = recovery_generate(&recipe, NULL);
	cr_assert_eq(recovery_solve(s, &options, &answer, NULL), 0);
	server = recovery_placement(s, &answer);
	cr_assert_eq(fluid_create(s, server, answer.p, &fluid), 0);
	cr_assert_eq(fluid_run(&fluid, &sharing_max_min, 0, &exact), 0);
	cr_assert_eq(fluid_run(&fluid, &sharing_max_min, 0.01, &coarse), 0);
	cr_expect_leq(coarse.events, exact.events);
	for (uint32_t k = 0; k < s->application_count; k++)
		cr_expect_float_eq(coarse.application_end_s[k], exact.application_end_s[k],
				   0.02 * exact.application_end_s[k] + 0.05);
	fluid_result_free(&exact);
	fluid_result_free(&coarse);
	fluid_free(&fluid);
	free(server);
	recovery_answer_free(&answer);
	recovery_destroy(s);
}
