/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state in SQLite (WAL, synchronous = FULL). One process at a time: the file is locked (locking_mode = EXCLUSIVE).
 * Times are wall clock seconds. Private.
 */
#ifndef SCHED_SCHEDD_STORE_H
#define SCHED_SCHEDD_STORE_H

#include <sched/live/live.h>

struct store;

/* NULL with err set: EBUSY (another daemon), EINVAL (not a state of ours, or of a newer version), others. */
struct store *store_open(const char *path, struct error *err);
void store_close(struct store *store); /* NULL is legal */

/* Writes join the transaction that the first of them opens. */
void store_put_machine(struct store *store, const char *name, const char *rack, const char *pod, uint32_t slots,
		       const char *state);
void store_remove_machine(struct store *store, const char *name);
void store_put_curve(struct store *store, const char *name, const char *text);
void store_put_job(struct store *store, const char *id, const char *line, uint32_t owner, bool may_move);
/* The tasks of a job; offset_s: wall clock minus the clock of live. */
void store_put_tasks(struct store *store, const struct live *live, const struct live_job *job, double offset_s);
void store_remove_job(struct store *store, const char *id);
void store_put_decision(struct store *store, const struct live_decision *decision, double offset_s);

/* Is there something to commit? */
bool store_pending(const struct store *store);
/* 0, or -errno with err set: nothing of the transaction is kept. */
int store_commit(struct store *store, struct error *err);

/* The line that a job was submitted with; the caller frees. NULL: none. */
char *store_job_line(struct store *store, const char *id);

/* Puts all that is stored into an empty live state. 0 or -errno with err set. */
int store_load(struct store *store, struct live *live, double offset_s, double now_s, struct error *err);

#endif
