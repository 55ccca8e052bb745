/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The experiments of "Surviving Failures" (Chen, Li and Li), section V, figures 6 to 15. The pages show the published
 * values beside ours.
 */
#ifndef REPRODUCTION_RECOVERY_H
#define REPRODUCTION_RECOVERY_H

#include <stdint.h>
#include <stdio.h>

#include <base/progress.h>
#include <sched/recovery/recovery.h>

#include "page.h"

enum experiment_recovery {
	EXPERIMENT_RECOVERY_TESTBED, /* figures 6 to 11 */
	EXPERIMENT_RECOVERY_SCALE,   /* figures 12 and 13 */
	EXPERIMENT_RECOVERY_RUNTIME, /* figures 14 and 15 */
};

/* Shared by the experiments. */
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
