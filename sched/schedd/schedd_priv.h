/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon: its journal, its reader of the mesh, forecasts, and its answers over HTTP. */
#ifndef SCHEDD_SCHEDD_PRIV_H
#define SCHEDD_SCHEDD_PRIV_H

#include <jansson.h>
#include <poll.h>
#include <stdint.h>
#include <sys/types.h>

#include <base/error.h>
#include <base/ns.h>
#include <sched/live/live.h>
#include <sched/schedd/schedd.h>
#include <serve/serve.h>

#include "store.h"

/*
 * Writes the journal (nomora.journal/1). Events are collected as text until they are committed with the state. Private.
 */

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

/*
 * The daemon's reader of the mesh, the matrix of measured round trips between the machines. A window is the set of
 * measurements of one publication of this matrix: a new CSV file, or an update of the live matrix in shared memory; a
 * row is the measurement of one pair. Private.
 */

struct mesh;

/* Returns NULL if out of memory. `path`, of the CSV file or the live matrix, is borrowed. */
struct mesh *mesh_create(const char *path, enum latency_statistic statistic);
void mesh_destroy(struct mesh *mesh); /* NULL is legal */

/*
 * Looks for a new window if it is time, and reads at most SLICE rows of a window. Returns the time at which to call it
 * again, on the clock of now_s.
 */
double mesh_work(struct mesh *mesh, struct live *live, double now_s);
/* Reads all measurements again. Call it after the live state was replaced. */
void mesh_read_again(struct mesh *mesh);

struct mesh_totals {
	uint64_t reads, errors;
	struct live_matrix_outcome last;
	double age_s; /* seconds since a window with a usable row was read; -1: none yet */
};
struct mesh_totals mesh_totals(const struct mesh *mesh);

/*
 * Forecasts of the effect of changes and jobs: a forked child computes them on its copy of the live state, while the
 * daemon goes on with its rounds. Private.
 */

enum { FORECASTS_MOST = 4 };

/* A forecast in progress, and the request that it will answer. */
struct forecast {
	struct serve_call *call; /* NULL: free entry */
	pid_t child;
	int fd; /* pipe from which the child's answer is read */
	char *text;
	size_t bytes, capacity;
};

/* The changes and jobs of a forecast request; strings are borrowed. */
struct forecast_request {
	const char *const *changes;
	size_t change_count;
	const char *jobs; /* lines of jobs.jsonl; "" = none */
	bool may_move;
	uint32_t owner;
	double within_s;
};

/*
 * Starts a forecast; forecast_read() replies to the call. Returns 0, or -errno with err set; -EAGAIN: too many
 * forecasts, or too little memory.
 */
int forecast_start(struct forecast forecasts[FORECASTS_MOST], struct live *live, const struct forecast_request *request,
		   double now_s, struct serve_call *call, struct error *err);
/* Writes the entries for poll() to `polled`; returns their number. */
size_t forecast_poll(const struct forecast forecasts[FORECASTS_MOST], struct pollfd *polled);
/* Reads available output, without waiting, and replies to finished forecasts. */
void forecast_read(struct forecast forecasts[FORECASTS_MOST]);
void forecast_stop(struct forecast forecasts[FORECASTS_MOST]);

/*
 * Serves Kubernetes' scheduler extender on an address of its own, with a token of its own. Nothing else is served
 * there.
 */

struct schedd;
struct schedd_options;
struct api_extender;

/*
 * Stores the nodes of the jobs' roots in the file STATE.roots, where STATE is options->state. Returns NULL with err set
 * on failure.
 */
struct api_extender *api_extender_create(struct schedd *schedd, const struct schedd_options *options,
					 struct error *err);
void api_extender_destroy(struct api_extender *extender); /* NULL is legal, here and below */

/* Like serve_fd() etc. of <serve/serve.h>. If `extender` is NULL, they return -1, and api_extender_port() returns 0. */
int api_extender_fd(const struct api_extender *extender);
void api_extender_run(struct api_extender *extender);
int api_extender_timeout_ms(struct api_extender *extender);
uint16_t api_extender_port(const struct api_extender *extender);

/* A decision as JSON for the API. Private. */

json_t *decision_json(const struct live_decision *decision);

/*
 * The daemon's fields. api*.c handle the requests, state.c has the live state and its rounds, schedd.c has the loop. A
 * turn is one pass of the loop.
 */

/*
 * struct reply: a reply that is sent after the commit. struct poll_call: a request that waits, at most until until_s,
 * for a decision with a number above `after`.
 */
struct reply {
	struct serve_call *call;
	unsigned status;
	char *text;
};
struct poll_call {
	struct serve_call *call;
	uint64_t after;
	double until_s;
};

/* Number of bounds of the histogram of waiting times, wait_bounds_s[] in metrics.c. */
enum { WAIT_BOUNDS = 10 };

/* Number of points of the chart of tasks over time on the overview page. */
enum { SERIES_POINTS = 720 };
struct series_point {
	double at_s; /* wall clock */
	uint32_t running, waiting, moving;
};

struct schedd {
	struct schedd_options options;
	struct store *store;
	struct live *live;
	struct recovery_scenario *network; /* NULL: no --network */
	struct serve *serve;
	struct ns start; /* time on the monotonic clock at which the clock of `live` has the value 0 */
	struct reply *replies;
	size_t reply_count, reply_capacity;
	struct poll_call *polls;
	size_t poll_count, poll_capacity;
	struct submission *submissions;
	size_t submission_count, submission_capacity;
	uint64_t stored_decision; /* number of the last decision in the store */
	struct forecast forecasts[FORECASTS_MOST];
	struct record *record;
	struct mesh *mesh;             /* NULL: no --latency */
	struct api_extender *extender; /* NULL: no --extender */
	/*
	 * Times on the clock of `live`: of the last round, of the next mesh_work(), and of the next message to
	 * systemd's watchdog. After a failed commit or a stall, last_round_s is SCHEDD_PAUSE_S in the future, so that
	 * rounds wait.
	 */
	double last_round_s, next_mesh_s, next_feed_s, next_check_s;
	/*
	 * For GET /v1/machines?since=: the number of the last change of a machine, and of each machine's last. A client
	 * that has an earlier number than whole_since gets all machines. The numbers begin at the time of the start, so
	 * that those of earlier daemons are smaller.
	 */
	uint64_t machine_version, whole_since, *machine_versions;
	size_t machine_versions_capacity;
	gid_t admin_gid;
	struct series_point series[SERIES_POINTS]; /* a ring */
	size_t series_count; /* number of points sampled so far; the ring keeps the last SERIES_POINTS of them */
	double next_sample_s, overview_s;
	char *overview;    /* JSON of the overview page's figures, computed at overview_s */
	char trouble[256]; /* error text for /healthz; "": healthy */
	uint64_t commits, commit_failures, mismatches;
	double commit_s; /* time spent in commits, seconds */
	/* waits: histogram of the waiting times of placed tasks; placed_by_origin: placed tasks without roots */
	uint64_t waits[WAIT_BOUNDS + 1], placed_by_origin[LATENCY_ORIGIN_SAME_MACHINE + 1];
	double waited_s; /* sum of the waiting times of placed tasks, seconds */
};

extern const struct serve_route schedd_routes[];

/* The current time on the clock of `live`, in seconds. */
static inline double schedd_now_s(const struct schedd *schedd)
{
	return ns_to_s(ns_sub(ns_now_monotonic(), schedd->start));
}

/* After a failed commit, or after the process was stopped for a while, no round runs for this time, in seconds. */
#define SCHEDD_PAUSE_S 1

/*
 * state.c. Opens the store and makes the live state; with `create`, a new one if there is none. 0 or -errno with err
 * set.
 */
int schedd_open_state(struct schedd *schedd, bool create, struct error *err);
/*
 * standby.c. As schedd_open_state(), but if the options ask for a standby and another daemon uses the state, waits
 * until it ends. `serve`: where to answer meanwhile. -ECANCELED: *stop was set.
 */
int schedd_wait_for_state(struct schedd *schedd, const struct serve_options *serve, const volatile int *stop,
			  struct error *err);
/*
 * Once every CHECK_S seconds, compares the tasks with the slots that the network holds for them. After a difference,
 * logs it and has the network rebuilt.
 */
void schedd_check_slots(struct schedd *schedd, double now_s);
/* Runs a round if one is due and the last one was at least --round-ms ago. */
void schedd_step(struct schedd *schedd, double now_s);
/*
 * Runs the rounds that are due, regardless of --round-ms, so that a forecast starts from a state that includes the
 * decisions of these rounds.
 */
void schedd_run_due_rounds(struct schedd *schedd);
/*
 * Writes the changes of this turn to the store. On failure the live state is read back from the store, which undoes the
 * changes. Returns 0, 1 if nothing was written, or -errno with err set if the state cannot be read back: it is then
 * incomplete, and only schedd_destroy() may use it.
 */
int schedd_commit(struct schedd *schedd, struct error *err);
/* Stores a changed machine in the state and the journal; `schedd` is a struct schedd. */
void schedd_keep_machine(void *schedd, uint32_t number);
/* After the removal of a machine, or of all: clients of GET /v1/machines?since= get all machines. */
void schedd_renew_machines(struct schedd *schedd);

/*
 * api_reply.c. Queues a reply, to be sent after the commit. Takes ownership of `text` (from json_dumps() or strdup()).
 */
void schedd_reply(struct schedd *schedd, struct serve_call *call, unsigned status, char *text);
void schedd_reply_json(struct schedd *schedd, struct serve_call *call, unsigned status, json_t *value);

bool schedd_is_admin(const struct schedd *schedd, const struct serve_call *call);
/* Returns true if the call is from an admin; otherwise replies with an error. */
bool schedd_need_admin(const struct schedd *schedd, struct serve_call *call);
/*
 * Takes the result of a change of the live state, and returns it. A change that runs out of memory may be half made, so
 * the turn's commit fails, and the state is read again.
 */
int schedd_changed(struct schedd *schedd, int code);
bool schedd_query_is(const struct serve_call *call, const char *name, const char *value);
const char *schedd_machine_name(const struct schedd *schedd, int32_t machine); /* NULL: none */
void schedd_post_jobs(void *context, struct serve_call *call);
/* Processes some lines of each submission, see LINES_A_TURN. */
void schedd_take_submissions(struct schedd *schedd);
/*
 * Replies 503 to the submissions with unprocessed lines. Call it if the state cannot be written, or the daemon ends.
 */
void schedd_refuse_submissions(struct schedd *schedd);
void schedd_get_decisions(void *context, struct serve_call *call);
void schedd_post_events(void *context, struct serve_call *call);
void schedd_post_flows(void *context, struct serve_call *call);
void schedd_get_recovery(void *context, struct serve_call *call);
void schedd_get_explain(void *context, struct serve_call *call);
void schedd_post_what_if(void *context, struct serve_call *call);
void schedd_get_overview(void *context, struct serve_call *call);
void schedd_get_page(void *context, struct serve_call *call);
void schedd_get_openapi(void *context, struct serve_call *call);
void schedd_get_journal(void *context, struct serve_call *call);
void schedd_post_changes(void *context, struct serve_call *call);
void schedd_dry_run(struct schedd *schedd, struct serve_call *call); /* forecasts the jobs in the body */

/* Returns the decisions with a number above `after` as JSON text; the caller frees. */
char *schedd_decisions_text(const struct schedd *schedd, uint64_t after);
/* Counts a decision for the metrics. */
void schedd_count_decision(struct schedd *schedd, const struct live_decision *decision);
/* Adds a point to `series`, the chart of tasks over time, if one is due. */
void schedd_sample(struct schedd *schedd, double now_s);
/* Metrics as Prometheus text; the caller frees. */
char *schedd_metrics_text(const struct schedd *schedd);

#endif
