/* SPDX-License-Identifier: BSD-3-Clause */
/* Routing sockets (rtnetlink) and packet sockets in other network namespaces. */
#ifndef LAB_ROUTES_SOCKET_PRIV_H
#define LAB_ROUTES_SOCKET_PRIV_H

#include <libmnl/libmnl.h>

#include <base/error.h>

enum { SOCKET_BUFFER_BYTES = 32768 }; /* largest message that the kernel sends */

/*
 * Opens a routing socket, which stays in the namespace in which it was opened. groups: RTMGRP_*. Returns NULL with err
 * set on failure.
 */
struct mnl_socket *socket_open(const char *netns, unsigned groups, struct error *err);
/*
 * Opens a non-blocking packet socket for frames of one EtherType, without their headers. Returns a descriptor, or
 * -errno with err set.
 */
int socket_open_packet(const char *netns, int ethertype, int priority, struct error *err);
/* Returns the number of an interface in the socket's namespace, or -errno. */
int socket_port(int socket, const char *name);

/*
 * Sends a request that ends with an acknowledgement or a dump, and calls `take` for each message of the answer (NULL:
 * does nothing with it). `buffer`, of SOCKET_BUFFER_BYTES, holds the request and then the answer. Returns 0, or -errno
 * of the kernel.
 */
int socket_request(struct mnl_socket *socket, void *buffer, mnl_cb_t take, void *context);

#endif
