/* SPDX-License-Identifier: BSD-3-Clause */
/* The paper's worked examples, computed exactly: p is compared as a fraction. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sched/recovery/recovery.h>

#include "recovery_world.h"

/*
 * p as a fraction: the maximum over the links of the sum of weight x MB, divided by weights x capacity. All are
 * integers.
 */
struct fraction {
	int64_t over, under;
};

static struct fraction exact_p(const struct recovery_scenario *s, const uint32_t *server)
{
	struct fraction worst = {0, 1};
	int64_t weights = 0;

	for (uint32_t k = 0; k < s->application_count; k++)
		weights += llround(s->applications[k].weight);
	for (uint32_t n = 0; n < s->server_count; n++) {
		for (int egress = 0; egress < 2; egress++) {
			double rate = egress ? s->servers[n].egress_MBps : s->servers[n].ingress_MBps;
			struct fraction load = {0, weights * llround(rate)};

			for (uint32_t i = 0; i < s->flow_count; i++) {
				uint32_t from = server[s->flows[i].from], to = server[s->flows[i].to];

				if (from != to && (egress ? from : to) == n)
					load.over +=
						llround(recovery_flow_left_MB(s, &s->flows[i])) *
						llround(s->applications[s->tasks[s->flows[i].from].application].weight);
			}
			if (load.over * worst.under > worst.over * load.under)
				worst = load;
		}
	}
	return worst;
}

static void expect_p(const struct recovery_scenario *s, const uint32_t *server, double p, int64_t over, int64_t under)
{
	struct fraction exact = exact_p(s, server);

	cr_expect_eq(exact.over * under, over * exact.under, "%lld/%lld, expected %lld/%lld", (long long)exact.over,
		     (long long)exact.under, (long long)over, (long long)under);
	cr_expect_float_eq(p, (double)over / (double)under, 4e-16 * p);
}

static uint32_t on(const struct recovery_scenario *s, const uint32_t *server, const char *application, const char *task)
{
	return server[recovery_find_task(s, application, task)];
}

static struct recovery_scenario *parse(const char *text)
{
	struct error err = {0};
	struct recovery_scenario *s = recovery_parse("example", text, strlen(text), &err);

	cr_assert_not_null(s, "%s", err.text);
	return s;
}

#define SERVER(name) "{\"name\": \"" name "\", \"cpu\": 9, \"egress_MBps\": 200, \"ingress_MBps\": 200}"
#define TASK(name, server) "{\"name\": \"" name "\", \"server\": \"" server "\"}"
#define FLOW(from, to, MB) "{\"from\": \"" from "\", \"to\": \"" to "\", \"MB\": " MB "}"

Test(recovery_paper, figure_2)
{
	static const char text[] =
		"{\"schema\": \"nomora.recovery/1\", \"servers\": [" SERVER("S1") "," SERVER("S2") ",\n" SERVER("S3") "," SERVER("S4") "], \"applications\": [{\"name\": \"A\", \"tasks\": [\n" TASK(
			"1",
			"S1") "," TASK("2",
				       "S2") "," TASK("3",
						      "S3") "," TASK("4",
								     "S4") "], \"flows\": [\n" FLOW("1", "3",
												    "200") "," FLOW("1",
														    "4",
														    "20"
														    "0") "," FLOW("2",
																  "3",
																  "300") "," FLOW("2",
																		  "4",
																		  "300") "]}], \"failed_servers\": [\"S2\"]}";
	struct recovery_scenario *s = parse(text);
	uint32_t server[] = {0, 0, 2, 3};
	struct recovery_options options = {0};
	struct recovery_answer answer;

	expect_p(s, server, recovery_evaluate(s, server, NULL), 5, 1);
	for (uint32_t with = 2; with < 4; with++) {
		server[1] = with;
		expect_p(s, server, recovery_evaluate(s, server, NULL), 5, 2);
	}
	cr_assert_eq(recovery_solve(s, &options, &answer, NULL), 0);
	cr_expect_eq(answer.status, RECOVERY_OPTIMAL);
	cr_expect_float_eq(answer.p, 2.5, 0);
	cr_expect(answer.server[0] == 2 || answer.server[0] == 3);
	recovery_answer_free(&answer);
	recovery_destroy(s);
}

Test(recovery_paper, figures_3_and_4)
{
	/* Volumes and capacities are tripled, so that B's 1000/3 MB is an integer. */
	static const char text[] =
		"{\"schema\": \"nomora.recovery/1\", \"servers\": ["
		"{\"name\": \"S1\", \"cpu\": 9, \"egress_MBps\": 600, \"ingress_MBps\": 600},"
		"{\"name\": \"S2\", \"cpu\": 9, \"egress_MBps\": 600, \"ingress_MBps\": 600},"
		"{\"name\": \"S3\", \"cpu\": 9, \"egress_MBps\": 600, \"ingress_MBps\": 600},"
		"{\"name\": \"x1\", \"cpu\": 9, \"egress_MBps\": 600, \"ingress_MBps\": 600},"
		"{\"name\": \"x2\", \"cpu\": 9, \"egress_MBps\": 600, \"ingress_MBps\": 600},"
		"{\"name\": \"x3\", \"cpu\": 9, \"egress_MBps\": 600, \"ingress_MBps\": 600},"
		"{\"name\": \"S0\", \"cpu\": 9, \"egress_MBps\": 600, \"ingress_MBps\": 600}],"
		"\"applications\": [{\"name\": \"A\", \"tasks\": [{\"name\": \"1\", \"server\": \"S1\"},"
		"{\"name\": \"2\", \"server\": \"S0\", \"backups\": [\"S1\", \"S3\"]},{\"name\": \"3\", \"server\": "
		"\"S2\"},"
		"{\"name\": \"4\", \"server\": \"S3\"}], \"flows\": [{\"from\": \"1\", \"to\": \"3\", \"MB\": 600},"
		"{\"from\": \"1\", \"to\": \"4\", \"MB\": 600},{\"from\": \"2\", \"to\": \"3\", \"MB\": 900},"
		"{\"from\": \"2\", \"to\": \"4\", \"MB\": 900}]},"
		"{\"name\": \"B\", \"tasks\": [{\"name\": \"1\", \"server\": \"S1\"},{\"name\": \"2\", \"server\": "
		"\"x1\"}],"
		"\"flows\": [{\"from\": \"1\", \"to\": \"2\", \"MB\": 1000}]},"
		"{\"name\": \"C\", \"weight\": 4, \"tasks\": [{\"name\": \"1\", \"server\": \"S2\"},"
		"{\"name\": \"2\", \"server\": \"x2\"}], \"flows\": [{\"from\": \"1\", \"to\": \"2\", \"MB\": 900}]},"
		"{\"name\": \"D\", \"weight\": 4, \"tasks\": [{\"name\": \"1\", \"server\": \"S3\"},"
		"{\"name\": \"2\", \"server\": \"x3\"}], \"flows\": [{\"from\": \"1\", \"to\": \"2\", \"MB\": 900}]}],"
		"\"failed_servers\": [\"S0\"]}";
	static const double times[2][4] = {{20. / 3, 20. / 3, 5. / 3, 5. / 3}, {7.5, 7.5, 1.875, 1.875}};
	/* The printed rates, tripled: of A1's flows, A2's flows, B, C, D; 0 where A2 is on A4's server. */
	static const double rates[2][7] = {{90, 90, 135, 135, 150, 540, 540}, {80, 80, 120, 0, 400. / 3, 480, 480}};
	struct recovery_scenario *s = parse(text);
	uint32_t *server;
	struct recovery_options options = {0};
	struct recovery_answer answer;

	cr_assert_eq(recovery_solve(s, &options, &answer, NULL), 0);
	cr_expect_eq(answer.status, RECOVERY_OPTIMAL);
	server = recovery_placement(s, &answer);
	cr_expect_eq(on(s, server, "A", "2"), 0, "S1 is chosen");
	for (int other = 0; other < 2; other++) {
		double p, rate[7];

		server[1] = other ? 2 : 0;
		p = recovery_evaluate(s, server, NULL);
		/* p = t_A / 10 */
		expect_p(s, server, p, other ? 3 : 2, other ? 4 : 3);
		recovery_rates(s, server, p, rate);
		for (uint32_t k = 0; k < 4; k++)
			cr_expect_float_eq(recovery_transfer_time_s(s, k, p), times[other][k], 1e-14);
		for (int i = 0; i < 7; i++)
			cr_expect_float_eq(rate[i], rates[other][i], 1e-12, "flow %d: %g", i, rate[i]);
	}
	free(server);
	recovery_answer_free(&answer);
	/* Without eq. 9, another placement is better for A: 6 s. */
	s->tasks[1].has_backups = false;
	s->tasks[1].backup_count = 0;
	cr_assert_eq(recovery_solve(s, &options, &answer, NULL), 0);
	cr_expect_float_eq(recovery_transfer_time_s(s, 0, answer.p), 6, 1e-14);
	recovery_answer_free(&answer);
	recovery_destroy(s);
}

struct spread {
	int count;
	double best_s, next_s, mean_s, worst_s;
};

/* The range of application A's time over all legal placements. */
static struct spread spread_of(const struct recovery_scenario *s)
{
	struct spread spread = {.best_s = INFINITY, .next_s = INFINITY};
	uint32_t server[64];

	for (uint32_t t = 0; t < s->task_count; t++)
		server[t] = s->tasks[t].server;
	for (uint32_t code = 0; code < 8 * 8 * 8; code++) {
		double time_s;

		server[recovery_find_task(s, "A", "1")] = code % 8;
		server[recovery_find_task(s, "B", "1")] = code / 8 % 8;
		server[recovery_find_task(s, "C", "3")] = code / 64;
		if (!world_is_legal(s, server))
			continue;
		time_s = recovery_transfer_time_s(s, 0, recovery_evaluate(s, server, NULL));
		spread.count++;
		spread.mean_s += time_s;
		spread.worst_s = fmax(spread.worst_s, time_s);
		if (time_s < spread.best_s - 1e-9) {
			spread.next_s = spread.best_s;
			spread.best_s = time_s;
		} else if (time_s > spread.best_s + 1e-9) {
			spread.next_s = fmin(spread.next_s, time_s);
		}
	}
	spread.mean_s /= spread.count;
	return spread;
}

static void check_testbed(double weight_B, const char *placement, int64_t over, int64_t under, double time_B_s)
{
	static const enum recovery_filter filters[] = {RECOVERY_FILTER_EXACT, RECOVERY_FILTER_NONE};
	struct recovery_scenario *s = recovery_testbed(weight_B);

	for (int i = 0; i < 2; i++) {
		struct recovery_options options = {.filter = filters[i]};
		struct recovery_answer answer;
		uint32_t *server;

		cr_assert_eq(recovery_solve(s, &options, &answer, NULL), 0);
		cr_expect_eq(answer.status, RECOVERY_OPTIMAL);
		server = recovery_placement(s, &answer);
		expect_p(s, server, answer.p, over, under);
		cr_expect_eq(on(s, server, "A", "1"), (uint32_t)(placement[0] - '0'));
		cr_expect_eq(on(s, server, "B", "1"), (uint32_t)(placement[1] - '0'));
		cr_expect_eq(on(s, server, "C", "3"), (uint32_t)(placement[2] - '0'));
		cr_expect_float_eq(recovery_transfer_time_s(s, 1, answer.p), time_B_s, 1e-12);
		free(server);
		recovery_answer_free(&answer);
	}
	recovery_destroy(s);
}

Test(recovery_paper, figure_6)
{
	struct recovery_scenario *s = recovery_testbed(1);
	struct spread spread = spread_of(s);

	check_testbed(1, "346", 24, 5, 24);
	cr_expect_eq(spread.count, 47);
	cr_expect_float_eq(spread.best_s, 24, 1e-9);
	cr_expect_float_eq(spread.next_s, 25, 1e-9);
	cr_expect_float_eq(spread.mean_s, 36.3, 0.05);
	cr_expect_float_eq(spread.worst_s, 71, 1e-9);
	recovery_destroy(s);
}

Test(recovery_paper, figure_7)
{
	struct recovery_scenario *s = recovery_testbed(2);
	struct spread spread = spread_of(s);

	check_testbed(2, "436", 5, 1, 15);
	cr_expect_float_eq(spread.best_s, 30, 1e-9);
	cr_expect_float_eq(spread.next_s, 32, 1e-9);
	recovery_destroy(s);
}

Test(recovery_paper, algorithm_1_offers_three_servers)
{
	struct recovery_scenario *s = recovery_testbed(1);
	struct recovery_options options = {.filter = RECOVERY_FILTER_PAPER, .eta = 1};
	struct recovery_answer answer;
	bool candidate[8];

	cr_assert_eq(recovery_candidates(s, &options, candidate), 0);
	for (uint32_t n = 0; n < 8; n++)
		cr_expect_eq(candidate[n], n == 3 || n == 5 || n == 6, "S%u", n);
	cr_assert_eq(recovery_solve(s, &options, &answer, NULL), 0);
	cr_expect_float_eq(recovery_transfer_time_s(s, 0, answer.p), 28, 1e-12);
	recovery_answer_free(&answer);
	recovery_destroy(s);
}
