/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/rtt/tlv.h>

#include <string.h>

#include "rtt_priv.h"

enum {
	HEADER = 4,
	LOCATION_PORTS = 4,
	LOCATION_MAC = 8,
	LOCATION_ADDRESS = 16,
	/*
	 * Sub-TLVs of a location, RFC 8972 table 5. The reflector changes the requested type to that of the actual
	 * kind.
	 */
	SUB_MAC = 1,
	SUB_EUI48 = 2,
	SUB_DESTINATION = 4, /* + 1: IPv4, + 2: IPv6 */
	SUB_SOURCE = 7,      /* + 1: IPv4, + 2: IPv6 */
	LOCATION_BYTES = LOCATION_PORTS + HEADER + LOCATION_MAC + 2 * (HEADER + LOCATION_ADDRESS),
	SEQUENCE_BYTES = 4,
};

static const char *const names[TLV_TYPES] = {
	[TLV_PADDING] = "padding",
	[TLV_LOCATION] = "location",
	[TLV_TIMESTAMP] = "timestamp",
	[TLV_CLASS] = "class",
	[TLV_DIRECT] = "direct",
	[TLV_FOLLOW_UP] = "follow-up",
	[TLV_MICRO_SESSION] = "micro-session",
	[TLV_HMAC] = "hmac",
	[TLV_DESTINATION] = "destination",
};

const char *tlv_name(enum tlv_type type)
{
	return type < TLV_TYPES ? names[type] : NULL;
}

/* A TLV in the packet. */
struct tlv {
	uint8_t *at, *value;
	uint8_t type;
	size_t length; /* number of bytes of the value that are present */
	bool cut;
};

/* Reads the TLV at *at and advances *at. Returns false at the end. */
static bool next_tlv(uint8_t *bytes, size_t length, size_t *at, struct tlv *tlv)
{
	size_t left = length - *at, claimed;

	if (left < HEADER)
		return false;
	claimed = get16(bytes + *at + 2);
	*tlv = (struct tlv){.at = bytes + *at,
			    .value = bytes + *at + HEADER,
			    .type = bytes[*at + 1],
			    .cut = claimed > left - HEADER};
	tlv->length = tlv->cut ? left - HEADER : claimed;
	*at += HEADER + tlv->length;
	return true;
}

static size_t value_bytes(const struct tlv_request *request, enum tlv_type type)
{
	switch (type) {
	case TLV_LOCATION:
		return LOCATION_BYTES;
	case TLV_TIMESTAMP:
	case TLV_CLASS:
	case TLV_MICRO_SESSION:
		return 4;
	case TLV_DIRECT:
		return 12;
	case TLV_FOLLOW_UP:
		return 16;
	case TLV_DESTINATION:
		return address_is_ipv4(request->destination) ? 4 : 16;
	default:
		return 0;
	}
}

static bool is_wanted(const struct tlv_request *request, int type)
{
	return request->wanted >> type & 1 && value_bytes(request, (enum tlv_type)type);
}

size_t tlv_request_bytes(const struct tlv_request *request)
{
	size_t bytes = 0;

	if (!request->wanted)
		return request->padding;
	for (int type = 0; type < TLV_TYPES; type++)
		bytes += is_wanted(request, type) ? HEADER + value_bytes(request, (enum tlv_type)type) : 0;
	return bytes + (request->key && bytes ? HEADER + STAMP_HMAC_BYTES : 0) + request->padding;
}

static uint8_t *write_header(uint8_t *out, int type, size_t length)
{
	out[0] = TLV_UNRECOGNISED; /* section 4: a sender sets U */
	out[1] = (uint8_t)type;
	put16(out + 2, (uint16_t)length);
	return out + HEADER;
}

static void put_address(uint8_t *out, ip_address address)
{
	for (int bits = address_bits(address); bits > 0; bits -= 8)
		*out++ = (uint8_t)(address >> (bits - 8));
}

static void write_value(const struct tlv_request *request, int type, uint8_t *value)
{
	uint8_t *sub = value + LOCATION_PORTS;

	if (type == TLV_LOCATION) {
		sub = write_header(sub, SUB_MAC, LOCATION_MAC) + LOCATION_MAC;
		sub = write_header(sub, SUB_DESTINATION, LOCATION_ADDRESS) + LOCATION_ADDRESS;
		write_header(sub, SUB_SOURCE, LOCATION_ADDRESS);
	} else if (type == TLV_CLASS) {
		value[0] = (uint8_t)(request->dscp << 2);
	} else if (type == TLV_DIRECT) {
		put32(value, request->sent);
	} else if (type == TLV_DESTINATION) {
		put_address(value, request->destination);
	} else if (type == TLV_MICRO_SESSION) {
		put16(value, request->member);
		put16(value + 2, request->peer_member);
	}
}

/* Section 4.8: computes the HMAC over the base packet's sequence number and the TLVs before the HMAC TLV. */
static void compute_hmac(const struct stamp_key *key, uint32_t sequence, const uint8_t *tlvs, size_t length,
			 uint8_t *out)
{
	uint8_t number[SEQUENCE_BYTES];

	put32(number, sequence);
	stamp_hmac(key, number, sizeof number, tlvs, length, out);
}

void tlv_write_request(const struct tlv_request *request, uint8_t *out)
{
	uint8_t *at = out;

	if (!request->wanted && !request->padding)
		return;
	memset(out, 0, tlv_request_bytes(request));
	for (int type = 0; type < TLV_TYPES; type++) {
		if (!is_wanted(request, type))
			continue;
		write_value(request, type, write_header(at, type, value_bytes(request, (enum tlv_type)type)));
		at += HEADER + value_bytes(request, (enum tlv_type)type);
	}
	if (request->key && at > out) {
		uint8_t *hmac = write_header(at, TLV_HMAC, STAMP_HMAC_BYTES);

		compute_hmac(request->key, request->sequence, out, (size_t)(at - out), hmac);
		at = hmac + STAMP_HMAC_BYTES;
	}
	if (request->padding)
		write_header(at, TLV_PADDING, request->padding - HEADER);
}

/*
 * True if the HMAC TLV has the correct HMAC and follows all other TLVs except padding. If there is no HMAC TLV: true,
 * except in authenticated mode with TLVs other than padding. *hmac: the HMAC TLV; hmac->at NULL = there is none.
 */
static bool has_integrity(const struct stamp_key *key, bool authenticated, uint32_t sequence, uint8_t *bytes,
			  size_t length, struct tlv *hmac)
{
	uint8_t expected[STAMP_HMAC_BYTES];
	bool other = false, late = false;
	struct tlv tlv;

	*hmac = (struct tlv){0};
	for (size_t at = 0; next_tlv(bytes, length, &at, &tlv);) {
		late = late || (hmac->at && tlv.type != TLV_PADDING);
		other = other || tlv.type != TLV_PADDING;
		if (tlv.type == TLV_HMAC && !hmac->at)
			*hmac = tlv;
	}
	if (!hmac->at)
		return !(authenticated && other);
	if (!key)
		return true; /* cannot be checked: the caller flags it as unrecognised */
	if (late || hmac->cut || hmac->length != STAMP_HMAC_BYTES)
		return false;
	compute_hmac(key, sequence, bytes, (size_t)(hmac->at - bytes), expected);
	return stamp_hmac_equal(expected, hmac->value);
}

static void answer_address(uint8_t *sub, ip_address address)
{
	sub[1] = (uint8_t)(sub[1] + (address_is_ipv4(address) ? 1 : 2));
	memset(sub + HEADER, 0, LOCATION_ADDRESS);
	put_address(sub + HEADER, address);
}

static void answer_location(const struct frame *request, const struct tlv *location)
{
	struct tlv sub;

	put16(location->value, request->destination_port);
	put16(location->value + 2, request->source_port);
	for (size_t at = LOCATION_PORTS; next_tlv(location->value, location->length, &at, &sub);) {
		bool is_mac = sub.type == SUB_MAC, is_address = sub.type == SUB_DESTINATION || sub.type == SUB_SOURCE;

		sub.at[0] = is_mac || is_address ? 0 : TLV_UNRECOGNISED;
		if (sub.cut || (is_mac && sub.length != LOCATION_MAC) ||
		    (is_address && sub.length != LOCATION_ADDRESS)) {
			sub.at[0] |= TLV_MALFORMED;
			return;
		}
		if (is_mac) {
			sub.at[1] = SUB_EUI48;
			memset(sub.value, 0, LOCATION_MAC);
			memcpy(sub.value, request->source_mac, FRAME_MAC_BYTES);
		} else if (is_address) {
			answer_address(sub.at,
				       sub.type == SUB_SOURCE ? request->source_address : request->destination_address);
		}
	}
}

/* Section 4.4, figure 16, with erratum 8199: DSCP1, DSCP2, ECN, RP. Returns DSCP1. */
static int answer_class(const struct frame *request, uint8_t *value)
{
	int wanted = value[0] >> 2;

	value[0] = (uint8_t)(wanted << 2 | request->dscp >> 4);
	value[1] = (uint8_t)((request->dscp & 0xf) << 4 | request->ecn << 2);
	value[2] = value[3] = 0;
	return wanted;
}

static void answer_follow_up(const struct tlv_facts *facts, uint8_t *value)
{
	memset(value, 0, 16);
	if (!facts->follow_up)
		return;
	put32(value, facts->follow_up_sequence);
	stamp_put_time(value + 4, facts->follow_up_at, facts->format);
	value[12] = TLV_METHOD_SOFTWARE;
}

static bool is_length_of(const struct tlv *tlv)
{
	static const struct tlv_request four = {.wanted = 0};

	if (tlv->type == TLV_LOCATION)
		return tlv->length >= LOCATION_PORTS;
	if (tlv->type == TLV_DESTINATION)
		return tlv->length == 4 || tlv->length == 16;
	if (tlv->type == TLV_HMAC)
		return tlv->length == STAMP_HMAC_BYTES;
	return tlv->type == TLV_PADDING || tlv->length == value_bytes(&four, (enum tlv_type)tlv->type);
}

static bool is_destination(const struct tlv *tlv, ip_address ours)
{
	ip_address address = 0;

	for (size_t i = 0; i < tlv->length; i++)
		address = address << 8 | tlv->value[i];
	return address == ours && address_bits(ours) == (int)tlv->length * 8;
}

/* Answers a complete TLV of a known type. Returns the same as tlv_answer(). */
static int answer_one(const struct tlv_facts *facts, const struct tlv *tlv)
{
	uint8_t method = TLV_METHOD_SOFTWARE;

	switch (tlv->type) {
	case TLV_LOCATION:
		answer_location(facts->request, tlv);
		break;
	case TLV_TIMESTAMP:
		memcpy(tlv->value, (uint8_t[]){(uint8_t)facts->clock, method, (uint8_t)facts->clock, method}, 4);
		break;
	case TLV_CLASS:
		return answer_class(facts->request, tlv->value);
	case TLV_DIRECT:
		put32(tlv->value + 4, facts->received);
		put32(tlv->value + 8, facts->sent);
		break;
	case TLV_FOLLOW_UP:
		answer_follow_up(facts, tlv->value);
		break;
	case TLV_DESTINATION:
		if (!is_destination(tlv, facts->request->destination_address))
			tlv->at[0] = TLV_UNRECOGNISED;
		break;
	case TLV_MICRO_SESSION:
		put16(tlv->value + 2, facts->member);
		break;
	default:
		break;
	}
	return -1;
}

bool tlv_is_for_member(uint16_t member, const uint8_t *bytes, size_t length)
{
	uint8_t *writable = (uint8_t *)(uintptr_t)bytes; /* next_tlv() does not write to it */
	struct tlv tlv;

	for (size_t at = 0; next_tlv(writable, length, &at, &tlv);)
		if (tlv.type == TLV_MICRO_SESSION && !tlv.cut && is_length_of(&tlv) && get16(tlv.value + 2) &&
		    get16(tlv.value + 2) != member)
			return false;
	return true;
}

static bool is_known(const struct tlv_facts *facts, const struct tlv *tlv)
{
	return tlv_name((enum tlv_type)tlv->type) && (tlv->type != TLV_HMAC || facts->key) &&
	       (tlv->type != TLV_MICRO_SESSION || facts->member);
}

int tlv_answer(const struct tlv_facts *facts, uint8_t *bytes, size_t length)
{
	int dscp = -1;
	struct tlv tlv, hmac;

	if (!has_integrity(facts->key, facts->authenticated, facts->request_sequence, bytes, length, &hmac)) {
		for (size_t at = 0; next_tlv(bytes, length, &at, &tlv);)
			tlv.at[0] = TLV_INTEGRITY;
		return -1;
	}
	for (size_t at = 0; next_tlv(bytes, length, &at, &tlv);) {
		bool known = is_known(facts, &tlv);
		int wanted;

		tlv.at[0] = known ? 0 : TLV_UNRECOGNISED;
		if (tlv.cut || (known && !is_length_of(&tlv))) {
			tlv.at[0] |= TLV_MALFORMED;
			if (tlv.type == TLV_FOLLOW_UP) /* section 4.7, erratum 8339 */
				memset(tlv.value, 0, tlv.length < 12 ? tlv.length : 12);
			break;
		}
		wanted = known ? answer_one(facts, &tlv) : -1;
		dscp = wanted >= 0 ? wanted : dscp;
	}
	if (hmac.at && facts->key && hmac.length == STAMP_HMAC_BYTES)
		compute_hmac(facts->key, facts->answer_sequence, bytes, (size_t)(hmac.at - bytes), hmac.value);
	return dscp;
}

static ip_address get_address(const uint8_t *bytes, int count)
{
	ip_address address = 0;

	for (int i = 0; i < count; i++)
		address = address << 8 | bytes[i];
	return address;
}

static void read_location(const struct tlv *location, struct tlv_reading *reading)
{
	struct tlv sub;

	reading->destination_port = get16(location->value);
	reading->source_port = get16(location->value + 2);
	for (size_t at = LOCATION_PORTS; next_tlv(location->value, location->length, &at, &sub);) {
		if (sub.at[0] || sub.cut)
			continue;
		if (sub.type == SUB_EUI48 && sub.length == LOCATION_MAC) {
			reading->has_mac = true;
			memcpy(reading->source_mac, sub.value, FRAME_MAC_BYTES);
		} else if (sub.length == LOCATION_ADDRESS &&
			   (sub.type == SUB_DESTINATION + 1 || sub.type == SUB_DESTINATION + 2)) {
			reading->destination = get_address(sub.value, sub.type == SUB_DESTINATION + 1 ? 4 : 16);
		} else if (sub.length == LOCATION_ADDRESS &&
			   (sub.type == SUB_SOURCE + 1 || sub.type == SUB_SOURCE + 2)) {
			reading->source = get_address(sub.value, sub.type == SUB_SOURCE + 1 ? 4 : 16);
		}
	}
}

static void read_one(const struct tlv *tlv, enum stamp_format format, struct tlv_reading *reading)
{
	const uint8_t *value = tlv->value;

	if (tlv->type == TLV_LOCATION) {
		read_location(tlv, reading);
	} else if (tlv->type == TLV_TIMESTAMP) {
		reading->clock_in = value[0];
		reading->method_in = value[1];
		reading->clock_out = value[2];
		reading->method_out = value[3];
	} else if (tlv->type == TLV_CLASS) {
		reading->dscp = (uint8_t)((value[0] & 3) << 4 | value[1] >> 4);
		reading->ecn = value[1] >> 2 & 3;
		reading->class_refused = value[1] & 3;
	} else if (tlv->type == TLV_DIRECT) {
		reading->sent = get32(value);
		reading->received = get32(value + 4);
		reading->answered = get32(value + 8);
	} else if (tlv->type == TLV_FOLLOW_UP) {
		reading->follow_up_sequence = get32(value);
		if (stamp_get_time(value + 4, format, &reading->follow_up_at))
			reading->follow_up_at = (struct ns){0};
	} else if (tlv->type == TLV_MICRO_SESSION) {
		reading->member = get16(value);
		reading->peer_member = get16(value + 2);
	}
}

void tlv_read(const struct stamp_key *key, uint32_t sequence, enum stamp_format format, const uint8_t *bytes,
	      size_t length, struct tlv_reading *reading)
{
	uint8_t *writable =
		(uint8_t *)(uintptr_t)bytes; /* next_tlv() and the functions that read values do not write to it */
	struct tlv tlv, hmac;

	*reading = (struct tlv_reading){0};
	reading->bad_hmac = key && !has_integrity(key, true, sequence, writable, length, &hmac);
	for (size_t at = 0; next_tlv(writable, length, &at, &tlv);) {
		bool known = tlv_name((enum tlv_type)tlv.type);

		if (!known)
			continue;
		if (tlv.at[0] & (TLV_UNRECOGNISED | TLV_MALFORMED | TLV_INTEGRITY) || tlv.cut || !is_length_of(&tlv)) {
			reading->flagged |= UINT32_C(1) << tlv.type;
		} else {
			reading->filled |= UINT32_C(1) << tlv.type;
			if (!reading->bad_hmac)
				read_one(&tlv, format, reading);
		}
	}
}
