/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface of a back end of routes. */
#ifndef LAB_ROUTES_PRIV_H
#define LAB_ROUTES_PRIV_H

#include <stdbool.h>

#include <lab/routes/routes.h>

/* At switch `at`, packets from one host to another go to node `next`. */
struct route_entry {
	int from, to, at, next;
	uint32_t rank;   /* wanted: number of switches after this one; present: index in the order of precedence */
	bool incomplete; /* present: its table has no route, so it takes effect only when set again */
};

/*
 * The change of a switch for a pair of hosts: sets the wanted entry, if any, and then removes the others, the effective
 * one last.
 */
struct route_change {
	const struct route_entry *wanted;  /* NULL: none */
	const struct route_entry *present; /* the switch's entries for the pair of hosts, in the order of precedence */
	size_t present_count;
	uint32_t rank;
};

struct route_entries {
	struct route_entry *all;
	size_t count, capacity;
};

struct routes_backend {
	int (*open)(struct routes *routes, struct error *err);
	void (*close)(struct routes *routes); /* also after a failed open */
	int (*read)(struct routes *routes, struct route_entries *present, struct error *err);
	/* Returns when the switch has confirmed. */
	int (*change)(struct routes *routes, const struct route_change *change, struct error *err);
	/* Removes the parts (tables) that no wanted entry uses. */
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
