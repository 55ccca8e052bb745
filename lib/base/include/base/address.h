/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv4 and MAC addresses as text. IPv4 addresses are integers in host order. Pure. */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <stdint.h>

enum { ADDRESS_MAC_BYTES = 6, ADDRESS_IPV4_TEXT_BYTES = 16, ADDRESS_MAC_TEXT_BYTES = 18 };

/* "10.0.0.1" and "aa:bb:cc:dd:ee:ff", nothing before or after. 0 or -EINVAL. */
int address_parse_ipv4(const char *text, uint32_t *address);
int address_parse_mac(const char *text, uint8_t mac[ADDRESS_MAC_BYTES]);

void address_print_ipv4(uint32_t address, char text[ADDRESS_IPV4_TEXT_BYTES]);
void address_print_mac(const uint8_t mac[ADDRESS_MAC_BYTES], char text[ADDRESS_MAC_TEXT_BYTES]);

#endif
