/* SPDX-License-Identifier: BSD-3-Clause */
/* LEMON's solvers (liblemon-dev) on our arrays: the peer that benchmarks are measured against. */
#ifndef PEER_LEMON_H
#define PEER_LEMON_H

#include <mcf/mcf.h>

#ifdef __cplusplus
extern "C" {
#endif

enum peer_lemon_algorithm { PEER_LEMON_NETWORK_SIMPLEX, PEER_LEMON_COST_SCALING };

struct peer_lemon_answer {
	int64_t cost;
	double build_s, solve_s; /* processor time */
};

/* False when LEMON finds no optimum. */
bool peer_lemon_solve(enum peer_lemon_algorithm algorithm, const struct mcf_problem *problem,
		      struct peer_lemon_answer *answer);

#ifdef __cplusplus
}
#endif

#endif
