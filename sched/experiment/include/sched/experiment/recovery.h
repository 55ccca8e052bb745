/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of "Surviving Failures" (Chen, Li and Li), section V, figures 6 to 15, published values beside ours.
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
 * runs: number of instances that RUNTIME solves. progress: for a progress bar, may be NULL. 0 or -errno with err set.
 * The caller frees rows->items.
 */
int experiment_recovery(enum experiment_recovery what, const char *folder, uint32_t runs, FILE *progress,
			struct experiment_rows *rows, struct error *err);

#endif
