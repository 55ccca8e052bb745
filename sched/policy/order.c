/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of a job's tasks on the slots that a round gives to the job. */
#include "policy_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sched/graph/order.h>

/* Costs of pairs that cannot reach each other: no real cost is as high. */
static const double unreachable = 100 * COST_MAXIMUM;

/* The most edges of a job for which placer_rank() compares exchanges: some 20 ms. */
enum { RANK_EDGES = 100000 };

struct edge_cost {
	struct placer *placer;
	uint32_t job;
};

static double cost_between(void *context, uint32_t from, uint32_t to)
{
	const struct edge_cost *edge = context;
	int32_t cost = placer_latency_cost(edge->placer, edge->job, from, to);

	return cost > COST_MAXIMUM || cost <= 0 ? unreachable : cost;
}

void placer_job_graph(struct placer *placer, uint32_t job, const struct job_graph *graph)
{
	if (job >= placer->job_room)
		return; /* it never arrived */
	placer->graph_count += (graph != NULL) - (placer->edges_of_job[job].graph != NULL);
	placer->edges_of_job[job] = (struct job_edges){graph, NAN};
}

static const struct job_graph *graph_of(const struct placer *placer, uint32_t job)
{
	return placer->edges_of_job[job].graph;
}

/* A machine, and a task that shall be on it or a proposal that leads to it. */
struct at {
	int32_t machine;
	uint32_t number;
};

/* The tasks of a job. A task is movable if its proposal may be exchanged with those of the other movable tasks. */
struct tasks {
	const struct job_graph *graph;
	int32_t *machine;  /* [tasks] where the task runs or shall run; < 0: it waits */
	bool *movable;     /* [tasks] */
	uint32_t *move_of; /* [tasks] number of the movable task's proposal */
	struct at *wanted; /* [tasks] movable tasks */
	struct at *slots;  /* [tasks] their proposals */
	uint32_t count;    /* of movable tasks */
};

static void tasks_free(struct tasks *tasks)
{
	free(tasks->machine);
	free(tasks->movable);
	free(tasks->move_of);
	free(tasks->wanted);
	free(tasks->slots);
}

static int tasks_create(const struct placer *placer, uint32_t job, struct tasks *tasks)
{
	size_t count = graph_of(placer, job)->task_count;

	*tasks = (struct tasks){.graph = graph_of(placer, job)};
	tasks->machine = malloc(count * sizeof *tasks->machine);
	tasks->movable = calloc(count, sizeof *tasks->movable);
	tasks->move_of = calloc(count, sizeof *tasks->move_of);
	tasks->wanted = malloc(count * sizeof *tasks->wanted);
	tasks->slots = malloc(count * sizeof *tasks->slots);
	if (!tasks->machine || !tasks->movable || !tasks->move_of || !tasks->wanted || !tasks->slots) {
		tasks_free(tasks);
		return -ENOMEM;
	}
	for (uint32_t t = 0; t < count; t++)
		tasks->machine[t] = flownet_task_machine(placer->net, job, t);
	return 0;
}

/* Notes the proposals first..end, which are the job's. */
static void take_moves(const struct placer *placer, const struct flownet_round *round, size_t first, size_t end,
		       struct tasks *tasks)
{
	size_t like = end;

	for (size_t i = first; i < end; i++) {
		const struct flownet_move *move = &round->moves[i];

		tasks->machine[move->task] = move->to;
		if (like == end && flownet_alike(placer->net, i, i))
			like = i;
		if (like == end || !flownet_alike(placer->net, like, i))
			continue;
		tasks->movable[move->task] = true;
		tasks->move_of[move->task] = (uint32_t)i;
		tasks->slots[tasks->count++] = (struct at){move->to, (uint32_t)i};
	}
}

static int by_machine(const void *left, const void *right)
{
	const struct at *a = left, *b = right;

	if (a->machine != b->machine)
		return a->machine < b->machine ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* Exchanges proposals until each movable task is on its machine[]. */
static void exchange(struct placer *placer, const struct flownet_round *round, struct tasks *tasks)
{
	uint32_t wanted = 0;

	for (uint32_t t = 0; t < tasks->graph->task_count; t++)
		if (tasks->movable[t])
			tasks->wanted[wanted++] = (struct at){tasks->machine[t], t};
	qsort(tasks->wanted, tasks->count, sizeof *tasks->wanted, by_machine);
	qsort(tasks->slots, tasks->count, sizeof *tasks->slots, by_machine);
	for (uint32_t i = 0; i < tasks->count; i++) {
		uint32_t slot = tasks->slots[i].number, task = tasks->wanted[i].number, other = tasks->move_of[task];
		uint32_t present = round->moves[slot].task;

		if (present == task || flownet_exchange(placer->net, slot, other) != 0)
			continue;
		tasks->move_of[task] = slot;
		tasks->move_of[present] = other;
	}
}

/* Orders the tasks of the proposals first..end, which are of one job. */
static int order_job(struct placer *placer, const struct flownet_round *round, size_t first, size_t end)
{
	struct edge_cost edge = {placer, round->moves[first].job};
	struct tasks tasks;
	struct graph_order order;
	struct graph_sum given;
	int code = tasks_create(placer, edge.job, &tasks);

	if (code != 0)
		return code;
	take_moves(placer, round, first, end, &tasks);
	order = (struct graph_order){tasks.graph, tasks.machine, tasks.movable, cost_between, &edge};
	if (tasks.count > 1) {
		code = graph_order(&order, &given);
		if (code == 0) {
			placer->edges_of_job[edge.job].given =
				given.weight > 0 ? given.performance / given.weight : NAN;
			exchange(placer, round, &tasks);
		}
	}
	tasks_free(&tasks);
	return code;
}

int placer_order(struct placer *placer, const struct flownet_round *round)
{
	int code = 0;

	if (placer->graph_count == 0 || !placer->policy->cached_rows)
		return 0;
	for (size_t first = 0, end; first < round->move_count && code == 0; first = end) {
		end = first + 1;
		while (end < round->move_count && round->moves[end].job == round->moves[first].job)
			end++;
		if (graph_of(placer, round->moves[first].job))
			code = order_job(placer, round, first, end);
	}
	return code;
}

int placer_edges(struct placer *placer, uint32_t job, struct placer_edges *edges)
{
	struct edge_cost edge = {placer, job};
	struct graph_order order;
	struct graph_sum sum;
	struct tasks tasks;

	*edges = (struct placer_edges){.performance = NAN, .given = NAN};
	if (!graph_of(placer, job))
		return 0;
	if (tasks_create(placer, job, &tasks) != 0)
		return -ENOMEM;
	order = (struct graph_order){tasks.graph, tasks.machine, tasks.movable, cost_between, &edge};
	edges->bound = graph_bound(&order, &sum);
	edges->count = tasks.graph->edge_count;
	edges->given = placer->edges_of_job[job].given;
	edges->cost = sum.cost;
	edges->performance = sum.weight > 0 ? sum.performance / sum.weight : NAN;
	tasks_free(&tasks);
	return isnan(edges->bound) ? -ENOMEM : 0;
}

/* The cost of the task's edges, without the one to `other`. */
static double cost_of_edges(const struct tasks *tasks, struct edge_cost *edge, uint32_t task, uint32_t other)
{
	const struct job_graph *graph = tasks->graph;
	double sum = 0;

	for (size_t n = graph->first[task]; n < graph->first[task + 1]; n++) {
		int32_t here = tasks->machine[task], there = tasks->machine[graph->neighbours[n].task];

		if (there >= 0 && graph->neighbours[n].task != other)
			sum += graph->neighbours[n].weight *
			       (cost_between(edge, (uint32_t)here, (uint32_t)there) +
				cost_between(edge, (uint32_t)there, (uint32_t)here)) /
			       2;
	}
	return sum;
}

/* Returns by how much an exchange of the two tasks raises the cost of the job's edges. */
static double cost_of_exchange(struct tasks *tasks, struct edge_cost *edge, uint32_t a, uint32_t b)
{
	int32_t at_a = tasks->machine[a], at_b = tasks->machine[b];
	double before = cost_of_edges(tasks, edge, a, b) + cost_of_edges(tasks, edge, b, a), after;

	tasks->machine[a] = at_b;
	tasks->machine[b] = at_a;
	after = cost_of_edges(tasks, edge, a, b) + cost_of_edges(tasks, edge, b, a);
	tasks->machine[a] = at_a;
	tasks->machine[b] = at_b;
	return after - before;
}

static void find_exchange(struct tasks *tasks, struct edge_cost *edge, uint32_t task, struct placer_rank *rank)
{
	for (uint32_t other = 0; other < tasks->graph->task_count; other++) {
		double added;

		if (other == task || other == flownet_root_task(edge->placer->net, edge->job) ||
		    tasks->machine[other] < 0 || tasks->machine[other] == tasks->machine[task])
			continue;
		added = cost_of_exchange(tasks, edge, task, other);
		if (isnan(rank->added) || added < rank->added) {
			rank->added = added;
			rank->other = other;
		}
	}
}

struct placer_rank placer_rank(struct placer *placer, uint32_t job, uint32_t task)
{
	struct placer_rank rank = {.added = NAN};
	struct edge_cost edge = {placer, job};
	double weight = 0, sum = 0;
	struct tasks tasks;

	if (!graph_of(placer, job) || tasks_create(placer, job, &tasks) != 0)
		return rank;
	for (size_t n = tasks.graph->first[task]; tasks.machine[task] >= 0 && n < tasks.graph->first[task + 1]; n++) {
		const struct job_neighbour *neighbour = &tasks.graph->neighbours[n];
		int32_t there = tasks.machine[neighbour->task];

		if (there < 0)
			continue;
		rank.edges++;
		weight += neighbour->weight;
		sum += neighbour->weight * 200 /
		       (cost_between(&edge, (uint32_t)tasks.machine[task], (uint32_t)there) +
			cost_between(&edge, (uint32_t)there, (uint32_t)tasks.machine[task]));
	}
	rank.performance = sum / weight;
	if (rank.edges > 0 && tasks.graph->edge_count <= RANK_EDGES)
		find_exchange(&tasks, &edge, task, &rank);
	tasks_free(&tasks);
	return rank;
}
