/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/ptp/measure.h>

#include <errno.h>
#include <stdlib.h>

#include <base/array.h>
#include <base/quantile.h>

#include "ptp_socket.h"

/* A measurement in progress. */
struct measurement {
	const struct ptp_options *options;
	const struct ptp_link *link;
	struct ptp_result *result;
	const volatile sig_atomic_t *stop;
	bool other_known;  /* result->peer is set: messages of other clocks are ignored */
	bool unstamped;    /* the request was answered, but the answer's arrival was not stamped */
	uint16_t sequence; /* of the next request */
};

static const struct ns stamps_pause = {NS_PER_MS};

/*
 * Returns true if the message is from the measured clock: the first one that answers or sends a Sync. The stamps of two
 * clocks must not be mixed.
 */
static bool is_of_other(struct measurement *measurement, const struct ptp_message *message)
{
	if (!measurement->other_known) {
		measurement->result->peer = message->from;
		measurement->other_known = true;
	}
	return ptp_same_identity(&measurement->result->peer, &message->from);
}

static bool is_event(const struct ptp_message *message)
{
	return message->type == PTP_SYNC || message->type == PTP_PEER_RESPONSE;
}

static void take(struct measurement *measurement, struct ptp_exchange *exchange, const struct ptp_message *message,
		 const struct ptp_moment *arrived)
{
	const struct ptp_identity *us = &measurement->link->identity;
	bool is_for_all = message->type == PTP_SYNC || message->type == PTP_FOLLOW_UP;

	if (message->domain != measurement->options->domain || ptp_same_identity(&message->from, us))
		return;
	if (is_for_all ? exchange->mechanism == PTP_PEER_DELAY : !ptp_same_identity(&message->to, us))
		return;
	if (is_event(message) && !arrived->by[PTP_SOFTWARE].valid)
		measurement->unstamped = !is_for_all;
	else if (is_of_other(measurement, message))
		ptp_exchange_take(exchange, message, arrived);
}

static bool has_what_is_wanted(const struct ptp_exchange *exchange, bool sync_only)
{
	return sync_only ? exchange->answer.known : ptp_exchange_is_whole(exchange);
}

/*
 * Receives messages for at most `timeout`. Returns earlier in two cases:
 *   - the exchange is complete or, with sync_only, a Sync and its stamp were received
 *   - an answer was not stamped
 *
 * If exchange is NULL, discards all messages that are received in this time.
 */
static int collect(struct measurement *measurement, struct ptp_exchange *exchange, bool sync_only, struct ns timeout)
{
	struct ns deadline = ns_add(ns_now_monotonic(), timeout);

	while (!*measurement->stop &&
	       !(exchange && (measurement->unstamped || has_what_is_wanted(exchange, sync_only)))) {
		struct ns left = ns_sub(deadline, ns_now_monotonic());
		struct ptp_message message;
		struct ptp_moment arrived;
		int code = left.v > 0 ? measurement->link->receive(measurement->link->context, left, &message, &arrived)
				      : 0;

		if (code < 0)
			return code;
		if (left.v <= 0)
			break;
		if (code > 0 && exchange)
			take(measurement, exchange, &message, &arrived);
	}
	return 0;
}

static int add_sample(struct ptp_samples *samples, const struct ptp_sample *sample, struct error *err)
{
	struct ptp_sample *items = array_grow(samples->items, samples->count, &samples->capacity, sizeof *items);

	if (!items)
		return error_set(err, ENOMEM, "out of memory");
	samples->items = items;
	items[samples->count++] = *sample;
	return 0;
}

static int count(struct measurement *measurement, const struct ptp_exchange *exchange, struct error *err)
{
	struct ptp_result *result = measurement->result;
	struct ptp_sample software, hardware;
	int code;

	if (!ptp_exchange_sample(exchange, PTP_SOFTWARE, &software)) {
		result->unanswered += !*measurement->stop;
		result->unsynced +=
			!*measurement->stop && exchange->mechanism != PTP_PEER_DELAY && !exchange->answer.known;
		return 0;
	}
	result->one_step += software.one_step;
	code = add_sample(&result->by[PTP_SOFTWARE], &software, err);
	if (code || !result->has_hardware)
		return code;
	if (!ptp_exchange_sample(exchange, PTP_HARDWARE, &hardware)) {
		result->unstamped++;
		return 0;
	}
	if (hardware.round_trip.v < 0 || hardware.round_trip.v > software.round_trip.v) {
		result->outliers++;
		return 0;
	}
	return add_sample(&result->by[PTP_HARDWARE], &hardware, err);
}

static int ask(struct measurement *measurement, struct ptp_exchange *exchange, struct error *err)
{
	const struct ptp_options *options = measurement->options;
	bool peer = options->mechanism == PTP_PEER_DELAY;
	struct ptp_message request = {.type = peer ? PTP_PEER_REQUEST : PTP_DELAY_REQUEST,
				      .domain = options->domain,
				      .sequence = measurement->sequence++,
				      .from = measurement->link->identity};
	int code;

	*exchange = (struct ptp_exchange){.mechanism = options->mechanism, .sequence = request.sequence};
	measurement->other_known = measurement->result->by[PTP_SOFTWARE].count > 0;
	measurement->unstamped = false;
	code = peer ? 0 : collect(measurement, exchange, true, options->timeout);
	if (!code)
		code = measurement->link->send(measurement->link->context, &request, &exchange->left, err);
	return code ? code : collect(measurement, exchange, false, options->timeout);
}

/*
 * The kernel begins to stamp arrivals only some time after the first socket requests it (net_enable_timestamp() uses a
 * work queue). So a request is repeated, for at most the timeout, if its answer was not stamped.
 */
static int exchange_once(struct measurement *measurement, struct error *err)
{
	struct ns deadline = ns_add(ns_now_monotonic(), measurement->options->timeout);
	struct ptp_exchange exchange;
	int code;

	measurement->result->requests++;
	code = ask(measurement, &exchange, err);
	while (!code && measurement->unstamped && !*measurement->stop && ns_now_monotonic().v < deadline.v) {
		code = collect(measurement, NULL, false, stamps_pause);
		code = code ? code : ask(measurement, &exchange, err);
	}
	return code ? code : count(measurement, &exchange, err);
}

int ptp_measure(const struct ptp_options *options, const struct ptp_link *link, struct ptp_result *result,
		const volatile sig_atomic_t *stop, struct error *err)
{
	struct measurement measurement = {.options = options, .link = link, .result = result, .stop = stop};
	int code = 0;

	*result = (struct ptp_result){.has_hardware = link->has_hardware};
	while (!*stop && !code && result->requests < options->count) {
		code = exchange_once(&measurement, err);
		if (!code && !*stop && result->requests < options->count)
			code = collect(&measurement, NULL, false, options->interval);
	}
	return code;
}

int ptp_measure_interface(const struct ptp_options *options, struct ptp_result *result,
			  const volatile sig_atomic_t *stop, struct error *err)
{
	struct ptp_socket ptp;
	int code = ptp_socket_open(&ptp, options, err);

	*result = (struct ptp_result){0};
	if (code)
		return code;
	code = ptp_measure(options, &ptp.link, result, stop, err);
	ptp_socket_close(&ptp);
	return code;
}

static double value_of(const struct ptp_sample *sample, enum ptp_quantity quantity)
{
	const double values[PTP_QUANTITIES] = {ns_to_us(sample->round_trip) / 2, ns_to_us(sample->offset),
					       ns_to_us(sample->out), ns_to_us(sample->back)};

	return values[quantity];
}

int ptp_figures(const struct ptp_samples *samples, enum ptp_quantity quantity, struct ptp_figures *figures)
{
	double *values = calloc(samples->count + 1, sizeof *values);
	size_t number = 0, last;

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < samples->count; i++)
		if (quantity == PTP_DELAY || !samples->items[i].delay_only)
			values[number++] = value_of(&samples->items[i], quantity);
	quantile_median(values, number); /* sorts */
	last = number ? number - 1 : 0;
	*figures = (struct ptp_figures){
		.min_us = values[0],
		.p50_us = values[last / 2],
		.p99_us = values[last - last / 100],
		.max_us = values[last],
	};
	free(values);
	return number ? 0 : -ENODATA;
}

void ptp_result_free(struct ptp_result *result)
{
	for (int i = 0; i < PTP_STAMPS; i++)
		free(result->by[i].items);
	*result = (struct ptp_result){0};
}
