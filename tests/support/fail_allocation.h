/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A law for code that allocates: if one allocation fails, a call reports an error or gives the same result as ever, and
 * it leaks nothing. For programs with an allocator of their own (fail_allocation.c): glibc, no sanitizer, one thread.
 */
#ifndef TESTS_SUPPORT_FAIL_ALLOCATION_H
#define TESTS_SUPPORT_FAIL_ALLOCATION_H

#include <stdio.h>

/* Writes its result to `out`. Returns 0, or not 0 if it reports an error. It must give the same result at each call. */
typedef int allocating(FILE *out);

/*
 * Runs `scenario` once for each place in the program that allocates in it, with this place's first allocation failing.
 * Returns the number of places; a Criterion assertion fails if the law is broken.
 */
unsigned fail_each_allocation(allocating *scenario);

/* Between these calls, allocations of the scenario do not fail: those of the test itself. */
void fail_allocation_pause(void);
void fail_allocation_go_on(void);

#endif
