/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes that traffic between two hosts of a routed lab takes instead of those that ECMP chooses, IPv4.
 *
 * Routes remain when the process ends, and the next process finds them: routes_set() reads the present routes and
 * changes only the differences. An update sets the new route before it removes the old one: a pair's switches change
 * from the last one to the first, so that a packet that meets a changed switch is on the new route up to its end;
 * switches that only the old route has are cleared afterwards, the first one first. At every moment, even if the
 * process dies then, each packet reaches its host.
 *
 * Back end netlink: the switches' kernels, by rules (source, destination) to tables of one next hop each, both marked
 * by the routing protocol ROUTES_PROTOCOL. Root only; one thread; the lab is borrowed.
 */
#ifndef LAB_ROUTES_ROUTES_H
#define LAB_ROUTES_ROUTES_H

#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <lab/lab.h>

enum { ROUTES_PROTOCOL = 78 }; /* a number that no routing daemon uses */

/* One direction. Nodes are switches, numbered as ends of links (struct lab_link), from the host's to the other host's.
 */
struct lab_route {
	int from, to; /* hosts, from 0 */
	const int *nodes;
	size_t node_count;
};

struct routes_changes {
	uint32_t set, cleared, kept; /* entries of switches */
};

struct routes;

/* NULL with err set: no root, no such namespace. */
struct routes *routes_open(const struct lab *lab, struct error *err);
void routes_close(struct routes *routes); /* the routes remain set; NULL is legal */

/* Sets these routes and removes all others; count 0 removes all. `changes` may be NULL. 0 or -errno with err set. */
int routes_set(struct routes *routes, const struct lab_route *wanted, size_t count, struct routes_changes *changes,
	       struct error *err);

/* The fields of a packet's header that equal-cost hashing uses. */
struct routes_packet {
	int from, to; /* hosts */
	int protocol; /* IPPROTO_TCP or IPPROTO_UDP; 0: none, ports count for nothing */
	uint16_t source_port, port;
};

/*
 * The switches that the packet passes, asked of each switch's kernel in turn, into nodes[LAB_SWITCHES_MAXIMUM]. Returns
 * their number; -EHOSTUNREACH (a switch has no route), -ELOOP, -errno with err set.
 */
int routes_trace(struct routes *routes, const struct routes_packet *packet, int *nodes, struct error *err);

/*
 * For switches that must not be changed: sets packet->source_port to the first port, from its value to `last`, that
 * makes the packet pass the route's switches. 0; -EHOSTUNREACH (no such port, or a switch has no route), or as
 * routes_trace().
 */
int routes_find_port(struct routes *routes, const struct lab_route *route, struct routes_packet *packet, uint16_t last,
		     struct error *err);

/* 0 if packets of every route pass its switches, else -EXDEV with err set, or as routes_trace(). */
int routes_check(struct routes *routes, const struct lab_route *wanted, size_t count, struct error *err);

#endif
