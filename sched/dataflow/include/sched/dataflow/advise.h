/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Advice on moves: for each task of a running job, the host on which the task would raise the sum of all rates most,
 * and by how much. Running jobs are not changed. To evaluate a move, the routes of its job are chosen again; those of
 * all other jobs are kept.
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
	struct dataflow_move *moves; /* best move per task, if it raises the sum of rates; largest gain first */
	size_t count;
};

/*
 * Advises on the plan's jobs that were running before the plan; the engine evaluates the moves. The plan does not
 * change. Returns 0, or -errno with err set; in either case the caller clears the advice.
 */
int dataflow_advise(struct dataflow_plan *plan, const struct engine *engine, const struct engine_options *options,
		    struct dataflow_advice *advice, struct error *err);
void dataflow_advice_clear(struct dataflow_advice *advice);

#endif
