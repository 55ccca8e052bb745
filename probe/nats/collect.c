/* SPDX-License-Identifier: BSD-3-Clause */
#include "link_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <base/log.h>
#include <model/peers.h>
#include <probe/nats/bus.h>

enum {
	LOOK_MS = 100,     /* interval of checks of the stop flag */
	BATCH_ROWS = 4096, /* number of messages */
};

struct collector {
	const struct mesh_collect_options *options;
	struct mesh_collect_counts *counts;
	struct latency_matrix *live;
	struct latency_matrix *known; /* the peers' names, as a hash set; NULL = all hosts are accepted */
	struct mesh_link link;
	struct mesh_message *batch; /* [BATCH_ROWS] */
	size_t count;
	bool maxima_old; /* rows or statuses have changed since the maxima were computed */
	struct ns maxima_due;
};

static void refuse(struct collector *collector, enum mesh_refusal why, const char *subject, const char *text)
{
	if (collector->counts->refused[why]++ == 0)
		log_warning("row refused (%s): %s: %s; further refusals for this reason are only counted",
			    mesh_refusal_names[why], subject, text);
}

/* Reads the names of the peers into a matrix without pairs, which serves as a hash set. */
static struct latency_matrix *read_known(const char *path, struct error *err)
{
	struct latency_matrix *known = NULL;
	struct peers peers = {0};

	if (peers_read(path, &peers, err) == 0) {
		known = latency_matrix_create();
		for (size_t i = 0; known && i < peers.count; i++) {
			if (latency_matrix_add_host(known, peers.items[i].name) >= 0)
				continue;
			latency_matrix_destroy(known);
			known = NULL;
		}
		if (!known)
			error_set(err, ENOMEM, "out of memory");
	}
	peers_free(&peers);
	return known;
}

static bool is_known(const struct collector *collector, const char *name)
{
	return !collector->known || latency_matrix_find_host(collector->known, name) >= 0;
}

/* Appends the message to the batch, or refuses it. */
static void take_message(struct collector *collector, const natsMsg *raw)
{
	struct mesh_message *message = &collector->batch[collector->count];
	const char *subject = natsMsg_GetSubject(raw);
	struct error err = {0};
	enum mesh_refusal why = mesh_message_decode(collector->options->bus.prefix, subject, natsMsg_GetData(raw),
						    (size_t)natsMsg_GetDataLength(raw), ns_now_wall(), message, &err);

	if (!why && !(is_known(collector, message->source.name) && is_known(collector, message->destination.name))) {
		why = MESH_REFUSAL_HOST;
		error_set(&err, EINVAL, "not in %s", collector->options->peers_path);
	}
	if (why)
		refuse(collector, why, subject, err.text);
	else
		collector->count++;
}

/*
 * True if the live matrix has this row of the pair, or a later one. A row that is far in the future was written before
 * our clock was set back, and does not count.
 */
static bool has_row(const struct latency_matrix *live, const struct latency_entry *entry)
{
	struct latency_entry old;

	return latency_matrix_load_pair(live, entry->source, entry->destination, &old) &&
	       old.updated_at.v >= entry->updated_at.v &&
	       old.updated_at.v - ns_now_wall().v <= MESH_FUTURE_S * NS_PER_S;
}

static void put_row(struct collector *collector, struct mesh_message *message)
{
	const struct mesh_place *from = &message->source, *to = &message->destination;
	int64_t source = latency_live_add_host(collector->live, from->name, from->rack, from->pod);
	int64_t destination = latency_live_add_host(collector->live, to->name, to->rack, to->pod);
	int code = -ENOSPC;

	if (source >= 0 && destination >= 0) {
		message->entry.source = (uint32_t)source;
		message->entry.destination = (uint32_t)destination;
		if (has_row(collector->live, &message->entry)) {
			collector->counts->old++;
			return;
		}
		code = latency_matrix_set(collector->live, &message->entry);
	}
	if (code)
		refuse(collector, MESH_REFUSAL_FULL, from->name, "the live matrix takes no more hosts or racks");
	else
		collector->counts->taken++;
}

/*
 * Computes the maxima between racks, which takes 0.1 s for ten million pairs. If the previous computation took a time
 * T, does nothing until 10 T after its beginning, so that the computations take at most a tenth of the time.
 */
static int update_maxima(struct collector *collector, struct error *err)
{
	struct ns begin = ns_now_monotonic();

	if (!collector->maxima_old || begin.v < collector->maxima_due.v)
		return 0;
	if (latency_live_update_maxima(collector->live) != 0)
		return error_set(err, ENOMEM, "out of memory");
	collector->maxima_old = false;
	collector->maxima_due.v = begin.v + 10 * (ns_now_monotonic().v - begin.v);
	return 0;
}

static int put_batch(struct collector *collector, struct error *err)
{
	uint64_t before = collector->counts->taken;
	int code = collector->count || collector->maxima_old ? latency_live_begin(collector->live, err) : 0;

	if (code || !(collector->count || collector->maxima_old))
		return code;
	for (size_t i = 0; i < collector->count; i++)
		put_row(collector, &collector->batch[i]);
	collector->count = 0;
	collector->maxima_old |= collector->counts->taken > before;
	code = update_maxima(collector, err);
	latency_live_end(collector->live);
	return code;
}

/* Handles the status of a host, after writing the rows received before it. */
static int take_status(struct collector *collector, const natsMsg *raw, struct error *err)
{
	const char *subject = natsMsg_GetSubject(raw);
	char host[LATENCY_NAME_BYTES] = "";
	enum latency_host_status status;
	struct error reason = {0};
	enum mesh_refusal why = mesh_status_decode(collector->options->bus.prefix, subject, natsMsg_GetData(raw),
						   (size_t)natsMsg_GetDataLength(raw), host, &status, &reason);
	int code = put_batch(collector, err);
	int64_t found;

	if (code)
		return code;
	found = why ? -1 : latency_matrix_find_host(collector->live, host);
	if (!why && found < 0 && status == LATENCY_HOST_ACTIVE) /* as every host is at first */
		return 0;
	if (!why && found < 0) {
		why = MESH_REFUSAL_HOST;
		error_set(&reason, EINVAL, "no row with this host was received yet");
	}
	if (why) {
		refuse(collector, why, subject, reason.text);
		return 0;
	}
	code = latency_live_begin(collector->live, err);
	if (!code) {
		latency_live_set_status(collector->live, (uint32_t)found, status);
		latency_live_end(collector->live);
		collector->maxima_old = true; /* a host that is gone does not count in the maxima of its rack */
		collector->counts->statuses++;
	}
	return code;
}

/*
 * Waits for a message, adds those that are already queued, and writes them together. Refused ones count, too: a flood
 * of them must not keep the others from the matrix.
 */
static int step(struct collector *collector, struct error *err)
{
	int64_t wait_ms = LOOK_MS;

	for (int i = 0; i < BATCH_ROWS; i++) {
		natsMsg *raw = NULL;
		int code = mesh_link_next(&collector->link, wait_ms, &raw, err);

		if (code)
			return code;
		if (!raw)
			break;
		if (mesh_status_is(natsMsg_GetSubject(raw)))
			code = take_status(collector, raw, err);
		else if (!mesh_membership_is(natsMsg_GetSubject(raw))) /* for hosts and their keeper */
			take_message(collector, raw);
		natsMsg_Destroy(raw);
		if (code)
			return code;
		wait_ms = 0; /* only messages that are already queued */
	}
	return put_batch(collector, err);
}

static int prepare(struct collector *collector, struct error *err)
{
	const struct mesh_collect_options *options = collector->options;

	if (options->peers_path) {
		collector->known = read_known(options->peers_path, err);
		if (!collector->known)
			return error_code(err, ENOMEM);
	}
	collector->batch = calloc(BATCH_ROWS, sizeof *collector->batch);
	if (!collector->batch)
		return error_set(err, ENOMEM, "out of memory");
	collector->live = latency_live_open(options->live_path, &options->size, err);
	return collector->live ? 0 : error_code(err, EIO);
}

static int collect(struct collector *collector, const volatile sig_atomic_t *stop, struct error *err)
{
	struct mesh_recorder_options record = collector->options->record;
	struct mesh_recorder *recorder = NULL;
	char subject[MESH_PREFIX_BYTES + 2];
	int64_t dropped = 0;
	int code = 0;

	record.live_path = collector->options->live_path;
	if (record.store_path) {
		recorder = mesh_recorder_start(&record, err);
		code = recorder ? 0 : error_code(err, EIO);
	}
	code = code ? code : mesh_link_open(&collector->link, &collector->options->bus, stop, err);
	snprintf(subject, sizeof subject, "%s.>", collector->options->bus.prefix);
	code = code || *stop ? code : mesh_link_subscribe(&collector->link, subject, err);
	while (!code && !*stop)
		code = step(collector, err);
	if (collector->link.subscription &&
	    natsSubscription_GetDropped(collector->link.subscription, &dropped) == NATS_OK)
		collector->counts->dropped = (uint64_t)dropped;
	mesh_link_close(&collector->link);
	mesh_recorder_stop(recorder);
	return code;
}

int mesh_collect(const struct mesh_collect_options *options, const volatile sig_atomic_t *stop,
		 struct mesh_collect_counts *counts, struct error *err)
{
	struct collector collector = {.options = options, .counts = counts};
	int code = prepare(&collector, err);

	if (!code)
		code = collect(&collector, stop, err);
	free(collector.batch);
	latency_matrix_destroy(collector.live);
	latency_matrix_destroy(collector.known);
	return code;
}

void mesh_collect_counts_print(const struct mesh_collect_counts *counts, FILE *out)
{
	fprintf(out, "%" PRIu64 " rows stored, %" PRIu64 " not newer and ignored, %" PRIu64 " dropped messages\n",
		counts->taken, counts->old, counts->dropped);
	for (int i = MESH_REFUSAL_NONE + 1; i < MESH_REFUSALS; i++)
		if (counts->refused[i])
			fprintf(out, "refused, %s: %" PRIu64 "\n", mesh_refusal_names[i], counts->refused[i]);
}

json_t *mesh_publish_to_json(uint64_t rows)
{
	return json_pack("{s:s, s:I}", "schema", "nomora.mesh_publish/1", "published", (json_int_t)rows);
}

json_t *mesh_collect_counts_to_json(const struct mesh_collect_counts *counts)
{
	json_t *refused = json_object();

	for (int i = MESH_REFUSAL_NONE + 1; i < MESH_REFUSALS; i++)
		json_object_set_new(refused, mesh_refusal_names[i], json_integer((json_int_t)counts->refused[i]));
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:o}", "schema", "nomora.mesh_collect/1", "taken",
			 (json_int_t)counts->taken, "not_newer", (json_int_t)counts->old, "statuses",
			 (json_int_t)counts->statuses, "dropped", (json_int_t)counts->dropped, "refused", refused);
}
