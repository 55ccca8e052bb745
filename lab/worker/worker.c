/* SPDX-License-Identifier: BSD-3-Clause */
#include <lab/worker/worker.h>

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/histogram.h>

#include "worker_priv.h"

enum {
	QUEUE_BYTES = 65536,
	TICK_MS = 2,     /* longest wait for events of a source with a limited rate */
	IDLE_MS = 200,   /* longest wait for events of any other task that has all its connections */
	BURST_MS = 20,   /* after a delay, a source may emit at once what its rate allows in this time */
	BATCH = 64,      /* tuples taken from one input, or emitted, before the others get their turn */
	PATIENCE_S = 30, /* time limit for making the connections, and for emptying the queues after `stop` */
};

struct worker {
	const struct worker_plan *plan;
	const volatile sig_atomic_t *stop;
	worker_reporter reporter;
	void *context;
	int listener;
	struct input *inputs;
	uint32_t accepted, open_inputs, next_input;
	struct output *outputs; /* ordered by edge, then by target */
	uint32_t output_count;
	size_t reserve; /* maximum number of bytes that one input tuple adds to an output */
	struct pollfd *polls;
	struct histogram *latency;
	struct worker_report report;
	struct ns start, last_report, last_credit, deadline; /* deadline: see check_time(); v == 0: none */
	uint64_t reported_received, reported_sent, emitted;
	double credit_bytes, *edge_credit;
	bool emits;
};

static uint32_t find_space(struct worker *w)
{
	double most = 1;

	for (uint32_t e = 0; e < w->plan->edge_count; e++)
		most = fmax(most, ceil(w->plan->edges[e].selectivity) + 1);
	w->reserve = (size_t)most * w->plan->tuple_bytes;
	return (uint32_t)(2 * w->reserve > QUEUE_BYTES ? 2 * w->reserve : QUEUE_BYTES);
}

static int make_outputs(struct worker *w)
{
	const struct worker_plan *plan = w->plan;
	uint32_t capacity = find_space(w), o = 0;

	for (uint32_t e = 0; e < plan->edge_count; e++)
		w->output_count += plan->edges[e].target_count;
	w->outputs = calloc(w->output_count + 1, sizeof *w->outputs);
	w->edge_credit = calloc(plan->edge_count + 1, sizeof *w->edge_credit);
	if (!w->outputs || !w->edge_credit)
		return -ENOMEM;
	for (o = 0; o < w->output_count; o++)
		w->outputs[o].fd = -1;
	o = 0;
	for (uint32_t e = 0; e < plan->edge_count; e++)
		for (uint32_t t = 0; t < plan->edges[e].target_count; t++, o++) {
			w->outputs[o].target = &plan->edges[e].targets[t];
			w->outputs[o].capacity = capacity;
			w->outputs[o].queue = malloc(capacity);
			if (!w->outputs[o].queue)
				return -ENOMEM;
		}
	return 0;
}

static int prepare(struct worker *w, struct error *err)
{
	w->inputs = calloc(w->plan->inputs + 1, sizeof *w->inputs);
	w->latency = histogram_create(1000, 100 * NS_PER_S, 2);
	if (!w->inputs || !w->latency || make_outputs(w) != 0)
		return error_set(err, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < w->plan->inputs; i++)
		w->inputs[i].fd = -1;
	w->polls = calloc(1 + w->plan->inputs + w->output_count, sizeof *w->polls);
	if (!w->polls)
		return error_set(err, ENOMEM, "out of memory");
	w->emits = w->plan->inputs == 0;
	memcpy(w->report.task, w->plan->task, sizeof w->report.task);
	w->start = ns_now_monotonic();
	w->last_report = w->start;
	w->last_credit = w->start;
	w->deadline = ns_add(w->start, (struct ns){PATIENCE_S * NS_PER_S});
	if (w->plan->inputs > 0)
		w->listener = link_listen(w->plan, err);
	return w->listener < 0 && w->plan->inputs > 0 ? error_code(err, EIO) : 0;
}

static void clear(struct worker *w)
{
	for (uint32_t i = 0; w->inputs && i < w->plan->inputs; i++)
		if (w->inputs[i].fd >= 0)
			close(w->inputs[i].fd);
	for (uint32_t o = 0; w->outputs && o < w->output_count; o++) {
		if (w->outputs[o].fd >= 0)
			close(w->outputs[o].fd);
		free(w->outputs[o].queue);
	}
	if (w->listener >= 0)
		close(w->listener);
	histogram_destroy(w->latency);
	free(w->inputs);
	free(w->outputs);
	free(w->edge_credit);
	free(w->polls);
}

static bool has_space(const struct worker *w)
{
	for (uint32_t o = 0; o < w->output_count; o++)
		if (!w->outputs[o].connected || !link_has_space(&w->outputs[o], w->reserve))
			return false;
	return true;
}

static void burn(double cpu_us)
{
	struct ns end = ns_add(ns_now_cpu(), ns_from_us(cpu_us));

	while (cpu_us > 0 && ns_now_cpu().v < end.v)
		;
}

/*
 * Returns the target whose number of tuples is furthest behind its share. So the numbers are close to the shares after
 * every tuple, not only on average.
 */
static struct output *next_target(const struct worker_edge *edge, struct output *outputs)
{
	struct output *best = outputs;
	double sum = 0;

	for (uint32_t t = 0; t < edge->target_count; t++) {
		outputs[t].credit += edge->targets[t].share;
		sum += edge->targets[t].share;
		if (outputs[t].credit > best->credit)
			best = &outputs[t];
	}
	best->credit -= sum;
	return best;
}

/* Appends the tuples that one input tuple produces to the outputs of all edges. */
static void send_on(struct worker *w, uint32_t source, struct ns emitted)
{
	struct tuple tuple = {.bytes = w->plan->tuple_bytes, .source = source, .emitted = emitted};
	struct output *outputs = w->outputs;

	for (uint32_t e = 0; e < w->plan->edge_count; e++) {
		const struct worker_edge *edge = &w->plan->edges[e];

		w->edge_credit[e] += edge->selectivity;
		for (; w->edge_credit[e] >= 1; w->edge_credit[e]--) {
			uint32_t copies = edge->to_all ? edge->target_count : 1;

			for (uint32_t t = 0; t < copies; t++)
				link_append(edge->to_all ? &outputs[t] : next_target(edge, outputs), tuple);
			w->report.sent += copies;
		}
		outputs += edge->target_count;
	}
}

static void count_tuple(struct worker *w, struct input *input, const struct tuple *tuple)
{
	struct ns now = ns_now_monotonic();

	if (input->taken.v != 0)
		w->report.gap_ms = fmax(w->report.gap_ms, 1e3 * ns_to_s(ns_sub(now, input->taken)));
	input->taken = now;
	w->report.received++;
	if (tuple->sequence < input->expected) {
		w->report.duplicated++;
	} else {
		w->report.lost += tuple->sequence - input->expected;
		input->expected = tuple->sequence + 1;
	}
	histogram_record(w->latency, ns_sub(now, tuple->emitted).v);
}

/*
 * Takes tuples from one input and passes them on, until the BATCH is complete, an output is full or no complete tuple
 * is waiting. Returns the number of tuples taken, or -EBADMSG with err set.
 */
static int take_tuples(struct worker *w, struct input *input, struct error *err)
{
	struct tuple tuple;
	int count = 0, code = 1;

	while (count < BATCH && has_space(w) && (code = link_take(input, &tuple, err)) > 0) {
		count_tuple(w, input, &tuple);
		burn(w->plan->cpu_us);
		send_on(w, tuple.source, tuple.emitted);
		count++;
	}
	return code < 0 ? code : count;
}

/* Returns the number of bytes that the source may emit now according to its rate. */
static double earn(struct worker *w, struct ns now)
{
	double rate = w->plan->MBps * 1e6;

	if (isinf(rate))
		return INFINITY;
	w->credit_bytes += rate * ns_to_s(ns_sub(now, w->last_credit));
	w->last_credit = now;
	w->credit_bytes = fmin(w->credit_bytes, rate * BURST_MS / 1e3 + w->plan->tuple_bytes);
	return w->credit_bytes;
}

static int emit(struct worker *w, struct ns now)
{
	double allowed = earn(w, now);
	int count = 0;

	while (w->emits && count < BATCH && has_space(w)) {
		if (*w->stop || (double)w->emitted * w->plan->tuple_bytes >= w->plan->MB * 1e6) {
			w->emits = false;
			break;
		}
		if (allowed < w->plan->tuple_bytes)
			break;
		allowed -= w->plan->tuple_bytes;
		w->credit_bytes -= isinf(w->plan->MBps) ? 0 : w->plan->tuple_bytes;
		burn(w->plan->cpu_us);
		send_on(w, w->plan->number, ns_now_monotonic());
		w->emitted++;
		count++;
	}
	return count;
}

static int report(struct worker *w, struct ns now)
{
	int code;
	struct worker_report *r = &w->report;
	double seconds = fmax(ns_to_s(ns_sub(now, w->last_report)), 1e-9), MB = w->plan->tuple_bytes / 1e6;
	bool none = histogram_count(w->latency) == 0;

	r->s = ns_to_s(ns_sub(now, w->start));
	r->received_MBps = (double)(r->received - w->reported_received) * MB / seconds;
	r->sent_MBps = (double)(r->sent - w->reported_sent) * MB / seconds;
	r->latency_p50_us = none ? NAN : (double)histogram_percentile(w->latency, 50) / 1e3;
	r->latency_p99_us = none ? NAN : (double)histogram_percentile(w->latency, 99) / 1e3;
	histogram_reset(w->latency);
	w->reported_received = r->received;
	w->reported_sent = r->sent;
	w->last_report = now;
	code = w->reporter(w->context, r);
	r->gap_ms = 0;
	return code;
}

static int accept_inputs(struct worker *w, struct error *err)
{
	while (w->listener >= 0) {
		int code = link_accept(w->listener, &w->inputs[w->accepted]);

		if (code < 0)
			return error_set(err, -code, "%s: cannot accept a connection: %s", w->plan->task,
					 strerror(-code));
		if (code == 0)
			return 0;
		w->open_inputs++;
		if (++w->accepted == w->plan->inputs) {
			close(w->listener);
			w->listener = -1;
		}
	}
	return 0;
}

/*
 * Makes one iteration over all connections. Returns 1 if it may continue without waiting for events, 0 if not, or
 * -errno with err set.
 */
static int turn(struct worker *w, struct ns now, struct error *err)
{
	int code = accept_inputs(w, err), more = 0;

	for (uint32_t o = 0; o < w->output_count && code == 0; o++)
		if (!w->outputs[o].connected)
			code = link_connect(w->plan, &w->outputs[o], now, err);
	/*
	 * Starts after the input served last: with a fixed order, the later inputs would get nothing while outputs are
	 * full.
	 */
	for (uint32_t i = 0, first = w->next_input; i < w->accepted && code == 0; i++) {
		uint32_t at = (first + i) % w->accepted;
		struct input *input = &w->inputs[at];
		int taken;

		if (input->fd < 0)
			continue;
		taken = take_tuples(w, input, err);
		more |= taken == BATCH;
		if (taken > 0)
			w->next_input = at + 1;
		code = taken < 0 ? taken : 0;
		if (code == 0 && has_space(w))
			code = link_read(input, err);
		w->open_inputs -= input->fd < 0;
	}
	if (code == 0)
		more |= emit(w, now) == BATCH;
	for (uint32_t o = 0; o < w->output_count && code == 0; o++)
		if (w->outputs[o].connected)
			code = link_flush(&w->outputs[o], err);
	return code < 0 ? code : more;
}

static bool is_finished(const struct worker *w)
{
	if (w->emits || w->open_inputs > 0 || w->accepted < w->plan->inputs)
		return false;
	for (uint32_t o = 0; o < w->output_count; o++)
		if (!w->outputs[o].connected || w->outputs[o].head < w->outputs[o].tail)
			return false;
	return true;
}

static bool is_connected(const struct worker *w)
{
	for (uint32_t o = 0; o < w->output_count; o++)
		if (!w->outputs[o].connected)
			return false;
	return w->accepted == w->plan->inputs;
}

static void wait_for_work(struct worker *w)
{
	bool space = has_space(w), paced = w->emits && space && w->output_count > 0 && isfinite(w->plan->MBps),
	     connecting = !is_connected(w);
	nfds_t count = 0;

	if (w->listener >= 0)
		w->polls[count++] = (struct pollfd){.fd = w->listener, .events = POLLIN};
	for (uint32_t i = 0; i < w->accepted; i++)
		if (w->inputs[i].fd >= 0 && space)
			w->polls[count++] = (struct pollfd){.fd = w->inputs[i].fd, .events = POLLIN};
	for (uint32_t o = 0; o < w->output_count; o++)
		if (w->outputs[o].connected && w->outputs[o].head < w->outputs[o].tail)
			w->polls[count++] = (struct pollfd){.fd = w->outputs[o].fd, .events = POLLOUT};
	if (w->emits && w->output_count == 0)
		paced = true;
	poll(w->polls, count, paced ? TICK_MS : connecting ? 10 * TICK_MS : IDLE_MS);
}

/*
 * Returns -ETIMEDOUT with err set if making the connections, or emptying the queues after `stop`, takes more than
 * PATIENCE_S; otherwise 0.
 */
static int check_time(struct worker *w, struct ns now, struct error *err)
{
	if (is_connected(w) && !*w->stop)
		w->deadline.v = 0;
	else if (w->deadline.v == 0)
		w->deadline = ns_add(now, (struct ns){PATIENCE_S * NS_PER_S});
	if (w->deadline.v == 0 || now.v < w->deadline.v)
		return 0;
	return error_set(err, ETIMEDOUT, "%s: %s within %d s", w->plan->task,
			 is_connected(w) ? "the queues were not emptied after the stop"
					 : "not all connections were made",
			 PATIENCE_S);
}

static int loop(struct worker *w, struct error *err)
{
	while (!is_finished(w)) {
		struct ns now = ns_now_monotonic();
		int code = turn(w, now, err), status = check_time(w, now, err);

		if (code < 0 || status < 0)
			return code < 0 ? code : status;
		if (ns_sub(now, w->last_report).v >= NS_PER_S) {
			status = report(w, now);
			if (status != 0)
				return status;
		}
		if (code == 0 && !is_finished(w))
			wait_for_work(w);
	}
	w->report.done = true;
	return report(w, ns_now_monotonic());
}

int worker_run(const struct worker_plan *plan, const volatile sig_atomic_t *stop, worker_reporter reporter,
	       void *context, struct error *err)
{
	struct worker w = {.plan = plan, .stop = stop, .reporter = reporter, .context = context, .listener = -1};
	int code = prepare(&w, err);

	if (code == 0)
		code = loop(&w, err);
	clear(&w);
	return code;
}
