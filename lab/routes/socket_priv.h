/* SPDX-License-Identifier: BSD-3-Clause */
/* Routing sockets (rtnetlink) and packet sockets in other network namespaces. */
#ifndef LAB_ROUTES_SOCKET_PRIV_H
#define LAB_ROUTES_SOCKET_PRIV_H

#include <libmnl/libmnl.h>

#include <base/error.h>

enum { SOCKET_BUFFER_BYTES = 32768 }; /* largest message that the kernel sends */

/*
 * Opens a routing socket in a namespace; it stays in that namespace. groups: RTMGRP_*, the messages to subscribe to.
 * Returns NULL with err set on failure.
 */
struct mnl_socket *socket_open(const char *netns, unsigned groups, struct error *err);
/*
 * Opens a non-blocking packet socket in a namespace, for frames of one EtherType, which are read and written without
 * their Ethernet headers. priority: SO_PRIORITY of sent frames. Returns a descriptor, or -errno with err set.
 */
int socket_open_packet(const char *netns, int ethertype, int priority, struct error *err);
/* Returns the index of an interface in the namespace of a socket, or -errno. */
int socket_port(int socket, const char *name);

/*
 * Sends a request that the kernel answers by an acknowledgement or a dump, and calls `take` for each message of the
 * answer; `take` NULL: ignores the messages. `buffer`, of SOCKET_BUFFER_BYTES, holds the request and then the answer.
 * Returns 0, or the -errno that the kernel reports.
 */
int socket_request(struct mnl_socket *socket, void *buffer, mnl_cb_t take, void *context);

#endif
