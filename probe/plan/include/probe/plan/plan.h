/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the pairs of hosts that probe each other. Hosts of a rack always do. Between racks (or, with `pods`, between
 * pods for racks of different pods) each ordered pair of groups has a few pairs of hosts at a time; mesh_plan_rotate()
 * moves on to the next ones, so that every pair of hosts is probed within the budget's refresh time. A cycle is planned
 * for half of it; the other half is for pairs that a cap postpones and for groups that grow. As in Pingmesh (Guo et
 * al., SIGCOMM 2015, section 3.3.1) a rack is a complete graph of its hosts and racks are a complete graph.
 *
 * A session is a list's entry: one host probes another, a probe per interval. Caps are counted in probes a second; a
 * rack's link carries the sessions from and to the rack.
 *
 * Between rotations a list changes only by the hosts that join, leave or are drained. Hosts keep their numbers. Pure:
 * no I/O, no clock. One thread.
 */
#ifndef MESH_PLAN_H
#define MESH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>

enum { MESH_PLAN_NAME_BYTES = 64, MESH_PLAN_HOSTS_MAXIMUM = 1 << 20, MESH_PLAN_GROUPS_MAXIMUM = 1 << 12 };

struct mesh_budget {
	double interval_s; /* between the probes of a session */
	/* Limits, 0 = none: probes sent by a host, answered by a host, through a rack's link. */
	double host_pps, reflector_pps, link_pps;
	double epoch_s;   /* between rotations */
	double refresh_s; /* every pair of hosts is probed within this time */
	bool pods;        /* between pods, plan by pairs of pods instead of pairs of racks */
};

struct mesh_plan;

struct mesh_plan *mesh_plan_create(void); /* NULL: out of memory */
void mesh_plan_destroy(struct mesh_plan *plan);

/*
 * Adds a host, or reactivates a known one that was drained. Returns its number; -EINVAL: an invalid name, or a known
 * host in another rack, or a rack in another pod; -ENOSPC; -ENOMEM. Its rack's lists change at once, others with the
 * rotation.
 */
int64_t mesh_plan_join(struct mesh_plan *plan, const char *name, const char *rack, const char *pod, struct error *err);
/* Removes the host from all lists; it keeps its place. */
void mesh_plan_drain(struct mesh_plan *plan, uint32_t host);
void mesh_plan_leave(struct mesh_plan *plan, uint32_t host); /* its number is free */

/*
 * Chooses the next pairs between groups. 0; -ENOMEM; -ERANGE with err set: the budget is too small, err has one that
 * suffices; then nothing has changed.
 */
int mesh_plan_rotate(struct mesh_plan *plan, const struct mesh_budget *budget, struct error *err);

uint32_t mesh_plan_hosts(const struct mesh_plan *plan);                  /* numbers below this; some may be free */
const char *mesh_plan_name(const struct mesh_plan *plan, uint32_t host); /* NULL = free */
const char *mesh_plan_rack(const struct mesh_plan *plan, uint32_t host);
int64_t mesh_plan_find(const struct mesh_plan *plan, const char *name); /* -ENOENT */

/* The hosts that `host` probes, in no order; how many. `peers` holds mesh_plan_hosts() numbers. */
size_t mesh_plan_list(const struct mesh_plan *plan, uint32_t host, uint32_t *peers);

/* The load of the plan, in sessions. */
struct mesh_plan_load {
	uint64_t epoch; /* rotations so far */
	uint32_t hosts, drained, racks, pods;
	uint64_t in_racks, between;
	uint64_t deferred;                             /* pairs that a cap postponed in the last rotation */
	uint32_t host_most, reflector_most, link_most; /* maxima over the hosts, the reflectors, the racks' links */
};
struct mesh_plan_load mesh_plan_load(const struct mesh_plan *plan);
/* Show the load in probes a second: as three lines, and as nomora.mesh_plan_load/1 (NULL: out of memory). */
void mesh_plan_load_print(const struct mesh_plan_load *load, const struct mesh_budget *budget, FILE *out);
json_t *mesh_plan_load_to_json(const struct mesh_plan_load *load, const struct mesh_budget *budget);

/* The plan with its place in the rotation, nomora.mesh_plan/1. NULL: out of memory. */
json_t *mesh_plan_to_json(const struct mesh_plan *plan);
/* NULL with err set; `name` is the file's. */
struct mesh_plan *mesh_plan_from_json(const char *name, const json_t *root, struct error *err);

#endif
