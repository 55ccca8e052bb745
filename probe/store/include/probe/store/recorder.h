/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that periodically adds the rows of a live matrix to a history. If a write fails, this is logged once, and
 * the next period tries again. So a full disk or a locked file leaves a gap, but never a wrong row.
 */
#ifndef MESH_RECORDER_H
#define MESH_RECORDER_H

#include <base/error.h>
#include <base/ns.h>
#include <base/options.h>

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
