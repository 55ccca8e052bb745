/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the routed lab. Nodes: hosts from 0, switches from lab->host_count. */
#ifndef LAB_FABRIC_PRIV_H
#define LAB_FABRIC_PRIV_H

#include <lab/lab.h>

/* The same on every switch's ports to hosts, so that a host may be moved. */
#define FABRIC_GATEWAY_MAC "02:6d:ff:00:00:01"

enum { FABRIC_FAR = -1 }; /* a distance */

/* lab_plan() of a routed lab: all but the name, which is set. */
int fabric_plan(const struct lab_spec *spec, struct lab *lab, struct error *err);
/* Adds injectors at a place: on the link of a host, on a link A:B, or on every link of a switch to other switches. */
int fabric_add_place(const char *place, struct lab *lab, struct error *err);

const char *fabric_node_netns(const struct lab *lab, int node);
int fabric_find_node(const struct lab *lab, const char *name); /* -1 = there is none */
/* Index of the link between two nodes, in either order; -1 = there is none. */
int fabric_find_link(const struct lab *lab, int a, int b);
/* The interface at a link's end: node's name for the other one. */
const char *fabric_port(const struct lab *lab, const struct lab_link *link, int node);

/* Hops from every switch to this one, [switch_count], or FABRIC_FAR; over links that are up, or over all of them. */
void fabric_distances(const struct lab *lab, int to_switch, bool all, int *distances);

/* Shell lines that bring the routes of all switches in line with the links. */
void fabric_print_routes(const struct lab *lab, FILE *out);
/* Takes down the links of a new lab that are not up, and sets its routes. */
int fabric_set_links(const struct lab *lab, struct error *err);
/* A line for `ip -n NETNS -batch`: the port of a node, up and with its link-local address. */
void fabric_print_port(const struct lab *lab, const struct lab_link *link, int node, FILE *out);

#endif
