/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places many arrays in one block: lay the arrays out with a NULL block to count the bytes, allocate, then lay them out
 * again.
 */
#ifndef FITTING_ARENA_PRIV_H
#define FITTING_ARENA_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
