/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a sweep, shared by its parts. Parts call only parts to the right of them: sweeper.c (the whole) -> run.c
 * (one run), levels.c (agreement of the runs) -> path.c (delays), server.c, judge.c (gates), journal.c (FILE.log) ->
 * commands.c.
 */
#ifndef SWEEP_SWEEPER_PRIV_H
#define SWEEP_SWEEPER_PRIV_H

#include <injector/sweep/metric.h>
#include <injector/sweep/sweeper.h>

#include "delay_note_priv.h"
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

#endif
