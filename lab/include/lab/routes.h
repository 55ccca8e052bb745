/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes that traffic between two hosts of a routed lab takes instead of those that ECMP chooses, IPv4. Root only; one
 * thread.
 */
#ifndef LAB_ROUTES_H
#define LAB_ROUTES_H

#include <stddef.h>

#include <base/error.h>
#include <lab/lab.h>

enum { LAB_ROUTE_PROTOCOL = 78 }; /* marks what is ours in routing tables; no routing daemon has this number */

/* One direction. Nodes are switches, numbered as ends of links (struct lab_link), from the host's to the other host's.
 */
struct lab_route {
	int from, to; /* hosts, from 0 */
	const int *nodes;
	size_t node_count;
};

/* Replaces all chosen routes of the lab, also those of a process that has ended; count 0 removes them. 0 or -errno. */
int lab_set_routes(const struct lab *lab, const struct lab_route *routes, size_t count, struct error *err);

#endif
