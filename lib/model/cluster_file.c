/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nomora.cluster/1: reader and writer. The list "racks", if there is one, must name exactly the racks of the machines.
 */
#include <model/cluster.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/json.h>

#include "files_priv.h"

enum { PLACE_BYTES = 64, RTT_MAXIMUM_US = 60000000, FILE_BYTES_MAXIMUM = 1 << 29 };

static const char *const file_keys[] = {"schema", "default_rtt_us", "racks", "machines", NULL},
			 *const rtt_keys[] = {"same_machine", "same_rack", "same_pod", "other_pod", NULL},
			 *const rack_keys[] = {"name", "pod", NULL},
			 *const machine_keys[] = {"name", "rack", "pod", "slots", NULL};

/* As json_need_known(); the error names the line of the misspelt key. */
static void need_known(struct json_reader *reader, const json_t *object, const char *where, const char *const *known,
		       const char *text)
{
	const char *misspelt = json_misspelt_key(object, known);

	if (reader->failed)
		return;
	reader->line = misspelt ? json_lines_key(text, where[0] ? where : NULL, misspelt) : 0;
	json_need_known(reader, object, where, known);
}

/*
 * Makes the reader's later errors name the line of `key` in the object at `where` ("" = the outermost object). If the
 * key is absent, they name no line, and the text is not searched.
 */
static void go_to_key(struct json_reader *reader, const json_t *object, const char *where, const char *key,
		      const char *text)
{
	if (!reader->failed)
		reader->line = json_object_get(object, key) ? json_lines_key(text, where[0] ? where : NULL, key) : 0;
}

static double read_rtt(struct json_reader *reader, const json_t *object, const char *key, const char *text,
		       double fallback)
{
	go_to_key(reader, object, "default_rtt_us", key, text);
	return json_may_number(reader, object, "default_rtt_us", key, 0, RTT_MAXIMUM_US, fallback);
}

static void read_default_rtt(struct json_reader *reader, const json_t *root, const char *text,
			     struct cluster_default_rtt *rtt)
{
	const json_t *object = json_object_get(root, "default_rtt_us");

	if (!object)
		return;
	need_known(reader, object, "default_rtt_us", rtt_keys, text);
	go_to_key(reader, root, "", "default_rtt_us", text);
	object = json_need_object(reader, root, "", "default_rtt_us");
	rtt->same_machine_us = read_rtt(reader, object, "same_machine", text, rtt->same_machine_us);
	rtt->same_rack_us = read_rtt(reader, object, "same_rack", text, rtt->same_rack_us);
	rtt->same_pod_us = read_rtt(reader, object, "same_pod", text, rtt->same_pod_us);
	rtt->other_pod_us = read_rtt(reader, object, "other_pod", text, rtt->other_pod_us);
}

/* Returns the list "racks" as an object name -> pod (null = not given), or NULL if there is no such list. */
static json_t *read_rack_list(struct json_reader *reader, const json_t *root, const char *text)
{
	const json_t *list;
	json_t *racks;
	struct json_lines lines = json_lines_find(text, "racks");
	char where[PLACE_BYTES];

	go_to_key(reader, root, "", "racks", text);
	list = json_may_array(reader, root, "", "racks");
	racks = list ? json_object() : NULL;
	for (size_t i = 0; racks && i < json_array_size(list) && !reader->failed; i++) {
		const json_t *object = json_array_get(list, i);
		const char *name, *pod;

		reader->line = json_lines_next(&lines);
		snprintf(where, sizeof where, "racks[%zu]", i);
		json_need_known(reader, object, where, rack_keys);
		name = json_need_string(reader, object, where, "name");
		pod = json_may_string(reader, object, where, "pod", NULL);
		if (reader->failed)
			break;
		if (json_object_get(racks, name))
			json_fail(reader, where, "name", "duplicate rack name '%s'", name);
		else
			json_object_set_new(racks, name, pod ? json_string(pod) : json_null());
	}
	reader->line = 0;
	return racks;
}

static void read_machine(struct json_reader *reader, const json_t *object, const char *where, const json_t *racks,
			 struct cluster *cluster)
{
	const char *name, *rack, *pod;
	int64_t slots;
	const json_t *listed;
	struct error err = {0};

	json_need_known(reader, object, where, machine_keys);
	name = json_need_string(reader, object, where, "name");
	rack = json_need_string(reader, object, where, "rack");
	pod = json_may_string(reader, object, where, "pod", NULL);
	slots = json_need_integer(reader, object, where, "slots", 0, CLUSTER_SLOTS_MAXIMUM);
	if (reader->failed)
		return;
	listed = racks ? json_object_get(racks, rack) : NULL;
	if (racks && !listed) {
		json_fail(reader, where, "rack", "rack '%s' is not in the list \"racks\"; add it there", rack);
		return;
	}
	if (!pod)
		pod = json_string_value(listed);
	else if (json_is_string(listed) && strcmp(pod, json_string_value(listed)) != 0) {
		json_fail(reader, where, "pod", "'%s', but \"racks\" puts rack '%s' into pod '%s'", pod, rack,
			  json_string_value(listed));
		return;
	}
	if (cluster_add_machine(cluster, name, rack, pod, slots, &err) < 0)
		json_fail(reader, where, err.code == EEXIST ? "name" : "rack", "%s", err.text);
}

/* Every rack in the list must have a machine. */
static void check_racks_used(struct json_reader *reader, const json_t *root, const char *text,
			     const struct cluster *cluster)
{
	const json_t *list = json_object_get(root, "racks");
	struct json_lines lines = json_lines_find(text, "racks");
	char where[PLACE_BYTES];

	for (size_t i = 0; i < json_array_size(list) && !reader->failed; i++) {
		const char *name = json_string_value(json_object_get(json_array_get(list, i), "name"));

		reader->line = json_lines_next(&lines);
		snprintf(where, sizeof where, "racks[%zu]", i);
		if (cluster_find_rack(cluster, name) < 0)
			json_fail(reader, where, "name",
				  "rack '%s' has no machines; give it one or take it off the list", name);
	}
}

static struct cluster *cluster_from_json(const char *file, const json_t *root, const char *text, struct error *err)
{
	struct error scratch = {0};
	struct json_reader reader = {.file = file, .err = err ? err : &scratch};
	struct cluster *cluster = cluster_create();
	json_t *racks = NULL;
	struct json_lines lines = json_lines_find(text, "machines");
	const json_t *machines;
	char where[PLACE_BYTES];

	if (!cluster) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	go_to_key(&reader, root, "", "schema", text);
	json_need_schema(&reader, root, "nomora.cluster/1");
	need_known(&reader, root, "", file_keys, text);
	read_default_rtt(&reader, root, text, &cluster->default_rtt);
	racks = read_rack_list(&reader, root, text);
	go_to_key(&reader, root, "", "machines", text);
	machines = json_need_array(&reader, root, "", "machines");
	if (!reader.failed && json_array_size(machines) == 0)
		json_fail(&reader, "", "machines", "the list is empty; expected at least one machine");
	for (size_t i = 0; !reader.failed && i < json_array_size(machines); i++) {
		reader.line = json_lines_next(&lines);
		snprintf(where, sizeof where, "machines[%zu]", i);
		read_machine(&reader, json_array_get(machines, i), where, racks, cluster);
	}
	if (!reader.failed)
		check_racks_used(&reader, root, text, cluster);
	json_decref(racks);
	if (reader.failed) {
		cluster_destroy(cluster);
		return NULL;
	}
	return cluster;
}

struct cluster *cluster_parse(const char *name, const char *text, size_t bytes, struct error *err)
{
	json_t *root = json_read_text(name, 0, text, bytes, err);
	struct cluster *cluster = root ? cluster_from_json(name, root, text, err) : NULL;

	json_decref(root);
	return cluster;
}

struct cluster *cluster_read(const char *path, struct error *err)
{
	size_t bytes;
	char *text = file_read_all(path, FILE_BYTES_MAXIMUM, &bytes, err);
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	struct cluster *cluster = text ? cluster_parse(name, text, bytes, err) : NULL;

	free(text);
	return cluster;
}

static json_t *machine_to_json(const struct cluster *cluster, const struct cluster_machine *machine)
{
	const struct cluster_rack *rack = &cluster->racks[machine->rack];

	return json_pack("{s:s,s:s,s:s,s:I}", "name", machine->name, "rack", rack->name, "pod",
			 cluster->pods[rack->pod], "slots", (json_int_t)machine->slots);
}

int cluster_write(const struct cluster *cluster, const char *path, struct error *err)
{
	const struct cluster_default_rtt *rtt = &cluster->default_rtt;
	json_t *machines = json_array(), *root;
	int code = 0;

	for (uint32_t m = 0; m < cluster->machine_count; m++)
		code |= json_array_append_new(machines, machine_to_json(cluster, &cluster->machines[m]));
	root = json_pack("{s:s,s:{s:f,s:f,s:f,s:f},s:o}", "schema", "nomora.cluster/1", "default_rtt_us",
			 "same_machine", rtt->same_machine_us, "same_rack", rtt->same_rack_us, "same_pod",
			 rtt->same_pod_us, "other_pod", rtt->other_pod_us, "machines", machines);
	code = code || !root ? error_set(err, ENOMEM, "out of memory") : json_write_file(path, root, err);
	json_decref(root);
	return code;
}
