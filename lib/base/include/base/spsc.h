/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bounded queue without locks: one thread puts items in, and one other thread takes them out (Lamport 1983, with C11
 * acquire and release). Items are copied. Neither thread ever waits or allocates memory: spsc_put() fails if the queue
 * is full.
 */
#ifndef BASE_SPSC_H
#define BASE_SPSC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 }; /* bytes */

/*
 * Returns `bytes` zero bytes that begin at a cache line, so that fields that are used together can share one, or NULL
 * if out of memory. Free them with free().
 */
static inline void *cache_aligned_zeros(size_t bytes)
{
	size_t lines = (bytes + CACHE_LINE - 1) / CACHE_LINE;
	void *memory = aligned_alloc(CACHE_LINE, lines * CACHE_LINE);

	return memory ? memset(memory, 0, bytes) : NULL;
}

struct spsc {
	_Alignas(CACHE_LINE) _Atomic size_t put;  /* number of items put so far; written by the putting thread */
	_Alignas(CACHE_LINE) _Atomic size_t take; /* number of items taken so far; written by the taking thread */
	_Alignas(CACHE_LINE) size_t mask, item_bytes;
	uint8_t items[];
};

/* `capacity` is rounded up to a power of two. NULL: out of memory. Free with free(). */
static inline struct spsc *spsc_create(size_t capacity, size_t item_bytes)
{
	size_t size = 1;
	struct spsc *queue;

	while (size < capacity)
		size *= 2;
	queue = (struct spsc *)cache_aligned_zeros(sizeof *queue + size * item_bytes);
	if (!queue)
		return NULL;
	queue->mask = size - 1;
	queue->item_bytes = item_bytes;
	return queue;
}

/* Returns false if the queue is full. */
static inline bool spsc_put(struct spsc *queue, const void *item)
{
	size_t at = atomic_load_explicit(&queue->put, memory_order_relaxed);

	if (at - atomic_load_explicit(&queue->take, memory_order_acquire) > queue->mask)
		return false;
	memcpy(queue->items + (at & queue->mask) * queue->item_bytes, item, queue->item_bytes);
	atomic_store_explicit(&queue->put, at + 1, memory_order_release);
	return true;
}

/* Returns false if the queue is empty. */
static inline bool spsc_take(struct spsc *queue, void *item)
{
	size_t at = atomic_load_explicit(&queue->take, memory_order_relaxed);

	if (at == atomic_load_explicit(&queue->put, memory_order_acquire))
		return false;
	memcpy(item, queue->items + (at & queue->mask) * queue->item_bytes, queue->item_bytes);
	atomic_store_explicit(&queue->take, at + 1, memory_order_release);
	return true;
}

#endif
