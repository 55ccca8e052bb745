/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups are racks and pods. Each host of a group has a place in it. When a host leaves, its place stays empty, so that
 * the other hosts keep their places. A cursor visits all pairs of places of two groups with a and b places: step number
 * q a + m is the pair of places (m + shift) mod a and (m + q + shift') mod b. It visits each pair once in a * b steps.
 * The shifts spread the sessions between different groups over the hosts.
 */
#ifndef MESH_PLAN_PRIV_H
#define MESH_PLAN_PRIV_H

#include <base/hash_table.h>
#include <probe/plan/plan.h>

#define PLAN_NONE UINT32_MAX

enum plan_state { PLAN_FREE, PLAN_ACTIVE, PLAN_DRAINED };

struct plan_host {
	char name[MESH_PLAN_NAME_BYTES];
	uint32_t rack;
	enum plan_state state;
};

struct plan_group {
	char name[MESH_PLAN_NAME_BYTES];
	uint32_t pod;     /* only for a rack: number of its pod */
	uint32_t *places; /* [capacity] number of the host in each place, or PLAN_NONE */
	uint32_t capacity, active;
};

struct plan_cursor {
	uint32_t turn, step; /* q and m */
};

struct plan_groups {
	struct plan_group *items;
	size_t count, capacity;
	struct plan_cursor *cursors; /* [from * cursor_side + to], by the numbers of the groups */
	size_t cursor_side;
};

struct plan_session {
	uint32_t from, to;
};

struct mesh_plan {
	struct plan_host *hosts;
	size_t host_count, host_capacity;
	struct hash_table names;
	struct plan_groups racks, pods;
	struct plan_session *sessions; /* between groups; sorted by `from` after a rotation */
	size_t session_count, session_capacity;
	uint64_t epoch, deferred;
};

/*
 * Returns the number of the group with this name, which is added if it is new. Or returns -EINVAL if the name is
 * invalid or the rack is in another pod, -ENOSPC if there are too many groups, or -ENOMEM.
 */
int64_t plan_add_group(struct plan_groups *groups, const char *name, uint32_t pod);
/*
 * Puts the host into this place of the group or, if place is PLAN_NONE, into the first empty place. Returns 0 or
 * -ENOMEM.
 */
int plan_take_place(struct plan_group *group, uint32_t host, uint32_t place);
int64_t plan_add_host(struct mesh_plan *plan, const char *name, uint32_t rack);
int plan_add_session(struct mesh_plan *plan, struct plan_session session);

static inline bool plan_is_active(const struct mesh_plan *plan, uint32_t host)
{
	return host != PLAN_NONE && plan->hosts[host].state == PLAN_ACTIVE;
}

#endif
