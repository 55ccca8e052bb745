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
	uint32_t source, destination;
	double us, loss;
	bool explained;
};

/* One end of a pair's link. */
struct link_end {
	ip_address router, other;
	struct naming *naming;
};

struct namings {
	struct naming *items;
	size_t count, capacity;
	struct link_end *ends; /* by router, then by the other router */
	size_t ends_count;
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
			.destination = entry.destination,
			.us = (double)entry.hop_us,
			.loss = (double)entry.hop_loss,
		};
	}
	return 0;
}

static int compare_addresses(ip_address a, ip_address b)
{
	return (a > b) - (a < b);
}

static int compare_ends(const void *a, const void *b)
{
	const struct link_end *left = a, *right = b;
	int order = compare_addresses(left->router, right->router);

	return order ? order : compare_addresses(left->other, right->other);
}

static int sort_ends(struct namings *namings)
{
	namings->ends = calloc(2 * namings->count + 1, sizeof *namings->ends);
	if (!namings->ends)
		return -ENOMEM;
	for (size_t i = 0; i < namings->count; i++) {
		struct naming *naming = &namings->items[i];

		for (int end = 0; end < (naming->ends[0] == naming->ends[1] ? 1 : 2); end++)
			namings->ends[namings->ends_count++] =
				(struct link_end){naming->ends[end], naming->ends[1 - end], naming};
	}
	if (namings->ends_count)
		qsort(namings->ends, namings->ends_count, sizeof *namings->ends, compare_ends);
	return 0;
}

/* The ends at one router, and what they have in common. Explained pairs do not count. */
struct group {
	struct link_end *ends;
	size_t count;
	size_t pairs;   /* 0 if all of them are of the same prober */
	size_t on_link; /* of them, those that name the most named link */
	ip_address other;
};

static struct group group_at(struct namings *namings, size_t first)
{
	struct group group = {.ends = &namings->ends[first]};
	const struct link_end *known = NULL;
	bool several = false;
	size_t on_link = 0;

	for (size_t i = first; i < namings->ends_count && namings->ends[i].router == group.ends->router; i++) {
		const struct link_end *end = &namings->ends[i];

		on_link = i > first && end->other == end[-1].other ? on_link : 0;
		group.count++;
		if (end->naming->explained)
			continue;
		known = known ? known : end;
		several = several || known->naming->source != end->naming->source;
		group.pairs++;
		if (++on_link > group.on_link) {
			group.on_link = on_link;
			group.other = end->other;
		}
	}
	if (!several)
		group.pairs = 0;
	return group;
}

/* Returns the router that most pairs name. */
static struct group worst(struct namings *namings)
{
	struct group most = {0};

	for (size_t i = 0; i < namings->ends_count;) {
		struct group group = group_at(namings, i);

		most = group.pairs > most.pairs ? group : most;
		i += group.count;
	}
	return most;
}

static int compare_doubles(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/*
 * Sets the pattern's figures: the median excess of the pairs that name the router, or the mean loss. Then these pairs
 * are explained.
 */
static int measure(struct search *search, const struct group *group, struct pattern *pattern)
{
	double *us = calloc(group->pairs + 1, sizeof *us), lost = 0;
	size_t slow = 0;
	int code = us ? 0 : -ENOMEM;

	for (size_t i = 0; i < group->count && code == 0; i++) {
		struct naming *naming = group->ends[i].naming;

		if (naming->explained)
			continue;
		naming->explained = true;
		code = hash_table_insert(&search->named, search_key(naming->source, naming->destination),
					 (uint32_t)naming->us);
		lost += naming->loss;
		if (naming->us > 0)
			us[slow++] = naming->us;
	}
	if (slow)
		qsort(us, slow, sizeof *us, compare_doubles);
	pattern->us = slow && 2 * slow >= group->pairs ? us[slow / 2] : 0;
	pattern->share = lost / (double)group->pairs;
	free(us);
	return code;
}

/* Reports the router, or its only bad link, that most pairs name. Returns their number, or -ENOMEM. */
static int64_t report_worst(struct search *search, struct namings *namings)
{
	struct group group = worst(namings);
	ip_address router, other;
	struct pattern pattern;
	int code;

	if (group.pairs < PAIRS_NAMING)
		return 0;
	router = group.ends->router;
	other = group.other;
	pattern = (struct pattern){.kind = PATTERN_ROUTER, .pairs = (uint32_t)group.pairs, .hop = router};
	if ((double)group.on_link >= same_link_share * (double)group.pairs) {
		pattern.kind = PATTERN_LINK;
		pattern.hop = router < other ? router : other;
		pattern.next_hop = router < other ? other : router;
	}
	code = measure(search, &group, &pattern);
	code = code ? code : search_report(search, pattern);
	return code ? code : (int64_t)group.pairs;
}

int search_hops(struct search *search)
{
	struct namings namings = {0};
	int64_t found = collect(search, &namings);

	found = found ? found : sort_ends(&namings);
	if (!found)
		for (int i = 0; i < HOPS_MOST && (found = report_worst(search, &namings)) > 0; i++)
			;
	free(namings.items);
	free(namings.ends);
	return found < 0 ? (int)found : 0;
}
