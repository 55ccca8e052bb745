/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/rtt/capture.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pcap/pcap.h>

#include <probe/rtt/exchange.h>
#include <probe/rtt/frame.h>
#include <probe/rtt/stamp.h>

/* What makes one exchange unique: an answer carries all of it back. */
struct exchange_key {
	ip_address source, destination;
	uint32_t sequence;
	uint16_t source_port, session;
	int64_t request_sent_at_ns;
};

struct pending {
	bool used, answered;
	struct exchange_key key;
	struct ns requested_at;
};

/* Open addressing; grows at half full. Requests stay, to distinguish a second answer from an orphan. */
struct pairing {
	struct pending *slots;
	size_t capacity, used;
	uint16_t port;
	capture_visit visit;
	void *context;
	struct capture_counters *counters;
	struct error *err;
};

static bool same_key(const struct exchange_key *a, const struct exchange_key *b)
{
	return a->source == b->source && a->destination == b->destination && a->sequence == b->sequence &&
	       a->source_port == b->source_port && a->session == b->session &&
	       a->request_sent_at_ns == b->request_sent_at_ns;
}

static size_t hash_key(const struct exchange_key *key)
{
	ip_address hosts = key->source * 3 + key->destination;
	uint64_t x = ((uint64_t)hosts ^ (uint64_t)(hosts >> 64)) * UINT64_C(0x9e3779b97f4a7c15);

	x ^= ((uint64_t)key->sequence << 32 | (uint64_t)key->source_port << 16 | key->session) *
	     UINT64_C(0xc2b2ae3d27d4eb4f);
	x ^= (uint64_t)key->request_sent_at_ns;
	x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
	return (size_t)(x ^ x >> 33);
}

/* The key's slot, or the free one where it belongs. */
static struct pending *find(const struct pairing *pairing, const struct exchange_key *key)
{
	size_t at = hash_key(key) & (pairing->capacity - 1);

	while (pairing->slots[at].used && !same_key(&pairing->slots[at].key, key))
		at = (at + 1) & (pairing->capacity - 1);
	return &pairing->slots[at];
}

static int reserve(struct pairing *pairing)
{
	struct pairing grown = *pairing;

	if (pairing->used * 2 < pairing->capacity)
		return 0;
	grown.capacity = pairing->capacity ? pairing->capacity * 2 : 1024;
	grown.slots = calloc(grown.capacity, sizeof *grown.slots);
	if (!grown.slots)
		return error_set(pairing->err, ENOMEM, "out of memory after %zu requests", pairing->used);
	for (size_t i = 0; i < pairing->capacity; i++)
		if (pairing->slots[i].used)
			*find(&grown, &pairing->slots[i].key) = pairing->slots[i];
	free(pairing->slots);
	*pairing = grown;
	return 0;
}

static int take_request(struct pairing *pairing, const struct frame *frame, struct ns at)
{
	struct stamp_request request;
	struct exchange_key key;
	struct pending *slot;

	if (stamp_read_request(frame->payload, frame->payload_bytes, &request)) {
		pairing->counters->broken++;
		return 0;
	}
	if (reserve(pairing))
		return -ENOMEM;
	key = (struct exchange_key){frame->source_address, frame->destination_address,
				    request.sequence,      frame->source_port,
				    request.session,       request.sent_at.v};
	slot = find(pairing, &key);
	if (slot->used) {
		pairing->counters->repeated++;
		return 0;
	}
	*slot = (struct pending){.used = true, .key = key, .requested_at = at};
	pairing->used++;
	pairing->counters->requests++;
	return 0;
}

static int take_answer(struct pairing *pairing, const struct frame *frame, struct ns at)
{
	struct capture_sample sample;
	struct stamp_reply reply;
	struct exchange_key key;
	struct pending *slot;

	if (stamp_read_reply(frame->payload, frame->payload_bytes, &reply)) {
		pairing->counters->broken++;
		return 0;
	}
	key = (struct exchange_key){frame->destination_address, frame->source_address, reply.request_sequence,
				    frame->destination_port,    reply.session,         reply.request_sent_at.v};
	slot = pairing->capacity ? find(pairing, &key) : NULL;
	if (slot && slot->used && slot->answered) {
		pairing->counters->repeated++;
		return 0;
	}
	pairing->counters->answers++;
	if (!slot || !slot->used) {
		pairing->counters->orphans++;
		return 0;
	}
	slot->answered = true;
	pairing->counters->pairs++;
	sample = (struct capture_sample){
		.source = key.source,
		.destination = key.destination,
		.source_port = key.source_port,
		.sequence = key.sequence,
		.requested_at = slot->requested_at,
		.gross = ns_sub(at, slot->requested_at),
		.residence = ns_sub(reply.sent_at, reply.received_at),
	};
	return pairing->visit(pairing->context, &sample);
}

static int take_packet(struct pairing *pairing, const struct pcap_pkthdr *header, const uint8_t *bytes)
{
	/* Opened with nanosecond precision: tv_usec counts nanoseconds. A hostile file may hold any number there. */
	struct ns at = {(int64_t)((uint64_t)header->ts.tv_sec * NS_PER_S + (uint64_t)header->ts.tv_usec)};
	struct frame frame = frame_read(bytes, header->caplen, header->len);

	pairing->counters->packets++;
	if (frame.kind == FRAME_BROKEN)
		pairing->counters->broken++;
	if (frame.kind != FRAME_UDP)
		return 0;
	if (frame.destination_port == pairing->port)
		return take_request(pairing, &frame, at);
	if (frame.source_port == pairing->port)
		return take_answer(pairing, &frame, at);
	return 0;
}

static int read_packets(pcap_t *pcap, const char *name, struct pairing *pairing)
{
	struct pcap_pkthdr *header;
	const uint8_t *bytes;
	int got, code = 0;

	if (pcap_datalink(pcap) != DLT_EN10MB) {
		const char *found = pcap_datalink_val_to_name(pcap_datalink(pcap));

		return error_set(pairing->err, EINVAL,
				 "%s: expected a capture of Ethernet frames (EN10MB), found link type %s; capture on "
				 "one interface, not on 'any'",
				 name, found ? found : "unknown");
	}
	while (!code && (got = pcap_next_ex(pcap, &header, &bytes)) == 1)
		code = take_packet(pairing, header, bytes);
	if (!code && got == PCAP_ERROR)
		code = error_set(pairing->err, EBADMSG, "%s: after packet %llu: %s", name,
				 (unsigned long long)pairing->counters->packets, pcap_geterr(pcap));
	return code;
}

/* Takes over `file`. */
static int read_stream(FILE *file, const char *name, struct pairing *pairing)
{
	char text[PCAP_ERRBUF_SIZE];
	pcap_t *pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, text);
	int code;

	if (!pcap) {
		fclose(file);
		return error_set(pairing->err, EINVAL, "%s: not a capture that libpcap reads: %s", name, text);
	}
	code = read_packets(pcap, name, pairing);
	pcap_close(pcap);
	pairing->counters->unanswered = pairing->counters->requests - pairing->counters->pairs;
	return code;
}

static int pair_stream(FILE *file, const char *name, struct pairing pairing)
{
	int code;

	*pairing.counters = (struct capture_counters){0};
	code = read_stream(file, name, &pairing);
	free(pairing.slots);
	return code;
}

int capture_read(const char *path, uint16_t port, capture_visit visit, void *context, struct capture_counters *counters,
		 struct error *err)
{
	struct pairing pairing = {.port = port, .visit = visit, .context = context, .counters = counters, .err = err};
	FILE *file = strcmp(path, "-") == 0 ? fdopen(dup(STDIN_FILENO), "rb") : fopen(path, "rb");

	if (!file)
		return error_set(err, errno, "%s: cannot open: %s", path, strerror(errno));
	return pair_stream(file, path, pairing);
}

int capture_read_memory(const char *name, const void *bytes, size_t length, uint16_t port, capture_visit visit,
			void *context, struct capture_counters *counters, struct error *err)
{
	struct pairing pairing = {.port = port, .visit = visit, .context = context, .counters = counters, .err = err};
	FILE *file = fmemopen((void *)(uintptr_t)bytes, length, "rb");

	if (!file)
		return error_set(err, errno, "%s: cannot read from memory: %s", name, strerror(errno));
	return pair_stream(file, name, pairing);
}
