/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many small arrays that grow and are freed together: pieces of 2^k 16-byte units out of large chunks, with a free list
 * per size. An arc list costs a pointer bump, and lists of one solver are close together. Not shared between threads.
 */
#ifndef STRUCTURED_ARENA_H
#define STRUCTURED_ARENA_H

#include <stdint.h>

enum { ARENA_CLASSES = 32 };

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks;
	char *next;
	uint64_t left_bytes;
	uint64_t total_bytes;
	void *spare[ARENA_CLASSES]; /* chained through their first word */
};

/*
 * Makes `items` hold at least `needed` items of `item_bytes`, keeping the first `used`; updates *room. Returns the
 * piece, or NULL without memory (the old piece stays).
 */
void *arena_grow(struct arena *arena, void *items, int32_t *room, int32_t used, int32_t needed, uint32_t item_bytes);
void arena_release(struct arena *arena, void *items, int32_t room, uint32_t item_bytes);
void arena_free(struct arena *arena);

#endif
