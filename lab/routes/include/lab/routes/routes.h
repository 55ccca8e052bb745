/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets IPv4 routes for the traffic between pairs of hosts of a routed lab, in place of those that ECMP chooses.
 *
 * A route consists of an entry for the pair of hosts on each switch that it passes except the last one, to which the
 * destination is linked. Routes remain when the process ends, and the next process finds them: routes_set() reads the
 * present entries and changes only those that differ. It first sets the entries of the new route, from the last switch
 * to the first: a packet that meets a new entry then finds new entries on all further switches. Afterwards it removes
 * the entries of switches that only the old route passes, from the first switch to the last. So each packet reaches its
 * host at every moment, even if the process dies in between.
 *
 * Back end netlink: in the switches' kernels, an entry is a rule (source, destination) that selects a table with one
 * next hop. Rules and tables are marked by the routing protocol ROUTES_PROTOCOL. Root only; one thread; the lab is
 * borrowed.
 */
#ifndef LAB_ROUTES_ROUTES_H
#define LAB_ROUTES_ROUTES_H

#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <lab/lab.h>

enum { ROUTES_PROTOCOL = 78 }; /* a number that no routing daemon uses */

/*
 * A route in one direction. nodes[]: its switches in order; the first is linked to host `from`, the last to host `to`.
 * Nodes are numbered as in struct lab_link.
 */
struct lab_route {
	int from, to; /* hosts, from 0 */
	const int *nodes;
	size_t node_count;
};

struct routes_changes {
	uint32_t set, cleared, kept; /* numbers of entries that were set, removed, left unchanged */
};

struct routes;

/* Returns NULL with err set if the user is not root or a namespace does not exist. */
struct routes *routes_open(const struct lab *lab, struct error *err);
void routes_close(struct routes *routes); /* the routes remain set; NULL is legal */

/*
 * Sets these routes and removes all others that have been set; count 0 removes all. `changes` may be NULL. Returns 0,
 * or -errno with err set.
 */
int routes_set(struct routes *routes, const struct lab_route *wanted, size_t count, struct routes_changes *changes,
	       struct error *err);

/* The fields of a packet's header that equal-cost hashing uses. */
struct routes_packet {
	int from, to; /* hosts */
	int protocol; /* IPPROTO_TCP or IPPROTO_UDP; 0: the hash does not use protocol and ports */
	uint16_t source_port, port;
};

/*
 * Writes the switches that the packet passes to nodes[LAB_SWITCHES_MAXIMUM], by asking each switch's kernel in turn.
 * Returns their number; or, with err set, -EHOSTUNREACH (a switch has no route), -ELOOP or another -errno.
 */
int routes_trace(struct routes *routes, const struct routes_packet *packet, int *nodes, struct error *err);

/*
 * Finds a source port with which equal-cost hashing sends a packet over a route, for switches that must not be changed.
 * Sets packet->source_port to the first such port between its present value and `last`. Returns 0; -EHOSTUNREACH with
 * err set if there is no such port; or an error of routes_trace().
 */
int routes_find_port(struct routes *routes, const struct lab_route *route, struct routes_packet *packet, uint16_t last,
		     struct error *err);

/*
 * Checks that, for each route, the packets between its hosts pass exactly its switches. Returns 0; -EXDEV with err set
 * if they do not; or an error of routes_trace().
 */
int routes_check(struct routes *routes, const struct lab_route *wanted, size_t count, struct error *err);

#endif
