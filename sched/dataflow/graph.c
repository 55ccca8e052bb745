/* SPDX-License-Identifier: BSD-3-Clause */
/* Expands components to tasks and follows each source's data through the flows. */
#include <sched/dataflow/graph.h>

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

enum { ROUNDS_MAXIMUM = 100000 };
/*
 * follow_source() ends when the tasks send on at most NEGLIGIBLE times the source's rate in a round. A cycle diverges
 * if they send on more than DIVERGED times the source's rate, or if ROUNDS_MAXIMUM rounds are not enough.
 */
#define NEGLIGIBLE 1e-12
#define DIVERGED 1e9

/* Entries of a sparse matrix: collected column by column (source by source), then sorted into rows. */
struct entries {
	struct entry {
		uint32_t row, source;
		double rate;
	} * items;
	size_t count, capacity;
};

static int entries_add(struct entries *entries, uint32_t row, uint32_t source, double rate)
{
	struct entry *items = array_grow(entries->items, entries->count, &entries->capacity, sizeof *items);

	if (!items)
		return -ENOMEM;
	entries->items = items;
	items[entries->count++] = (struct entry){.row = row, .source = source, .rate = rate};
	return 0;
}

/* Sorts the entries into rows (counting sort); the columns of a row stay in order. */
static int entries_to_rows(const struct entries *entries, uint32_t row_count, struct dataflow_by_source *rows)
{
	rows->first = calloc((size_t)row_count + 2, sizeof *rows->first);
	rows->source = malloc(entries->count * sizeof *rows->source + 1);
	rows->rate = malloc(entries->count * sizeof *rows->rate + 1);
	if (!rows->first || !rows->source || !rows->rate)
		return -ENOMEM;
	for (size_t i = 0; i < entries->count; i++)
		rows->first[entries->items[i].row + 2]++;
	for (uint32_t r = 0; r < row_count; r++)
		rows->first[r + 2] += rows->first[r + 1];
	for (size_t i = 0; i < entries->count; i++) {
		uint32_t at = rows->first[entries->items[i].row + 1]++;

		rows->source[at] = entries->items[i].source;
		rows->rate[at] = entries->items[i].rate;
	}
	return 0;
}

/*
 * Returns the share of a sender's data on an edge that one receiver gets. j: the sender's number, below `senders`; i:
 * the receiver's number, below `receivers`. DATAFLOW_FORWARD divides the interval from 0 to 1 equally among the senders
 * and also equally among the receivers; the share is the part of the sender's interval that overlaps the receiver's.
 */
static double share(const struct dataflow_edge *edge, uint64_t senders, uint64_t j, uint64_t receivers, uint64_t i,
		    double key_sum)
{
	uint64_t begin = j * receivers > i * senders ? j * receivers : i * senders,
		 end = (j + 1) * receivers < (i + 1) * senders ? (j + 1) * receivers : (i + 1) * senders;

	switch (edge->grouping) {
	case DATAFLOW_ALL:
		return 1;
	case DATAFLOW_KEY:
		return pow((double)(i + 1), -edge->skew) / key_sum;
	case DATAFLOW_FORWARD:
		return begin < end ? (double)(end - begin) / (double)receivers : 0;
	case DATAFLOW_GLOBAL:
		return i == 0;
	default:
		return 1.0 / (double)receivers;
	}
}

uint32_t dataflow_edge_flows(const struct dataflow_job *job, const struct dataflow_edge *edge, uint32_t sender,
			     struct dataflow_flow *flows, double *shares)
{
	const struct dataflow_component *from = &job->components[edge->from], *to = &job->components[edge->to];
	uint32_t count = 0;
	double key_sum = 0;

	for (uint32_t i = 0; i < to->task_count; i++)
		key_sum += pow(i + 1, -edge->skew);
	for (uint32_t i = 0; i < to->task_count; i++) {
		double part = share(edge, from->task_count, sender - from->first_task, to->task_count, i, key_sum);

		if (part <= 0)
			continue;
		flows[count] = (struct dataflow_flow){.from = sender, .to = to->first_task + i};
		shares[count++] = part;
	}
	return count;
}

static void add_flows(struct dataflow_graph *graph, const struct dataflow_job *job, const struct dataflow_edge *edge,
		      uint32_t sender, double *gains)
{
	uint32_t first = graph->flow_count;

	graph->flow_count += dataflow_edge_flows(job, edge, sender, graph->flows + first, gains + first);
	for (uint32_t f = first; f < graph->flow_count; f++)
		gains[f] *= edge->selectivity;
}

static int make_flows(struct dataflow_graph *graph, const struct dataflow_job *job, double **gains)
{
	size_t count = 0;
	uint32_t task = 0;

	for (uint32_t e = 0; e < job->edge_count; e++)
		count += (size_t)job->components[job->edges[e].from].task_count *
			 job->components[job->edges[e].to].task_count;
	if (count > UINT32_MAX / 2)
		return -E2BIG;
	graph->flows = malloc(count * sizeof *graph->flows + 1);
	graph->out = malloc(((size_t)job->task_count + 1) * sizeof *graph->out);
	*gains = malloc(count * sizeof **gains + 1);
	if (!graph->flows || !graph->out || !*gains)
		return -ENOMEM;
	for (uint32_t c = 0; c < job->component_count; c++)
		for (uint32_t t = 0; t < job->components[c].task_count; t++, task++) {
			graph->out[task] = graph->flow_count;
			for (uint32_t e = 0; e < job->edge_count; e++)
				if (job->edges[e].from == c)
					add_flows(graph, job, &job->edges[e], task, *gains);
		}
	graph->out[task] = graph->flow_count;
	graph->task_count = task;
	return 0;
}

static int find_sources(struct dataflow_graph *graph, const struct dataflow_job *job)
{
	graph->sources = malloc(job->task_count * sizeof *graph->sources + 1);
	if (!graph->sources)
		return -ENOMEM;
	for (uint32_t c = 0; c < job->component_count; c++) {
		bool receives = false;

		for (uint32_t e = 0; e < job->edge_count; e++)
			receives = receives || job->edges[e].to == c;
		for (uint32_t t = 0; !receives && t < job->components[c].task_count; t++)
			graph->sources[graph->source_count++] = job->components[c].first_task + t;
	}
	return 0;
}

/*
 * The data of one source while it spreads from task to task: now[] arrives at the tasks in this round, next[] in the
 * following round; received[] and carried[] are the sums so far. carried[] is 0 before and after each source.
 */
struct spread {
	double *now, *next, *received, *carried; /* MB/s per MB/s of the source; carried[]: by flow; others: by task */
};

static double spread_round(const struct dataflow_graph *graph, const double *gains, struct spread *spread)
{
	double moving = 0, *now = spread->now;

	memset(spread->next, 0, graph->task_count * sizeof *spread->next);
	for (uint32_t t = 0; t < graph->task_count; t++) {
		if (now[t] == 0)
			continue;
		spread->received[t] += now[t];
		for (uint32_t f = graph->out[t]; f < graph->out[t + 1]; f++) {
			double sent = now[t] * gains[f];

			spread->carried[f] += sent;
			spread->next[graph->flows[f].to] += sent;
			moving += sent;
		}
	}
	spread->now = spread->next;
	spread->next = now;
	return moving;
}

static int follow_source(const struct dataflow_graph *graph, const double *gains, uint32_t source,
			 struct spread *spread, struct entries *carried, struct entries *received)
{
	double moving = 1;

	memset(spread->now, 0, graph->task_count * sizeof *spread->now);
	memset(spread->received, 0, graph->task_count * sizeof *spread->received);
	spread->now[graph->sources[source]] = 1;
	for (int round = 0; moving > NEGLIGIBLE; round++) {
		if (round == ROUNDS_MAXIMUM || moving > DIVERGED)
			return -EDOM;
		moving = spread_round(graph, gains, spread);
	}
	for (uint32_t t = 0; t < graph->task_count; t++) {
		if (spread->received[t] == 0)
			continue;
		if (entries_add(received, t, source, spread->received[t]) < 0)
			return -ENOMEM;
		for (uint32_t f = graph->out[t]; f < graph->out[t + 1]; f++) {
			if (spread->carried[f] > 0 && entries_add(carried, f, source, spread->carried[f]) < 0)
				return -ENOMEM;
			spread->carried[f] = 0; /* for the next source; a large job's other flows carry nothing */
		}
		if (graph->out[t] == graph->out[t + 1])
			graph->sink_share[source] += spread->received[t];
	}
	return 0;
}

static int follow_sources(struct dataflow_graph *graph, const double *gains)
{
	size_t tasks = graph->task_count;
	double *memory = calloc(3 * tasks + graph->flow_count + 1, sizeof *memory);
	struct spread spread = {
		.now = memory, .next = memory + tasks, .received = memory + 2 * tasks, .carried = memory + 3 * tasks};
	struct entries carried = {0}, received = {0};
	int code = memory ? 0 : -ENOMEM;

	graph->sink_share = calloc(graph->source_count + 1, sizeof *graph->sink_share);
	carried.items = array_reserve(NULL, graph->flow_count + 1u, &carried.capacity, sizeof *carried.items);
	if (!graph->sink_share || !carried.items)
		code = -ENOMEM;
	for (uint32_t s = 0; code == 0 && s < graph->source_count; s++)
		code = follow_source(graph, gains, s, &spread, &carried, &received);
	if (code == 0)
		code = entries_to_rows(&carried, graph->flow_count, &graph->carried);
	if (code == 0)
		code = entries_to_rows(&received, graph->task_count, &graph->received);
	free(carried.items);
	free(received.items);
	free(memory);
	return code;
}

struct dataflow_graph *dataflow_graph_create(const struct dataflow_job *job, struct error *err)
{
	struct dataflow_graph *graph = calloc(1, sizeof *graph);
	double *gains = NULL;
	int code = graph ? make_flows(graph, job, &gains) : -ENOMEM;

	if (code == 0)
		code = find_sources(graph, job);
	if (code == 0)
		code = follow_sources(graph, gains);
	free(gains);
	if (code == 0)
		return graph;
	if (code == -EDOM)
		error_set(err, EINVAL,
			  "job '%s': a cycle of edges passes on as much as it gets, or more; expected a gain under 1",
			  job->name);
	else if (code == -E2BIG)
		error_set(err, E2BIG, "job '%s': too many flows between tasks", job->name);
	else
		error_set(err, ENOMEM, "out of memory");
	dataflow_graph_destroy(graph);
	return NULL;
}

void dataflow_graph_destroy(struct dataflow_graph *graph)
{
	if (!graph)
		return;
	free(graph->sources);
	free(graph->flows);
	free(graph->out);
	free(graph->carried.first);
	free(graph->carried.source);
	free(graph->carried.rate);
	free(graph->received.first);
	free(graph->received.source);
	free(graph->received.rate);
	free(graph->sink_share);
	free(graph);
}
