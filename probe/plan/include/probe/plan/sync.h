/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a plan: reads the list of hosts into the plan, and writes a list of peers for each host. */
#ifndef MESH_PLAN_SYNC_H
#define MESH_PLAN_SYNC_H

#include <model/cluster.h>
#include <model/latency_matrix.h>
#include <model/peers.h>
#include <probe/plan/plan.h>

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
