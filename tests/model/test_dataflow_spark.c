/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reader of Spark's event logs. tests/data/spark/eventlog was written by hand after the events of Spark 3.5
 * (JsonProtocol): job 0 joins stage 0 (120 MB on executors 1 to 3) and stage 1 (40 MB on executors 1 and 2); job 1
 * shuffles nothing; job 2 reads the output of stage 0 again, as the skipped stage 4.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dataflow_edges.h"

static void expect_component(const struct dataflow_job *job, uint32_t c, const char *name, uint32_t tasks, double MB)
{
	cr_assert_lt(c, job->component_count);
	cr_expect_str_eq(job->components[c].name, name);
	cr_expect_eq(job->components[c].task_count, tasks);
	if (isinf(MB))
		cr_expect(isinf(job->components[c].MB), "%s is no source", name);
	else
		cr_expect_float_eq(job->components[c].MB, MB, 1e-9, "%s: %g MB", name, job->components[c].MB);
}

Test(dataflow_spark, jobs_that_shuffle_with_their_volumes)
{
	const struct dataflow_trace_options all = {0}, first = {.jobs = 1};
	struct dataflow *dataflow = empty();
	struct error err = {0};
	const struct dataflow_job *job;

	cr_assert_eq(dataflow_read_spark(dataflow, SOURCE_ROOT "/tests/data/spark/eventlog", &all, &err), 0, "%s",
		     err.text);
	cr_assert_eq(dataflow->job_count, 2, "job 1 shuffles nothing");
	job = &dataflow->jobs[0];
	cr_expect_str_eq(job->name, "app-20261201000000-0001-j0");
	cr_expect_eq(job->arrival_s, 0);
	/* stage 2 has read 150 MB, 3/4 of it from stage 0; the failed task does not count */
	expect_component(job, 0, "stage0", 3, 112.5 / 3);
	expect_component(job, 1, "stage2", 3, INFINITY);
	expect_component(job, 2, "stage1", 2, 37.5 / 2);
	expect_edge(job, 0, "stage0", "stage2", 1);
	expect_edge(job, 1, "stage1", "stage2", 1);
	job = &dataflow->jobs[1];
	cr_expect_str_eq(job->name, "app-20261201000000-0001-j2");
	cr_expect_eq(job->arrival_s, 7.5);
	expect_component(job, 0, "stage4", 3, 40);
	expect_component(job, 1, "stage5", 2, INFINITY);
	expect_component(job, 2, "stage6", 1, INFINITY);
	expect_edge(job, 0, "stage4", "stage5", 1);
	expect_edge(job, 1, "stage5", "stage6", 50.0 / 120);
	cr_expect_eq(job->hosts[0], DATAFLOW_NOWHERE);
	dataflow_destroy(dataflow);
	dataflow = empty();
	cr_assert_eq(dataflow_read_spark(dataflow, SOURCE_ROOT "/tests/data/spark/eventlog", &first, &err), 0);
	cr_expect_eq(dataflow->job_count, 1);
	dataflow_destroy(dataflow);
}

#define JOB(stages) "{\"Event\": \"SparkListenerJobStart\", \"Job ID\": 7, \"Stage Infos\": [" stages "]}\n"
#define STAGE(id, parents) "{\"Stage ID\": " id ", \"Parent IDs\": [" parents "]}"
#define TASK(stage, reason, read)                                                                                      \
	"{\"Event\": \"SparkListenerTaskEnd\", \"Stage ID\": " stage ", \"Task End Reason\": {\"Reason\": \"" reason   \
	"\"}, \"Task Info\": {\"Executor ID\": \"1\"}, \"Task Metrics\": {\"Shuffle Read Metrics\": "                  \
	"{\"Local Bytes Read\": " read "}}}\n"

static int parse(struct dataflow *dataflow, const char *text, struct error *err)
{
	const struct dataflow_trace_options options = {0};

	return dataflow_parse_spark(dataflow, "log", text, strlen(text), &options, err);
}

Test(dataflow_spark, parents_of_unknown_output_share_the_volume_equally)
{
	struct dataflow *dataflow = empty();
	struct error err = {0};

	cr_assert_eq(parse(dataflow,
			   JOB(STAGE("0", "") "," STAGE("1", "") "," STAGE("2", "0, 1")) TASK("2", "Success", "6000000")
				   TASK("2", "TaskKilled", "9000000"),
			   &err),
		     0, "%s", err.text);
	cr_assert_eq(dataflow->job_count, 1);
	cr_expect_str_eq(dataflow->jobs[0].name, "spark-j7", "no application's id");
	expect_component(&dataflow->jobs[0], 0, "stage0", 1, 3);
	expect_component(&dataflow->jobs[0], 2, "stage1", 1, 3);
	dataflow_destroy(dataflow);
}

Test(dataflow_spark, bad_logs_are_refused_with_line_and_field)
{
	static const struct {
		const char *text, *expected;
	} bad[] = {
		{"{\"Event\": \"SparkListenerLogStart\"}\n{\"Event\": 5}\n", "log:2: Event: found a number"},
		{"\n{\"Event\": \"SparkListenerJob", "log:2:"},
		{JOB(STAGE("-1", "")), "log:1: Stage Infos[0].Stage ID: "},
		{JOB(STAGE("1", "1")), "log:1: Stage Infos[0].Parent IDs: expected ids of earlier stages"},
		{JOB(STAGE("1", "\"0\"")), "log:1: Stage Infos[0].Parent IDs: expected ids of earlier stages"},
		{JOB(STAGE("1", "") "," STAGE("1", "")), "log:1: Stage Infos[1].Stage ID: the job has stage 1 twice"},
		{"\n" JOB(STAGE("1", "0")),
		 "log:2: Stage Infos: stage 1 has the parent 0, which the job does not have"},
		{JOB(STAGE("0", "") "," STAGE("1", "0, 0")),
		 "log:1: Stage Infos: stage 1 has the parent 0, which it lists twice"},
		{JOB(STAGE("0", "")) TASK("0", "Success", "5"),
		 "log:1: Stage Infos: stage 0 reads shuffled data but has no Parent IDs"},
		{JOB(STAGE("0", "")) TASK("1", "Success", "5"), "log:2: Stage ID: no job before this line has stage 1"},
		{JOB(STAGE("0", "")) TASK("0", "Success", "-5"),
		 "log:2: Task Metrics.Shuffle Read Metrics.Local Bytes Read: "},
		{"{\"Event\": \"SparkListenerTaskEnd\", \"Stage ID\": 0}", "log:1: Task End Reason: missing"},
		{"{\"Event\": \"SparkListenerJobStart\", \"Job ID\": 0}", "log:1: Stage Infos: missing"},
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct dataflow *dataflow = empty();
		struct error err = {0};

		cr_expect_lt(parse(dataflow, bad[i].text, &err), 0, "%s", bad[i].text);
		cr_expect_eq(strncmp(err.text, bad[i].expected, strlen(bad[i].expected)), 0, "'%s', not '%s'", err.text,
			     bad[i].expected);
		cr_expect_eq(dataflow->job_count, 0);
		dataflow_destroy(dataflow);
	}
}
