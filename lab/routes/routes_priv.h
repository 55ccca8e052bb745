/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface between routes.c and a back end, which sets the entries in the switches. */
#ifndef LAB_ROUTES_PRIV_H
#define LAB_ROUTES_PRIV_H

#include <stdbool.h>

#include <lab/routes/routes.h>

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
