/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SETUP_PRIV_H
#define SETUP_PRIV_H

#include <base/address.h>
#include <base/error.h>

/*
 * Finds the address of an interface that others reach, IPv4 before IPv6, and the length of its prefix in bits. Returns
 * 0, or -ENODEV, -EADDRNOTAVAIL or another -errno with err set.
 */
int interface_address(const char *interface, ip_address *address, int *bits, struct error *err);
/* Returns the gateway of the default route through the interface (IPv4), or 0 if there is none. */
ip_address interface_gateway(const char *interface);

#endif
