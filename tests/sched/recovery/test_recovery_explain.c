/* SPDX-License-Identifier: BSD-3-Clause */
/* The reasons and the random placements, compared with an independent evaluation of each alternative. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <sched/recovery/recovery.h>

#include "recovery_world.h"

enum { SCENARIOS = 400 };

static const struct world_options options = {.servers = 6,
					     .applications = 3,
					     .tasks = 4,
					     .failed = 4,
					     .talk = true,
					     .links = true,
					     .cpu = true,
					     .backups = true,
					     .weights = true};

static void expect_near(double is, double wanted)
{
	cr_assert(fabs(is - wanted) <= 1e-9 * fmax(1, fabs(wanted)), "%.12g, not %.12g", is, wanted);
}

/* The highest relative load of one server, by the loads of the whole placement. */
static double load_of(const struct recovery_scenario *s, const uint32_t *server, uint32_t n)
{
	struct recovery_load *load = calloc(s->server_count, sizeof *load);
	double most;

	recovery_evaluate(s, server, load);
	most = fmax(load[n].egress, load[n].ingress);
	free(load);
	return most;
}

static bool is_certain(double p)
{
	return isfinite(p);
}

static void check_reason(const struct recovery_scenario *s, uint32_t *server, const struct recovery_reason *reason)
{
	uint32_t own = server[reason->task], count = 0;
	double next_p = INFINITY, next_p_of = NAN, sum = 0;

	cr_assert_eq(reason->server, own);
	cr_assert_float_eq(reason->load_s, load_of(s, server, own), 1e-9);
	for (uint32_t n = 0; n < s->server_count; n++) {
		double p;

		server[reason->task] = n;
		if (!world_is_legal(s, server))
			continue;
		p = world_evaluate(s, server).p;
		sum += p;
		count++;
		if (n == own)
			continue;
		next_p = fmin(next_p, p);
		next_p_of = n == reason->next_server ? p : next_p_of;
	}
	server[reason->task] = own;
	cr_assert_eq(reason->server_count, count);
	cr_assert_eq(reason->has_next, count > 1);
	if (is_certain(sum))
		expect_near(reason->random_p, sum / count);
	if (count > 1 && is_certain(next_p)) {
		expect_near(reason->next_p, next_p);
		expect_near(next_p_of, next_p);
	}
}

static void check_reasons(const struct world_options *world)
{
	uint32_t checked = 0, alternatives = 0;
	struct rng rng;

	rng_seed(&rng, 77);
	for (int i = 0; i < SCENARIOS; i++) {
		struct recovery_scenario *s = world_create(&rng, world);
		struct recovery_answer answer = {0};
		struct recovery_reason *reasons;
		uint32_t *server;

		cr_assert_eq(recovery_solve(s, &(struct recovery_options){0}, &answer, NULL), 0);
		if (answer.server) {
			reasons = calloc(answer.failed_count + 1, sizeof *reasons);
			server = recovery_placement(s, &answer);
			cr_assert_eq(recovery_explain(s, &answer, reasons), 0);
			for (uint32_t f = 0; f < answer.failed_count; f++) {
				cr_assert_eq(reasons[f].task, answer.failed[f]);
				check_reason(s, server, &reasons[f]);
				alternatives += reasons[f].has_next;
				checked++;
			}
			free(server);
			free(reasons);
		}
		recovery_answer_free(&answer);
		recovery_destroy(s);
	}
	cr_expect_gt(checked, SCENARIOS);
	cr_expect(alternatives > checked / 4 && alternatives < checked, "%u of %u", alternatives, checked);
}

Test(recovery_explain, each_reason_is_that_of_all_servers)
{
	check_reasons(&options);
}

Test(recovery_explain, with_relaunch_delays_each_alternative_has_its_own_p)
{
	struct world_options late = options;

	late.relaunch = true;
	check_reasons(&late);
}

static struct recovery_answer solve_text(const char *text)
{
	struct error err = {0};
	struct recovery_scenario *s = recovery_parse("test", text, strlen(text), &err);
	struct recovery_answer answer;

	cr_assert_not_null(s, "%s", err.text);
	cr_assert_eq(recovery_solve(s, &(struct recovery_options){0}, &answer, &err), 0, "%s", err.text);
	recovery_destroy(s);
	return answer;
}

#define SERVERS                                                                                                        \
	"{\"schema\": \"nomora.recovery/1\", \"failed_servers\": [\"s0\"], \"servers\": ["                             \
	"{\"name\": \"s0\", \"cpu\": 9, \"egress_MBps\": 1, \"ingress_MBps\": 1},"                                     \
	"{\"name\": \"s1\", \"cpu\": 4, \"egress_MBps\": 1, \"ingress_MBps\": 1},"                                     \
	"{\"name\": \"s2\", \"cpu\": 3, \"egress_MBps\": 1, \"ingress_MBps\": 1}],"

/* A.1 joins A.2. B.1 is late and joins B.2; at its p, the demand of B's flow is 1e9 times its volume. */
Test(recovery_explain, a_small_load_is_not_lost_beside_a_late_flow)
{
	struct recovery_answer answer = solve_text(
		SERVERS
		"\"applications\": [{\"name\": \"A\", \"tasks\": [{\"name\": \"1\", \"server\": \"s0\"},"
		"{\"name\": \"2\", \"server\": \"s1\"}, {\"name\": \"3\", \"server\": \"s2\"}],"
		"\"flows\": [{\"from\": \"1\", \"to\": \"2\", \"MB\": 0.0005}, {\"from\": \"1\", \"to\": \"3\", "
		"\"MB\": 0.0005}]},"
		"{\"name\": \"B\", \"tasks\": [{\"name\": \"1\", \"server\": \"s0\", \"relaunch_s\": 10},"
		"{\"name\": \"2\", \"server\": \"s1\"}], \"flows\": [{\"from\": \"1\", \"to\": \"2\", \"MB\": 60}]}]}");

	cr_expect_float_eq(answer.touched, 0.00025, 1e-9, "%g", answer.touched);
	recovery_answer_free(&answer);
}

Test(recovery_explain, an_application_of_small_weight_has_a_transfer_time)
{
	struct recovery_answer answer = solve_text(
		SERVERS
		"\"applications\": [{\"name\": \"A\", \"tasks\": [{\"name\": \"1\", \"server\": \"s0\", \"cpu\": 3},"
		"{\"name\": \"2\", \"server\": \"s1\"}], \"flows\": [{\"from\": \"1\", \"to\": \"2\", \"MB\": 0.9}]},"
		"{\"name\": \"B\", \"weight\": 1e9, \"tasks\": [{\"name\": \"1\", \"server\": \"s1\"}]}]}");

	cr_expect_float_eq(answer.p * 1e9, 0.9, 1e-6, "%g", answer.p);
	recovery_answer_free(&answer);
}

/* If one task fails, its random placements are all servers on which it fits, equally likely. */
Test(recovery_explain, the_spread_is_that_of_all_placements)
{
	const struct world_options one = {
		.servers = 6, .applications = 2, .tasks = 4, .failed = 1, .links = true, .cpu = true, .backups = true};
	enum { RUNS = 2000 };
	uint32_t checked = 0;
	struct rng rng;

	rng_seed(&rng, 78);
	for (uint64_t i = 0; i < 40; i++) {
		struct recovery_scenario *s = world_create(&rng, &one);
		uint32_t *server = calloc(s->task_count + 1, sizeof *server), failed = 0, count = 0;
		bool *candidate = calloc(s->server_count + 1, sizeof *candidate);
		double least = INFINITY, greatest = 0, sum = 0;
		struct recovery_spread spread;

		for (uint32_t t = 0; t < s->task_count; t++) {
			server[t] = s->tasks[t].server;
			failed = s->tasks[t].failed ? t : failed;
		}
		for (uint32_t n = 0; n < s->server_count; n++) {
			double p;

			server[failed] = n;
			candidate[n] = n % 2;
			if (!world_is_legal(s, server))
				continue;
			p = world_evaluate(s, server).p;
			least = fmin(least, p);
			greatest = fmax(greatest, p);
			sum += p;
			count++;
		}
		spread = recovery_random_spread(s, NULL, RUNS, i);
		cr_assert_eq(spread.runs, count > 0 ? RUNS : 0);
		if (count > 0 && isfinite(sum) && s->tasks[failed].failed) {
			expect_near(spread.least_p, least);
			expect_near(spread.greatest_p, greatest);
			cr_assert_leq(fabs(spread.mean_p - sum / count), 0.06 * (greatest - least) + 1e-9);
			checked += count > 1;
		}
		if (count == 0)
			cr_assert_eq(spread.mean_p, 0);
		spread = recovery_random_spread(s, candidate, 20, i);
		for (uint32_t n = 0; n < s->server_count; n++) {
			server[failed] = n;
			if (candidate[n] && world_is_legal(s, server))
				break;
			cr_assert(n + 1 < s->server_count || spread.runs == 0, "a server that is no candidate");
		}
		free(candidate);
		free(server);
		recovery_destroy(s);
	}
	cr_expect_gt(checked, 10);
}
