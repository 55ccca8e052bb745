/* SPDX-License-Identifier: BSD-3-Clause */
/* IP addresses as the kernel's sockets have them. */
#ifndef BASE_SOCKET_ADDRESS_H
#define BASE_SOCKET_ADDRESS_H

#include <sys/socket.h>

#include <base/address.h>

/* Fills the socket address of an IP address and a port; returns its length. A link-local address has no scope yet. */
socklen_t address_to_socket(ip_address address, uint16_t port, struct sockaddr_storage *place);
/* Returns the IP address of a socket address of AF_INET or AF_INET6. */
ip_address address_of_socket(const struct sockaddr *place);

/*
 * Returns the index of the interface that has the address, or 0 if none has it. A successful bind() does not prove that
 * the kernel has the address: a namespace that never had an IPv4 address accepts any.
 */
unsigned int address_interface(ip_address address);

#endif
