/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan as text, as JSON and as a picture. */
#ifndef SCHED_DATAFLOW_PLAN_REPORT_H
#define SCHED_DATAFLOW_PLAN_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include <sched/dataflow/advise.h>
#include <sched/dataflow/latency.h>
#include <sched/dataflow/plan.h>

/* What a report contains. All pointers are borrowed. */
struct dataflow_plan_report {
	const struct dataflow_plan *plan;
	const char *engine;
	const struct dataflow_latency *latency; /* for the jobs' performance; NULL: not in the report */
	const struct dataflow_advice *advice;   /* moves; NULL: not in the report */
	double bound_MBps; /* dataflow_bound() of all jobs together, MB/s; NAN: not in the report */
};

void dataflow_plan_print(const struct dataflow_plan_report *report, FILE *out);
/* Returns the report as nomora.dataflow-plan/1, or NULL if out of memory. */
json_t *dataflow_plan_to_json(const struct dataflow_plan_report *report);
/* Draws the network with the load of its links. Returns 0, or -errno with err set. */
int dataflow_plan_plot(const struct dataflow_plan *plan, const char *engine, const char *path, struct error *err);

#endif
