/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores a float for each unordered pair of numbers 0..limit-1. If `limit` is small, it uses a square matrix, whose
 * rows are contiguous; otherwise a hash table (open addressing, linear probing). Absent pairs read as a negative
 * number. Only one thread may write, and nobody may read meanwhile.
 */
#ifndef COST_PAIR_MAP_H
#define COST_PAIR_MAP_H

#include <stddef.h>
#include <stdint.h>

enum { PAIR_MAP_SQUARE_LIMIT = 2048 }; /* 16 MiB */

struct pair_map {
	float *square; /* [limit * limit] or NULL */
	uint32_t limit;
	uint64_t *keys; /* [capacity] 0 = free slot; otherwise pair_key() of the pair */
	float *values;
	uint32_t used, capacity; /* capacity: slots, a power of two, of which at most half are used */
};

static inline uint64_t pair_key(uint32_t a, uint32_t b)
{
	return (a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a) + 1;
}

/*
 * Returns the values of the pairs that contain `a`, indexed by the other number; NULL if the map is a hash table: use
 * pair_map_get().
 */
static inline const float *pair_map_row(const struct pair_map *map, uint32_t a)
{
	return map->square ? map->square + (size_t)a * map->limit : NULL;
}

int pair_map_init(struct pair_map *map, uint32_t limit); /* 0 or -ENOMEM */
int pair_map_grow(struct pair_map *map, uint32_t limit); /* 0 or -ENOMEM; reserves a quarter more than `limit` */
float pair_map_get(const struct pair_map *map, uint32_t a, uint32_t b);
int pair_map_set(struct pair_map *map, uint32_t a, uint32_t b, float value); /* 0 or -ENOMEM */
void pair_map_free(struct pair_map *map);

#endif
