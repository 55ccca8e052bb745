/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the journal (nomora.journal/1). Events are collected as text until they are committed with the state. Private.
 */
#ifndef SCHED_SCHEDD_RECORD_H
#define SCHED_SCHEDD_RECORD_H

#include <sched/live/live.h>

#include "store.h"

struct record;

/*
 * Continues the journal of the store. days: age in days at which lines are removed; default_rtt: the default round
 * trips for the journal's header. Returns NULL if out of memory.
 */
struct record *record_create(struct store *store, double days, const struct cluster_default_rtt *default_rtt);
void record_destroy(struct record *record); /* NULL is legal */

void record_machine(struct record *record, const struct live *live, uint32_t number);
void record_machine_removed(struct record *record, const char *name, const char *rack);
void record_curve(struct record *record, const char *name, const char *text);
void record_job(struct record *record, const struct live_job *job);
/* Records the changed tasks of a job; with is_gone, records the end of all tasks of the removed job. */
void record_tasks(struct record *record, const struct live *live, const struct live_job *job, bool is_gone);
void record_decision(struct record *record, const struct live_decision *decision);
/* The callbacks measured() and called() of struct live_settings. */
void record_latency(void *record, const struct live *live, const struct latency_sample *samples, size_t count);
void record_call(void *record, const char *call);
/* If the journal is new, records the state read from the store as its beginning. Call it before any event. */
void record_state(struct record *record, const struct live *live);

/*
 * Adds the collected events to the store's transaction; call it before the commit. After a failed commit, create the
 * record again. Once a day, adds a checkpoint and removes old lines.
 */
void record_put(struct record *record, struct store *store, const struct live *live);

#endif
