/* SPDX-License-Identifier: BSD-3-Clause */
/* A network from what its devices have learnt of their neighbours by LLDP: the output of `lldpctl -f json`. */
#include <model/topology.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <base/array.h>
#include <base/file.h>
#include <base/json.h>

#include "files_priv.h"

enum { PLACE_BYTES = 160, FILE_BYTES_MAXIMUM = 1 << 26 };

/* A neighbour on an interface of a device. */
struct listing {
	uint32_t device, neighbour; /* nodes */
	double MBps;                /* of the neighbour's port */
	long line;                  /* in the device's file */
};

struct origin {
	const struct topology_lldp_file *file; /* of the device; NULL: it has none */
	bool listed;                           /* by a neighbour, which knows whether the device forwards */
};

struct lldp_reader {
	struct json_reader json;
	double MBps; /* of ports of unknown speed */
	struct topology *topology;
	struct origin *origins; /* by node */
	size_t origin_capacity;
	struct listing *listings;
	size_t count, capacity;
};

/* Returns the node of this name, which is a host until mark_switch(); 0 after a failure. */
static uint32_t find_or_add(struct lldp_reader *reader, const char *name, const char *where)
{
	struct topology *topology = reader->topology;
	int64_t node = topology_find_node(topology, name);
	struct error err = {0};
	void *origins;

	if (node >= 0)
		return (uint32_t)node;
	origins = array_grow(reader->origins, topology->node_count, &reader->origin_capacity, sizeof *reader->origins);
	if (!origins) {
		json_no_memory(&reader->json);
		return 0;
	}
	reader->origins = origins;
	reader->origins[topology->node_count] = (struct origin){0};
	node = topology_add_node(topology, TOPOLOGY_HOST, name, &err);
	if (node == -ENOMEM)
		json_no_memory(&reader->json);
	else if (node < 0)
		json_fail(&reader->json, where, "", "%s", err.text);
	return node < 0 ? 0 : (uint32_t)node;
}

static void mark_switch(struct topology *topology, uint32_t node)
{
	topology->host_count -= topology->nodes[node].kind == TOPOLOGY_HOST;
	topology->nodes[node].kind = TOPOLOGY_SWITCH;
}

/* lldpctl prints a list of one element as this element. */
static const json_t *element(const json_t *list, size_t i)
{
	if (json_is_array(list))
		return json_array_get(list, i);
	return i == 0 ? list : NULL;
}

/* True if the device says that it forwards frames or packets. */
static bool is_forwarding(const json_t *chassis)
{
	const json_t *list = json_object_get(chassis, "capability"), *capability;
	bool forwards = false;

	for (size_t i = 0; (capability = element(list, i)) != NULL; i++) {
		const char *type = json_string_value(json_object_get(capability, "type"));

		forwards |= type && json_is_true(json_object_get(capability, "enabled")) &&
			    (strcmp(type, "Bridge") == 0 || strcmp(type, "Router") == 0);
	}
	return forwards;
}

/* Adds the neighbour: {"chassis": {NAME: {...}}}, or {"chassis": {"id": ..., ...}} if it has no system name. */
static uint32_t read_neighbour(struct lldp_reader *reader, const json_t *object, const char *where)
{
	const json_t *chassis = json_need_object(&reader->json, object, where, "chassis"), *body = chassis, *id;
	const char *name = json_string_value(json_object_get(json_object_get(chassis, "id"), "value"));
	uint32_t node;

	if (chassis && !name) {
		void *first = json_object_iter((json_t *)chassis);

		name = first ? json_object_iter_key(first) : NULL;
		body = first ? json_object_iter_value(first) : NULL;
	}
	id = json_object_get(body, "id");
	if (chassis && !json_is_object(id))
		json_fail(&reader->json, where, "chassis", "expected the neighbour's name or its id");
	if (reader->json.failed)
		return 0;
	node = find_or_add(reader, name, where);
	if (reader->json.failed)
		return 0;
	reader->origins[node].listed = true;
	if (is_forwarding(body))
		mark_switch(reader->topology, node);
	return node;
}

/*
 * Returns the capacity of a medium such as "100BaseTXFD - ...", "2p5GigT" or "10GbaseT", in MB/s; `unknown` if the
 * text does not begin so.
 */
static double medium_MBps(const char *text, double unknown)
{
	unsigned int whole, tenths = 0;
	int used = 0;
	double mbit;
	bool is_gig;

	if (!text || text[0] < '0' || text[0] > '9' || sscanf(text, "%6u%n", &whole, &used) != 1)
		return unknown;
	text += used;
	if (text[0] == 'p' && text[1] >= '0' && text[1] <= '9') {
		tenths = (unsigned int)(text[1] - '0');
		text += 2;
	}
	mbit = whole + tenths / 10.0;
	is_gig = strncmp(text, "Gig", 3) == 0;
	if (text[0] == 'G') {
		mbit *= 1000;
		text++;
	}
	return mbit > 0 && (is_gig || strncasecmp(text, "base", 4) == 0) ? topology_payload_MBps(mbit) : unknown;
}

static void read_interface(struct lldp_reader *reader, uint32_t device, const char *name, const json_t *object)
{
	const json_t *port = json_object_get(object, "port");
	const json_t *medium = json_object_get(json_object_get(port, "auto-negotiation"), "current");
	struct listing *listings;
	char where[PLACE_BYTES];
	uint32_t neighbour;

	snprintf(where, sizeof where, "lldp.interface.%.64s", name);
	neighbour = read_neighbour(reader, object, where);
	if (!reader->json.failed && neighbour == device)
		json_fail(&reader->json, where, "chassis", "the device is its own neighbour");
	if (reader->json.failed)
		return;
	listings = array_grow(reader->listings, reader->count, &reader->capacity, sizeof *listings);
	if (!listings) {
		json_no_memory(&reader->json);
		return;
	}
	reader->listings = listings;
	listings[reader->count++] = (struct listing){.device = device,
						     .neighbour = neighbour,
						     .MBps = medium_MBps(json_string_value(medium), reader->MBps),
						     .line = reader->json.line};
}

/* The lines of the elements of lldp.interface. */
static struct json_lines interface_lines(const char *text)
{
	const char *value = strstr(text, "\"lldp\"");
	struct json_lines lines;

	value = value ? strchr(value, '{') : NULL;
	lines = json_lines_find(value ? value : "", "interface");
	for (const char *at = text; value && at < value; at++)
		lines.line += *at == '\n';
	return lines;
}

static void read_device(struct lldp_reader *reader, uint32_t device, const json_t *root, const char *text)
{
	const json_t *lldp = json_need_object(&reader->json, root, "", "lldp");
	const json_t *list = json_object_get(lldp, "interface"), *one;
	struct json_lines lines = interface_lines(text);

	if (lldp && !json_is_object(element(list, 0)))
		json_fail(&reader->json, "lldp", "interface", "expected at least one interface with a neighbour");
	for (size_t i = 0; !reader->json.failed && (one = element(list, i)) != NULL; i++) {
		const char *name;
		json_t *object;

		reader->json.line = json_lines_next(&lines);
		json_object_foreach ((json_t *)one, name, object)
			read_interface(reader, device, name, object);
	}
	reader->json.line = 0;
}

/* Reads DEVICE.json; the device is named by the file. */
static void read_file(struct lldp_reader *reader, const struct topology_lldp_file *file)
{
	const char *slash = strrchr(file->path, '/'), *base = slash ? slash + 1 : file->path;
	char name[TOPOLOGY_NAME_BYTES + 1];
	uint32_t device;
	json_t *root;

	snprintf(name, sizeof name, "%.*s", (int)(strlen(base) - strlen(".json")), base);
	reader->json.file = file->path;
	root = json_read_text(file->path, 0, file->text, file->bytes, reader->json.err);
	if (!root) {
		reader->json.failed = true;
		return;
	}
	device = find_or_add(reader, name, "the device's name");
	if (!reader->json.failed) {
		reader->origins[device].file = file;
		read_device(reader, device, root, file->text);
	}
	json_decref(root);
}

static uint32_t low_end(const struct listing *listing)
{
	return listing->device < listing->neighbour ? listing->device : listing->neighbour;
}

static uint32_t high_end(const struct listing *listing)
{
	return listing->device < listing->neighbour ? listing->neighbour : listing->device;
}

static int by_ends(const void *a, const void *b)
{
	const struct listing *one = a, *two = b;

	if (low_end(one) != low_end(two))
		return low_end(one) < low_end(two) ? -1 : 1;
	if (high_end(one) != high_end(two))
		return high_end(one) < high_end(two) ? -1 : 1;
	return one->line < two->line ? -1 : one->line > two->line;
}

/*
 * Adds the link between two devices from all its listings. Each device with a file lists each cable once; the device
 * that lists more cables is believed, and of two equal lists the slower.
 */
static void add_link(struct lldp_reader *reader, const struct listing *listings, size_t count)
{
	const struct topology *topology = reader->topology;
	uint32_t ends[2] = {low_end(listings), high_end(listings)}, cables[2] = {0};
	double sums[2] = {0}, MBps;
	struct error err = {0};
	int64_t link;

	for (size_t i = 0; i < count; i++) {
		cables[listings[i].device == ends[1]]++;
		sums[listings[i].device == ends[1]] += listings[i].MBps;
	}
	reader->json.file = reader->origins[listings[0].device].file->path;
	reader->json.line = listings[0].line;
	for (int e = 0; e < 2; e++)
		if (cables[e] == 0 && reader->origins[ends[e]].file)
			json_fail(&reader->json, "lldp", "interface",
				  "neighbour '%s' has a file, which does not list '%s'; expected files that are named "
				  "by the devices' system names",
				  topology->nodes[ends[e]].name, topology->nodes[ends[!e]].name);
	if (reader->json.failed)
		return;
	MBps = cables[0] == cables[1] ? fmin(sums[0], sums[1]) : sums[cables[1] > cables[0]];
	link = topology_add_link(reader->topology, ends[0], ends[1], MBps, MBps, &err);
	if (link == -ENOMEM)
		json_no_memory(&reader->json);
	else if (link < 0)
		json_fail(&reader->json, "lldp", "interface", "%s", err.text);
}

static void add_links(struct lldp_reader *reader)
{
	const struct topology_node *nodes = reader->topology->nodes;
	size_t first = 0;

	/* A device that no neighbour lists is a host, unless it has a host for a neighbour. */
	for (size_t i = 0; i < reader->count; i++) {
		const struct listing *listing = &reader->listings[i];

		if (nodes[listing->neighbour].kind == TOPOLOGY_HOST && !reader->origins[listing->device].listed)
			mark_switch(reader->topology, listing->device);
	}
	if (reader->count > 0)
		qsort(reader->listings, reader->count, sizeof *reader->listings, by_ends);
	for (size_t i = 1; i <= reader->count && !reader->json.failed; i++)
		if (i == reader->count || low_end(&reader->listings[i]) != low_end(&reader->listings[first]) ||
		    high_end(&reader->listings[i]) != high_end(&reader->listings[first])) {
			add_link(reader, &reader->listings[first], i - first);
			first = i;
		}
}

struct topology *topology_parse_lldp(const struct topology_lldp_file *files, size_t count, const char *folder,
				     double MBps, struct error *err)
{
	struct error scratch = {0};
	struct lldp_reader reader = {
		.json = {.file = folder, .err = err ? err : &scratch}, .MBps = MBps, .topology = topology_create()};

	if (!reader.topology)
		json_no_memory(&reader.json);
	for (size_t i = 0; i < count && !reader.json.failed; i++)
		read_file(&reader, &files[i]);
	if (!reader.json.failed)
		add_links(&reader);
	reader.json.file = folder;
	reader.json.line = 0;
	if (!reader.json.failed && reader.topology->host_count == 0)
		json_fail(&reader.json, "", "",
			  count ? "all devices are bridges or routers; expected a host: run 'lldpcli configure system "
				  "capabilities enabled station' on hosts that forward packets"
				: "expected files DEVICE.json with the output of 'lldpctl -f json'");
	free(reader.origins);
	free(reader.listings);
	if (!reader.json.failed)
		return reader.topology;
	topology_destroy(reader.topology);
	return NULL;
}

static int is_json(const struct dirent *entry)
{
	size_t bytes = strlen(entry->d_name);

	return bytes > strlen(".json") && strcmp(entry->d_name + bytes - strlen(".json"), ".json") == 0;
}

static int load(struct topology_lldp_file *file, const char *folder, const char *name, struct error *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	file->path = strdup(path);
	if (!file->path)
		return error_set(err, ENOMEM, "out of memory");
	file->text = file_read_all(path, FILE_BYTES_MAXIMUM, &file->bytes, err);
	return file->text ? 0 : error_code(err, EIO);
}

struct topology *topology_read_lldp(const char *folder, double MBps, struct error *err)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, is_json, alphasort), code = 0;
	struct topology_lldp_file *files;
	struct topology *topology = NULL;

	if (count < 0) {
		error_set(err, errno, "%s: %s", folder, strerror(errno));
		return NULL;
	}
	files = calloc((size_t)count + 1, sizeof *files);
	if (!files)
		code = error_set(err, ENOMEM, "out of memory");
	for (int f = 0; f < count; f++) {
		if (code == 0)
			code = load(&files[f], folder, entries[f]->d_name, err);
		free(entries[f]);
	}
	free(entries);
	if (code == 0)
		topology = topology_parse_lldp(files, (size_t)count, folder, MBps, err);
	for (int f = 0; files && f < count; f++) {
		free((char *)files[f].path);
		free((char *)files[f].text);
	}
	free(files);
	return topology;
}
