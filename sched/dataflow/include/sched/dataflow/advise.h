/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Advice on moves of single tasks. For each task of a running job, finds the host with which the sum of all rates would
 * be greatest, and computes the increase. The jobs continue unchanged. To evaluate a move, chooses new routes for the
 * task's job; all other jobs keep their routes.
 */
#ifndef SCHED_DATAFLOW_ADVISE_H
#define SCHED_DATAFLOW_ADVISE_H

#include <sched/dataflow/plan.h>

struct dataflow_move {
	const struct plan_job *job;
	uint32_t task, from, to; /* task: number in the job; from, to: nodes */
	double gain_MBps;        /* increase of the sum of the rates of all jobs' sources */
	double own_gain_MBps;    /* increase of the sum of the rates of this job's sources */
};

struct dataflow_advice {
	struct dataflow_move *moves; /* at most one per task, only with a gain > 0; largest gain first */
	size_t count;
};

/*
 * Advises on those of the plan's jobs that were already running when it was made. The engine chooses the moves. The
 * plan does not change. Returns 0, or -errno with err set; in either case the caller calls dataflow_advice_clear().
 */
int dataflow_advise(struct dataflow_plan *plan, const struct engine *engine, const struct engine_options *options,
		    struct dataflow_advice *advice, struct error *err);
void dataflow_advice_clear(struct dataflow_advice *advice);

#endif
