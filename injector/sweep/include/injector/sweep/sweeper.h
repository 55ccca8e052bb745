/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries a plan out: sets the injector's delay, checks it, runs the benchmark, takes its metrics, judges the run and
 * appends its rows to sweep.csv. Each run's rows are on the disk before the next run begins; a run that is there
 * already is not made again, so that the same command goes on where it was cut off. Beside the rows, FILE.log (JSON
 * lines) says of every attempt what the injector, the round trip and the host looked like, and whether it is to be
 * trusted, and in the end of every delay how far its runs agree. One thread; programs that it starts end with it.
 */
#ifndef SWEEP_SWEEPER_H
#define SWEEP_SWEEPER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include <base/error.h>
#include <injector/sweep/plan.h>
#include <injector/sweep/schedule.h>

struct sweeper_hooks {
	/* Called once, and only if there are runs to make: sees to it that the plan's injector is there. May be NULL.
	 */
	int (*make_path)(void *context, struct error *err);
	/* Called after each run and while one lasts; `note` is what is going on. May be NULL. */
	void (*progress)(void *context, size_t done, size_t total, const char *note);
	/* A line for people: a run that was repeated, and why. May be NULL. */
	void (*say)(void *context, const char *line);
	void *context;
	const volatile sig_atomic_t *stop; /* set it to end after stopping what runs; may be NULL */
	const char *program_folder;        /* goes in front of PATH for the plan's commands; may be NULL */
};

struct sweeper_summary {
	size_t planned, found, made, repeated, disturbed, failed; /* runs; made has the extra ones */
	size_t extra;        /* runs beyond the plan's, where its precision asked for them */
	size_t unrepeatable; /* delays that have not got it for all that */
	double elapsed_s;
};

/* 0 if `text` says where a command is to run (local, netns:NAME, ssh:TARGET), else -EINVAL with err set. */
int sweeper_check_host(const char *text, struct error *err);

/*
 * Waits until no other sweep runs on this machine; *turn is to be closed when ours is over. Take it before a lab is
 * made: an idle injector costs a CPU as well. 0, -EINTR when told to stop, or -errno with err set.
 */
int sweeper_take_turn(const struct sweeper_hooks *hooks, int *turn, struct error *err);

/* The process whose sweep steps the injector with this control socket now, 0 = none. */
int sweeper_find_other(const char *control);

/*
 * The name of a lab is ours until *claim is closed; claim it before anything of the lab is made. 0, -EAGAIN and the
 * process whose sweep has it (0 = cannot be told), or -errno with err set.
 */
int sweeper_claim_lab(const char *lab, int *claim, int *other, struct error *err);

/*
 * 0 when every planned run is in the file; -EINTR when told to stop; else -errno with err set. Whatever the outcome,
 * the plan's programs and what they started have ended, the injector has its old delay, and the file holds whole runs
 * only.
 */
int sweeper_run(const struct sweep_plan *plan, const struct sweeper_hooks *hooks, struct sweeper_summary *summary,
		struct error *err);

#endif
