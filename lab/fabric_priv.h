/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the routed lab. Node numbers: see struct lab_link. */
#ifndef LAB_FABRIC_PRIV_H
#define LAB_FABRIC_PRIV_H

#include <lab/lab.h>

/* The MAC of every switch's ports to hosts; it is the same on all switches, so that a host may be moved. */
#define FABRIC_GATEWAY_MAC "02:6d:ff:00:00:01"

enum { FABRIC_FAR = -1 }; /* distance of a switch that cannot be reached */

/* Fills `lab` for lab_plan() if the lab is routed; the lab's name is already set. */
int fabric_plan(const struct lab_spec *spec, struct lab *lab, struct error *err);
/* Adds injectors at a place: on the link of a host, on a link A:B, or on every link of a switch to other switches. */
int fabric_add_place(const char *place, struct lab *lab, struct error *err);

const char *fabric_node_netns(const struct lab *lab, int node);
int fabric_find_node(const struct lab *lab, const char *name); /* number of a node by name; -1 = there is none */
/* Returns the index of the link between two nodes, in either order; -1 = there is none. */
int fabric_find_link(const struct lab *lab, int a, int b);
/* Returns the name of the interface at a node's end of a link. */
const char *fabric_port(const struct lab *lab, const struct lab_link *link, int node);

/*
 * Sets distances[s], for every switch s from 0, to the number of links of a shortest path from it to to_switch, or to
 * FABRIC_FAR. Uses all links (`all` true) or only those that are up.
 */
void fabric_distances(const struct lab *lab, int to_switch, bool all, int *distances);

/* Prints shell lines that set the routes of all switches according to the states of the links. */
void fabric_print_routes(const struct lab *lab, FILE *out);
/* In a new lab, takes down the links whose state in `lab` is down, and sets the routes of all switches. */
int fabric_set_links(const struct lab *lab, struct error *err);
/* Prints lines for `ip -n NETNS -batch` that take a node's port up and set its link-local address. */
void fabric_print_port(const struct lab *lab, const struct lab_link *link, int node, FILE *out);

#endif
