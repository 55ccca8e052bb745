/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/ptp/measure.h>

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <base/array.h>

#include "ptp_socket.h"

/* What is known of one exchange; a stamp of 0 has not come yet. */
struct exchange {
	struct ns t1, t2, t3, t4;
	uint16_t sequence; /* of the request */
	/* Delay request-response: the Sync that t1 and t2 are of. */
	uint16_t sync;
	bool sync_waits; /* for its follow-up */
	struct ns sync_arrived, sync_correction;
};

static bool is_complete(const struct exchange *exchange)
{
	return exchange->t1.v && exchange->t2.v && exchange->t3.v && exchange->t4.v;
}

/* Corrections count as time spent in clocks between us: they are taken off the way that had them. */
static void take_peer(struct exchange *exchange, const struct ptp_message *message, struct ns arrived)
{
	if (message->sequence != exchange->sequence)
		return;
	if (message->type == PTP_PEER_RESPONSE && message->two_step) {
		exchange->t2 = message->stamp;
		exchange->t4 = ns_sub(arrived, message->correction);
	} else if (message->type == PTP_PEER_FOLLOW_UP && exchange->t4.v) {
		exchange->t3 = message->stamp;
		exchange->t4 = ns_sub(exchange->t4, message->correction);
	}
}

static void take_sync(struct exchange *exchange, const struct ptp_message *message, struct ns arrived)
{
	if (message->type == PTP_SYNC) {
		exchange->sync = message->sequence;
		exchange->sync_arrived = ns_sub(arrived, message->correction);
		exchange->sync_waits = message->two_step;
		if (!message->two_step) {
			exchange->t1 = message->stamp;
			exchange->t2 = exchange->sync_arrived;
		}
	} else if (message->type == PTP_FOLLOW_UP && exchange->sync_waits && message->sequence == exchange->sync) {
		exchange->sync_waits = false;
		exchange->t1 = message->stamp;
		exchange->t2 = ns_sub(exchange->sync_arrived, message->correction);
	} else if (message->type == PTP_DELAY_RESPONSE && message->sequence == exchange->sequence) {
		exchange->t4 = ns_sub(message->stamp, message->correction);
	}
}

static struct ptp_sample sample_of(enum ptp_mechanism mechanism, const struct exchange *exchange)
{
	struct ns first = ns_sub(exchange->t2, exchange->t1), second = ns_sub(exchange->t4, exchange->t3);
	struct ptp_sample sample = {first, second, {(first.v + second.v) / 2}, {(second.v - first.v) / 2}};

	if (mechanism == PTP_E2E)
		sample = (struct ptp_sample){second, first, sample.delay, {(first.v - second.v) / 2}};
	return sample;
}

static int add_sample(struct ptp_result *result, const struct ptp_sample *sample, struct error *err)
{
	struct ptp_sample *samples = array_grow(result->samples, result->count, &result->capacity, sizeof *samples);

	if (!samples)
		return error_set(err, ENOMEM, "out of memory");
	result->samples = samples;
	samples[result->count++] = *sample;
	return 0;
}

/* Messages until the exchange is complete (or, before the request, a Sync has come), for at most the timeout. */
static int collect(struct ptp_socket *ptp, struct exchange *exchange, bool sync_only, struct ptp_result *result,
		   const volatile sig_atomic_t *stop)
{
	struct ns deadline = ns_add(ns_now_monotonic(), ptp->options->timeout);

	while (!*stop && !is_complete(exchange) && !(sync_only && exchange->t1.v)) {
		struct ns left = ns_sub(deadline, ns_now_monotonic()), arrived;
		struct ptp_message message;
		int code = ptp_socket_receive(ptp, left, &message, &arrived);
		bool is_answer;

		if (code < 0)
			return code;
		if (code == 0 && left.v <= 0)
			break;
		if (code == 0)
			continue;
		is_answer = ptp_same_identity(&message.to, &ptp->identity);
		if (is_answer)
			result->peer = message.from;
		if (ptp->options->mechanism == PTP_PEER_DELAY && is_answer)
			take_peer(exchange, &message, arrived);
		else if (ptp->options->mechanism == PTP_E2E && (is_answer || message.type != PTP_DELAY_RESPONSE))
			take_sync(exchange, &message, arrived);
	}
	return 0;
}

static int exchange_once(struct ptp_socket *ptp, struct ptp_result *result, const volatile sig_atomic_t *stop,
			 struct error *err)
{
	bool peer = ptp->options->mechanism == PTP_PEER_DELAY;
	struct exchange exchange = {.sequence = (uint16_t)result->requests};
	struct ptp_message request = {.type = peer ? PTP_PEER_REQUEST : PTP_DELAY_REQUEST,
				      .domain = ptp->options->domain,
				      .sequence = exchange.sequence,
				      .from = ptp->identity};
	struct ptp_sample sample;
	int code = peer ? 0 : collect(ptp, &exchange, true, result, stop);

	result->requests++;
	if (!code)
		code = ptp_socket_send(ptp, &request, peer ? &exchange.t1 : &exchange.t3, err);
	if (!code)
		code = collect(ptp, &exchange, false, result, stop);
	if (code)
		return code;
	if (!is_complete(&exchange)) {
		result->unanswered += !*stop;
		return 0;
	}
	sample = sample_of(ptp->options->mechanism, &exchange);
	return add_sample(result, &sample, err);
}

int ptp_measure(const struct ptp_options *options, struct ptp_result *result, const volatile sig_atomic_t *stop,
		struct error *err)
{
	struct timespec pause = {options->interval.v / NS_PER_S, options->interval.v % NS_PER_S};
	struct ptp_socket ptp;
	int code = ptp_socket_open(&ptp, options, err);

	*result = (struct ptp_result){0};
	if (code)
		return code;
	while (!*stop && !code && result->requests < options->count) {
		code = exchange_once(&ptp, result, stop, err);
		if (!code && !*stop && result->requests < options->count)
			nanosleep(&pause, NULL);
	}
	ptp_socket_close(&ptp);
	return code;
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t value_of(const struct ptp_sample *sample, enum ptp_quantity quantity)
{
	const int64_t values[PTP_QUANTITIES] = {sample->delay.v, sample->offset.v, sample->out.v, sample->back.v};

	return values[quantity];
}

int ptp_figures(const struct ptp_result *result, enum ptp_quantity quantity, struct ptp_figures *figures)
{
	int64_t *values = malloc(result->count * sizeof *values);
	size_t last = result->count - 1;

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < result->count; i++)
		values[i] = value_of(&result->samples[i], quantity);
	qsort(values, result->count, sizeof *values, ascending);
	*figures = (struct ptp_figures){
		.min_us = ns_to_us((struct ns){values[0]}),
		.p50_us = ns_to_us((struct ns){values[last / 2]}),
		.p99_us = ns_to_us((struct ns){values[last - last / 100]}),
		.max_us = ns_to_us((struct ns){values[last]}),
	};
	free(values);
	return 0;
}

void ptp_result_free(struct ptp_result *result)
{
	free(result->samples);
	*result = (struct ptp_result){0};
}
