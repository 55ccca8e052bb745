/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiler hints for the hot loops. */
#ifndef INJECTOR_HINTS_PRIV_H
#define INJECTOR_HINTS_PRIV_H

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define ALWAYS_INLINED inline __attribute__((always_inline))
#define NOT_INLINED __attribute__((noinline, cold))
#define CACHE_ALIGNED __attribute__((aligned(64)))

/* Both arguments are evaluated more than once. */
#define MIN(a, b) ((a) < (b) ? (a) : (b))

#endif
