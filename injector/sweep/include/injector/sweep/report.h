/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports the runs that a plan will make, and the summary of a sweep, as text and as JSON. The JSON functions return
 * NULL if out of memory.
 */
#ifndef SWEEP_REPORT_H
#define SWEEP_REPORT_H

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <injector/sweep/plan.h>
#include <injector/sweep/schedule.h>
#include <injector/sweep/sweeper.h>

struct sweep_plan_runs {
	size_t delays, count;
	struct sweep_schedule_run *items; /* in the order in which they are made; the caller frees it */
};

/* Returns 0; or with err set, -ENOMEM or the error of sweep_schedule_parse_delays(). */
int sweep_plan_list_runs(const struct sweep_plan *plan, struct sweep_plan_runs *runs, struct error *err);
void sweep_plan_print_runs(const struct sweep_plan *plan, const struct sweep_plan_runs *runs, FILE *out);
json_t *sweep_plan_runs_to_json(const struct sweep_plan_runs *runs); /* nomora.sweep-schedule/1 */

void sweep_summary_print(const struct sweep_plan *plan, const struct sweeper_summary *summary, FILE *out);
json_t *sweep_summary_to_json(const struct sweep_plan *plan,
			      const struct sweeper_summary *summary); /* nomora.sweep/1 */

#endif
