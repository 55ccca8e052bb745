/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a plan. For each run it sets the injector's delay, checks the delay, runs the benchmark, takes the metrics from
 * its output, applies the gates (plan.h), and appends the run's rows to sweep.csv. The rows of each run are on the disk
 * before the next run begins. Runs that the file already has are skipped, so that the same command resumes an
 * interrupted sweep.
 *
 * FILE.log (model/sweep_log.h) records each attempt: the state of the injector and the machine, the round trip, and
 * whether a gate refused the attempt. At the end it records for each delay how well its runs agree. One thread; child
 * processes end with this process.
 */
#ifndef SWEEP_SWEEPER_H
#define SWEEP_SWEEPER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <injector/sweep/plan.h>

/* Any function may be NULL. */
struct sweeper_hooks {
	/* Called once if there are runs to make: creates the plan's injector. Returns 0, or -errno with err set. */
	int (*make_path)(void *context, struct error *err);
	/* Called before each run; `note` names it. */
	void (*progress)(void *context, size_t done, size_t total, const char *note);
	/* Called with a line for people, such as a repeated run and the reason. */
	void (*say)(void *context, const char *line);
	/* Called with each metric of an accepted run. */
	void (*measured)(void *context, const struct sweep_metric_def *metric, double value);
	void *context;
	const volatile sig_atomic_t *stop; /* set it to stop the running command and return; may be NULL */
	const char *program_folder;        /* put first in the PATH of the plan's commands; may be NULL */
};

struct sweeper_summary {
	/*
	 * Numbers of runs, except `repeated`:
	 * - planned: runs of the plan
	 * - found: those of them that the file had before the sweep
	 * - made: runs whose rows were appended, with the extra runs
	 * - repeated: attempts that were repeated
	 * - disturbed: runs that were appended although gates refused every attempt
	 * - failed: runs that were left out because the benchmark failed in every attempt
	 */
	size_t planned, found, made, repeated, disturbed, failed;
	size_t extra;           /* runs in addition to the plan's repetitions, made to reach the plan's precision */
	size_t unrepeatable;    /* delays whose mean was not precise enough at the end */
	double baseline_rtt_us; /* NAN = not measured */
	double elapsed_s;
};

/* Returns 0 if commands can be run on `text` (local, netns:NAME or ssh:TARGET), else -EINVAL with err set. */
int sweeper_check_host(const char *text, struct error *err);

/*
 * Waits until no other sweep runs on this machine, then reserves the machine until the descriptor *turn is closed. Call
 * it before a lab is made, because even an idle injector uses a CPU. Returns 0; or with err set, -EINTR if stopped or
 * another -errno.
 */
int sweeper_take_turn(const struct sweeper_hooks *hooks, int *turn, struct error *err);

/* Returns the process whose sweep uses the injector with this control socket, or 0 if there is none. */
int sweeper_find_other(const char *control);

/*
 * Reserves a lab's name until the descriptor *claim is closed. Call it before any part of the lab is made. Returns 0;
 * -EAGAIN if another sweep has reserved the name, with the process of that sweep in *other (0 = not known); or another
 * -errno with err set.
 */
int sweeper_claim_lab(const char *lab, int *claim, int *other, struct error *err);

/*
 * Runs the plan. Returns 0 if every planned run is in the file or was left out (on-failure); or with err set, -EINTR if
 * stopped or another -errno. On return, also after an error, the plan's processes have ended, the injector has the
 * delay that it had before the sweep, and the file holds whole runs only.
 */
int sweeper_run(const struct sweep_plan *plan, const struct sweeper_hooks *hooks, struct sweeper_summary *summary,
		struct error *err);

/*
 * Reports the runs that a plan will make, and the summary of a sweep, as text and as JSON. The JSON functions return
 * NULL if out of memory.
 */

struct sweep_plan_runs {
	size_t delays, count;
	struct sweep_schedule_run *items; /* in the order in which they are made; the caller frees it */
};

/* Returns 0; or with err set, -ENOMEM or the error of sweep_schedule_parse_delays(). */
int sweep_plan_list_runs(const struct sweep_plan *plan, struct sweep_plan_runs *runs, struct error *err);
void sweep_plan_print_runs(const struct sweep_plan *plan, const struct sweep_plan_runs *runs, FILE *out);
json_t *sweep_plan_runs_to_json(const struct sweep_plan_runs *runs); /* nomora.sweep-schedule/1 */

void sweep_summary_print(const struct sweep_plan *plan, const struct sweeper_summary *summary, FILE *out);
json_t *sweep_summary_to_json(const struct sweep_plan *plan,
			      const struct sweeper_summary *summary); /* nomora.sweep/1 */

#endif
