/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scheduler daemon: sched/live behind an HTTP API, with its state in SQLite and the mesh from shared memory or a
 * CSV file.
 *
 * A change is acknowledged only after it is committed and synced. The requests of one turn of the loop that change
 * something are applied, written in one transaction, and answered after its commit. If the store fails (a full disk,
 * for example), the daemon reads the stored state back, which undoes the changes, and their callers get 503.
 *
 * API, JSON unless said otherwise. Admins are root, the daemon's own user, members of the admin group, and clients with
 * the TCP token.
 *
 *   POST   /v1/jobs?move=1      lines of jobs.jsonl; for a known id: 200 if the line is the same, else 409
 *   GET    /v1/jobs[/ID]        all jobs, one job with its tasks
 *   DELETE /v1/jobs/ID          cancels the job; its owner or admins
 *   GET    /v1/machines         with slots, tasks, state
 *   PUT    /v1/machines/NAME    {"rack", "pod", "slots", "state"}; admins
 *   DELETE /v1/machines/NAME    admins
 *   PUT    /v1/curves/NAME      nomora.curve/1; adds or replaces it, also while jobs use it; admins
 *   GET    /v1/curves           names
 *   GET    /v1/decisions?after=N[&wait=1]   those numbered above N; with wait, waits up to 25 s if there are none
 *   POST   /v1/events           lines {"event": "started"|"ended"|"failed", "job", "task", "machine"}; admins
 *   POST   /v1/flows            lines {"job", "from", "to", "MB"}, sent since both tasks began to run; admins
 *   GET    /v1/explain/JOB/TASK candidates with round trip, origin, performance; why the task waits
 *   POST   /v1/what-if          {"changes": [TEXT...], "jobs": LINES, "move", "within_s"}: forecasts the decisions; see
 *                               <sched/live/change.h> for the texts
 *   POST   /v1/jobs?dry_run=1   lines of jobs.jsonl: forecasts the decisions, as what-if does, without adding the jobs
 *   POST   /v1/changes          {"changes": [TEXT...]}: makes them; admins
 *   GET    /v1/journal?after=N  {"next", "lines"}: a part of the journal (nomora.journal/1), until next = N; admins
 *   GET    /v1/openapi.json     the API as OpenAPI 3.1
 *   GET    /metrics             OpenMetrics text
 *   GET    /healthz             "ok", or 503 with the reason
 *
 * A forked child computes forecasts on its copy of the state, while rounds go on.
 *
 * The daemon has one thread.
 */
#ifndef SCHED_SCHEDD_SCHEDD_H
#define SCHED_SCHEDD_SCHEDD_H

#include <stdio.h>

#include <base/options.h>
#include <sched/live/live.h>
#include <sched/migration/migration.h>

struct schedd_options {
	struct live_settings live;
	const char *state;       /* SQLite file, created if absent */
	bool salvage;            /* a damaged file is renamed, and its readable part recovered */
	bool standby;            /* waits while another daemon uses the state */
	const char *admin_group; /* the members of this group are admins, too; NULL: none */
	uint32_t user_tasks;  /* maximum number of tasks in the unfinished jobs of a user, except admins; 0: no limit */
	uint32_t connections; /* maximum number at a time */
	const char *socket;   /* unix socket; NULL: serve on TCP */
	const char *address;  /* address to serve on if `socket` is NULL, with port and token */
	uint16_t port;
	const char *token;
	const char *extender_address; /* Kubernetes' extender; NULL: none */
	uint16_t extender_port;
	const char *extender_token; /* NULL: any client that can connect may ask */
	const char *cluster;        /* nomora.cluster/1, read at the start; NULL: none */
	const char *curves;         /* folder of curves, read at the start; NULL: none */
	const char *default_curves; /* read instead if `curves` is NULL and the state has no curves; NULL: none */
	const char *latency; /* the mesh: a live matrix, or CSV, read again whenever it is replaced; NULL: none */
	const char *network; /* the machines' links, for recovery, as recovery_network_read() reads; NULL: none */
	double link_MBps;    /* of links of unknown speed */
	enum latency_statistic statistic;
	struct windows windows; /* hours of the day at which tasks may move */
	double journal_days;    /* age, in days, at which journal lines are removed */
	bool journal_brief;     /* leaves out round trips and calls; a replay then cannot repeat the decisions */
	uint32_t round_ms;      /* minimum time between rounds, in milliseconds */
};

struct schedd;

/*
 * Opens and reads the state. Returns NULL with err set on failure. EBUSY: another daemon uses the state. With
 * options->standby, waits until that daemon has ended, and answers requests with status 421 meanwhile; ECANCELED: *stop
 * was set while it waited.
 */
struct schedd *schedd_create(const struct schedd_options *options, const volatile int *stop, struct error *err);
void schedd_destroy(struct schedd *schedd); /* NULL is legal */
uint16_t schedd_port(const struct schedd *schedd);
uint16_t schedd_extender_port(const struct schedd *schedd); /* 0: no extender */

/* Serves until *stop is set (by a signal handler). 0 or -errno with err set. */
int schedd_run(struct schedd *schedd, const volatile int *stop, struct error *err);

/* Prints the journal of a state that no daemon uses. 0 or -errno with err set. */
int schedd_export(const char *state, FILE *out, struct error *err);

/*
 * The daemon's command line: a table of options, which fills struct schedd_settings, and the conversion of these
 * settings to struct schedd_options.
 */

struct schedd_settings {
	const char *state, *socket, *listen, *token_file, *extender, *extender_token_file, *cluster, *curves, *latency,
		*network;
	int statistic, policy, weights;
	struct migration_settings moves;
	const char *windows, *admin_group;
	int64_t user_tasks, connections;
	bool salvage, standby;
	int64_t round_ms, attempts;
	double journal_days, start_timeout_s, retry_s, max_age_s, omega_per_s, beta_per_s, link_MBps;
	int64_t recovery_ms, recovery_hold_ms;
	bool require_measured, no_executor, gap, journal_brief;
};

extern const struct option_row schedd_option_rows[];

/*
 * Sets the defaults of all settings except `socket`, which the caller sets. Call it before using the option rows: it
 * fills in the names of the policies.
 */
void schedd_settings_default(struct schedd_settings *settings);

/* The daemon's options, and the memory to which they point. */
struct schedd_setup {
	struct schedd_options options;
	char address[64], extender[64];
	char *token, *extender_token;
};
/*
 * Converts the settings to options without reading any file. Returns 0, or -EINVAL with err set if a setting is bad.
 */
int schedd_setup_read(const struct schedd_settings *settings, struct schedd_setup *setup, struct error *err);
/* Reads the tokens if there are any. 0 or -errno with err set. */
int schedd_setup_read_token(const struct schedd_settings *settings, struct schedd_setup *setup, struct error *err);
void schedd_setup_free(struct schedd_setup *setup);

#endif
