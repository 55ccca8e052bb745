/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a schedule once at the model's latency, event by event, and writes down what had to wait for what: that is the
 * graph.
 */
#include "goal_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <base/array.h>
#include <base/event_queue.h>
#include <predict/graph/graph.h>

enum { EVENT_READY, EVENT_ARRIVED };

struct run {
	struct schedule *schedule;
	const struct loggps *model;
	struct execution_graph *graph;
	double *times; /* of each node at the model's latency, ns */
	size_t time_count, time_capacity;
	uint32_t *cpus; /* [rank * schedule->cpus + cpu]: node at which it is free */
	struct event_queue queue;
	struct matcher matcher;
};

static double edge_time(const struct run *run, const struct execution_node *node, int edge)
{
	return run->times[node->from[edge]] + node->ns[edge] + node->messages[edge] * run->model->latency_ns;
}

/* Computes the times of the nodes that were added since the last call. */
static int catch_up(struct run *run)
{
	double *times = array_reserve(run->times, run->graph->count, &run->time_capacity, sizeof *times);

	if (!times)
		return -ENOMEM;
	run->times = times;
	for (; run->time_count < run->graph->count; run->time_count++) {
		const struct execution_node *node = &run->graph->nodes[run->time_count];
		double a = run->time_count ? edge_time(run, node, 0) : 0,
		       b = run->time_count ? edge_time(run, node, 1) : 0;

		times[run->time_count] = a > b ? a : b;
	}
	return 0;
}

static int add_event(struct run *run, uint32_t node, uint32_t kind, const struct operation *operation)
{
	double time_ns;

	if (catch_up(run) < 0)
		return -ENOMEM;
	time_ns = run->times[node];
	return event_queue_add(&run->queue, time_ns < 0x1p62 ? (int64_t)time_ns : INT64_MAX, kind,
			       (uint32_t)(operation - run->schedule->operations), node);
}

/* A requirement of the operation is met at `moment`. */
static int meet(struct run *run, struct operation *operation, uint32_t moment)
{
	if (operation->ready == EXECUTION_START) {
		operation->ready = moment;
	} else {
		operation->ready = execution_later(run->graph, operation->rank, operation->ready, moment);
		if (operation->ready == EXECUTION_START)
			return -ENOMEM;
	}
	return --operation->missing ? 0 : add_event(run, operation->ready, EVENT_READY, operation);
}

/* Tells those that require the operation's start, or its end. */
static int tell(struct run *run, struct operation *operation, bool start, uint32_t moment)
{
	const struct schedule *schedule = run->schedule;
	int code = 0;

	operation->done = operation->done || !start;
	for (uint32_t r = operation->dependents; r && code == 0; r = schedule->requirements[r - 1].next)
		if (schedule->requirements[r - 1].start == start)
			code = meet(run, &schedule->operations[schedule->requirements[r - 1].operation], moment);
	return code;
}

/* Occupies the operation's cpu for some time from `from` on; returns the node of the end. */
static uint32_t occupy(struct run *run, struct operation *operation, uint32_t from, double ns, bool tell_start,
		       int *code)
{
	uint32_t *cpu = &run->cpus[(size_t)operation->rank * run->schedule->cpus + operation->cpu];
	uint32_t begin, end;

	if (tell_start && operation->started_needed) {
		begin = execution_later(run->graph, operation->rank, from, *cpu);
		*code = begin == EXECUTION_START ? -ENOMEM : tell(run, operation, true, begin);
		end = execution_after(run->graph, operation->rank, begin, ns);
	} else {
		end = execution_add(run->graph, operation->rank, (struct execution_edge){.from = from, .ns = ns},
				    (struct execution_edge){.from = *cpu, .ns = ns});
	}
	*cpu = end;
	if (end == EXECUTION_START)
		*code = -ENOMEM;
	return end;
}

/* Both ends of a message are there: the receiver gets it, and the sender of a long one is done. */
static int transfer(struct run *run, struct operation *send, struct operation *receive)
{
	struct envelope envelope = {.from = send->rank, .to = receive->rank};
	struct message_ends ends;
	int code;

	if (receive->amount < send->amount)
		return schedule_fail(run->schedule, receive,
				     "receives at most %llu bytes, but the matching send (line %u) has %llu",
				     (unsigned long long)receive->amount, send->line, (unsigned long long)send->amount);
	send->matched = receive->matched = true;
	code = message_transfer(run->graph, run->model, &envelope, send->amount, send->ready, receive->ready, &ends);
	if (code == 0 && !send->done)
		code = tell(run, send, false, ends.sender_done);
	return code < 0 ? code : add_event(run, ends.arrived, EVENT_ARRIVED, receive);
}

static int match(struct run *run, struct operation *operation)
{
	bool send = operation->kind == OPERATION_SEND;
	struct operation *operations = run->schedule->operations;
	struct envelope envelope = {
		.from = send ? operation->rank : operation->peer,
		.to = send ? operation->peer : operation->rank,
		.tag = operation->tag,
	};
	uint32_t other = 0;
	int code = matcher_meet(&run->matcher, envelope, send, (uint32_t)(operation - operations), &other);

	if (code <= 0)
		return code;
	return send ? transfer(run, operation, &operations[other]) : transfer(run, &operations[other], operation);
}

static int begin(struct run *run, struct operation *operation)
{
	uint32_t end;
	int code = 0;

	switch ((enum operation_kind)operation->kind) {
	case OPERATION_CALC:
		end = occupy(run, operation, operation->ready, (double)operation->amount, true, &code);
		return code < 0 ? code : tell(run, operation, false, end);
	case OPERATION_SEND:
		end = occupy(run, operation, operation->ready, run->model->overhead_ns, true, &code);
		operation->ready = end;
		if (code == 0 && operation->amount <= run->model->eager_bytes)
			code = tell(run, operation, false, end);
		return code < 0 ? code : match(run, operation);
	case OPERATION_RECV:
		code = operation->started_needed ? tell(run, operation, true, operation->ready) : 0;
		return code < 0 ? code : match(run, operation);
	}
	return -EINVAL;
}

static int step(struct run *run, const struct event *event)
{
	struct operation *operation = &run->schedule->operations[event->subject];
	uint32_t end;
	int code = 0;

	if (event->kind == EVENT_READY)
		return begin(run, operation);
	end = occupy(run, operation, (uint32_t)event->detail, run->model->overhead_ns, false, &code);
	return code < 0 ? code : tell(run, operation, false, end);
}

/* Names the first operation that cannot end: a message without its other end, else a circle of requirements. */
static int check_done(const struct run *run)
{
	const struct schedule *schedule = run->schedule;
	const struct operation *waits = NULL;

	for (size_t i = 0; i < schedule->count; i++) {
		const struct operation *operation = &schedule->operations[i];

		if (operation->done && (operation->matched || operation->kind == OPERATION_CALC))
			continue;
		if (operation->missing == 0)
			return schedule_fail(schedule, operation,
					     "rank %u: %s rank %u, tag %u: the other end is missing", operation->rank,
					     operation->kind == OPERATION_SEND ? "send to" : "recv from",
					     operation->peer, operation->tag);
		waits = waits ? waits : operation;
	}
	if (!waits)
		return 0;
	return schedule_fail(schedule, waits, "rank %u: its requirements form a circle", waits->rank);
}

static int play(struct run *run)
{
	struct schedule *schedule = run->schedule;
	struct event event;
	int code = catch_up(run);

	for (size_t i = 0; i < schedule->count && code == 0; i++)
		if (schedule->operations[i].missing == 0)
			code = event_queue_add(&run->queue, 0, EVENT_READY, (uint32_t)i, 0);
	while (code == 0 && event_queue_take(&run->queue, INT64_MAX, &event))
		code = step(run, &event);
	return code < 0 ? code : check_done(run);
}

int schedule_build(struct schedule *schedule, const struct loggps *model, struct execution_graph *graph)
{
	struct run run = {.schedule = schedule, .model = model, .graph = graph};
	int code = execution_graph_init(graph, schedule->ranks);

	run.cpus = calloc((size_t)schedule->ranks * schedule->cpus, sizeof *run.cpus);
	if (!run.cpus)
		code = -ENOMEM;
	if (code == 0)
		code = play(&run);
	if (code == -ENOMEM)
		error_set(schedule->err, ENOMEM, "%s: out of memory for %zu operations", schedule->file,
			  schedule->count);
	free(run.cpus);
	free(run.times);
	event_queue_free(&run.queue);
	matcher_free(&run.matcher);
	return code;
}
