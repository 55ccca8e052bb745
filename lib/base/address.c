/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/address.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

int address_parse_mac(const char *text, uint8_t mac[ADDRESS_MAC_BYTES])
{
	for (int i = 0; i < ADDRESS_MAC_BYTES; i++, text += 3) {
		unsigned int value = 0;

		for (int digit = 0; digit < 2; digit++) {
			char c = text[digit] >= 'A' && text[digit] <= 'F' ? (char)(text[digit] + 32) : text[digit];

			if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
				return -EINVAL;
			value = value * 16 + (unsigned int)(c <= '9' ? c - '0' : c - 'a' + 10);
		}
		if (text[2] != (i == ADDRESS_MAC_BYTES - 1 ? '\0' : ':'))
			return -EINVAL;
		mac[i] = (uint8_t)value;
	}
	return 0;
}

int address_parse_ipv4(const char *text, uint32_t *address)
{
	struct in_addr parsed;

	if (inet_pton(AF_INET, text, &parsed) != 1)
		return -EINVAL;
	*address = ntohl(parsed.s_addr);
	return 0;
}

void address_print_mac(const uint8_t mac[ADDRESS_MAC_BYTES], char text[ADDRESS_MAC_TEXT_BYTES])
{
	snprintf(text, ADDRESS_MAC_TEXT_BYTES, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
		 mac[5]);
}

void address_print_ipv4(uint32_t address, char text[ADDRESS_IPV4_TEXT_BYTES])
{
	snprintf(text, ADDRESS_IPV4_TEXT_BYTES, "%u.%u.%u.%u", address >> 24, address >> 16 & 0xff, address >> 8 & 0xff,
		 address & 0xff);
}
