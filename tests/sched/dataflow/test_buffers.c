/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulations with bounded queues: they fill and drain as computed by hand, and converge to the rates without queues.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sched/dataflow/generate.h>
#include <sched/dataflow/simulate.h>

/* One job. Hosts a, b and d have links of 100 MB/s, c one of 40 and a limited CPU; all are on one switch. */
static struct dataflow *make(const char *job)
{
	static const char network[] =
		"{\"schema\": \"nomora.dataflow/1\", \"slots\": 2, \"hosts\": [{\"name\": \"c\", \"cpu\": 1}],"
		" \"topology\": {\"schema\": \"nomora.topology/1\", \"switches\": [{\"name\": \"s\"}], \"hosts\": ["
		"{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": \"c\"}, {\"name\": \"d\"}], \"links\": ["
		"{\"a\": \"a\", \"b\": \"s\", \"MBps\": 100}, {\"a\": \"b\", \"b\": \"s\", \"MBps\": 100},"
		"{\"a\": \"c\", \"b\": \"s\", \"MBps\": 40}, {\"a\": \"d\", \"b\": \"s\", \"MBps\": 100}]}, \"jobs\": "
		"[%s]}";
	struct error err = {0};
	char text[2048];
	struct dataflow *dataflow;

	snprintf(text, sizeof text, network, job);
	dataflow = dataflow_parse("test", text, strlen(text), &err);
	cr_assert_not_null(dataflow, "%s", err.text);
	return dataflow;
}

static struct dataflow_simulate_options options_with(double buffer_MB)
{
	return (struct dataflow_simulate_options){.engine = engine_find("storm"),
						  .engine_options = engine_defaults(),
						  .paths = {.k = 4, .detour = TOPOLOGY_PATHS_DETOUR, .seed = 1},
						  .until_s = INFINITY,
						  .buffer_MB = buffer_MB};
}

static struct dataflow_simulate_result run(struct dataflow *dataflow, const struct dataflow_simulate_options *options)
{
	struct dataflow_simulate_result result;
	struct error err = {0};

	cr_assert_eq(dataflow_simulate(dataflow, options, &result, &err), 0, "%s", err.text);
	return result;
}

static void expect_rate(const struct dataflow_simulate_result *result, double from_s, double to_s, double MBps)
{
	double mean = simulate_mean_MBps(result, from_s, to_s);

	cr_expect_float_eq(mean, MBps, 1e-6, "%g MB/s from %g to %g s, expected %g", mean, from_s, to_s, MBps);
}

static const char chain[] =
	"{\"name\": \"j\", \"components\": [{\"name\": \"x\", \"MB\": 1000, \"MBps\": 100}, {\"name\": \"y\"},"
	" {\"name\": \"z\"}], \"edges\": [{\"from\": \"x\", \"to\": \"y\"}, {\"from\": \"y\", \"to\": \"z\"}],"
	" \"placement\": {\"x.0\": \"a\", \"y.0\": \"b\", \"z.0\": \"c\"}}";

/*
 * x sends 100 MB/s to y, whose path to z carries 40: y's queue of 120 MB is full after 2 s, then x's at 4 s, when 400
 * MB are sent. The other 600 take 15 s at 40 MB/s, and the 240 MB in the queues 6 s more.
 */
Test(buffers, back_pressure_comes_when_each_queue_is_full)
{
	struct dataflow *dataflow = make(chain);
	struct dataflow_simulate_options options = options_with(120);
	struct dataflow_simulate_result result = run(dataflow, &options);

	expect_rate(&result, 0, 4, 100);
	expect_rate(&result, 4, 19, 40);
	expect_rate(&result, 19, 25, 0);
	cr_expect_float_eq(result.jobs[0].end_s, 25, 1e-6);
	cr_expect_float_eq(result.jobs[0].MB, 1000, 1e-6);
	simulate_result_clear(&result);
	options.buffer_MB = 0;
	result = run(dataflow, &options);
	expect_rate(&result, 0, 25, 40);
	simulate_result_clear(&result);
	dataflow_destroy(dataflow);
}

/*
 * z's link is down from 2 s, when y's queue is full, until 7 s. x's queue then fills for 1.2 s; nothing more is sent
 * until the repair, when 320 MB are sent. The other 680 take 17 s at 40 MB/s, and the queues 6 s more.
 */
Test(buffers, a_source_feels_a_failure_when_its_queues_are_full)
{
	struct dataflow *dataflow = make(chain);
	struct dataflow_simulate_options options = options_with(120);
	struct simulate_fault fault;
	struct dataflow_simulate_result result;

	cr_assert_eq(simulate_fault_parse("link:c:s@2-7", dataflow->topology, &fault, NULL), 0);
	options.faults = &fault;
	options.fault_count = 1;
	result = run(dataflow, &options);
	expect_rate(&result, 0, 3.2, 100);
	expect_rate(&result, 3.2, 7, 0);
	expect_rate(&result, 7, 24, 40);
	cr_expect_float_eq(result.jobs[0].end_s, 30, 1e-6);
	simulate_result_clear(&result);
	dataflow_destroy(dataflow);
}

/*
 * From 10 s, when x has sent 640 MB and all queues are full, a second job takes half of z's link until its 200 MB are
 * sent at 20 s: x's rate changes at once.
 */
Test(buffers, full_queues_pass_changes_on_at_once)
{
	char jobs[1500];
	struct dataflow *dataflow;
	struct dataflow_simulate_options options = options_with(120);
	struct dataflow_simulate_result result;

	snprintf(jobs, sizeof jobs,
		 "%s, {\"name\": \"k\", \"arrival_s\": 10, \"components\": [{\"name\": \"x\", \"MB\": 200, \"MBps\": "
		 "20},"
		 " {\"name\": \"y\"}], \"edges\": [{\"from\": \"x\", \"to\": \"y\"}],"
		 " \"placement\": {\"x.0\": \"d\", \"y.0\": \"c\"}}",
		 chain);
	dataflow = make(jobs);
	result = run(dataflow, &options);
	expect_rate(&result, 4, 10, 40);
	expect_rate(&result, 10, 20, 40); /* 20 of each */
	cr_expect_float_eq(result.jobs[1].end_s, 20, 1e-6);
	cr_expect_float_eq(result.jobs[0].end_s, 30, 1e-6); /* 240 + 160 MB remain at 20 s, at 40 MB/s */
	simulate_result_clear(&result);
	dataflow_destroy(dataflow);
}

/* z needs 0.05 s per MB: 20 MB/s. Its queue of 80 MB gains 20 MB a second until 4 s; then 140 MB at 20 MB/s remain. */
Test(buffers, a_processor_is_waited_for_too)
{
	struct dataflow *dataflow = make(
		"{\"name\": \"j\", \"components\": [{\"name\": \"x\", \"MB\": 300, \"MBps\": 40}, {\"name\": \"z\","
		" \"cpu_s_per_MB\": 0.05}], \"edges\": [{\"from\": \"x\", \"to\": \"z\"}],"
		" \"placement\": {\"x.0\": \"a\", \"z.0\": \"c\"}}");
	struct dataflow_simulate_options options = options_with(80);
	struct dataflow_simulate_result result = run(dataflow, &options);

	expect_rate(&result, 0, 4, 40);
	expect_rate(&result, 4, 11, 20);
	cr_expect_float_eq(result.jobs[0].end_s, 15, 1e-6);
	simulate_result_clear(&result);
	dataflow_destroy(dataflow);
}

/*
 * v and w offer 60 and 10 MB/s to y, whose path to z carries 40: y's queue of 120 MB gains 30 a second and is full at 4
 * s. Then w keeps its 10, v passes 30, and its queue gains 30 a second until 8 s.
 */
Test(buffers, inputs_of_a_blocked_task_share_what_passes)
{
	struct dataflow *dataflow = make(
		"{\"name\": \"j\", \"components\": [{\"name\": \"v\", \"MBps\": 60}, {\"name\": \"w\", \"MBps\": 10},"
		" {\"name\": \"y\"}, {\"name\": \"z\"}], \"edges\": [{\"from\": \"v\", \"to\": \"y\"},"
		" {\"from\": \"w\", \"to\": \"y\"}, {\"from\": \"y\", \"to\": \"z\"}],"
		" \"placement\": {\"v.0\": \"a\", \"w.0\": \"d\", \"y.0\": \"b\", \"z.0\": \"c\"}}");
	struct dataflow_simulate_options options = options_with(120);
	struct dataflow_simulate_result result;

	options.until_s = 50;
	result = run(dataflow, &options);
	expect_rate(&result, 0, 8, 70);
	expect_rate(&result, 8, 50, 40);
	simulate_result_clear(&result);
	dataflow_destroy(dataflow);
}

Test(buffers, a_cycle_is_refused)
{
	struct dataflow *dataflow =
		make("{\"name\": \"j\", \"components\": [{\"name\": \"x\", \"MB\": 10}, {\"name\": \"y\"}, {\"name\": "
		     "\"z\"}, {\"name\": \"k\"}],"
		     " \"edges\": [{\"from\": \"x\", \"to\": \"y\"}, {\"from\": \"y\", \"to\": \"z\"},"
		     " {\"from\": \"z\", \"to\": \"y\", \"selectivity\": 0.5}, {\"from\": \"z\", \"to\": \"k\"}]}");
	struct dataflow_simulate_options options = options_with(10);
	struct dataflow_simulate_result result;
	struct error err = {0};

	cr_expect_eq(dataflow_simulate(dataflow, &options, &result, &err), -EINVAL);
	cr_expect_not_null(strstr(err.text, "job 'j' has a cycle"), "%s", err.text);
	options.buffer_MB = 0;
	cr_expect_eq(dataflow_simulate(dataflow, &options, &result, &err), 0, "%s", err.text);
	simulate_result_clear(&result);
	dataflow_destroy(dataflow);
}

/*
 * Random jobs that never end, on a random network: once all queues are full or empty, the rates are those without
 * queues.
 */
Test(buffers, in_the_end_the_rates_are_those_without_queues)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct dataflow *dataflow = dataflow_create(topology_jellyfish(10, 5, 20, 100, seed, NULL), 2);
		struct dataflow_simulate_options options = options_with(0);
		struct dataflow_simulate_result without, with;
		struct dataflow_recipe recipe;

		cr_assert_eq(dataflow_recipe_parse("storm,jobs=5,bolts=6", &recipe, NULL), 0);
		recipe.seed = seed;
		cr_assert_eq(dataflow_generate(dataflow, &recipe), 0);
		options.until_s = 20000;
		without = run(dataflow, &options);
		options.buffer_MB = 50;
		with = run(dataflow, &options);
		cr_expect_gt(with.rate_count, without.rate_count);
		expect_rate(&with, 10000, 20000, simulate_mean_MBps(&without, 10000, 20000));
		simulate_result_clear(&without);
		simulate_result_clear(&with);
		dataflow_destroy(dataflow);
	}
}

/*
 * Jobs of two stages on a network that loses links and hosts: their queues react to each other and could switch ever
 * faster. All jobs end, after few changes.
 */
Test(buffers, queues_that_answer_one_another_come_to_rest)
{
	static const char *const texts[] = {"used:40@1-9", "host:h1@2-4", "host:h3@3-6", "used:20@2-3"};
	struct dataflow *dataflow = dataflow_create(topology_jellyfish(12, 6, 40, 100, 4, NULL), 3);
	struct dataflow_simulate_options options = options_with(3);
	struct simulate_fault faults[4];
	struct dataflow_simulate_result result;
	struct dataflow_recipe recipe;

	cr_assert_eq(dataflow_recipe_parse("mapreduce,stages=2,jobs=8,MB=50-500,per-minute=120,seed=4", &recipe, NULL),
		     0);
	cr_assert_eq(dataflow_generate(dataflow, &recipe), 0);
	for (int f = 0; f < 4; f++)
		cr_assert_eq(simulate_fault_parse(texts[f], dataflow->topology, &faults[f], NULL), 0);
	options.engine = engine_find("random");
	options.engine_options.seed = options.paths.seed = 4;
	options.paths.k = 10;
	options.faults = faults;
	options.fault_count = 4;
	result = run(dataflow, &options);
	for (uint32_t j = 0; j < 8; j++)
		cr_expect(isfinite(result.jobs[j].end_s), "job %u", j);
	cr_expect_lt(result.rate_count, 2000, "%zu changes", result.rate_count);
	simulate_result_clear(&result);
	dataflow_destroy(dataflow);
}
