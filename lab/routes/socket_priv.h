/* SPDX-License-Identifier: BSD-3-Clause */
/* Routing sockets (rtnetlink) and packet sockets in other network namespaces. */
#ifndef LAB_ROUTES_SOCKET_PRIV_H
#define LAB_ROUTES_SOCKET_PRIV_H

#include <libmnl/libmnl.h>

#include <base/error.h>

enum { SOCKET_BUFFER_BYTES = 32768 }; /* largest message that the kernel sends */

/* A socket stays in the namespace in which it was made. groups: RTMGRP_*. NULL with err set. */
struct mnl_socket *socket_open(const char *netns, unsigned groups, struct error *err);
/* For frames of one EtherType without their headers, non-blocking. A descriptor, or -errno with err set. */
int socket_open_packet(const char *netns, int ethertype, int priority, struct error *err);
/* Number of an interface of the socket's namespace, or -errno. */
int socket_port(int socket, const char *name);

/*
 * Sends a request that ends with an acknowledgement or a dump, and gives each message of the answer to `take` (NULL:
 * there is none). `buffer` holds the request and then the answer. 0 or -errno of the kernel; err is not set.
 */
int socket_request(struct mnl_socket *socket, void *buffer, mnl_cb_t take, void *context);

#endif
