/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the recovery experiments. Private. */
#ifndef SCHED_EXPERIMENT_RECOVERY_PRIV_H
#define SCHED_EXPERIMENT_RECOVERY_PRIV_H

#include <base/progress.h>
#include <sched/experiment/recovery.h>
#include <sched/recovery/recovery.h>

/*
 * Solves the scenario. Returns its objective p, or NAN if there is no solution. server: if not NULL, *server is set to
 * an array with the server of each task, which the caller frees.
 */
double experiment_solve_p(const struct recovery_scenario *s, const struct recovery_options *options, uint32_t **server);

/* Returns a progress bar on `out`, or NULL if `out` is NULL. */
struct progress *experiment_progress(FILE *out, const char *label, uint64_t total);

void experiment_recovery_testbed(struct experiment_page *page);
void experiment_recovery_scale(struct experiment_page *page, FILE *out);
void experiment_recovery_runtime(struct experiment_page *page, uint32_t runs, FILE *out);

#endif
