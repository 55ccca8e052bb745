/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MESH_VERDICT_PRIV_H
#define MESH_VERDICT_PRIV_H

#include <probe/verdict/patterns.h>

#include <base/hash_table.h>
#include <base/histogram.h>

enum { RELATIONS = 3, PAIRS_LEAST = 3, PATTERNS_MOST = 50 };

struct tally {
	uint32_t pairs, bad, unreachable;
	uint32_t explained; /* good pairs, of which nobody knows what they would be without a reported router or link */
};

struct bad_pair {
	uint32_t source, destination;
	bool unreachable, explained;
};

/* What reported routers and links do at most to the pairs of two places. */
struct explanation {
	double us, loss; /* what they add; share of a path's probes that they lose */
};

struct search {
	const struct latency_matrix *live;
	enum latency_statistic statistic;
	struct ns now, max_age;
	struct histogram *kinds[RELATIONS];
	double limits[RELATIONS];
	/* By search_key(): of all pairs between the racks of a pair that names a reported router or link. */
	struct hash_table explained;
	struct explanation *explanations;
	size_t explanation_count, explanation_capacity;
	struct explanation far_explanation; /* of all pairs between racks: what reported routers do */
	size_t hosts, racks;
	uint32_t *rack_of, *rack_hosts;
	bool *active;
	bool *stalls; /* of each host: it stalls */
	/*
	 * Counts of pairs that are not explained: host[end][host]; inside[rack]: in the rack; outside[rack]: that enter
	 * or leave it; all; far: between all racks; between: from rack to rack, NULL = there are too many racks.
	 */
	struct tally *host[PATTERN_ENDS], *inside, *outside, all, far;
	uint32_t *between;
	struct bad_pair *bad;
	size_t bad_count, bad_capacity;
	struct patterns *found;
};

/*
 * Loads a pair and its state. Returns true if the search uses the pair: both hosts are active, and the pair is
 * unreachable or was measured and is not stale.
 */
bool search_load(const struct search *search, size_t at, struct latency_entry *entry, enum latency_state *state);
/* Adds a pattern to the findings. Returns 0 or -ENOMEM. */
int search_report(struct search *search, struct pattern pattern);

/* The key of the pairs between two racks in one direction. A host without a rack is a place of its own. */
static inline uint64_t search_key(const struct search *search, uint32_t source, uint32_t destination)
{
	uint32_t from = search->rack_of[source], to = search->rack_of[destination];

	from = from == LATENCY_NO_RACK ? (uint32_t)search->racks + source : from;
	to = to == LATENCY_NO_RACK ? (uint32_t)search->racks + destination : to;
	return (uint64_t)from << 32 | to;
}

/* Report the culprits that the probers measured. Return 0 or -ENOMEM. */
int search_stalls(struct search *search); /* also sets search->stalls[] */
int search_hops(struct search *search);   /* also sets search->explained */

#endif
