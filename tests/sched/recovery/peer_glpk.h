/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Problem (16) of the recovery paper as a mixed-integer linear programme for GLPK's branch and cut, to compare our
 * search with. Variables: p; x_fn = 1 if failed task f is on server n; y_fgn = 1 if both tasks f and g are on server n
 * (y <= x_f, y <= x_g), for pairs with flows. GLPK gets the servers that the exact filter keeps. GLPK aborts on
 * internal errors.
 */
#ifndef TESTS_SCHED_RECOVERY_PEER_GLPK_H
#define TESTS_SCHED_RECOVERY_PEER_GLPK_H

#include <sched/recovery/recovery.h>

struct glpk_answer {
	enum recovery_status status; /* optimal, feasible (deadline) or unknown */
	double p;
};

/*
 * The scenario must have a placement and no task with relaunch_s, with which the demands depend on p. deadline_ms 0: no
 * limit. Returns false if memory is short.
 */
bool glpk_solve(const struct recovery_scenario *scenario, double deadline_ms, struct glpk_answer *answer);

#endif
