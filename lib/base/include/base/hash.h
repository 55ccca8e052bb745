/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hashes that are the same on every machine and in every version, so that files may hold them. Not cryptographic. Pure.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, 64 bits (Fowler, Noll, Vo): start with HASH_FNV_START and add each item. */
#define HASH_FNV_START UINT64_C(0xcbf29ce484222325)

/*
 * Adds one item: a byte, or a larger number in a single step. The bytes of the number, added one by one, would give a
 * different hash.
 */
static inline uint64_t hash_fnv_add(uint64_t hash, uint64_t item)
{
	return (hash ^ item) * UINT64_C(0x100000001b3);
}

static inline uint64_t hash_fnv_bytes(uint64_t hash, const void *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		hash = hash_fnv_add(hash, ((const unsigned char *)bytes)[i]);
	return hash;
}

/* Hash of a string, without its NUL. */
static inline uint64_t hash_text(const char *text)
{
	uint64_t hash = HASH_FNV_START;

	for (; *text; text++)
		hash = hash_fnv_add(hash, (unsigned char)*text);
	return hash;
}

/* Mixes 64 bits, one to one (the finaliser of MurmurHash3): each bit of the result depends on every bit of x. */
static inline uint64_t hash_mix(uint64_t x)
{
	x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
	x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

#endif
