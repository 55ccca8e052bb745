/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's state in an SQLite file (WAL, synchronous = FULL). Only one process can use the file at a time: SQLite
 * locks it (locking_mode = EXCLUSIVE). Times are wall clock seconds. Private.
 */
#ifndef SCHED_SCHEDD_STORE_H
#define SCHED_SCHEDD_STORE_H

#include <sched/live/live.h>

struct store;

/*
 * Opens a state; creates it if absent. On failure returns NULL with err set. EBUSY: another daemon uses the file;
 * EINVAL: the file is damaged, is not a state of nomora schedd, or has another version.
 */
struct store *store_open(const char *path, struct error *err);
struct store *store_open_old(const char *path, struct error *err); /* fails if it is absent */

struct store_salvaged {
	char aside[4096]; /* the damaged file's new name */
	uint64_t machines, curves, jobs, tasks;
	uint64_t dropped; /* rows with a wrong checksum, and rows that cannot be loaded; each is logged */
};
/*
 * Renames a state that cannot be opened and creates a new one from those of its rows that are readable, have the right
 * checksum and can be loaded. Returns 0 or -errno with err set; the file then keeps its name. -EINVAL: there is neither
 * a machine nor a job among these rows.
 */
int store_salvage(const char *path, struct store_salvaged *salvaged, struct error *err);
void store_close(struct store *store); /* NULL is legal */

/* The first write begins a transaction; later writes join it until store_commit(). */
void store_put_machine(struct store *store, const char *name, const char *rack, const char *pod, uint32_t slots,
		       const char *state);
void store_remove_machine(struct store *store, const char *name);
void store_put_default_rtt(struct store *store, const struct cluster_default_rtt *rtt);
void store_put_curve(struct store *store, const char *name, const char *text);
void store_put_job(struct store *store, const char *id, const char *line, uint32_t owner, bool may_move,
		   double restart_s); /* < 0: the job has no value of its own */
/* Writes the changed tasks of a job. offset_s: wall clock minus the clock of live. */
void store_put_tasks(struct store *store, const struct live *live, const struct live_job *job, double offset_s);
void store_remove_job(struct store *store, const char *id);
void store_put_decision(struct store *store, const struct live_decision *decision, double offset_s);

/*
 * Adds lines to the journal (nomora.journal/1). at_s: the present time, by which store_cut_journal() selects lines.
 * checkpoint_origin_s: the journal's origin, the wall clock time of its first second, if the lines are a checkpoint;
 * else 0. A checkpoint contains the whole state, so that older lines can be removed.
 */
void store_put_journal(struct store *store, double at_s, double checkpoint_origin_s, const char *lines);
/*
 * Removes the decisions before before_s, except the last decision, and the journal lines before the last checkpoint
 * that is older than before_s.
 */
void store_cut_journal(struct store *store, double before_s);
/* Gets the wall clock time of the journal's origin (0: there is no journal) and of the end of its last second. */
void store_journal_range(struct store *store, double *origin_s, double *last_s);
/*
 * Returns a page of the journal of about bytes_most bytes: the lines after row number `after` (0: from the first row
 * on). *next is the value of `after` for the next page; at the end, it equals `after`. The caller frees the page; NULL:
 * out of memory.
 */
char *store_journal_page(struct store *store, uint64_t after, size_t bytes_most, uint64_t *next);

/*
 * Calls each() for at most `most` decisions about a task, the latest first, with the wall clock time of each. The
 * strings are valid only during the call.
 */
void store_each_decision(struct store *store, const char *job, const char *task, int most,
			 void (*each)(void *context, const struct live_decision *decision, double wall_s),
			 void *context);

/* Out of memory: the next store_commit() fails, so that the whole transaction is undone. */
void store_give_up(struct store *store);
/* True if there is something to commit. */
bool store_pending(const struct store *store);
/* Returns 0, or -errno with err set: then the whole transaction is undone. */
int store_commit(struct store *store, struct error *err);

/* Returns the line with which a job was submitted; the caller frees. NULL: no such job. */
char *store_job_line(struct store *store, const char *id);

/* Reads the stored default round trips; *rtt is unchanged if there are none. 0 or -errno with err set. */
int store_load_default_rtt(struct store *store, struct cluster_default_rtt *rtt, struct error *err);

/* Loads the stored machines, curves and jobs into an empty live state. 0 or -errno with err set. */
int store_load(struct store *store, struct live *live, double offset_s, double now_s, struct error *err);
/* As store_load(), but logs, counts and removes rows that cannot be loaded. */
int store_load_readable(struct store *store, struct live *live, uint64_t *dropped, struct error *err);

#endif
