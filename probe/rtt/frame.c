/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/rtt/frame.h>

#include <errno.h>
#include <string.h>

#include "wire_priv.h"

enum {
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_ARP = 0x0806,
	ETHERTYPE_SERVICE_VLAN = 0x88a8,
	ETHERNET_BYTES = 14,
	IPV4_BYTES = 20,
	UDP_BYTES = 8,
	ARP_BODY_BYTES = 28,
	PROTOCOL_UDP = 17,
	DEFAULT_TTL = 255, /* RFC 8762 section 4.3: lets the far side see how many hops there were */
};

/* RFC 1071: the running one's complement sum; an odd last byte is padded with zero. */
static uint64_t sum_words(const uint8_t *bytes, size_t length, uint64_t sum)
{
	for (; length >= 2; bytes += 2, length -= 2)
		sum += get16(bytes);
	if (length)
		sum += (uint64_t)bytes[0] << 8;
	return sum;
}

static uint16_t fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Over the pseudo-header (addresses, protocol, length) and the datagram; 0 when a received one is right. */
static uint16_t udp_checksum(const uint8_t *ip, const uint8_t *udp, size_t length)
{
	return fold(sum_words(udp, length, sum_words(ip + 12, 8, PROTOCOL_UDP + length)));
}

/* Over the pseudo-header alone: its complement is what an unfinished datagram has in the checksum's place. */
static uint16_t pseudo_checksum(const uint8_t *ip, size_t length)
{
	return fold(sum_words(ip + 12, 8, PROTOCOL_UDP + length));
}

static struct frame read_arp(struct frame frame, const uint8_t *bytes, size_t captured)
{
	uint16_t operation;

	frame.kind = FRAME_BROKEN;
	if (captured < ARP_BODY_BYTES)
		return frame;
	frame.kind = FRAME_OTHER;
	if (get16(bytes) != 1 || get16(bytes + 2) != ETHERTYPE_IPV4 || bytes[4] != FRAME_MAC_BYTES || bytes[5] != 4)
		return frame;
	operation = get16(bytes + 6);
	if (operation != 1 && operation != 2)
		return frame;
	frame.kind = operation == 1 ? FRAME_ARP_REQUEST : FRAME_ARP_REPLY;
	/* The sender's MAC of the ARP body is the one to believe; the Ethernet source may be a proxy's. */
	memcpy(frame.source_mac, bytes + 8, FRAME_MAC_BYTES);
	frame.source_address = get32(bytes + 14);
	frame.destination_address = get32(bytes + 24);
	return frame;
}

static struct frame read_udp(struct frame frame, const uint8_t *ip, const uint8_t *udp, size_t captured, size_t length)
{
	size_t datagram;

	frame.kind = FRAME_BROKEN;
	if (captured < UDP_BYTES)
		return frame;
	datagram = get16(udp + 4);
	if (datagram < UDP_BYTES || datagram > length)
		return frame;
	frame.source_port = get16(udp);
	frame.destination_port = get16(udp + 2);
	frame.payload = udp + UDP_BYTES;
	frame.payload_bytes = (datagram < captured ? datagram : captured) - UDP_BYTES;
	frame.unchecked = get16(udp + 6) == 0 || captured < datagram;
	if (!frame.unchecked && udp_checksum(ip, udp, datagram) != 0) {
		frame.unfinished = (get16(udp + 6) ^ pseudo_checksum(ip, datagram)) == 0xffff;
		return frame;
	}
	frame.kind = FRAME_UDP;
	return frame;
}

static struct frame read_ipv4(struct frame frame, const uint8_t *ip, size_t captured, size_t length)
{
	size_t header, total;

	frame.kind = FRAME_BROKEN;
	if (captured < IPV4_BYTES || ip[0] >> 4 != 4)
		return frame;
	header = (size_t)(ip[0] & 0x0f) * 4;
	total = get16(ip + 2);
	if (header < IPV4_BYTES || header > captured || total < header || total > length ||
	    fold(sum_words(ip, header, 0)) != 0)
		return frame;
	frame.source_address = get32(ip + 12);
	frame.destination_address = get32(ip + 16);
	frame.ttl = ip[8];
	frame.dscp = ip[1] >> 2;
	frame.ecn = ip[1] & 3;
	frame.may_fragment = !(ip[6] & 0x40);
	if (ip[9] != PROTOCOL_UDP) {
		frame.kind = FRAME_OTHER;
		return frame;
	}
	if (get16(ip + 6) & 0x3fff) /* more fragments, or not the first */
		return frame;
	if (captured > total)
		captured = total; /* what follows is Ethernet padding */
	return read_udp(frame, ip, ip + header, captured - header, total - header);
}

struct frame frame_read(const uint8_t *bytes, size_t captured, size_t length)
{
	struct frame frame = {.kind = FRAME_BROKEN};
	size_t at = ETHERNET_BYTES;
	uint16_t type;

	if (captured < ETHERNET_BYTES || length < captured)
		return frame;
	memcpy(frame.destination_mac, bytes, FRAME_MAC_BYTES);
	memcpy(frame.source_mac, bytes + FRAME_MAC_BYTES, FRAME_MAC_BYTES);
	type = get16(bytes + 12);
	while (frame.tags < FRAME_TAGS && (type == FRAME_TAG_TYPE || type == ETHERTYPE_SERVICE_VLAN)) {
		if (captured < at + FRAME_TAG_BYTES)
			return frame;
		frame.tag[frame.tags++] = (struct frame_tag){type, get16(bytes + at)};
		type = get16(bytes + at + 2);
		at += FRAME_TAG_BYTES;
	}
	if (type == ETHERTYPE_ARP)
		return read_arp(frame, bytes + at, captured - at);
	if (type == ETHERTYPE_IPV4)
		return read_ipv4(frame, bytes + at, captured - at, length - at);
	frame.kind = FRAME_OTHER;
	return frame;
}

/* Returns the header's length. */
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

static void write_ipv4(const struct frame *frame, size_t length, uint8_t *ip)
{
	memset(ip, 0, IPV4_BYTES);
	ip[0] = 0x45;
	ip[1] = (uint8_t)(frame->dscp << 2 | frame->ecn);
	put16(ip + 2, (uint16_t)length);
	put16(ip + 6, frame->may_fragment ? 0 : 0x4000);
	ip[8] = frame->ttl ? frame->ttl : DEFAULT_TTL;
	ip[9] = PROTOCOL_UDP;
	put32(ip + 12, frame->source_address);
	put32(ip + 16, frame->destination_address);
	put16(ip + 10, fold(sum_words(ip, IPV4_BYTES, 0)));
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
	return FRAME_UDP_HEADERS + (size_t)frame->tags * FRAME_TAG_BYTES;
}

size_t frame_write_udp(const struct frame *frame, uint8_t *out, size_t capacity)
{
	size_t headers = frame_headers(frame), datagram = UDP_BYTES + frame->payload_bytes;
	uint8_t *udp = out + headers - UDP_BYTES, *ip = udp - IPV4_BYTES;
	uint16_t checksum;

	if (capacity < headers + frame->payload_bytes || capacity < FRAME_MINIMUM || datagram > 0xffff - IPV4_BYTES)
		return 0;
	memmove(udp + UDP_BYTES, frame->payload, frame->payload_bytes);
	write_ethernet(frame, ETHERTYPE_IPV4, out);
	write_ipv4(frame, IPV4_BYTES + datagram, ip);
	put16(udp, frame->source_port);
	put16(udp + 2, frame->destination_port);
	put16(udp + 4, (uint16_t)datagram);
	put16(udp + 6, 0);
	checksum = udp_checksum(ip, udp, datagram);
	put16(udp + 6, checksum ? checksum : 0xffff); /* RFC 768: 0 would mean "none" */
	return pad(out, headers + frame->payload_bytes);
}

size_t frame_write_arp(const struct frame *frame, uint8_t *out, size_t capacity)
{
	bool asks = frame->kind == FRAME_ARP_REQUEST;
	uint8_t *body;
	size_t at;

	if (capacity < FRAME_ARP_BYTES)
		return 0;
	at = write_ethernet(frame, ETHERTYPE_ARP, out);
	body = out + at;
	memset(body, 0, ARP_BODY_BYTES);
	if (asks)
		memset(out, 0xff, FRAME_MAC_BYTES);
	put16(body, 1);
	put16(body + 2, ETHERTYPE_IPV4);
	body[4] = FRAME_MAC_BYTES;
	body[5] = 4;
	put16(body + 6, asks ? 1 : 2);
	memcpy(body + 8, frame->source_mac, FRAME_MAC_BYTES);
	put32(body + 14, frame->source_address);
	if (!asks)
		memcpy(body + 18, frame->destination_mac, FRAME_MAC_BYTES);
	put32(body + 24, frame->destination_address);
	return pad(out, at + ARP_BODY_BYTES);
}
