/* SPDX-License-Identifier: BSD-3-Clause */
/* LEMON's solvers on our arrays, for comparison in the benchmarks. Times in CPU seconds. */
#ifndef MCF_LEMON_PEER_H
#define MCF_LEMON_PEER_H

#include <sched/mcf/mcf.h>

#ifdef __cplusplus
extern "C" {
#endif

enum lemon_algorithm { LEMON_NETWORK_SIMPLEX, LEMON_COST_SCALING };

struct lemon_answer {
	bool optimal;
	int64_t cost;
	double build_s; /* LEMON's graph and maps, and the solver's own arrays */
	double run_s;
};

struct lemon_answer lemon_solve(enum lemon_algorithm algorithm, const struct mcf_problem *problem);

#ifdef __cplusplus
}
#endif

#endif
