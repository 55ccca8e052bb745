/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TWAMP-Control over the kernel's TCP: a server beside the reflector, and a client for the prober. See
 * <probe/rtt/twamp.h> for the protocol. The kernel must have our address.
 */
#ifndef PROBE_TWAMP_TWAMP_H
#define PROBE_TWAMP_TWAMP_H

#include <base/error.h>
#include <probe/rtt/twamp.h>

struct twamp_service;

/* Connections at the same time, of all hosts and of one host. */
enum { TWAMP_CONNECTIONS = 64, TWAMP_HOST_CONNECTIONS = 8 };

struct twamp_service_counters {
	uint64_t connections, turned_away; /* those accepted, and those that the limits or `allow` refused */
	uint64_t sessions, refused;        /* answers to Request-TW-Session */
	uint64_t late;                     /* connections ended because a message did not come in time */
};

/*
 * Listens on TCP port `port` of terms->address, and serves on a thread of its own, so that it never delays the
 * reflector. Copies the terms, but borrows their list. Returns NULL with err set.
 */
struct twamp_service *twamp_service_start(const struct twamp_terms *terms, uint16_t port, struct error *err);
/* Closes all connections and frees the service; stores the counters in *counters unless it is NULL. NULL is legal. */
void twamp_service_stop(struct twamp_service *service, struct twamp_service_counters *counters);

/*
 * A connection to a server whose sessions run.
 */
struct twamp_connection {
	int fd;
	struct twamp_client client;
};

/*
 * Requests the sessions of `wish`, borrowed, from the server at wish->receiver and starts them; each step may take
 * `patience`. Returns 0, or -errno with err set. End the sessions with twamp_disconnect().
 */
int twamp_connect(struct twamp_connection *connection, const struct twamp_wish *wish, uint16_t port, struct ns patience,
		  struct error *err);
void twamp_disconnect(struct twamp_connection *connection);

#endif
