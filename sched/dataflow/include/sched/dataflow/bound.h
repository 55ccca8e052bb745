/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An upper bound on the sum of the rates of all running jobs' sources for the current placement. It is the optimum of a
 * linear programme (GLPK's simplex), which has more freedom than the network:
 * - the data from one host to another may be split over all candidate routes of the pair
 * - the two directions of a pair may use different routes
 * - the rates need not be fair
 */
#ifndef SCHED_DATAFLOW_BOUND_H
#define SCHED_DATAFLOW_BOUND_H

#include <sched/dataflow/network.h>

/*
 * Computes the bound. Returns 0; or, with err set:
 * - -EHOSTUNREACH: two hosts that exchange data are not connected
 * - -EIO: GLPK failed
 * - -ENOMEM
 */
int dataflow_bound(struct network *network, double *sum_MBps, struct error *err);

#endif
