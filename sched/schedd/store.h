/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state in SQLite (WAL, synchronous = FULL). One process at a time: the file is locked (locking_mode = EXCLUSIVE).
 * Times are wall clock seconds. Private.
 */
#ifndef SCHED_SCHEDD_STORE_H
#define SCHED_SCHEDD_STORE_H

#include <sched/live/live.h>

struct store;

/* NULL with err set: EBUSY (used by another daemon), EINVAL (not our state, or of a newer version), others. */
struct store *store_open(const char *path, struct error *err);
struct store *store_open_old(const char *path, struct error *err); /* does not create it */

struct store_salvaged {
	char aside[4096]; /* the damaged file's new name */
	uint64_t machines, curves, jobs, tasks;
};
/* Renames a state that cannot be opened and creates a new one from its readable rows. 0 or -errno with err set. */
int store_salvage(const char *path, struct store_salvaged *salvaged, struct error *err);
void store_close(struct store *store); /* NULL is legal */

/* The first write opens a transaction, which the others join. */
void store_put_machine(struct store *store, const char *name, const char *rack, const char *pod, uint32_t slots,
		       const char *state);
void store_remove_machine(struct store *store, const char *name);
void store_put_default_rtt(struct store *store, const struct cluster_default_rtt *rtt);
void store_put_curve(struct store *store, const char *name, const char *text);
void store_put_job(struct store *store, const char *id, const char *line, uint32_t owner, bool may_move,
		   double restart_s); /* < 0: none of its own */
/* The tasks of a job that changed; offset_s: wall clock minus the clock of live. */
void store_put_tasks(struct store *store, const struct live *live, const struct live_job *job, double offset_s);
void store_remove_job(struct store *store, const char *id);
void store_put_decision(struct store *store, const struct live_decision *decision, double offset_s);

/*
 * Lines of the journal (nomora.journal/1). A checkpoint, which has the journal's origin, is the whole state: older
 * lines may go.
 */
void store_put_journal(struct store *store, double at_s, double checkpoint_origin_s, const char *lines);
/* Removes decisions that are older, and journal lines before the last checkpoint that is older. */
void store_cut_journal(struct store *store, double before_s);
/* The journal's origin (0: there is none) and the end of its last second. */
void store_journal_range(struct store *store, double *origin_s, double *last_s);
/*
 * A page of about bytes_most bytes: the lines after row `after` (0: from the first). *next is `after` for the next
 * page, unchanged at the end. The caller frees; NULL: out of memory.
 */
char *store_journal_page(struct store *store, uint64_t after, size_t bytes_most, uint64_t *next);

/* Calls each() for the last decisions about a task, the latest first, with their wall clock time; strings are lent. */
void store_each_decision(struct store *store, const char *job, const char *task, int most,
			 void (*each)(void *context, const struct live_decision *decision, double wall_s),
			 void *context);

/* True if there is something to commit. */
bool store_pending(const struct store *store);
/* 0, or -errno with err set: nothing of the transaction is kept. */
int store_commit(struct store *store, struct error *err);

/* The line with which a job was submitted; the caller frees. NULL: none. */
char *store_job_line(struct store *store, const char *id);

/* The stored default round trips; *rtt stays as it is if there are none. 0 or -errno with err set. */
int store_load_default_rtt(struct store *store, struct cluster_default_rtt *rtt, struct error *err);

/* Puts all that is stored into an empty live state. 0 or -errno with err set. */
int store_load(struct store *store, struct live *live, double offset_s, double now_s, struct error *err);

#endif
