/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An upper bound on the sum of the rates that all running jobs' sources can sustain for the current placement: a linear
 * programme (GLPK's simplex) in which the data from one host to another may be split over all candidate routes of the
 * pair, differently in each direction, and rates need not be fair. No choice of routes among the candidates, and no
 * sharing of the links, can do better.
 */
#ifndef SCHED_DATAFLOW_BOUND_H
#define SCHED_DATAFLOW_BOUND_H

#include <sched/dataflow/network.h>

/*
 * Computes the bound; a source's rate is at most local_MBps. Returns 0; or, with err set, -ENOMEM, -EHOSTUNREACH or
 * -EIO (GLPK failed).
 */
int dataflow_bound(struct network *network, double local_MBps, double *sum_MBps, struct error *err);

#endif
