/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the CPUs of the lcores. The functions have no side effects; they read /sys and the thread's affinity. */
#ifndef DP_CPUS_PRIV_H
#define DP_CPUS_PRIV_H

#include <stddef.h>

#include <base/error.h>

/*
 * Fills cpus[0..count-1] from `list` ("2,4-5"), or from the kernel's isolated CPUs if `list` is NULL. Returns:
 * - 1: each worker has its own CPU
 * - 0: `list` is NULL and there are too few isolated CPUs, so workers may run on any CPU
 * - -errno with err set
 */
int dp_cpus_choose(const char *list, unsigned int count, unsigned int *cpus, struct error *err);

/* Writes this thread's affinity in the kernel's format, such as "0-3". */
void dp_cpus_allowed(char *text, size_t bytes);

#endif
