/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan and its files: reads the list of hosts into the plan, and writes a list of peers for each host. */
#ifndef MESH_PLAN_SYNC_H
#define MESH_PLAN_SYNC_H

#include <model/cluster.h>
#include <model/latency_matrix.h>
#include <model/peers.h>
#include <probe/plan/plan.h>

/*
 * Hosts that are not among the peers leave, others join. Racks and pods are taken from the cluster if it has the host,
 * otherwise the rack from the peer, without pod; cluster may be NULL. Hosts whose status in the live matrix (NULL: none
 * has) is not active are drained. 0 or -errno with err set.
 */
int mesh_plan_follow(struct mesh_plan *plan, const struct peers *peers, const struct cluster *cluster,
		     const struct latency_matrix *live, struct error *err);

/* Reads the plan, which begins without hosts if there is no such file. NULL with err set. */
struct mesh_plan *mesh_plan_read(const char *path, struct error *err);
int mesh_plan_write(const struct mesh_plan *plan, const char *path, struct error *err);

/*
 * Writes FOLDER/HOST.peers for every host: the host itself and its peers. Creates the folder. 0 or -errno with err set.
 */
int mesh_plan_write_lists(const struct mesh_plan *plan, const struct peers *peers, const char *folder,
			  struct error *err);

#endif
