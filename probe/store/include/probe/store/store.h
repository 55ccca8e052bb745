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
#include <base/options.h>
#include <model/latency_live.h>
#include <model/latency_table.h>

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

/*
 * A thread that periodically adds the rows of a live matrix to a history. If a write fails, this is logged once, and
 * the next period tries again. So a full disk or a locked file leaves a gap, but never a wrong row.
 */

struct mesh_recorder_options {
	const char *live_path, *store_path;
	double every_s, keep_pairs_days, keep_racks_days;
};

extern const struct mesh_recorder_options mesh_recorder_defaults;

/* Option rows of commands whose settings have this struct as `member`. */
#define MESH_RECORDER_ROWS(type, member)                                                                               \
	OPTION_STRING(type, member.store_path, "history", 0, "FILE",                                                   \
		      "add the figures to this history (SQLite), for 'nomora mesh history'"),                          \
		OPTION_DOUBLE(type, member.every_s, "history-every", 0, "S", 0.1, 86400,                               \
			      "time between two additions to the history"),                                            \
		OPTION_DOUBLE(type, member.keep_pairs_days, "keep-pairs", 0, "DAYS", 0.0001, 36500,                    \
			      "remove figures of pairs of hosts from the history after this time"),                    \
		OPTION_DOUBLE(type, member.keep_racks_days, "keep-racks", 0, "DAYS", 0.0001, 36500,                    \
			      "remove figures of pairs of racks from the history after this time")

struct mesh_recorder;

/* Borrows the texts of the options. Returns NULL with err set if the matrix or the history cannot be opened. */
struct mesh_recorder *mesh_recorder_start(const struct mesh_recorder_options *options, struct error *err);
/* Adds the newest rows, unless rows were added in this period already, and stops the thread. NULL is legal. */
void mesh_recorder_stop(struct mesh_recorder *recorder);

#endif
