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
 * Plain data. Machines, racks and pods are numbered in the order in which the file first names them. When a machine,
 * rack or pod is removed, its number has the name NULL until a new one gets the number. Round-trip times are
 * microseconds. The caller owns a cluster (cluster_destroy()); readers may share it between threads.
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

/* Round trips to expect between two machines that have no measurement (NoMora 5.1: defaults by topology). */
struct cluster_default_rtt {
	double same_machine_us, same_rack_us, same_pod_us, other_pod_us;
};

struct cluster {
	struct cluster_machine *machines;
	struct cluster_rack *racks;
	char **pods;
	uint32_t machine_count, rack_count, pod_count;
	size_t machine_capacity, rack_capacity, pod_capacity;
	uint32_t machine_spares, rack_spares, pod_spares; /* number of unused numbers below each count */
	struct cluster_default_rtt default_rtt;
	struct hash_table machine_index, rack_index, pod_index; /* hash_text(name) -> number */
};

/* Returns an empty cluster with the default round trips of docs/formats.md, or NULL if out of memory. */
struct cluster *cluster_create(void);
void cluster_destroy(struct cluster *cluster); /* NULL is legal */

/*
 * Adds one machine, and its rack and pod if they are new. If pod is NULL, the pod is that of the rack, or "" for a new
 * rack. Returns the machine's number, or with err set:
 * - -EEXIST: the name is taken
 * - -EINVAL: a name is empty or has control characters, slots is out of range, the rack is in another pod, or there are
 *   too many machines
 * - -ENOMEM
 */
int64_t cluster_add_machine(struct cluster *cluster, const char *name, const char *rack, const char *pod, int64_t slots,
			    struct error *err);

/* Removes the machine; also its rack or its pod, if this was the last machine in it. */
void cluster_remove_machine(struct cluster *cluster, uint32_t machine);

/* Returns the number of the machine or rack with this name, or -ENOENT. O(1). */
int64_t cluster_find_machine(const struct cluster *cluster, const char *name);
int64_t cluster_find_rack(const struct cluster *cluster, const char *name);

/*
 * Reads a cluster file ("-" = stdin). Returns NULL with err set (file, field) if there are no machines, a name appears
 * twice, a rack is in two pods, a machine's rack is missing from the list "racks", or a rack in this list has no
 * machines.
 */
struct cluster *cluster_read(const char *path, struct error *err);
/* Like cluster_read(), from a text that ends with a NUL, which is not in `bytes`; `name` is for messages. */
struct cluster *cluster_parse(const char *name, const char *text, size_t bytes, struct error *err);

/* Writes a cluster file, whole or not at all ("-" = stdout). Returns 0, or -errno with err set. */
int cluster_write(const struct cluster *cluster, const char *path, struct error *err);

/* Returns the sum of the slots of all machines. */
int64_t cluster_slots(const struct cluster *cluster);

#endif
