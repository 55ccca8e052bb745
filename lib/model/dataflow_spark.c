/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shuffles of a Spark application, from its event log. A stage becomes a component with one task per executor that
 * ran the stage. The log has the bytes that a stage has read, but not from which parent; they are divided in
 * proportion to the bytes that the parents have written.
 */
#include <model/dataflow.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/file.h>
#include <base/hash_table.h>
#include <base/json.h>
#include <base/name.h>

/* Events with the plans of large queries have lines of many MB. */
enum { LINE_BYTES_MAXIMUM = 1 << 28, PLACE_BYTES = 64 };

struct stage {
	int64_t id, rdd; /* rdd: -1 = not in the log */
	size_t first_parent, parent_count;
	json_t *executors; /* the keys are the ids of the executors that ran its tasks */
	double read_MB, written_MB;
	size_t last_child;  /* the stage that was last found to have this one as a parent; SIZE_MAX: none */
	uint32_t component; /* UINT32_MAX: none, as the stage has no part in a shuffle */
};

struct spark_job {
	int64_t id;
	double submitted_ms;
	size_t first_stage, stage_count;
	long line;
};

struct spark {
	struct json_reader json;
	char name[DATAFLOW_NAME_BYTES]; /* of the application */
	struct spark_job *jobs;
	struct stage *stages;
	int64_t *parents; /* ids of stages */
	size_t job_count, job_capacity, stage_count, stage_capacity, parent_count, parent_capacity;
	struct hash_table of_id;  /* stage id -> the stage in the first job that lists it, which runs it */
	struct hash_table of_job; /* key_of() -> stage */
	struct hash_table of_rdd; /* RDD that a stage computes -> the first such stage */
};

static uint64_t key_of(size_t job, int64_t stage)
{
	return (uint64_t)job << 32 | (uint64_t)stage;
}

static double may_MB(struct json_reader *json, const json_t *metrics, const char *kind, const char *key)
{
	const json_t *object = json_object_get(metrics, kind);
	char where[PLACE_BYTES];

	if (!object || json_is_null(object))
		return 0;
	snprintf(where, sizeof where, "Task Metrics.%s", kind);
	return json_may_number(json, object, where, key, 0, 1e18, 0) / 1e6;
}

static void read_parents(struct spark *spark, const json_t *info, const char *where, struct stage *stage)
{
	const json_t *list = json_may_array(&spark->json, info, where, "Parent IDs");
	int64_t *parents;

	stage->first_parent = spark->parent_count;
	for (size_t i = 0; i < json_array_size(list) && !spark->json.failed; i++) {
		const json_t *id = json_array_get(list, i);

		if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) >= stage->id) {
			json_fail(&spark->json, where, "Parent IDs", "expected ids of earlier stages");
			return;
		}
		parents = array_grow(spark->parents, spark->parent_count, &spark->parent_capacity, sizeof *parents);
		if (!parents) {
			json_no_memory(&spark->json);
			return;
		}
		spark->parents = parents;
		parents[spark->parent_count++] = json_integer_value(id);
		stage->parent_count++;
	}
}

/* Returns the id of the RDD that the stage computes: the first of the list; those that it needs follow. */
static int64_t read_rdd(struct spark *spark, const json_t *info, const char *where)
{
	const json_t *list = json_may_array(&spark->json, info, where, "RDD Info");

	if (json_array_size(list) == 0)
		return -1;
	return json_may_integer(&spark->json, json_array_get(list, 0), where, "RDD ID", 0, INT32_MAX, -1);
}

static void read_stage(struct spark *spark, const json_t *info, const char *where)
{
	size_t job = spark->job_count - 1;
	struct stage stage = {.last_child = SIZE_MAX, .component = UINT32_MAX}, *stages;

	stage.id = json_need_integer(&spark->json, info, where, "Stage ID", 0, INT32_MAX);
	stage.rdd = read_rdd(spark, info, where);
	read_parents(spark, info, where, &stage);
	if (!spark->json.failed && hash_table_find(&spark->of_job, key_of(job, stage.id)) != HASH_TABLE_NONE)
		json_fail(&spark->json, where, "Stage ID", "the job has stage %lld twice", (long long)stage.id);
	if (spark->json.failed)
		return;
	stages = array_grow(spark->stages, spark->stage_count, &spark->stage_capacity, sizeof *stages);
	stage.executors = stages ? json_object() : NULL;
	if (stages)
		spark->stages = stages;
	if (!stage.executors ||
	    hash_table_insert(&spark->of_job, key_of(job, stage.id), (uint32_t)spark->stage_count) < 0 ||
	    hash_table_insert(&spark->of_id, (uint64_t)stage.id, (uint32_t)spark->stage_count) < 0 ||
	    hash_table_insert(&spark->of_rdd, (uint64_t)stage.rdd, (uint32_t)spark->stage_count) < 0) {
		json_decref(stage.executors);
		json_no_memory(&spark->json);
		return;
	}
	stages[spark->stage_count++] = stage;
	spark->jobs[job].stage_count++;
}

static void read_job_start(struct spark *spark, const json_t *event)
{
	const json_t *infos = json_need_array(&spark->json, event, "", "Stage Infos");
	struct spark_job job = {.first_stage = spark->stage_count, .line = spark->json.line}, *jobs;
	char where[PLACE_BYTES];

	job.id = json_need_integer(&spark->json, event, "", "Job ID", 0, INT32_MAX);
	job.submitted_ms = json_may_number(&spark->json, event, "", "Submission Time", 0, 1e15, 0);
	jobs = array_grow(spark->jobs, spark->job_count, &spark->job_capacity, sizeof *jobs);
	if (!jobs) {
		json_no_memory(&spark->json);
		return;
	}
	spark->jobs = jobs;
	jobs[spark->job_count++] = job;
	for (size_t i = 0; i < json_array_size(infos) && !spark->json.failed; i++) {
		snprintf(where, sizeof where, "Stage Infos[%zu]", i);
		read_stage(spark, json_array_get(infos, i), where);
	}
}

/* Failed tasks and the losers of speculation are left out: their data is sent again by the task that succeeds. */
static void read_task_end(struct spark *spark, const json_t *event)
{
	static const char read[] = "Shuffle Read Metrics", written[] = "Shuffle Write Metrics";
	struct json_reader *json = &spark->json;
	int64_t id = json_need_integer(json, event, "", "Stage ID", 0, INT32_MAX);
	const json_t *reason = json_need_object(json, event, "", "Task End Reason");
	const json_t *info = json_need_object(json, event, "", "Task Info");
	const json_t *metrics = json_object_get(event, "Task Metrics");
	const char *why = json_need_string(json, reason, "Task End Reason", "Reason");
	const char *executor = json_need_string(json, info, "Task Info", "Executor ID");
	double read_MB =
		may_MB(json, metrics, read, "Remote Bytes Read") + may_MB(json, metrics, read, "Local Bytes Read");
	double written_MB = may_MB(json, metrics, written, "Shuffle Bytes Written");
	uint32_t at = json->failed ? HASH_TABLE_NONE : hash_table_find(&spark->of_id, (uint64_t)id);

	if (json->failed || strcmp(why, "Success") != 0)
		return;
	if (at == HASH_TABLE_NONE) {
		json_fail(json, "", "Stage ID", "no job before this line has stage %lld", (long long)id);
		return;
	}
	spark->stages[at].read_MB += read_MB;
	spark->stages[at].written_MB += written_MB;
	if (json_object_set_new(spark->stages[at].executors, executor, json_true()) < 0)
		json_no_memory(json);
}

static void read_application(struct spark *spark, const json_t *event)
{
	const char *id = json_may_string(&spark->json, event, "", "App ID", "");

	/* "-jJOB" is appended to it */
	if (name_is_valid(id, DATAFLOW_NAME_BYTES - sizeof "-j2147483647" + 1))
		snprintf(spark->name, sizeof spark->name, "%s", id);
}

static const struct {
	const char *name;
	void (*read)(struct spark *spark, const json_t *event);
} events[] = {
	{"SparkListenerApplicationStart", read_application},
	{"SparkListenerJobStart", read_job_start},
	{"SparkListenerTaskEnd", read_task_end},
};

static int read_lines(struct spark *spark, struct file_lines *lines)
{
	char *line;
	int more;

	file_lines_limit(lines, LINE_BYTES_MAXIMUM);
	while ((more = file_lines_next(lines, &line, spark->json.err)) > 0 && !spark->json.failed) {
		json_t *event;
		const char *name;

		spark->json.line = file_lines_number(lines);
		if (!line[0])
			continue;
		event = json_read_text(spark->json.file, spark->json.line, line, strlen(line), spark->json.err);
		if (!event)
			return error_code(spark->json.err, EINVAL);
		name = json_need_string(&spark->json, event, "", "Event");
		for (size_t e = 0; e < sizeof events / sizeof *events && !spark->json.failed; e++)
			if (strcmp(name, events[e].name) == 0)
				events[e].read(spark, event);
		json_decref(event);
	}
	return spark->json.failed ? error_code(spark->json.err, EINVAL) : more;
}

static struct stage *parent_of(const struct spark *spark, size_t job, const struct stage *stage, size_t i)
{
	uint32_t at = hash_table_find(&spark->of_job, key_of(job, spark->parents[stage->first_parent + i]));

	return at == HASH_TABLE_NONE ? NULL : &spark->stages[at];
}

/* Returns the stage of an earlier job that has written the data of a stage that its own job has skipped. */
static const struct stage *writer_of(const struct spark *spark, const struct stage *stage)
{
	bool skipped = json_object_size(stage->executors) == 0 && stage->rdd >= 0;

	return skipped ? &spark->stages[hash_table_find(&spark->of_rdd, (uint64_t)stage->rdd)] : stage;
}

/* Returns the MB that the parents of the stage have written together. */
static double written_MB(struct spark *spark, size_t job, size_t s)
{
	const struct stage *stage = &spark->stages[s];
	double sum_MB = 0;

	spark->json.line = spark->jobs[job].line;
	for (size_t i = 0; i < stage->parent_count && !spark->json.failed; i++) {
		struct stage *parent = parent_of(spark, job, stage, i);

		if (!parent || parent->last_child == s) {
			json_fail(&spark->json, "", "Stage Infos", "stage %lld has the parent %lld, which %s",
				  (long long)stage->id, (long long)spark->parents[stage->first_parent + i],
				  parent ? "it lists twice" : "the job does not have");
			break;
		}
		parent->last_child = s;
		sum_MB += writer_of(spark, parent)->written_MB;
	}
	return sum_MB;
}

/* Adds the stage's component, unless it has one. executors: of the reading stage, in case no other is known. */
static void add_component(struct spark *spark, struct dataflow_job *job, size_t s, size_t executors)
{
	struct stage *stage = &spark->stages[s];
	char name[PLACE_BYTES];
	int64_t component;

	if (stage->component != UINT32_MAX || spark->json.failed)
		return;
	if (json_object_size(writer_of(spark, stage)->executors) > 0)
		executors = json_object_size(writer_of(spark, stage)->executors);
	if (job->task_count + executors > DATAFLOW_TASKS_MAXIMUM) {
		json_fail(&spark->json, "", "Stage Infos", "more than %d executors in the stages of the job",
			  DATAFLOW_TASKS_MAXIMUM);
		return;
	}
	snprintf(name, sizeof name, "stage%lld", (long long)stage->id);
	component = dataflow_add_component(job, name, (uint32_t)executors);
	if (component < 0) {
		json_no_memory(&spark->json);
		return;
	}
	stage->component = (uint32_t)component;
}

/* Adds the edges to a stage. Their selectivities are volumes in MB. */
static void add_edges(struct spark *spark, size_t number, struct dataflow_job *job, size_t s)
{
	struct stage *stage = &spark->stages[s];
	double sum_MB = written_MB(spark, number, s);

	if (stage->read_MB > 0 && stage->parent_count == 0)
		json_fail(&spark->json, "", "Stage Infos", "stage %lld reads shuffled data but has no Parent IDs",
			  (long long)stage->id);
	for (size_t i = 0; i < stage->parent_count && !spark->json.failed; i++) {
		struct stage *parent = parent_of(spark, number, stage, i);
		double share =
			sum_MB > 0 ? writer_of(spark, parent)->written_MB / sum_MB : 1 / (double)stage->parent_count;
		struct dataflow_edge *edge;

		if (!(stage->read_MB * share > 0))
			continue;
		add_component(spark, job, (size_t)(parent - spark->stages), json_object_size(stage->executors));
		add_component(spark, job, s, json_object_size(stage->executors));
		if (spark->json.failed)
			return;
		edge = dataflow_add_edge(job, parent->component, stage->component, DATAFLOW_SHUFFLE);
		if (!edge) {
			json_no_memory(&spark->json);
			return;
		}
		edge->selectivity = stage->read_MB * share;
	}
}

static void add_job(struct spark *spark, size_t number, struct dataflow *dataflow)
{
	const struct spark_job *of = &spark->jobs[number];
	double arrival_s = fmax(0, (of->submitted_ms - spark->jobs[0].submitted_ms) / 1000);
	char name[2 * DATAFLOW_NAME_BYTES];
	struct dataflow_job *job;

	snprintf(name, sizeof name, "%s-j%lld", spark->name, (long long)of->id);
	job = dataflow_add_job(dataflow, name, arrival_s);
	if (!job) {
		json_no_memory(&spark->json);
		return;
	}
	for (size_t s = of->first_stage; s < of->first_stage + of->stage_count && !spark->json.failed; s++)
		add_edges(spark, number, job, s);
	if (spark->json.failed)
		return;
	if (job->edge_count == 0)
		dataflow_job_clear(&dataflow->jobs[--dataflow->job_count]);
	else if (dataflow_set_selectivities(job, true) < 0 || dataflow_place_nowhere(job) < 0)
		json_no_memory(&spark->json);
}

static int read_log(struct dataflow *dataflow, struct file_lines *lines, const struct dataflow_trace_options *options,
		    struct error *err)
{
	struct error scratch = {0};
	struct spark spark = {.json = {.file = file_lines_name(lines), .err = err ? err : &scratch}, .name = "spark"};
	uint32_t before = dataflow->job_count;
	int code = read_lines(&spark, lines);

	for (size_t j = 0; j < spark.job_count && code == 0; j++) {
		if (options->jobs > 0 && dataflow->job_count - before >= options->jobs)
			break;
		add_job(&spark, j, dataflow);
		if (spark.json.failed)
			code = error_code(spark.json.err, EINVAL);
	}
	while (code < 0 && dataflow->job_count > before)
		dataflow_job_clear(&dataflow->jobs[--dataflow->job_count]);
	for (size_t s = 0; s < spark.stage_count; s++)
		json_decref(spark.stages[s].executors);
	free(spark.jobs);
	free(spark.stages);
	free(spark.parents);
	hash_table_free(&spark.of_id);
	hash_table_free(&spark.of_job);
	hash_table_free(&spark.of_rdd);
	return code;
}

int dataflow_read_spark(struct dataflow *dataflow, const char *path, const struct dataflow_trace_options *options,
			struct error *err)
{
	struct file_lines *lines = file_lines_open(path, err);
	int code = lines ? read_log(dataflow, lines, options, err) : error_code(err, EIO);

	file_lines_close(lines);
	return code;
}

int dataflow_parse_spark(struct dataflow *dataflow, const char *name, const char *text, size_t bytes,
			 const struct dataflow_trace_options *options, struct error *err)
{
	struct file_lines *lines = file_lines_from_memory(name, text, bytes, err);
	int code = lines ? read_log(dataflow, lines, options, err) : -ENOMEM;

	file_lines_close(lines);
	return code;
}
