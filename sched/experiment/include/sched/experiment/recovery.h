/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The experiments of "Surviving Failures" (Chen, Li and Li), section V, figures 6 to 15. The pages show the published
 * values beside ours.
 */
#ifndef SCHED_EXPERIMENT_RECOVERY_H
#define SCHED_EXPERIMENT_RECOVERY_H

#include <stdint.h>
#include <stdio.h>

#include <sched/experiment/page.h>

enum experiment_recovery {
	EXPERIMENT_RECOVERY_TESTBED, /* figures 6 to 11 */
	EXPERIMENT_RECOVERY_SCALE,   /* figures 12 and 13 */
	EXPERIMENT_RECOVERY_RUNTIME, /* figures 14 and 15 */
};

/*
 * Runs an experiment and writes its page to `folder`. runs: number of instances that RUNTIME solves. progress: stream
 * for a progress bar; may be NULL. Appends the rows of the page's tables to *rows; the caller frees rows->items.
 * Returns 0, or -errno with err set.
 */
int experiment_recovery(enum experiment_recovery what, const char *folder, uint32_t runs, FILE *progress,
			struct experiment_rows *rows, struct error *err);

#endif
