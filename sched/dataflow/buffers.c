/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cut queue (buffers.h) sends like a source. So the rates of a job with cut queues are those of a job with more
 * sources, called drivers: the job's own sources, and one driver for each cut queue. The rate of a queue's driver is
 * counted in units: one unit is the rate of the queue's flow, in MB/s, when every source of the job sends 1 MB/s and no
 * queue is cut.
 */
#include "buffers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <sched/flows/max_min.h>

/*
 * Relative size of a rounding error. A queue counts as:
 * - constant, if its input and its output differ by at most this fraction of their sum
 * - empty, if its data is at most this fraction of its capacity
 * - full, if its free space is at most this fraction of its capacity
 */
#define ROUNDING 1e-9
/*
 * When the rates are computed, a draining queue counts as empty already if its data is at most this fraction of its
 * capacity, and a filling queue counts as full if its free space is at most this fraction. Otherwise queues that react
 * to one another would switch between filling and draining ever faster.
 */
#define BAND 1e-4
/* A queue that would be full or empty within this time counts as full or empty. */
#define INSTANT_S 1e-9

struct queues {
	const struct dataflow_job *job;
	const struct dataflow_graph *graph;
	double capacity_MB;
	/* By flow. */
	double *MB, *grows; /* data in the queue; its growth, MB/s */
	double *share;      /* MB that the sender adds to the queue for each MB that the sender receives */
	double *unit;       /* one unit of the rate of the queue's driver, MB/s */
	bool *cut;          /* the queue fills or drains (buffers.h) */
	bool *settled;      /* the queue became empty or full at this event; it cannot be cut before the next event */
	bool *held;         /* the queue is full and limits its sender: a resource downstream limits the flow */
	uint32_t *driver;   /* if the flow's queue is cut: number of the queue's driver */
	/* Flows into task t: into[first_into[t]] .. into[first_into[t + 1] - 1]. */
	uint32_t *first_into, *into;
	/* Drivers are numbered: the job's sources, then the cut queues in the order of their flows. */
	struct dataflow_graph drivers; /* the job's graph, in which the sources are the drivers */
	double *offered;               /* by driver */
	double *rate;                  /* by source of the job: rate, MB/s */
	struct entries {
		struct entry {
			uint32_t row, driver;
			double rate;
		} * items;
		size_t count, capacity;
	} carried, received, pushed; /* MB/s per unit of a driver. Rows of carried: flows; of received: tasks; of
					pushed: flows with cut queues */
	/* Work space of follow(), by task. */
	double *amount;
	bool *seen;
	uint32_t *order;
	uint32_t order_count;
	bool failed; /* out of memory */
};

/* ---- creation ---- */

/* Returns the rate of one source in a row, or 0 if the row does not contain the source. */
static double rate_in(const struct dataflow_by_source *rows, uint32_t row, uint32_t source)
{
	for (uint32_t i = rows->first[row]; i < rows->first[row + 1]; i++)
		if (rows->source[i] == source)
			return rows->rate[i];
	return 0;
}

static void measure_flows(struct queues *queues)
{
	const struct dataflow_graph *graph = queues->graph;

	for (uint32_t f = 0; f < graph->flow_count; f++) {
		const struct dataflow_by_source *carried = &graph->carried;
		uint32_t most = carried->first[f];

		for (uint32_t i = most; i < carried->first[f + 1]; i++) {
			queues->unit[f] += carried->rate[i];
			most = carried->rate[i] > carried->rate[most] ? i : most;
		}
		if (queues->unit[f] > 0) /* the share is the same for every source of the flow's data */
			queues->share[f] = carried->rate[most] /
					   rate_in(&graph->received, graph->flows[f].from, carried->source[most]);
	}
}

static void list_inputs(struct queues *queues)
{
	const struct dataflow_graph *graph = queues->graph;
	uint32_t *first = queues->first_into;

	for (uint32_t f = 0; f < graph->flow_count; f++)
		first[graph->flows[f].to + 2]++;
	for (uint32_t t = 0; t < graph->task_count; t++)
		first[t + 2] += first[t + 1];
	for (uint32_t f = 0; f < graph->flow_count; f++)
		queues->into[first[graph->flows[f].to + 1]++] = f;
}

/*
 * Kahn's algorithm: takes tasks all of whose senders have been taken, until there is no such task. The tasks of a cycle
 * are never taken.
 */
static bool has_cycle(struct queues *queues)
{
	const struct dataflow_graph *graph = queues->graph;
	uint32_t *missing = queues->driver, head = 0, tail = 0; /* uses driver[] as work space */

	for (uint32_t t = 0; t < graph->task_count; t++) {
		missing[t] = queues->first_into[t + 1] - queues->first_into[t];
		if (missing[t] == 0)
			queues->order[tail++] = t;
	}
	while (head < tail) {
		uint32_t task = queues->order[head++];

		for (uint32_t f = graph->out[task]; f < graph->out[task + 1]; f++)
			if (--missing[graph->flows[f].to] == 0)
				queues->order[tail++] = graph->flows[f].to;
	}
	return tail < graph->task_count;
}

static bool allocate(struct queues *queues)
{
	size_t flows = queues->graph->flow_count + 1, tasks = queues->graph->task_count + 1,
	       drivers = flows + queues->graph->source_count;

	queues->MB = calloc(4 * flows, sizeof *queues->MB);
	queues->cut = calloc(3 * flows, sizeof *queues->cut);
	queues->driver = malloc((flows + tasks) * sizeof *queues->driver);
	queues->first_into = calloc(tasks + 2, sizeof *queues->first_into);
	queues->into = malloc(flows * sizeof *queues->into);
	queues->offered = malloc(drivers * sizeof *queues->offered);
	queues->rate = calloc(queues->graph->source_count + 1, sizeof *queues->rate);
	queues->amount = calloc(tasks, sizeof *queues->amount);
	queues->seen = calloc(tasks, sizeof *queues->seen);
	queues->order = malloc(tasks * sizeof *queues->order);
	queues->drivers.carried.first = malloc((flows + 1) * sizeof(uint32_t));
	queues->drivers.received.first = malloc((tasks + 1) * sizeof(uint32_t));
	if (!queues->MB || !queues->cut || !queues->driver || !queues->first_into || !queues->into ||
	    !queues->offered || !queues->rate || !queues->amount || !queues->seen || !queues->order ||
	    !queues->drivers.carried.first || !queues->drivers.received.first)
		return false;
	queues->grows = queues->MB + flows;
	queues->share = queues->grows + flows;
	queues->unit = queues->share + flows;
	queues->settled = queues->cut + flows;
	queues->held = queues->settled + flows;
	return true;
}

struct queues *queues_create(const struct dataflow_job *job, const struct dataflow_graph *graph, double capacity_MB,
			     struct error *err)
{
	struct queues *queues = calloc(1, sizeof *queues);

	if (queues) {
		queues->job = job;
		queues->graph = graph;
		queues->capacity_MB = capacity_MB;
	}
	if (!queues || !allocate(queues)) {
		error_set(err, ENOMEM, "out of memory");
		queues_destroy(queues);
		return NULL;
	}
	list_inputs(queues);
	if (has_cycle(queues)) {
		error_set(err, EINVAL, "job '%s' has a cycle: its bounded queues can deadlock", job->name);
		queues_destroy(queues);
		return NULL;
	}
	measure_flows(queues);
	return queues;
}

static void free_rows(struct dataflow_by_source *rows)
{
	free(rows->first);
	free(rows->source);
	free(rows->rate);
}

void queues_destroy(struct queues *queues)
{
	if (!queues)
		return;
	free(queues->MB);
	free(queues->cut);
	free(queues->driver);
	free(queues->first_into);
	free(queues->into);
	free(queues->offered);
	free(queues->rate);
	free(queues->amount);
	free(queues->seen);
	free(queues->order);
	free(queues->carried.items);
	free(queues->received.items);
	free(queues->pushed.items);
	free_rows(&queues->drivers.carried);
	free_rows(&queues->drivers.received);
	free(queues);
}

/* ---- the flows of each driver ---- */

static void add_entry(struct queues *queues, struct entries *entries, uint32_t row, uint32_t driver, double rate)
{
	struct entry *items = array_grow(entries->items, entries->count, &entries->capacity, sizeof *items);

	if (!items) {
		queues->failed = true;
		return;
	}
	entries->items = items;
	items[entries->count++] = (struct entry){.row = row, .driver = driver, .rate = rate};
}

/*
 * Depth-first search from a task over flows that are not cut. Appends the tasks that it reaches to order[], each one
 * after the tasks to which it sends over such flows.
 */
static void reach(struct queues *queues, uint32_t task)
{
	const struct dataflow_graph *graph = queues->graph;

	if (queues->seen[task])
		return;
	queues->seen[task] = true;
	for (uint32_t f = graph->out[task]; f < graph->out[task + 1]; f++)
		if (!queues->cut[f])
			reach(queues, graph->flows[f].to);
	queues->order[queues->order_count++] = task;
}

/*
 * Follows the data of one unit of a driver, which reaches `task` at `amount` MB/s, along the flows as far as the next
 * cut queues. Adds the rates of the tasks (received), flows (carried) and cut queues (pushed) to the driver's entries.
 */
static void follow(struct queues *queues, uint32_t driver, uint32_t task, double amount)
{
	const struct dataflow_graph *graph = queues->graph;

	queues->order_count = 0;
	reach(queues, task);
	queues->amount[task] = amount;
	for (uint32_t i = queues->order_count; i-- > 0;) {
		uint32_t at = queues->order[i];
		double got = queues->amount[at];

		queues->amount[at] = 0;
		queues->seen[at] = false;
		if (got > 0)
			add_entry(queues, &queues->received, at, driver, got);
		for (uint32_t f = graph->out[at]; f < graph->out[at + 1]; f++) {
			double sent = queues->share[f] * got;

			if (sent == 0)
				continue;
			add_entry(queues, queues->cut[f] ? &queues->pushed : &queues->carried, f, driver, sent);
			if (!queues->cut[f])
				queues->amount[graph->flows[f].to] += sent;
		}
	}
}

/* Counting sort of entries into rows. */
static void make_rows(struct queues *queues, const struct entries *entries, uint32_t row_count,
		      struct dataflow_by_source *rows)
{
	uint32_t *source = realloc(rows->source, entries->count * sizeof *source + 1);
	double *rate = realloc(rows->rate, entries->count * sizeof *rate + 1);

	rows->source = source ? source : rows->source;
	rows->rate = rate ? rate : rows->rate;
	if (!source || !rate) {
		queues->failed = true;
		return;
	}
	memset(rows->first, 0, ((size_t)row_count + 1) * sizeof *rows->first);
	for (size_t i = 0; i < entries->count; i++)
		rows->first[entries->items[i].row + 1]++;
	for (uint32_t r = 0; r < row_count; r++)
		rows->first[r + 1] += rows->first[r];
	/* Each row is filled from its end: first[row + 1] is the end of the part that is still free. */
	for (size_t i = entries->count; i-- > 0;) {
		uint32_t at = --rows->first[entries->items[i].row + 1];

		source[at] = entries->items[i].driver;
		rate[at] = entries->items[i].rate;
	}
	memmove(rows->first, rows->first + 1, row_count * sizeof *rows->first);
	rows->first[row_count] = (uint32_t)entries->count;
}

static void list_drivers(struct queues *queues, const struct network *network, const double *offered)
{
	const struct dataflow_graph *graph = queues->graph;
	struct dataflow_by_source carried = queues->drivers.carried, received = queues->drivers.received;
	uint32_t count = graph->source_count;

	queues->carried.count = queues->received.count = queues->pushed.count = 0;
	for (uint32_t s = 0; s < count; s++) {
		queues->offered[s] =
			offered ? offered[s] : network_source_MBps(network, queues->job, graph->sources[s]);
		follow(queues, s, graph->sources[s], 1);
	}
	for (uint32_t f = 0; f < graph->flow_count; f++) {
		if (!queues->cut[f])
			continue;
		queues->driver[f] = count;
		queues->offered[count] = network->local_MBps / queues->unit[f];
		add_entry(queues, &queues->carried, f, count, queues->unit[f]);
		follow(queues, count++, graph->flows[f].to, queues->unit[f]);
	}
	make_rows(queues, &queues->carried, graph->flow_count, &carried);
	make_rows(queues, &queues->received, graph->task_count, &received);
	queues->drivers = *graph;
	queues->drivers.source_count = count;
	queues->drivers.carried = carried;
	queues->drivers.received = received;
}

/* ---- which queues fill and drain ---- */

static bool is_full(const struct queues *queues, uint32_t flow)
{
	return queues->MB[flow] == queues->capacity_MB;
}

/*
 * Handles a flow that is limited by a resource downstream of its queue. An empty queue begins to fill. A full queue
 * limits its sender; then the flows into the sender are limited and are handled in the same way. Returns true if a
 * queue begins to fill.
 */
static bool hold(struct queues *queues, uint32_t flow)
{
	uint32_t sender = queues->graph->flows[flow].from;
	bool changed = false;

	if (queues->cut[flow] || queues->held[flow])
		return false;
	if (!is_full(queues, flow)) {
		queues->cut[flow] = !queues->settled[flow];
		return queues->cut[flow];
	}
	queues->held[flow] = true;
	for (uint32_t i = queues->first_into[sender]; i < queues->first_into[sender + 1]; i++)
		changed |= hold(queues, queues->into[i]);
	return changed;
}

static bool passes(const struct network *network, const struct queues *queues, uint32_t flow, uint32_t resource)
{
	uint32_t from = queues->job->hosts[queues->graph->flows[flow].from],
		 to = queues->job->hosts[queues->graph->flows[flow].to];
	const struct network_route *route;

	if (from == to)
		return false;
	route = &network->pairs[network_find_pair(network, from, to)].route;
	for (uint32_t r = 0; r < route->count; r++)
		if ((network_route_link(route, r) ^ (from > to)) == resource)
			return true;
	return false;
}

/*
 * For each driver that is limited by a link or a CPU, calls hold() for the flows that carry the driver's data over this
 * link or to a task on this CPU. Returns true if a queue begins to fill.
 */
static bool hold_senders(struct queues *queues, const struct network *network, const uint32_t *bottleneck)
{
	const struct dataflow_by_source *carried = &queues->drivers.carried, *received = &queues->drivers.received;
	uint32_t links = network->topology->link_count;
	bool changed = false;

	memset(queues->held, 0, queues->graph->flow_count * sizeof *queues->held);
	for (uint32_t f = 0; f < queues->graph->flow_count; f++)
		for (uint32_t i = carried->first[f]; i < carried->first[f + 1]; i++)
			if (bottleneck[carried->source[i]] < 2 * links &&
			    passes(network, queues, f, bottleneck[carried->source[i]]))
				changed |= hold(queues, f);
	for (uint32_t t = 0; t < queues->graph->task_count; t++)
		for (uint32_t i = received->first[t]; i < received->first[t + 1]; i++) {
			uint32_t driver = received->source[i], component = dataflow_component_of(queues->job, t);

			if (bottleneck[driver] != 2 * links + queues->job->hosts[t] ||
			    queues->job->components[component].cpu_s_per_MB == 0)
				continue;
			for (uint32_t f = queues->first_into[t]; f < queues->first_into[t + 1]; f++)
				if (rate_in(carried, queues->into[f], driver) > 0)
					changed |= hold(queues, queues->into[f]);
		}
	return changed;
}

/* Returns true if a draining queue counts as empty, or a filling queue as full (BAND). */
static bool is_back(const struct queues *queues, uint32_t flow)
{
	double near = BAND * queues->capacity_MB;

	return (queues->grows[flow] < 0 && queues->MB[flow] <= near) ||
	       (queues->grows[flow] > 0 && queues->MB[flow] >= queues->capacity_MB - near);
}

/*
 * Computes the growth of the cut queues from the rates of the drivers (rate[]). A queue that counts as empty or full
 * (is_back()) is set to empty or full and is no longer cut. Returns true if there is such a queue.
 */
static bool measure_growth(struct queues *queues, const double *rate)
{
	bool changed = false;

	memset(queues->grows, 0, queues->graph->flow_count * sizeof *queues->grows);
	for (size_t i = 0; i < queues->pushed.count; i++)
		queues->grows[queues->pushed.items[i].row] +=
			queues->pushed.items[i].rate * rate[queues->pushed.items[i].driver];
	for (uint32_t f = 0; f < queues->graph->flow_count; f++) {
		double in = queues->grows[f], out;

		if (!queues->cut[f])
			continue;
		out = queues->unit[f] * rate[queues->driver[f]];
		queues->grows[f] = fabs(in - out) <= ROUNDING * (in + out) ? 0 : in - out;
		if (is_back(queues, f)) {
			queues->MB[f] = queues->grows[f] < 0 ? 0 : queues->capacity_MB;
			queues->cut[f] = false;
			queues->settled[f] = true;
			changed = true;
		}
	}
	return changed;
}

/* Cuts the full queues that no resource downstream limits, so that they drain. Returns true if it cuts a queue. */
static bool drain(struct queues *queues)
{
	bool changed = false;

	for (uint32_t f = 0; f < queues->graph->flow_count; f++)
		if (is_full(queues, f) && !queues->cut[f] && !queues->held[f] && !queues->settled[f])
			changed = queues->cut[f] = true;
	return changed;
}

static void begin(struct queues *queues)
{
	for (uint32_t f = 0; f < queues->graph->flow_count; f++) {
		queues->cut[f] = queues->MB[f] > 0 && !is_full(queues, f);
		queues->settled[f] = false;
	}
}

static int solve(struct buffers *buffers, struct network *network, struct queues *const *jobs)
{
	struct loads *loads = &buffers->loads;
	double *rate;
	uint32_t *bottleneck;
	int code = 0;

	loads_clear(loads);
	for (uint32_t j = 0; j < network->job_count && code == 0; j++) {
		struct network_job job = network->jobs[j];

		list_drivers(jobs[j], network, job.offered);
		job.graph = &jobs[j]->drivers;
		job.offered = jobs[j]->offered;
		code = jobs[j]->failed ? -ENOMEM : loads_add_job(loads, network, &job, NULL);
	}
	if (code < 0)
		return code;
	rate = array_reserve(buffers->rate, loads->source_count + 1, &buffers->rate_capacity, sizeof *rate);
	buffers->rate = rate ? rate : buffers->rate;
	bottleneck = array_reserve(buffers->bottleneck, loads->source_count + 1, &buffers->bottleneck_capacity,
				   sizeof *bottleneck);
	buffers->bottleneck = bottleneck ? bottleneck : buffers->bottleneck;
	return rate && bottleneck ? loads_solve(loads, network, rate, bottleneck) : -ENOMEM;
}

int buffers_solve(struct buffers *buffers, struct network *network, struct queues *const *jobs)
{
	bool changed = true;

	for (uint32_t j = 0; j < network->job_count; j++)
		begin(jobs[j]);
	/*
	 * This loop ends, because at one event each queue is cut at most once and becomes empty or full (`settled`) at
	 * most once.
	 */
	while (changed) {
		uint32_t at = 0;
		int code = solve(buffers, network, jobs);

		if (code < 0)
			return code;
		changed = false;
		for (uint32_t j = 0; j < network->job_count; j++) {
			changed |= measure_growth(jobs[j], buffers->rate + at) ||
				   hold_senders(jobs[j], network, buffers->bottleneck + at) || drain(jobs[j]);
			memcpy(jobs[j]->rate, buffers->rate + at, jobs[j]->graph->source_count * sizeof *buffers->rate);
			at += jobs[j]->drivers.source_count;
		}
	}
	return 0;
}

void buffers_free(struct buffers *buffers)
{
	loads_free(&buffers->loads);
	free(buffers->rate);
	free(buffers->bottleneck);
	*buffers = (struct buffers){0};
}

/* ---- time ---- */

double queues_next_s(const struct queues *queues)
{
	double least = INFINITY;

	for (uint32_t f = 0; f < queues->graph->flow_count; f++) {
		if (queues->grows[f] > 0)
			least = fmin(least, (queues->capacity_MB - queues->MB[f]) / queues->grows[f]);
		else if (queues->grows[f] < 0)
			least = fmin(least, queues->MB[f] / -queues->grows[f]);
	}
	return least;
}

void queues_advance(struct queues *queues, double seconds)
{
	for (uint32_t f = 0; f < queues->graph->flow_count; f++) {
		double near = fmax(ROUNDING * queues->capacity_MB, fabs(queues->grows[f]) * INSTANT_S);

		queues->MB[f] += queues->grows[f] * seconds;
		if (queues->MB[f] <= near && queues->grows[f] <= 0)
			queues->MB[f] = 0;
		if (queues->MB[f] >= queues->capacity_MB - near && queues->grows[f] >= 0)
			queues->MB[f] = queues->capacity_MB;
	}
}

double queues_MB(const struct queues *queues)
{
	double sum = 0;

	for (uint32_t f = 0; f < queues->graph->flow_count; f++)
		sum += queues->MB[f];
	return sum;
}

double queues_rate(const struct queues *queues, uint32_t source)
{
	return queues->rate[source];
}
