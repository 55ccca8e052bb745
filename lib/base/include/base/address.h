/* SPDX-License-Identifier: BSD-3-Clause */
/* IP and MAC addresses, their text, and the kernel's form of them. */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include <base/hash.h>

enum { ADDRESS_MAC_BYTES = 6, ADDRESS_TEXT_BYTES = 46, ADDRESS_MAC_TEXT_BYTES = 18 };

/*
 * An IPv4 or IPv6 address as a number, in host order; numbers below 2^32 are IPv4. The only IPv6 addresses below 2^32
 * are "::", "::1" and the deprecated form of RFC 4291 section 2.5.5.1, which no host on a network has.
 */
__extension__ typedef unsigned __int128 ip_address;

static inline bool address_is_ipv4(ip_address address)
{
	return address >> 32 == 0;
}

/* Returns the length of the address in bits: 32 for IPv4, 128 for IPv6. */
static inline int address_bits(ip_address address)
{
	return address_is_ipv4(address) ? 32 : 128;
}

/* A key for base/hash_table.h: different addresses may have the same. */
static inline uint64_t address_hash(ip_address address)
{
	return hash_mix((uint64_t)address) ^ (uint64_t)(address >> 64);
}

/* Returns true if both addresses are of the same family and their first `bits` bits are equal. */
static inline bool address_shares_prefix(ip_address a, ip_address b, int bits)
{
	return address_is_ipv4(a) == address_is_ipv4(b) && (bits <= 0 || (a ^ b) >> (address_bits(a) - bits) == 0);
}

/*
 * True for an address that a host on a network may have: neither a group address nor loopback (RFC 1122 section
 * 3.2.1.3).
 */
static inline bool address_is_host(ip_address address)
{
	if (!address_is_ipv4(address))
		return address >> 120 != 0xff;
	return address >> 24 != 0 && address >> 24 != 127 && address >> 24 < 0xe0;
}

/*
 * Parse "10.0.0.1" or "2001:db8::1" (but not "::1" or IPv4 in IPv6), and "aa:bb:cc:dd:ee:ff", with no other text before
 * or after the address. Return 0 or -EINVAL.
 */
int address_parse(const char *text, ip_address *address);
int address_parse_mac(const char *text, uint8_t mac[ADDRESS_MAC_BYTES]);

void address_print(ip_address address, char text[ADDRESS_TEXT_BYTES]);
void address_print_mac(const uint8_t mac[ADDRESS_MAC_BYTES], char text[ADDRESS_MAC_TEXT_BYTES]);

struct sockaddr;
struct sockaddr_storage;

/*
 * Fills the socket address of an IP address and a port; returns its length (socklen_t). A link-local address has no
 * scope yet.
 */
unsigned int address_to_socket(ip_address address, uint16_t port, struct sockaddr_storage *place);
/* Returns the IP address of a socket address of AF_INET or AF_INET6. */
ip_address address_of_socket(const struct sockaddr *place);

/*
 * Returns the index of the interface that has the address, or 0 if none has it. A successful bind() does not prove that
 * the kernel has the address: a namespace that never had an IPv4 address accepts any.
 */
unsigned int address_interface(ip_address address);

#endif
