/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conditions on packets, for --only and --rule. Parses Ethernet (one or two VLAN tags), IPv4, IPv6 with its extension
 * headers, TCP and UDP. A later fragment has no ports: it matches only by address, protocol and DSCP.
 */
#ifndef LINE_MATCH_PRIV_H
#define LINE_MATCH_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <dp/packet.h>

enum { MATCHES_MAXIMUM = 16 };

/* A packet matches if all that is set is true; ports and addresses are those of source or destination. */
struct match {
	uint8_t protocol; /* IP protocol number, 0 = any */
	bool has_port, has_dscp, has_vlan;
	uint16_t port, dscp, vlan; /* host byte order; vlan: ID of the outer tag */
	uint16_t ether_type;       /* behind the tags; 0 = any */
	uint8_t address_bytes;     /* 0 = any address; 4 or 16 */
	uint16_t prefix_bits;
	uint8_t address[16];
};

/* A packet matches the list if it matches one of its entries. */
struct match_list {
	size_t count;
	struct match matches[MATCHES_MAXIMUM];
};

/*
 * Parses conditions, separated by commas. `option` is the option's name for messages. Returns 0, or -EINVAL or -ENOMEM
 * with err set.
 */
int match_parse(const char *option, const char *text, struct match_list *list, struct error *err);

/* Returns the index of the first list that the packet matches, or `count`. */
size_t match_first(const struct match_list *const *lists, size_t count, const struct dp_packet *packet);

#endif
