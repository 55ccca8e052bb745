/* SPDX-License-Identifier: BSD-3-Clause */
/* The QR of qr_template_priv.h in double (factorise_double, ...) and in long double (factorise_extended, ...). */
#ifndef FITTING_QR_PRIV_H
#define FITTING_QR_PRIV_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Places many arrays in one block: lay the arrays out with a NULL block to count the bytes, allocate, then lay them out
 * again.
 */

struct arena {
	char *block;
	size_t used;
	bool overflow;
};

/* Returns the next array, at a multiple of 64 bytes from the block's start; NULL while counting. */
static inline void *arena_take(struct arena *arena, size_t count, size_t size)
{
	size_t bytes, start = arena->used;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4 || start > SIZE_MAX / 4) {
		arena->overflow = true;
		return NULL;
	}
	arena->used = (start + bytes + 63) & ~(size_t)63;
	return arena->block ? arena->block + start : NULL;
}

#define QR_REAL double
#define QR_SQRT sqrt
#define QR_NAME(name) name##_double
#include "qr_template_priv.h"
#undef QR_REAL
#undef QR_SQRT
#undef QR_NAME

#define QR_REAL long double
#define QR_SQRT sqrtl
#define QR_NAME(name) name##_extended
#include "qr_template_priv.h"
#undef QR_REAL
#undef QR_SQRT
#undef QR_NAME

#endif
