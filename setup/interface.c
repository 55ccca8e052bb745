/* SPDX-License-Identifier: BSD-3-Clause */
#include "setup_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Returns false for another family. Counts the bits of the mask. */
static bool read_address(const struct ifaddrs *entry, ip_address *address, int *bits)
{
	const uint8_t *bytes, *mask;
	int count;

	if (!entry->ifa_addr || !entry->ifa_netmask)
		return false;
	if (entry->ifa_addr->sa_family == AF_INET) {
		bytes = (const uint8_t *)&((const struct sockaddr_in *)(const void *)entry->ifa_addr)->sin_addr;
		mask = (const uint8_t *)&((const struct sockaddr_in *)(const void *)entry->ifa_netmask)->sin_addr;
		count = 4;
	} else if (entry->ifa_addr->sa_family == AF_INET6) {
		bytes = (const uint8_t *)&((const struct sockaddr_in6 *)(const void *)entry->ifa_addr)->sin6_addr;
		mask = (const uint8_t *)&((const struct sockaddr_in6 *)(const void *)entry->ifa_netmask)->sin6_addr;
		count = 16;
	} else {
		return false;
	}
	*address = 0;
	*bits = 0;
	for (int i = 0; i < count; i++) {
		*address = *address << 8 | bytes[i];
		*bits += __builtin_popcount(mask[i]);
	}
	return true;
}

static bool is_link_local(ip_address address)
{
	return address_is_ipv4(address) ? address >> 16 == 0xa9fe : address >> 118 == 0xfe80 >> 6;
}

int interface_address(const char *interface, ip_address *address, int *bits, struct error *err)
{
	struct ifaddrs *list;
	bool found = false;

	if (if_nametoindex(interface) == 0)
		return error_set(err, ENODEV, "there is no interface '%s'", interface);
	if (getifaddrs(&list) != 0)
		return error_set(err, errno, "%s: cannot read its addresses: %s", interface, strerror(errno));
	for (const struct ifaddrs *entry = list; entry; entry = entry->ifa_next) {
		ip_address one;
		int length;

		if (strcmp(entry->ifa_name, interface) != 0 || !read_address(entry, &one, &length) ||
		    !address_is_host(one) || is_link_local(one) || (found && !address_is_ipv4(one)))
			continue;
		if (found && address_is_ipv4(*address))
			continue; /* the first IPv4 address */
		*address = one;
		*bits = length;
		found = true;
	}
	freeifaddrs(list);
	return found ? 0 : error_set(err, EADDRNOTAVAIL, "%s has no address: give --address IP/BITS", interface);
}

ip_address interface_gateway(const char *interface)
{
	FILE *routes = fopen("/proc/net/route", "re");
	char line[256], name[IFNAMSIZ];
	ip_address gateway = 0;

	while (routes && fgets(line, sizeof line, routes)) {
		unsigned int destination, through, flags, mask;

		if (sscanf(line, "%15s %x %x %x %*d %*d %*d %x", name, &destination, &through, &flags, &mask) == 5 &&
		    strcmp(name, interface) == 0 && destination == 0 && mask == 0 && (flags & RTF_GATEWAY))
			gateway = ntohl(through);
	}
	if (routes)
		fclose(routes);
	return gateway;
}
