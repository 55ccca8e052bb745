/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the plan of a Flink job, as Flink's REST interface returns it for /jobs/ID/plan. */
#include <model/dataflow.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <base/file.h>
#include <base/json.h>
#include <base/name.h>

enum { FILE_BYTES_MAXIMUM = 1 << 28, NODES_MAXIMUM = 10000, PLACE_BYTES = 64 };

/* Ship strategies of streaming and batch jobs. Those of batch jobs may be followed by text: "Hash Partition on [0]". */
static const struct {
	const char *name;
	enum dataflow_grouping grouping;
} strategies[] = {
	{"FORWARD", DATAFLOW_FORWARD},
	{"RESCALE", DATAFLOW_FORWARD},
	{"HASH", DATAFLOW_KEY},
	{"RANGE", DATAFLOW_KEY},
	{"CUSTOM", DATAFLOW_KEY},
	{"REBALANCE", DATAFLOW_SHUFFLE},
	{"REDISTRIBUTE", DATAFLOW_SHUFFLE},
	{"SHUFFLE", DATAFLOW_SHUFFLE},
	{"BROADCAST", DATAFLOW_ALL},
	{"GLOBAL", DATAFLOW_GLOBAL},
};

static bool find_strategy(const char *text, enum dataflow_grouping *grouping)
{
	size_t length = strcspn(text, " ["); /* "HASH[id]" in plans of batch SQL */

	for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
		if (length == strlen(strategies[i].name) && strncasecmp(text, strategies[i].name, length) == 0) {
			*grouping = strategies[i].grouping;
			return true;
		}
	return false;
}

static bool out_of_memory(struct json_reader *reader)
{
	json_no_memory(reader);
	return false;
}

static int64_t find_component(const struct dataflow_job *job, const char *name)
{
	for (uint32_t c = 0; c < job->component_count; c++)
		if (strcmp(job->components[c].name, name) == 0)
			return c;
	return -ENOENT;
}

static bool read_node(struct json_reader *reader, const json_t *node, const char *where, struct dataflow_job *job)
{
	const char *id = json_need_string(reader, node, where, "id");
	int64_t tasks = json_need_integer(reader, node, where, "parallelism", 1, DATAFLOW_TASKS_MAXIMUM);

	if (reader->failed)
		return false;
	if (!name_is_valid(id, DATAFLOW_NAME_BYTES))
		json_fail(reader, where, "id", "bad id; expected one word of at most %d bytes",
			  DATAFLOW_NAME_BYTES - 1);
	else if (find_component(job, id) >= 0)
		json_fail(reader, where, "id", "duplicate id '%s'", id);
	else if (job->task_count + tasks > DATAFLOW_TASKS_MAXIMUM)
		json_fail(reader, where, "parallelism", "more than %d tasks in the job", DATAFLOW_TASKS_MAXIMUM);
	else if (dataflow_add_component(job, id, (uint32_t)tasks) < 0)
		out_of_memory(reader);
	return !reader->failed;
}

/* Adds an edge. Several inputs from the same vertex (a self-join) become one edge; its selectivity is their number. */
static bool add_edge(struct json_reader *reader, const char *where, struct dataflow_job *job, uint32_t from,
		     uint32_t to, enum dataflow_grouping grouping)
{
	for (uint32_t e = 0; e < job->edge_count; e++) {
		struct dataflow_edge *edge = &job->edges[e];

		if (edge->from != from || edge->to != to)
			continue;
		if (edge->grouping != grouping) {
			json_fail(reader, where, "ship_strategy", "two inputs from '%s' with different strategies",
				  job->components[from].name);
			return false;
		}
		edge->selectivity += 1;
		return true;
	}
	return dataflow_add_edge(job, from, to, grouping) || out_of_memory(reader);
}

static bool read_input(struct json_reader *reader, const json_t *input, const char *where, struct dataflow_job *job,
		       uint32_t to)
{
	const char *id = json_need_string(reader, input, where, "id");
	const char *strategy = json_need_string(reader, input, where, "ship_strategy");
	enum dataflow_grouping grouping = DATAFLOW_SHUFFLE;
	int64_t from = reader->failed ? 0 : find_component(job, id);

	if (reader->failed)
		return false;
	if (from < 0)
		json_fail(reader, where, "id", "unknown vertex '%s'", id);
	else if (from == to)
		json_fail(reader, where, "id", "vertex '%s' is its own input", id);
	else if (!find_strategy(strategy, &grouping))
		json_fail(reader, where, "ship_strategy",
			  "unknown strategy '%s'; expected FORWARD, RESCALE, HASH, RANGE, CUSTOM, REBALANCE, "
			  "REDISTRIBUTE, SHUFFLE, BROADCAST or GLOBAL",
			  strategy);
	return !reader->failed && add_edge(reader, where, job, (uint32_t)from, to, grouping);
}

static bool has_source(const struct dataflow_job *job)
{
	uint32_t with_input = 0;

	for (uint32_t c = 0; c < job->component_count; c++)
		for (uint32_t e = 0; e < job->edge_count; e++)
			if (job->edges[e].to == c) {
				with_input++;
				break;
			}
	return with_input < job->component_count;
}

static void read_plan(struct json_reader *reader, const json_t *root, struct dataflow *dataflow)
{
	/* Flink's response has one member, "plan"; clients often store only the value of that member. */
	const json_t *plan = json_object_get(root, "plan") ? json_need_object(reader, root, "", "plan") : root;
	const json_t *nodes = json_need_array(reader, plan, "plan", "nodes");
	const char *name = json_may_string(reader, plan, "plan", "jid", "flink");
	struct dataflow_job *job;
	char where[PLACE_BYTES];

	if (!reader->failed && json_array_size(nodes) > NODES_MAXIMUM)
		json_fail(reader, "plan", "nodes", "more than %d vertices", NODES_MAXIMUM);
	if (reader->failed)
		return;
	job = dataflow_add_job(dataflow, name_is_valid(name, DATAFLOW_NAME_BYTES) ? name : "flink", 0);
	if (!job) {
		out_of_memory(reader);
		return;
	}
	/* The plan does not name the slot sharing groups; this is Flink's default, one group for the whole job. */
	job->shares_slots = true;
	for (size_t i = 0; i < json_array_size(nodes) && !reader->failed; i++) {
		snprintf(where, sizeof where, "plan.nodes[%zu]", i);
		read_node(reader, json_array_get(nodes, i), where, job);
	}
	for (size_t i = 0; i < json_array_size(nodes) && !reader->failed; i++) {
		const json_t *inputs;

		snprintf(where, sizeof where, "plan.nodes[%zu]", i);
		inputs = json_may_array(reader, json_array_get(nodes, i), where, "inputs");
		for (size_t k = 0; k < json_array_size(inputs) && !reader->failed; k++) {
			snprintf(where, sizeof where, "plan.nodes[%zu].inputs[%zu]", i, k);
			read_input(reader, json_array_get(inputs, k), where, job, (uint32_t)i);
		}
	}
	if (!reader->failed && !has_source(job))
		json_fail(reader, "plan", "nodes", "no source: every vertex has an input");
	if (!reader->failed && dataflow_place_nowhere(job) < 0)
		out_of_memory(reader);
}

int dataflow_parse_flink(struct dataflow *dataflow, const char *name, const char *text, size_t bytes, struct error *err)
{
	struct error scratch = {0};
	struct json_reader reader = {.file = name, .err = err ? err : &scratch};
	uint32_t jobs = dataflow->job_count;
	json_t *root = json_read_text(name, 0, text, bytes, reader.err);

	if (!root)
		return error_code(reader.err, EINVAL);
	read_plan(&reader, root, dataflow);
	json_decref(root);
	if (!reader.failed)
		return 0;
	while (dataflow->job_count > jobs)
		dataflow_job_clear(&dataflow->jobs[--dataflow->job_count]);
	return error_code(reader.err, EINVAL);
}

int dataflow_read_flink(struct dataflow *dataflow, const char *path, struct error *err)
{
	size_t bytes;
	char *text = file_read_all(path, FILE_BYTES_MAXIMUM, &bytes, err);
	int code = text ? dataflow_parse_flink(dataflow, strcmp(path, "-") == 0 ? "standard input" : path, text, bytes,
					       err)
			: error_code(err, EIO);

	free(text);
	return code;
}
