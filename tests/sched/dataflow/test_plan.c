/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sched/dataflow/plan.h>

static const struct topology_paths_options paths = {.k = 2, .detour = 0, .seed = 1};

/*
 * Four hosts on each of two switches, one slot each; h0 and h1 have two. Between the switches, which only one path
 * connects, 10 MB/s; links of hosts have 100. Jobs `near` and `far` are running: the first within switch 0, the second
 * over the narrow link.
 */
static struct dataflow *scenario(void)
{
	const char *text =
		"{\"schema\": \"nomora.dataflow/1\", \"slots\": 1, \"hosts\": [{\"name\": \"a\", \"slots\": 2}],"
		"\"topology\": {\"schema\": \"nomora.topology/1\","
		"\"switches\": [{\"name\": \"s0\"}, {\"name\": \"s1\"}],"
		"\"hosts\": [{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": \"c\"}, {\"name\": \"d\"},"
		"{\"name\": \"e\"}], \"links\": ["
		"{\"a\": \"a\", \"b\": \"s0\", \"MBps\": 100}, {\"a\": \"b\", \"b\": \"s0\", \"MBps\": 60},"
		"{\"a\": \"c\", \"b\": \"s1\", \"MBps\": 100}, {\"a\": \"d\", \"b\": \"s1\", \"MBps\": 100},"
		"{\"a\": \"e\", \"b\": \"s1\", \"MBps\": 30},"
		"{\"a\": \"s0\", \"b\": \"s1\", \"MBps\": 10}]},"
		"\"jobs\": ["
		"{\"name\": \"late\", \"components\": [{\"name\": \"s\"}, {\"name\": \"k\"}],"
		"\"edges\": [{\"from\": \"s\", \"to\": \"k\"}], \"placement\": {\"s.0\": \"d\"}},"
		"{\"name\": \"far\", \"components\": [{\"name\": \"s\"}, {\"name\": \"k\"}],"
		"\"edges\": [{\"from\": \"s\", \"to\": \"k\"}], \"placement\": {\"s.0\": \"a\", \"k.0\": \"c\"}}]}";
	struct error err = {0};
	struct dataflow *dataflow = dataflow_parse("d.json", text, strlen(text), &err);

	cr_assert_not_null(dataflow, "%s", err.text);
	return dataflow;
}

static uint32_t node(const struct dataflow *dataflow, const char *name)
{
	return (uint32_t)topology_find_node(dataflow->topology, name);
}

static struct dataflow_plan *make(struct dataflow *dataflow, uint32_t random_runs)
{
	struct engine_options options = engine_defaults();
	struct error err = {0};
	struct dataflow_plan *plan;

	options.local_MBps = 500;
	plan = dataflow_plan_create(dataflow, engine_find("rate"), &options, &paths, random_runs, &err);
	cr_assert_not_null(plan, "%s", err.text);
	return plan;
}

/* k.0 of job late may run on a, b or e; from d, 30 MB/s on e are the most. */
Test(plan, running_jobs_keep_their_hosts_and_others_get_the_best_ones)
{
	struct dataflow *dataflow = scenario();
	struct dataflow_plan *plan = make(dataflow, 0);
	const struct plan_job *late = &plan->jobs[0], *far = &plan->jobs[1];

	cr_assert_eq(plan->job_count, 2);
	cr_expect(late->placed_here && !far->placed_here);
	cr_expect_eq(late->job->hosts[0], node(dataflow, "d"));
	cr_expect_eq(late->job->hosts[1], node(dataflow, "e"));
	cr_expect_eq(far->job->hosts[0], node(dataflow, "a"));
	cr_expect_eq(far->job->hosts[1], node(dataflow, "c"));
	cr_expect_float_eq(late->total_MBps, 30, 1e-9);
	cr_expect_float_eq(far->total_MBps, 10, 1e-9);
	cr_expect_float_eq(late->MBps[0], 30, 1e-9);
	cr_expect_eq(late->bottleneck[0] / 2, 4, "the link of e");
	cr_expect_eq(far->bottleneck[0] / 2, 5, "the link between the switches");
	cr_expect_gt(late->evaluations, 0);
	cr_expect(isnan(late->random_MBps) && isnan(far->random_MBps), "no random runs");
	cr_expect_eq(late->seconds, 0, "no clock");
	for (int t = 0; t < 4; t++)
		cr_expect_eq(plan->waiting[t], t == 1);
	dataflow_plan_forget(plan);
	cr_expect_eq(late->job->hosts[0], node(dataflow, "d"));
	cr_expect_eq(late->job->hosts[1], DATAFLOW_NOWHERE);
	cr_expect_eq(far->job->hosts[1], node(dataflow, "c"));
	dataflow_plan_destroy(plan);
	dataflow_destroy(dataflow);
}

/*
 * k.0 of job late is on e in a third of the random runs: 30 MB/s. Otherwise it is on a or b. There, both jobs share the
 * narrow link, in opposite directions: 10 MB/s.
 */
Test(plan, random_placements_give_a_mean)
{
	struct dataflow *dataflow = scenario();
	struct dataflow_plan *plan = make(dataflow, 600);

	cr_expect_float_eq(plan->jobs[0].random_MBps, (30 + 10 + 10) / 3.0, 1.5);
	cr_expect_float_eq(plan->jobs[1].random_MBps, 10, 1e-9);
	cr_expect_eq(plan->jobs[0].job->hosts[1], node(dataflow, "e"), "the engine's answer stays");
	dataflow_plan_destroy(plan);
	dataflow_destroy(dataflow);
}

static void expect_order(const struct dataflow_advice *advice)
{
	for (size_t m = 1; m < advice->count; m++) {
		const struct dataflow_move *before = &advice->moves[m - 1], *after = &advice->moves[m];

		cr_expect_geq(before->gain_MBps, after->gain_MBps);
		cr_expect(before->gain_MBps > after->gain_MBps || before->job < after->job ||
			  (before->job == after->job && before->task < after->task));
	}
}

/*
 * The sink of job far may move to a, the host of its source (500 MB/s, the limit of the options), or to b (60). The
 * source can only move to another free slot: all are on switch 0 but none with the sink.
 */
Test(plan, advice_is_the_best_move_of_each_task_with_its_gain)
{
	struct dataflow *dataflow = scenario();
	struct dataflow_plan *plan = make(dataflow, 0);
	struct engine_options options = engine_defaults();
	struct dataflow_advice advice;
	const struct dataflow_move *move;

	options.local_MBps = 500;
	cr_assert_eq(dataflow_advise(plan, engine_find("rate"), &options, &advice, NULL), 0);
	cr_assert_eq(advice.count, 1);
	move = &advice.moves[0];
	cr_expect_eq(move->job, &plan->jobs[1], "not of job late, which the plan has placed");
	cr_expect_eq(move->task, 1);
	cr_expect_eq(move->from, node(dataflow, "c"));
	cr_expect_eq(move->to, node(dataflow, "a"));
	cr_expect_float_eq(move->gain_MBps, 490, 1e-6);
	cr_expect_float_eq(move->own_gain_MBps, 490, 1e-6);
	cr_expect_eq(plan->jobs[1].job->hosts[1], node(dataflow, "c"), "the plan does not change");
	dataflow_advice_clear(&advice);
	cr_expect_eq(advice.count, 0);
	dataflow_plan_destroy(plan);
	dataflow_destroy(dataflow);
}

/* Pinned tasks and two routes of equal length: the search changes to the faster one, whichever is drawn first. */
Test(plan, a_pair_of_pinned_hosts_gets_the_faster_route)
{
	for (int fast = 0; fast < 2; fast++) {
		const char *text =
			"{\"schema\": \"nomora.dataflow/1\", \"slots\": 1, \"topology\": \"leafspine:2,2,2\", "
			"\"MBps\": 100,"
			"\"jobs\": [{\"name\": \"j\", \"components\": [{\"name\": \"s\"}, {\"name\": \"k\"}],"
			"\"edges\": [{\"from\": \"s\", \"to\": \"k\"}], \"placement\": {\"s.0\": \"h0\", \"k.0\": "
			"\"h1\"}}]}";
		struct dataflow *dataflow = dataflow_parse("d.json", text, strlen(text), NULL);
		uint32_t slow = node(dataflow, fast ? "spine0" : "spine1");
		struct dataflow_plan *plan;

		for (uint32_t l = 0; l < dataflow->topology->link_count; l++) {
			struct topology_link *link = &dataflow->topology->links[l];

			if (link->a == slow || link->b == slow)
				link->MBps = link->back_MBps = 50;
		}
		plan = make(dataflow, 0);
		cr_expect_float_eq(plan->jobs[0].total_MBps, 100, 1e-9);
		dataflow_plan_destroy(plan);
		dataflow_destroy(dataflow);
	}
}

/* The heavier source stops at local_MBps; the other one gets the rest of the link, which then carries its capacity. */
Test(plan, the_limit_of_a_source_is_part_of_the_sharing)
{
	const char *text =
		"{\"schema\": \"nomora.dataflow/1\", \"slots\": 2, \"topology\": {\"schema\": \"nomora.topology/1\","
		"\"switches\": [{\"name\": \"s\"}], \"hosts\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"links\": ["
		"{\"a\": \"a\", \"b\": \"s\", \"MBps\": 90}, {\"a\": \"b\", \"b\": \"s\", \"MBps\": 1000}]}, \"jobs\": "
		"["
		"{\"name\": \"A\", \"weight\": 4, \"components\": [{\"name\": \"s\"}, {\"name\": \"k\"}],"
		"\"edges\": [{\"from\": \"s\", \"to\": \"k\"}], \"placement\": {\"s.0\": \"a\", \"k.0\": \"b\"}},"
		"{\"name\": \"B\", \"components\": [{\"name\": \"s\"}, {\"name\": \"k\"}],"
		"\"edges\": [{\"from\": \"s\", \"to\": \"k\"}], \"placement\": {\"s.0\": \"a\", \"k.0\": \"b\"}}]}";

	for (int light = 0; light < 2; light++) {
		const double expected[2][2] = {{50, 40}, {20, 20}}, limits[2] = {50, 20};
		struct dataflow *dataflow = dataflow_parse("d.json", text, strlen(text), NULL);
		struct engine_options options = engine_defaults();
		struct dataflow_plan *plan;
		double usage[16];

		options.local_MBps = limits[light];
		plan = dataflow_plan_create(dataflow, engine_find("rate"), &options, &paths, 0, NULL);
		cr_assert_not_null(plan);
		cr_assert_leq(network_resource_count(plan->network), 16);
		cr_assert_eq(network_usage(plan->network, usage), 0);
		for (int j = 0; j < 2; j++)
			cr_expect_float_eq(plan->jobs[j].total_MBps, expected[light][j], 1e-9);
		cr_expect_float_eq(usage[0], expected[light][0] + expected[light][1], 1e-9, "%g", usage[0]);
		dataflow_plan_destroy(plan);
		dataflow_destroy(dataflow);
	}
}

/* A clock that advances by 1 s with each call. */
static struct ns fake_now(void)
{
	static struct ns now;

	return now = ns_add(now, ns_from_us(1e6));
}

Test(plan, the_deadline_includes_the_random_runs)
{
	struct dataflow *dataflow = scenario();
	struct engine_options options = engine_defaults();
	struct dataflow_plan *plan;

	options.now = fake_now;
	options.deadline = ns_from_us(50e6);
	plan = dataflow_plan_create(dataflow, engine_find("rate"), &options, &paths, 1000, NULL);
	cr_assert_not_null(plan);
	cr_expect_lt(ns_to_s(fake_now()), 60);
	cr_expect_gt(plan->jobs[0].evaluations, 1, "the search gets time, too");
	cr_expect_gt(plan->jobs[0].random_MBps, 0);
	dataflow_plan_destroy(plan);
	dataflow_destroy(dataflow);
}

/* A clock that counts its calls, as time in ns. */
static struct ns calls;
static struct ns count_calls(void)
{
	calls.v++;
	return calls;
}

/* Every evaluation before the deadline follows a look at the clock, so that the number of looks limits them. */
Test(plan, after_the_deadline_each_job_takes_a_constant_number_of_evaluations)
{
	for (size_t e = 0; engine_name(e); e++)
		for (int64_t deadline = 1; deadline < 3000; deadline = 2 * deadline + 1) {
			struct dataflow *dataflow = scenario();
			struct engine_options options = engine_defaults();
			struct dataflow_plan *plan;
			uint64_t evaluations = 0;

			calls.v = 0;
			options.now = count_calls;
			options.deadline.v = deadline;
			plan = dataflow_plan_create(dataflow, engine_find(engine_name(e)), &options, &paths, 1000,
						    NULL);
			cr_assert_not_null(plan);
			for (uint32_t j = 0; j < plan->job_count; j++)
				evaluations += plan->jobs[j].evaluations;
			cr_expect_leq(evaluations, (uint64_t)deadline + ENGINE_LATE_EVALUATIONS * plan->job_count,
				      "%s: %lu evaluations, deadline %ld", engine_name(e), (unsigned long)evaluations,
				      (long)deadline);
			cr_expect(deadline > 1 || isnan(plan->jobs[0].random_MBps), "no time for random placements");
			dataflow_plan_destroy(plan);
			dataflow_destroy(dataflow);
		}
}

static double cpu_s(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* The start of a job looks up the route of each of its flows once. */
Test(plan, a_large_job_starts_faster_than_it_is_placed)
{
	const char *text = "{\"schema\": \"nomora.dataflow/1\", \"slots\": 2, \"topology\": \"fattree:12,400\","
			   "\"jobs\": [{\"name\": \"j\", \"components\": [{\"name\": \"s\", \"tasks\": 400}, "
			   "{\"name\": \"k\", \"tasks\": 400}], \"edges\": [{\"from\": \"s\", \"to\": \"k\"}]}]}";
	struct dataflow *dataflow = dataflow_parse("d.json", text, strlen(text), NULL);
	struct network *network = network_create(dataflow->topology, dataflow->slots, dataflow->cpu, &paths, NULL);
	struct dataflow_graph *graph = dataflow_graph_create(dataflow->jobs, NULL);
	struct engine_options options = engine_defaults();
	struct engine_answer answer;
	double begin_s = cpu_s(), placed_s;

	cr_assert(network && graph);
	cr_assert_eq(engine_place(engine_find("random"), network, dataflow->jobs, graph, &options, &answer, NULL), 0);
	placed_s = cpu_s();
	cr_assert_eq(engine_start(network, dataflow->jobs, graph, &answer, NULL), 0);
	cr_expect_lt(cpu_s() - placed_s, 2 * (placed_s - begin_s));
	engine_answer_clear(&answer);
	network_destroy(network);
	dataflow_graph_destroy(graph);
	dataflow_destroy(dataflow);
}

/* The rates have doubled since the plan, and the job's tasks have no other hosts. */
Test(plan, a_task_that_stays_is_no_advice)
{
	const char *text =
		"{\"schema\": \"nomora.dataflow/1\", \"slots\": 1, \"topology\": \"leafspine:2,2,2\", \"MBps\": 100,"
		"\"jobs\": [{\"name\": \"j\", \"components\": [{\"name\": \"s\"}, {\"name\": \"k\"}],"
		"\"edges\": [{\"from\": \"s\", \"to\": \"k\"}], \"placement\": {\"s.0\": \"h0\", \"k.0\": \"h1\"}}]}";
	struct dataflow *dataflow = dataflow_parse("d.json", text, strlen(text), NULL);
	struct dataflow_plan *plan = make(dataflow, 0);
	struct engine_options options = engine_defaults();
	struct engine_answer answer;
	struct dataflow_advice advice;

	plan->jobs[0].total_MBps = 50;
	cr_assert_eq(dataflow_advise(plan, engine_find("rate"), &options, &advice, NULL), 0);
	cr_expect_eq(advice.count, 0);
	network_stop(plan->network, 0);
	cr_assert_eq(engine_place(engine_find("rate"), plan->network, dataflow->jobs, plan->jobs[0].graph, &options,
				  &answer, NULL),
		     0);
	cr_expect_float_eq(answer.all_MBps, 100, 1e-9, "more than the 50 of before");
	engine_answer_clear(&answer);
	dataflow_advice_clear(&advice);
	dataflow_plan_destroy(plan);
	dataflow_destroy(dataflow);
}

/*
 * Three running jobs on one switch, and a job whose sink the plan places: it would gain, too, if its source moved. `x`
 * and `y` send from host a, whose link of 90 they share. Each advice is checked by a plan in which the task is on the
 * advised host.
 */
Test(plan, advised_moves_gain_what_they_promise)
{
	const char *text =
		"{\"schema\": \"nomora.dataflow/1\", \"slots\": 3, \"hosts\": [{\"name\": \"d\", \"slots\": 1}], "
		"\"topology\": {\"schema\": \"nomora.topology/1\","
		"\"switches\": [{\"name\": \"s0\"}],"
		"\"hosts\": [{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": \"c\"}, {\"name\": \"d\"}], \"links\": ["
		"{\"a\": \"a\", \"b\": \"s0\", \"MBps\": 90}, {\"a\": \"b\", \"b\": \"s0\", \"MBps\": 40},"
		"{\"a\": \"c\", \"b\": \"s0\", \"MBps\": 70}, {\"a\": \"d\", \"b\": \"s0\", \"MBps\": 80}]},"
		"\"jobs\": ["
		"{\"name\": \"x\", \"components\": [{\"name\": \"s\", \"MBps\": 65}, {\"name\": \"k\"}],"
		"\"edges\": [{\"from\": \"s\", \"to\": \"k\"}], \"placement\": {\"s.0\": \"a\", \"k.0\": \"b\"}},"
		"{\"name\": \"y\", \"components\": [{\"name\": \"s\"}, {\"name\": \"k\"}],"
		"\"edges\": [{\"from\": \"s\", \"to\": \"k\"}], \"placement\": {\"s.0\": \"a\", \"k.0\": \"c\"}},"
		"{\"name\": \"z\", \"components\": [{\"name\": \"s\"}, {\"name\": \"k\"}],"
		"\"edges\": [{\"from\": \"s\", \"to\": \"k\"}], \"placement\": {\"s.0\": \"c\", \"k.0\": \"b\"}},"
		"{\"name\": \"w\", \"components\": [{\"name\": \"s\"}, {\"name\": \"k\"}],"
		"\"edges\": [{\"from\": \"s\", \"to\": \"k\"}], \"placement\": {\"s.0\": \"d\"}}]}";
	struct dataflow *dataflow = dataflow_parse("d.json", text, strlen(text), NULL);
	struct dataflow_plan *plan = make(dataflow, 0);
	struct engine_options options = engine_defaults();
	struct dataflow_advice advice;
	double all_MBps = 0;

	for (uint32_t j = 0; j < 4; j++)
		all_MBps += plan->jobs[j].total_MBps;
	options.local_MBps = 500;
	cr_assert_eq(dataflow_advise(plan, engine_find("rate"), &options, &advice, NULL), 0);
	cr_expect_eq(advice.count, 4, "hosts a and d are full");
	expect_order(&advice);
	for (size_t m = 0; m < advice.count; m++) {
		const struct dataflow_move *move = &advice.moves[m];
		uint32_t number = (uint32_t)(move->job - plan->jobs), *hosts = dataflow->jobs[number].hosts;
		struct dataflow_plan *moved;
		double MBps = 0;

		cr_assert_lt(number, 3, "not of job w");
		cr_assert_eq(hosts[move->task], move->from);
		cr_expect_gt(move->gain_MBps, 0);
		hosts[move->task] = move->to;
		moved = make(dataflow, 0);
		for (uint32_t j = 0; j < 4; j++)
			MBps += moved->jobs[j].total_MBps;
		cr_expect_float_eq(MBps, all_MBps + move->gain_MBps, 1e-6);
		cr_expect_float_eq(moved->jobs[number].total_MBps - plan->jobs[number].total_MBps, move->own_gain_MBps,
				   1e-6);
		dataflow_plan_destroy(moved);
		hosts[move->task] = move->from;
	}
	dataflow_advice_clear(&advice);
	dataflow_plan_destroy(plan);
	dataflow_destroy(dataflow);
}

/* Tasks that share a slot move together, although no host has a slot for one of them alone. */
Test(plan, advice_moves_a_shared_slot_as_a_whole)
{
	const char *text =
		"{\"schema\": \"nomora.dataflow/1\", \"slots\": 1, \"topology\": {\"schema\": \"nomora.topology/1\","
		"\"switches\": [{\"name\": \"s0\"}], \"hosts\": [{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": "
		"\"c\"}],"
		"\"links\": [{\"a\": \"a\", \"b\": \"s0\", \"MBps\": 10}, {\"a\": \"b\", \"b\": \"s0\", \"MBps\": 90},"
		"{\"a\": \"c\", \"b\": \"s0\", \"MBps\": 80}]},"
		"\"jobs\": [{\"name\": \"x\", \"shares_slots\": true, \"components\": [{\"name\": \"s\", \"tasks\": 2},"
		"{\"name\": \"k\", \"tasks\": 2}], \"edges\": [{\"from\": \"s\", \"to\": \"k\"}],"
		"\"placement\": {\"s.0\": \"a\", \"k.0\": \"a\", \"s.1\": \"b\", \"k.1\": \"b\"}}]}";
	enum { SWITCH, A, B, C }; /* the nodes */
	struct error err = {0};
	struct dataflow *dataflow = dataflow_parse("d.json", text, strlen(text), &err);
	struct dataflow_plan *plan, *moved;
	struct engine_options options = engine_defaults();
	struct dataflow_advice advice;
	const struct dataflow_move *move;
	struct dataflow_job *job;

	cr_assert_not_null(dataflow, "%s", err.text);
	job = &dataflow->jobs[0];
	plan = make(dataflow, 0);
	cr_assert_eq(dataflow_advise(plan, engine_find("rate"), &options, &advice, &err), 0, "%s", err.text);
	cr_assert_eq(advice.count, 1, "%zu", advice.count);
	move = &advice.moves[0];
	cr_expect_eq(move->from, A);
	cr_expect_eq(move->to, C);
	cr_expect_eq(dataflow_slot_leader(job, move->task), move->task);
	for (uint32_t t = 0; t < job->task_count; t++)
		cr_expect_eq(job->hosts[t], (int)(t % 2 == move->task % 2 ? A : B), "the advice moves nothing");
	dataflow_place_slot(job, move->task, move->to);
	for (uint32_t t = 0; t < job->task_count; t++)
		cr_expect_eq(job->hosts[t], (int)(t % 2 == move->task % 2 ? C : B), "task %u is on host %u", t,
			     job->hosts[t]);
	moved = make(dataflow, 0);
	cr_expect_float_eq(moved->jobs[0].total_MBps - plan->jobs[0].total_MBps, move->gain_MBps, 1e-6);
	dataflow_plan_destroy(moved);
	dataflow_advice_clear(&advice);
	dataflow_plan_destroy(plan);
	dataflow_destroy(dataflow);
}

static double number_at(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	cr_assert(json_is_number(value), "%s", name);
	return json_number_value(value);
}

static const char *text_at(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	cr_assert_not_null(text, "%s", name);
	return text;
}

static void expect_link(const json_t *links, size_t at, const char *link, double MBps, double capacity_MBps)
{
	const json_t *entry = json_array_get(links, at);

	cr_expect_str_eq(text_at(entry, "link"), link);
	cr_expect_float_eq(number_at(entry, "MBps"), MBps, 1e-9);
	cr_expect_float_eq(number_at(entry, "capacity_MBps"), capacity_MBps, 1e-9);
}

Test(plan, the_report_has_placements_limits_routes_and_loads)
{
	struct dataflow *dataflow = scenario();
	struct dataflow_plan *plan = make(dataflow, 0);
	struct dataflow_advice none = {0};
	struct dataflow_plan_report report = {.plan = plan, .engine = "rate", .bound_MBps = 50, .advice = &none};
	const json_t *job, *links, *route;
	json_t *root = dataflow_plan_to_json(&report);
	char *text = NULL, wanted[1024];
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	dataflow_plan_print(&report, out);
	fclose(out);
	snprintf(wanted, sizeof wanted,
		 "late: 30.00 MB/s (%llu placements evaluated in 0.0 ms)\n"
		 "  %-24s d\n  %-24s e\n  s.0 sends 30.00 MB/s, limited by s1 -> e\n"
		 "far: 10.00 MB/s (was running)\n"
		 "  %-24s a\n  %-24s c\n  s.0 sends 10.00 MB/s, limited by s0 -> s1\n"
		 "no move of a task of a running job would raise the sum of the rates\n"
		 "bound: all jobs 40.00 MB/s, 80.0 %% of the 50.00 MB/s that these placements allow\n",
		 (unsigned long long)plan->jobs[0].evaluations, "s.0", "k.0", "s.0", "k.0");
	cr_expect_str_eq(text, wanted);
	free(text);

	cr_expect_str_eq(text_at(root, "schema"), "nomora.dataflow-plan/1");
	cr_expect_str_eq(text_at(root, "engine"), "rate");
	cr_expect_eq(number_at(root, "bound_MBps"), 50);
	cr_expect_eq(json_array_size(json_object_get(root, "moves")), 0);
	cr_assert_eq(json_array_size(json_object_get(root, "jobs")), 2);
	job = json_array_get(json_object_get(root, "jobs"), 0);
	cr_expect_str_eq(text_at(job, "name"), "late");
	cr_expect_str_eq(text_at(json_object_get(job, "placement"), "s.0"), "d");
	cr_expect_str_eq(text_at(json_object_get(job, "placement"), "k.0"), "e");
	cr_expect_eq(number_at(job, "evaluations"), (double)plan->jobs[0].evaluations);
	cr_expect_null(json_object_get(job, "random_MBps"));
	job = json_array_get(json_object_get(root, "jobs"), 1);
	cr_expect_null(json_object_get(job, "evaluations"), "was running");
	cr_assert_eq(json_array_size(json_object_get(root, "routes")), 2);
	route = json_array_get(json_object_get(root, "routes"), 0);
	cr_expect_str_eq(text_at(route, "from"), "a");
	cr_expect_str_eq(text_at(route, "to"), "c");
	cr_expect_eq(json_array_size(json_object_get(route, "links")), 3);
	cr_expect_str_eq(json_string_value(json_array_get(json_object_get(route, "links"), 1)), "s0 -> s1");
	links = json_object_get(root, "links");
	cr_assert_eq(json_array_size(links), 5);
	expect_link(links, 0, "a -> s0", 10, 100);
	expect_link(links, 1, "s1 -> c", 10, 100);
	expect_link(links, 2, "d -> s1", 30, 100);
	expect_link(links, 3, "s1 -> e", 30, 30);
	expect_link(links, 4, "s0 -> s1", 10, 10);
	json_decref(root);

	report.advice = NULL;
	report.bound_MBps = NAN;
	root = dataflow_plan_to_json(&report);
	cr_expect_null(json_object_get(root, "bound_MBps"));
	cr_expect_null(json_object_get(root, "moves"));
	json_decref(root);
	dataflow_plan_destroy(plan);
	dataflow_destroy(dataflow);
}

Test(plan, the_report_prints_moves_with_both_gains)
{
	struct dataflow *dataflow = scenario();
	struct dataflow_plan *plan = make(dataflow, 0);
	struct dataflow_move move = {.job = &plan->jobs[1],
				     .task = 1,
				     .from = node(dataflow, "c"),
				     .to = node(dataflow, "a"),
				     .gain_MBps = 480,
				     .own_gain_MBps = 490};
	struct dataflow_advice advice = {.moves = &move, .count = 1};
	struct dataflow_plan_report report = {.plan = plan, .engine = "rate", .bound_MBps = NAN, .advice = &advice};
	json_t *root = dataflow_plan_to_json(&report);
	const json_t *entry = json_array_get(json_object_get(root, "moves"), 0);
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	dataflow_plan_print(&report, out);
	fclose(out);
	cr_expect_not_null(strstr(text,
				  "\nmove k.0 of far from c to a: +480.00 MB/s for all jobs, +490.00 MB/s for this "
				  "job\n"),
			   "%s", text);
	cr_expect_null(strstr(text, "bound:"));
	free(text);
	cr_expect_str_eq(text_at(entry, "job"), "far");
	cr_expect_str_eq(text_at(entry, "task"), "k.0");
	cr_expect_str_eq(text_at(entry, "from"), "c");
	cr_expect_str_eq(text_at(entry, "to"), "a");
	cr_expect_eq(number_at(entry, "gain_MBps"), 480);
	cr_expect_eq(number_at(entry, "own_gain_MBps"), 490);
	json_decref(root);
	dataflow_plan_destroy(plan);
	dataflow_destroy(dataflow);
}
