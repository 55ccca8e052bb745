/* SPDX-License-Identifier: BSD-3-Clause */
/* OUTPUT.log, where OUTPUT is the plan's file of rows: the plan that made the rows, and the results of each attempt. */
#ifndef SWEEP_JOURNAL_PRIV_H
#define SWEEP_JOURNAL_PRIV_H

#include "judge_priv.h"
#include "sweeper_priv.h"

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
