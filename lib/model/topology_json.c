/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora.topology/1 to and from JSON. */
#include <model/topology.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/json.h>

#include "files_priv.h"

#define SCHEMA "nomora.topology/1"
enum { PLACE_BYTES = 64, FILE_BYTES_MAXIMUM = 1 << 29 };

static const char *const file_keys[] = {"schema", "switches", "hosts", "links", NULL},
			 *const node_keys[] = {"name", NULL}, *const link_keys[] = {"a",         "b",  "MBps",
										    "back_MBps", "up", NULL};

/* State of one read, shared by the functions below. */
struct topology_reader {
	struct json_reader json;
	const json_t *root;
	const char *text;
	struct topology *topology;
};

static void read_nodes(struct topology_reader *reader, const char *key, enum topology_kind kind)
{
	const json_t *list = json_need_array(&reader->json, reader->root, "", key);
	struct json_lines lines = json_lines_find(reader->text, key);
	char where[PLACE_BYTES];
	struct error err = {0};

	for (size_t i = 0; !reader->json.failed && i < json_array_size(list); i++) {
		const json_t *object = json_array_get(list, i);
		const char *name;

		reader->json.line = json_lines_next(&lines);
		snprintf(where, sizeof where, "%s[%zu]", key, i);
		json_need_known(&reader->json, object, where, node_keys);
		name = json_need_string(&reader->json, object, where, "name");
		if (!reader->json.failed && topology_add_node(reader->topology, kind, name, &err) < 0)
			json_fail(&reader->json, where, "name", "%s", err.text);
	}
	reader->json.line = 0;
}

static uint32_t read_end(struct topology_reader *reader, const json_t *object, const char *where, const char *key)
{
	const char *name = json_need_string(&reader->json, object, where, key);
	int64_t node = reader->json.failed ? 0 : topology_find_node(reader->topology, name);

	if (node < 0)
		json_fail(&reader->json, where, key,
			  "unknown node '%s'; expected a name from \"switches\" or \"hosts\"", name);
	return node < 0 ? 0 : (uint32_t)node;
}

/*
 * Adds a further link to a LAG. A LAG has the capacity of its links that are up; it is down if all of them are. `more`
 * joins the same nodes in the same order.
 */
static void widen_link(struct topology_reader *reader, struct topology_link *link, const struct topology_link *more,
		       const char *where)
{
	if (more->up != link->up) {
		*link = more->up ? *more : *link;
		return;
	}
	link->MBps += more->MBps;
	link->back_MBps += more->back_MBps;
	if (link->MBps > TOPOLOGY_MBPS_MAXIMUM || link->back_MBps > TOPOLOGY_MBPS_MAXIMUM)
		json_fail(&reader->json, where, "MBps", "the parallel links have more than %g MB/s together",
			  TOPOLOGY_MBPS_MAXIMUM);
}

static void read_link(struct topology_reader *reader, const json_t *object, const char *where)
{
	struct json_reader *json = &reader->json;
	struct error err = {0};
	uint32_t a, b;
	double MBps, back_MBps;
	bool up;
	int64_t link;

	json_need_known(json, object, where, link_keys);
	a = read_end(reader, object, where, "a");
	b = read_end(reader, object, where, "b");
	MBps = json_need_number(json, object, where, "MBps", 0, TOPOLOGY_MBPS_MAXIMUM);
	back_MBps = json_may_number(json, object, where, "back_MBps", 0, TOPOLOGY_MBPS_MAXIMUM, MBps);
	up = json_may_boolean(json, object, where, "up", true);
	if (!json->failed && (MBps == 0 || back_MBps == 0))
		json_fail(json, where, MBps == 0 ? "MBps" : "back_MBps",
			  "expected a capacity > 0; a link that is down has \"up\": false");
	if (json->failed)
		return;
	link = topology_find_link(reader->topology, a, b);
	if (link >= 0 && reader->topology->links[link].a == a) {
		widen_link(reader, &reader->topology->links[link],
			   &(struct topology_link){.a = a, .b = b, .MBps = MBps, .back_MBps = back_MBps, .up = up},
			   where);
		return;
	}
	if (link >= 0)
		json_fail(json, where, "b",
			  "'%s' - '%s' is already listed as '%s' - '%s'; expected parallel links with their ends in "
			  "one order",
			  reader->topology->nodes[a].name, reader->topology->nodes[b].name,
			  reader->topology->nodes[b].name, reader->topology->nodes[a].name);
	if (json->failed)
		return;
	link = topology_add_link(reader->topology, a, b, MBps, back_MBps, &err);
	if (link < 0)
		json_fail(json, where, "b", "%s", err.text);
	else
		reader->topology->links[link].up = up;
}

static void read_links(struct topology_reader *reader)
{
	const json_t *list = json_need_array(&reader->json, reader->root, "", "links");
	struct json_lines lines = json_lines_find(reader->text, "links");
	char where[PLACE_BYTES];

	for (size_t i = 0; !reader->json.failed && i < json_array_size(list); i++) {
		reader->json.line = json_lines_next(&lines);
		snprintf(where, sizeof where, "links[%zu]", i);
		read_link(reader, json_array_get(list, i), where);
	}
	reader->json.line = 0;
}

/* Every host needs a link, up or down: without one it can never reach another host. */
static void check_hosts(struct topology_reader *reader)
{
	const struct topology *topology = reader->topology;
	bool *linked = calloc(topology->node_count + 1, sizeof *linked);

	if (!linked) {
		json_no_memory(&reader->json);
		return;
	}
	for (uint32_t l = 0; l < topology->link_count; l++)
		linked[topology->links[l].a] = linked[topology->links[l].b] = true;
	if (topology->host_count == 0)
		json_fail(&reader->json, "", "hosts", "the list is empty; expected at least one host");
	for (uint32_t n = 0; n < topology->node_count && !reader->json.failed; n++)
		if (topology->nodes[n].kind == TOPOLOGY_HOST && !linked[n])
			json_fail(&reader->json, "", "links", "host '%s' has no link", topology->nodes[n].name);
	free(linked);
}

static struct topology *topology_from_json(const char *file, const json_t *root, const char *text, struct error *err)
{
	struct error scratch = {0};
	struct topology_reader reader = {.json = {.file = file, .err = err ? err : &scratch},
					 .root = root,
					 .text = text,
					 .topology = topology_create()};

	if (!reader.topology) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	json_need_schema(&reader.json, root, SCHEMA);
	json_need_known(&reader.json, root, "", file_keys);
	read_nodes(&reader, "switches", TOPOLOGY_SWITCH);
	read_nodes(&reader, "hosts", TOPOLOGY_HOST);
	read_links(&reader);
	if (!reader.json.failed)
		check_hosts(&reader);
	if (reader.json.failed) {
		topology_destroy(reader.topology);
		return NULL;
	}
	return reader.topology;
}

struct topology *topology_parse(const char *name, const char *text, size_t bytes, struct error *err)
{
	json_t *root = json_read_text(name, 0, text, bytes, err);
	struct topology *topology = root ? topology_from_json(name, root, text, err) : NULL;

	json_decref(root);
	return topology;
}

struct topology *topology_parse_file(const char *name, const char *text, size_t bytes, double MBps, struct error *err)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf";
	size_t at = bytes >= 3 && memcmp(text, byte_order_mark, 3) == 0 ? 3 : 0;

	while (at < bytes && strchr(" \t\r\n", text[at]) && text[at] != '\0')
		at++;
	if (at < bytes && text[at] == '<')
		return topology_parse_graphml(name, text, bytes, MBps, err);
	return topology_parse(name, text, bytes, err);
}

struct topology *topology_read(const char *path, double MBps, struct error *err)
{
	size_t bytes;
	char *text = file_read_all(path, FILE_BYTES_MAXIMUM, &bytes, err);
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	struct topology *topology = text ? topology_parse_file(name, text, bytes, MBps, err) : NULL;

	free(text);
	return topology;
}

static json_t *nodes_json(const struct topology *topology, enum topology_kind kind)
{
	json_t *list = json_array();

	for (uint32_t n = 0; n < topology->node_count; n++)
		if (topology->nodes[n].kind == kind)
			json_array_append_new(list, json_pack("{s:s}", "name", topology->nodes[n].name));
	return list;
}

static json_t *link_json(const struct topology *topology, const struct topology_link *link)
{
	json_t *object = json_pack("{s:s, s:s, s:f}", "a", topology->nodes[link->a].name, "b",
				   topology->nodes[link->b].name, "MBps", link->MBps);

	if (link->back_MBps != link->MBps)
		json_object_set_new(object, "back_MBps", json_real(link->back_MBps));
	if (!link->up)
		json_object_set_new(object, "up", json_false());
	return object;
}

json_t *topology_to_json(const struct topology *topology)
{
	json_t *links = json_array();

	for (uint32_t l = 0; l < topology->link_count; l++)
		json_array_append_new(links, link_json(topology, &topology->links[l]));
	return json_pack("{s:s, s:o, s:o, s:o}", "schema", SCHEMA, "switches", nodes_json(topology, TOPOLOGY_SWITCH),
			 "hosts", nodes_json(topology, TOPOLOGY_HOST), "links", links);
}

int topology_save(const struct topology *topology, const char *path, struct error *err)
{
	return json_write_file_new(path, topology_to_json(topology), err);
}
