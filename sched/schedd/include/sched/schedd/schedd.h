/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scheduler's daemon: sched/live behind an HTTP API, with its state in SQLite and the mesh from shared memory or
 * a CSV file.
 *
 * Acknowledged changes are committed and synced: requests that change something are applied, written in one transaction
 * with the others of the same turn, and answered after the commit. When the store fails (a full disk), the changes are
 * undone by reading the state back, and their callers get 503.
 *
 * API, JSON unless said otherwise. Admins are root, the daemon's own user, members of the admin group, and clients with
 * the TCP token.
 *
 *   POST   /v1/jobs?move=1      lines of jobs.jsonl; the same id and line again: the same answer, another line: 409
 *   GET    /v1/jobs[/ID]        all jobs, one job with its tasks
 *   DELETE /v1/jobs/ID          cancels; its owner or an admin
 *   GET    /v1/machines         with slots, tasks, state
 *   PUT    /v1/machines/NAME    {"rack", "pod", "slots", "state"}; admins
 *   DELETE /v1/machines/NAME    admins
 *   PUT    /v1/curves/NAME      nomora.curve/1; replaces it while jobs run; admins
 *   GET    /v1/curves           names
 *   GET    /v1/decisions?after=N[&wait=1]   above N; with wait the answer comes with the next one, or after 25 s
 *   POST   /v1/events           lines {"event": "started"|"ended"|"failed", "job", "task", "machine"}; admins
 *   GET    /v1/explain/JOB/TASK candidates with round trip, origin, performance; why it waits
 *   POST   /v1/what-if          {"changes": [TEXT...], "jobs": LINES, "move", "within_s"}: what would follow; see
 *                               <sched/live/change.h> for the texts
 *   POST   /v1/jobs?dry_run=1   the same for jobs
 *   POST   /v1/changes          {"changes": [TEXT...]}: makes them; admins
 *   GET    /v1/journal?after=N  {"next", "lines"}: a part of the journal (nomora.journal/1), until next stays; admins
 *   GET    /metrics             OpenMetrics text
 *   GET    /healthz             "ok", or 503 with the reason
 *
 * A forked child computes forecasts on its copy of the state, while rounds go on.
 *
 * One thread.
 */
#ifndef SCHED_SCHEDD_SCHEDD_H
#define SCHED_SCHEDD_SCHEDD_H

#include <stdio.h>

#include <sched/live/live.h>
#include <sched/schedd/windows.h>

struct schedd_options {
	struct live_settings live;
	const char *state;       /* SQLite file, created if absent */
	bool salvage;            /* a damaged file is renamed, and its readable part recovered */
	const char *admin_group; /* group whose members are admins, too; NULL */
	uint32_t user_tasks;     /* maximum tasks in jobs that have not ended, per user who is no admin; 0: no limit */
	uint32_t connections;    /* at once */
	const char *socket;      /* unix socket, or: */
	const char *address;     /* with port and token */
	uint16_t port;
	const char *token;
	const char *extender_address; /* Kubernetes' extender, open to any client that can connect; NULL: none */
	uint16_t extender_port;
	const char *cluster;        /* nomora.cluster/1, read at the start; NULL */
	const char *curves;         /* folder of curves, read at the start; NULL: */
	const char *default_curves; /* the same for a state without curves; NULL */
	const char *latency;        /* the mesh: a live matrix, or CSV, read again whenever it is replaced; NULL */
	enum latency_statistic statistic;
	struct windows windows; /* of moves */
	double journal_days;    /* how long the journal is kept */
	bool journal_brief;     /* without round trips and calls, so that decisions cannot be repeated from it */
	uint32_t round_ms;      /* at most one round per this time, in milliseconds */
};

struct schedd;

/* Opens and reads the state. NULL with err set; EBUSY: another daemon uses it. */
struct schedd *schedd_create(const struct schedd_options *options, struct error *err);
void schedd_destroy(struct schedd *schedd); /* NULL is legal */
uint16_t schedd_port(const struct schedd *schedd);
uint16_t schedd_extender_port(const struct schedd *schedd); /* 0: no extender */

/* Serves until *stop is set (by a signal handler). 0 or -errno with err set. */
int schedd_run(struct schedd *schedd, const volatile int *stop, struct error *err);

/* Prints the journal of a state that no daemon uses. 0 or -errno with err set. */
int schedd_export(const char *state, FILE *out, struct error *err);

#endif
