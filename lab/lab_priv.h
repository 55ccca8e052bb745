/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the lab: names of namespaces and the processes in them. */
#ifndef LAB_LAB_PRIV_H
#define LAB_LAB_PRIV_H

#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <base/ns.h>
#include <base/process.h>
#include <lab/lab.h>

#define NETNS_FOLDER "/run/netns"

/* Maximum time to wait for links to get a carrier, sockets to answer and processes to end. */
enum { LAB_PATIENCE_MS = 5000 };

/* Returns true if a namespace with the name of that lab exists. */
bool lab_has_netns(const char *lab_name);

/*
 * Opens LAB_FOLDER, creating it if necessary, and locks it (flock): only one process at a time may change labs. Returns
 * a descriptor, which the caller closes, or -errno with err set.
 */
int lab_lock(struct error *err);

/* Sets the addresses and the MAC of a host; `place` is its number in its rack, from 1. */
void lab_name_host(struct lab_host *host, int place);

void lab_state_path(const char *name, char *path, size_t bytes);

/* Runs a command by process_run(), for at most 30 s. */
int lab_run(const char *const *argv, struct process_result *result, struct error *err);

/* A shell script; the caller writes its lines to `out`. */
struct lab_script {
	char path[128];
	FILE *out;
};
int lab_script_open(const struct lab *lab, struct lab_script *script, struct error *err);
/* Runs the script and removes its file. `purpose`, such as "build the lab", is for the error message. */
int lab_script_run(const struct lab *lab, struct lab_script *script, const char *purpose, struct error *err);

/*
 * Options of `ethtool -K`. An injector's DPDK port on a veth forwards frames unchanged, so they must contain checksums
 * and must not exceed the MTU. All interfaces have these options, so that a path with an injector differs from one
 * without it only by the injector.
 */
#define LAB_OFFLOADS_OFF "tx off rx off sg off tso off gso off gro off"

/* Prints the script that builds a lab of bridges. */
void bridges_print_up(const struct lab *lab, FILE *out);

/* An end of a link: its namespace, its name, and options for `ip link add` ("" = none). */
struct lab_end {
	const char *netns, *port, *options;
};
/*
 * Prints a line for `ip -batch` that makes a link between two ports or, if `injector` is not NULL, two lines that make
 * links from these ports to the injector's ports.
 */
void lab_print_link(const struct lab *lab, const struct lab_injector *injector, struct lab_end near, struct lab_end far,
		    FILE *out);
/* Prints a line for `ip -batch` that sets up the ports of all injectors. */
void lab_print_injectors(const struct lab *lab, FILE *out);

/* Shared by the files of the routed lab. Node numbers: see struct lab_link. */

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

/* Returns the rate in bit/s of the frames that carry MBps megabytes of payload per second. */
double links_wire_bits(double MBps);
/* Returns the size in bytes of a token bucket that is filled at a rate of `bits` bit/s. */
double links_burst_bytes(double bits);
/* Prints shell lines that limit both ends of a routed lab's link. */
void links_print_limits(const struct lab *lab, const struct lab_link *link, FILE *out);
/* Runs a shell line. Returns 0, or -errno; if the line fails, err contains its output. */
int links_run(const char *line, struct error *err);

/*
 * The agent: the process that sends and receives the data of transfers on one host. It exchanges messages with its
 * parent over a SOCK_SEQPACKET pair, one struct agent_message per packet.
 */

enum agent_message_kind {
	AGENT_READY,    /* from the agent: it listens for connections */
	AGENT_START,    /* to the agent: send `bytes` to `address` */
	AGENT_CANCEL,   /* to the agent: close the ends of the transfer on this host */
	AGENT_PROGRESS, /* from the agent: `bytes` have been acknowledged so far */
	AGENT_DONE,     /* from the agent: all bytes have been acknowledged */
	AGENT_FAILED,   /* from the agent: see TRANSFER_FAILED */
};

struct agent_message {
	/*
	 * - kind: enum agent_message_kind
	 * - number: number of the transfer
	 * - generation: grows with each start and each cancellation of the transfer, so that the parent can ignore late
	 *   messages about an earlier start
	 */
	uint32_t kind, number, generation;
	uint32_t priority; /* SO_PRIORITY of the transfer's traffic class */
	uint64_t bytes;
	struct ns at;     /* from the agent: when it sent the message, monotonic clock */
	char address[16]; /* AGENT_START: IPv4 address of the receiver */
};

/* Runs the agent in a namespace; never returns. control: the agent's end of the pair; count: number of transfers. */
void transfer_agent_run(const char *netns, int control, uint32_t count) __attribute__((noreturn));

#endif
