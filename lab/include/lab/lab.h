/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lab: virtual hosts in racks on one machine. Each host is a network namespace. The switch is another namespace
 * with a Linux bridge per rack and a bridge, the core, that connects the racks. Delay injectors can be put in the link
 * of a host, in the uplink of a rack, or between two racks.
 *
 *   host NAME-h1 ... NAME-hN   eth0, 10.77.RACK.N/16, MAC 02:6d:..
 *   switch NAME-sw             bridges rack1 .. rackR and core; one veth per host
 *   injector NAME-inj          for each place a pair of interfaces PLACE-a (outer end) and PLACE-b (towards the core)
 *
 * A routed lab has routing switches in place of the bridges. Each switch is a namespace NAME-s<number>; its kernel
 * routes IPv4 and IPv6 over all shortest paths (ECMP by addresses and ports). A switch has one address, on its loopback
 * interface. Its links are unnumbered (RFC 5309). A switch with hosts is a rack:
 *
 *   host         10.77.RACK.N/32, fd77::RACK:N, gateway 10.77.RACK.254 and fe80::1, with one MAC on all switches
 *   switch S     10.78.0.S, fd78::S; the interface towards a neighbour has the neighbour's name
 *
 * No interface is ever made outside these namespaces. Every function that changes something needs root. The caller owns
 * the data. Not thread-safe.
 */
#ifndef LAB_LAB_H
#define LAB_LAB_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <base/error.h>
#include <base/ns.h>
#include <model/topology.h>

enum {
	LAB_HOSTS_MAXIMUM = 64,
	LAB_RACKS_MAXIMUM = 16,
	LAB_INJECTORS_MAXIMUM = 16,
	LAB_NAME_MAXIMUM = 10, /* characters */
	LAB_SWITCHES_MAXIMUM = 128,
	LAB_LINKS_MAXIMUM = 1024,
	LAB_NODE_NAME_BYTES = 16, /* size of node names; in a routed lab, also names of interfaces */
};

/*
 * SO_PRIORITY of packets that must not queue behind others on a limited link. A hundredth of the link's rate is
 * reserved for these packets.
 */
enum { LAB_CONTROL_PRIORITY = 0x10003 };

#define LAB_FOLDER "/run/nomora"

struct lab_spec {
	const char *name;
	int hosts, racks;
	int slots; /* number of tasks that a host can run; goes into the inventory only */
	int mtu_bytes;
	const char *const *places; /* places of injectors, such as "h3", "rack1", "core" */
	size_t place_count;
	int spines; /* > 0: a routed lab in which each rack's switch is linked to each of this many spines */
	/* Not NULL: a routed lab with this network; `hosts` and `racks` are then ignored. Borrowed. */
	const struct topology *fabric;
	double link_MBps; /* of a routed lab: rate limit of every link, MB/s of payload; 0 = as `fabric` says */
};

struct lab_host {
	char name[LAB_NODE_NAME_BYTES]; /* h1 */
	char netns[24];                 /* lab0-h1 */
	char address[16];               /* of eth0 */
	char probe_address[16]; /* for probers with their own IP stack: the host's kernel does not have this address */
	char address6[16], probe_address6[16]; /* of a routed lab; else "" */
	char mac[18];
	int rack; /* from 1 */
};

struct lab_switch {
	char name[LAB_NODE_NAME_BYTES]; /* spine1 */
	char netns[24];                 /* lab0-s5 */
	char address[16];
	int rack; /* rack of the switch's hosts; 0 = it has no hosts */
};

/*
 * a and b: node numbers of the link's ends; hosts are numbered from 0, switches from host_count. b is a switch. Limits
 * are in MB/s of payload; 0 = no limit.
 */
struct lab_link {
	int a, b;
	double MBps, back_MBps; /* limit from a to b; limit from b to a */
	bool up;
};

struct lab_injector {
	char place[2 * LAB_NODE_NAME_BYTES]; /* "h3", "rack1", "core"; of a routed lab "h3", "leaf1:spine2" */
	int link;                            /* of a routed lab: index of the link on which the injector is */
	char port_a[16], port_b[16];         /* interfaces in the injector's namespace; b is nearer to the core */
	char control[64];                    /* path of the injector's control socket */
};

struct lab {
	char name[LAB_NAME_MAXIMUM + 1];
	char switch_netns[24], injector_netns[24];
	int host_count, rack_count, slots, mtu_bytes;
	size_t injector_count;
	struct lab_host hosts[LAB_HOSTS_MAXIMUM];
	struct lab_injector injectors[LAB_INJECTORS_MAXIMUM];
	int switch_count, link_count; /* 0 if the lab is not routed */
	struct lab_switch switches[LAB_SWITCHES_MAXIMUM];
	struct lab_link links[LAB_LINKS_MAXIMUM];
};

/*
 * Fills `lab` from the spec. Distributes hosts evenly over racks, in order. Returns 0, or -errno with err set if the
 * lab cannot be built. Pure.
 */
int lab_plan(const struct lab_spec *spec, struct lab *lab, struct error *err);
/* Returns 0 if `name` is 1 to 10 characters of a-z and 0-9, beginning with a letter; otherwise -EINVAL with err set. */
int lab_check_name(const char *name, struct error *err);

/* Prints the shell script that builds the lab. Pure. */
void lab_print_script(const struct lab *lab, FILE *out);

/*
 * Builds the lab and waits until every link has a carrier. Returns 0, or -errno with err set; -EEXIST if the name is
 * taken. On failure nothing is left behind.
 */
int lab_up(const struct lab *lab, struct error *err);

/*
 * Removes everything of the lab with that name, even without a state file: processes in its namespaces, the namespaces,
 * its files. Returns 1 if there was something to remove, 0 if not, or -errno with err set.
 */
int lab_down(const char *name, struct error *err);

/* Returns 0; or -EEXIST, with a hint in err, if there is a lab of that name, even an incomplete one. */
int lab_check_free(const char *name, struct error *err);

/*
 * Starts, for each place, `program inject PORT_A PORT_B --delay-us D --control ...` in the injectors' namespace, and
 * waits until the injector answers on its control socket. Each injector runs at the highest priority (nice -20) until
 * lab_down(), even when this process ends; its output goes to LAB_FOLDER/NAME-PLACE.log. extra: further arguments,
 * NULL-terminated, or NULL. If --cpus is not among them, it is added (see lab_injector_cpu()). Returns 0, or -errno
 * with err set.
 */
int lab_start_injectors(const struct lab *lab, const char *program, double delay_us, const char *const *extra,
			struct error *err);

/*
 * Returns the CPU for the injector with this index: the last CPU for index 0, the one before it for index 1, and so on;
 * CPU 0 is never used. -1 = no CPU can be spared.
 */
int lab_injector_cpu(size_t index);

/*
 * lab_write_state() writes the state file, lab_read() reads it. lab_read() returns -ENOENT if there is no such lab, or
 * another -errno if the lab is incomplete; err contains a hint.
 */
int lab_write_state(const struct lab *lab, struct error *err);
int lab_read(const char *name, struct lab *lab, struct error *err);
/* Reads the output of lab_to_json(); `file` is for messages. */
int lab_from_json(const char *file, const json_t *root, struct lab *lab, struct error *err);
json_t *lab_to_json(const struct lab *lab); /* nomora.lab/1, new reference, NULL if out of memory */
/*
 * Makes nomora.labs/1 from an array of nomora.lab/1; takes over the reference to the array. Returns NULL if out of
 * memory.
 */
json_t *lab_list_to_json(json_t *labs);
/* Prints the lab as text, with commands to try next. Queries the injectors to print whether they run. */
void lab_print(const struct lab *lab, FILE *out);

/*
 * Writes the names of at most `capacity` existing labs, complete or not, to names[], in alphabetical order. Returns
 * their number, or -errno with err set.
 */
int lab_list(char (*names)[LAB_NAME_MAXIMUM + 1], size_t capacity, struct error *err);

/* Returns the host with this name or namespace; NULL if there is none. */
const struct lab_host *lab_find_host(const struct lab *lab, const char *name);
/*
 * Returns the namespace of the host or switch with this name, of the bridges (name "sw") or of the injectors ("inj");
 * NULL if there is none.
 */
const char *lab_find_netns(const struct lab *lab, const char *name);

/* Returns the name of the node with this number (see struct lab_link). */
const char *lab_node_name(const struct lab *lab, int node);

/*
 * Returns the network of a routed lab with the link states and limits in `lab`, or NULL if out of memory. A link
 * without a limit has TOPOLOGY_MBPS_MAXIMUM.
 */
struct topology *lab_topology(const struct lab *lab);

enum lab_link_action { LAB_LINK_UP, LAB_LINK_DOWN, LAB_LINK_RATE };

struct lab_link_change {
	enum lab_link_action action;
	double MBps;      /* for LAB_LINK_RATE: limit in each direction, MB/s of payload; 0 = no limit */
	bool keep_routes; /* true: sets no routes; the kernel of end b still deletes its routes over a link that goes
			     down */
};

/*
 * Changes the link between two nodes, given by name, of a running routed lab. If the link goes up or down, also sets
 * the routes of all switches accordingly, unless change->keep_routes.
 */
int lab_change_link(const char *name, const char *a, const char *b, const struct lab_link_change *change,
		    struct error *err);

/*
 * Writes the cluster file (<model/cluster.h>), the prober's list of peers (<model/peers.h>) and the network of a routed
 * lab (<model/topology.h>); a NULL path skips that file.
 */
int lab_write_inventory(const struct lab *lab, const char *cluster_path, const char *peers_path,
			const char *topology_path, struct error *err);

/*
 * lab_guard_start() starts a process, the guard, that removes the lab as soon as the calling process ends, even by
 * SIGKILL; returns NULL with err set on failure. lab_guard_release() ends the guard; if `down` is true, it first
 * removes the lab.
 */
struct lab_guard;
struct lab_guard *lab_guard_start(const char *name, struct error *err);
int lab_guard_release(struct lab_guard *guard, bool down, struct error *err);

/* What lab_make() adds to lab_up(). */
struct lab_contents {
	double link_MBps;                       /* limit of the links, see lab_limit_links(); 0 = none */
	double delay_us;                        /* of the injectors; below 0: they are not started */
	const char *const *injector_arguments;  /* see lab_start_injectors() */
	const char *cluster, *peers, *topology; /* files, see lab_write_inventory() */
};

/* Returns a result for the caller of lab_make(). Signals set stop_flag() while it runs. */
typedef int lab_user(const struct lab *lab, void *context, struct error *err);

/*
 * Makes the lab. Whenever this process is killed before lab_make() returns, a guard removes what has been made. Without
 * `use`, the lab stays. Otherwise `use` runs with the lab, *result is set to its result, and then the lab is removed.
 * Returns 0, or -errno with err set; then nothing is left of the lab.
 */
int lab_make(const struct lab *lab, const struct lab_contents *contents, lab_user *use, void *context, int *result,
	     struct error *err);

/*
 * A guard is a child process that runs an action as soon as its parent ends, even by SIGKILL, unless the parent has
 * released the guard before. The guard has its own session and keeps no terminal open.
 */

struct guard;

/*
 * Starts the guard. It is forked, so its action sees the context as it is at this call. Returns NULL with err set on
 * failure.
 */
struct guard *guard_start(void (*action)(void *context), void *context, struct error *err);
/* Ends the guard without running the action. NULL is legal. */
void guard_release(struct guard *guard);

#endif
