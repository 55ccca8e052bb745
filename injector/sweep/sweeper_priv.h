/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a sweep under way, shared by sweeper.c (the whole), run.c (one run) and journal.c (FILE.log). */
#ifndef SWEEP_SWEEPER_PRIV_H
#define SWEEP_SWEEPER_PRIV_H

#include <jansson.h>

#include <injector/sweep/metric.h>
#include <injector/sweep/sweeper.h>

#include "sweep_priv.h"

enum { ENVIRONMENT_MAXIMUM = 10, REASONS_BYTES = 400 };

struct journal;

struct sweeper {
	const struct plan *plan;
	const struct sweeper_hooks *hooks;
	struct sweeper_summary *summary;
	struct host server_host, client_host;
	size_t metric_count;
	struct metric metrics[SWEEP_METRICS_MAXIMUM];
	size_t delay_count;
	double delays_us[SCHEDULE_DELAYS_MAXIMUM];
	size_t run_count;          /* that are still to be made */
	struct schedule_run *runs; /* room for all that the plan asks for */
	struct sweep_writer *writer;
	struct journal *journal;
	struct process *server;
	int lock; /* on the injector */
	struct delay_note note;
	bool set_up; /* setup was begun: teardown is due */
	bool begun;  /* a run was: the files say so, whatever comes of it */
	char scratch[64];
	char *environment[ENVIRONMENT_MAXIMUM + 1]; /* "NAME=value", ours to free; NULL-terminated */
};

/* What one attempt saw. */
struct attempt {
	struct schedule_run run;
	int number; /* from 1 */
	char started_at[SWEEP_STAMP_BYTES];
	double elapsed_s;
	double values[SWEEP_METRICS_MAXIMUM];
	bool measured; /* the values are there */
	bool has_rtt;
	double rtt_us, rtt_expected_us;
	struct injector_state before, after;
	double busy_percent; /* others' share of our processors in the pause before the run */
	struct host_state host_before, host_after;
	char reasons[REASONS_BYTES]; /* why it is not to be trusted, "; " between; "" = it is */
};

/* --- run.c --- */

/* Makes one planned run with as many attempts as it takes. 0 = its rows are on the disk, or it was skipped. */
int sweeper_make_run(struct sweeper *sweeper, const struct schedule_run *run, struct error *err);
/*
 * Had the injector the run's delay from the beginning to the end, and was it the same one all the time? 0, or -ESTALE
 * with err set: such an attempt is of another delay, or of one that nobody knows, and never counts. Pure.
 */
int attempt_check_delay(const struct plan *plan, const struct attempt *attempt, struct error *err);
/* The gates, on what an attempt saw: fills attempt->reasons. Pure. */
void attempt_judge(const struct plan *plan, struct attempt *attempt);
/*
 * Of two attempts that a gate refused, is the first rather to be kept: measured, and stalled for less of its time, as
 * the gate counts it? Pure.
 */
bool attempt_is_better(const struct attempt *attempt, const struct attempt *best);
/* What the plan's direction makes of a delay. */
void split_delay(const struct plan *plan, double delay_us, double *ab_us, double *ba_us);

/* --- precision.c --- */

/* What the file says of the first metric at one delay. */
struct level {
	double delay_us;
	int64_t runs, next_run; /* how many there are, and the number after the highest */
	int64_t next_reference; /* of those that were made for precision: the number after the highest */
	double mean, deviation; /* standard deviation of a run */
};

/* One level for each delay of the plan, in its order. */
int levels_read(const struct sweeper *sweeper, struct level *levels, struct error *err);
/* Standard error of the mean, in percent of it; INFINITY where it is not known. */
double level_error_percent(const struct level *level);
bool level_is_repeatable(const struct plan *plan, const struct level *level);
/*
 * Puts one more run for each delay that is not precise enough on the schedule, unless it has twice the plan's
 * repetitions. Returns how many, or -errno.
 */
int sweeper_schedule_extra(struct sweeper *sweeper, struct error *err);
/* How far the runs agree: into the journal and the summary, and said where they do not. */
int sweeper_conclude(struct sweeper *sweeper, struct error *err);

/* --- sweeper.c --- */

struct command sweeper_command(const struct sweeper *sweeper, const char *phase, const char *line, double timeout_s);
/* Room for the environment of a command that has one of the marks of orphans.c in it, for as long as it starts. */
struct marked_environment {
	char mark[ORPHANS_MARK_BYTES];
	const char *items[ENVIRONMENT_MAXIMUM + 2];
};

void sweeper_mark(const struct sweeper *sweeper, enum orphans_of of, struct marked_environment *environment,
		  struct command *command);
/*
 * Ends what a client or a warm-up has left running, where it ran, also what has left its group. `stopped`: it did not
 * end by itself; at the other end of ssh it is given a second then, before it is killed.
 */
void sweeper_end_strays(const struct sweeper *sweeper, bool stopped);
void sweeper_say(const struct sweeper *sweeper, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sets the injector's delay, and notes it in the lock's file. */
int sweeper_set_delay(struct sweeper *sweeper, double ab_us, double ba_us, struct error *err);
/* A variable that the plan's commands see, as long as it is; the same name again replaces it. 0 or -errno, err set. */
int sweeper_set_variable(struct sweeper *sweeper, const char *name, const char *value, struct error *err);
bool sweeper_has_rows(const struct sweeper *sweeper); /* is there anything behind the file's header? */
int sweeper_start_server(struct sweeper *sweeper, struct error *err);
void sweeper_stop_server(struct sweeper *sweeper);

/* --- journal.c --- */

/*
 * Opens OUTPUT.log. If OUTPUT has rows and the plan does not say force: -EEXIST if the log's last plan has another
 * fingerprint, -ENOENT if the log has none.
 */
int journal_open(const struct plan *plan, bool has_rows, struct journal **journal, struct error *err);
/* Were the rows that OUTPUT had made by the same plan? */
bool journal_is_of_our_plan(const struct journal *journal);
/* Takes over the entry. Trouble with the log is no reason to lose a run: it is told once, by close. */
void journal_write(struct journal *journal, json_t *entry);
json_t *journal_attempt(const struct sweeper *sweeper, const struct attempt *attempt); /* what it saw */
json_t *journal_accept(const struct sweeper *sweeper, const struct attempt *attempt);  /* its rows are in the file */
json_t *journal_level(const struct sweeper *sweeper, const struct level *level);
void journal_close(struct journal *journal); /* NULL is legal */
/* Closes it; a log that opening it made is removed. NULL is legal. */
void journal_discard(struct journal *journal);

#endif
