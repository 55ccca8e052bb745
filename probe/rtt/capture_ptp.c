/* SPDX-License-Identifier: BSD-3-Clause */
#include "rtt_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/hash_table.h>
#include <probe/ptp/message.h>

enum { PORTS_MAXIMUM = 1 << 16 };

/* The newest request of a port by one mechanism, and the state of its exchange. */
struct asked {
	struct ptp_exchange exchange;
	ip_address from; /* 0 over Ethernet */
	uint16_t source_port;
	struct ptp_identity by; /* identity of the clock that responded first */
	bool open, responded, answered;
};

struct port {
	struct ptp_identity identity;
	uint8_t domain;
	struct asked by[2];        /* indexed by enum ptp_mechanism */
	struct ptp_exchange syncs; /* the Syncs of this port, if it is a master */
};

struct capture_ptp {
	struct port *ports;
	size_t count, capacity;
	struct hash_table by_identity;
	capture_visit visit;
	void *context;
	struct capture_counters *counters;
};

struct capture_ptp *capture_ptp_create(capture_visit visit, void *context, struct capture_counters *counters)
{
	struct capture_ptp *ptp = calloc(1, sizeof *ptp);

	if (ptp) {
		ptp->visit = visit;
		ptp->context = context;
		ptp->counters = counters;
	}
	return ptp;
}

void capture_ptp_destroy(struct capture_ptp *ptp)
{
	if (!ptp)
		return;
	free(ptp->ports);
	hash_table_free(&ptp->by_identity);
	free(ptp);
}

bool capture_ptp_is(const struct frame *frame)
{
	return frame->kind == FRAME_PTP || (frame->kind == FRAME_UDP && (frame->destination_port == PTP_EVENT_PORT ||
									 frame->destination_port == PTP_GENERAL_PORT));
}

static uint64_t key_of(const struct ptp_identity *identity, uint8_t domain)
{
	uint64_t clock;

	memcpy(&clock, identity->clock, sizeof clock);
	return clock ^ hash_mix((uint64_t)identity->port << 8 | domain);
}

/* Returns NULL if the port was not seen yet. */
static struct port *find_port(const struct capture_ptp *ptp, const struct ptp_identity *identity, uint8_t domain)
{
	HASH_TABLE_EACH (&ptp->by_identity, key_of(identity, domain), at) {
		struct port *port = &ptp->ports[hash_table_value(&ptp->by_identity, at)];

		if (port->domain == domain && ptp_same_identity(&port->identity, identity))
			return port;
	}
	return NULL;
}

/* Returns the port, added if it is new, or NULL if out of memory. */
static struct port *add_port(struct capture_ptp *ptp, const struct ptp_identity *identity, uint8_t domain)
{
	struct port *ports, *port = find_port(ptp, identity, domain);

	if (port)
		return port;
	if (ptp->count == PORTS_MAXIMUM) {
		ptp->count = 0;
		hash_table_clear(&ptp->by_identity);
	}
	ports = array_grow(ptp->ports, ptp->count, &ptp->capacity, sizeof *ports);
	if (!ports)
		return NULL;
	ptp->ports = ports;
	if (hash_table_insert(&ptp->by_identity, key_of(identity, domain), (uint32_t)ptp->count))
		return NULL;
	port = &ports[ptp->count++];
	*port = (struct port){.identity = *identity, .domain = domain, .syncs = {.mechanism = PTP_E2E}};
	return port;
}

/* Returns the stamp of a message. A capture has one stamp per message; it serves as the departure or as the arrival. */
static struct ptp_moment captured(struct ns at)
{
	return (struct ptp_moment){.by[PTP_SOFTWARE] = stamp_at(CLOCK_WALL, at.v)};
}

static int take_request(struct capture_ptp *ptp, const struct frame *frame, const struct ptp_message *message,
			struct ns at)
{
	enum ptp_mechanism mechanism = message->type == PTP_PEER_REQUEST ? PTP_PEER_DELAY : PTP_E2E;
	struct port *port = add_port(ptp, &message->from, message->domain);
	struct asked *asked = port ? &port->by[mechanism] : NULL;

	if (!asked)
		return -ENOMEM;
	/*
	 * An equal sequence number before the answer means a copy of the request. After the answer, it means that a
	 * restarted program counts from the beginning.
	 */
	if (asked->open && !asked->answered && asked->exchange.sequence == message->sequence) {
		ptp->counters->repeated++;
		return 0;
	}
	ptp->counters->requests++;
	*asked = (struct asked){
		.exchange = {.mechanism = mechanism, .sequence = message->sequence, .left = captured(at)},
		.from = frame->source_address,
		.source_port = frame->source_port,
		.open = true,
	};
	return 0;
}

static int take_sync(struct capture_ptp *ptp, const struct ptp_message *message, struct ns at)
{
	bool follows = message->type == PTP_FOLLOW_UP;
	struct port *master = follows ? find_port(ptp, &message->from, message->domain)
				      : add_port(ptp, &message->from, message->domain);
	struct ptp_moment arrived = captured(at);
	const struct ptp_half *newest = master ? &master->syncs.newest : NULL;

	if (!master)
		return follows ? 0 : -ENOMEM;
	if (!follows && (newest->waits || newest->known) && newest->sequence == message->sequence)
		ptp->counters->repeated++;
	else
		ptp_exchange_take(&master->syncs, message, &arrived);
	return 0;
}

/* Evaluates a request whose answer is complete. */
static int give(struct capture_ptp *ptp, struct asked *asked, const struct frame *frame,
		const struct ptp_message *message, struct ns answered_at)
{
	bool peer = asked->exchange.mechanism == PTP_PEER_DELAY;
	struct ns requested_at = {asked->exchange.left.by[PTP_SOFTWARE].ns};
	struct capture_sample sample = {
		.source = asked->from,
		.destination = frame->source_address,
		.protocol = CAPTURE_PTP,
		.source_port = asked->source_port,
		.sequence = message->sequence,
		.requested_at = requested_at,
		.gross = {(int64_t)((uint64_t)answered_at.v - (uint64_t)requested_at.v)},
	};
	struct ptp_sample times;

	if (!ptp_exchange_sample(&asked->exchange, PTP_SOFTWARE, &times))
		return 0;
	asked->answered = true;
	/*
	 * With peer delay, the round trip cannot be longer than `gross`: the peer would have answered before the
	 * request arrived. With delay request-response it can be longer, if the Sync took longer than the Delay_Resp.
	 */
	if (sample.gross.v < 0 || times.round_trip.v < 0 || (peer && times.round_trip.v > sample.gross.v)) {
		ptp->counters->broken++;
		return 0;
	}
	if (frame->kind == FRAME_PTP) {
		sample.source_clock = message->to;
		sample.destination_clock = message->from;
	}
	sample.residence = ns_sub(sample.gross, times.round_trip);
	ptp->counters->pairs++;
	return ptp->visit(ptp->context, &sample);
}

/* Takes the response to a delay request, and evaluates it with the master's newest Sync, if one was captured. */
static int take_delay_response(struct capture_ptp *ptp, struct asked *asked, const struct frame *frame,
			       const struct ptp_message *message, struct ns at)
{
	const struct port *master = find_port(ptp, &message->from, message->domain);
	struct ptp_moment none = {0};

	if (!master || !master->syncs.answer.known)
		return 0;
	asked->exchange.answer = master->syncs.answer;
	ptp_exchange_take(&asked->exchange, message, &none);
	return give(ptp, asked, frame, message, at);
}

/*
 * Takes the response of a peer, or its follow-up. The stamps of two clocks must not be mixed: only the first responder
 * counts.
 */
static int take_peer(struct capture_ptp *ptp, struct asked *asked, const struct frame *frame,
		     const struct ptp_message *message, struct ns at)
{
	struct ptp_moment arrived = captured(at);

	if (message->type == PTP_PEER_RESPONSE && asked->responded) {
		ptp->counters->repeated++;
		return 0;
	}
	if (message->type == PTP_PEER_RESPONSE) {
		asked->by = message->from;
		asked->responded = true;
	}
	if (!asked->responded || !ptp_same_identity(&asked->by, &message->from))
		return 0;
	ptp_exchange_take(&asked->exchange, message, &arrived);
	return give(ptp, asked, frame, message, (struct ns){asked->exchange.answer.arrived.by[PTP_SOFTWARE].ns});
}

static int take_answer(struct capture_ptp *ptp, const struct frame *frame, const struct ptp_message *message,
		       struct ns at)
{
	enum ptp_mechanism mechanism = message->type == PTP_DELAY_RESPONSE ? PTP_E2E : PTP_PEER_DELAY;
	bool follows = message->type == PTP_PEER_FOLLOW_UP;
	struct port *asker = find_port(ptp, &message->to, message->domain);
	struct asked *asked = asker ? &asker->by[mechanism] : NULL;

	if (!asked || !asked->open || asked->exchange.sequence != message->sequence) {
		ptp->counters->answers += !follows;
		ptp->counters->orphans += !follows;
		return 0;
	}
	if (asked->answered) {
		ptp->counters->repeated++;
		return 0;
	}
	ptp->counters->answers += !follows && !asked->responded;
	return mechanism == PTP_E2E ? take_delay_response(ptp, asked, frame, message, at)
				    : take_peer(ptp, asked, frame, message, at);
}

/* True for Announce, Signaling and Management messages, which are not used for delays. */
static bool is_other(const struct frame *frame)
{
	return frame->payload_bytes && (frame->payload[0] & 15) > PTP_PEER_FOLLOW_UP;
}

int capture_ptp_take(struct capture_ptp *ptp, const struct frame *frame, struct ns at)
{
	struct ptp_message message;

	if (ptp_read(frame->payload, frame->payload_bytes, &message)) {
		ptp->counters->broken += !is_other(frame);
		return 0;
	}
	switch (message.type) {
	case PTP_PEER_REQUEST:
	case PTP_DELAY_REQUEST:
		return take_request(ptp, frame, &message, at);
	case PTP_SYNC:
	case PTP_FOLLOW_UP:
		return take_sync(ptp, &message, at);
	default:
		return take_answer(ptp, frame, &message, at);
	}
}
