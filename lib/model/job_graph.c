/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/job_graph.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

struct edge {
	uint32_t a, b;
	double weight, MB, back_MB; /* MB from a to b, and from b to a */
};

struct edges {
	struct edge *items;
	size_t count, capacity;
	struct json_reader *reader;
};

static const double weight_maximum = 1e9, MB_maximum = 1e12;
#define EDGE "[task, task], [task, task, weight] or [task, task, weight, MB, MB back]"
static const char expected[] =
	"expected \"star\", \"ring\", \"tree\", \"all-to-all\", \"grid:XxY\", \"grid:XxYxZ\", \"servers:N\" or a list "
	"of edges " EDGE;

static void add_flows(struct edges *edges, uint32_t a, uint32_t b, double weight, double MB, double back_MB)
{
	struct edge *items;

	if (edges->reader->failed)
		return;
	if (edges->count == JOB_GRAPH_EDGES_MAXIMUM) {
		json_fail(edges->reader, "", "graph", "more than %d edges", JOB_GRAPH_EDGES_MAXIMUM);
		return;
	}
	items = array_grow(edges->items, edges->count, &edges->capacity, sizeof *items);
	if (!items) {
		json_no_memory(edges->reader);
		return;
	}
	edges->items = items;
	items[edges->count++] =
		a < b ? (struct edge){a, b, weight, MB, back_MB} : (struct edge){b, a, weight, back_MB, MB};
}

static void add(struct edges *edges, uint32_t a, uint32_t b, double weight)
{
	add_flows(edges, a, b, weight, 0, 0);
}

static void add_grid(struct edges *edges, const unsigned size[3])
{
	unsigned step[3] = {size[1] * size[2], size[2], 1};

	for (unsigned x = 0; x < size[0]; x++)
		for (unsigned y = 0; y < size[1]; y++)
			for (unsigned z = 0; z < size[2]; z++) {
				unsigned at[3] = {x, y, z}, task = x * step[0] + y * step[1] + z;

				for (int d = 0; d < 3; d++)
					if (at[d] + 1 < size[d])
						add(edges, task, task + step[d], 1);
			}
}

/* Reads "grid:8x16" or "grid:4x4x8", whose tasks are numbered with the last dimension fastest, as MPI does. */
static void read_grid(struct edges *edges, const char *text, uint32_t tasks)
{
	unsigned size[3] = {0, 0, 1};
	int end = 0, given = sscanf(text, "grid:%6ux%6u%n", &size[0], &size[1], &end);
	uint64_t product;

	if (given == 2 && text[end] == 'x') {
		int more = 0;

		given += sscanf(text + end, "x%6u%n", &size[2], &more);
		end += more;
	}
	product = (uint64_t)size[0] * size[1] * size[2];
	if (given < 2 || text[end] != '\0' || strpbrk(text, "-+ \t\n"))
		json_fail(edges->reader, "", "graph", "found '%.40s'; %s", text, expected);
	else if (product != tasks)
		json_fail(edges->reader, "", "graph", "%.40s has %llu tasks, the job has %u", text,
			  (unsigned long long)product, tasks);
	else
		add_grid(edges, size);
}

/* Each of the first tasks, which serve, talks to all tasks that do not. */
static void read_servers(struct edges *edges, const char *text, uint32_t tasks)
{
	unsigned servers = 0;
	int end = 0;

	if (sscanf(text, "servers:%7u%n", &servers, &end) != 1 || text[end] != '\0' || strpbrk(text, "-+ \t\n") ||
	    servers < 1 || servers >= tasks) {
		json_fail(edges->reader, "", "graph",
			  "found '%.40s'; expected at least one server, and fewer than the job's %u tasks", text,
			  tasks);
		return;
	}
	for (uint32_t s = 0; s < servers; s++)
		for (uint32_t t = servers; t < tasks && !edges->reader->failed; t++)
			add(edges, s, t, 1);
}

static void read_name(struct edges *edges, const char *text, uint32_t tasks)
{
	if (strcmp(text, "ring") == 0) {
		for (uint32_t t = 0; t + 1 < tasks; t++)
			add(edges, t, t + 1, 1);
		if (tasks > 2)
			add(edges, tasks - 1, 0, 1);
	} else if (strcmp(text, "tree") == 0) {
		for (uint32_t t = 1; t < tasks; t++)
			add(edges, (t - 1) / 2, t, 1);
	} else if (strcmp(text, "all-to-all") == 0) {
		for (uint32_t t = 0; t < tasks && !edges->reader->failed; t++)
			for (uint32_t u = t + 1; u < tasks && !edges->reader->failed; u++)
				add(edges, t, u, 1);
	} else if (strncmp(text, "grid:", 5) == 0) {
		read_grid(edges, text, tasks);
	} else if (strncmp(text, "servers:", 8) == 0) {
		read_servers(edges, text, tasks);
	} else {
		json_fail(edges->reader, "", "graph", "found '%.40s'; %s", text, expected);
	}
}

static uint32_t read_task(struct edges *edges, const json_t *value, const json_t *names, const char *where,
			  uint32_t tasks)
{
	const json_t *number = json_is_string(value) ? json_object_get(names, json_string_value(value)) : value;

	if (json_is_integer(number) && json_integer_value(number) >= 0 && json_integer_value(number) < tasks)
		return (uint32_t)json_integer_value(number);
	json_fail(edges->reader, where, NULL, "expected a name of one of the job's tasks, or its number from 0 to %u",
		  tasks - 1);
	return 0;
}

static void read_edge(struct edges *edges, const json_t *value, const json_t *names, size_t number, uint32_t tasks)
{
	const json_t *weight = json_array_get(value, 2);
	double MB[2] = {0, 0};
	char where[40];
	uint32_t a, b;

	snprintf(where, sizeof where, "graph[%zu]", number);
	if (!json_is_array(value) || json_array_size(value) < 2 || json_array_size(value) > 5) {
		json_fail(edges->reader, where, NULL, "expected " EDGE);
		return;
	}
	a = read_task(edges, json_array_get(value, 0), names, where, tasks);
	b = read_task(edges, json_array_get(value, 1), names, where, tasks);
	if (edges->reader->failed)
		return;
	for (size_t i = 3; i < json_array_size(value); i++) {
		const json_t *volume = json_array_get(value, i);

		MB[i - 3] = json_number_value(volume);
		if (!json_is_number(volume) || !(MB[i - 3] >= 0 && MB[i - 3] <= MB_maximum)) {
			json_fail(edges->reader, where, NULL, "expected MB from 0 to %g", MB_maximum);
			return;
		}
	}
	if (a == b)
		json_fail(edges->reader, where, NULL, "expected two different tasks");
	else if (weight && !(json_number_value(weight) > 0 && json_number_value(weight) <= weight_maximum))
		json_fail(edges->reader, where, NULL, "expected a weight above 0, at most %g", weight_maximum);
	else
		add_flows(edges, a, b, weight ? json_number_value(weight) : 1, MB[0], MB[1]);
}

static int by_tasks(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;

	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return a->b == b->b ? 0 : a->b < b->b ? -1 : 1;
}

/* Sorts the edges, and adds up the weights and MB of those between the same two tasks. */
static void merge(struct edges *edges)
{
	size_t left = 0, sorted = 1;

	while (sorted < edges->count && by_tasks(&edges->items[sorted - 1], &edges->items[sorted]) <= 0)
		sorted++;
	if (sorted < edges->count) /* else, half of the time to read all-to-all of 1,000 */
		qsort(edges->items, edges->count, sizeof *edges->items, by_tasks);
	for (size_t e = 0; e < edges->count; e++) {
		const struct edge *edge = &edges->items[e];
		struct edge *last = left > 0 ? &edges->items[left - 1] : NULL;

		if (last && by_tasks(last, edge) == 0) {
			last->weight += edge->weight;
			last->MB += edge->MB;
			last->back_MB += edge->back_MB;
		} else {
			edges->items[left++] = *edge;
		}
	}
	edges->count = left;
}

static json_t *form_of(const struct edges *edges)
{
	json_t *form = json_array();

	for (size_t e = 0; e < edges->count; e++) {
		const struct edge *edge = &edges->items[e];
		json_t *item = json_pack("[I, I, f]", (json_int_t)edge->a, (json_int_t)edge->b, edge->weight);

		if (edge->MB + edge->back_MB > 0) {
			json_array_append_new(item, json_real(edge->MB));
			json_array_append_new(item, json_real(edge->back_MB));
		}
		json_array_append_new(form, item);
	}
	return form;
}

static struct job_graph *allocate(uint32_t tasks, size_t edges)
{
	struct job_graph *graph = calloc(1, sizeof *graph);

	if (!graph)
		return NULL;
	graph->task_count = tasks;
	graph->edge_count = edges;
	graph->first = calloc((size_t)tasks + 1, sizeof *graph->first);
	graph->neighbours = calloc(2 * edges + 1, sizeof *graph->neighbours);
	if (graph->first && graph->neighbours)
		return graph;
	job_graph_destroy(graph);
	return NULL;
}

static struct job_graph *build(const struct edges *edges, uint32_t tasks)
{
	struct job_graph *graph = allocate(tasks, edges->count);

	if (!graph)
		return NULL;
	for (size_t e = 0; e < edges->count; e++) {
		graph->first[edges->items[e].a]++;
		graph->first[edges->items[e].b]++;
	}
	for (uint32_t t = 0; t < tasks; t++)
		graph->first[t + 1] += graph->first[t];
	for (size_t e = edges->count; e-- > 0;) {
		const struct edge *edge = &edges->items[e];

		graph->neighbours[--graph->first[edge->a]] = (struct job_neighbour){edge->b, edge->weight, edge->MB};
		graph->neighbours[--graph->first[edge->b]] =
			(struct job_neighbour){edge->a, edge->weight, edge->back_MB};
	}
	return graph;
}

struct job_graph *job_graph_read(struct json_reader *reader, const json_t *value, const json_t *names, uint32_t tasks)
{
	struct edges edges = {.reader = reader};
	struct job_graph *graph = NULL;
	const char *name = json_string_value(value);

	if (reader->failed || !value || json_is_null(value) || (name && strcmp(name, "star") == 0))
		return NULL;
	if (name)
		read_name(&edges, name, tasks);
	else if (!json_is_array(value))
		json_fail(reader, "", "graph", "%s", expected);
	for (size_t e = 0; !name && e < json_array_size(value) && !reader->failed; e++)
		read_edge(&edges, json_array_get(value, e), names, e, tasks);
	if (!reader->failed && edges.count > 0) {
		merge(&edges);
		graph = build(&edges, tasks);
		if (graph)
			graph->form = name ? json_string(name) : form_of(&edges);
		if (!graph || !graph->form)
			json_no_memory(reader);
	}
	free(edges.items);
	if (!reader->failed)
		return graph;
	job_graph_destroy(graph);
	return NULL;
}

struct job_graph *job_graph_copy(const struct job_graph *graph)
{
	struct job_graph *copy = allocate(graph->task_count, graph->edge_count);

	if (!copy)
		return NULL;
	memcpy(copy->first, graph->first, ((size_t)graph->task_count + 1) * sizeof *copy->first);
	memcpy(copy->neighbours, graph->neighbours, 2 * graph->edge_count * sizeof *copy->neighbours);
	copy->form = json_incref(graph->form);
	return copy;
}

json_t *job_graph_edges(const struct job_graph *graph, const char *const *names)
{
	json_t *edges = json_array();

	for (uint32_t t = 0; t < graph->task_count; t++)
		for (size_t i = graph->first[t]; i < graph->first[t + 1]; i++) {
			const struct job_neighbour *other = &graph->neighbours[i];

			if (other->task > t &&
			    json_array_append_new(
				    edges, json_pack("[s, s, f]", names[t], names[other->task], other->weight)) != 0) {
				json_decref(edges);
				return NULL;
			}
		}
	return edges;
}

/* Returns the position of `number` in the ascending task[0..count), or count. */
static uint32_t position(const uint32_t *task, uint32_t count, uint32_t number)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (task[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && task[low] == number ? low : count;
}

struct job_graph *job_graph_pick(const struct job_graph *graph, const uint32_t *task, uint32_t count)
{
	struct edges edges = {.items = calloc(graph->edge_count + 1, sizeof *edges.items)};
	struct job_graph *picked = NULL;

	for (uint32_t a = 0; edges.items && a < count && task[a] < graph->task_count; a++)
		for (size_t i = graph->first[task[a]]; i < graph->first[task[a] + 1]; i++) {
			uint32_t b = position(task, count, graph->neighbours[i].task);

			if (b > a && b < count)
				edges.items[edges.count++] =
					(struct edge){.a = a, .b = b, .weight = graph->neighbours[i].weight};
		}
	if (edges.items)
		picked = build(&edges, count);
	free(edges.items);
	return picked;
}

void job_graph_destroy(struct job_graph *graph)
{
	if (!graph)
		return;
	json_decref(graph->form);
	free(graph->first);
	free(graph->neighbours);
	free(graph);
}
