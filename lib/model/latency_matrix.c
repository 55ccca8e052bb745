/* SPDX-License-Identifier: BSD-3-Clause */
/* Storage of the mesh: hosts and pairs in arrays, found through two open-addressing tables of positions. */
#include <model/latency_matrix.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/name.h>

/* Slots hold position + 1, 0 = free; capacity is a power of two and at most half full. */
struct position_table {
	uint32_t *slots;
	size_t capacity;
};

struct latency_matrix {
	char (*names)[LATENCY_NAME_BYTES];
	size_t host_count, host_capacity;
	struct latency_entry *entries;
	size_t entry_count, entry_capacity;
	struct position_table by_name, by_pair;
};

static uint64_t hash_mix(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ (x >> 33);
}

static uint64_t hash_name(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return hash_mix(hash);
}

static uint64_t hash_pair(uint32_t source, uint32_t destination)
{
	return hash_mix((uint64_t)source << 32 | destination);
}

static void table_insert(struct position_table *table, uint64_t hash, size_t position)
{
	size_t slot = hash & (table->capacity - 1);

	while (table->slots[slot])
		slot = (slot + 1) & (table->capacity - 1);
	table->slots[slot] = (uint32_t)(position + 1);
}

/* Makes room for one more than `count` positions; `*grown` tells the caller to insert them all again. */
static int table_reserve(struct position_table *table, size_t count, int *grown)
{
	size_t capacity = table->capacity ? table->capacity * 2 : 64;
	uint32_t *slots;

	*grown = 0;
	if ((count + 1) * 2 <= table->capacity)
		return 0;
	if (count + 1 >= UINT32_MAX)
		return -EOVERFLOW;
	slots = calloc(capacity, sizeof *slots);
	if (!slots)
		return -ENOMEM;
	free(table->slots);
	table->slots = slots;
	table->capacity = capacity;
	*grown = 1;
	return 0;
}

struct latency_matrix *latency_matrix_create(void)
{
	return calloc(1, sizeof(struct latency_matrix));
}

void latency_matrix_destroy(struct latency_matrix *matrix)
{
	if (!matrix)
		return;
	free(matrix->names);
	free(matrix->entries);
	free(matrix->by_name.slots);
	free(matrix->by_pair.slots);
	free(matrix);
}

size_t latency_matrix_hosts(const struct latency_matrix *matrix)
{
	return matrix->host_count;
}

const char *latency_matrix_host(const struct latency_matrix *matrix, uint32_t host)
{
	return host < matrix->host_count ? matrix->names[host] : NULL;
}

int64_t latency_matrix_find_host(const struct latency_matrix *matrix, const char *name)
{
	const struct position_table *table = &matrix->by_name;

	if (!table->capacity)
		return -ENOENT;
	for (size_t slot = hash_name(name) & (table->capacity - 1); table->slots[slot];
	     slot = (slot + 1) & (table->capacity - 1))
		if (strcmp(matrix->names[table->slots[slot] - 1], name) == 0)
			return table->slots[slot] - 1;
	return -ENOENT;
}

int64_t latency_matrix_add_host(struct latency_matrix *matrix, const char *name)
{
	int64_t found = latency_matrix_find_host(matrix, name);
	char(*names)[LATENCY_NAME_BYTES];
	int grown, code;

	if (found >= 0)
		return found;
	if (!name_is_valid(name, LATENCY_NAME_BYTES))
		return -EINVAL;
	names = array_grow(matrix->names, matrix->host_count, &matrix->host_capacity, sizeof *names);
	if (!names)
		return -ENOMEM;
	matrix->names = names;
	code = table_reserve(&matrix->by_name, matrix->host_count, &grown);
	if (code)
		return code;
	strcpy(matrix->names[matrix->host_count], name);
	for (size_t i = grown ? 0 : matrix->host_count; i <= matrix->host_count; i++)
		table_insert(&matrix->by_name, hash_name(matrix->names[i]), i);
	return (int64_t)matrix->host_count++;
}

size_t latency_matrix_count(const struct latency_matrix *matrix)
{
	return matrix->entry_count;
}

const struct latency_entry *latency_matrix_at(const struct latency_matrix *matrix, size_t position)
{
	return position < matrix->entry_count ? &matrix->entries[position] : NULL;
}

static struct latency_entry *find_entry(const struct latency_matrix *matrix, uint32_t source, uint32_t destination)
{
	const struct position_table *table = &matrix->by_pair;
	struct latency_entry *entry;

	if (!table->capacity)
		return NULL;
	for (size_t slot = hash_pair(source, destination) & (table->capacity - 1); table->slots[slot];
	     slot = (slot + 1) & (table->capacity - 1)) {
		entry = &matrix->entries[table->slots[slot] - 1];
		if (entry->source == source && entry->destination == destination)
			return entry;
	}
	return NULL;
}

const struct latency_entry *latency_matrix_get(const struct latency_matrix *matrix, uint32_t source,
					       uint32_t destination)
{
	return find_entry(matrix, source, destination);
}

const struct latency_entry *latency_matrix_lookup(const struct latency_matrix *matrix, const char *source,
						  const char *destination)
{
	int64_t from = latency_matrix_find_host(matrix, source);
	int64_t to = latency_matrix_find_host(matrix, destination);

	if (from < 0 || to < 0)
		return NULL;
	return find_entry(matrix, (uint32_t)from, (uint32_t)to);
}

/* The invariants of a row; the parser has said which field is wrong before it comes here. */
static int entry_is_valid(const struct latency_entry *entry)
{
	if (!(entry->loss >= 0 && entry->loss <= 1) || entry->updated_at.v < 0)
		return 0;
	if (entry->samples == 0)
		return isnan(entry->rtt_p50_us) && isnan(entry->rtt_p99_us) && isnan(entry->rtt_max_us);
	return entry->rtt_p50_us >= 0 && entry->rtt_p50_us <= entry->rtt_p99_us &&
	       entry->rtt_p99_us <= entry->rtt_max_us && isfinite(entry->rtt_max_us);
}

int latency_matrix_set(struct latency_matrix *matrix, const struct latency_entry *entry)
{
	struct latency_entry *old, *entries;
	int grown, code;

	if (entry->source >= matrix->host_count || entry->destination >= matrix->host_count || !entry_is_valid(entry))
		return -EINVAL;
	old = find_entry(matrix, entry->source, entry->destination);
	if (old) {
		*old = *entry;
		return 0;
	}
	entries = array_grow(matrix->entries, matrix->entry_count, &matrix->entry_capacity, sizeof *entries);
	if (!entries)
		return -ENOMEM;
	matrix->entries = entries;
	code = table_reserve(&matrix->by_pair, matrix->entry_count, &grown);
	if (code)
		return code;
	matrix->entries[matrix->entry_count] = *entry;
	for (size_t i = grown ? 0 : matrix->entry_count; i <= matrix->entry_count; i++)
		table_insert(&matrix->by_pair, hash_pair(matrix->entries[i].source, matrix->entries[i].destination), i);
	matrix->entry_count++;
	return 0;
}

/* fmax() takes the number where the other is NAN, which is what a pair without an answer has. */
static void merge_worst(struct latency_entry *into, const struct latency_entry *from)
{
	into->rtt_p50_us = fmax(into->rtt_p50_us, from->rtt_p50_us);
	into->rtt_p99_us = fmax(into->rtt_p99_us, from->rtt_p99_us);
	into->rtt_max_us = fmax(into->rtt_max_us, from->rtt_max_us);
	into->loss = fmax(into->loss, from->loss);
	into->samples += from->samples;
	if (from->updated_at.v > into->updated_at.v)
		into->updated_at = from->updated_at;
}

static int merge_entry(struct latency_matrix *into, struct latency_entry entry, enum latency_merge how,
		       struct error *err)
{
	struct latency_entry *old = find_entry(into, entry.source, entry.destination);
	int code;

	if (old && how == LATENCY_MERGE_REFUSE)
		return error_set(err, EEXIST, "the pair %s -> %s is in two of the files; say which is to stay",
				 into->names[entry.source], into->names[entry.destination]);
	if (old && how == LATENCY_MERGE_WORST) {
		merge_worst(old, &entry);
		return 0;
	}
	if (old && old->updated_at.v > entry.updated_at.v)
		return 0;
	code = latency_matrix_set(into, &entry);
	return code ? error_set(err, -code, "cannot add a pair: %s", strerror(-code)) : 0;
}

int latency_matrix_merge(struct latency_matrix *into, const struct latency_matrix *from, enum latency_merge how,
			 struct error *err)
{
	for (size_t i = 0; i < from->entry_count; i++) {
		struct latency_entry entry = from->entries[i];
		int64_t source = latency_matrix_add_host(into, from->names[entry.source]);
		int64_t destination = latency_matrix_add_host(into, from->names[entry.destination]);
		int code;

		if (source < 0 || destination < 0)
			return error_set(err, ENOMEM, "out of memory");
		entry.source = (uint32_t)source;
		entry.destination = (uint32_t)destination;
		code = merge_entry(into, entry, how, err);
		if (code)
			return code;
	}
	return 0;
}
