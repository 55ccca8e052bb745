/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The blocks of pairs. A private matrix keeps each entry whole. A shared one keeps the link of a worse path, which few
 * pairs have, in a table of its own: each row of this table names the block that uses it, and is free if that block
 * does not name the row in return. A killed writer thus leaves nothing to repair.
 */
#include "latency_store_priv.h"

enum { HOP_PROBES = 16 }; /* rows of the table of links that are looked at for a free one */

size_t latency_block_bytes(bool shared)
{
	size_t words = shared ? LATENCY_WORDS : LATENCY_WORDS + LATENCY_HOP_WORDS;

	return sizeof(struct latency_block) + words * sizeof(uint64_t);
}

static void store_words(_Atomic uint64_t *words, const void *from, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t word;

		memcpy(&word, (const char *)from + 8 * i, 8);
		atomic_store_explicit(&words[i], word, memory_order_release);
	}
}

void latency_block_write(_Atomic uint32_t *sequence, _Atomic uint64_t *words, const void *from, size_t count)
{
	uint32_t before = atomic_load_explicit(sequence, memory_order_relaxed) & ~1U;

	atomic_store_explicit(sequence, before + 1, memory_order_relaxed);
	store_words(words, from, count);
	atomic_store_explicit(sequence, before + 2, memory_order_release);
}

static bool is_free(const struct latency_matrix *matrix, uint32_t row, uint32_t position)
{
	uint32_t owner = atomic_load_explicit(&matrix->hops[row].owner, memory_order_relaxed);

	return !owner || owner == position + 1 || owner > matrix->pair_capacity ||
	       latency_block_hop(latency_store_block(matrix, owner - 1)) != row + 1;
}

/* Finds a row for the link of a pair. Returns its number, or 0 if the rows that this pair may use are taken. */
static uint32_t take_hop(struct latency_matrix *matrix, uint32_t position)
{
	size_t row = matrix->hop_capacity ? position % matrix->hop_capacity : 0;

	if (!matrix->hop_capacity || latency_store_reserve_hops(matrix))
		return 0;
	for (int i = 0; i < HOP_PROBES; i++, row = (row + 1) % matrix->hop_capacity)
		if (is_free(matrix, (uint32_t)row, position))
			return (uint32_t)row + 1;
	return 0;
}

/*
 * Writes the link into a row while the sequence of its block is odd, so that the block's sequence guards the row, too.
 * Returns the row's number, or 0.
 */
static uint32_t write_hop(struct latency_matrix *matrix, struct latency_block *block, uint32_t position,
			  const struct latency_entry *entry)
{
	uint32_t number = take_hop(matrix, position);

	if (!number) {
		atomic_fetch_add_explicit(&matrix->counts->hops_left_out, 1, memory_order_relaxed);
		return 0;
	}
	atomic_fetch_or_explicit(&block->sequence, 1, memory_order_relaxed);
	atomic_store_explicit(&matrix->hops[number - 1].owner, position + 1, memory_order_relaxed);
	store_words(matrix->hops[number - 1].words, (const char *)entry + 8 * LATENCY_WORDS, LATENCY_HOP_WORDS);
	return number;
}

void latency_store_write(struct latency_matrix *matrix, uint32_t position, const struct latency_entry *entry)
{
	struct latency_block *block = latency_store_block(matrix, position);
	uint32_t number, before;

	if (matrix->fd < 0) {
		memcpy((void *)block->words, entry, sizeof *entry);
		return;
	}
	number = entry->hop ? write_hop(matrix, block, position, entry) : 0;
	before = atomic_load_explicit(&block->sequence, memory_order_relaxed) & ~1U;
	atomic_store_explicit(&block->sequence, before + 1, memory_order_relaxed);
	atomic_store_explicit(&block->flags, number << LATENCY_HOP_SHIFT | LATENCY_USED, memory_order_release);
	store_words(block->words, entry, LATENCY_WORDS);
	atomic_store_explicit(&block->sequence, before + 2, memory_order_release);
}

bool latency_block_link_is_valid(const struct latency_entry *entry)
{
	return entry->hop_us >= 0 && (double)entry->hop_us <= LATENCY_LONGEST_US && entry->hop_loss >= 0 &&
	       entry->hop_loss <= 1;
}

bool latency_block_read_hop(const struct latency_matrix *matrix, uint32_t number, struct latency_entry *entry)
{
	if (number > matrix->hop_capacity) /* the file is damaged */
		return false;
	latency_load_words(matrix->hops[number - 1].words, (char *)entry + 8 * LATENCY_WORDS, LATENCY_HOP_WORDS);
	return latency_block_link_is_valid(entry);
}
