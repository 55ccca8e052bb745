/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds what bad pairs have in common. A pair is bad if it is unreachable, loses over 1 % of its probes, or its figure
 * is over three times the median of its kind (same rack, same pod, farther) and 20 us more. There is a finding if most
 * pairs within a rack, of a rack with others, of a host, or between two racks are bad, looked for in that order; pairs
 * explained by one finding do not count for another. Hosts that are drained or gone do not count.
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
	uint32_t from, to; /* host or rack; PATTERN_PATH: from this rack to that */
	uint32_t pairs, bad, unreachable;
	/* PATTERN_HOST: its pairs are bad where it is this end, and good where it is the other; PATTERN_ENDS: both. */
	int end;
};

struct patterns {
	struct pattern *items;
	size_t count, capacity;
	uint64_t bad, unexplained; /* pairs */
	uint64_t by_kind[PATTERN_KINDS];
};

/* 0 or -ENOMEM. Stale pairs (max_age 0: none are) do not count. */
int patterns_find(const struct latency_matrix *live, enum latency_statistic statistic, struct ns now, struct ns max_age,
		  struct patterns *patterns);
void patterns_free(struct patterns *patterns);

#endif
