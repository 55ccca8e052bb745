/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/rtt/capture.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <probe/rtt/session.h>
#include <probe/rtt/frame.h>
#include <probe/rtt/stamp.h>

#include "rtt_priv.h"

const char *const capture_protocol_names[] = {"stamp", "icmp", "tcp", "ptp", NULL};

enum { REMEMBERED = 1 << 18, SLOTS_MINIMUM = 1024 };

int capture_read_protocols(const char *list, unsigned int *protocols, struct error *err)
{
	char text[64], *fields[CAPTURE_PROTOCOLS];
	size_t count;

	*protocols = list ? 0 : 1U << CAPTURE_STAMP;
	if (!list)
		return 0;
	snprintf(text, sizeof text, "%s", list);
	count = file_split(text, ',', fields, CAPTURE_PROTOCOLS);
	for (size_t i = 0; i < count; i++) {
		int at = 0;

		while (at < CAPTURE_PROTOCOLS &&
		       (i >= CAPTURE_PROTOCOLS || strcmp(capture_protocol_names[at], fields[i]) != 0))
			at++;
		if (at == CAPTURE_PROTOCOLS)
			return error_set(err, EINVAL, "expected names of stamp, icmp, tcp, ptp, found '%.40s'", list);
		*protocols |= 1U << at;
	}
	return 0;
}

/*
 * Identifies an exchange: an answer contains all of these fields of its request. (Not the SSID: TWAMP's reflectors set
 * it to 0.)
 */
struct exchange_key {
	ip_address source, destination;
	uint32_t sequence;
	uint16_t source_port, destination_port; /* destination_port: only for TCP */
	int64_t request_sent_at_ns;             /* ICMP: the first bytes of the data, where ping writes its stamp */
	enum capture_protocol protocol;
};

struct pending {
	bool used, answered;
	struct exchange_key key;
	struct ns requested_at;
};

/* Hash table with open addressing; grows when it is half full. */
struct table {
	struct pending *slots;
	size_t capacity, used;
};

/*
 * Keeps requests after their answer, too, to distinguish a second answer from an orphan. `young` contains the newest
 * requests; when their number is REMEMBERED, `young` replaces `old`.
 */
struct pairing {
	struct table young, old;
	struct capture_ptp *ptp; /* NULL: PTP was not requested */
	uint16_t port;
	unsigned int protocols;
	capture_visit visit;
	void *context;
	struct capture_counters *counters;
	struct error *err;
};

static bool same_key(const struct exchange_key *a, const struct exchange_key *b)
{
	return a->source == b->source && a->destination == b->destination && a->sequence == b->sequence &&
	       a->source_port == b->source_port && a->destination_port == b->destination_port &&
	       a->request_sent_at_ns == b->request_sent_at_ns && a->protocol == b->protocol;
}

static size_t hash_key(const struct exchange_key *key)
{
	ip_address hosts = key->source * 3 + key->destination;
	uint64_t x = ((uint64_t)hosts ^ (uint64_t)(hosts >> 64)) * UINT64_C(0x9e3779b97f4a7c15);

	x ^= ((uint64_t)key->sequence << 32 | (uint64_t)key->source_port << 16 | key->destination_port) *
	     UINT64_C(0xc2b2ae3d27d4eb4f);
	x ^= (uint64_t)key->request_sent_at_ns;
	x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
	return (size_t)(x ^ x >> 33);
}

/* Returns the slot of the key or, if the key is not in the table, the free slot for it. */
static struct pending *find_slot(const struct table *table, const struct exchange_key *key)
{
	size_t at = hash_key(key) & (table->capacity - 1);

	while (table->slots[at].used && !same_key(&table->slots[at].key, key))
		at = (at + 1) & (table->capacity - 1);
	return &table->slots[at];
}

/* Returns the request with this key, or NULL. */
static struct pending *find(const struct pairing *pairing, const struct exchange_key *key)
{
	const struct table *tables[] = {&pairing->young, &pairing->old};

	for (int i = 0; i < 2; i++) {
		struct pending *slot = tables[i]->capacity ? find_slot(tables[i], key) : NULL;

		if (slot && slot->used)
			return slot;
	}
	return NULL;
}

static int reserve(struct pairing *pairing)
{
	struct table *young = &pairing->young, grown = {0};

	if (young->used == REMEMBERED) {
		free(pairing->old.slots);
		pairing->old = *young;
		*young = (struct table){0};
	}
	if (young->used * 2 < young->capacity)
		return 0;
	grown = (struct table){.capacity = young->capacity ? young->capacity * 2 : SLOTS_MINIMUM, .used = young->used};
	grown.slots = calloc(grown.capacity, sizeof *grown.slots);
	if (!grown.slots)
		return error_set(pairing->err, ENOMEM, "out of memory after %zu requests", young->used);
	for (size_t i = 0; i < young->capacity; i++)
		if (young->slots[i].used)
			*find_slot(&grown, &young->slots[i].key) = young->slots[i];
	free(young->slots);
	*young = grown;
	return 0;
}

static int add_request(struct pairing *pairing, const struct exchange_key *key, struct ns at)
{
	if (find(pairing, key)) {
		/* Several TCP segments within a millisecond have equal stamps, so an equal key does not mean a copy. */
		pairing->counters->repeated += key->protocol != CAPTURE_TCP;
		return 0;
	}
	if (reserve(pairing))
		return -ENOMEM;
	*find_slot(&pairing->young, key) = (struct pending){.used = true, .key = *key, .requested_at = at};
	pairing->young.used++;
	pairing->counters->requests++;
	return 0;
}

static int add_answer(struct pairing *pairing, const struct exchange_key *key, struct ns at, struct ns residence)
{
	struct pending *slot = find(pairing, key);
	struct capture_sample sample;

	if (slot && slot->answered) {
		pairing->counters->repeated += key->protocol != CAPTURE_TCP;
		return 0;
	}
	if (!slot && key->protocol == CAPTURE_TCP) /* not an orphan: it acknowledges a segment without data, or one sent
						      before the capture began */
		return 0;
	pairing->counters->answers++;
	if (!slot) {
		pairing->counters->orphans++;
		return 0;
	}
	slot->answered = true;
	pairing->counters->pairs++;
	sample = (struct capture_sample){
		.source = key->source,
		.destination = key->destination,
		.protocol = key->protocol,
		.source_port = key->source_port,
		.sequence = key->sequence,
		.requested_at = slot->requested_at,
		.sent_at = {key->request_sent_at_ns},
		.gross = ns_sub(at, slot->requested_at),
		.residence = residence,
	};
	return pairing->visit(pairing->context, &sample);
}

static int take_request(struct pairing *pairing, const struct frame *frame, struct ns at)
{
	struct stamp_request request;

	if (stamp_read_request(frame->payload, frame->payload_bytes, &request)) {
		pairing->counters->broken++;
		return 0;
	}
	return add_request(pairing,
			   &(struct exchange_key){.source = frame->source_address,
						  .destination = frame->destination_address,
						  .sequence = request.sequence,
						  .source_port = frame->source_port,
						  .request_sent_at_ns = request.sent_at.v},
			   at);
}

static int take_answer(struct pairing *pairing, const struct frame *frame, struct ns at)
{
	struct stamp_reply reply;

	if (stamp_read_reply(frame->payload, frame->payload_bytes, &reply)) {
		pairing->counters->broken++;
		return 0;
	}
	return add_answer(pairing,
			  &(struct exchange_key){.source = frame->destination_address,
						 .destination = frame->source_address,
						 .sequence = reply.request_sequence,
						 .source_port = frame->destination_port,
						 .request_sent_at_ns = reply.request_sent_at.v},
			  at, ns_sub(reply.sent_at, reply.received_at));
}

static int take_echo(struct pairing *pairing, const struct frame *frame, struct ns at)
{
	bool asks = frame->kind == FRAME_ECHO_REQUEST;
	struct exchange_key key = {
		.source = asks ? frame->source_address : frame->destination_address,
		.destination = asks ? frame->destination_address : frame->source_address,
		.sequence = frame->sequence,
		.source_port = frame->source_port,
		.protocol = CAPTURE_ICMP,
	};

	memcpy(&key.request_sent_at_ns, frame->payload,
	       frame->payload_bytes < sizeof key.request_sent_at_ns ? frame->payload_bytes
								    : sizeof key.request_sent_at_ns);
	return asks ? add_request(pairing, &key, at) : add_answer(pairing, &key, at, (struct ns){0});
}

/*
 * A segment with data or SYN is a request, identified by its TSval, because it will be acknowledged. Any segment is an
 * answer, identified by its TSecr (the method of pping).
 */
static int take_tcp(struct pairing *pairing, const struct frame *frame, struct ns at)
{
	struct exchange_key asked = {
		.source = frame->destination_address,
		.destination = frame->source_address,
		.sequence = frame->echoed,
		.source_port = frame->destination_port,
		.destination_port = frame->source_port,
		.protocol = CAPTURE_TCP,
	};
	struct exchange_key asks = {
		.source = frame->source_address,
		.destination = frame->destination_address,
		.sequence = frame->sequence,
		.source_port = frame->source_port,
		.destination_port = frame->destination_port,
		.protocol = CAPTURE_TCP,
	};
	int code = add_answer(pairing, &asked, at, (struct ns){0});

	return code || !frame->payload_bytes ? code : add_request(pairing, &asks, at);
}

static bool is_wanted(const struct pairing *pairing, enum capture_protocol protocol)
{
	return pairing->protocols >> protocol & 1;
}

static int take_packet(void *context, const struct frame *packet, struct ns at)
{
	struct pairing *pairing = context;
	struct frame frame = *packet;

	pairing->counters->packets++;
	if (frame.unfinished) /* captured on the sending host: a NIC would have completed the checksum */
		frame.kind = FRAME_UDP;
	if (frame.kind == FRAME_BROKEN)
		pairing->counters->broken++;
	if (frame.kind == FRAME_TCP && is_wanted(pairing, CAPTURE_TCP))
		return frame.has_stamps ? take_tcp(pairing, &frame, at) : 0;
	if ((frame.kind == FRAME_ECHO_REQUEST || frame.kind == FRAME_ECHO_REPLY) && is_wanted(pairing, CAPTURE_ICMP))
		return take_echo(pairing, &frame, at);
	if (pairing->ptp && capture_ptp_is(&frame))
		return capture_ptp_take(pairing->ptp, &frame, at);
	if (frame.kind != FRAME_UDP || !is_wanted(pairing, CAPTURE_STAMP))
		return 0;
	if (frame.destination_port == pairing->port)
		return take_request(pairing, &frame, at);
	if (frame.source_port == pairing->port)
		return take_answer(pairing, &frame, at);
	return 0;
}

/* Takes ownership of `packets`, which may be NULL with err set. */
int capture_read(struct packets *packets, uint16_t port, unsigned int protocols, capture_visit visit, void *context,
		 struct capture_counters *counters, struct error *err)
{
	struct pairing pairing = {.port = port,
				  .protocols = protocols,
				  .visit = visit,
				  .context = context,
				  .counters = counters,
				  .err = err};
	int code = packets ? 0 : error_code(err, EINVAL);

	*counters = (struct capture_counters){0};
	if (packets && is_wanted(&pairing, CAPTURE_PTP)) {
		pairing.ptp = capture_ptp_create(visit, context, counters);
		code = pairing.ptp ? 0 : error_set(err, ENOMEM, "out of memory");
	}
	if (code == 0)
		code = packets_read(packets, take_packet, &pairing, err);
	counters->unanswered = counters->requests - counters->pairs;
	packets_close(packets);
	capture_ptp_destroy(pairing.ptp);
	free(pairing.young.slots);
	free(pairing.old.slots);
	return code;
}
