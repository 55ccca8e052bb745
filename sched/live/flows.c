/* SPDX-License-Identifier: BSD-3-Clause */
/* The flows of jobs: stated in their graphs, or measured by the byte counters of connections. */
#include <math.h>
#include <stdlib.h>

#include <base/array.h>

#include "recover_priv.h"

/*
 * A flow that is not stated is expected to carry again what it carried in the last minute: an exponential average, all
 * of it if the flow is younger. Its volume since the start would make the slow flow of an old service outweigh all
 * others.
 */
#define RECENT_S 60

struct live_flow {
	uint32_t from, to;
	double MB;        /* since the present runs of both tasks began, as of at_s */
	double stated_MB; /* 0: not stated */
	double recent_MB; /* see RECENT_S */
	double at_s;
};

struct live_flows {
	struct live_flow *items;
	size_t count, capacity;
	struct hash_table by_pair; /* pair_of() -> index */
};

static uint64_t pair_of(uint32_t from, uint32_t to)
{
	return (uint64_t)from << 32 | to;
}

void live_flows_free(struct live_flows *flows)
{
	if (!flows)
		return;
	hash_table_free(&flows->by_pair);
	free(flows->items);
	free(flows);
}

static double stated_MB(const struct live_job *job, uint32_t from, uint32_t to)
{
	const struct job_graph *graph = job->graph;
	double MB = 0;

	for (size_t n = graph ? graph->first[from] : 0; graph && n < graph->first[from + 1]; n++)
		if (graph->neighbours[n].task == to)
			MB += graph->neighbours[n].MB;
	return MB;
}

static struct live_flow *find(const struct live_job *job, uint32_t from, uint32_t to)
{
	uint32_t at = job->flows ? hash_table_find(&job->flows->by_pair, pair_of(from, to)) : HASH_TABLE_NONE;

	return at == HASH_TABLE_NONE ? NULL : &job->flows->items[at];
}

static struct live_flow *add(struct live_job *job, uint32_t from, uint32_t to)
{
	struct live_flows *flows = job->flows ? job->flows : calloc(1, sizeof *flows);
	struct live_flow *items;

	job->flows = flows;
	items = flows ? array_grow(flows->items, flows->count, &flows->capacity, sizeof *items) : NULL;
	if (!items)
		return NULL;
	flows->items = items;
	if (hash_table_insert(&flows->by_pair, pair_of(from, to), (uint32_t)flows->count) < 0)
		return NULL;
	items[flows->count] =
		(struct live_flow){.from = from, .to = to, .stated_MB = stated_MB(job, from, to), .at_s = -INFINITY};
	return &items[flows->count++];
}

static bool runs(const struct live_task *task)
{
	return task->state == LIVE_RUNNING || task->state == LIVE_MOVING;
}

/* The time at which the later of the two runs began; a task that has moved began again. */
static double began_s(const struct live_job *job, uint32_t from, uint32_t to)
{
	const struct live_task *a = &job->tasks[from], *b = &job->tasks[to];

	return fmax(fmax(a->started_s, a->moved_s), fmax(b->started_s, b->moved_s));
}

int live_flow(struct live *live, const char *job_id, const char *from_name, const char *to_name, double MB,
	      double now_s)
{
	struct live_job *job;
	const struct live_task *from = live_find_task(live, job_id, from_name, &job), *to;
	struct live_flow *flow;
	double since_s, more_MB;
	uint32_t a, b;

	to = from ? live_find_task(live, job_id, to_name, &job) : NULL;
	if (!to || from == to || !runs(from) || !runs(to))
		return 1;
	a = live_task_number(job, from);
	b = live_task_number(job, to);
	flow = find(job, a, b);
	if (!flow)
		flow = add(job, a, b);
	if (!flow)
		return -ENOMEM;
	since_s = began_s(job, a, b);
	if (flow->at_s < since_s)
		flow->MB = 0;
	else
		since_s = flow->at_s;
	more_MB = fmax(0, MB - flow->MB);
	flow->recent_MB = flow->recent_MB * (isfinite(flow->at_s) ? exp((flow->at_s - now_s) / RECENT_S) : 0) +
			  more_MB * (now_s - since_s > RECENT_S ? RECENT_S / (now_s - since_s) : 1);
	flow->MB += more_MB;
	flow->at_s = now_s;
	return 0;
}

/* The flow as recovery needs it. A flow of a task that does not run has nothing sent. */
static struct live_traffic traffic_of(const struct live_job *job, const struct live_flow *flow)
{
	struct live_traffic traffic = {.from = flow->from, .to = flow->to, .MB = flow->stated_MB};

	if (!(flow->stated_MB > 0)) {
		traffic.MB = flow->recent_MB;
		traffic.measured = true;
	} else if (runs(&job->tasks[flow->from]) && runs(&job->tasks[flow->to]) &&
		   flow->at_s >= began_s(job, flow->from, flow->to)) {
		traffic.sent_MB = fmin(flow->MB, flow->stated_MB);
		traffic.measured = traffic.sent_MB > 0;
	}
	return traffic;
}

int live_flows_of(const struct live_job *job, struct live_traffic **list, size_t *count)
{
	const struct job_graph *graph = job->graph;
	size_t stated = graph ? graph->first[job->task_count] : 0, measured = job->flows ? job->flows->count : 0;

	*count = 0;
	*list = stated + measured > 0 ? malloc((stated + measured) * sizeof **list) : NULL;
	if (!*list)
		return stated + measured > 0 ? -ENOMEM : 0;
	for (size_t i = 0; i < measured; i++) {
		(*list)[*count] = traffic_of(job, &job->flows->items[i]);
		*count += (*list)[*count].MB > 0;
	}
	for (uint32_t t = 0; graph && t < job->task_count; t++)
		for (size_t n = graph->first[t]; n < graph->first[t + 1]; n++) {
			const struct job_neighbour *to = &graph->neighbours[n];

			if (to->MB > 0 && !find(job, t, to->task))
				(*list)[(*count)++] = (struct live_traffic){.from = t, .to = to->task, .MB = to->MB};
		}
	return 0;
}
