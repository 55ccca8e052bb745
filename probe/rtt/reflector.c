/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/rtt/reflector.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* A session's place is one of a few next to its hash; the stalest of them gives way when all are taken. */
enum { PROBE_LENGTH = 16 };

struct entry {
	bool used;
	uint32_t address;
	uint16_t port, session;
	uint32_t next_sequence;
	uint64_t last_used;
};

struct reflector {
	struct entry *entries;
	uint32_t mask;
	uint64_t uses;
	struct reflector_counters counters;
};

struct reflector *reflector_create(uint32_t capacity)
{
	struct reflector *reflector;
	uint32_t size = PROBE_LENGTH;

	if (capacity == 0 || capacity > UINT32_C(1) << 20)
		return NULL;
	while (size < capacity)
		size *= 2;
	reflector = calloc(1, sizeof *reflector);
	if (!reflector)
		return NULL;
	reflector->mask = size - 1;
	reflector->entries = calloc(size, sizeof *reflector->entries);
	if (!reflector->entries) {
		free(reflector);
		return NULL;
	}
	return reflector;
}

void reflector_destroy(struct reflector *reflector)
{
	if (!reflector)
		return;
	free(reflector->entries);
	free(reflector);
}

static uint32_t hash(uint32_t address, uint16_t port, uint16_t session)
{
	uint64_t x = ((uint64_t)address << 32 | (uint32_t)port << 16 | session) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(x >> 32);
}

static struct entry *find(struct reflector *reflector, uint32_t address, uint16_t port, uint16_t session)
{
	uint32_t start = hash(address, port, session);
	struct entry *stalest = NULL;

	for (uint32_t i = 0; i < PROBE_LENGTH; i++) {
		struct entry *entry = &reflector->entries[(start + i) & reflector->mask];

		if (entry->used && entry->address == address && entry->port == port && entry->session == session)
			return entry;
		if (!stalest || (stalest->used && (!entry->used || entry->last_used < stalest->last_used)))
			stalest = entry;
	}
	reflector->counters.evicted += stalest->used;
	reflector->counters.sessions++;
	*stalest = (struct entry){.used = true, .address = address, .port = port, .session = session};
	return stalest;
}

/*
 * An answer to it would come to a reflector's port. If it is an answer itself, two reflectors would send it to and fro
 * for ever: there it must have the zeros that a request has where an answer has its stamps.
 */
static bool may_loop(const struct frame *request)
{
	return request->source_port == request->destination_port && !stamp_has_request_zeros(request->payload);
}

int reflector_prepare(struct reflector *reflector, const struct frame *request, struct ns received_at,
		      struct stamp_error_estimate error, uint8_t *payload, struct stamp_reply *reply)
{
	struct stamp_request asked;
	struct entry *entry;

	if (stamp_read_request(request->payload, request->payload_bytes, &asked) || may_loop(request)) {
		reflector->counters.malformed++;
		return -EBADMSG;
	}
	entry = find(reflector, request->source_address, request->source_port, asked.session);
	entry->last_used = ++reflector->uses;
	*reply = (struct stamp_reply){
		.sequence = entry->next_sequence++,
		.error = error,
		.session = asked.session,
		.received_at = received_at,
		.request_sequence = asked.sequence,
		.request_sent_at = asked.sent_at,
		.request_error = asked.error,
		.request_ttl = request->ttl,
	};
	stamp_mark_tlvs(payload + STAMP_BYTES, request->payload_bytes - STAMP_BYTES);
	reflector->counters.answered++;
	return 0;
}

void reflector_finish(struct stamp_reply *reply, struct ns sent_at, uint8_t *payload)
{
	reply->sent_at = sent_at;
	stamp_write_reply(reply, payload);
}

struct reflector_counters reflector_counters(const struct reflector *reflector)
{
	return reflector->counters;
}
