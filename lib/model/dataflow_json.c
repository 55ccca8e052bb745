/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads nomora.dataflow/1 from JSON. */
#include <model/dataflow.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/json.h>
#include <base/name.h>

#include "files_priv.h"

enum { PLACE_BYTES = 128, FILE_BYTES_MAXIMUM = 1 << 29, COMPONENTS_MAXIMUM = 10000 };
#define RATE_MAXIMUM 1e9
#define VOLUME_MAXIMUM 1e15
#define TIME_MAXIMUM 1e9

static const char *const file_keys[] = {"schema", "topology", "MBps", "seed", "slots", "hosts", "jobs", NULL},
			 *const host_keys[] = {"name", "slots", "cpu", NULL},
			 *const job_keys[] = {"name",       "weight", "arrival_s", "curve", "shares_slots",
					      "components", "edges",  "placement", NULL},
			 *const component_keys[] = {"name", "tasks", "MBps", "MB", "cpu_s_per_MB", NULL},
			 *const edge_keys[] = {"from", "to", "grouping", "skew", "selectivity", NULL};

static bool out_of_memory(struct json_reader *reader)
{
	json_no_memory(reader);
	return false;
}

/*
 * "topology": the argument of a generator, or an object of nomora.topology/1. File names are refused, so that one file
 * has the complete scenario.
 */
static struct topology *read_topology(struct json_reader *reader, const json_t *root, uint64_t seed)
{
	const json_t *value = json_object_get(root, "topology");
	double MBps = json_may_number(reader, root, "", "MBps", 1e-9, TOPOLOGY_MBPS_MAXIMUM, 100);
	struct topology *topology = NULL;
	struct error err = {0};

	if (json_is_object(value)) {
		char *text = json_dumps(value, 0);

		topology = text ? topology_parse("topology", text, strlen(text), &err) : NULL;
		free(text);
	} else {
		const char *argument = json_need_string(reader, root, "", "topology");

		if (!reader->failed && strchr(argument, ':') == NULL)
			error_set(&err, EINVAL,
				  "bad network '%s'; expected fattree:K[,HOSTS], jellyfish:SWITCHES,PORTS,HOSTS, "
				  "leafspine:LEAVES,SPINES,HOSTS or an object",
				  argument);
		else if (!reader->failed)
			topology = topology_from_argument(argument, MBps, seed, &err);
	}
	if (!topology)
		json_fail(reader, "", "topology", "%s", err.code ? err.text : "out of memory");
	return topology;
}

static void read_hosts(struct json_reader *reader, const json_t *root, struct dataflow *dataflow, const char *text)
{
	const struct topology *topology = dataflow->topology;
	int64_t slots = json_may_integer(reader, root, "", "slots", 0, DATAFLOW_SLOTS_MAXIMUM, 1);
	const json_t *list = json_may_array(reader, root, "", "hosts");
	struct json_lines lines = json_lines_find(text, "hosts");
	char where[PLACE_BYTES];

	for (uint32_t n = 0; n < topology->node_count; n++) {
		dataflow->slots[n] = topology->nodes[n].kind == TOPOLOGY_HOST ? (uint32_t)slots : 0;
		dataflow->cpu[n] = INFINITY;
	}
	for (size_t i = 0; i < json_array_size(list) && !reader->failed; i++) {
		const json_t *object = json_array_get(list, i);
		const char *name;
		int64_t node;

		reader->line = json_lines_next(&lines);
		snprintf(where, sizeof where, "hosts[%zu]", i);
		json_need_known(reader, object, where, host_keys);
		name = json_need_string(reader, object, where, "name");
		node = reader->failed ? -1 : topology_find_node(topology, name);
		if (!reader->failed && (node < 0 || topology->nodes[node].kind != TOPOLOGY_HOST))
			json_fail(reader, where, "name", "unknown host '%s'", name);
		if (reader->failed)
			return;
		dataflow->slots[node] =
			(uint32_t)json_may_integer(reader, object, where, "slots", 0, DATAFLOW_SLOTS_MAXIMUM, slots);
		dataflow->cpu[node] = json_may_number(reader, object, where, "cpu", 1e-6, 1e6, INFINITY);
	}
	reader->line = 0;
}

static int64_t find_component(const struct dataflow_job *job, const char *name, size_t bytes)
{
	for (uint32_t c = 0; c < job->component_count; c++)
		if (strncmp(job->components[c].name, name, bytes) == 0 && job->components[c].name[bytes] == '\0')
			return c;
	return -ENOENT;
}

static bool read_component(struct json_reader *reader, const json_t *object, const char *where,
			   struct dataflow_job *job)
{
	struct dataflow_component *component = &job->components[job->component_count];
	const char *name;

	json_need_known(reader, object, where, component_keys);
	name = json_need_string(reader, object, where, "name");
	component->task_count =
		(uint32_t)json_may_integer(reader, object, where, "tasks", 1, DATAFLOW_TASKS_MAXIMUM, 1);
	component->MBps = json_may_number(reader, object, where, "MBps", 0, RATE_MAXIMUM, INFINITY);
	component->MB = json_may_number(reader, object, where, "MB", 0, VOLUME_MAXIMUM, INFINITY);
	component->cpu_s_per_MB = json_may_number(reader, object, where, "cpu_s_per_MB", 0, RATE_MAXIMUM, 0);
	if (reader->failed)
		return false;
	if (!name_is_valid(name, DATAFLOW_NAME_BYTES))
		json_fail(reader, where, "name", "bad name; expected one word of at most %d bytes",
			  DATAFLOW_NAME_BYTES - 1);
	else if (find_component(job, name, strlen(name)) >= 0)
		json_fail(reader, where, "name", "duplicate component '%s'", name);
	else if (job->task_count + component->task_count > DATAFLOW_TASKS_MAXIMUM)
		json_fail(reader, where, "tasks", "more than %d tasks in the job", DATAFLOW_TASKS_MAXIMUM);
	if (reader->failed)
		return false;
	component->first_task = job->task_count;
	component->name = strdup(name);
	if (!component->name)
		return out_of_memory(reader);
	job->task_count += component->task_count;
	job->component_count++;
	return true;
}

static bool read_components(struct json_reader *reader, const json_t *object, const char *where,
			    struct dataflow_job *job)
{
	const json_t *list = json_need_array(reader, object, where, "components");
	char place[PLACE_BYTES];

	if (!reader->failed && json_array_size(list) > COMPONENTS_MAXIMUM)
		json_fail(reader, where, "components", "more than %d components", COMPONENTS_MAXIMUM);
	if (reader->failed)
		return false;
	job->components = calloc(json_array_size(list) + 1, sizeof *job->components);
	if (!job->components)
		return out_of_memory(reader);
	for (size_t i = 0; i < json_array_size(list); i++) {
		snprintf(place, sizeof place, "%.48s.components[%zu]", where, i);
		if (!read_component(reader, json_array_get(list, i), place, job))
			return false;
	}
	return true;
}

static uint32_t read_end(struct json_reader *reader, const json_t *object, const char *where, const char *key,
			 const struct dataflow_job *job)
{
	const char *name = json_need_string(reader, object, where, key);
	int64_t component = reader->failed ? 0 : find_component(job, name, strlen(name));

	if (component < 0)
		json_fail(reader, where, key, "unknown component '%s'", name);
	return component < 0 ? 0 : (uint32_t)component;
}

static bool read_edge(struct json_reader *reader, const json_t *object, const char *where, struct dataflow_job *job)
{
	struct dataflow_edge *edge = &job->edges[job->edge_count];
	const char *grouping;

	json_need_known(reader, object, where, edge_keys);
	edge->from = read_end(reader, object, where, "from", job);
	edge->to = read_end(reader, object, where, "to", job);
	grouping = json_may_string(reader, object, where, "grouping", "shuffle");
	edge->skew = json_may_number(reader, object, where, "skew", 0, 100, 0);
	edge->selectivity = json_may_number(reader, object, where, "selectivity", 0, RATE_MAXIMUM, 1);
	if (reader->failed)
		return false;
	edge->grouping = DATAFLOW_SHUFFLE;
	while (edge->grouping < DATAFLOW_GROUPINGS && strcmp(dataflow_grouping_name(edge->grouping), grouping) != 0)
		edge->grouping++;
	if (edge->grouping == DATAFLOW_GROUPINGS)
		json_fail(reader, where, "grouping",
			  "unknown grouping '%s'; expected shuffle, key, all, forward or global", grouping);
	else if (edge->from == edge->to)
		json_fail(reader, where, "to", "'%s' is linked to itself", job->components[edge->to].name);
	for (uint32_t e = 0; e < job->edge_count; e++)
		if (job->edges[e].from == edge->from && job->edges[e].to == edge->to)
			json_fail(reader, where, "to", "duplicate edge '%s' - '%s'", job->components[edge->from].name,
				  job->components[edge->to].name);
	job->edge_count++;
	return !reader->failed;
}

/*
 * Checks that the job has a sink and that data from a source reaches every component. On entry, reached[c] is true if
 * component c has an incoming edge; the function overwrites the array.
 */
static void check_ends(struct json_reader *reader, const char *where, const struct dataflow_job *job, bool *reached)
{
	bool changed = true, has_sink = false;

	for (uint32_t c = 0; c < job->component_count; c++) {
		bool sends = false;

		for (uint32_t e = 0; e < job->edge_count; e++)
			sends = sends || job->edges[e].from == c;
		has_sink = has_sink || !sends;
		reached[c] = !reached[c]; /* sources */
	}
	if (!has_sink)
		json_fail(reader, where, "edges", "no sink: every component has an outgoing edge");
	while (changed && !reader->failed) {
		changed = false;
		for (uint32_t e = 0; e < job->edge_count; e++)
			if (reached[job->edges[e].from] && !reached[job->edges[e].to])
				changed = reached[job->edges[e].to] = true;
	}
	for (uint32_t c = 0; c < job->component_count && !reader->failed; c++)
		if (!reached[c])
			json_fail(reader, where, "edges", "no source reaches component '%s'", job->components[c].name);
}

static bool read_edges(struct json_reader *reader, const json_t *object, const char *where, struct dataflow_job *job)
{
	const json_t *list = json_need_array(reader, object, where, "edges");
	bool *receives = calloc(job->component_count + 1, sizeof *receives);
	uint32_t sources = job->component_count;
	char place[PLACE_BYTES];

	job->edges = calloc(json_array_size(list) + 1, sizeof *job->edges);
	if (!job->edges || !receives)
		out_of_memory(reader);
	for (size_t i = 0; i < json_array_size(list) && !reader->failed; i++) {
		snprintf(place, sizeof place, "%.48s.edges[%zu]", where, i);
		read_edge(reader, json_array_get(list, i), place, job);
	}
	for (uint32_t e = 0; e < job->edge_count && !reader->failed; e++) {
		sources -= !receives[job->edges[e].to];
		receives[job->edges[e].to] = true;
	}
	if (!reader->failed && sources == 0)
		json_fail(reader, where, "edges", "no source: every component has an incoming edge");
	if (!reader->failed)
		check_ends(reader, where, job, receives);
	free(receives);
	return !reader->failed;
}

/* Checks that the tasks of each shared slot have one host, or none of them has a host. */
static bool check_shared(struct json_reader *reader, const char *where, const struct dataflow_job *job)
{
	char name[2 * DATAFLOW_NAME_BYTES], leader[2 * DATAFLOW_NAME_BYTES];

	for (uint32_t t = 0; t < job->task_count; t++) {
		uint32_t leads = dataflow_slot_leader(job, t);

		if (job->hosts[t] == job->hosts[leads])
			continue;
		dataflow_task_name(job, t, name);
		dataflow_task_name(job, leads, leader);
		json_fail(reader, where, name, "not on the host of '%s', which shares its slot", leader);
		return false;
	}
	return true;
}

/* Reads the object "component.number" -> host. */
static bool read_placement(struct json_reader *reader, const json_t *object, const char *where,
			   struct dataflow_job *job, const struct topology *topology)
{
	json_t *placement = json_object_get(object, "placement"), *value;
	const char *key;
	char place[PLACE_BYTES];

	job->hosts = malloc((job->task_count + 1) * sizeof *job->hosts);
	if (!job->hosts)
		return out_of_memory(reader);
	for (uint32_t t = 0; t < job->task_count; t++)
		job->hosts[t] = DATAFLOW_NOWHERE;
	if (!placement)
		return true;
	json_need_object(reader, object, where, "placement");
	snprintf(place, sizeof place, "%.48s.placement", where);
	json_object_foreach (placement, key, value) {
		const char *dot = strrchr(key, '.');
		int64_t component = dot ? find_component(job, key, (size_t)(dot - key)) : -ENOENT, node;
		unsigned number = 0;
		int used = 0;

		if (component < 0 || sscanf(dot + 1, "%9u%n", &number, &used) != 1 || dot[1 + used] != '\0' ||
		    number >= job->components[component].task_count) {
			json_fail(reader, place, key, "unknown task; expected COMPONENT.NUMBER");
			return false;
		}
		node = json_is_string(value) ? topology_find_node(topology, json_string_value(value)) : -ENOENT;
		if (node < 0 || topology->nodes[node].kind != TOPOLOGY_HOST) {
			json_fail(reader, place, key, "unknown host");
			return false;
		}
		job->hosts[job->components[component].first_task + number] = (uint32_t)node;
	}
	return !reader->failed && check_shared(reader, place, job);
}

static bool read_job(struct json_reader *reader, const json_t *object, const char *where, struct dataflow *dataflow)
{
	struct dataflow_job *job = &dataflow->jobs[dataflow->job_count++];
	const char *name, *curve = NULL;

	json_need_known(reader, object, where, job_keys);
	name = json_need_string(reader, object, where, "name");
	job->weight = json_may_number(reader, object, where, "weight", 1e-6, 1e6, 1);
	job->arrival_s = json_may_number(reader, object, where, "arrival_s", 0, TIME_MAXIMUM, 0);
	job->shares_slots = json_may_boolean(reader, object, where, "shares_slots", false);
	if (json_object_get(object, "curve"))
		curve = json_need_string(reader, object, where, "curve");
	if (reader->failed)
		return false;
	if (!name_is_valid(name, DATAFLOW_NAME_BYTES))
		json_fail(reader, where, "name", "bad name; expected one word of at most %d bytes",
			  DATAFLOW_NAME_BYTES - 1);
	for (uint32_t j = 0; j + 1 < dataflow->job_count; j++)
		if (strcmp(dataflow->jobs[j].name, name) == 0)
			json_fail(reader, where, "name", "duplicate job '%s'", name);
	if (reader->failed)
		return false;
	job->name = strdup(name);
	job->curve = curve ? strdup(curve) : NULL;
	if (!job->name || (curve && !job->curve))
		return out_of_memory(reader);
	return read_components(reader, object, where, job) && read_edges(reader, object, where, job) &&
	       read_placement(reader, object, where, job, dataflow->topology);
}

static void check_slots(struct json_reader *reader, const struct dataflow *dataflow)
{
	uint32_t *used = calloc(dataflow->topology->node_count + 1, sizeof *used);

	if (!used)
		out_of_memory(reader);
	for (uint32_t j = 0; j < dataflow->job_count && !reader->failed; j++)
		for (uint32_t t = 0; t < dataflow->jobs[j].task_count; t++) {
			uint32_t host = dataflow->jobs[j].hosts[t];

			if (dataflow_slot_leader(&dataflow->jobs[j], t) != t || host == DATAFLOW_NOWHERE)
				continue;
			if (++used[host] > dataflow->slots[host]) {
				json_fail(reader, "jobs", "placement", "more tasks on host '%s' than its %u slots",
					  dataflow->topology->nodes[host].name, dataflow->slots[host]);
				break;
			}
		}
	free(used);
}

static void read_jobs(struct json_reader *reader, const json_t *root, struct dataflow *dataflow, const char *text)
{
	const json_t *list = json_need_array(reader, root, "", "jobs");
	struct json_lines lines = json_lines_find(text, "jobs");
	char where[PLACE_BYTES];

	if (!reader->failed && json_array_size(list) == 0)
		json_fail(reader, "", "jobs", "the list is empty; expected at least one job");
	if (reader->failed)
		return;
	dataflow->jobs = calloc(json_array_size(list), sizeof *dataflow->jobs);
	if (!dataflow->jobs) {
		out_of_memory(reader);
		return;
	}
	for (size_t i = 0; i < json_array_size(list) && !reader->failed; i++) {
		reader->line = json_lines_next(&lines);
		snprintf(where, sizeof where, "jobs[%zu]", i);
		read_job(reader, json_array_get(list, i), where, dataflow);
	}
	if (!reader->failed)
		reader->line = 0;
	if (!reader->failed)
		check_slots(reader, dataflow);
}

static struct dataflow *dataflow_from_json(const char *file, const json_t *root, const char *text, struct error *err)
{
	struct error scratch = {0};
	struct json_reader reader = {.file = file, .err = err ? err : &scratch};
	struct dataflow *dataflow = calloc(1, sizeof *dataflow);

	if (!dataflow) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	json_need_schema(&reader, root, "nomora.dataflow/1");
	json_need_known(&reader, root, "", file_keys);
	dataflow->seed = (uint64_t)json_may_integer(&reader, root, "", "seed", 0, INT64_MAX, 1);
	if (!reader.failed)
		dataflow->topology = read_topology(&reader, root, dataflow->seed);
	if (dataflow->topology) {
		dataflow->slots = calloc(dataflow->topology->node_count, sizeof *dataflow->slots);
		dataflow->cpu = calloc(dataflow->topology->node_count, sizeof *dataflow->cpu);
		if (!dataflow->slots || !dataflow->cpu)
			out_of_memory(&reader);
	}
	if (!reader.failed)
		read_hosts(&reader, root, dataflow, text);
	if (!reader.failed)
		read_jobs(&reader, root, dataflow, text);
	if (!reader.failed)
		return dataflow;
	dataflow_destroy(dataflow);
	return NULL;
}

struct dataflow *dataflow_parse(const char *name, const char *text, size_t bytes, struct error *err)
{
	json_t *root = json_read_text(name, 0, text, bytes, err);
	char *copy = root ? strndup(text, bytes) : NULL; /* a copy that ends with a NUL, which `text` may lack */
	struct dataflow *dataflow = NULL;

	if (copy)
		dataflow = dataflow_from_json(name, root, copy, err);
	else if (root)
		error_set(err, ENOMEM, "out of memory");
	free(copy);
	json_decref(root);
	return dataflow;
}

struct dataflow *dataflow_read(const char *path, struct error *err)
{
	size_t bytes;
	char *text = file_read_all(path, FILE_BYTES_MAXIMUM, &bytes, err);
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	struct dataflow *dataflow = text ? dataflow_parse(name, text, bytes, err) : NULL;

	free(text);
	return dataflow;
}
