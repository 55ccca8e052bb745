/* SPDX-License-Identifier: BSD-3-Clause */
#include "verdict_priv.h"

#include <errno.h>

#include <base/array.h>

bool search_load(const struct search *search, size_t at, struct latency_entry *entry, enum latency_state *state)
{
	if (!latency_matrix_load(search->live, at, entry) || entry->source >= search->hosts ||
	    entry->destination >= search->hosts || entry->source == entry->destination ||
	    !search->active[entry->source] || !search->active[entry->destination])
		return false;
	*state = latency_entry_state(entry, search->now, search->max_age);
	return *state == LATENCY_STATE_MEASURED || *state == LATENCY_STATE_UNREACHABLE;
}

int search_report(struct search *search, struct pattern pattern)
{
	struct patterns *found = search->found;
	struct pattern *items;

	found->by_kind[pattern.kind]++;
	if (found->count == PATTERNS_MOST)
		return 0;
	items = array_grow(found->items, found->count, &found->capacity, sizeof *items);
	if (!items)
		return -ENOMEM;
	found->items = items;
	items[found->count++] = pattern;
	return 0;
}
