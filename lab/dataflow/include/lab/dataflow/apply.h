/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Applies a plan to a routed lab: sets the plan's routes in the switches, then sends, for every flow between two hosts,
 * a TCP transfer at the rate that the plan predicts for the flow, all at the same time. The plan is confirmed if each
 * transfer ends in the predicted time.
 */
#ifndef LAB_DATAFLOW_APPLY_H
#define LAB_DATAFLOW_APPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <lab/lab.h>
#include <sched/dataflow/plan.h>

/*
 * Reads a lab and checks that it is routed and has limited links, so that a plan can be applied to it. Returns 0, or
 * -errno with err set. Root only.
 */
int apply_read_lab(const char *name, struct lab *lab, struct error *err);

struct applied_flow {
	const struct plan_job *job;
	uint32_t from_task, to_task; /* numbers of the tasks in the job */
	int from_host, to_host;      /* hosts of the lab, from 0 */
	double predicted_MBps, measured_MBps;
};

struct apply_result {
	struct applied_flow *flows;
	size_t flow_count, flow_capacity;
	bool measured; /* true when every transfer has ended, so that each measured_MBps is set */
};

/*
 * Sets the routes and sends each flow for `seconds` at its predicted rate. Removes the routes afterwards unless
 * keep_routes. Returns 0, or -errno with err set; in either case the caller clears `result`, which refers to the plan,
 * by apply_result_clear(). Root only.
 */
int apply_plan(const struct lab *lab, struct dataflow_plan *plan, double seconds, bool keep_routes,
	       struct apply_result *result, struct error *err);
void apply_result_clear(struct apply_result *result);
void apply_result_print(const struct lab *lab, const struct apply_result *result, FILE *out);
/* Returns nomora.dataflow-apply/1, or NULL if out of memory. */
json_t *apply_result_to_json(const struct lab *lab, const struct apply_result *result);

#endif
