/* SPDX-License-Identifier: BSD-3-Clause */
/* What nomora sweep prints on stdout: for people, or as JSON when the plan says so. */
#ifndef APPS_SWEEP_PRINT_H
#define APPS_SWEEP_PRINT_H

#include <injector/sweep/plan.h>
#include <injector/sweep/sweeper.h>

/* The runs in their order, for --dry-run. Returns the command's exit code. */
int sweep_print_schedule(const struct sweep_plan *plan);

void sweep_print_summary(const struct sweep_plan *plan, const struct sweeper_summary *summary);

#endif
