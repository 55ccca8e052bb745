/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The law that a lack of memory changes no answer: a call is made again and again, with its first allocation failing,
 * its second, and so on. Each time it must return a negative code or its usual answer. For executables that are linked
 * with --wrap=malloc,--wrap=calloc,--wrap=realloc: allocations of libraries do not fail. Asserts by Criterion.
 */
#ifndef TESTS_SUPPORT_FAIL_IN_TURN_H
#define TESTS_SUPPORT_FAIL_IN_TURN_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static long allocations_left = -1; /* until one fails; < 0: none does */

static bool allocation_fails(void)
{
	if (allocations_left < 0 || allocations_left-- > 0)
		return false;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t bytes)
{
	return allocation_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return allocation_fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
	return allocation_fails() ? NULL : __real_realloc(old, bytes);
}

/* The call to judge. It returns 0 or a negative number, and prints its answer, without allocations. It frees it. */
typedef int allocation_call(const void *context, char *answer, size_t bytes);

static void allocations_fail(allocation_call *call, const void *context, const char *name)
{
	static char usual[1 << 16], found[sizeof usual];
	long failed = 0;
	bool reached = true;

	usual[0] = '\0';
	cr_assert_eq(call(context, usual, sizeof usual), 0, "%s: the call works", name);
	cr_assert_neq(usual[0], '\0', "%s: has an answer", name);
	while (reached) {
		int code;

		found[0] = '\0';
		allocations_left = failed++;
		code = call(context, found, sizeof found);
		reached = allocations_left < 0;
		allocations_left = -1;
		if (code >= 0)
			cr_expect_str_eq(found, usual, "%s: another answer if allocation %ld fails", name, failed);
		cr_expect(reached || code == 0, "%s: %d without a failed allocation", name, code);
	}
	cr_expect_gt(failed, 1, "%s: allocates", name);
}

#endif
