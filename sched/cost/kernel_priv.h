/* SPDX-License-Identifier: BSD-3-Clause */
/* The vector kernels; contracts in cost/kernel.h. Call one only if its usable() returns true. */
#ifndef COST_KERNEL_PRIV_H
#define COST_KERNEL_PRIV_H

#include <sched/cost/kernel.h>

/* Added to 16-bit costs before taking a maximum: COST_ABSENT then wraps around to 0, below every machine's cost. */
enum { COST_MAXIMUM_BIAS = UINT16_MAX + 1 - COST_ABSENT };

#ifdef __x86_64__
bool cost_avx2_usable(void);
void cost_rack_avx2(const struct cost_table *table, const float *rtt_us, uint32_t columns, uint16_t *cost,
		    uint16_t *maximum, uint16_t *minimum);
bool cost_avx512_usable(void);
void cost_rack_avx512(const struct cost_table *table, const float *rtt_us, uint32_t columns, uint16_t *cost,
		      uint16_t *maximum, uint16_t *minimum);
#endif

#endif
