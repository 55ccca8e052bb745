/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "structured_arena.h"

enum { UNIT_BYTES = 16, CHUNK_BYTES = 1 << 20 };

/* Beyond LARGE_FROM, chunks use huge pages: searches access pieces at random. */
enum { LARGE_FROM = 1 << 20, LARGE_CHUNK_BYTES = 4 << 20, LARGE_PAGE_BYTES = 2 << 20 };

struct arena_chunk {
	struct arena_chunk *next;
	uint64_t padding; /* pieces stay aligned to 16 */
	char bytes[];
};

static int piece_class(uint64_t bytes, uint64_t *piece_bytes)
{
	uint64_t units = (bytes + UNIT_BYTES - 1) / UNIT_BYTES;
	int class = units <= 1 ? 0 : 64 - __builtin_clzll(units - 1);

	*piece_bytes = (UINT64_C(1) << class) * UNIT_BYTES;
	return class;
}

/* A chunk for a piece of `piece_bytes`; *chunk_bytes is its capacity. */
static struct arena_chunk *chunk_take(const struct arena *arena, uint64_t piece_bytes, uint64_t *chunk_bytes)
{
	bool large = arena->total_bytes >= LARGE_FROM;
	uint64_t least_bytes = large ? LARGE_CHUNK_BYTES - sizeof(struct arena_chunk) : CHUNK_BYTES;
	struct arena_chunk *chunk;

	*chunk_bytes = piece_bytes > least_bytes ? piece_bytes : least_bytes;
	if (!large || piece_bytes > least_bytes)
		return malloc(sizeof(*chunk) + *chunk_bytes);
	chunk = aligned_alloc(LARGE_PAGE_BYTES, LARGE_CHUNK_BYTES);
	if (chunk)
		(void)madvise(chunk, LARGE_CHUNK_BYTES, MADV_HUGEPAGE); /* harmless where huge pages are off */
	return chunk;
}

static void *piece_take(struct arena *arena, uint64_t bytes, uint64_t *piece_bytes)
{
	int class = piece_class(bytes, piece_bytes);
	void *piece = arena->spare[class];

	if (piece) {
		memcpy(&arena->spare[class], piece, sizeof(void *));
		return piece;
	}
	if (arena->left_bytes < *piece_bytes) {
		uint64_t chunk_bytes;
		struct arena_chunk *chunk = chunk_take(arena, *piece_bytes, &chunk_bytes);

		if (!chunk)
			return NULL;
		chunk->next = arena->chunks;
		arena->chunks = chunk;
		arena->next = chunk->bytes;
		arena->left_bytes = chunk_bytes;
		arena->total_bytes += chunk_bytes;
	}
	piece = arena->next;
	arena->next += *piece_bytes;
	arena->left_bytes -= *piece_bytes;
	return piece;
}

void arena_release(struct arena *arena, void *items, int32_t room, uint32_t item_bytes)
{
	uint64_t piece_bytes;

	if (!items)
		return;
	int class = piece_class((uint64_t)room * item_bytes, &piece_bytes);

	memcpy(items, &arena->spare[class], sizeof(void *));
	arena->spare[class] = items;
}

void *arena_grow(struct arena *arena, void *items, int32_t *room, int32_t used, int32_t needed, uint32_t item_bytes)
{
	uint64_t piece_bytes;

	if (needed <= *room)
		return items;
	void *piece = piece_take(arena, (uint64_t)needed * item_bytes, &piece_bytes);

	if (!piece)
		return NULL;
	if (used > 0)
		memcpy(piece, items, (uint64_t)used * item_bytes);
	arena_release(arena, items, *room, item_bytes);
	*room = (int32_t)(piece_bytes / item_bytes);
	return piece;
}

void arena_free(struct arena *arena)
{
	for (struct arena_chunk *next, *chunk = arena->chunks; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	memset(arena, 0, sizeof(*arena));
}
