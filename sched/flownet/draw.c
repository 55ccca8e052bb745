/* SPDX-License-Identifier: BSD-3-Clause */
/* The network as text for users and other programs: DIMACS, Graphviz, JSON. */
#include <sched/flownet/network.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <base/name.h>

static const char *kind_name(enum flownet_node_kind kind)
{
	static const char *const names[] = {"task", "unscheduled", "cluster", "rack", "machine", "sink"};

	return names[kind];
}

/* Formatted text that the caller frees; NULL if out of memory. */
__attribute__((format(printf, 1, 2))) static char *text_of(const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	return length < 0 ? NULL : text;
}

static char *job_name(const struct flownet_names *names, uint32_t job)
{
	return names && names->job ? strdup(names->job(names->context, job)) : text_of("J%" PRIu32, job);
}

static char *task_name(const struct flownet_names *names, uint32_t job, uint32_t task)
{
	return names && names->task ? strdup(names->task(names->context, job, task)) : text_of("T%" PRIu32, task);
}

static char *name_of_task(const struct flownet_names *names, const struct flownet_node *node)
{
	char *job = job_name(names, node->number), *task = task_name(names, node->number, node->task);
	char *name = job && task ? text_of("%s.%s", job, task) : NULL;

	free(job);
	free(task);
	return name;
}

static char *name_of_unscheduled(const struct flownet_names *names, const struct flownet_node *node)
{
	char *job = job_name(names, node->number), *name = job ? text_of("U(%s)", job) : NULL;

	free(job);
	return name;
}

/*
 * Returns the name of a node, such as "web.client1", "U(web)", "X", "R(r1)", "h1", "S". X and S are the paper's
 * letters, as these nodes have no names. The caller frees the name; NULL if out of memory.
 */
static char *node_name(const struct flownet_network *network, const struct flownet *net,
		       const struct flownet_names *names, int32_t node)
{
	const struct flownet_node *entry = &network->nodes[node];
	const struct cluster *cluster = flownet_cluster(net);

	switch (entry->kind) {
	case FLOWNET_NODE_TASK:
		return name_of_task(names, entry);
	case FLOWNET_NODE_UNSCHEDULED:
		return name_of_unscheduled(names, entry);
	case FLOWNET_NODE_CLUSTER:
		return strdup("X");
	case FLOWNET_NODE_RACK:
		return text_of("R(%s)", cluster->racks[entry->number].name);
	case FLOWNET_NODE_MACHINE:
		return strdup(cluster->machines[entry->number].name);
	case FLOWNET_NODE_SINK:
		break;
	}
	return strdup("S");
}

static int stream_state(FILE *out)
{
	return ferror(out) ? -EIO : 0;
}

int flownet_network_write_dimacs(const struct flownet_network *network, const struct flownet *net,
				 const struct flownet_names *names, FILE *out)
{
	const struct mcf_problem *problem = &network->problem;

	fprintf(out, "c NoMora's network of one round: task, unscheduled, cluster, rack, machine, sink\n");
	if (network->overflow_cost > 0)
		fprintf(out,
			"c each task with an arc to 'unscheduled' also has one of cost %" PRId64
			" to the sink, used only if there is no other path\n",
			network->overflow_cost);
	for (int32_t v = 0; v < problem->node_count; v++) {
		char *name = node_name(network, net, names, v);

		if (!name)
			return -ENOMEM;
		fprintf(out, "c node %" PRId32 " %s %s\n", v + 1, kind_name(network->nodes[v].kind), name);
		free(name);
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

	fprintf(out, "digraph flownet {\n\trankdir=LR;\n\tnode [fontname=\"sans-serif\",fontsize=11];\n"
		     "\tedge [fontname=\"sans-serif\",fontsize=9,color=\"#888888\"];\n");
	for (int32_t v = 0; v < problem->node_count; v++) {
		char *name = node_name(network, net, names, v);

		if (!name)
			return -ENOMEM;
		fprintf(out, "\tn%" PRId32 " [label=", v);
		name_print_quoted(out, name);
		free(name);
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

static json_t *node_json(const struct flownet_network *network, const struct flownet *net,
			 const struct flownet_names *names, int32_t node)
{
	char *name = node_name(network, net, names, node);
	json_t *object = name ? json_pack("{s:i,s:s,s:s,s:I}", "id", node, "kind", kind_name(network->nodes[node].kind),
					  "name", name, "supply", (json_int_t)network->supply[node])
			      : NULL;

	free(name);
	return object;
}

static json_t *arc_json(const struct flownet_network *network, const int32_t *flow, int32_t arc)
{
	json_t *object = json_pack("{s:i,s:i,s:i,s:I}", "from", network->tail[arc], "to", network->head[arc],
				   "capacity", network->capacity[arc], "cost", (json_int_t)network->cost[arc]);

	if (flow && json_object_set_new(object, "flow", json_integer(flow[arc])) != 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}

/* Printed node by node and arc by arc: a single JSON value would take several times the network's own memory. */
int flownet_network_write_json(const struct flownet_network *network, const struct flownet *net,
			       const struct flownet_names *names, const int32_t *flow, FILE *out)
{
	const struct mcf_problem *problem = &network->problem;
	bool written = json_print_member(out, "{\n\"schema\": ", json_string("nomora.flownet/1")) &&
		       fputs(",\n\"nodes\": [", out) != EOF;

	for (int32_t v = 0; v < problem->node_count && written; v++)
		written = json_print_member(out, v == 0 ? "\n" : ",\n", node_json(network, net, names, v));
	written = written && fputs("\n],\n\"arcs\": [", out) != EOF;
	for (int32_t a = 0; a < problem->arc_count && written; a++)
		written = json_print_member(out, a == 0 ? "\n" : ",\n", arc_json(network, flow, a));
	if (written && fputs("\n]}\n", out) != EOF)
		return stream_state(out);
	return ferror(out) ? -EIO : -ENOMEM;
}
