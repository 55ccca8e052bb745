/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of pairs: open addressing with linear probing (Knuth, TAOCP 3, section 6.4). */
#include <string.h>

#include <base/hash.h>
#include <model/latency_live.h>

#include "latency_store_priv.h"

void latency_slots_insert(_Atomic uint32_t *slots, size_t slot_count, uint64_t hash, uint32_t position)
{
	size_t slot = hash & (slot_count - 1);

	/* A table that is full is damaged: the entry replaces another one. */
	for (size_t step = 0; step < slot_count && atomic_load_explicit(&slots[slot], memory_order_relaxed); step++)
		slot = (slot + 1) & (slot_count - 1);
	atomic_store_explicit(&slots[slot], position + 1, memory_order_release);
}

/*
 * Reads the source and destination of a block. Both are in words[0], so that they are always read and written together.
 */
static void pair_of(const struct latency_block *block, uint32_t hosts[2])
{
	uint64_t word = atomic_load_explicit(&block->words[0], memory_order_relaxed);

	memcpy(hosts, &word, 2 * sizeof *hosts);
}

static uint64_t hash_pair(uint32_t source, uint32_t destination)
{
	return hash_mix((uint64_t)source << 32 | destination);
}

/*
 * Returns the slot that holds the pair's position, or -1. A shared file may be damaged: the table may be full or have
 * wrong positions.
 */
static int64_t find_slot(const struct latency_matrix *matrix, uint32_t source, uint32_t destination)
{
	size_t mask = matrix->pair_slot_count - 1, slot = hash_pair(source, destination) & mask;

	for (size_t step = 0; step < matrix->pair_slot_count; step++, slot = (slot + 1) & mask) {
		uint32_t position = atomic_load_explicit(&matrix->pair_slots[slot], memory_order_acquire), hosts[2];

		if (!position)
			return -1;
		if (position > matrix->pair_capacity)
			continue;
		pair_of(latency_store_block(matrix, position - 1), hosts);
		if (hosts[0] == source && hosts[1] == destination)
			return (int64_t)slot;
	}
	return -1;
}

struct latency_block *latency_store_find_pair(const struct latency_matrix *matrix, uint32_t source,
					      uint32_t destination)
{
	for (int attempt = 0; attempt < LATENCY_READ_ATTEMPTS; attempt++) {
		uint32_t moves = atomic_load_explicit(&matrix->counts->moves, memory_order_acquire), position;
		int64_t slot = find_slot(matrix, source, destination);

		if (slot >= 0) {
			position = atomic_load_explicit(&matrix->pair_slots[slot], memory_order_acquire);
			if (position && position <= matrix->pair_capacity)
				return latency_store_block(matrix, position - 1);
		} else if (!(moves & 1) &&
			   atomic_load_explicit(&matrix->counts->moves, memory_order_relaxed) == moves) {
			return NULL;
		}
	}
	return NULL;
}

void latency_store_insert_pair(struct latency_matrix *matrix, uint32_t position)
{
	uint32_t hosts[2];

	pair_of(latency_store_block(matrix, position), hosts);
	latency_slots_insert(matrix->pair_slots, matrix->pair_slot_count, hash_pair(hosts[0], hosts[1]), position);
}

/*
 * Empties a slot, which becomes the hole (Knuth, vol. 3, 6.4, algorithm R). Each later entry of the run moves into the
 * hole, and its old slot becomes the hole, unless its home slot is after the hole. An entry is copied before its old
 * slot is cleared, so that its pair is always in the table.
 */
static void close_hole(struct latency_matrix *matrix, size_t hole)
{
	size_t mask = matrix->pair_slot_count - 1, slot = hole;

	for (size_t step = 0; step < matrix->pair_slot_count; step++) {
		uint32_t position, hosts[2];

		slot = (slot + 1) & mask;
		position = atomic_load_explicit(&matrix->pair_slots[slot], memory_order_relaxed);
		if (!position)
			break;
		if (position > matrix->pair_capacity)
			continue;
		pair_of(latency_store_block(matrix, position - 1), hosts);
		if (((slot - hash_pair(hosts[0], hosts[1])) & mask) < ((slot - hole) & mask))
			continue;
		atomic_store_explicit(&matrix->pair_slots[hole], position, memory_order_release);
		hole = slot;
	}
	atomic_store_explicit(&matrix->pair_slots[hole], 0, memory_order_release);
}

static void remove_slot(struct latency_matrix *matrix, size_t slot)
{
	uint32_t moves = atomic_load_explicit(&matrix->counts->moves, memory_order_relaxed) & ~1U;

	atomic_store_explicit(&matrix->counts->moves, moves + 1, memory_order_relaxed);
	close_hole(matrix, slot);
	atomic_store_explicit(&matrix->counts->moves, moves + 2, memory_order_release);
}

static bool has_left(const struct latency_matrix *matrix, uint32_t host)
{
	return host < matrix->host_capacity &&
	       host < atomic_load_explicit(&matrix->counts->hosts, memory_order_acquire) &&
	       atomic_load_explicit(&matrix->hosts[host].status, memory_order_acquire) == LATENCY_HOST_GONE;
}

uint32_t latency_store_evict(struct latency_matrix *matrix)
{
	uint32_t count = (uint32_t)latency_store_count(matrix), hosts[2];
	uint32_t position = atomic_load_explicit(&matrix->counts->hand, memory_order_relaxed) % count;
	int64_t slot;

	for (;; position = (position + 1) % count) {
		struct latency_block *block = latency_store_block(matrix, position);

		pair_of(block, hosts);
		if (!(atomic_load_explicit(&block->flags, memory_order_relaxed) & LATENCY_USED) ||
		    has_left(matrix, hosts[0]) || has_left(matrix, hosts[1]))
			break;
		atomic_fetch_and_explicit(&block->flags, ~(uint32_t)LATENCY_USED, memory_order_relaxed);
	}
	slot = find_slot(matrix, hosts[0], hosts[1]);
	if (slot >= 0)
		remove_slot(matrix, (size_t)slot);
	atomic_store_explicit(&matrix->counts->hand, (position + 1) % count, memory_order_relaxed);
	atomic_fetch_add_explicit(&matrix->counts->evicted, 1, memory_order_relaxed);
	return position;
}

void latency_store_repair_pairs(struct latency_matrix *matrix)
{
	uint32_t count = (uint32_t)latency_store_count(matrix), hosts[2];

	for (size_t slot = 0; slot < matrix->pair_slot_count; slot++) {
		uint32_t position;

		/*
		 * A slot is wrong if its block is not in use, if its block now holds another pair, or if the pair is in
		 * the table twice. Empty the slot, then check the entry that moves into it, if any.
		 */
		while ((position = atomic_load_explicit(&matrix->pair_slots[slot], memory_order_relaxed)) != 0) {
			if (position <= count) {
				pair_of(latency_store_block(matrix, position - 1), hosts);
				if (find_slot(matrix, hosts[0], hosts[1]) == (int64_t)slot)
					break;
			}
			remove_slot(matrix, slot);
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		pair_of(latency_store_block(matrix, i), hosts);
		if (find_slot(matrix, hosts[0], hosts[1]) < 0)
			latency_store_insert_pair(matrix, i);
	}
}
