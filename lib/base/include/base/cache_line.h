/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that begins at a cache line, so that fields that are used together can share one. */
#ifndef BASE_CACHE_LINE_H
#define BASE_CACHE_LINE_H

#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 }; /* bytes */

/* Returns `bytes` zero bytes that begin at a cache line, or NULL if out of memory. Free them with free(). */
static inline void *cache_aligned_zeros(size_t bytes)
{
	size_t lines = (bytes + CACHE_LINE - 1) / CACHE_LINE;
	void *memory = aligned_alloc(CACHE_LINE, lines * CACHE_LINE);

	return memory ? memset(memory, 0, bytes) : NULL;
}

#endif
