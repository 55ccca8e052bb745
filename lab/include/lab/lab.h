/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The virtual rack: hosts as network namespaces on a switch of Linux bridges (one per rack, and a core between the
 * racks), with the two ports of a delay injector in the path of a host, of a rack, or between the racks.
 *
 *   host NAME-h1 ... NAME-hN   eth0, 10.77.RACK.N/16, MAC 02:6d:..
 *   switch NAME-sw             bridges rack1 .. rackR and core; one veth per host
 *   injector NAME-inj          for each place a pair of interfaces PLACE-a (outer end) and PLACE-b (the core's side)
 *
 * No interface is ever made outside these namespaces. Every function that changes something needs root. Plain data,
 * owned by the caller; one thread.
 */
#ifndef LAB_LAB_H
#define LAB_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <base/ns.h>

enum {
	LAB_HOSTS_MAXIMUM = 64,
	LAB_RACKS_MAXIMUM = 16,
	LAB_INJECTORS_MAXIMUM = 16,
	LAB_NAME_MAXIMUM = 10, /* characters */
};

#define LAB_FOLDER "/run/nomora"

struct lab_spec {
	const char *name;
	int hosts, racks;
	int slots; /* tasks that a host can hold, for the inventory */
	int mtu_bytes;
	const char *const *places; /* "h3", "rack1", "core": where injectors go */
	size_t place_count;
};

struct lab_host {
	char name[8];           /* h1 */
	char netns[24];         /* lab0-h1 */
	char address[16];       /* of eth0 */
	char probe_address[16]; /* for probers with their own stack: the kernel does not answer on it */
	char mac[18];
	int rack; /* from 1 */
};

struct lab_injector {
	char place[8];
	char port_a[16], port_b[16]; /* interfaces in the injector's namespace; b is nearer to the core */
	char control[64];            /* control socket of the injector that `lab` starts */
};

struct lab {
	char name[LAB_NAME_MAXIMUM + 1];
	char switch_netns[24], injector_netns[24];
	int host_count, rack_count, slots, mtu_bytes;
	size_t injector_count;
	struct lab_host hosts[LAB_HOSTS_MAXIMUM];
	struct lab_injector injectors[LAB_INJECTORS_MAXIMUM];
};

/* Fills `lab` from the spec; refuses what cannot be built. Pure. Hosts are dealt to racks in equal runs. */
int lab_plan(const struct lab_spec *spec, struct lab *lab, struct error *err);
/* -EINVAL unless `name` is 1..10 of a-z0-9 beginning with a letter. */
int lab_check_name(const char *name, struct error *err);

/* The lines for `ip -batch` that build it. Pure. */
int lab_print_batch(const struct lab *lab, FILE *out);

/* Builds it and waits until every link carries. -EEXIST if the name is taken. On failure nothing is left behind. */
int lab_up(const struct lab *lab, struct error *err);

/*
 * Removes everything of that name: what runs in its namespaces, the namespaces, its files; also without a state file.
 * Returns 1 if there was something to remove, 0 if not, -errno.
 */
int lab_down(const char *name, struct error *err);

/* -EEXIST with a hint if there is a lab of that name, whole or not. */
int lab_check_free(const char *name, struct error *err);

/*
 * Starts `program inject PORT_A PORT_B --delay-us D --control ...` in the injector's namespace for each place and waits
 * until its control socket answers. It runs until lab_down(), even when this process ends, at the highest priority;
 * its output goes to LAB_FOLDER/NAME-PLACE.log. extra: further arguments, NULL-terminated, or NULL; --cpus is added
 * unless it is there.
 */
int lab_start_injectors(const struct lab *lab, const char *program, double delay_us, const char *const *extra,
			struct error *err);

/* The CPU that the injector with this index is given: from the last one down; -1 = no CPU can be spared. */
int lab_injector_cpu(size_t index);

/* State file. lab_read() fails with ENOENT if there is no such lab, with others if it is not whole; each with a hint.
 */
int lab_write_state(const struct lab *lab, struct error *err);
int lab_read(const char *name, struct lab *lab, struct error *err);
/* From what lab_to_json() made; `file` for messages. */
int lab_from_json(const char *file, const json_t *root, struct lab *lab, struct error *err);
json_t *lab_to_json(const struct lab *lab); /* nomora.lab/1, new reference, NULL if out of memory */

/* Names of the labs that exist, whole or not, in order; at most `capacity`. Returns how many, or -errno. */
int lab_list(char (*names)[LAB_NAME_MAXIMUM + 1], size_t capacity, struct error *err);

const struct lab_host *lab_find_host(const struct lab *lab, const char *name);

/* Writes the cluster file (<model/cluster.h>) and the prober's list of peers (<model/peers.h>); NULL: not that one. */
int lab_write_inventory(const struct lab *lab, const char *cluster_path, const char *peers_path, struct error *err);

/*
 * A process that removes the lab as soon as this one ends, however it ends (SIGKILL included). lab_guard_release()
 * takes the lab down itself when `down` is true and ends the guard. NULL with err set.
 */
struct lab_guard;
struct lab_guard *lab_guard_start(const char *name, struct error *err);
int lab_guard_release(struct lab_guard *guard, bool down, struct error *err);

#endif
