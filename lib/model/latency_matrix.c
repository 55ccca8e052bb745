/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/latency_matrix.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/hash.h>
#include <base/name.h>
#include <model/latency_live.h>

#include "latency_store_priv.h"

enum { FIRST_CAPACITY = 32 };

/*
 * Largest expected difference between the clocks of two hosts. An entry that is further in the future was written
 * before a clock was stepped back, so its age is unknown.
 */
static const struct ns future = {60 * NS_PER_S};

const char *const latency_statistic_names[] = {"max", "p99", "p50", "loss", NULL};
const char *const latency_rtt_statistic_names[] = {"max", "p99", "p50", NULL};
const char *const latency_state_names[] = {"measured", "unreachable", "never", "stale", NULL};

double latency_entry_value(const struct latency_entry *entry, enum latency_statistic statistic)
{
	switch (statistic) {
	case LATENCY_STATISTIC_MAX:
		return entry->rtt_max_us;
	case LATENCY_STATISTIC_P99:
		return entry->rtt_p99_us;
	case LATENCY_STATISTIC_P50:
		return entry->rtt_p50_us;
	case LATENCY_STATISTIC_LOSS:
		return entry->loss;
	}
	return NAN;
}

double latency_maximum_value(const struct latency_maximum *maximum, enum latency_statistic statistic)
{
	switch (statistic) {
	case LATENCY_STATISTIC_MAX:
		return (double)maximum->rtt_max_us;
	case LATENCY_STATISTIC_P99:
		return (double)maximum->rtt_p99_us;
	case LATENCY_STATISTIC_P50:
		return (double)maximum->rtt_p50_us;
	case LATENCY_STATISTIC_LOSS:
		return NAN;
	}
	return NAN;
}

enum latency_state latency_entry_state(const struct latency_entry *entry, struct ns now, struct ns max_age)
{
	const int64_t age = now.v - entry->updated_at.v, ahead = max_age.v > future.v ? max_age.v : future.v;

	if (entry->state != LATENCY_STATE_NEVER && max_age.v > 0 && (age > max_age.v || age < -ahead))
		return LATENCY_STATE_STALE;
	return (enum latency_state)entry->state;
}

struct latency_matrix *latency_matrix_create(void)
{
	struct latency_matrix *matrix = calloc(1, sizeof *matrix);

	if (!matrix)
		return NULL;
	matrix->counts = &matrix->own_counts;
	matrix->fd = matrix->lock_fd = -1;
	matrix->writable = true;
	matrix->block_bytes = latency_block_bytes(false);
	return matrix;
}

void latency_matrix_destroy(struct latency_matrix *matrix)
{
	if (!matrix)
		return;
	if (matrix->fd >= 0) {
		latency_store_unmap(matrix);
	} else {
		free(matrix->hosts);
		free(matrix->blocks);
		free((void *)matrix->host_slots);
		free((void *)matrix->pair_slots);
	}
	free(matrix);
}

size_t latency_matrix_hosts(const struct latency_matrix *matrix)
{
	size_t hosts = atomic_load_explicit(&matrix->counts->hosts, memory_order_acquire);

	return hosts < matrix->host_capacity ? hosts : matrix->host_capacity;
}

size_t latency_matrix_count(const struct latency_matrix *matrix)
{
	return latency_store_count(matrix);
}

const char *latency_matrix_host(const struct latency_matrix *matrix, uint32_t host)
{
	if (host < latency_matrix_hosts(matrix))
		return latency_store_name(matrix->hosts[host].name);
	return matrix->fd >= 0 ? "?" : NULL; /* the count in a shared file may be damaged since the caller read it */
}

static uint64_t hash_name(const char *name)
{
	return hash_mix(hash_text(name));
}

void latency_store_insert_host(struct latency_matrix *matrix, uint32_t position)
{
	latency_slots_insert(matrix->host_slots, matrix->host_slot_count, hash_name(matrix->hosts[position].name),
			     position);
}

/*
 * Doubles a private array and empties its table, which the caller fills again. Items are initialised only when they are
 * added, so that unused items take no physical memory. Returns -ENOSPC for a shared array, which cannot grow.
 */
static int grow(const struct latency_matrix *matrix, void **items, size_t item_bytes, size_t *capacity,
		_Atomic uint32_t **slots, size_t *slot_count)
{
	size_t wanted = *capacity ? *capacity * 2 : FIRST_CAPACITY;
	_Atomic uint32_t *larger_slots;
	void *larger;

	if (matrix->fd >= 0)
		return -ENOSPC;
	if (wanted >= UINT32_MAX / 2)
		return -EOVERFLOW;
	larger = realloc(*items, wanted * item_bytes);
	if (!larger)
		return -ENOMEM;
	*items = larger;
	larger_slots = calloc(2 * wanted, sizeof *larger_slots);
	if (!larger_slots)
		return -ENOMEM;
	free((void *)*slots);
	*slots = larger_slots;
	*slot_count = 2 * wanted;
	*capacity = wanted;
	return 0;
}

static int reserve_host(struct latency_matrix *matrix)
{
	size_t count = latency_matrix_hosts(matrix);
	void *hosts = matrix->hosts;
	int code;

	if (count < matrix->host_capacity)
		return 0;
	code = grow(matrix, &hosts, sizeof *matrix->hosts, &matrix->host_capacity, &matrix->host_slots,
		    &matrix->host_slot_count);
	matrix->hosts = hosts;
	for (uint32_t i = 0; !code && i < count; i++)
		latency_store_insert_host(matrix, i);
	return code;
}

static int reserve_pair(struct latency_matrix *matrix)
{
	size_t count = latency_matrix_count(matrix);
	void *blocks = matrix->blocks;
	int code;

	if (count < matrix->pair_capacity)
		return matrix->fd >= 0 ? latency_store_reserve(matrix, (uint32_t)count) : 0;
	code = grow(matrix, &blocks, matrix->block_bytes, &matrix->pair_capacity, &matrix->pair_slots,
		    &matrix->pair_slot_count);
	matrix->blocks = blocks;
	for (uint32_t i = 0; !code && i < count; i++)
		latency_store_insert_pair(matrix, i);
	return code;
}

int64_t latency_matrix_find_host(const struct latency_matrix *matrix, const char *name)
{
	size_t mask = matrix->host_slot_count - 1, hosts = latency_matrix_hosts(matrix);

	/* A shared file may be damaged: its table may be full or have wrong positions. */
	for (size_t step = 0, slot = hash_name(name) & mask; step < matrix->host_slot_count;
	     step++, slot = (slot + 1) & mask) {
		uint32_t position = atomic_load_explicit(&matrix->host_slots[slot], memory_order_acquire);

		if (!position)
			return -ENOENT;
		if (position <= hosts && strncmp(matrix->hosts[position - 1].name, name, LATENCY_NAME_BYTES) == 0)
			return position - 1;
	}
	return -ENOENT;
}

int64_t latency_matrix_add_host(struct latency_matrix *matrix, const char *name)
{
	int64_t found = latency_matrix_find_host(matrix, name);
	uint32_t position = (uint32_t)latency_matrix_hosts(matrix);
	int code;

	if (found >= 0)
		return found;
	if (!name_is_valid(name, LATENCY_NAME_BYTES))
		return -EINVAL;
	code = reserve_host(matrix);
	if (code)
		return code;
	memset(&matrix->hosts[position], 0, sizeof *matrix->hosts);
	strcpy(matrix->hosts[position].name, name);
	atomic_store_explicit(&matrix->hosts[position].rack, LATENCY_NO_RACK, memory_order_relaxed);
	atomic_store_explicit(&matrix->counts->hosts, position + 1, memory_order_release);
	latency_store_insert_host(matrix, position);
	return position;
}

/*
 * Checks the invariants of an entry. An entry from a file never fails here: the parser has already checked it, with
 * errors that name the wrong field.
 * latency_block_read_hop() checks the link that an entry of a shared matrix has.
 */
static inline bool entry_is_valid(const struct latency_entry *entry)
{
	const float longest = (float)LATENCY_LONGEST_US;

	if (!(entry->loss >= 0 && entry->loss <= 1) || entry->updated_at.v < 0 || entry->answered_at.v < 0 ||
	    !(entry->disturbed >= 0 && entry->disturbed <= 1) ||
	    !(entry->error_us >= 0 && entry->error_us <= longest) ||
	    !(entry->peer_stalled >= 0 && entry->peer_stalled <= 1) ||
	    !(entry->peer_stall_us >= 0 && entry->peer_stall_us <= longest) || entry->state > LATENCY_STATE_NEVER)
		return false;
	if (entry->samples == 0)
		return isnan(entry->rtt_p50_us) && isnan(entry->rtt_p99_us) && isnan(entry->rtt_max_us);
	return entry->state == LATENCY_STATE_MEASURED && entry->rtt_p50_us >= 0 &&
	       entry->rtt_p50_us <= entry->rtt_p99_us && entry->rtt_p99_us <= entry->rtt_max_us &&
	       entry->rtt_max_us <= LATENCY_LONGEST_US;
}

/* Only latency_matrix_set() writes to a private matrix; the file of a shared one may be damaged. */
static bool is_trusted(const struct latency_matrix *matrix, const struct latency_entry *entry)
{
	return matrix->fd < 0 ||
	       (entry_is_valid(entry) && (entry->samples > 0 || entry->state != LATENCY_STATE_MEASURED));
}

const struct latency_entry *latency_matrix_at(const struct latency_matrix *matrix, size_t position)
{
	return position < latency_matrix_count(matrix) ? latency_store_entry(matrix, position) : NULL;
}

bool latency_matrix_load(const struct latency_matrix *matrix, size_t position, struct latency_entry *entry)
{
	const struct latency_block *block = latency_store_block(matrix, position);
	size_t hosts = latency_matrix_hosts(matrix);

	return position < latency_matrix_count(matrix) && latency_store_read(matrix, block, entry) &&
	       entry->source < hosts && entry->destination < hosts && is_trusted(matrix, entry);
}

const struct latency_entry *latency_matrix_get(const struct latency_matrix *matrix, uint32_t source,
					       uint32_t destination)
{
	const struct latency_block *block = latency_store_find_pair(matrix, source, destination);

	return block ? (const void *)block->words : NULL;
}

bool latency_matrix_load_pair(const struct latency_matrix *matrix, uint32_t source, uint32_t destination,
			      struct latency_entry *entry)
{
	for (int attempt = 0; attempt < LATENCY_READ_ATTEMPTS; attempt++) {
		const struct latency_block *block = latency_store_find_pair(matrix, source, destination);

		if (!block || !latency_store_read(matrix, block, entry))
			return false;
		if (entry->source == source && entry->destination == destination)
			return is_trusted(matrix, entry);
	}
	return false;
}

/* A private matrix is never full, since it grows. */
static bool is_full(const struct latency_matrix *matrix)
{
	return matrix->fd >= 0 && matrix->pair_capacity && latency_matrix_count(matrix) == matrix->pair_capacity;
}

int latency_matrix_set(struct latency_matrix *matrix, const struct latency_entry *entry)
{
	uint32_t position = (uint32_t)latency_matrix_count(matrix);
	struct latency_entry stored = *entry;
	struct latency_block *block;
	size_t hosts = latency_matrix_hosts(matrix);
	int code;

	if (!matrix->writable || entry->source >= hosts || entry->destination >= hosts || !entry_is_valid(entry) ||
	    !latency_block_link_is_valid(entry))
		return -EINVAL;
	if (entry->samples == 0 && entry->state == LATENCY_STATE_MEASURED)
		stored.state = LATENCY_STATE_UNREACHABLE;
	block = latency_store_find_pair(matrix, entry->source, entry->destination);
	if (block) {
		latency_store_write(matrix, latency_store_position(matrix, block), &stored);
		return 0;
	}
	if (is_full(matrix)) {
		position = latency_store_evict(matrix);
		latency_store_write(matrix, position, &stored);
	} else {
		code = reserve_pair(matrix);
		if (code)
			return code;
		atomic_store_explicit(&latency_store_block(matrix, position)->sequence, 0, memory_order_relaxed);
		latency_store_write(matrix, position, &stored);
		atomic_store_explicit(&matrix->counts->pairs, position + UINT64_C(1), memory_order_release);
	}
	latency_store_insert_pair(matrix, position);
	return 0;
}

static float larger(float a, float b)
{
	return a > b ? a : b;
}

/* The RTTs of a pair without an answer are NAN; fmax() then returns the RTT of the other entry. */
static struct latency_entry merge_worst(const struct latency_entry *a, const struct latency_entry *b)
{
	struct latency_entry worst = *a;

	worst.rtt_p50_us = fmax(a->rtt_p50_us, b->rtt_p50_us);
	worst.rtt_p99_us = fmax(a->rtt_p99_us, b->rtt_p99_us);
	worst.rtt_max_us = fmax(a->rtt_max_us, b->rtt_max_us);
	worst.loss = fmax(a->loss, b->loss);
	worst.samples = a->samples + b->samples;
	worst.updated_at.v = a->updated_at.v > b->updated_at.v ? a->updated_at.v : b->updated_at.v;
	worst.answered_at.v = a->answered_at.v > b->answered_at.v ? a->answered_at.v : b->answered_at.v;
	worst.disturbed = larger(a->disturbed, b->disturbed);
	worst.error_us = larger(a->error_us, b->error_us);
	worst.peer_stalled = larger(a->peer_stalled, b->peer_stalled);
	worst.peer_stall_us = larger(a->peer_stall_us, b->peer_stall_us);
	if (!a->hop || b->hop_us > a->hop_us) {
		worst.hop = b->hop;
		worst.next_hop = b->next_hop;
		worst.hop_us = b->hop_us;
		worst.hop_loss = b->hop_loss;
	}
	worst.state = a->state < b->state ? a->state : b->state;
	return worst;
}

static int merge_entry(struct latency_matrix *into, struct latency_entry entry, enum latency_merge how,
		       struct error *err)
{
	const struct latency_entry *old = latency_matrix_get(into, entry.source, entry.destination);
	int code;

	if (old && how == LATENCY_MERGE_REFUSE)
		return error_set(err, EEXIST,
				 "the pair %s -> %s is in more than one file; choose the entry to keep with --how",
				 latency_matrix_host(into, entry.source), latency_matrix_host(into, entry.destination));
	if (old && how == LATENCY_MERGE_WORST)
		entry = merge_worst(old, &entry);
	else if (old && old->updated_at.v > entry.updated_at.v)
		return 0;
	code = latency_matrix_set(into, &entry);
	return code ? error_set(err, -code, "cannot add a pair: %s", strerror(-code)) : 0;
}

int latency_matrix_merge(struct latency_matrix *into, const struct latency_matrix *from, enum latency_merge how,
			 struct error *err)
{
	for (size_t i = 0; i < latency_matrix_count(from); i++) {
		struct latency_entry entry;
		int64_t source, destination;
		int code;

		if (!latency_matrix_load(from, i, &entry) || !entry_is_valid(&entry))
			continue;
		source = latency_matrix_add_host(into, latency_matrix_host(from, entry.source));
		destination = latency_matrix_add_host(into, latency_matrix_host(from, entry.destination));
		if (source == -EINVAL || destination == -EINVAL)
			continue; /* a name in a damaged file */
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
