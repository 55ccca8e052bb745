/* SPDX-License-Identifier: BSD-3-Clause */
/* A network from a GraphML file with the data keys of the Internet Topology Zoo. */
#include <model/topology.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <expat.h>

#include <base/array.h>
#include <base/name.h>
#include <base/number.h>

enum { VALUE_BYTES = 128, KEYS_MAXIMUM = 64 };

/* The data that is used. */
enum field { LABEL, NAME, INTERNAL, SPEED_RAW, SPEED, SPEED_UNITS, FIELDS, FIELD_NONE = FIELDS };

static const struct {
	const char *name, *domain;
} fields[FIELDS] = {
	[LABEL] = {"label", "node"},       [NAME] = {"name", "node"},
	[INTERNAL] = {"Internal", "node"}, [SPEED_RAW] = {"LinkSpeedRaw", "edge"},
	[SPEED] = {"LinkSpeed", "edge"},   [SPEED_UNITS] = {"LinkSpeedUnits", "edge"},
};

/* A declaration of a field. A file may declare a field several times, with different types. */
struct key {
	char *id, fallback[VALUE_BYTES];
	enum field field;
};

struct graph_node {
	char *id, label[TOPOLOGY_NAME_BYTES]; /* label: "" = has none that can be a name */
	bool external, label_repeats;
	long line;
	double MBps;     /* of its links */
	uint32_t number; /* of its switch */
};

struct graph_edge {
	char *source, *target; /* ids */
	double MBps;
	long line;
};

struct graphml_reader {
	XML_Parser parser;
	const char *file;
	struct error *err;
	double MBps; /* of edges of unknown speed */
	bool failed;
	int graphs;
	const char *domain;                      /* of the element that is being read: "node", "edge" or "" */
	long line;                               /* of the last element that began */
	char values[FIELDS][VALUE_BYTES], *text; /* text: value that is being read, or NULL */
	long value_lines[FIELDS];                /* of the data, or of the node or edge that has no such data */
	struct key keys[KEYS_MAXIMUM];
	struct graph_node *nodes;
	struct graph_edge *edges;
	size_t key_count, node_count, node_capacity, edge_count, edge_capacity;
	struct hash_table ids, labels; /* nodes by their id, and the first node with each label */
};

#define FAIL(reader, at, field, ...)                                                                                   \
	do {                                                                                                           \
		if (!(reader)->failed)                                                                                 \
			error_at((reader)->err, (struct error_place){(reader)->file, at, field}, EINVAL, __VA_ARGS__); \
		(reader)->failed = true;                                                                               \
	} while (0)

static void no_memory(struct graphml_reader *reader)
{
	if (!reader->failed)
		error_set(reader->err, ENOMEM, "out of memory");
	reader->failed = true;
}

static const char *attribute(const char **attributes, const char *name)
{
	for (; attributes[0]; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return attributes[1];
	return NULL;
}

/* Returns a copy of an attribute that must not be empty, or NULL after a failure. */
static char *need_attribute(struct graphml_reader *reader, const char **attributes, const char *name, const char *field)
{
	const char *value = attribute(attributes, name);
	char *copy = value && value[0] ? strdup(value) : NULL;

	if (!value || !value[0])
		FAIL(reader, reader->line, field, "missing, expected an id");
	else if (!copy)
		no_memory(reader);
	return copy;
}

static int64_t find_node(const struct graphml_reader *reader, const char *id)
{
	HASH_TABLE_EACH (&reader->ids, hash_text(id), at) {
		uint32_t node = hash_table_value(&reader->ids, at);

		if (strcmp(reader->nodes[node].id, id) == 0)
			return node;
	}
	return -ENOENT;
}

static void begin_key(struct graphml_reader *reader, const char **attributes)
{
	const char *name = attribute(attributes, "attr.name"), *domain = attribute(attributes, "for");
	enum field field = 0;
	struct key *key;

	while (field < FIELDS &&
	       !(name && strcmp(name, fields[field].name) == 0 &&
		 (!domain || strcmp(domain, "all") == 0 || strcmp(domain, fields[field].domain) == 0)))
		field++;
	if (field == FIELDS)
		return;
	if (reader->key_count == KEYS_MAXIMUM) {
		FAIL(reader, reader->line, "key", "more than %d declarations of the fields that are used",
		     KEYS_MAXIMUM);
		return;
	}
	key = &reader->keys[reader->key_count];
	key->field = field;
	key->id = need_attribute(reader, attributes, "id", "key.id");
	if (key->id)
		reader->key_count++;
}

static void begin_graph(struct graphml_reader *reader, const char **attributes)
{
	const char *direction = attribute(attributes, "edgedefault");

	if (reader->graphs++ > 0)
		FAIL(reader, reader->line, "graph", "expected one graph in the file");
	else if (!direction || strcmp(direction, "undirected") != 0)
		FAIL(reader, reader->line, "graph.edgedefault",
		     "'%.40s': expected \"undirected\"; a link has a capacity in both directions",
		     direction ? direction : "");
}

/* Begins to read the data of a node or an edge. */
static void begin_data(struct graphml_reader *reader, const char *domain)
{
	reader->domain = domain;
	for (int f = 0; f < FIELDS; f++) {
		reader->values[f][0] = '\0';
		reader->value_lines[f] = reader->line;
	}
	for (size_t k = 0; k < reader->key_count; k++)
		if (reader->keys[k].fallback[0])
			memcpy(reader->values[reader->keys[k].field], reader->keys[k].fallback, VALUE_BYTES);
}

static void begin_node(struct graphml_reader *reader, const char **attributes)
{
	struct graph_node *nodes = array_grow(reader->nodes, reader->node_count, &reader->node_capacity, sizeof *nodes);
	char *id;

	if (!nodes) {
		no_memory(reader);
		return;
	}
	reader->nodes = nodes;
	id = need_attribute(reader, attributes, "id", "node.id");
	if (id && find_node(reader, id) >= 0)
		FAIL(reader, reader->line, "node.id", "duplicate id '%.60s'", id);
	else if (id && hash_table_insert(&reader->ids, hash_text(id), (uint32_t)reader->node_count) < 0)
		no_memory(reader);
	if (reader->failed) {
		free(id);
		return;
	}
	nodes[reader->node_count++] = (struct graph_node){.id = id, .line = reader->line};
	begin_data(reader, "node");
}

static void begin_edge(struct graphml_reader *reader, const char **attributes)
{
	struct graph_edge *edges = array_grow(reader->edges, reader->edge_count, &reader->edge_capacity, sizeof *edges);
	const char *directed = attribute(attributes, "directed");

	if (!edges) {
		no_memory(reader);
		return;
	}
	reader->edges = edges;
	edges[reader->edge_count] = (struct graph_edge){.line = reader->line};
	edges[reader->edge_count].source = need_attribute(reader, attributes, "source", "edge.source");
	edges[reader->edge_count++].target = need_attribute(reader, attributes, "target", "edge.target");
	if (directed && (strcmp(directed, "true") == 0 || strcmp(directed, "1") == 0))
		FAIL(reader, reader->line, "edge.directed",
		     "expected \"false\"; a link has a capacity in both directions");
	begin_data(reader, "edge");
}

static void begin_value(struct graphml_reader *reader, const char **attributes)
{
	const char *id = attribute(attributes, "key");

	for (size_t k = 0; id && k < reader->key_count; k++)
		if (strcmp(reader->keys[k].id, id) == 0 &&
		    strcmp(fields[reader->keys[k].field].domain, reader->domain) == 0) {
			reader->value_lines[reader->keys[k].field] = reader->line;
			reader->text = reader->values[reader->keys[k].field];
			reader->text[0] = '\0';
		}
}

/* The name of an element without its namespace. */
static const char *local_name(const char *name)
{
	const char *mark = strrchr(name, '|');

	return mark ? mark + 1 : name;
}

static void XMLCALL begin_element(void *data, const char *full_name, const char **attributes)
{
	struct graphml_reader *reader = data;
	const char *name = local_name(full_name);

	if (reader->failed)
		return;
	reader->line = (long)XML_GetCurrentLineNumber(reader->parser);
	if (strcmp(name, "key") == 0)
		begin_key(reader, attributes);
	else if (strcmp(name, "default") == 0 && reader->key_count > 0)
		reader->text = reader->keys[reader->key_count - 1].fallback;
	else if (strcmp(name, "graph") == 0)
		begin_graph(reader, attributes);
	else if (strcmp(name, "hyperedge") == 0)
		FAIL(reader, reader->line, "hyperedge", "expected edges, which have two ends");
	else if (strcmp(name, "node") == 0)
		begin_node(reader, attributes);
	else if (strcmp(name, "edge") == 0)
		begin_edge(reader, attributes);
	else if (strcmp(name, "data") == 0)
		begin_value(reader, attributes);
	if (reader->failed)
		XML_StopParser(reader->parser, XML_FALSE);
}

/* Makes one word of a label. A label that is too long, or no valid name for another reason, becomes "". */
static void set_label(struct graph_node *node, const char *text)
{
	static const size_t prefix_bytes = 2; /* of the host's name, "h-" */

	if (strlen(text) + prefix_bytes >= TOPOLOGY_NAME_BYTES)
		return;
	for (size_t i = 0; i <= strlen(text); i++)
		node->label[i] = (text[i] > '\0' && text[i] <= ' ') || text[i] == ',' || text[i] == '"' ? '_' : text[i];
	if (!name_is_valid(node->label, TOPOLOGY_NAME_BYTES))
		node->label[0] = '\0';
}

static void end_node(struct graphml_reader *reader)
{
	struct graph_node *node = &reader->nodes[reader->node_count - 1];
	const char *internal = reader->values[INTERNAL];

	node->external = strcmp(internal, "0") == 0 || strcmp(internal, "false") == 0;
	if (!node->external && internal[0] && strcmp(internal, "1") != 0 && strcmp(internal, "true") != 0)
		FAIL(reader, reader->value_lines[INTERNAL], "node.Internal", "'%.60s': expected 0 or 1", internal);
	set_label(node, reader->values[reader->values[LABEL][0] ? LABEL : NAME]);
	if (!node->label[0])
		return;
	HASH_TABLE_EACH (&reader->labels, hash_text(node->label), at) {
		struct graph_node *first = &reader->nodes[hash_table_value(&reader->labels, at)];

		if (strcmp(first->label, node->label) == 0) {
			first->label_repeats = node->label_repeats = true;
			return;
		}
	}
	if (hash_table_insert(&reader->labels, hash_text(node->label), (uint32_t)reader->node_count - 1) < 0)
		no_memory(reader);
}

/* Returns the bits per second of LinkSpeed and LinkSpeedUnits; 0 after a failure. */
static double speed_with_units(struct graphml_reader *reader)
{
	static const char units[] = "KMGT";
	const char *unit = reader->values[SPEED_UNITS], *known = unit[0] ? strchr(units, unit[0]) : NULL;
	double speed = 0;

	if (number_parse_double(reader->values[SPEED], &speed) < 0 || !(speed > 0))
		FAIL(reader, reader->value_lines[SPEED], "edge.LinkSpeed", "'%.60s': expected a number > 0",
		     reader->values[SPEED]);
	if (!known || unit[1])
		FAIL(reader, reader->value_lines[SPEED_UNITS], "edge.LinkSpeedUnits",
		     "'%.60s': expected K, M, G or T (bit/s)", unit);
	return reader->failed ? 0 : speed * pow(1000, (double)(known - units + 1));
}

static void end_edge(struct graphml_reader *reader)
{
	struct graph_edge *edge = &reader->edges[reader->edge_count - 1];
	const char *raw = reader->values[SPEED_RAW];
	double bits = 0;

	edge->MBps = reader->MBps;
	if (!raw[0] && !reader->values[SPEED][0])
		return;
	if (!raw[0])
		bits = speed_with_units(reader);
	else if (number_parse_double(raw, &bits) < 0 || !(bits > 0))
		FAIL(reader, reader->value_lines[SPEED_RAW], "edge.LinkSpeedRaw",
		     "'%.60s': expected a number > 0 (bit/s)", raw);
	edge->MBps = topology_payload_MBps(bits / 1e6);
	if (!reader->failed && !(edge->MBps > 0 && edge->MBps <= TOPOLOGY_MBPS_MAXIMUM))
		FAIL(reader, reader->value_lines[raw[0] ? SPEED_RAW : SPEED],
		     raw[0] ? "edge.LinkSpeedRaw" : "edge.LinkSpeed", "expected 0 to %g MB/s of payload",
		     TOPOLOGY_MBPS_MAXIMUM);
}

static void trim(char *text)
{
	static const char blanks[] = " \t\r\n";
	size_t before = strspn(text, blanks), bytes = strlen(text);

	while (bytes > before && strchr(blanks, text[bytes - 1]))
		bytes--;
	memmove(text, text + before, bytes - before);
	text[bytes - before] = '\0';
}

static void XMLCALL end_element(void *data, const char *full_name)
{
	struct graphml_reader *reader = data;
	const char *name = local_name(full_name);

	if (reader->failed)
		return;
	if (reader->text && (strcmp(name, "data") == 0 || strcmp(name, "default") == 0)) {
		trim(reader->text);
		reader->text = NULL;
	}
	if (strcmp(name, reader->domain) != 0)
		return;
	reader->domain = "";
	if (strcmp(name, "node") == 0)
		end_node(reader);
	else
		end_edge(reader);
	if (reader->failed)
		XML_StopParser(reader->parser, XML_FALSE);
}

/* Text that does not fit is cut; it is then too long to be a name, and is no number. */
static void XMLCALL add_text(void *data, const char *text, int bytes)
{
	struct graphml_reader *reader = data;
	size_t used = reader->text ? strlen(reader->text) : 0;

	if (reader->text)
		snprintf(reader->text + used, VALUE_BYTES - used, "%.*s", bytes, text);
}

/* The label of a node is its name if no other node has this label or this id. */
static const char *name_of(const struct graphml_reader *reader, const struct graph_node *node)
{
	int64_t other = node->label[0] && !node->label_repeats ? find_node(reader, node->label) : -ENOENT;

	if (!node->label[0] || node->label_repeats || (other >= 0 && &reader->nodes[other] != node))
		return node->id;
	return node->label;
}

static int64_t add_node(struct graphml_reader *reader, struct topology *topology, enum topology_kind kind,
			const struct graph_node *node)
{
	char name[TOPOLOGY_NAME_BYTES + 8];
	struct error err = {0};
	int64_t number;

	snprintf(name, sizeof name, "%s%s", kind == TOPOLOGY_HOST ? "h-" : "", name_of(reader, node));
	number = topology_add_node(topology, kind, name, &err);
	if (number == -ENOMEM)
		no_memory(reader);
	else if (number < 0)
		FAIL(reader, node->line, "node.id", "%s", err.text);
	return number;
}

/* Returns the node at an end of an edge, or NULL after a failure. */
static struct graph_node *end_of(struct graphml_reader *reader, const struct graph_edge *edge, const char *id,
				 const char *field)
{
	int64_t node = find_node(reader, id);

	if (node < 0)
		FAIL(reader, edge->line, field, "unknown node '%.60s'; expected the id of a node", id);
	return node < 0 ? NULL : &reader->nodes[node];
}

static bool is_between(const struct graph_node *source, const struct graph_node *target)
{
	return source != target && !source->external && !target->external;
}

/* Sums up the capacity at each node; a node with none gets no switch. */
static void count_edges(struct graphml_reader *reader)
{
	for (size_t e = 0; e < reader->edge_count && !reader->failed; e++) {
		const struct graph_edge *edge = &reader->edges[e];
		struct graph_node *source = end_of(reader, edge, edge->source, "edge.source");
		struct graph_node *target = end_of(reader, edge, edge->target, "edge.target");

		if (!reader->failed && is_between(source, target)) {
			source->MBps += edge->MBps;
			target->MBps += edge->MBps;
		}
	}
}

/* Adds an edge as a link or, if its ends have one already, to this link (a LAG). */
static void add_edge(struct graphml_reader *reader, struct topology *topology, const struct graph_edge *edge)
{
	const struct graph_node *source = &reader->nodes[find_node(reader, edge->source)];
	const struct graph_node *target = &reader->nodes[find_node(reader, edge->target)];
	double MBps;
	int64_t link;

	if (!is_between(source, target))
		return;
	link = topology_find_link(topology, source->number, target->number);
	if (link < 0) {
		if (topology_add_link(topology, source->number, target->number, edge->MBps, edge->MBps, NULL) < 0)
			no_memory(reader);
		return;
	}
	MBps = fmin(topology->links[link].MBps + edge->MBps, TOPOLOGY_MBPS_MAXIMUM);
	topology->links[link].MBps = topology->links[link].back_MBps = MBps;
}

static void build(struct graphml_reader *reader, struct topology *topology)
{
	size_t switches;

	count_edges(reader);
	for (size_t n = 0; n < reader->node_count && !reader->failed; n++)
		if (reader->nodes[n].MBps > 0)
			reader->nodes[n].number =
				(uint32_t)add_node(reader, topology, TOPOLOGY_SWITCH, &reader->nodes[n]);
	switches = topology->node_count;
	if (!reader->failed && switches == 0)
		FAIL(reader, 0, NULL, "expected at least two nodes that are not external and an edge between them");
	for (size_t e = 0; e < reader->edge_count && !reader->failed; e++)
		add_edge(reader, topology, &reader->edges[e]);
	for (size_t n = 0; n < reader->node_count && !reader->failed; n++) {
		const struct graph_node *node = &reader->nodes[n];
		double MBps = fmin(node->MBps, TOPOLOGY_MBPS_MAXIMUM);
		int64_t host = node->MBps > 0 ? add_node(reader, topology, TOPOLOGY_HOST, node) : -ENOENT;

		if (host >= 0 && topology_add_link(topology, (uint32_t)host, node->number, MBps, MBps, NULL) < 0)
			no_memory(reader);
	}
}

static void parse(struct graphml_reader *reader, const char *text, size_t bytes)
{
	static const size_t piece_bytes = 1 << 20; /* the parser's lengths are ints */
	enum XML_Status status = XML_STATUS_OK;
	enum XML_Error code;

	XML_SetUserData(reader->parser, reader);
	XML_SetElementHandler(reader->parser, begin_element, end_element);
	XML_SetCharacterDataHandler(reader->parser, add_text);
	for (size_t at = 0; at <= bytes && status == XML_STATUS_OK; at += piece_bytes) {
		size_t piece = bytes - at < piece_bytes ? bytes - at : piece_bytes;

		status = XML_Parse(reader->parser, text + at, (int)piece, bytes - at < piece_bytes);
	}
	code = XML_GetErrorCode(reader->parser);
	if (status != XML_STATUS_OK && code == XML_ERROR_NO_MEMORY)
		no_memory(reader);
	else if (status != XML_STATUS_OK)
		FAIL(reader, (long)XML_GetCurrentLineNumber(reader->parser), NULL, "expected GraphML; %s",
		     XML_ErrorString(code));
	else if (reader->graphs == 0)
		FAIL(reader, 0, NULL, "expected GraphML with an element 'graph'");
}

static void reader_free(struct graphml_reader *reader)
{
	for (size_t k = 0; k < reader->key_count; k++)
		free(reader->keys[k].id);
	for (size_t n = 0; n < reader->node_count; n++)
		free(reader->nodes[n].id);
	for (size_t e = 0; e < reader->edge_count; e++) {
		free(reader->edges[e].source);
		free(reader->edges[e].target);
	}
	free(reader->nodes);
	free(reader->edges);
	hash_table_free(&reader->ids);
	hash_table_free(&reader->labels);
	if (reader->parser)
		XML_ParserFree(reader->parser);
	free(reader);
}

struct topology *topology_parse_graphml(const char *name, const char *text, size_t bytes, double MBps,
					struct error *err)
{
	struct graphml_reader *reader = calloc(1, sizeof *reader);
	struct topology *topology = topology_create();
	bool failed = true;

	if (reader)
		reader->parser = XML_ParserCreateNS(NULL, '|');
	if (reader && reader->parser && topology) {
		reader->file = name;
		reader->err = err;
		reader->MBps = MBps;
		reader->domain = "";
		parse(reader, text, bytes);
		if (!reader->failed)
			build(reader, topology);
		failed = reader->failed;
	} else {
		error_set(err, ENOMEM, "out of memory");
	}
	if (reader)
		reader_free(reader);
	if (!failed)
		return topology;
	topology_destroy(topology);
	return NULL;
}
