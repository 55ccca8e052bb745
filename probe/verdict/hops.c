/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routers and links that explain why paths are worse than other paths of the same pairs. Each prober names one link per
 * pair, by its own paths (<probe/mesh/watch.h>). A bad router has bad links in several directions, and probers in
 * different racks name different ones: the router is what these have in common.
 */
#include "verdict_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/array.h>
#include <base/quantile.h>

enum { PAIRS_NAMING = 3, HOPS_MOST = 10 };

/* If more of a router's pairs than this name the same link, the link is bad, not the router. */
static const double same_link_share = 0.9;

struct naming {
	ip_address ends[2]; /* the smaller address first */
	ip_address hop;     /* the end where the link begins */
	uint32_t source, destination;
	double us, loss;
	bool explained;
};

/* One end of a pair's link. What slows probes and what loses them are different faults of a router. */
struct link_end {
	ip_address router, other;
	bool slow;
	struct naming *naming;
};

struct namings {
	struct naming *items;
	size_t count, capacity;
	struct link_end *ends; /* by router, fault and other router */
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
			.hop = entry.hop,
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

	order = order ? order : left->slow - right->slow;
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
				(struct link_end){naming->ends[end], naming->ends[1 - end], naming->us > 0, naming};
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

	for (size_t i = first; i < namings->ends_count && namings->ends[i].router == group.ends->router &&
			       namings->ends[i].slow == group.ends->slow;
	     i++) {
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

/*
 * Sets *is to true if all pairs but a few that name the router begin or end in one rack, and it is not the rack's leaf.
 * They may as well mean the link from the leaf: while a fault begins, it seems to be on those links over which the
 * first bad windows went. With two racks, each pair has both; only the prober's rack counts. Returns 0 or -ENOMEM.
 */
static int is_seen_from_one_rack(const struct search *search, const struct group *group, bool *is)
{
	struct tally *racks = calloc(search->racks + 1, sizeof *racks);

	if (!racks)
		return -ENOMEM;
	for (size_t i = 0; i < group->count; i++) {
		const struct naming *naming = group->ends[i].naming;
		bool leaves = naming->hop == group->ends->router; /* the link begins at the router */

		for (int end = 0; end < (search->racks > 2 ? 2 : 1) && !naming->explained; end++) {
			uint32_t rack = search->rack_of[end == 0 ? naming->source : naming->destination];

			if (rack < search->racks) {
				racks[rack].pairs++;
				racks[rack].bad += leaves == (end == 0); /* as with the rack's leaf */
			}
		}
	}
	*is = false;
	for (size_t rack = 0; rack < search->racks; rack++)
		*is = *is || (racks[rack].pairs + PAIRS_NAMING > group->pairs &&
			      racks[rack].bad + PAIRS_NAMING <= group->pairs);
	free(racks);
	return 0;
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

static void explanation_extend(struct explanation *explanation, double us, double loss)
{
	explanation->us = fmax(explanation->us, us);
	explanation->loss = fmax(explanation->loss, loss);
}

/* Pairs between the same racks cross the same links. */
static int explain(struct search *search, const struct naming *naming)
{
	uint64_t key = search_key(search, naming->source, naming->destination);
	uint32_t at = hash_table_find(&search->explained, key);
	struct explanation *all = search->explanations;

	if (at == HASH_TABLE_NONE) {
		all = array_grow(all, search->explanation_count, &search->explanation_capacity, sizeof *all);
		if (!all)
			return -ENOMEM;
		search->explanations = all;
		at = (uint32_t)search->explanation_count++;
		all[at] = (struct explanation){0};
		if (hash_table_insert(&search->explained, key, at))
			return -ENOMEM;
	}
	explanation_extend(&all[at], naming->us, naming->loss);
	return 0;
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
		code = explain(search, naming);
		lost += naming->loss;
		if (naming->us > 0)
			us[slow++] = naming->us;
	}
	if (slow)
		quantile_sort(us, slow);
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
	bool is_link, undecided = false;
	int code;

	if (group.pairs < PAIRS_NAMING)
		return 0;
	router = group.ends->router;
	other = group.other;
	is_link = (double)group.on_link >= same_link_share * (double)group.pairs;
	code = is_seen_from_one_rack(search, &group, &undecided);
	undecided = undecided && !is_link;
	pattern = (struct pattern){.kind = PATTERN_ROUTER, .pairs = (uint32_t)group.pairs, .hop = router};
	if (is_link) {
		pattern.kind = PATTERN_LINK;
		pattern.hop = router < other ? router : other;
		pattern.next_hop = router < other ? other : router;
	}
	code = code ? code : measure(search, &group, &pattern);
	/* Not all pairs that cross a router may name it already. */
	if (!code && !undecided && !is_link)
		explanation_extend(&search->far_explanation, pattern.us, pattern.us > 0 ? 0 : pattern.share);
	if (!code && !undecided)
		code = search_report(search, pattern);
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
