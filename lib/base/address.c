/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/address.h>

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

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

int address_parse(const char *text, ip_address *address)
{
	struct in6_addr six;
	struct in_addr four;
	ip_address value = 0;

	if (inet_pton(AF_INET, text, &four) == 1) {
		*address = ntohl(four.s_addr);
		return 0;
	}
	if (inet_pton(AF_INET6, text, &six) != 1 || IN6_IS_ADDR_V4MAPPED(&six))
		return -EINVAL;
	for (int i = 0; i < 16; i++)
		value = value << 8 | six.s6_addr[i];
	if (address_is_ipv4(value))
		return -EINVAL;
	*address = value;
	return 0;
}

void address_print_mac(const uint8_t mac[ADDRESS_MAC_BYTES], char text[ADDRESS_MAC_TEXT_BYTES])
{
	snprintf(text, ADDRESS_MAC_TEXT_BYTES, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
		 mac[5]);
}

void address_print(ip_address address, char text[ADDRESS_TEXT_BYTES])
{
	struct in_addr four = {htonl((uint32_t)address)};
	struct in6_addr six;

	for (int i = 0; i < 16; i++)
		six.s6_addr[i] = (uint8_t)(address >> (120 - 8 * i));
	inet_ntop(address_is_ipv4(address) ? AF_INET : AF_INET6,
		  address_is_ipv4(address) ? (const void *)&four : (const void *)&six, text, ADDRESS_TEXT_BYTES);
}

socklen_t address_to_socket(ip_address address, uint16_t port, struct sockaddr_storage *place)
{
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	if (address_is_ipv4(address)) {
		four.sin_addr.s_addr = htonl((uint32_t)address);
		memcpy(place, &four, sizeof four);
		return sizeof four;
	}
	for (int i = 0; i < 16; i++)
		six.sin6_addr.s6_addr[i] = (uint8_t)(address >> (120 - 8 * i));
	memcpy(place, &six, sizeof six);
	return sizeof six;
}

ip_address address_of_socket(const struct sockaddr *place)
{
	ip_address address = 0;

	if (place->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)place)->sin_addr.s_addr);
	for (int i = 0; i < 16; i++)
		address = address << 8 | ((const struct sockaddr_in6 *)(const void *)place)->sin6_addr.s6_addr[i];
	return address;
}

unsigned int address_interface(ip_address address)
{
	struct ifaddrs *list = NULL;
	unsigned int index = 0;

	if (getifaddrs(&list))
		return 0;
	for (struct ifaddrs *at = list; at && !index; at = at->ifa_next)
		if (at->ifa_addr && (at->ifa_addr->sa_family == AF_INET || at->ifa_addr->sa_family == AF_INET6) &&
		    address_of_socket(at->ifa_addr) == address)
			index = if_nametoindex(at->ifa_name);
	freeifaddrs(list);
	return index;
}
