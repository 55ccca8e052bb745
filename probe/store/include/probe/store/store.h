/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The history of a mesh: an SQLite file with the figures of pairs of hosts and of pairs of racks in time. Several
 * processes may write it, each in short transactions, and read it meanwhile; a row seen by two of them is stored once.
 * A killed process loses its open transaction. One thread per store.
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
 * To write (creates it) or to read. NULL with err set: no such file, no history of a mesh, another version, damaged,
 * locked for longer than 5 s.
 */
struct mesh_store *mesh_store_open(const char *path, bool writable, struct error *err);
void mesh_store_close(struct mesh_store *store); /* NULL is legal */

/*
 * Adds what is new in the live matrix since the last time (which must be the same matrix), in one transaction: pairs,
 * unreachable ones at `now`, and the maxima between racks at `now`. 0, or -errno with err set (EBUSY, ENOSPC, EINVAL:
 * damaged, EIO): nothing was added.
 */
int mesh_store_take(struct mesh_store *store, const struct latency_matrix *live, struct ns now, struct error *err);

/* Removes older rows. 0 or -errno with err set. */
int mesh_store_forget(struct mesh_store *store, struct ns pairs_before, struct ns racks_before, struct error *err);

/*
 * Appends the points of two hosts, or racks, from `since` on. 0 (also when there are none), -ENOENT with err set: a
 * name that the history does not have; -EIO, -EINVAL, -ENOMEM.
 */
int mesh_store_read(struct mesh_store *store, bool racks, const char *from, const char *to, struct ns since,
		    struct latency_series *series, struct error *err);

#endif
