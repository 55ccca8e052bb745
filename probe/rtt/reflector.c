/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/rtt/reflector.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <probe/rtt/tlv.h>

#include "rtt_priv.h"

/*
 * An entry is in one of PROBE_LENGTH consecutive slots, beginning at its hash. If all are in use, the least recently
 * used entry is replaced.
 */
enum { PROBE_LENGTH = 16, SOURCES = 4096, CACHED_SESSIONS = 4096 };

static const struct ns burst = {100 * NS_PER_MS};  /* an answer may be this much ahead of the permitted rate, see
						      within_rate() */
static const struct ns refwait = {900 * NS_PER_S}; /* a session without requests ends: REFWAIT, RFC 5357 section 4.2 */
static const struct ns clock_step = {NS_PER_S};    /* arrival stamps may be out of order by less than this */

struct entry {
	uint64_t last_used; /* 0 = free */
	ip_address address;
	uint16_t port, session;
	uint32_t next_sequence; /* of a session: sequence number of the next answer */
	int64_t next_free_ns;   /* of a source, see within_rate() */
	struct replay_window replay;
	uint32_t received;      /* number of requests in a session */
	uint32_t left_sequence; /* sequence number of the newest answer; left_ns: its departure time, 0 = unknown */
	int64_t left_ns;
};

struct table {
	struct entry *entries;
	uint32_t mask;
	uint64_t added, evicted;
};

struct reflector {
	struct reflector_rules rules;
	struct table sessions, sources;
	struct replay_memory *received; /* authenticated mode only */
	int64_t next_free_ns;           /* for the rate of all sources together */
	int64_t next_short_ns;          /* for that of short requests */
	uint64_t uses;
	struct reflector_counters counters;
};

/*
 * Returns zeroed memory, or NULL. Touches all pages in advance. Otherwise 100,000 new sessions cause two page faults
 * for each of 6,000 pages, which delays polls of the port by over 100 us.
 */
static void *pages_create(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

static int table_create(struct table *table, uint32_t capacity)
{
	uint32_t size = PROBE_LENGTH;

	while (size < capacity)
		size *= 2;
	table->entries = pages_create(size * sizeof *table->entries);
	table->mask = size - 1;
	return table->entries ? 0 : -ENOMEM;
}

static void table_free(struct table *table)
{
	if (table->entries)
		munmap(table->entries, (table->mask + (size_t)1) * sizeof *table->entries);
}

struct reflector *reflector_create(uint32_t capacity, const struct reflector_rules *rules)
{
	struct reflector *reflector;

	if (capacity == 0 || capacity > UINT32_C(1) << 20)
		return NULL;
	reflector = calloc(1, sizeof *reflector);
	if (!reflector)
		return NULL;
	reflector->rules = *rules;
	if (table_create(&reflector->sessions, capacity) ||
	    (rules->source_pps && table_create(&reflector->sources, SOURCES)) ||
	    (rules->keys && !(reflector->received = pages_create(sizeof *reflector->received)))) {
		reflector_destroy(reflector);
		return NULL;
	}
	return reflector;
}

void reflector_destroy(struct reflector *reflector)
{
	if (!reflector)
		return;
	table_free(&reflector->sessions);
	table_free(&reflector->sources);
	if (reflector->received)
		munmap(reflector->received, sizeof *reflector->received);
	free(reflector);
}

static uint32_t hash(ip_address address, uint16_t port, uint16_t session)
{
	uint64_t host = (uint64_t)address ^ (uint64_t)(address >> 64) * UINT64_C(0xc2b2ae3d27d4eb4f);
	uint64_t x = (host << 32 ^ host >> 32 ^ ((uint32_t)port << 16 | session)) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(x >> 32);
}

static struct entry *look_up(const struct table *table, ip_address address, uint16_t port, uint16_t session)
{
	uint32_t start = hash(address, port, session);

	for (uint32_t i = 0; i < PROBE_LENGTH; i++) {
		struct entry *entry = &table->entries[(start + i) & table->mask];

		if (entry->last_used && entry->address == address && entry->port == port && entry->session == session)
			return entry;
	}
	return NULL;
}

/* Finds the entry, or adds it. */
static struct entry *find(struct reflector *reflector, struct table *table, ip_address address, uint16_t port,
			  uint16_t session)
{
	struct entry *stalest = look_up(table, address, port, session);
	uint32_t start = hash(address, port, session);

	if (stalest)
		return stalest;
	for (uint32_t i = 0; i < PROBE_LENGTH; i++) {
		struct entry *entry = &table->entries[(start + i) & table->mask];

		if (!stalest || entry->last_used < stalest->last_used)
			stalest = entry;
	}
	table->evicted += stalest->last_used != 0;
	table->added++;
	*stalest = (struct entry){.last_used = ++reflector->uses, .address = address, .port = port, .session = session};
	return stalest;
}

bool reflector_needs_prefetch(const struct reflector *reflector)
{
	return reflector->sessions.added > CACHED_SESSIONS;
}

void reflector_prefetch(const struct reflector *reflector, const struct frame *request)
{
	const struct table *table = &reflector->sessions;
	uint16_t session;
	const struct entry *entry;

	session = stamp_session(request->payload, request->payload_bytes, reflector->rules.keys);
	entry = &table->entries[hash(request->source_address, request->source_port, session) & table->mask];

	__builtin_prefetch(entry, 1);
	__builtin_prefetch((const char *)(entry + 1) - 1, 1);
}

static bool is_ours(const struct reflector_rules *rules, const struct frame *request)
{
	return memcmp(request->destination_mac, rules->mac, FRAME_MAC_BYTES) == 0 &&
	       request->destination_address == rules->address;
}

/* RFC 1122 section 3.2.1.3: true for addresses that a host may use as its source address. */
static bool is_host_ipv4(const struct reflector_rules *rules, uint32_t source)
{
	uint32_t first = source >> 24, hosts;

	if (first == 0 || first == 127 || first >= 224)
		return false;
	if (rules->prefix_bits <= 0 || rules->prefix_bits >= 31 ||
	    !address_shares_prefix(source, rules->address, rules->prefix_bits))
		return true;
	hosts = ~UINT32_C(0) >> rules->prefix_bits;
	return (source & hosts) != 0 && (source & hosts) != hosts;
}

static bool is_unicast_host(const struct reflector_rules *rules, const struct frame *request)
{
	ip_address source = request->source_address;

	if (source == rules->address || request->source_port == 0 || request->source_mac[0] & 1)
		return false;
	/*
	 * source >> 120 is 0xff for multicast. "::" and "::1" are below 2^32, so they were checked as IPv4 addresses.
	 */
	return address_is_ipv4(source) ? is_host_ipv4(rules, (uint32_t)source) : source >> 120 != 0xff;
}

bool reflector_is_listed(const struct reflector_prefix *prefixes, size_t count, ip_address address)
{
	for (size_t i = 0; i < count; i++) {
		if (address_shares_prefix(address, prefixes[i].address, prefixes[i].bits))
			return true;
	}
	return false;
}

/*
 * A token bucket as GCRA (ITU-T I.371): an answer conforms at *next_free_ns, or earlier by at most `burst`. If the
 * clock was set back by over a second, the bucket starts again.
 */
static bool within_rate(int64_t *next_free_ns, uint32_t pps, int64_t now_ns)
{
	int64_t gap_ns = NS_PER_S / pps, ahead_ns = *next_free_ns - now_ns;

	if (ahead_ns < 0 || ahead_ns > burst.v + gap_ns + clock_step.v)
		ahead_ns = 0;
	else if (ahead_ns > burst.v)
		return false;
	*next_free_ns = now_ns + ahead_ns + gap_ns;
	return true;
}

static bool may_answer(struct reflector *reflector, const struct frame *request, struct ns received_at)
{
	const struct reflector_rules *rules = &reflector->rules;
	struct reflector_counters *counters = &reflector->counters;
	bool listed = reflector_is_listed(rules->allow, rules->allow_count, request->source_address);
	uint64_t *refused = NULL;

	if (!is_ours(rules, request))
		refused = &counters->not_ours;
	else if (!is_unicast_host(rules, request))
		refused = &counters->bad_source;
	else if (stamp_looks_like_reply(request->payload, request->payload_bytes, rules->keys))
		refused = &counters->loops;
	else if (rules->allow_count && !listed)
		refused = &counters->not_allowed;
	else if (request->payload_bytes < STAMP_TWAMP_REPLY_BYTES && !listed &&
		 !within_rate(&reflector->next_short_ns, REFLECTOR_SHORT_PPS, received_at.v))
		refused = &counters->short_requests;
	else if (rules->source_pps) {
		struct entry *source = find(reflector, &reflector->sources, request->source_address, 0, 0);

		source->last_used = ++reflector->uses;
		if (!within_rate(&source->next_free_ns, rules->source_pps, received_at.v))
			refused = &counters->source_limited;
	}
	if (!refused && rules->total_pps && !within_rate(&reflector->next_free_ns, rules->total_pps, received_at.v))
		refused = &counters->total_limited;
	if (refused)
		++*refused;
	return !refused;
}

/*
 * Begins a new session in the entry if its sender has begun again, from a fixed port: with number 0 and a later stamp
 * than before, or after a silence. A duplicate of the first request has no later stamp.
 */
static void end_old_session(struct entry *entry, const struct stamp_request *request, int64_t before_ns,
			    struct ns received_at)
{
	bool again = request->sequence == 0 && request->sent_at.v > before_ns;

	if (!entry->received || !(again || (entry->left_ns && received_at.v - entry->left_ns > refwait.v)))
		return;
	entry->received = entry->next_sequence = 0;
	entry->left_ns = 0;
}

/* Returns the key if the request is authentic, else NULL. */
static const struct stamp_key *authenticate(struct reflector *reflector, const struct frame *request, uint16_t session)
{
	const struct stamp_key *key = stamp_keys_for(reflector->rules.keys, session);

	if (!key)
		reflector->counters.unknown_session++;
	else if (!stamp_is_signed(key, request->payload, request->payload_bytes))
		reflector->counters.bad_hmac++;
	else
		return key;
	return NULL;
}

/* RFC 8972 section 4.7: a stateless reflector has no follow-up telemetry. */
static int answer_tlvs(const struct reflector *reflector, const struct frame *request,
		       const struct stamp_request *asked, const struct reflector_answer *answer, uint8_t *tlvs)
{
	const struct entry *entry = &reflector->sessions.entries[answer->place];
	struct tlv_facts facts = {
		.request = request,
		.key = answer->key,
		.authenticated = asked->authenticated,
		.request_sequence = asked->sequence,
		.answer_sequence = answer->reply.sequence,
		.received = entry->received,
		.sent = entry->next_sequence,
		.clock = answer->reply.error.synchronised ? TLV_CLOCK_NTP : TLV_CLOCK_FREE,
		.follow_up = entry->left_ns && !reflector->rules.stateless,
		.follow_up_sequence = entry->left_sequence,
		.follow_up_at = {entry->left_ns},
		.format = answer->reply.error.format,
		.member = reflector->rules.member,
	};

	return tlv_answer(&facts, tlvs, request->payload_bytes - stamp_bytes(asked->authenticated));
}

int reflector_prepare(struct reflector *reflector, const struct frame *request, struct ns received_at,
		      struct stamp_error_estimate error, uint8_t *payload, struct reflector_answer *answer)
{
	const struct stamp_keys *keys = reflector->rules.keys;
	const size_t base = stamp_bytes(keys);
	struct stamp_request asked = {0};
	struct entry *entry;
	int64_t before_ns;

	answer->key = NULL;
	if ((keys ? stamp_read_authenticated_request : stamp_read_request)(request->payload, request->payload_bytes,
									   &asked)) {
		reflector->counters.malformed++;
		return -EBADMSG;
	}
	if (!may_answer(reflector, request, received_at))
		return -EBADMSG;
	if (keys && !(answer->key = authenticate(reflector, request, asked.session)))
		return -EBADMSG;
	if (reflector->rules.member && !asked.twamp &&
	    !tlv_is_for_member(reflector->rules.member, payload + base, request->payload_bytes - base)) {
		reflector->counters.other_member++;
		return -EBADMSG;
	}
	if (keys && replay_is_known(reflector->received, payload)) { /* first: a replay must not begin a session */
		reflector->counters.replayed++;
		return -EBADMSG;
	}
	entry = find(reflector, &reflector->sessions, request->source_address, request->source_port, asked.session);
	entry->last_used = ++reflector->uses;
	before_ns = entry->replay.newest_ns;
	if (keys && replay_is_old(&entry->replay, &asked)) {
		reflector->counters.replayed++;
		return -EBADMSG;
	}
	if (asked.sent_at.v > before_ns)
		entry->replay.newest_ns = asked.sent_at.v;
	end_old_session(entry, &asked, before_ns, received_at);
	entry->received++;
	answer->place = (uint32_t)(entry - reflector->sessions.entries);
	answer->request_stamp = stamp_raw_time(payload, asked.authenticated);
	error.format = asked.error.format; /* a TWAMP sender may not support another format */
	answer->reply = (struct stamp_reply){
		.sequence = reflector->rules.stateless ? asked.sequence : entry->next_sequence,
		.error = error,
		.session = asked.session,
		.received_at = received_at,
		.request_sequence = asked.sequence,
		.request_sent_at = asked.sent_at,
		.request_error = asked.error,
		.request_ttl = request->ttl,
		.authenticated = asked.authenticated,
	};
	answer->payload_bytes = asked.twamp && !keys ? STAMP_TWAMP_REPLY_BYTES : base;
	if (request->payload_bytes > answer->payload_bytes)
		answer->payload_bytes = request->payload_bytes;
	entry->next_sequence++;
	answer->dscp = asked.twamp || request->payload_bytes <= base
			       ? -1
			       : answer_tlvs(reflector, request, &asked, answer, payload + base);
	reflector->counters.answered++;
	return 0;
}

void reflector_finish(struct reflector_answer *answer, struct ns sent_at, uint8_t *payload)
{
	answer->reply.sent_at = sent_at;
	stamp_write_reply(&answer->reply, payload);
	stamp_echo_time(answer->request_stamp, answer->reply.authenticated, payload);
	if (answer->key)
		stamp_sign(answer->key, payload);
}

void reflector_sent(struct reflector *reflector, const struct reflector_answer *answer, struct ns left_at)
{
	struct entry *entry = &reflector->sessions.entries[answer->place];

	entry->left_sequence = answer->reply.sequence;
	entry->left_ns = left_at.v;
}

void reflector_left(struct reflector *reflector, const struct frame *answer, struct ns left_at)
{
	const bool authenticated = reflector->rules.keys;
	struct stamp_reply reply = {0};
	struct entry *entry;

	if ((authenticated ? stamp_read_authenticated_reply : stamp_read_reply)(answer->payload, answer->payload_bytes,
										&reply))
		return;
	entry = look_up(&reflector->sessions, answer->destination_address, answer->destination_port, reply.session);
	if (entry && entry->left_sequence == reply.sequence)
		entry->left_ns = left_at.v;
}

struct reflector_counters reflector_counters(const struct reflector *reflector)
{
	struct reflector_counters counters = reflector->counters;

	counters.sessions = reflector->sessions.added;
	counters.evicted = reflector->sessions.evicted;
	return counters;
}
