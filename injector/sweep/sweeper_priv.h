/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a sweep, shared by its parts. Parts call only parts to the right of them: sweeper.c (the whole) -> run.c
 * (one run), levels.c (agreement of the runs) -> path.c (delays), server.c, judge.c (gates), journal.c (FILE.log) ->
 * commands.c.
 */
#ifndef SWEEP_SWEEPER_PRIV_H
#define SWEEP_SWEEPER_PRIV_H

#include <signal.h>
#include <stdint.h>

#include <injector/sweep/metric.h>
#include <injector/sweep/sweeper.h>

#include "injector_client_priv.h"
#include "host_priv.h"

enum { ENVIRONMENT_MAXIMUM = 10 };

struct journal;

struct sweeper {
	const struct sweep_plan *plan;
	const struct sweeper_hooks *hooks;
	struct sweeper_summary *summary;
	struct host server_host, client_host;
	size_t metric_count;
	struct sweep_metric_def metrics[SWEEP_METRICS_MAXIMUM];
	size_t delay_count;
	double delays_us[SWEEP_SCHEDULE_DELAYS_MAXIMUM];
	size_t run_count;                /* number of runs still to be made */
	struct sweep_schedule_run *runs; /* with capacity for all runs of the plan */
	struct sweep_writer *writer;
	struct journal *journal;
	struct process *server;
	int lock; /* descriptor of the lock on the injector */
	struct delay_note note;
	double baseline_rtt_us; /* NAN = not known */
	bool set_up; /* prepare() was called: at the end, teardown must run and the delays must be restored */
	bool begun;  /* a run was started: the files are not removed, even if the sweep fails */
	char scratch[64];
	char *environment[ENVIRONMENT_MAXIMUM + 1]; /* "NAME=value", owned; NULL-terminated */
};

/* ---- run.c: makes attempts at a run until the gates (plan.h) accept one, or the plan allows no more ---- */

/*
 * Returns 0 if the run's rows are on the disk or the run was left out (on-failure); -EINTR if stopped, or another
 * -errno, with err set.
 */
int run_make(struct sweeper *sweeper, const struct sweep_schedule_run *run, struct error *err);

/* ---- server.c: the plan's server process ---- */

/*
 * Starts the server and waits until server-ready succeeds. Returns 0, or -errno with err set; the server is then
 * stopped.
 */
int server_start(struct sweeper *sweeper, struct error *err);
/* Asks the server to end, kills it after a grace period, and waits for its end, also on an ssh host. */
void server_stop(struct sweeper *sweeper);

/* ---- path.c: the delays of the path through the injector ---- */

/* Returns the delays of both directions for a run at `delay_us`, by the plan's direction. Pure. */
struct delay_pair path_split_delay(const struct sweep_plan *plan, double delay_us);

/* Sets the injector's delays, and notes them in the lock file. Returns 0, or -errno with err set. */
int path_set_delay(struct sweeper *sweeper, struct delay_pair delay, struct error *err);

/*
 * Remembers the injector's delays, so that path_restore() can set them again. If the injector has delays that a killed
 * sweep set, first restores the delays that the killed sweep had found, and remembers those. Returns 0, or -errno with
 * err set.
 */
int path_find_delays(struct sweeper *sweeper, struct error *err);
void path_restore(struct sweeper *sweeper);

/*
 * ---- levels.c: computes how well the runs at each delay agree, from the rows on the disk, which include those of
 * earlier sessions. A level is the set of all runs at one delay; it is repeatable if the standard error of the mean is
 * within the plan's precision.
 */

/* Statistics of the first metric's values at one delay, over all rows of the file. */
struct sweep_level {
	double delay_us;
	int64_t runs, next_run; /* number of runs; the next free run number */
	int64_t next_reference; /* the next free run number for a reference between extra runs */
	double mean, deviation; /* deviation: standard deviation of the values */
};

/* Returns true if the plan's OUTPUT file has rows after its header. */
bool levels_has_rows(const struct sweeper *sweeper);

/* Returns the standard error of the mean, in percent of the mean; INFINITY if it is not known. Pure. */
double level_error_percent(const struct sweep_level *level);
bool level_is_repeatable(const struct sweep_plan *plan, const struct sweep_level *level);
/*
 * Schedules one more run for each delay that is not precise enough, unless it already has twice the plan's repetitions,
 * and references between these runs. Returns the number of runs scheduled, or -errno with err set.
 */
int levels_schedule_extra(struct sweeper *sweeper, struct error *err);
/* Writes each level to the journal, and reports those that are not repeatable. Returns 0, or -errno with err set. */
int levels_conclude(struct sweeper *sweeper, struct error *err);

/*
 * ---- baseline.c: measures the round trip of the application's path without added delay. It uses our own STAMP prober
 * (nomora reflect, nomora probe), so that the result is comparable with a mesh, which the same prober measures.
 */

/*
 * Sets sweeper->baseline_rtt_us to the median round trip between the client's and the server's address while the
 * injector adds no delay. Sets NAN if the plan lacks an address or has no-baseline; also if the measurement fails, and
 * then reports the reason. Returns 0, or -EINTR with err set if stopped.
 */
int baseline_measure(struct sweeper *sweeper, struct error *err);

/*
 * Finds the interface in the output of "ip -o route get". Returns false if there is none, or it is the loopback. Pure.
 */
bool baseline_parse_route(const char *output, char *interface, size_t bytes);

/* With ping, an independent check of the injected delay. */

/* Measures the median of `count` pings, µs. Returns 0, or -errno with err set. */
int ping_median(const struct host *host, const char *address, int64_t count, const volatile sig_atomic_t *stop,
		double *median_us, struct error *err);

/*
 * Computes the median of the "time=1.23 ms" in ping's output, µs. Returns 0, -ENOENT if there are none, or -ENOMEM.
 * Pure.
 */
int ping_parse(const char *output, double *median_us);

#endif
