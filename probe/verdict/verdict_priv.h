/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MESH_VERDICT_PRIV_H
#define MESH_VERDICT_PRIV_H

#include <probe/verdict/patterns.h>

#include <base/hash_table.h>
#include <base/histogram.h>

enum { RELATIONS = 3, PAIRS_LEAST = 3, PATTERNS_MOST = 50 };

struct tally {
	uint32_t pairs, bad, unreachable;
};

struct bad_pair {
	uint32_t source, destination;
	bool unreachable, explained;
};

struct search {
	const struct latency_matrix *live;
	enum latency_statistic statistic;
	struct ns now, max_age;
	struct histogram *kinds[RELATIONS];
	double limits[RELATIONS];
	/* The pairs that name a reported router or link, by search_key(): what it adds, in us; 0: it loses probes. */
	struct hash_table named;
	size_t hosts, racks;
	uint32_t *rack_of, *rack_hosts;
	bool *active;
	bool *stalls;                                        /* of each host: it stalls */
	struct tally *host[PATTERN_ENDS], *inside, *outside; /* counts of pairs: host[end][host]; inside[rack]: in the
								rack; outside[rack]: that enter or leave it */
	uint32_t *between; /* number of pairs from rack to rack; NULL = there are too many racks */
	struct bad_pair *bad;
	size_t bad_count, bad_capacity;
	bool everywhere; /* bad pairs are not limited to some racks and hosts */
	struct patterns *found;
};

/*
 * Loads a pair and its state. Returns true if the search uses the pair: both hosts are active, and the pair is
 * unreachable or was measured and is not stale.
 */
bool search_load(const struct search *search, size_t at, struct latency_entry *entry, enum latency_state *state);
/* Adds a pattern to the findings. Returns 0 or -ENOMEM. */
int search_report(struct search *search, struct pattern pattern);

static inline uint64_t search_key(uint32_t source, uint32_t destination)
{
	return (uint64_t)source << 32 | destination;
}

/* Report the culprits that the probers measured. Return 0 or -ENOMEM. */
int search_stalls(struct search *search); /* also sets search->stalls[] */
int search_hops(struct search *search);   /* also sets search->named */

#endif
