/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A Storm topology, from two answers of Storm's UI: one has the executors of each component, the other the tuples that
 * each bolt has executed from each component. Their size is unknown: all count as equally large.
 */
#include <model/dataflow.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/hash_table.h>
#include <base/json.h>
#include <base/name.h>

enum { FILE_BYTES_MAXIMUM = 1 << 28, COMPONENTS_MAXIMUM = 10000, PLACE_BYTES = 64 };

struct storm {
	struct json_reader json;
	struct dataflow_job *job;
	struct hash_table components; /* hash of the name -> component */
};

/* Components and streams of Storm itself: ackers, ticks, metrics. */
static bool is_system(const char *name)
{
	return strncmp(name, "__", 2) == 0;
}

static uint32_t find_component(const struct storm *storm, const char *name)
{
	HASH_TABLE_EACH (&storm->components, hash_text(name), at) {
		uint32_t c = hash_table_value(&storm->components, at);

		if (strcmp(storm->job->components[c].name, name) == 0)
			return c;
	}
	return UINT32_MAX;
}

static void read_component(struct storm *storm, const json_t *object, const char *where, const char *key)
{
	struct json_reader *json = &storm->json;
	const char *id = json_need_string(json, object, where, key);
	int64_t executors = json_need_integer(json, object, where, "executors", 1, DATAFLOW_TASKS_MAXIMUM), added;

	if (json->failed || is_system(id))
		return;
	if (!name_is_valid(id, DATAFLOW_NAME_BYTES))
		json_fail(json, where, key, "bad id; expected one word of at most %d bytes", DATAFLOW_NAME_BYTES - 1);
	else if (find_component(storm, id) != UINT32_MAX)
		json_fail(json, where, key, "duplicate id '%s'", id);
	else if (storm->job->task_count + executors > DATAFLOW_TASKS_MAXIMUM)
		json_fail(json, where, "executors", "more than %d executors in the topology", DATAFLOW_TASKS_MAXIMUM);
	if (json->failed)
		return;
	added = dataflow_add_component(storm->job, id, (uint32_t)executors);
	if (added < 0 || hash_table_insert(&storm->components, hash_text(id), (uint32_t)added) < 0)
		json_no_memory(json);
}

static void read_components(struct storm *storm, const json_t *topology, const char *list_key, const char *key)
{
	const json_t *list = json_need_array(&storm->json, topology, "", list_key);
	char where[PLACE_BYTES];

	if (json_array_size(list) > COMPONENTS_MAXIMUM)
		json_fail(&storm->json, "", list_key, "more than %d components", COMPONENTS_MAXIMUM);
	for (size_t i = 0; i < json_array_size(list) && !storm->json.failed; i++) {
		snprintf(where, sizeof where, "%s[%zu]", list_key, i);
		read_component(storm, json_array_get(list, i), where, key);
	}
}

/* Adds the tuples that bolt `to` has executed from a stream of another component. first: the bolt's first edge. */
static void read_input(struct storm *storm, const json_t *object, const char *where, uint32_t to, uint32_t first)
{
	struct json_reader *json = &storm->json;
	const char *name = json_need_string(json, object, where, "component_id");
	const char *stream = json_need_string(json, object, where, "stream_id");
	double tuples = json_need_number(json, object, where, "value", 0, 1e18);
	struct dataflow_edge *edge = NULL;
	uint32_t from;

	if (json->failed || is_system(name) || is_system(stream) || tuples == 0)
		return;
	from = find_component(storm, name);
	if (from == UINT32_MAX || from == to) {
		json_fail(json, where, "component_id", from == to ? "'%s' is its own input" : "unknown component '%s'",
			  name);
		return;
	}
	for (uint32_t e = first; e < storm->job->edge_count; e++)
		if (storm->job->edges[e].from == from)
			edge = &storm->job->edges[e];
	if (edge) {
		edge->selectivity += tuples;
		return;
	}
	edge = dataflow_add_edge(storm->job, from, to, DATAFLOW_SHUFFLE);
	if (edge)
		edge->selectivity = tuples;
	else
		json_no_memory(json);
}

static void read_bolt(struct storm *storm, const json_t *bolt, const char *where, bool *seen)
{
	const char *id = json_need_string(&storm->json, bolt, where, "id");
	const json_t *inputs = json_need_array(&storm->json, bolt, where, "executed");
	uint32_t to = storm->json.failed ? 0 : find_component(storm, id), first = storm->job->edge_count;
	char at[2 * PLACE_BYTES];

	if (storm->json.failed || is_system(id))
		return;
	if (to == UINT32_MAX || seen[to]) {
		json_fail(&storm->json, where, "id", to == UINT32_MAX ? "unknown component '%s'" : "duplicate id '%s'",
			  id);
		return;
	}
	seen[to] = true;
	for (size_t i = 0; i < json_array_size(inputs) && !storm->json.failed; i++) {
		snprintf(at, sizeof at, "%s.executed[%zu]", where, i);
		read_input(storm, json_array_get(inputs, i), at, to, first);
	}
}

static void read_metrics(struct storm *storm, const json_t *metrics)
{
	const json_t *bolts = json_need_array(&storm->json, metrics, "", "bolts");
	bool *seen = calloc(storm->job->component_count + 1u, sizeof *seen);
	char where[PLACE_BYTES];

	if (!seen)
		json_no_memory(&storm->json);
	for (size_t i = 0; i < json_array_size(bolts) && !storm->json.failed; i++) {
		snprintf(where, sizeof where, "bolts[%zu]", i);
		read_bolt(storm, json_array_get(bolts, i), where, seen);
	}
	if (!storm->json.failed && storm->job->edge_count == 0)
		json_fail(&storm->json, "", "bolts", "no bolt has executed a tuple of another component");
	free(seen);
}

int dataflow_parse_storm(struct dataflow *dataflow, const struct dataflow_storm_text *topology,
			 const struct dataflow_storm_text *metrics, struct error *err)
{
	struct error scratch = {0};
	struct storm storm = {.json = {.file = topology->name, .err = err ? err : &scratch}};
	json_t *root = json_read_text(topology->name, 0, topology->text, topology->bytes, storm.json.err);
	json_t *counts = root ? json_read_text(metrics->name, 0, metrics->text, metrics->bytes, storm.json.err) : NULL;
	const char *name = counts ? json_may_string(&storm.json, root, "", "id", "storm") : NULL;

	if (name && !storm.json.failed)
		storm.job = dataflow_add_job(dataflow, name_is_valid(name, DATAFLOW_NAME_BYTES) ? name : "storm", 0);
	if (storm.job) {
		read_components(&storm, root, "spouts", "spoutId");
		read_components(&storm, root, "bolts", "boltId");
		storm.json.file = metrics->name;
		if (!storm.json.failed)
			read_metrics(&storm, counts);
		if (!storm.json.failed &&
		    (dataflow_set_selectivities(storm.job, false) < 0 || dataflow_place_nowhere(storm.job) < 0))
			json_no_memory(&storm.json);
	} else if (counts) {
		json_no_memory(&storm.json);
	}
	json_decref(root);
	json_decref(counts);
	hash_table_free(&storm.components);
	if (counts && !storm.json.failed)
		return 0;
	if (storm.job)
		dataflow_job_clear(&dataflow->jobs[--dataflow->job_count]);
	return error_code(storm.json.err, EINVAL);
}

static bool load(struct dataflow_storm_text *file, char path[static PATH_MAX], const char *folder, const char *name,
		 struct error *err)
{
	if (snprintf(path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX) {
		error_set(err, ENAMETOOLONG, "%s: the path is too long", folder);
		return false;
	}
	file->name = path;
	file->text = file_read_all(path, FILE_BYTES_MAXIMUM, &file->bytes, err);
	return file->text;
}

int dataflow_read_storm(struct dataflow *dataflow, const char *folder, struct error *err)
{
	struct dataflow_storm_text topology = {0}, metrics = {0};
	char paths[2][PATH_MAX];
	int code = load(&topology, paths[0], folder, "topology.json", err) &&
				   load(&metrics, paths[1], folder, "metrics.json", err)
			   ? dataflow_parse_storm(dataflow, &topology, &metrics, err)
			   : error_code(err, EIO);

	free((char *)topology.text);
	free((char *)metrics.text);
	return code;
}
