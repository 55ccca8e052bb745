/* SPDX-License-Identifier: BSD-3-Clause */
/* IP and MAC addresses, and their text. Pure. */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

enum { ADDRESS_MAC_BYTES = 6, ADDRESS_TEXT_BYTES = 46, ADDRESS_MAC_TEXT_BYTES = 18 };

/*
 * An IPv4 or IPv6 address as a number, in host order; those below 2^32 are IPv4. IPv6 has nothing there but "::", "::1"
 * and a form that RFC 4291 section 2.5.5.1 gave up: no hosts on a network.
 */
__extension__ typedef unsigned __int128 ip_address;

static inline bool address_is_ipv4(ip_address address)
{
	return address >> 32 == 0;
}

/* Of an address of this family. */
static inline int address_bits(ip_address address)
{
	return address_is_ipv4(address) ? 32 : 128;
}

/* The first `bits` of both are the same, and they are of one family. */
static inline bool address_shares_prefix(ip_address a, ip_address b, int bits)
{
	return address_is_ipv4(a) == address_is_ipv4(b) && (bits <= 0 || (a ^ b) >> (address_bits(a) - bits) == 0);
}

/* "10.0.0.1" or "2001:db8::1" (not "::1" and IPv4 in IPv6), and "aa:bb:cc:dd:ee:ff", nothing before or after. 0 or
 * -EINVAL. */
int address_parse(const char *text, ip_address *address);
int address_parse_mac(const char *text, uint8_t mac[ADDRESS_MAC_BYTES]);

void address_print(ip_address address, char text[ADDRESS_TEXT_BYTES]);
void address_print_mac(const uint8_t mac[ADDRESS_MAC_BYTES], char text[ADDRESS_MAC_TEXT_BYTES]);

#endif
