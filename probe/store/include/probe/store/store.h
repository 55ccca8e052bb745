/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The history of a mesh: an SQLite file with the figures of pairs of hosts and of pairs of racks over time. Several
 * processes may write it, each in short transactions, and others may read it meanwhile; a row that two of them add is
 * stored once. If a process is killed, its open transaction is lost. One thread per store.
 */
#ifndef MESH_STORE_H
#define MESH_STORE_H

#include <stdbool.h>

#include <base/error.h>
#include <base/ns.h>
#include <model/latency_live.h>
#include <model/latency_series.h>

struct mesh_store;

/*
 * writable: creates the file if there is none. Returns NULL with err set if the file does not exist, is not a history
 * of a mesh, has another version, is damaged, or is locked for longer than 5 s.
 */
struct mesh_store *mesh_store_open(const char *path, bool writable, struct error *err);
void mesh_store_close(struct mesh_store *store); /* NULL is legal */

/*
 * Adds to the history, in one transaction:
 *   - the measured pairs of the live matrix that were updated since the previous call, with the time of the update
 *   - all unreachable pairs, with the time `now`
 *   - the maxima between racks that were updated since the previous call, with the time `now`
 *
 * All calls must pass the same matrix. Returns 0, or -errno with err set if nothing was added: -EBUSY, -ENOSPC, -EIO,
 * or -EINVAL if the file is damaged.
 */
int mesh_store_take(struct mesh_store *store, const struct latency_matrix *live, struct ns now, struct error *err);

/* Removes rows older than these times. Returns 0, or -errno with err set. */
int mesh_store_forget(struct mesh_store *store, struct ns pairs_before, struct ns racks_before, struct error *err);

/*
 * Appends the points of a pair of hosts, or of racks, from `since` on. Returns 0, even if there are none; or -errno
 * with err set, -ENOENT if the history has no host or rack of this name.
 */
int mesh_store_read(struct mesh_store *store, bool racks, const char *from, const char *to, struct ns since,
		    struct latency_series *series, struct error *err);

#endif
