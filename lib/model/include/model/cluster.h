/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cluster as a scheduler sees it: machines with slots, in racks, in pods. File form "nomora.cluster/1" (JSON),
 * described in docs/formats.md:
 *
 *   {"schema": "nomora.cluster/1",
 *    "default_rtt_us": {"same_machine": 1, "same_rack": 30, "same_pod": 100, "other_pod": 250},
 *    "racks": [{"name": "r1", "pod": "p1"}],
 *    "machines": [{"name": "h1", "rack": "r1", "pod": "p1", "slots": 4}]}
 *
 * Plain data: machines, racks and pods are numbered in the order in which the file first names them; the number of a
 * removed one (its name is NULL) goes to the next one added. Round-trip times are microseconds. Owned by the caller
 * through cluster_destroy(); readers may share it between threads.
 */
#ifndef MODEL_CLUSTER_H
#define MODEL_CLUSTER_H

#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/hash_table.h>

enum {
	CLUSTER_MACHINES_MAXIMUM = 1000000,
	CLUSTER_SLOTS_MAXIMUM = 100000, /* of one machine */
};

struct cluster_machine {
	char *name; /* NULL = no machine has this number */
	uint32_t rack;
	uint32_t slots; /* 0 = takes no task */
};

struct cluster_rack {
	char *name; /* NULL = no rack has this number */
	uint32_t pod;
	uint32_t machine_count;
};

/* Round trips to expect between two machines when nothing was measured (NoMora 5.1: defaults by topology). */
struct cluster_default_rtt {
	double same_machine_us, same_rack_us, same_pod_us, other_pod_us;
};

struct cluster {
	struct cluster_machine *machines;
	struct cluster_rack *racks;
	char **pods;
	uint32_t machine_count, rack_count, pod_count;
	size_t machine_capacity, rack_capacity, pod_capacity;
	uint32_t machine_spares, rack_spares, pod_spares; /* unused numbers below the counts */
	struct cluster_default_rtt default_rtt;
	struct hash_table machine_index, rack_index, pod_index; /* hash_text(name) -> number */
};

/* An empty cluster with the default round trips of docs/formats.md; NULL if out of memory. */
struct cluster *cluster_create(void);
void cluster_destroy(struct cluster *cluster); /* NULL is legal */

/*
 * Adds one machine, its rack and its pod where they are new. Returns its number, or -EEXIST (the name is taken),
 * -EINVAL (empty name, control characters in it, slots out of range, the rack is known in another pod) or -ENOMEM, with
 * err set. pod NULL: the rack's pod if the rack is known, else the pod "".
 */
int64_t cluster_add_machine(struct cluster *cluster, const char *name, const char *rack, const char *pod, int64_t slots,
			    struct error *err);

/* Removes the machine, and its rack and its pod with their last machine. */
void cluster_remove_machine(struct cluster *cluster, uint32_t machine);

/* Number of a machine or rack by its name, -ENOENT if there is none. O(1). */
int64_t cluster_find_machine(const struct cluster *cluster, const char *name);
int64_t cluster_find_rack(const struct cluster *cluster, const char *name);

/*
 * Reads a cluster file ("-" = stdin). NULL with err set, naming file and field, for: no machines, a name twice, a rack
 * in two pods, a machine whose rack is not in a given "racks" list, a rack in that list without machines.
 */
struct cluster *cluster_read(const char *path, struct error *err);
/* The same from memory; `name` is for messages. */
struct cluster *cluster_parse(const char *name, const char *text, size_t bytes, struct error *err);

/* Writes the cluster as cluster_read() reads it, whole or not at all ("-" = stdout). 0 or -errno with err set. */
int cluster_write(const struct cluster *cluster, const char *path, struct error *err);

/* Sum of the slots of all machines. */
int64_t cluster_slots(const struct cluster *cluster);

#endif
