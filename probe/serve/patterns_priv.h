/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds patterns in the bad pairs of hosts. A pair is bad if it is unreachable, if it loses over 1 % of its probes, or
 * if its figure is over three times the median of the pairs at its distance (same rack, same pod, farther) and at least
 * 20 us above this median. The patterns are searched in this order:
 *   - a rack: most pairs inside the rack and most pairs that enter or leave it are bad
 *   - an uplink: most pairs that enter or leave the rack are bad, but not those inside
 *   - a host: most of its pairs are bad
 *   - a path: most pairs from one rack to another are bad
 *
 * Bad pairs that a pattern explains do not count for the hosts and paths that are searched later. Hosts that are
 * drained or gone do not count.
 */
#ifndef MESH_PATTERNS_PRIV_H
#define MESH_PATTERNS_PRIV_H

#include <base/ns.h>
#include <model/latency_live.h>

enum { PATTERN_SOURCE, PATTERN_DESTINATION, PATTERN_ENDS }; /* the ends of a pair */

enum pattern_kind { PATTERN_RACK, PATTERN_UPLINK, PATTERN_HOST, PATTERN_PATH, PATTERN_KINDS };

extern const char *const pattern_names[]; /* "rack", "uplink", "host", "path" */

struct pattern {
	enum pattern_kind kind;
	uint32_t from, to; /* host or rack; for PATTERN_PATH, from this rack to that rack */
	uint32_t pairs, bad, unreachable;
	/*
	 * PATTERN_HOST: the host's pairs are bad if it is at this end and good if it is at the other; PATTERN_ENDS: bad
	 * at both.
	 */
	int end;
};

/* by_kind: number of patterns found; at most 50 of all of them are in items[]. */
struct patterns {
	struct pattern *items;
	size_t count, capacity;
	uint64_t bad, unexplained; /* pairs */
	uint64_t by_kind[PATTERN_KINDS];
};

/* Returns 0 or -ENOMEM. Stale pairs do not count (max_age 0: no pair is stale). */
int patterns_find(const struct latency_matrix *live, enum latency_statistic statistic, struct ns now, struct ns max_age,
		  struct patterns *patterns);
void patterns_free(struct patterns *patterns);

#endif
