/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds what is bad in a live mesh, and what explains it. First, it looks for culprits that the probers themselves
 * measured:
 *   - a stall: a host that holds the probes of others for over 10 ms far more often than other hosts do. Its pairs are
 *     judged only by their median and by whether they are reachable, because the stalls cause losses and late answers
 *   - a router or a link: probers found that their paths over it are worse than their other paths (hop, next_hop). At
 *     least 3 pairs of 2 probers must name it. If nearly all of them name the same link, it is the link. A router that
 *     only pairs of one rack name, by several links, is not reported unless it is the rack's leaf: while a fault
 *     begins, a lossy link from a leaf looks like this
 *
 * Then it looks for patterns in the bad pairs of hosts. A pair is bad if it is unreachable, if it loses over 1 % of its
 * probes, or if its figure is over three times the median of the pairs at its distance (same rack, same pod, farther)
 * and at least 20 us above this median. The patterns are searched in this order:
 *   - a rack: most pairs inside the rack and most pairs that enter or leave it are bad
 *   - an uplink: most pairs that enter or leave the rack are bad, but not those inside
 *   - a host: most of its pairs are bad
 *   - a path: most pairs from one rack to another are bad
 *
 * An uplink, a path or a host that is not mostly unreachable must stand out: the likelihood ratio of "its pairs are bad
 * more often than the rest" (the rest: of all pairs between racks; for a host, of all pairs and of those of its rack)
 * must be 10^4 times the number of racks, paths or hosts. So what is bad in the network between the racks accuses none
 * of them. The smallest mesh in which a lossy host stands out has 4 hosts, or 5 if only one direction is lossy.
 *
 * A pair with under 100 undisturbed samples is judged by its median instead of a p99, and without any undisturbed
 * sample only by its losses.
 * What a reported router or link adds or loses does not make bad the pairs between the same racks as a pair that names
 * it, in both directions; for a router, all pairs between racks. Such a pair is not counted as good either: nobody
 * knows what it would be otherwise.
 * Bad pairs that a pattern explains do not count for what is searched later. Hosts that are drained or gone do not
 * count.
 */
#ifndef MESH_PATTERNS_H
#define MESH_PATTERNS_H

#include <stdio.h>

#include <base/ns.h>
#include <model/latency_live.h>

enum { PATTERN_SOURCE, PATTERN_DESTINATION, PATTERN_ENDS }; /* the ends of a pair */

enum pattern_kind {
	PATTERN_RACK,
	PATTERN_UPLINK,
	PATTERN_HOST,
	PATTERN_PATH,
	PATTERN_STALL,
	PATTERN_ROUTER,
	PATTERN_LINK,
	PATTERN_KINDS
};

extern const char *const pattern_names[]; /* "rack", "uplink", "host", "path", "stall", "router", "link" */

struct pattern {
	enum pattern_kind kind;
	uint32_t from, to; /* host or rack; for PATTERN_PATH, from this rack to that rack */
	uint32_t pairs, bad, unreachable;
	/*
	 * PATTERN_HOST: the host's pairs are bad if it is at this end and good if it is at the other; PATTERN_ENDS: bad
	 * at both.
	 */
	int end;
	/*
	 * PATTERN_STALL: us is the longest time for which the host held a probe, share the share of the probes that it
	 * held for over 10 ms.
	 * PATTERN_ROUTER, PATTERN_LINK: the router, or the two routers of the link; us is what it adds to the median
	 * round trip of the pairs, or 0; share, if us is 0, the share of their probes that it loses.
	 */
	double us, share;
	latency_hop hop, next_hop;
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
/* Prints the name of the culprit without figures, such as "h9", "r1 to r2" or "10.78.0.3". */
void pattern_print_name(const struct latency_matrix *live, const struct pattern *pattern, FILE *out);
/* Prints the words that the page and `mesh top` show; no end of line. */
void pattern_print(const struct latency_matrix *live, const struct pattern *pattern, FILE *out);
void patterns_free(struct patterns *patterns);

#endif
