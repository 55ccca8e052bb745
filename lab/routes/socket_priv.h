/* SPDX-License-Identifier: BSD-3-Clause */
/* Routing sockets (rtnetlink) in other network namespaces. */
#ifndef LAB_ROUTES_SOCKET_PRIV_H
#define LAB_ROUTES_SOCKET_PRIV_H

#include <libmnl/libmnl.h>

#include <base/error.h>

enum { SOCKET_BUFFER_BYTES = 32768 }; /* of a message and its answer: what the kernel sends at most */

/* A socket stays in the namespace in which it was made. groups: RTMGRP_*. NULL with err set. */
struct mnl_socket *socket_open(const char *netns, unsigned groups, struct error *err);

/*
 * Sends a request that ends with an acknowledgement or a dump, and gives each message of the answer to `take` (NULL:
 * there is none). `buffer` holds the request and then the answer. 0 or -errno of the kernel; err is not set.
 */
int socket_request(struct mnl_socket *socket, void *buffer, mnl_cb_t take, void *context);

#endif
