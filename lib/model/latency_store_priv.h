/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of a latency matrix: arrays of hosts and pairs, hash tables of their positions, and a maximum for each
 * pair of racks. Private matrices grow; shared ones are in a mapped file with a fixed capacity (latency_live.c).
 *
 * One process at a time writes a shared matrix, and any number read it without a lock. Counts and table slots are
 * published by release stores. A sequence lock guards each pair (Boehm, Can seqlocks get along with programming
 * language memory models, 2012). Its data words are atomic, stored with release and loaded with acquire, so that no
 * fence is needed.
 *
 * A full shared matrix evicts a pair for each new one; this moves slots of the table. A reader that does not find a
 * pair searches again if slots moved during its search. It sees this by `moves`, which is a sequence lock.
 */
#ifndef MODEL_LATENCY_STORE_PRIV_H
#define MODEL_LATENCY_STORE_PRIV_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <model/latency_matrix.h>

enum {
	LATENCY_USED = 1, /* flag: the pair was set since latency_store_evict() last checked it */
	LATENCY_HOP_SHIFT = 8,
	LATENCY_WORDS = offsetof(struct latency_entry, hop_us) / 8, /* without the link of a worse path */
	LATENCY_HOP_WORDS = sizeof(struct latency_entry) / 8 - LATENCY_WORDS,
	LATENCY_MAXIMUM_WORDS = sizeof(struct latency_maximum) / 8,
	LATENCY_READ_ATTEMPTS = 1000, /* a writer needs some 20 ns per block; if the block's sequence is still odd after
					 these attempts, the writer is dead */
};

#define LATENCY_LONGEST_US 3.6e9 /* an hour, as in the CSV form: no time of an entry is longer */

_Static_assert(sizeof(struct latency_entry) % 8 == 0 && offsetof(struct latency_entry, hop_us) % 8 == 0, "whole words");
_Static_assert(sizeof(struct latency_maximum) % 8 == 0, "whole words");

/*
 * While the sequence is odd, a writer is changing the block. A private block has the whole entry. A shared one has
 * LATENCY_WORDS of it, and in its flags the number of its row in the table of links: position + 1, 0 = none.
 */
struct latency_block {
	_Atomic uint32_t sequence, flags;
	_Atomic uint64_t words[];
};

/* The link of a worse path: the last words of an entry. */
struct latency_hop_record {
	_Atomic uint32_t owner, unused; /* owner: position + 1 of the last pair that used the row, 0 = none */
	_Atomic uint64_t words[LATENCY_HOP_WORDS];
};

struct latency_maximum_block {
	_Atomic uint32_t sequence, unused;
	union {
		struct latency_maximum maximum;
		_Atomic uint64_t words[LATENCY_MAXIMUM_WORDS];
	};
};

struct latency_host_record {
	char name[LATENCY_NAME_BYTES];
	_Atomic uint32_t rack;   /* LATENCY_NO_RACK = unknown */
	_Atomic uint32_t status; /* enum latency_host_status */
};

struct latency_rack_record {
	char name[LATENCY_NAME_BYTES], pod[LATENCY_NAME_BYTES];
};

/* The mutable part of a store; a shared store keeps it in the file. */
struct latency_counts {
	_Atomic uint32_t hosts, racks;
	_Atomic uint64_t pairs;
	_Atomic uint32_t dirty;        /* a writer has a batch open, or died during a batch */
	_Atomic uint32_t moves;        /* odd while slots of pairs move */
	_Atomic int64_t written_at_ns; /* wall clock, at the end of the last batch */
	_Atomic uint64_t evicted;
	_Atomic uint32_t hand, unused; /* hand: position of the pair that latency_store_evict() checks next */
	_Atomic uint64_t hops_left_out;
};

struct latency_matrix {
	struct latency_counts *counts, own_counts;
	struct latency_host_record *hosts;
	void *blocks;                    /* of block_bytes each */
	struct latency_hop_record *hops; /* only of a shared matrix */
	struct latency_rack_record *racks;
	struct latency_maximum_block *maxima;      /* rack_capacity squared, one for each ordered pair of racks */
	_Atomic uint32_t *host_slots, *pair_slots; /* hash tables: position + 1, 0 = free; at most half full */
	size_t host_capacity, pair_capacity, rack_capacity, hop_capacity, host_slot_count, pair_slot_count, block_bytes;
	/* The rest is only for shared matrices. */
	void *map;
	size_t map_bytes;
	int fd, lock_fd; /* -1 = private; lock_fd: -1 = only for reading */
	bool writable;
	uint32_t reserved;  /* this process allocated disk space for the blocks before this position */
	bool hops_reserved; /* and for the table of links */
};

/* Names end within their record. A name in a damaged file that does not is shown as "?". */
static inline const char *latency_store_name(const char name[LATENCY_NAME_BYTES])
{
	return name[LATENCY_NAME_BYTES - 1] ? "?" : name;
}

/* The number of pairs; the blocks at lower positions are in use. */
static inline size_t latency_store_count(const struct latency_matrix *matrix)
{
	uint64_t pairs = atomic_load_explicit(&matrix->counts->pairs, memory_order_acquire);

	return pairs < matrix->pair_capacity ? pairs : matrix->pair_capacity;
}

static inline struct latency_block *latency_store_block(const struct latency_matrix *matrix, size_t position)
{
	return (void *)((char *)matrix->blocks + position * matrix->block_bytes);
}

static inline uint32_t latency_store_position(const struct latency_matrix *matrix, const struct latency_block *block)
{
	return (uint32_t)((size_t)((const char *)block - (const char *)matrix->blocks) / matrix->block_bytes);
}

/* The entry in its block; in a shared matrix, only the first LATENCY_WORDS of it. */
static inline struct latency_entry *latency_store_entry(const struct latency_matrix *matrix, size_t position)
{
	return (void *)latency_store_block(matrix, position)->words;
}

/* The number of the block's row in the table of links. */
static inline uint32_t latency_block_hop(const struct latency_block *block)
{
	return atomic_load_explicit(&block->flags, memory_order_acquire) >> LATENCY_HOP_SHIFT;
}

void latency_slots_insert(_Atomic uint32_t *slots, size_t slot_count, uint64_t hash, uint32_t position);
void latency_store_insert_host(struct latency_matrix *matrix, uint32_t position);

/* --- latency_store.c: the file of a shared matrix --- */

/*
 * Opens the file of a live matrix. Returns its descriptor, or -1 with err set. Another user must not be able to replace
 * or change the file: it is refused if it is not a regular file, if its group or others may write to it, or if it
 * belongs to another user than us or root. The owner of its folder is trusted, too, if nobody else may write there.
 */
int latency_store_open(const char *path, bool writable, struct error *err);
/*
 * Opens, or creates, the file beside it that writers lock. Only those who may write to the matrix can open it, so that
 * a reader cannot hold the lock. Returns its descriptor, or -1 with err set.
 */
int latency_store_open_lock(const char *path, int matrix_fd, struct error *err);
/* Waits at most 10 s for the lock. Returns 0, or -errno with err set. */
int latency_store_lock(int fd, struct error *err);

/*
 * Allocates disk space for pages before they are written: writing to a page raises SIGBUS if the full disk or tmpfs has
 * no space for it. Returns 0 or -errno.
 */
int latency_store_allocate(int fd, size_t offset, size_t bytes);
/*
 * To be called before the block at `position` is first written: allocates its disk space, and that of the next blocks.
 * Returns 0, or -errno (the disk is full).
 */
int latency_store_reserve(struct latency_matrix *matrix, uint32_t position);
/* Allocates disk space for the table of links before it is first written. Returns 0, or -errno. */
int latency_store_reserve_hops(struct latency_matrix *matrix);
void latency_store_unmap(struct latency_matrix *matrix);

/* --- latency_pairs.c: the table of pairs --- */

void latency_store_insert_pair(struct latency_matrix *matrix, uint32_t position);
/*
 * Returns NULL if the pair is not in the table. At any time a writer may replace the pair in the block by another one,
 * so a reader must copy the block and check the pair in the copy.
 */
struct latency_block *latency_store_find_pair(const struct latency_matrix *matrix, uint32_t source,
					      uint32_t destination);
/*
 * Removes from the table a pair that was not set for a long time, and returns its position. Uses the second-chance
 * (clock) algorithm: a hand goes round the positions, and takes the first pair that was not set since the hand last
 * passed it, or one of whose hosts has left the mesh. There must be at least one pair.
 */
uint32_t latency_store_evict(struct latency_matrix *matrix);
/* Repairs the table after a writer died, so that every pair is in it exactly once. */
void latency_store_repair_pairs(struct latency_matrix *matrix);

/* --- latency_blocks.c: the blocks of pairs --- */

size_t latency_block_bytes(bool shared);
/*
 * Writes an entry into the block at a position. If the table of links has no free row for it, the link is left out and
 * counted.
 */
void latency_store_write(struct latency_matrix *matrix, uint32_t position, const struct latency_entry *entry);
bool latency_block_link_is_valid(const struct latency_entry *entry); /* hop_us and hop_loss are in range */
/* Reads a row of the table of links into the last words of the entry. Returns false if it is damaged. */
bool latency_block_read_hop(const struct latency_matrix *matrix, uint32_t number, struct latency_entry *entry);

/* Write or read the `count` words of a block under its sequence lock. */
void latency_block_write(_Atomic uint32_t *sequence, _Atomic uint64_t *words, const void *from, size_t count);
/* Inline and unrolled: a load then takes some ns less. */
static inline void latency_load_words(const _Atomic uint64_t *words, void *into, size_t count)
{
#pragma GCC unroll 16
	for (size_t i = 0; i < count; i++) {
		uint64_t word = atomic_load_explicit(&words[i], memory_order_acquire);

		memcpy((char *)into + 8 * i, &word, 8);
	}
}

/*
 * Returns false if the block did not become consistent within LATENCY_READ_ATTEMPTS. Inline, so that the compiler knows
 * the number of words.
 */
static inline bool latency_block_read(const _Atomic uint32_t *sequence, const _Atomic uint64_t *words, void *into,
				      size_t count)
{
	for (int attempt = 0; attempt < LATENCY_READ_ATTEMPTS; attempt++) {
		uint32_t before = atomic_load_explicit(sequence, memory_order_acquire);

		latency_load_words(words, into, count);
		if (!(before & 1) && atomic_load_explicit(sequence, memory_order_relaxed) == before)
			return true;
	}
	return false;
}

/*
 * Makes a consistent copy of an entry. Returns false if a writer died while it wrote the block, or if the block is
 * damaged.
 */
static inline bool latency_store_read(const struct latency_matrix *matrix, const struct latency_block *block,
				      struct latency_entry *entry)
{
	if (matrix->fd < 0) {
		memcpy(entry, (const void *)block->words, sizeof *entry);
		return true;
	}
	for (int attempt = 0; attempt < LATENCY_READ_ATTEMPTS; attempt++) {
		uint32_t before = atomic_load_explicit(&block->sequence, memory_order_acquire);
		uint32_t number = latency_block_hop(block);
		bool whole = true;

		latency_load_words(block->words, entry, LATENCY_WORDS);
		if (number)
			whole = latency_block_read_hop(matrix, number, entry);
		else
			memset((char *)entry + 8 * LATENCY_WORDS, 0, 8 * LATENCY_HOP_WORDS);
		if (!(before & 1) && atomic_load_explicit(&block->sequence, memory_order_relaxed) == before)
			return whole;
	}
	return false;
}

#endif
