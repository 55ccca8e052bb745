/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection to a NATS server that libnats makes again without limit. */
#ifndef MESH_LINK_PRIV_H
#define MESH_LINK_PRIV_H

#include <stdatomic.h>

#include <nats/nats.h>

#include <probe/nats/bus.h>

struct mesh_link {
	natsConnection *connection;
	atomic_uint connects; /* written by libnats's threads */
	char reason[160];     /* why the first attempt failed; "" = it did not */
};

/* The server need not be there yet. 0 or -errno with err set. mesh_link_close() is legal after a failure. */
int mesh_link_open(struct mesh_link *link, const struct mesh_bus_options *options, struct error *err);
void mesh_link_close(struct mesh_link *link);
/* 0, or -errno with err set when libnats has given up (the server refused the credentials). */
int mesh_link_check(const struct mesh_link *link, struct error *err);

#endif
