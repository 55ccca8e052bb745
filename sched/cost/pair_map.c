/* SPDX-License-Identifier: BSD-3-Clause */
#include "cost_priv.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

/* Returns the slot of the key, or the free slot where it belongs. */
static uint32_t place_of(const struct pair_map *map, uint64_t key)
{
	uint32_t mask = map->capacity - 1;
	uint32_t place = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;

	while (map->keys[place] != 0 && map->keys[place] != key)
		place = (place + 1) & mask;
	return place;
}

int pair_map_init(struct pair_map *map, uint32_t limit)
{
	*map = (struct pair_map){.limit = limit};
	if (limit > PAIR_MAP_SQUARE_LIMIT)
		return 0;
	map->square = malloc(((size_t)limit * limit + 1) * sizeof *map->square);
	if (!map->square)
		return -ENOMEM;
	for (size_t i = 0; i < (size_t)limit * limit; i++)
		map->square[i] = -1;
	return 0;
}

float pair_map_get(const struct pair_map *map, uint32_t a, uint32_t b)
{
	uint64_t key = pair_key(a, b);
	uint32_t place;

	if (map->square)
		return map->square[(size_t)a * map->limit + b];
	if (map->used == 0)
		return -1;
	place = place_of(map, key);
	return map->keys[place] == key ? map->values[place] : -1;
}

static int grow(struct pair_map *map)
{
	struct pair_map larger = {
		.limit = map->limit, .capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY, .used = map->used};

	larger.keys = calloc(larger.capacity, sizeof *larger.keys);
	larger.values = calloc(larger.capacity, sizeof *larger.values);
	if (!larger.keys || !larger.values) {
		pair_map_free(&larger);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < map->capacity; i++) {
		uint32_t place;

		if (map->keys[i] == 0)
			continue;
		place = place_of(&larger, map->keys[i]);
		larger.keys[place] = map->keys[i];
		larger.values[place] = map->values[i];
	}
	pair_map_free(map);
	*map = larger;
	return 0;
}

int pair_map_set(struct pair_map *map, uint32_t a, uint32_t b, float value)
{
	uint64_t key = pair_key(a, b);
	uint32_t place;

	if (map->square) {
		map->square[(size_t)a * map->limit + b] = value;
		map->square[(size_t)b * map->limit + a] = value;
		return 0;
	}
	if (map->used * 2 >= map->capacity && grow(map) != 0)
		return -ENOMEM;
	place = place_of(map, key);
	if (map->keys[place] == 0) {
		map->keys[place] = key;
		map->used++;
	}
	map->values[place] = value;
	return 0;
}

int pair_map_grow(struct pair_map *map, uint32_t limit)
{
	struct pair_map larger;

	if (limit <= map->limit)
		return 0;
	if (!map->square && map->capacity > 0) {
		map->limit = limit;
		return 0;
	}
	if (pair_map_init(&larger, limit + limit / 4) != 0)
		return -ENOMEM;
	for (uint32_t a = 0; a < map->limit; a++) {
		for (uint32_t b = a; b < map->limit; b++) {
			float value = pair_map_get(map, a, b);

			if (value >= 0 && pair_map_set(&larger, a, b, value) != 0) {
				pair_map_free(&larger);
				return -ENOMEM;
			}
		}
	}
	pair_map_free(map);
	*map = larger;
	return 0;
}

void pair_map_free(struct pair_map *map)
{
	free(map->square);
	free(map->keys);
	free(map->values);
	*map = (struct pair_map){0};
}
