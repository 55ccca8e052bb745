/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this room share: sockets in other namespaces, and the routes of a lab's switches. */
#ifndef ROUTES_ROUTES_PRIV_H
#define ROUTES_ROUTES_PRIV_H

#include <stdbool.h>

#include <base/error.h>
#include <lab/routes/routes.h>
#include <libmnl/libmnl.h>

/* Routing sockets (rtnetlink) and packet sockets in other network namespaces. */

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

/* The interface between routes.c and a back end, which sets the entries in the switches. */

/* At switch `at`, packets from one host to another go to node `next`. */
struct route_entry {
	int from, to, at, next;
	uint32_t rank;   /* of a wanted entry: number of the route's entries after it; of a present entry: its position
			    in the order of precedence of all present entries */
	bool incomplete; /* of a present entry: the table that its rule selects has no route, so the entry has no
			    effect until it is set again */
};

/*
 * A change of one switch's entries for a pair of hosts: sets the wanted entry, if any, and then removes the switch's
 * other entries for the pair. The entry in effect (the first in the order of precedence) is removed last.
 */
struct route_change {
	const struct route_entry *wanted;  /* NULL: the switch is to have no entry for the pair */
	const struct route_entry *present; /* the switch's present entries for the pair, in the order of precedence */
	size_t present_count;
	uint32_t rank; /* changes are made in ascending order of this number */
};

struct route_entries {
	struct route_entry *all;
	size_t count, capacity;
};

struct routes_backend {
	int (*open)(struct routes *routes, struct error *err);
	void (*close)(struct routes *routes); /* also after a failed open */
	int (*read)(struct routes *routes, struct route_entries *present, struct error *err);
	/* Makes a change, and returns when the switch has confirmed it. */
	int (*change)(struct routes *routes, const struct route_change *change, struct error *err);
	/* Removes everything (tables) that no wanted entry uses any more. */
	int (*tidy)(struct routes *routes, const struct route_entries *wanted, struct error *err);
};

struct routes {
	const struct lab *lab;
	const struct routes_backend *backend;
	void *state; /* of the back end */
};

extern const struct routes_backend routes_netlink;

int routes_netlink_trace(struct routes *routes, const struct routes_packet *packet, int *nodes, struct error *err);

#endif
