/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routers and links that explain why paths are worse than other paths of the same pairs. Each prober names one link per
 * pair, by its own paths (<probe/mesh/culprit.h>). A bad router has bad links in several directions, and probers in
 * different racks name different ones: the router is what these have in common.
 */
#include "verdict_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <base/array.h>

enum { PAIRS_NAMING = 3, HOPS_MOST = 10 };

/* If more of a router's pairs than this name the same link, the link is bad, not the router. */
static const double same_link_share = 0.9;

struct naming {
	ip_address ends[2]; /* the smaller address first */
	uint32_t source;
	double us, loss;
};

struct namings {
	struct naming *items;
	size_t count, capacity;
};

static int collect(const struct search *search, struct namings *namings)
{
	struct latency_entry entry;
	enum latency_state state;

	for (size_t i = 0; i < latency_matrix_count(search->live); i++) {
		struct naming *items;
		bool ordered;

		if (!search_load(search, i, &entry, &state) || state != LATENCY_STATE_MEASURED || !entry.hop)
			continue;
		items = array_grow(namings->items, namings->count, &namings->capacity, sizeof *items);
		if (!items)
			return -ENOMEM;
		namings->items = items;
		ordered = entry.hop < entry.next_hop;
		items[namings->count++] = (struct naming){
			.ends = {ordered ? entry.hop : entry.next_hop, ordered ? entry.next_hop : entry.hop},
			.source = entry.source,
			.us = (double)entry.hop_us,
			.loss = (double)entry.hop_loss,
		};
	}
	return 0;
}

static bool touches(const struct naming *naming, ip_address router)
{
	return naming->ends[0] == router || naming->ends[1] == router;
}

/* Returns the number of pairs whose link has this router as an end; 0 if all of them are of the same prober. */
static size_t count_pairs(const struct namings *namings, ip_address router)
{
	size_t count = 0;
	bool several = false;
	uint32_t first = 0;

	for (size_t i = 0; i < namings->count; i++) {
		if (!touches(&namings->items[i], router))
			continue;
		first = count ? first : namings->items[i].source;
		several = several || namings->items[i].source != first;
		count++;
	}
	return several ? count : 0;
}

static size_t count_link(const struct namings *namings, const struct naming *link)
{
	size_t count = 0;

	for (size_t i = 0; i < namings->count; i++)
		count += namings->items[i].ends[0] == link->ends[0] && namings->items[i].ends[1] == link->ends[1];
	return count;
}

static int compare_doubles(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Sets the pattern's figures: the median excess of the pairs that name the router, or the mean loss. */
static int measure(const struct namings *namings, ip_address router, struct pattern *pattern)
{
	double *us = calloc(namings->count + 1, sizeof *us), lost = 0;
	size_t slow = 0, pairs = 0;

	if (!us)
		return -ENOMEM;
	for (size_t i = 0; i < namings->count; i++) {
		if (!touches(&namings->items[i], router))
			continue;
		pairs++;
		lost += namings->items[i].loss;
		if (namings->items[i].us > 0)
			us[slow++] = namings->items[i].us;
	}
	qsort(us, slow, sizeof *us, compare_doubles);
	pattern->us = 2 * slow >= pairs ? us[slow / 2] : 0;
	pattern->share = pairs ? lost / (double)pairs : 0;
	free(us);
	return 0;
}

static void remove_router(struct namings *namings, ip_address router)
{
	size_t kept = 0;

	for (size_t i = 0; i < namings->count; i++)
		if (!touches(&namings->items[i], router))
			namings->items[kept++] = namings->items[i];
	namings->count = kept;
}

/* Sets *pattern to the router, or its only bad link, that most pairs name. Returns their number, or -ENOMEM. */
static int64_t worst(const struct namings *namings, ip_address *router, struct pattern *pattern)
{
	size_t most = 0, on_link = 0;
	const struct naming *link = NULL;

	for (size_t i = 0; i < 2 * namings->count; i++) {
		ip_address end = namings->items[i / 2].ends[i % 2];
		size_t count = count_pairs(namings, end);

		if (count <= most)
			continue;
		most = count;
		*router = end;
	}
	for (size_t i = 0; most && i < namings->count; i++) {
		size_t count = touches(&namings->items[i], *router) ? count_link(namings, &namings->items[i]) : 0;

		link = count > on_link ? &namings->items[i] : link;
		on_link = count > on_link ? count : on_link;
	}
	*pattern = (struct pattern){.kind = PATTERN_ROUTER, .pairs = (uint32_t)most, .hop = *router};
	if (link && (double)on_link >= same_link_share * (double)most) {
		pattern->kind = PATTERN_LINK;
		pattern->hop = link->ends[0];
		pattern->next_hop = link->ends[1];
	}
	return measure(namings, *router, pattern) ? -ENOMEM : (int64_t)most;
}

int search_hops(struct search *search)
{
	struct namings namings = {0};
	int code = collect(search, &namings);

	for (int i = 0; !code && i < HOPS_MOST && namings.count >= PAIRS_NAMING; i++) {
		struct pattern pattern;
		ip_address router = 0;
		int64_t count = worst(&namings, &router, &pattern);

		if (count < PAIRS_NAMING) {
			code = count < 0 ? (int)count : 0;
			break;
		}
		code = search_report(search, pattern);
		remove_router(&namings, router);
	}
	free(namings.items);
	return code;
}
