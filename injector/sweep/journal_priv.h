/* SPDX-License-Identifier: BSD-3-Clause */
/* SWEEP.csv.log: which plan made the rows, and what each attempt saw. */
#ifndef SWEEP_JOURNAL_PRIV_H
#define SWEEP_JOURNAL_PRIV_H

#include "judge_priv.h"
#include "sweeper_priv.h"

/*
 * Opens OUTPUT.log and appends the plan. If OUTPUT has rows and the plan does not say force: -EEXIST if the log's last
 * plan has another fingerprint, -ENOENT if the log has none.
 */
int journal_open(const struct sweep_plan *plan, bool has_rows, struct journal **journal, struct error *err);
/* True if the same plan made the rows that OUTPUT had. */
bool journal_is_of_our_plan(const struct journal *journal);
/* Append an event. Trouble with the log does not end a sweep: journal_close() reports it once. */
void journal_attempt(const struct sweeper *sweeper, const struct sweep_attempt *attempt);
void journal_accept(const struct sweeper *sweeper, const struct sweep_attempt *attempt);
void journal_level(const struct sweeper *sweeper, const struct sweep_log_level *level);
void journal_close(struct journal *journal); /* NULL is legal */
/* Closes it, and removes a log that journal_open() created. NULL is legal. */
void journal_discard(struct journal *journal);

/* The attempt as the log has it. Pure. */
struct sweep_log_attempt journal_attempt_entry(const struct sweeper *sweeper, const struct sweep_attempt *attempt);

#endif
