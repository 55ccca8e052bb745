/* SPDX-License-Identifier: BSD-3-Clause */
#include "rule_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/number.h>

enum { VLAN_TAG = 0x8100, SERVICE_TAG = 0x88a8, IPV4 = 0x0800, IPV6 = 0x86dd };

/* Extension headers of IPv6. */
enum { HOP_BY_HOP = 0, ROUTING = 43, FRAGMENT = 44, AUTHENTICATION = 51, DESTINATION = 60 };

/* What conditions may ask about a frame. */
struct flow {
	uint16_t ether_type, vlan;
	bool tagged;
	uint8_t protocol, dscp, address_bytes; /* address_bytes: 0 = no IP packet */
	bool has_ports;
	uint16_t source_port, destination_port;
	const uint8_t *source, *destination;
};

/* Parses an integer of a range. `text` may be hexadecimal, as 0x88f7, if `hexadecimal`. */
static int parse_number(const char *text, int64_t least, int64_t most, bool hexadecimal, uint16_t *value)
{
	int64_t number;
	char *end;

	if (hexadecimal && strncmp(text, "0x", 2) == 0) {
		number = strtol(text + 2, &end, 16);
		if (text[2] == '\0' || text[2] == '-' || *end)
			return -EINVAL;
	} else if (number_parse_i64(text, &number) != 0) {
		return -EINVAL;
	}
	if (number < least || number > most)
		return -EINVAL;
	*value = (uint16_t)number;
	return 0;
}

static int parse_protocol(const char *text, struct match *match)
{
	static const struct {
		const char *name;
		uint8_t number;
	} known[] = {{"icmp", 1}, {"tcp", 6}, {"udp", 17}, {"icmp6", 58}};
	uint16_t number;

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		if (strcmp(text, known[i].name) == 0) {
			match->protocol = known[i].number;
			return 0;
		}
	}
	if (parse_number(text, 1, 255, false, &number))
		return -EINVAL;
	match->protocol = (uint8_t)number;
	return 0;
}

/* Parses ADDRESS or ADDRESS/BITS; changes the text. */
static int parse_address(char *text, struct match *match)
{
	char *bits = strchr(text, '/');

	if (bits)
		*bits++ = '\0';
	if (inet_pton(AF_INET, text, match->address) == 1)
		match->address_bytes = 4;
	else if (inet_pton(AF_INET6, text, match->address) == 1)
		match->address_bytes = 16;
	else
		return -EINVAL;
	match->prefix_bits = match->address_bytes * 8;
	return bits ? parse_number(bits, 0, match->address_bytes * 8, false, &match->prefix_bits) : 0;
}

static int parse_value(const char *name, char *value, struct match *match)
{
	if (strcmp(name, "tcp") == 0 || strcmp(name, "udp") == 0)
		match->protocol = strcmp(name, "tcp") == 0 ? 6 : 17;
	if (match->protocol || strcmp(name, "port") == 0) {
		match->has_port = true;
		return parse_number(value, 1, 65535, false, &match->port);
	}
	if (strcmp(name, "host") == 0)
		return parse_address(value, match);
	if (strcmp(name, "proto") == 0)
		return parse_protocol(value, match);
	if (strcmp(name, "dscp") == 0) {
		match->has_dscp = true;
		return parse_number(value, 0, 63, false, &match->dscp);
	}
	if (strcmp(name, "vlan") == 0) {
		match->has_vlan = true;
		return parse_number(value, 0, 4095, false, &match->vlan);
	}
	if (strcmp(name, "ether") == 0)
		return parse_number(value, 0x600, 0xffff, true, &match->ether_type);
	return -EINVAL;
}

int match_parse(const char *option, const char *text, struct match_list *list, struct error *err)
{
	char *copy = strdup(text), *fields[MATCHES_MAXIMUM];
	int status = 0;

	*list = (struct match_list){0};
	if (!copy)
		return error_set(err, ENOMEM, "no memory for --%s", option);
	list->count = file_split(copy, ',', fields, MATCHES_MAXIMUM);
	if (list->count > MATCHES_MAXIMUM)
		status = error_set(err, EINVAL, "--%s: expected at most %d conditions", option, MATCHES_MAXIMUM);
	for (size_t i = 0; !status && i < list->count; i++) {
		char *value = strchr(fields[i], ':');

		if (value)
			*value++ = '\0';
		if (!value || parse_value(fields[i], value, &list->matches[i]))
			status = error_set(err, EINVAL,
					   "--%s: \"%s%s%s\": expected tcp:PORT, udp:PORT, port:PORT, "
					   "host:ADDRESS[/BITS], proto:NAME, dscp:N, vlan:ID or ether:TYPE",
					   option, fields[i], value ? ":" : "", value ? value : "");
	}
	free(copy);
	return status;
}

static uint16_t load_16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static bool read_ipv4(const uint8_t *ip, size_t bytes, struct flow *flow, size_t *header)
{
	if (bytes < 20 || ip[0] >> 4 != 4)
		return false;
	*header = (size_t)(ip[0] & 15) * 4;
	flow->protocol = ip[9];
	flow->dscp = ip[1] >> 2;
	flow->address_bytes = 4;
	flow->source = ip + 12;
	flow->destination = ip + 16;
	flow->has_ports = (load_16(ip + 6) & 0x1fff) == 0; /* fragment offset 0: only the first fragment has ports */
	return *header >= 20;
}

/*
 * Advances *header past the extension headers (RFC 8200, section 4; AH: RFC 4302), and sets flow->protocol to the
 * protocol that follows them. Stops after the fragment header of a later fragment: data follows it, not the header that
 * its next-header field names, which is in the first fragment.
 */
static void skip_extensions(const uint8_t *ip, size_t bytes, struct flow *flow, size_t *header)
{
	while (bytes >= *header + 8) {
		const uint8_t *extension = ip + *header;

		switch (flow->protocol) {
		case HOP_BY_HOP:
		case ROUTING:
		case DESTINATION:
			*header += ((size_t)extension[1] + 1) * 8;
			break;
		case AUTHENTICATION:
			*header += ((size_t)extension[1] + 2) * 4;
			break;
		case FRAGMENT:
			*header += 8;
			flow->has_ports = load_16(extension + 2) >> 3 == 0;
			break;
		default:
			return;
		}
		flow->protocol = extension[0];
		if (!flow->has_ports)
			return;
	}
}

static bool read_ipv6(const uint8_t *ip, size_t bytes, struct flow *flow, size_t *header)
{
	if (bytes < 40 || ip[0] >> 4 != 6)
		return false;
	*header = 40;
	flow->protocol = ip[6];
	flow->dscp = (uint8_t)(load_16(ip) >> 6 & 63);
	flow->address_bytes = 16;
	flow->source = ip + 8;
	flow->destination = ip + 24;
	flow->has_ports = true;
	skip_extensions(ip, bytes, flow, header);
	return true;
}

static void read_flow(const uint8_t *frame, size_t bytes, struct flow *flow)
{
	size_t at = 14, header = 0;

	if (bytes < at)
		return;
	flow->ether_type = load_16(frame + 12);
	while ((flow->ether_type == VLAN_TAG || flow->ether_type == SERVICE_TAG) && bytes >= at + 4) {
		flow->vlan = flow->tagged ? flow->vlan : load_16(frame + at) & 0xfff; /* the outer one */
		flow->tagged = true;
		flow->ether_type = load_16(frame + at + 2);
		at += 4;
	}
	if (!(flow->ether_type == IPV4 && read_ipv4(frame + at, bytes - at, flow, &header)) &&
	    !(flow->ether_type == IPV6 && read_ipv6(frame + at, bytes - at, flow, &header))) {
		flow->address_bytes = 0;
		return;
	}
	flow->has_ports = flow->has_ports && (flow->protocol == 6 || flow->protocol == 17) && bytes >= at + header + 4;
	if (flow->has_ports) {
		flow->source_port = load_16(frame + at + header);
		flow->destination_port = load_16(frame + at + header + 2);
	}
}

static bool same_prefix(const uint8_t *a, const uint8_t *b, unsigned int bits)
{
	unsigned int bytes = bits / 8, rest = bits % 8;

	return memcmp(a, b, bytes) == 0 && (rest == 0 || (a[bytes] ^ b[bytes]) >> (8 - rest) == 0);
}

static bool matches_ip(const struct match *match, const struct flow *flow)
{
	if (match->protocol && match->protocol != flow->protocol)
		return false;
	if (match->has_port &&
	    (!flow->has_ports || (match->port != flow->source_port && match->port != flow->destination_port)))
		return false;
	if (match->has_dscp && match->dscp != flow->dscp)
		return false;
	if (match->address_bytes == 0)
		return true;
	return match->address_bytes == flow->address_bytes &&
	       (same_prefix(match->address, flow->source, match->prefix_bits) ||
		same_prefix(match->address, flow->destination, match->prefix_bits));
}

static bool matches_one(const struct match *match, const struct flow *flow)
{
	if (match->ether_type)
		return match->ether_type == flow->ether_type;
	if (match->has_vlan)
		return flow->tagged && match->vlan == flow->vlan;
	return flow->address_bytes > 0 && matches_ip(match, flow);
}

size_t match_first(const struct match_list *const *lists, size_t count, const struct dp_packet *packet)
{
	struct flow flow = {0};

	read_flow(dp_packet_bytes(packet), dp_packet_contiguous(packet), &flow);
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < lists[i]->count; j++) {
			if (matches_one(&lists[i]->matches[j], &flow))
				return i;
		}
	}
	return count;
}
