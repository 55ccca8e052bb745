/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sched/dataflow/generate.h>
#include <sched/dataflow/simulate.h>

/* Hosts a and b on switch s, c on v; two paths of 100 MB/s from s to v, through t and through u. */
static const char network[] =
	"{\"schema\": \"nomora.dataflow/1\", \"slots\": %u, \"topology\": {\"schema\": \"nomora.topology/1\","
	" \"switches\": [{\"name\": \"s\"}, {\"name\": \"t\"}, {\"name\": \"u\"}, {\"name\": \"v\"}],"
	" \"hosts\": [{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": \"c\"}], \"links\": ["
	"{\"a\": \"a\", \"b\": \"s\", \"MBps\": 1000}, {\"a\": \"b\", \"b\": \"s\", \"MBps\": 1000},"
	" {\"a\": \"c\", \"b\": \"v\", \"MBps\": 1000},"
	"{\"a\": \"s\", \"b\": \"t\", \"MBps\": 100}, {\"a\": \"t\", \"b\": \"v\", \"MBps\": 100},"
	"{\"a\": \"s\", \"b\": \"u\", \"MBps\": 100}, {\"a\": \"u\", \"b\": \"v\", \"MBps\": 100}]}, \"jobs\": [%s]}";

static const char pair[] =
	"{\"name\": \"%s\", \"arrival_s\": %g, \"components\": [{\"name\": \"x\", \"MB\": %g}, {\"name\": \"y\"}],"
	" \"edges\": [{\"from\": \"x\", \"to\": \"y\"}], \"placement\": {\"x.0\": \"a\", \"y.0\": \"c\"}}";

static struct dataflow *make(uint32_t slots, const char *jobs)
{
	struct error err = {0};
	char text[4096];
	struct dataflow *dataflow;

	snprintf(text, sizeof text, network, slots, jobs);
	dataflow = dataflow_parse("test", text, strlen(text), &err);
	cr_assert_not_null(dataflow, "%s", err.text);
	return dataflow;
}

static struct dataflow_simulate_options options_for(const char *engine)
{
	return (struct dataflow_simulate_options){.engine = engine_find(engine),
						  .engine_options = engine_defaults(),
						  .paths = {.k = 4, .detour = TOPOLOGY_PATHS_DETOUR, .seed = 1},
						  .until_s = INFINITY};
}

static struct dataflow_simulate_result run(struct dataflow *dataflow, const struct dataflow_simulate_options *options)
{
	struct dataflow_simulate_result result;
	struct error err = {0};

	cr_assert_eq(dataflow_simulate(dataflow, options, &result, &err), 0, "%s", err.text);
	return result;
}

/* One route between a and c: j alone until 2 s (200 MB), both at 50 MB/s until k has sent its 500 MB, then j alone. */
Test(simulate, jobs_share_links_and_end)
{
	char jobs[1200], one[512], two[512];
	struct dataflow_simulate_options options = options_for("rate");
	struct dataflow *dataflow;
	struct dataflow_simulate_result result;

	snprintf(one, sizeof one, pair, "j", 0.0, 1000.0);
	snprintf(two, sizeof two, pair, "k", 2.0, 500.0);
	snprintf(jobs, sizeof jobs, "%s, %s", one, two);
	dataflow = make(2, jobs);
	result = run(dataflow, &options);
	cr_expect_float_eq(result.jobs[1].end_s, 12, 1e-6);
	cr_expect_float_eq(result.jobs[0].end_s, 15, 1e-6);
	cr_expect_float_eq(result.jobs[0].MB, 1000, 1e-6);
	cr_expect_float_eq(simulate_mean_MBps(&result, 0, 15), 100, 1e-6);
	simulate_result_clear(&result);
	options.until_s = 4;
	result = run(dataflow, &options);
	cr_expect(isnan(result.jobs[0].end_s));
	cr_expect_float_eq(result.jobs[0].MB, 300, 1e-6);
	simulate_result_clear(&result);
	dataflow_destroy(dataflow);
}

/* One slot on each host: the second job waits for the first, and then takes the two hosts of one switch. */
Test(simulate, a_job_without_slots_waits)
{
	char jobs[1200], one[512];
	struct dataflow_simulate_options options = options_for("rate");
	struct dataflow *dataflow;
	struct dataflow_simulate_result result;

	snprintf(one, sizeof one, pair, "j", 0.0, 1000.0);
	snprintf(jobs, sizeof jobs,
		 "%s, {\"name\": \"k\", \"arrival_s\": 2, \"components\": [{\"name\": \"x\", \"MB\": 500}, "
		 "{\"name\": \"y\"}], \"edges\": [{\"from\": \"x\", \"to\": \"y\"}]}",
		 one);
	dataflow = make(1, jobs);
	result = run(dataflow, &options);
	cr_expect_float_eq(result.jobs[0].end_s, 10, 1e-6);
	cr_expect_float_eq(result.jobs[1].start_s, 10, 1e-6);
	cr_expect_float_eq(result.jobs[1].end_s, 10.5, 1e-6);
	simulate_result_clear(&result);
	dataflow_destroy(dataflow);
}

static struct simulate_fault fault(const struct dataflow *dataflow, const char *text)
{
	struct simulate_fault made;
	struct error err = {0};

	cr_assert_eq(simulate_fault_parse(text, dataflow->topology, &made, &err), 0, "%s", err.text);
	return made;
}

/*
 * With the links of t and u down from 2 to 7 s, a job of 1,000 MB takes 15 s; with only one down, 10 s through the
 * other.
 */
Test(simulate, routes_leave_failed_links_and_wait_for_the_last)
{
	char jobs[512];
	struct dataflow_simulate_options options = options_for("rate");
	struct simulate_fault faults[2];
	struct dataflow *dataflow;
	struct dataflow_simulate_result result;

	snprintf(jobs, sizeof jobs, pair, "j", 0.0, 1000.0);
	dataflow = make(2, jobs);
	faults[0] = fault(dataflow, "link:s:t@2-7");
	faults[1] = fault(dataflow, "link:v:u@2-7");
	options.faults = faults;
	for (uint32_t f = 0; f < 2; f++) {
		struct dataflow_simulate_options one = options;

		one.faults = &faults[f];
		one.fault_count = 1;
		result = run(dataflow, &one);
		cr_expect_float_eq(result.jobs[0].end_s, 10, 1e-6);
		simulate_result_clear(&result);
	}
	options.fault_count = 2;
	result = run(dataflow, &options);
	cr_expect_float_eq(result.jobs[0].end_s, 15, 1e-6);
	cr_expect_eq(simulate_mean_MBps(&result, 3, 6), 0);
	for (uint32_t l = 0; l < dataflow->topology->link_count; l++)
		cr_expect(dataflow->topology->links[l].up, "given back");
	simulate_result_clear(&result);
	dataflow_destroy(dataflow);
}

/* Host a fails at 2 s: only x moves (to b, the last free slot), and sends the remaining data. */
Test(simulate, tasks_of_a_failed_host_move)
{
	char jobs[512];
	struct dataflow_simulate_options options = options_for("rate");
	struct simulate_fault host;
	struct dataflow *dataflow;
	struct dataflow_simulate_result result;

	snprintf(jobs, sizeof jobs, pair, "j", 0.0, 1000.0);
	dataflow = make(1, jobs);
	host = fault(dataflow, "host:a@2");
	options.faults = &host;
	options.fault_count = 1;
	result = run(dataflow, &options);
	cr_expect_eq(result.jobs[0].moved_tasks, 1);
	cr_expect_float_eq(result.jobs[0].end_s, 10, 1e-6);
	cr_expect_eq(dataflow->jobs[0].hosts[0], (uint32_t)topology_find_node(dataflow->topology, "a"), "given back");
	simulate_result_clear(&result);
	dataflow_destroy(dataflow);
}

/*
 * Host a fails at 2 s: b has one free slot, which takes both tasks that shared one on a. Each source sends half of its
 * 200 MB/s to the other slot.
 */
Test(simulate, a_shared_slot_of_a_failed_host_moves_as_a_whole)
{
	struct dataflow_simulate_options options = options_for("rate");
	struct simulate_fault host;
	struct dataflow *dataflow = make(
		1, "{\"name\": \"j\", \"shares_slots\": true, \"components\": [{\"name\": \"x\", \"tasks\": 2, \"MB\": "
		   "1000}, {\"name\": \"y\", \"tasks\": 2}], \"edges\": [{\"from\": \"x\", \"to\": \"y\"}], "
		   "\"placement\": "
		   "{\"x.0\": \"a\", \"y.0\": \"a\", \"x.1\": \"c\", \"y.1\": \"c\"}}");
	struct dataflow_simulate_result result;

	host = fault(dataflow, "host:a@2");
	options.faults = &host;
	options.fault_count = 1;
	result = run(dataflow, &options);
	cr_expect_eq(result.jobs[0].moved_tasks, 2);
	cr_expect_float_eq(result.jobs[0].end_s, 5, 1e-6, "%g", result.jobs[0].end_s);
	simulate_result_clear(&result);
	dataflow_destroy(dataflow);
}

Test(simulate, what_can_never_end_is_refused)
{
	char jobs[512];
	struct dataflow_simulate_options options = options_for("rate");
	struct simulate_fault faults[2];
	struct dataflow *dataflow;
	struct dataflow_simulate_result result;
	struct error err = {0};

	snprintf(jobs, sizeof jobs, pair, "j", 0.0, 1000.0);
	dataflow = make(1, jobs);
	faults[0] = fault(dataflow, "link:s:t@2");
	faults[1] = fault(dataflow, "link:v:u@2");
	options.faults = faults;
	options.fault_count = 2;
	cr_expect_eq(dataflow_simulate(dataflow, &options, &result, &err), -EHOSTUNREACH);
	cr_expect_not_null(strstr(err.text, "at 2 s, no running job can send"), "%s", err.text);
	dataflow->jobs[0].components[0].MB = INFINITY;
	cr_expect_eq(dataflow_simulate(dataflow, &options, &result, &err), -EINVAL);
	cr_expect_not_null(strstr(err.text, "job 'j' never ends"), "%s", err.text);
	dataflow_destroy(dataflow);
	dataflow = make(0, "{\"name\": \"j\", \"components\": [{\"name\": \"x\", \"MB\": 5}], \"edges\": []}");
	options.fault_count = 0;
	cr_expect_eq(dataflow_simulate(dataflow, &options, &result, &err), -ENOSPC);
	dataflow_destroy(dataflow);
}

/* A host without tasks fails: nothing changes. */
Test(simulate, the_failure_of_an_idle_host_moves_nobody)
{
	char jobs[512];
	struct dataflow_simulate_options options = options_for("rate");
	struct dataflow *dataflow;
	struct dataflow_simulate_result without, result;
	struct simulate_fault idle;

	snprintf(jobs, sizeof jobs, pair, "j", 0.0, 1000.0);
	dataflow = make(1, jobs);
	without = run(dataflow, &options);
	idle = fault(dataflow, "host:b@2");
	options.faults = &idle;
	options.fault_count = 1;
	result = run(dataflow, &options);
	cr_expect_eq(result.jobs[0].moved_tasks, 0);
	cr_expect_eq(result.jobs[0].end_s, without.jobs[0].end_s);
	cr_expect_eq(result.decision_count, without.decision_count);
	simulate_result_clear(&without);
	simulate_result_clear(&result);
	dataflow_destroy(dataflow);
}

Test(simulate, jobs_without_volume_go_on)
{
	char jobs[512];
	struct dataflow_simulate_options options = options_for("rate");
	struct dataflow *dataflow;
	struct dataflow_simulate_result result;

	snprintf(jobs, sizeof jobs, pair, "j", 0.0, 1000.0);
	dataflow = make(1, jobs);
	dataflow->jobs[0].components[0].MB = INFINITY;
	options.until_s = 50;
	result = run(dataflow, &options);
	cr_expect_float_eq(result.jobs[0].MB, 5000, 1e-6);
	cr_expect(isnan(result.jobs[0].end_s));
	simulate_result_clear(&result);
	dataflow_destroy(dataflow);
}

Test(simulate, faults_have_a_subject_and_times)
{
	struct dataflow *dataflow = make(1, "{\"name\": \"j\", \"components\": [{\"name\": \"x\"}], \"edges\": []}");
	const struct topology *topology = dataflow->topology;
	struct simulate_fault made = fault(dataflow, "host:a@0");
	uint32_t a = (uint32_t)topology_find_node(topology, "a"), s = (uint32_t)topology_find_node(topology, "s");

	cr_expect(made.kind == SIMULATE_HOST && made.subject == a && made.fail_s == 0 && isinf(made.repair_s));
	made = fault(dataflow, "link:s:a@1.5-1e9");
	cr_expect(made.kind == SIMULATE_LINK && made.subject == (uint32_t)topology_find_link(topology, a, s));
	cr_expect(made.fail_s == 1.5 && made.repair_s == 1e9);
	made = fault(dataflow, "used:1@2-3");
	cr_expect(made.kind == SIMULATE_USED && made.subject == 1 && made.fail_s == 2 && made.repair_s == 3);
	made = fault(dataflow, "used:100@1e9");
	cr_expect(made.subject == 100 && made.fail_s == 1e9);
	dataflow_destroy(dataflow);
}

Test(simulate, bad_faults_are_refused)
{
	static const char *const bad[] = {"link:s@1",     "link:s:v@1", "host:s@1",    "host:zz@1",    "used:0@1",
					  "used:101@1",   "host:a@-1",  "host:a@x",    "host:a@5-5",   "host:a",
					  "router:s@1",   "@:",         ":@",          "link:a:s@5-4", "host:a@2e9",
					  "host:a@1-2e9", "used:1.5@1", "link:a:s@1-x"};
	struct dataflow *dataflow = make(1, "{\"name\": \"j\", \"components\": [{\"name\": \"x\"}], \"edges\": []}");

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct simulate_fault made;
		struct error err = {0};

		cr_expect_eq(simulate_fault_parse(bad[i], dataflow->topology, &made, &err), -EINVAL, "%s", bad[i]);
		cr_expect_not_null(strstr(err.text, "expected link:A:B@FROM-TO"), "%s", err.text);
	}
	dataflow_destroy(dataflow);
}

/*
 * Random jobs with every kind of fault: each source sends its whole volume, no job starts before it arrives, and a
 * second run gives the same result.
 */
Test(simulate, everything_is_sent_whatever_fails)
{
	for (size_t e = 0; engine_name(e); e++) {
		struct dataflow *dataflow = dataflow_create(topology_jellyfish(10, 5, 20, 100, 1, NULL), 2);
		struct dataflow_simulate_options options = options_for(engine_name(e));
		struct simulate_fault faults[4];
		struct dataflow_recipe recipe;
		struct dataflow_simulate_result result, again;
		struct error err = {0};

		cr_assert_eq(dataflow_recipe_parse("storm,jobs=8,per-minute=60,MB=1-100,bolts=4", &recipe, &err), 0);
		cr_assert_eq(dataflow_generate(dataflow, &recipe), 0);
		faults[0] = fault(dataflow, "used:30@3-9");
		faults[1] = fault(dataflow, "used:30@5-6");
		faults[2] = fault(dataflow, "host:h1@4-8");
		faults[3] = fault(dataflow, "host:h7@5");
		options.faults = faults;
		options.fault_count = 4;
		options.engine_options.steps = 10;
		options.engine_options.starts = 2;
		result = run(dataflow, &options);
		again = run(dataflow, &options);
		for (uint32_t j = 0; j < 8; j++) {
			const struct dataflow_job *job = &dataflow->jobs[j];
			double MB = 0;

			for (uint32_t c = 0; c < job->component_count; c++)
				MB += isfinite(job->components[c].MB) ? job->components[c].MB : 0;
			cr_expect_float_eq(result.jobs[j].MB, MB, 1e-6 * MB, "%s", engine_name(e));
			cr_expect_geq(result.jobs[j].start_s, job->arrival_s);
			cr_expect_gt(result.jobs[j].end_s, result.jobs[j].start_s);
			cr_expect_eq(result.jobs[j].end_s, again.jobs[j].end_s);
		}
		simulate_result_clear(&result);
		simulate_result_clear(&again);
		dataflow_destroy(dataflow);
	}
}
