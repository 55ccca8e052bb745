/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Filter: delays only the packets that match a rule; all others pass at once. Parses Ethernet (one or two VLAN tags),
 * IPv4, IPv6 with its extension headers, TCP and UDP. A later fragment has no ports: it matches only by address and
 * protocol.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/number.h>

#include "mode_priv.h"

enum { RULES_MAXIMUM = 16, PROTOCOL_ANY = 0 };

/* Extension headers of IPv6. */
enum { HOP_BY_HOP = 0, ROUTING = 43, FRAGMENT = 44, AUTHENTICATION = 51, DESTINATION = 60 };

struct rule {
	uint8_t protocol; /* IP protocol number, 0 = any */
	bool has_port;
	uint16_t port;         /* of source or destination, host byte order */
	uint8_t address_bytes; /* 0 = any address; 4 or 16: of source or destination */
	uint8_t address[16];
};

struct only {
	size_t count;
	struct rule rules[RULES_MAXIMUM];
};

struct flow {
	uint8_t protocol, address_bytes;
	bool has_ports;
	uint16_t source_port, destination_port;
	const uint8_t *source, *destination;
};

static int parse_port(const char *text, struct rule *rule)
{
	int64_t port;

	if (number_parse_i64(text, &port) != 0 || port < 1 || port > 65535)
		return -EINVAL;
	rule->has_port = true;
	rule->port = (uint16_t)port;
	return 0;
}

static int parse_protocol(const char *text, struct rule *rule)
{
	static const struct {
		const char *name;
		uint8_t number;
	} known[] = {{"icmp", 1}, {"tcp", 6}, {"udp", 17}, {"icmp6", 58}};
	int64_t number;

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		if (strcmp(text, known[i].name) == 0) {
			rule->protocol = known[i].number;
			return 0;
		}
	}
	if (number_parse_i64(text, &number) != 0 || number < 1 || number > 255)
		return -EINVAL;
	rule->protocol = (uint8_t)number;
	return 0;
}

static int parse_address(const char *text, struct rule *rule)
{
	if (inet_pton(AF_INET, text, rule->address) == 1)
		rule->address_bytes = 4;
	else if (inet_pton(AF_INET6, text, rule->address) == 1)
		rule->address_bytes = 16;
	else
		return -EINVAL;
	return 0;
}

static int parse_rule(char *text, struct rule *rule, struct error *err)
{
	char *value = strchr(text, ':');
	int status = -EINVAL;

	if (value) {
		*value++ = '\0';
		if (strcmp(text, "tcp") == 0 || strcmp(text, "udp") == 0) {
			rule->protocol = strcmp(text, "tcp") == 0 ? 6 : 17;
			status = parse_port(value, rule);
		} else if (strcmp(text, "port") == 0) {
			status = parse_port(value, rule);
		} else if (strcmp(text, "host") == 0) {
			status = parse_address(value, rule);
		} else if (strcmp(text, "proto") == 0) {
			status = parse_protocol(value, rule);
		}
	}
	if (status)
		return error_set(
			err, EINVAL,
			"--only: \"%s%s%s\": expected tcp:PORT, udp:PORT, port:PORT, host:ADDRESS or proto:NAME", text,
			value ? ":" : "", value ? value : "");
	return 0;
}

static int only_create(const struct mode_context *context, const char *specification, void **state, struct error *err)
{
	struct only *only = calloc(1, sizeof *only);
	char *text = strdup(specification), *fields[RULES_MAXIMUM];
	int status = 0;

	(void)context;
	if (!only || !text) {
		status = error_set(err, ENOMEM, "no memory for --only");
	} else {
		only->count = file_split(text, ',', fields, RULES_MAXIMUM);
		if (only->count > RULES_MAXIMUM)
			status = error_set(err, EINVAL, "--only: expected at most %d rules", RULES_MAXIMUM);
		for (size_t i = 0; !status && i < only->count; i++)
			status = parse_rule(fields[i], &only->rules[i], err);
	}
	free(text);
	if (status)
		free(only);
	else
		*state = only;
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
	flow->address_bytes = 16;
	flow->source = ip + 8;
	flow->destination = ip + 24;
	flow->has_ports = true;
	skip_extensions(ip, bytes, flow, header);
	return true;
}

static bool read_flow(const uint8_t *frame, size_t bytes, struct flow *flow)
{
	size_t at = 14, header = 0;
	uint16_t type;

	if (bytes < at)
		return false;
	type = load_16(frame + 12);
	while ((type == 0x8100 || type == 0x88a8) && bytes >= at + 4) {
		type = load_16(frame + at + 2);
		at += 4;
	}
	if (!(type == 0x0800 && read_ipv4(frame + at, bytes - at, flow, &header)) &&
	    !(type == 0x86dd && read_ipv6(frame + at, bytes - at, flow, &header)))
		return false;
	flow->has_ports = flow->has_ports && (flow->protocol == 6 || flow->protocol == 17) && bytes >= at + header + 4;
	if (flow->has_ports) {
		flow->source_port = load_16(frame + at + header);
		flow->destination_port = load_16(frame + at + header + 2);
	}
	return true;
}

static bool rule_matches(const struct rule *rule, const struct flow *flow)
{
	if (rule->protocol && rule->protocol != flow->protocol)
		return false;
	if (rule->has_port &&
	    (!flow->has_ports || (rule->port != flow->source_port && rule->port != flow->destination_port)))
		return false;
	if (rule->address_bytes == 0)
		return true;
	return rule->address_bytes == flow->address_bytes &&
	       (memcmp(rule->address, flow->source, rule->address_bytes) == 0 ||
		memcmp(rule->address, flow->destination, rule->address_bytes) == 0);
}

static void only_apply(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict)
{
	const struct only *only = state;
	struct flow flow = {0};

	(void)now;
	verdict->bypass = true;
	if (!read_flow(dp_packet_bytes(packet), dp_packet_contiguous(packet), &flow))
		return;
	for (size_t i = 0; i < only->count && verdict->bypass; i++)
		verdict->bypass = !rule_matches(&only->rules[i], &flow);
}

const struct injector_mode mode_only = {
	.name = "only",
	.create = only_create,
	.apply = only_apply,
	.destroy = free,
	.thins = true,
};
