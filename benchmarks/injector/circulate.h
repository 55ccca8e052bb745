/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that circulate between two ring ports through the injector, or a plain forwarding loop, on this thread. */
#ifndef BENCHMARKS_INJECTOR_CIRCULATE_H
#define BENCHMARKS_INJECTOR_CIRCULATE_H

#include "bench.h"

/*
 * Returns packets per direction and second of CPU time: on a loaded machine, wall-clock time would measure the
 * scheduler. On a dedicated CPU both are the same. `inject`: through the injector; `circulating`: packets, both
 * directions.
 */
double circulate(struct bench *bench, bool inject, unsigned int circulating, double seconds, double *wall_pps);
/* Frees the packets in the rings. */
void circulate_empty(struct bench *bench);

#endif
