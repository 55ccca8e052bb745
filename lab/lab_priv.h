/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the lab: names of namespaces and the processes in them. */
#ifndef LAB_LAB_PRIV_H
#define LAB_LAB_PRIV_H

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

#endif
