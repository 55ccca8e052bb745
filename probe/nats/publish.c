/* SPDX-License-Identifier: BSD-3-Clause */
#include "link_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/ns.h>

enum { LOOK_MS = 100 }; /* interval of checks of the stop flag */

/* The row that was last published for a position of the matrix; at: updated_at of this row, -1 = none. */
struct sent {
	uint32_t source, destination;
	struct ns at;
};

struct publisher {
	const struct mesh_publish_options *options;
	const struct latency_matrix *live;
	struct mesh_link link;
	struct sent *sent; /* [capacity] by position in the matrix */
	size_t capacity;
	uint8_t *statuses; /* by host: the status that collectors know, at first ACTIVE; UINT8_MAX = must be published
			      again */
	size_t status_count, status_capacity;
	unsigned connects; /* value of link.connects when the entries of `sent` were last reset */
	struct ns all_due;
	uint64_t rows;
};

static void set_place(const struct latency_matrix *live, uint32_t host, struct mesh_place *place)
{
	uint32_t rack = latency_live_rack_of(live, host);

	strncpy(place->name, latency_matrix_host(live, host), sizeof place->name - 1);
	if (rack == LATENCY_NO_RACK)
		return;
	strncpy(place->rack, latency_live_rack_name(live, rack), sizeof place->rack - 1);
	strncpy(place->pod, latency_live_pod_name(live, rack), sizeof place->pod - 1);
}

static natsStatus publish_row(struct publisher *publisher, const struct latency_entry *entry)
{
	struct mesh_message message = {.entry = *entry, .sent_at = ns_now_wall()};
	char subject[MESH_SUBJECT_BYTES], *payload;
	natsStatus status;

	set_place(publisher->live, entry->source, &message.source);
	set_place(publisher->live, entry->destination, &message.destination);
	payload = mesh_message_encode(&message, publisher->options->bus.prefix, subject);
	if (!payload)
		return NATS_NO_MEMORY;
	status = natsConnection_PublishString(publisher->link.connection, subject, payload);
	free(payload);
	return status;
}

static int grow(struct publisher *publisher, size_t count, struct error *err)
{
	size_t before = publisher->capacity;
	struct sent *sent = array_reserve(publisher->sent, count, &publisher->capacity, sizeof *sent);

	if (!sent)
		return error_set(err, ENOMEM, "out of memory");
	for (size_t i = before; i < publisher->capacity; i++)
		sent[i].at.v = -1;
	publisher->sent = sent;
	return 0;
}

/*
 * Marks all rows as unpublished every all_s seconds, and after a reconnection: it is unknown which rows were lost with
 * the old connection.
 */
static void choose_all(struct publisher *publisher)
{
	unsigned connects = atomic_load(&publisher->link.connects);
	struct ns now = ns_now_monotonic();

	if (connects == publisher->connects && now.v < publisher->all_due.v)
		return;
	publisher->connects = connects;
	publisher->all_due.v = now.v + (int64_t)(publisher->options->all_s * 1e9);
	for (size_t i = 0; i < publisher->capacity; i++)
		publisher->sent[i].at.v = -1;
	for (size_t i = 0; i < publisher->status_count; i++)
		if (publisher->statuses[i] != LATENCY_HOST_ACTIVE)
			publisher->statuses[i] = UINT8_MAX;
}

/*
 * True if this row of the matrix was published. Compares the hosts, too: if the old pair was evicted, the position may
 * hold another pair now.
 */
static bool was_sent(const struct sent *sent, const struct latency_entry *entry)
{
	return entry->updated_at.v == sent->at.v && entry->source == sent->source &&
	       entry->destination == sent->destination;
}

/*
 * Collectors assume that a host is active until they learn another status. So the status `active` is sent only when a
 * host becomes active again. Other statuses are repeated when all rows are published again.
 */
static int publish_statuses(struct publisher *publisher, struct error *err)
{
	size_t count = latency_matrix_hosts(publisher->live);
	uint8_t *statuses = array_reserve(publisher->statuses, count, &publisher->status_capacity, sizeof *statuses);
	natsStatus sent = NATS_OK;

	if (!statuses)
		return error_set(err, ENOMEM, "out of memory");
	if (count > publisher->status_count)
		memset(statuses + publisher->status_count, LATENCY_HOST_ACTIVE, count - publisher->status_count);
	publisher->statuses = statuses;
	publisher->status_count = count;
	for (uint32_t host = 0; sent == NATS_OK && host < count; host++) {
		enum latency_host_status status = latency_live_status(publisher->live, host);
		char subject[MESH_SUBJECT_BYTES], *payload;

		if ((uint8_t)status == publisher->statuses[host] || status > LATENCY_HOST_GONE)
			continue;
		payload = mesh_status_encode(latency_matrix_host(publisher->live, host), status,
					     publisher->options->bus.prefix, subject);
		if (!payload)
			return error_set(err, ENOMEM, "out of memory");
		sent = natsConnection_PublishString(publisher->link.connection, subject, payload);
		free(payload);
		if (sent == NATS_OK)
			publisher->statuses[host] = (uint8_t)status;
	}
	return 0;
}

/* Publishes the rows that have changed. A row that cannot be published now is tried again in the next pass. */
static int pass(struct publisher *publisher, const volatile sig_atomic_t *stop, struct error *err)
{
	size_t count = latency_matrix_count(publisher->live);
	natsStatus status = NATS_OK;
	int code = mesh_link_check(&publisher->link, err);

	if (code || natsConnection_Status(publisher->link.connection) != NATS_CONN_STATUS_CONNECTED)
		return code;
	code = grow(publisher, count, err);
	if (code)
		return code;
	choose_all(publisher);
	for (size_t i = 0; status == NATS_OK && !*stop && i < count; i++) {
		struct latency_entry entry;

		if (!latency_matrix_load(publisher->live, i, &entry) || was_sent(&publisher->sent[i], &entry))
			continue;
		status = publish_row(publisher, &entry);
		if (status == NATS_OK) {
			publisher->sent[i] = (struct sent){entry.source, entry.destination, entry.updated_at};
			publisher->rows++;
		}
	}
	if (status == NATS_NO_MEMORY)
		return error_set(err, ENOMEM, "out of memory");
	return status == NATS_OK ? publish_statuses(publisher, err) : 0;
}

static void wait_until(struct ns due, const volatile sig_atomic_t *stop)
{
	for (;;) {
		int64_t left_ms = (due.v - ns_now_monotonic().v) / NS_PER_MS;

		if (*stop || left_ms <= 0)
			return;
		nats_Sleep(left_ms < LOOK_MS ? left_ms : LOOK_MS);
	}
}

int mesh_publish(const struct mesh_publish_options *options, const volatile sig_atomic_t *stop, uint64_t *rows,
		 struct error *err)
{
	struct latency_matrix *live = latency_live_await(options->live_path, stop, err);
	struct publisher publisher = {.options = options, .live = live};
	int code = live ? mesh_link_open(&publisher.link, &options->bus, stop, err) : error_code(err, EIO);

	*rows = 0;
	if (!live && *stop)
		return 0;
	while (!code && !*stop) {
		struct ns due = {ns_now_monotonic().v + (int64_t)(options->every_s * 1e9)};

		code = pass(&publisher, stop, err);
		if (!code)
			wait_until(due, stop);
	}
	if (live)
		mesh_link_close(&publisher.link);
	free(publisher.sent);
	free(publisher.statuses);
	latency_matrix_destroy(live);
	*rows = publisher.rows;
	return code;
}
