/* SPDX-License-Identifier: BSD-3-Clause */
/* One attempt at a run, and the gates (plan.h) that accept or refuse it. */
#ifndef SWEEP_ATTEMPT_PRIV_H
#define SWEEP_ATTEMPT_PRIV_H

#include <model/sweep_log.h>

#include "machine_priv.h"
#include "sweeper_priv.h"

struct sweep_attempt {
	struct sweep_schedule_run run;
	int number; /* from 1 */
	char started_at[SWEEP_STAMP_BYTES];
	double elapsed_s;
	double values[SWEEP_METRICS_MAXIMUM];
	bool measured; /* `values` is valid: the client printed all metrics */
	bool has_rtt;
	double rtt_us, rtt_expected_us;
	bool has_after; /* `after` is valid: the injector was read after the client */
	struct injector_state_totals before, after;
	double busy_percent; /* percent of our processors' time that other programs used in the pause before the run */
	struct machine_state machine_before, machine_after;
	char reasons[SWEEP_LOG_REASONS_BYTES]; /* why gates refused the attempt, separated by "; "; "" if none did */
};

void attempt_add_reason(struct sweep_attempt *attempt, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns the injector's statistics during the attempt. Pure. */
struct injector_interval attempt_injector(const struct sweep_attempt *attempt);

/* Applies the gates: fills attempt->reasons. Pure. */
void attempt_judge(const struct sweep_plan *plan, struct sweep_attempt *attempt);
/* Returns true if the gate on stalls refuses the attempt. Pure. */
bool attempt_stalled(const struct sweep_plan *plan, const struct sweep_attempt *attempt);

/*
 * Checks that the injector kept the run's delay during the whole attempt and was not restarted. Returns 0, or -ESTALE
 * with err set: the delay was then wrong or is not known, so the attempt must not be accepted in any case. Pure.
 */
int attempt_check_delay(const struct sweep_plan *plan, const struct sweep_attempt *attempt, struct error *err);

/*
 * Compares two refused attempts. Returns true if `attempt` was measured, and `best` either was not measured or was
 * stalled for a larger share of its time. Pure.
 */
bool attempt_is_better(const struct sweep_attempt *attempt, const struct sweep_attempt *best);

/* ---- journal.c: OUTPUT.log has the plan that made the rows of OUTPUT, and the results of each attempt ---- */

/*
 * Opens OUTPUT.log and appends the plan. Returns 0, or -errno with err set. If OUTPUT has rows and the plan does not
 * say force: -EEXIST if the log's last plan has another fingerprint, -ENOENT if the log has no plan.
 */
int journal_open(const struct sweep_plan *plan, bool has_rows, struct journal **journal, struct error *err);
/* Returns true if the log's last plan, before journal_open() appended ours, has the fingerprint of our plan. */
bool journal_is_of_our_plan(const struct journal *journal);
/* Append an event. If the log cannot be written, the sweep goes on and journal_close() reports it once. */
void journal_attempt(const struct sweeper *sweeper, const struct sweep_attempt *attempt);
void journal_accept(const struct sweeper *sweeper, const struct sweep_attempt *attempt);
void journal_level(const struct sweeper *sweeper, const struct sweep_log_level *level);
void journal_close(struct journal *journal); /* NULL is legal */
/* Closes the log, and removes it if journal_open() created it. NULL is legal. */
void journal_discard(struct journal *journal);

/* Returns the attempt in the form of the log. Pure. */
struct sweep_log_attempt journal_attempt_entry(const struct sweeper *sweeper, const struct sweep_attempt *attempt);

#endif
