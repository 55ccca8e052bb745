/* SPDX-License-Identifier: BSD-3-Clause */
#include "port_priv.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

enum {
	TYPE_AT = 12,
	TYPE_IPV4 = 0x0800,
	TYPE_IPV6 = 0x86dd,
	TYPE_C_TAG = 0x8100,
	TYPE_S_TAG = 0x88a8,
	IPV4_LENGTH_AT = 2,
	IPV4_ID_AT = 4,
	IPV4_PROTOCOL_AT = 9,
	IPV4_CHECKSUM_AT = 10,
	IPV4_ADDRESSES_AT = 12,
	IPV6_LENGTH_AT = 4,
	IPV6_NEXT_AT = 6,
	IPV6_ADDRESSES_AT = 8,
	IPV6_BYTES = 40,
	TCP_SEQUENCE_AT = 4,
	TCP_OFFSET_AT = 12,
	TCP_FLAGS_AT = 13,
	TCP_CHECKSUM_AT = 16,
	TCP_BYTES = 20,
	TCP_FIN_PSH = 0x09,
	TCP_CWR = 0x80,
	UDP_LENGTH_AT = 4,
	UDP_CHECKSUM_AT = 6,
	UDP_BYTES = 8,
};

static uint16_t get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

uint32_t segments_sum(const uint8_t *bytes, size_t count, uint32_t sum)
{
	uint64_t total = sum;
	uint16_t word;

	for (; count > 1; count -= 2, bytes += 2) {
		memcpy(&word, bytes, sizeof word);
		total += word;
	}
	if (count) {
		word = 0;
		memcpy(&word, bytes, 1);
		total += word;
	}
	return (uint32_t)(total & UINT16_MAX) + (uint32_t)(total >> 16);
}

uint16_t segments_fold(uint32_t sum)
{
	sum = (sum & UINT16_MAX) + (sum >> 16);
	return (uint16_t)(sum + (sum >> 16));
}

/* Finds the headers. Returns the protocol, or -1 if the packet has none that can be cut. */
static int find_headers(struct segments *segments)
{
	const uint8_t *frame = segments->frame, *ip;
	uint32_t type_at = TYPE_AT;

	while (type_at + 6 < segments->bytes &&
	       (get16(frame + type_at) == TYPE_C_TAG || get16(frame + type_at) == TYPE_S_TAG))
		type_at += 4;
	segments->network = type_at + 2;
	if (segments->network + IPV6_BYTES > segments->bytes)
		return -1;
	ip = frame + segments->network;
	segments->is_ipv4 = get16(frame + type_at) == TYPE_IPV4;
	if (!segments->is_ipv4 && get16(frame + type_at) != TYPE_IPV6)
		return -1;
	segments->transport = segments->network + (segments->is_ipv4 ? 4U * (ip[0] & 15U) : IPV6_BYTES);
	return segments->is_ipv4 ? ip[IPV4_PROTOCOL_AT] : ip[IPV6_NEXT_AT];
}

bool segments_begin(struct segments *segments, const uint8_t *frame, uint32_t bytes, uint32_t size, uint32_t room)
{
	int protocol;

	*segments = (struct segments){.frame = frame, .bytes = bytes, .size = size};
	protocol = find_headers(segments);
	segments->is_tcp = protocol == IPPROTO_TCP;
	if ((!segments->is_tcp && protocol != IPPROTO_UDP) || segments->transport + TCP_BYTES > bytes || size == 0)
		return false;
	segments->payload =
		segments->transport +
		(segments->is_tcp ? 4U * (frame[segments->transport + TCP_OFFSET_AT] >> 4) : (uint32_t)UDP_BYTES);
	if (segments->payload >= bytes || segments->payload + size > room)
		return false;
	segments->at = segments->payload;
	return true;
}

/* Writes the lengths of an IP header, and of IPv4 its identification and checksum. */
static void finish_network(const struct segments *segments, uint8_t *to, uint32_t bytes)
{
	uint8_t *ip = to + segments->network;
	uint16_t sum;

	if (!segments->is_ipv4) {
		put16(ip + IPV6_LENGTH_AT, bytes - segments->network - IPV6_BYTES);
		return;
	}
	put16(ip + IPV4_LENGTH_AT, bytes - segments->network);
	put16(ip + IPV4_ID_AT, get16(ip + IPV4_ID_AT) + segments->index);
	put16(ip + IPV4_CHECKSUM_AT, 0);
	sum = (uint16_t)~segments_fold(segments_sum(ip, segments->transport - segments->network, 0));
	memcpy(ip + IPV4_CHECKSUM_AT, &sum, sizeof sum);
}

static void finish_tcp(const struct segments *segments, uint8_t *tcp, bool last)
{
	uint32_t sequence;

	memcpy(&sequence, tcp + TCP_SEQUENCE_AT, sizeof sequence);
	sequence = htonl(ntohl(sequence) + segments->at - segments->payload);
	memcpy(tcp + TCP_SEQUENCE_AT, &sequence, sizeof sequence);
	if (!last)
		tcp[TCP_FLAGS_AT] &= (uint8_t)~TCP_FIN_PSH;
	if (segments->index > 0)
		tcp[TCP_FLAGS_AT] &= (uint8_t)~TCP_CWR;
}

/* Writes the checksum over the pseudo-header and the rest of the frame. */
static void finish_transport_checksum(const struct segments *segments, uint8_t *to, uint32_t bytes)
{
	const uint8_t *addresses = to + segments->network + (segments->is_ipv4 ? IPV4_ADDRESSES_AT : IPV6_ADDRESSES_AT);
	uint32_t length = bytes - segments->transport;
	uint8_t pseudo[] = {0, (uint8_t)(segments->is_tcp ? IPPROTO_TCP : IPPROTO_UDP), (uint8_t)(length >> 8),
			    (uint8_t)length};
	uint8_t *at = to + segments->transport + (segments->is_tcp ? TCP_CHECKSUM_AT : UDP_CHECKSUM_AT);
	uint32_t sum;
	uint16_t folded;

	put16(at, 0);
	sum = segments_sum(addresses, segments->is_ipv4 ? 8 : 32, 0);
	sum = segments_sum(pseudo, sizeof pseudo, sum);
	folded = segments_fold(segments_sum(to + segments->transport, length, sum));
	folded = folded == UINT16_MAX ? folded : (uint16_t)~folded;
	memcpy(at, &folded, sizeof folded);
}

uint16_t segments_next(struct segments *segments, uint8_t *to)
{
	uint32_t left = segments->bytes - segments->at;
	uint32_t count = left < segments->size ? left : segments->size, bytes = segments->payload + count;
	bool last = count == left;

	memcpy(to, segments->frame, segments->payload);
	memcpy(to + segments->payload, segments->frame + segments->at, count);
	finish_network(segments, to, bytes);
	if (segments->is_tcp)
		finish_tcp(segments, to + segments->transport, last);
	else
		put16(to + segments->transport + UDP_LENGTH_AT, bytes - segments->transport);
	finish_transport_checksum(segments, to, bytes);
	segments->at = last ? 0 : segments->at + count;
	segments->index++;
	return (uint16_t)bytes;
}
