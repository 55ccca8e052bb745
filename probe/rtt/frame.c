/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/rtt/frame.h>

#include <errno.h>
#include <string.h>

#include "rtt_priv.h"

enum {
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_ARP = 0x0806,
	ETHERTYPE_SERVICE_VLAN = 0x88a8,
	ETHERTYPE_IPV6 = 0x86dd,
	ETHERTYPE_PTP = 0x88f7,
	ETHERNET_BYTES = FRAME_ETHERNET_BYTES,
	IPV4_BYTES = 20,
	IPV6_BYTES = 40,
	UDP_BYTES = 8,
	ARP_BODY_BYTES = 28,
	PROTOCOL_ICMP = 1,
	PROTOCOL_TCP = 6,
	PROTOCOL_UDP = 17,
	ECHO_BYTES = 8,
	TCP_BYTES = 20,
	OPTION_END = 0,
	OPTION_NOTHING = 1,
	OPTION_STAMPS = 8,
	OPTION_STAMPS_BYTES = 10,
	PROTOCOL_HOP_BY_HOP = 0,
	PROTOCOL_ROUTING = 43,
	PROTOCOL_FRAGMENT = 44,
	PROTOCOL_ICMPV6 = 58,
	PROTOCOL_DESTINATION = 60,
	ND_SOLICITATION = 135,
	ND_ADVERTISEMENT = 136,
	ND_BYTES = 24,
	ND_OPTION_BYTES = 8,
	ND_SOURCE_MAC = 1, /* options */
	ND_TARGET_MAC = 2,
	ND_HOP_LIMIT = 255, /* RFC 4861 section 7.1: proves that no router forwarded it */
	DEFAULT_TTL = 255,  /* RFC 8762 section 4.3: allows the receiver to compute the number of hops */
};

/*
 * RFC 1071: a running one's complement sum. The words are in the byte order of the machine; by section 2 (B), the sum
 * is correct in either order. Adds 64 bits at a time, with end-around carry. An odd last byte is padded with zero.
 */
static inline uint64_t add_carried(uint64_t sum, uint64_t word)
{
	sum += word;
	return sum + (sum < word);
}

static inline uint64_t add_word(uint64_t sum, const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof word);
	return add_carried(sum, word);
}

static inline uint64_t add_words(uint64_t sum, const uint8_t *bytes, size_t length)
{
	uint32_t half;
	uint16_t quarter;

	for (; length >= 32; bytes += 32, length -= 32)
		sum = add_word(add_word(add_word(add_word(sum, bytes), bytes + 8), bytes + 16), bytes + 24);
	for (; length >= 8; bytes += 8, length -= 8)
		sum = add_word(sum, bytes);
	if (length & sizeof half) {
		memcpy(&half, bytes, sizeof half);
		sum = add_carried(sum, half);
		bytes += sizeof half;
	}
	if (length & sizeof quarter) {
		memcpy(&quarter, bytes, sizeof quarter);
		sum = add_carried(sum, quarter);
		bytes += sizeof quarter;
	}
	return length & 1 ? add_carried(sum, htobe16((uint16_t)(bytes[0] << 8))) : sum;
}

/*
 * Returns the checksum in wire order, to be stored as it is. Adding a number to itself with its halves exchanged leaves
 * the one's complement sum of both halves in the upper half.
 */
static inline uint16_t fold(uint64_t sum)
{
	uint32_t half;

	sum += sum << 32 | sum >> 32;
	half = (uint32_t)(sum >> 32);
	half += half << 16 | half >> 16;
	return (uint16_t) ~(half >> 16);
}

/* Sum over the pseudo-header: addresses, protocol, length. */
static inline uint64_t pseudo_sum(const uint8_t *ip, uint8_t protocol, size_t length)
{
	uint64_t sum = (uint64_t)htobe16(protocol) + htobe16((uint16_t)length);

	return ip[0] >> 4 == 4 ? add_words(sum, ip + 12, 8) : add_words(sum, ip + 8, 32);
}

/* Checksum over the pseudo-header and the datagram; 0 for a received datagram with a correct checksum. */
static uint16_t checksum(const uint8_t *ip, uint8_t protocol, const uint8_t *datagram, size_t length)
{
	return fold(add_words(pseudo_sum(ip, protocol, length), datagram, length));
}

static void put_checksum(uint8_t *out, uint16_t sum)
{
	memcpy(out, &sum, sizeof sum);
}

static void read_arp(struct frame *frame, const uint8_t *bytes, size_t captured)
{
	uint16_t operation;

	frame->kind = FRAME_BROKEN;
	if (captured < ARP_BODY_BYTES)
		return;
	frame->kind = FRAME_OTHER;
	if (get16(bytes) != 1 || get16(bytes + 2) != ETHERTYPE_IPV4 || bytes[4] != FRAME_MAC_BYTES || bytes[5] != 4)
		return;
	operation = get16(bytes + 6);
	if (operation != 1 && operation != 2)
		return;
	frame->kind = operation == 1 ? FRAME_WHO_HAS : FRAME_IS_AT;
	/* The MAC is taken from the ARP body: the Ethernet source may be a proxy's. */
	memcpy(frame->source_mac, bytes + 8, FRAME_MAC_BYTES);
	frame->source_address = get32(bytes + 14);
	frame->destination_address = get32(bytes + 24);
}

static void read_udp(struct frame *frame, const uint8_t *ip, const uint8_t *udp, size_t captured, size_t length)
{
	size_t datagram;

	frame->kind = FRAME_BROKEN;
	if (captured < UDP_BYTES)
		return;
	datagram = get16(udp + 4);
	if (datagram < UDP_BYTES || datagram > length)
		return;
	frame->source_port = get16(udp);
	frame->destination_port = get16(udp + 2);
	frame->payload = udp + UDP_BYTES;
	frame->payload_bytes = (datagram < captured ? datagram : captured) - UDP_BYTES;
	frame->unchecked = get16(udp + 6) == 0 || captured < datagram;
	if (get16(udp + 6) == 0 && ip[0] >> 4 == 6) /* RFC 8200 section 8.1: IPv6 requires a checksum */
		return;
	if (!frame->unchecked && checksum(ip, PROTOCOL_UDP, udp, datagram) != 0) {
		/* The kernel of a local sender leaves the sum of the pseudo-header in the checksum field. */
		frame->unfinished = (get16(udp + 6) ^ be16toh(fold(pseudo_sum(ip, PROTOCOL_UDP, datagram)))) == 0xffff;
		return;
	}
	frame->kind = FRAME_UDP;
}

static void read_echo(struct frame *frame, const uint8_t *icmp, size_t captured, uint8_t request, uint8_t reply)
{
	frame->kind = FRAME_OTHER;
	if (captured < ECHO_BYTES || (icmp[0] != request && icmp[0] != reply) || icmp[1] != 0)
		return;
	frame->kind = icmp[0] == request ? FRAME_ECHO_REQUEST : FRAME_ECHO_REPLY;
	frame->source_port = get16(icmp + 4);
	frame->sequence = get16(icmp + 6);
	frame->payload = icmp + ECHO_BYTES;
	frame->payload_bytes = captured - ECHO_BYTES;
}

/* Reads TSval and TSecr. Returns false if the options do not contain them completely. */
static bool read_tcp_stamps(const uint8_t *options, size_t length, struct frame *frame)
{
	for (size_t at = 0; at < length && options[at] != OPTION_END;) {
		size_t whole = options[at] == OPTION_NOTHING ? 1 : at + 1 < length ? options[at + 1] : 0;

		if (whole == 0 || at + whole > length || (whole == 1 && options[at] != OPTION_NOTHING))
			return false;
		if (options[at] == OPTION_STAMPS && whole == OPTION_STAMPS_BYTES) {
			frame->sequence = get32(options + at + 2);
			frame->echoed = get32(options + at + 6);
			return true;
		}
		at += whole;
	}
	return false;
}

/* payload_bytes are those on the wire, plus one for SYN: the number of bytes that the other side will acknowledge. */
static void read_tcp(struct frame *frame, const uint8_t *tcp, size_t captured, size_t length)
{
	size_t header = captured < TCP_BYTES ? 0 : (size_t)(tcp[12] >> 4) * 4;

	if (header < TCP_BYTES || header > length)
		return; /* broken */
	frame->kind = FRAME_TCP;
	frame->source_port = get16(tcp);
	frame->destination_port = get16(tcp + 2);
	frame->tcp_sequence = get32(tcp + 4);
	frame->tcp_acknowledged = get32(tcp + 8);
	frame->tcp_flags = tcp[13];
	frame->payload_bytes = length - header + (tcp[13] & FRAME_TCP_SYN ? 1 : 0);
	if (header > captured)
		return;
	frame->payload = tcp + header;
	frame->has_stamps = read_tcp_stamps(tcp + TCP_BYTES, header - TCP_BYTES, frame);
}

static void read_ipv4(struct frame *frame, const uint8_t *ip, size_t captured, size_t length)
{
	size_t header, total;

	frame->kind = FRAME_BROKEN;
	if (captured < IPV4_BYTES || ip[0] >> 4 != 4)
		return;
	header = (size_t)(ip[0] & 0x0f) * 4;
	total = get16(ip + 2);
	if (header < IPV4_BYTES || header > captured || total < header || total > length ||
	    fold(add_words(0, ip, header)) != 0)
		return;
	frame->source_address = get32(ip + 12);
	frame->destination_address = get32(ip + 16);
	frame->ttl = ip[8];
	frame->dscp = ip[1] >> 2;
	frame->ecn = ip[1] & 3;
	frame->may_fragment = !(ip[6] & 0x40);
	if (ip[9] != PROTOCOL_UDP && ip[9] != PROTOCOL_ICMP && ip[9] != PROTOCOL_TCP) {
		frame->kind = FRAME_OTHER;
		return;
	}
	if (get16(ip + 6) & 0x3fff) /* more fragments follow, or it is not the first */
		return;
	if (captured > total)
		captured = total; /* the remaining bytes are Ethernet padding */
	if (ip[9] == PROTOCOL_ICMP)
		read_echo(frame, ip + header, captured - header, 8, 0);
	else if (ip[9] == PROTOCOL_TCP)
		read_tcp(frame, ip + header, captured - header, total - header);
	else
		read_udp(frame, ip, ip + header, captured - header, total - header);
}

static ip_address get_ipv6(const uint8_t *bytes)
{
	ip_address address = 0;

	for (int i = 0; i < 16; i += 4)
		address = address << 32 | get32(bytes + i);
	return address;
}

/* RFC 4861 sections 4.3, 4.4 and 7.1. The MAC is taken from the option, if there is one. */
static void read_icmpv6(struct frame *frame, const uint8_t *ip, const uint8_t *icmp, size_t captured, size_t length)
{
	bool asks;

	frame->kind = FRAME_OTHER;
	if (captured && (icmp[0] == 128 || icmp[0] == 129)) {
		read_echo(frame, icmp, captured, 128, 129);
		return;
	}
	if (captured < ND_BYTES || captured < length || (icmp[0] != ND_SOLICITATION && icmp[0] != ND_ADVERTISEMENT))
		return;
	asks = icmp[0] == ND_SOLICITATION;
	if (frame->ttl != ND_HOP_LIMIT || icmp[1] != 0 || checksum(ip, PROTOCOL_ICMPV6, icmp, length) != 0 ||
	    (asks && frame->source_address == 0)) /* duplicate address detection: the sender has no address yet */
		return;
	frame->kind = asks ? FRAME_WHO_HAS : FRAME_IS_AT;
	*(asks ? &frame->destination_address : &frame->source_address) = get_ipv6(icmp + 8);
	for (size_t at = ND_BYTES; at + ND_OPTION_BYTES <= length && icmp[at + 1]; at += (size_t)icmp[at + 1] * 8)
		if (icmp[at] == (asks ? ND_SOURCE_MAC : ND_TARGET_MAC))
			memcpy(frame->source_mac, icmp + at + 2, FRAME_MAC_BYTES);
}

/* Skips extension headers, except fragment headers. */
static void read_ipv6(struct frame *frame, const uint8_t *ip, size_t captured, size_t length)
{
	size_t at = IPV6_BYTES, total;
	uint8_t next;

	frame->kind = FRAME_BROKEN;
	if (captured < IPV6_BYTES || ip[0] >> 4 != 6)
		return;
	total = IPV6_BYTES + (size_t)get16(ip + 4);
	if (total > length)
		return;
	frame->source_address = get_ipv6(ip + 8);
	frame->destination_address = get_ipv6(ip + 24);
	frame->ttl = ip[7];
	frame->dscp = (uint8_t)(get16(ip) >> 6 & 0x3f);
	frame->ecn = ip[1] >> 4 & 3;
	if (captured > total)
		captured = total;
	for (next = ip[6]; next == PROTOCOL_HOP_BY_HOP || next == PROTOCOL_ROUTING || next == PROTOCOL_DESTINATION;) {
		if (at + 8 > captured)
			return;
		next = ip[at];
		at += 8 + (size_t)ip[at + 1] * 8;
	}
	if (next == PROTOCOL_FRAGMENT || at > captured)
		return;
	if (next == PROTOCOL_TCP)
		read_tcp(frame, ip + at, captured - at, total - at);
	else if (next == PROTOCOL_UDP)
		read_udp(frame, ip, ip + at, captured - at, total - at);
	else if (next == PROTOCOL_ICMPV6)
		read_icmpv6(frame, ip, ip + at, captured - at, total - at);
	else
		frame->kind = FRAME_OTHER;
}

static void read_packet(struct frame *frame, uint16_t type, const uint8_t *bytes, size_t captured, size_t length)
{
	if (type == ETHERTYPE_ARP)
		read_arp(frame, bytes, captured);
	else if (type == ETHERTYPE_IPV4)
		read_ipv4(frame, bytes, captured, length);
	else if (type == ETHERTYPE_IPV6)
		read_ipv6(frame, bytes, captured, length);
	else
		frame->kind = FRAME_OTHER;
	if (type != ETHERTYPE_PTP)
		return;
	frame->kind = FRAME_PTP;
	frame->payload = bytes;
	frame->payload_bytes = captured;
}

struct frame frame_read_packet(uint16_t type, const uint8_t *bytes, size_t captured, size_t length)
{
	struct frame frame = {.kind = FRAME_BROKEN};

	if (length >= captured)
		read_packet(&frame, type, bytes, captured, length);
	return frame;
}

void frame_read(const uint8_t *bytes, size_t captured, size_t length, struct frame *frame)
{
	size_t at = ETHERNET_BYTES;
	uint16_t type;

	*frame = (struct frame){.kind = FRAME_BROKEN};
	if (captured < ETHERNET_BYTES || length < captured)
		return;
	memcpy(frame->destination_mac, bytes, FRAME_MAC_BYTES);
	memcpy(frame->source_mac, bytes + FRAME_MAC_BYTES, FRAME_MAC_BYTES);
	type = get16(bytes + 12);
	while (frame->tags < FRAME_TAGS && (type == FRAME_TAG_TYPE || type == ETHERTYPE_SERVICE_VLAN)) {
		if (captured < at + FRAME_TAG_BYTES)
			return;
		frame->tag[frame->tags++] = (struct frame_tag){type, get16(bytes + at)};
		type = get16(bytes + at + 2);
		at += FRAME_TAG_BYTES;
	}
	read_packet(frame, type, bytes + at, captured - at, length - at);
}

/* Returns the length of the Ethernet header, with tags. */
static size_t write_ethernet(const struct frame *frame, uint16_t type, uint8_t *out)
{
	size_t at = ETHERNET_BYTES;

	memcpy(out, frame->destination_mac, FRAME_MAC_BYTES);
	memcpy(out + FRAME_MAC_BYTES, frame->source_mac, FRAME_MAC_BYTES);
	for (uint8_t i = 0; i < frame->tags; i++, at += FRAME_TAG_BYTES) {
		put16(out + at - 2, frame->tag[i].type);
		put16(out + at, frame->tag[i].control);
	}
	put16(out + at - 2, type);
	return at;
}

/*
 * Writes the header. Returns the sum of the addresses, for the checksum of the payload. Computes sums from the values,
 * not from the stored bytes: reading those back would stall on the stores.
 */
static uint64_t write_ipv4(const struct frame *frame, size_t length, uint8_t *ip)
{
	const uint16_t service = (uint16_t)(0x4500 | frame->dscp << 2 | frame->ecn);
	const uint16_t fragment = frame->may_fragment ? 0 : 0x4000;
	const uint16_t hops = (uint16_t)((frame->ttl ? frame->ttl : DEFAULT_TTL) << 8 | PROTOCOL_UDP);
	const uint64_t addresses =
		(uint64_t)htobe32((uint32_t)frame->source_address) + htobe32((uint32_t)frame->destination_address);

	put16(ip, service);
	put16(ip + 2, (uint16_t)length);
	put32(ip + 4, fragment); /* identification 0 */
	put16(ip + 8, hops);
	put_checksum(ip + 10, fold(addresses + htobe16(service) + htobe16((uint16_t)length) + htobe16(fragment) +
				   htobe16(hops)));
	put32(ip + 12, (uint32_t)frame->source_address);
	put32(ip + 16, (uint32_t)frame->destination_address);
	return addresses;
}

static void put_ipv6(uint8_t *out, ip_address address)
{
	for (int i = 0; i < 16; i += 4)
		put32(out + i, (uint32_t)(address >> (96 - 8 * i)));
}

/* `length`: of the IPv6 payload. Returns the sum of the addresses. */
static uint64_t write_ipv6(const struct frame *frame, uint8_t protocol, size_t length, uint8_t *ip)
{
	put32(ip, UINT32_C(6) << 28 | (uint32_t)frame->dscp << 22 | (uint32_t)frame->ecn << 20);
	put16(ip + 4, (uint16_t)length);
	ip[6] = protocol;
	ip[7] = frame->ttl ? frame->ttl : DEFAULT_TTL;
	put_ipv6(ip + 8, frame->source_address);
	put_ipv6(ip + 24, frame->destination_address);
	return add_words(0, ip + 8, 32);
}

static size_t pad(uint8_t *out, size_t length)
{
	if (length >= FRAME_MINIMUM)
		return length;
	memset(out + length, 0, FRAME_MINIMUM - length);
	return FRAME_MINIMUM;
}

size_t frame_headers(const struct frame *frame)
{
	size_t ip = address_is_ipv4(frame->destination_address) ? IPV4_BYTES : IPV6_BYTES;

	return ETHERNET_BYTES + (size_t)frame->tags * FRAME_TAG_BYTES + ip + UDP_BYTES;
}

size_t frame_write_udp(const struct frame *frame, uint8_t *out, size_t capacity)
{
	size_t headers = frame_headers(frame), datagram = UDP_BYTES + frame->payload_bytes;
	bool four = address_is_ipv4(frame->destination_address);
	uint8_t *udp = out + headers - UDP_BYTES, *ip = udp - (four ? IPV4_BYTES : IPV6_BYTES);
	uint64_t sum;
	uint16_t folded;

	if (capacity < headers + frame->payload_bytes || capacity < FRAME_MINIMUM || datagram > 0xffff - IPV4_BYTES)
		return 0;
	if (frame->payload != udp + UDP_BYTES)
		memmove(udp + UDP_BYTES, frame->payload, frame->payload_bytes);
	write_ethernet(frame, four ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6, out);
	sum = four ? write_ipv4(frame, IPV4_BYTES + datagram, ip) : write_ipv6(frame, PROTOCOL_UDP, datagram, ip);
	put16(udp, frame->source_port);
	put16(udp + 2, frame->destination_port);
	put16(udp + 4, (uint16_t)datagram);
	sum = add_carried(sum, htobe16(PROTOCOL_UDP) + (uint64_t)htobe16(frame->source_port) +
				       htobe16(frame->destination_port) + UINT64_C(2) * htobe16((uint16_t)datagram));
	folded = fold(add_words(sum, udp + UDP_BYTES, frame->payload_bytes));
	put_checksum(udp + 6, folded ? folded : 0xffff); /* RFC 768: 0 would mean "none" */
	return pad(out, headers + frame->payload_bytes);
}

void frame_template_make(const struct frame *frame, struct frame_template *template)
{
	struct frame same = *frame;
	size_t datagram = UDP_BYTES + frame->payload_bytes;
	uint8_t *ip, *udp;

	*template = (struct frame_template){.headers = frame_headers(frame),
					    .payload_bytes = frame->payload_bytes,
					    .four = address_is_ipv4(frame->destination_address)};
	udp = template->bytes + template->headers - UDP_BYTES;
	ip = udp - (template->four ? IPV4_BYTES : IPV6_BYTES);
	same.destination_address = 0;
	write_ethernet(&same, template->four ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6, template->bytes);
	if (template->four)
		write_ipv4(&same, IPV4_BYTES + datagram, ip);
	else
		write_ipv6(&same, PROTOCOL_UDP, datagram, ip);
	put16(udp + 2, frame->destination_port);
	put16(udp + 4, (uint16_t)datagram);
	template->udp_sum = add_words(pseudo_sum(ip, PROTOCOL_UDP, datagram), udp, UDP_BYTES);
	if (!template->four)
		return;
	put16(ip + 10, 0);
	template->ip_sum = add_words(0, ip, IPV4_BYTES);
}

size_t frame_template_finish(const struct frame_template *template, const uint8_t *mac, ip_address destination,
			     uint16_t source_port, uint8_t *out)
{
	uint8_t *payload = out + template->headers, *udp = payload - UDP_BYTES;
	uint64_t sum = add_carried(template->udp_sum, htobe16(source_port));
	uint16_t folded;

	memcpy(out, mac, FRAME_MAC_BYTES);
	put16(udp, source_port);
	if (template->four) {
		const uint32_t address = htobe32((uint32_t)destination);

		memcpy(udp - 4, &address, sizeof address);
		put_checksum(udp - IPV4_BYTES + 10, fold(add_carried(template->ip_sum, address)));
		sum = add_carried(sum, address);
	} else {
		put_ipv6(udp - 16, destination);
		sum = add_words(sum, udp - 16, 16);
	}
	folded = fold(add_words(sum, payload, template->payload_bytes));
	put_checksum(udp + 6, folded ? folded : 0xffff); /* RFC 768: 0 would mean "none" */
	return pad(out, template->headers + template->payload_bytes);
}

static size_t write_arp(const struct frame *frame, uint8_t *out)
{
	bool asks = frame->kind == FRAME_WHO_HAS;
	size_t at = write_ethernet(frame, ETHERTYPE_ARP, out);
	uint8_t *body = out + at;

	memset(body, 0, ARP_BODY_BYTES);
	if (asks)
		memset(out, 0xff, FRAME_MAC_BYTES);
	put16(body, 1);
	put16(body + 2, ETHERTYPE_IPV4);
	body[4] = FRAME_MAC_BYTES;
	body[5] = 4;
	put16(body + 6, asks ? 1 : 2);
	memcpy(body + 8, frame->source_mac, FRAME_MAC_BYTES);
	put32(body + 14, (uint32_t)frame->source_address);
	if (!asks)
		memcpy(body + 18, frame->destination_mac, FRAME_MAC_BYTES);
	put32(body + 24, (uint32_t)frame->destination_address);
	return pad(out, at + ARP_BODY_BYTES);
}

/* RFC 4861 sections 4.3, 4.4 and 7.2; RFC 4291 section 2.7.1 for the group, RFC 2464 section 7 for its MAC. */
static size_t write_nd(struct frame frame, uint8_t *out)
{
	const ip_address group = (ip_address)0xff02 << 112 | (ip_address)0x1ff000000, host = 0xffffff;
	bool asks = frame.kind == FRAME_WHO_HAS;
	ip_address target = asks ? frame.destination_address : frame.source_address;
	uint8_t *ip, *icmp;

	if (asks) {
		frame.destination_address = group | (target & host);
		memset(frame.destination_mac, 0x33, 2);
		put32(frame.destination_mac + 2, (uint32_t)frame.destination_address);
	}
	frame.ttl = ND_HOP_LIMIT;
	frame.dscp = frame.ecn = 0;
	ip = out + write_ethernet(&frame, ETHERTYPE_IPV6, out);
	icmp = ip + IPV6_BYTES;
	write_ipv6(&frame, PROTOCOL_ICMPV6, ND_BYTES + ND_OPTION_BYTES, ip);
	memset(icmp, 0, ND_BYTES + ND_OPTION_BYTES);
	icmp[0] = asks ? ND_SOLICITATION : ND_ADVERTISEMENT;
	icmp[4] = asks ? 0 : 0x60; /* solicited, override */
	put_ipv6(icmp + 8, target);
	icmp[ND_BYTES] = asks ? ND_SOURCE_MAC : ND_TARGET_MAC;
	icmp[ND_BYTES + 1] = 1;
	memcpy(icmp + ND_BYTES + 2, frame.source_mac, FRAME_MAC_BYTES);
	put_checksum(icmp + 2, checksum(ip, PROTOCOL_ICMPV6, icmp, ND_BYTES + ND_OPTION_BYTES));
	return (size_t)(icmp - out) + ND_BYTES + ND_OPTION_BYTES;
}

size_t frame_write_neighbour(const struct frame *frame, uint8_t *out, size_t capacity)
{
	if (capacity < FRAME_NEIGHBOUR_BYTES)
		return 0;
	return address_is_ipv4(frame->source_address) ? write_arp(frame, out) : write_nd(*frame, out);
}
