/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/paths/paths.h>

#include <errno.h>
#include <stdbool.h>

enum {
	ETHERNET_ADDRESSES = 12,
	TAG_BYTES = 4,
	TAGS_MAXIMUM = 2,
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_IPV6 = 0x86dd,
	ETHERTYPE_VLAN = 0x8100,
	ETHERTYPE_SERVICE_VLAN = 0x88a8,
	IPV4_BYTES = 20,
	IPV6_BYTES = 40,
	ICMP_BYTES = 8,
	UDP_BYTES = 8,
	PROTOCOL_ICMP = 1,
	PROTOCOL_UDP = 17,
	PROTOCOL_ICMPV6 = 58,
	ICMP_TIME_EXCEEDED = 11,
	ICMPV6_TIME_EXCEEDED = 3,
	CODE_IN_TRANSIT = 0,
	OFFSET_MASK = 0x1fff,
	MORE_FRAGMENTS = 0x2000,
};

static uint16_t get16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static ip_address get_address(const uint8_t *bytes, size_t length)
{
	ip_address address = 0;

	for (size_t i = 0; i < length; i++)
		address = address << 8 | bytes[i];
	return address;
}

/* RFC 1071. Returns 0 for received data with a correct checksum. */
static uint16_t checksum(const uint8_t *bytes, size_t length, uint64_t sum)
{
	for (; length >= 2; bytes += 2, length -= 2)
		sum += get16(bytes);
	if (length)
		sum += (uint64_t)bytes[0] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* An IP packet without its header, complete or as quoted by an ICMP message. */
struct packet {
	bool ipv6;
	ip_address source, destination;
	uint8_t protocol;
	uint64_t pseudo_sum; /* sum over the addresses in the pseudo-header */
	const uint8_t *body;
	size_t length;      /* number of bytes of the body that are present */
	size_t full_length; /* number of bytes of the body according to the IP header */
};

static bool read_ipv4(const uint8_t *bytes, size_t length, struct packet *packet)
{
	size_t header = length >= IPV4_BYTES ? (size_t)(bytes[0] & 15) * 4 : 0, total;

	if (header < IPV4_BYTES || bytes[0] >> 4 != 4 || header > length || get16(bytes + 2) < header ||
	    (get16(bytes + 6) & (OFFSET_MASK | MORE_FRAGMENTS)))
		return false;
	total = get16(bytes + 2);
	*packet = (struct packet){
		.source = get_address(bytes + 12, 4),
		.destination = get_address(bytes + 16, 4),
		.protocol = bytes[9],
		.body = bytes + header,
		.full_length = total - header,
		.length = (total < length ? total : length) - header,
	};
	return true;
}

static bool read_ipv6(const uint8_t *bytes, size_t length, struct packet *packet)
{
	size_t payload;

	if (length < IPV6_BYTES || bytes[0] >> 4 != 6)
		return false;
	payload = get16(bytes + 4);
	*packet = (struct packet){
		.ipv6 = true,
		.source = get_address(bytes + 8, 16),
		.destination = get_address(bytes + 24, 16),
		.protocol = bytes[6],
		.pseudo_sum = (uint16_t)~checksum(bytes + 8, 32, 0),
		.body = bytes + IPV6_BYTES,
		.full_length = payload,
		.length = payload < length - IPV6_BYTES ? payload : length - IPV6_BYTES,
	};
	return true;
}

static bool read_frame(const uint8_t *bytes, size_t length, struct packet *packet)
{
	size_t at = ETHERNET_ADDRESSES;
	uint16_t type = 0;

	for (int tags = 0; tags <= TAGS_MAXIMUM && at + 2 <= length; tags++) {
		type = get16(bytes + at);
		if (type != ETHERTYPE_VLAN && type != ETHERTYPE_SERVICE_VLAN)
			break;
		at += TAG_BYTES;
	}
	at += 2;
	if (at > length || (type != ETHERTYPE_IPV4 && type != ETHERTYPE_IPV6))
		return false;
	return type == ETHERTYPE_IPV6 ? read_ipv6(bytes + at, length - at, packet)
				      : read_ipv4(bytes + at, length - at, packet);
}

static bool is_time_exceeded(const struct packet *packet)
{
	uint64_t sum = packet->ipv6 ? packet->pseudo_sum + packet->full_length + PROTOCOL_ICMPV6 : 0;

	return packet->protocol == (packet->ipv6 ? PROTOCOL_ICMPV6 : PROTOCOL_ICMP) &&
	       packet->length == packet->full_length && packet->length > ICMP_BYTES &&
	       packet->body[0] == (packet->ipv6 ? ICMPV6_TIME_EXCEEDED : ICMP_TIME_EXCEEDED) &&
	       packet->body[1] == CODE_IN_TRANSIT && checksum(packet->body, packet->length, sum) == 0;
}

int expired_read(const uint8_t *bytes, size_t length, struct expired *expired)
{
	struct packet outer, quoted;
	const uint8_t *inner;
	size_t inner_length;

	if (!read_frame(bytes, length, &outer) || !is_time_exceeded(&outer))
		return -EBADMSG;
	inner = outer.body + ICMP_BYTES;
	inner_length = outer.length - ICMP_BYTES;
	if (!(outer.ipv6 ? read_ipv6(inner, inner_length, &quoted) : read_ipv4(inner, inner_length, &quoted)) ||
	    quoted.protocol != PROTOCOL_UDP || quoted.length < UDP_BYTES)
		return -EBADMSG;
	*expired = (struct expired){
		.router = outer.source,
		.source = quoted.source,
		.destination = quoted.destination,
		.source_port = get16(quoted.body),
		.destination_port = get16(quoted.body + 2),
		.udp_bytes = get16(quoted.body + 4),
	};
	return 0;
}
