/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects the pairs of hosts that probe each other; the list of a host contains the hosts that it probes. Hosts of the
 * same rack always probe each other. From one rack to another, only a few pairs of hosts probe at a time. With `pods`,
 * the pairs between racks of different pods are selected from pod to pod instead. A group is a rack or a pod.
 * mesh_plan_rotate() advances to the next pairs between groups, so that every pair of hosts is probed within the
 * budget's refresh time. A full cycle is planned for half of this time; the other half is a reserve for pairs that a
 * cap postpones and for groups that grow. As in Pingmesh (Guo et al., SIGCOMM 2015, section 3.3.1), the hosts of a rack
 * form a complete graph, and so do the racks.
 *
 * A session is an entry of a host's list: the host sends one probe per interval to the other host. Caps are in probes
 * per second; the link of a rack carries the sessions from and to the rack.
 *
 * Between rotations, lists change only when hosts join, leave or are drained. Hosts keep their numbers. Pure: no I/O,
 * no clock. One thread.
 */
#ifndef MESH_PLAN_H
#define MESH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <model/cluster.h>
#include <model/latency_matrix.h>
#include <model/peers.h>

enum { MESH_PLAN_NAME_BYTES = 64, MESH_PLAN_HOSTS_MAXIMUM = 1 << 20, MESH_PLAN_GROUPS_MAXIMUM = 1 << 12 };

struct mesh_budget {
	double interval_s; /* between the probes of a session */
	/* Limits (0 = none) of the probes sent by a host, answered by a host, and carried by a rack's link. */
	double host_pps, reflector_pps, link_pps;
	double epoch_s;   /* from one rotation to the next */
	double refresh_s; /* every pair of hosts is probed within this time */
	bool pods; /* for racks of different pods, pairs are planned between their pods instead of between the racks */
};

struct mesh_plan;

struct mesh_plan *mesh_plan_create(void); /* NULL: out of memory */
void mesh_plan_destroy(struct mesh_plan *plan);

/*
 * Adds a host, or reactivates a drained one. The lists of the hosts of its rack change at once, other lists with the
 * next rotation. Returns the host's number, or -errno with err set:
 *   - EINVAL: a name is invalid, the host is known in another rack, or the rack is in another pod
 *   - ENOSPC: there are too many hosts, racks or pods
 */
int64_t mesh_plan_join(struct mesh_plan *plan, const char *name, const char *rack, const char *pod, struct error *err);
/* Removes the host from all lists. The host keeps its number, and mesh_plan_join() reactivates it. */
void mesh_plan_drain(struct mesh_plan *plan, uint32_t host);
void mesh_plan_leave(struct mesh_plan *plan, uint32_t host); /* removes the host; its number becomes free */

/*
 * Selects the next pairs of hosts between the groups. Returns 0; -ENOMEM; or -ERANGE with err set if the budget is too
 * small. err then names a sufficient budget, and the plan is unchanged.
 */
int mesh_plan_rotate(struct mesh_plan *plan, const struct mesh_budget *budget, struct error *err);

uint32_t mesh_plan_hosts(const struct mesh_plan *plan); /* all numbers of hosts are below this; some may be unused */
const char *mesh_plan_name(const struct mesh_plan *plan, uint32_t host); /* NULL = the number is unused */
const char *mesh_plan_rack(const struct mesh_plan *plan, uint32_t host);
int64_t mesh_plan_find(const struct mesh_plan *plan, const char *name); /* -ENOENT */

/*
 * Writes the hosts that `host` probes, unordered, to peers[], which must have room for mesh_plan_hosts() numbers.
 * Returns the number of hosts.
 */
size_t mesh_plan_list(const struct mesh_plan *plan, uint32_t host, uint32_t *peers);

/* The load of the plan, as numbers of sessions unless noted. */
struct mesh_plan_load {
	uint64_t epoch; /* number of rotations so far */
	uint32_t hosts, drained, racks, pods;
	uint64_t in_racks, between;
	uint64_t deferred;                             /* number of pairs that a cap postponed in the last rotation */
	uint32_t host_most, reflector_most, link_most; /* the most sessions that a host sends, that a host answers, and
							  that a rack's link carries */
};
struct mesh_plan_load mesh_plan_load(const struct mesh_plan *plan);
/*
 * Show the load in probes per second: as three lines of text, and as nomora.mesh_plan_load/1 (NULL if out of memory).
 */
void mesh_plan_load_print(const struct mesh_plan_load *load, const struct mesh_budget *budget, FILE *out);
json_t *mesh_plan_load_to_json(const struct mesh_plan_load *load, const struct mesh_budget *budget);

/* Returns the plan, including the state of its rotation, as nomora.mesh_plan/1, or NULL if out of memory. */
json_t *mesh_plan_to_json(const struct mesh_plan *plan);
/* `name`: file name, for messages. Returns NULL with err set. */
struct mesh_plan *mesh_plan_from_json(const char *name, const json_t *root, struct error *err);

/* The files of a plan: reads the list of hosts into the plan, and writes a list of peers for each host. */

/*
 * Removes the hosts of the plan that are not among the peers, and adds the peers that are not in the plan. Rack and pod
 * of a host are from the cluster if it contains the host; otherwise the rack is from the peer, and there is no pod.
 * cluster may be NULL. Drains hosts whose status in the live matrix is not active (live NULL: drains none). Returns 0,
 * or -errno with err set.
 */
int mesh_plan_follow(struct mesh_plan *plan, const struct peers *peers, const struct cluster *cluster,
		     const struct latency_matrix *live, struct error *err);

/* Reads the plan; if there is no such file, the plan is empty. Returns NULL with err set. */
struct mesh_plan *mesh_plan_read(const char *path, struct error *err);
int mesh_plan_write(const struct mesh_plan *plan, const char *path, struct error *err);

/*
 * Writes a file FOLDER/HOST.peers for every host, with the host itself and its peers. Creates the folder. Returns 0, or
 * -errno with err set.
 */
int mesh_plan_write_lists(const struct mesh_plan *plan, const struct peers *peers, const char *folder,
			  struct error *err);

#endif
