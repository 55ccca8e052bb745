/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets IPv4 routes for the traffic between pairs of hosts of a routed lab, in place of those that ECMP chooses.
 *
 * Routes remain when the process ends, and the next process finds them: routes_set() reads the present routes and
 * changes only the differences. An update sets the new route before it removes the old one: a pair's switches change
 * from the last one to the first, so that a packet that meets a changed switch is on the new route up to its end;
 * switches that only the old route has are cleared afterwards, the first one first. So each packet reaches its host at
 * every moment, even if the process dies in between.
 *
 * Back end netlink: in the switches' kernels, a rule (source, destination) selects a table with one next hop. Rules and
 * tables are marked by the routing protocol ROUTES_PROTOCOL. Root only; one thread; the lab is borrowed.
 */
#ifndef LAB_ROUTES_ROUTES_H
#define LAB_ROUTES_ROUTES_H

#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <lab/lab.h>

enum { ROUTES_PROTOCOL = 78 }; /* a number that no routing daemon uses */

/*
 * A route in one direction: the switches from the one host's to the other host's, numbered as ends of links (struct
 * lab_link).
 */
struct lab_route {
	int from, to; /* hosts, from 0 */
	const int *nodes;
	size_t node_count;
};

struct routes_changes {
	uint32_t set, cleared, kept; /* switches' entries */
};

struct routes;

/* Returns NULL with err set if the user is not root or a namespace does not exist. */
struct routes *routes_open(const struct lab *lab, struct error *err);
void routes_close(struct routes *routes); /* the routes remain set; NULL is legal */

/*
 * Sets these routes and removes all others; count 0 removes all. `changes` may be NULL. Returns 0, or -errno with err
 * set.
 */
int routes_set(struct routes *routes, const struct lab_route *wanted, size_t count, struct routes_changes *changes,
	       struct error *err);

/* The fields of a packet's header that equal-cost hashing uses. */
struct routes_packet {
	int from, to; /* hosts */
	int protocol; /* IPPROTO_TCP or IPPROTO_UDP; 0: none, the ports are not used */
	uint16_t source_port, port;
};

/*
 * Writes the switches that the packet passes to nodes[LAB_SWITCHES_MAXIMUM], by asking each switch's kernel in turn.
 * Returns their number; or, with err set, -EHOSTUNREACH (a switch has no route), -ELOOP or another -errno.
 */
int routes_trace(struct routes *routes, const struct routes_packet *packet, int *nodes, struct error *err);

/*
 * Finds a source port for switches that must not be changed: sets packet->source_port to the first port, from its
 * present value to `last`, with which the packet passes the route's switches. Returns 0; -EHOSTUNREACH with err set if
 * there is no such port; or an error of routes_trace().
 */
int routes_find_port(struct routes *routes, const struct lab_route *route, struct routes_packet *packet, uint16_t last,
		     struct error *err);

/*
 * Returns 0 if the packets of every route pass its switches, -EXDEV with err set if not, or an error of routes_trace().
 */
int routes_check(struct routes *routes, const struct lab_route *wanted, size_t count, struct error *err);

#endif
