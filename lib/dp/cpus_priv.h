/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the CPUs of the lcores. Pure but for reading /sys and the thread's affinity. */
#ifndef DP_CPUS_PRIV_H
#define DP_CPUS_PRIV_H

#include <stddef.h>

#include <base/error.h>

/*
 * Fills cpus[0..count-1] from `list` ("2,4-5"), or from the kernel's isolated CPUs when list is NULL.
 * 1 = each worker has its CPU; 0 = no list and not enough isolated CPUs: let them float; -errno with err set.
 */
int dp_cpus_choose(const char *list, unsigned int count, unsigned int *cpus, struct error *err);

/* This thread's affinity in the kernel's form, "0-3". */
void dp_cpus_allowed(char *text, size_t bytes);

#endif
