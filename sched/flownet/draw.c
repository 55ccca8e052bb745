/* SPDX-License-Identifier: BSD-3-Clause */
/* The network for people and for other programs: DIMACS, Graphviz, JSON. */
#include <flownet/network.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

enum { NAME_BYTES = 320 };

static const char *kind_name(enum flownet_node_kind kind)
{
	static const char *const names[] = {"task", "unscheduled", "cluster", "rack", "machine", "sink"};

	return names[kind];
}

static void job_name(const struct flownet_names *names, uint32_t job, char *text, size_t bytes)
{
	if (names && names->job)
		snprintf(text, bytes, "%s", names->job(names->context, job));
	else
		snprintf(text, bytes, "J%u", job);
}

/* "web.client1", "U(web)", "X", "R(r1)", "h1", "S": the paper's letters where a node has no name of its own. */
static void node_name(const struct flownet_network *network, const struct flownet *net,
		      const struct flownet_names *names, int32_t node, char *text, size_t bytes)
{
	const struct flownet_node *entry = &network->nodes[node];
	const struct cluster *cluster = flownet_cluster(net);
	char job[NAME_BYTES / 2];

	switch (entry->kind) {
	case FLOWNET_NODE_TASK:
		job_name(names, entry->number, job, sizeof job);
		if (names && names->task)
			snprintf(text, bytes, "%s.%s", job, names->task(names->context, entry->number, entry->task));
		else
			snprintf(text, bytes, "%s.T%u", job, entry->task);
		break;
	case FLOWNET_NODE_UNSCHEDULED:
		job_name(names, entry->number, job, sizeof job);
		snprintf(text, bytes, "U(%s)", job);
		break;
	case FLOWNET_NODE_CLUSTER:
		snprintf(text, bytes, "X");
		break;
	case FLOWNET_NODE_RACK:
		snprintf(text, bytes, "R(%s)", cluster->racks[entry->number].name);
		break;
	case FLOWNET_NODE_MACHINE:
		snprintf(text, bytes, "%s", cluster->machines[entry->number].name);
		break;
	case FLOWNET_NODE_SINK:
		snprintf(text, bytes, "S");
		break;
	}
}

static int stream_state(FILE *out)
{
	return ferror(out) ? -EIO : 0;
}

int flownet_network_write_dimacs(const struct flownet_network *network, const struct flownet *net,
				 const struct flownet_names *names, FILE *out)
{
	const struct mcf_problem *problem = &network->problem;
	char name[NAME_BYTES];

	fprintf(out, "c NoMora's network of one round: task, unscheduled, cluster, rack, machine, sink\n");
	for (int32_t v = 0; v < problem->node_count; v++) {
		node_name(network, net, names, v, name, sizeof name);
		fprintf(out, "c node %" PRId32 " %s %s\n", v + 1, kind_name(network->nodes[v].kind), name);
	}
	fprintf(out, "p min %" PRId32 " %" PRId32 "\n", problem->node_count, problem->arc_count);
	for (int32_t v = 0; v < problem->node_count; v++) {
		if (problem->supply[v] != 0)
			fprintf(out, "n %" PRId32 " %" PRId64 "\n", v + 1, problem->supply[v]);
	}
	for (int32_t a = 0; a < problem->arc_count; a++)
		fprintf(out, "a %" PRId32 " %" PRId32 " 0 %" PRId32 " %" PRId64 "\n", problem->tail[a] + 1,
			problem->head[a] + 1, problem->capacity[a], problem->cost[a]);
	return stream_state(out);
}

static void write_quoted(const char *text, FILE *out)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static const char *node_style(enum flownet_node_kind kind)
{
	static const char *const styles[] = {
		"shape=ellipse,style=filled,fillcolor=\"#cfe2f3\"",
		"shape=ellipse,style=dashed",
		"shape=diamond,style=filled,fillcolor=\"#fff2cc\"",
		"shape=box,style=\"rounded,filled\",fillcolor=\"#fce5cd\"",
		"shape=box,style=filled,fillcolor=\"#d9ead3\"",
		"shape=doublecircle",
	};

	return styles[kind];
}

int flownet_network_write_dot(const struct flownet_network *network, const struct flownet *net,
			      const struct flownet_names *names, const int32_t *flow, FILE *out)
{
	const struct mcf_problem *problem = &network->problem;
	char name[NAME_BYTES];

	fprintf(out, "digraph flownet {\n\trankdir=LR;\n\tnode [fontname=\"sans-serif\",fontsize=11];\n"
		     "\tedge [fontname=\"sans-serif\",fontsize=9,color=\"#888888\"];\n");
	for (int32_t v = 0; v < problem->node_count; v++) {
		node_name(network, net, names, v, name, sizeof name);
		fprintf(out, "\tn%" PRId32 " [label=", v);
		write_quoted(name, out);
		fprintf(out, ",%s];\n", node_style(network->nodes[v].kind));
	}
	for (int32_t a = 0; a < problem->arc_count; a++) {
		bool used = flow && flow[a] > 0;

		if (problem->capacity[a] == 0)
			continue;
		fprintf(out, "\tn%" PRId32 " -> n%" PRId32 " [label=\"", problem->tail[a], problem->head[a]);
		if (flow)
			fprintf(out, "%" PRId32 "/", flow[a]);
		fprintf(out, "%" PRId32 " @%" PRId64 "\"%s];\n", problem->capacity[a], problem->cost[a],
			used ? ",penwidth=2.5,color=\"#1155cc\"" : "");
	}
	fprintf(out, "}\n");
	return stream_state(out);
}

int flownet_network_write_json(const struct flownet_network *network, const struct flownet *net,
			       const struct flownet_names *names, const int32_t *flow, FILE *out)
{
	const struct mcf_problem *problem = &network->problem;
	json_t *root = json_object(), *nodes = json_array(), *arcs = json_array();
	char name[NAME_BYTES];
	int code;

	json_object_set_new(root, "schema", json_string("nomora.flownet/1"));
	for (int32_t v = 0; v < problem->node_count; v++) {
		node_name(network, net, names, v, name, sizeof name);
		json_array_append_new(nodes,
				      json_pack("{s:i,s:s,s:s,s:I}", "id", v, "kind", kind_name(network->nodes[v].kind),
						"name", name, "supply", (json_int_t)problem->supply[v]));
	}
	for (int32_t a = 0; a < problem->arc_count; a++) {
		json_t *arc = json_pack("{s:i,s:i,s:i,s:I}", "from", problem->tail[a], "to", problem->head[a],
					"capacity", problem->capacity[a], "cost", (json_int_t)problem->cost[a]);

		if (flow)
			json_object_set_new(arc, "flow", json_integer(flow[a]));
		json_array_append_new(arcs, arc);
	}
	json_object_set_new(root, "nodes", nodes);
	json_object_set_new(root, "arcs", arcs);
	code = json_dumpf(root, out, JSON_INDENT(1)) == 0 ? stream_state(out) : -EIO;
	fputc('\n', out);
	json_decref(root);
	return code;
}
