/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection to a NATS server; libnats reconnects without limit. */
#ifndef MESH_LINK_PRIV_H
#define MESH_LINK_PRIV_H

#include <signal.h>
#include <stdatomic.h>

#include <nats/nats.h>

#include <probe/nats/bus.h>

struct mesh_link {
	natsConnection *connection;
	natsSubscription *subscription; /* NULL = none */
	atomic_uint connects; /* number of connections so far; libnats's threads change it after the first one */
	atomic_bool closing;  /* read by libnats's threads */
	atomic_int error;     /* the natsStatus that they logged last */
};

/*
 * Waits until the server accepts the connection. Returns 0, or -errno with err set. Also returns 0, without a
 * connection, if *stop ends the wait. mesh_link_close() is legal in all cases.
 */
int mesh_link_open(struct mesh_link *link, const struct mesh_bus_options *options, const volatile sig_atomic_t *stop,
		   struct error *err);
/* Subscribes to messages, once. Returns 0, or -errno with err set. */
int mesh_link_subscribe(struct mesh_link *link, const char *subject, struct error *err);
/*
 * Waits at most wait_ms for a message. Returns 0, or -errno with err set. The caller destroys *message, which is NULL
 * if none has come.
 */
int mesh_link_next(struct mesh_link *link, int64_t wait_ms, natsMsg **message, struct error *err);
void mesh_link_close(struct mesh_link *link);
/* Returns 0, or -errno with err set if libnats has given up (the server refused the credentials). */
int mesh_link_check(const struct mesh_link *link, struct error *err);

#endif
