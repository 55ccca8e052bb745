/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts that stall: the times for which they held the probes of others. */
#include "verdict_priv.h"

#include <errno.h>
#include <stdlib.h>

enum { PROBERS_LEAST = 2 };

/* A host stalls if it held this share of the probes for over 10 ms, and this many times the share of the median host.
 */
static const double stalling_share = 0.05, stalling_factor = 3;

struct held {
	double probes, held, longest_us;
	uint32_t pairs;
};

static int compare_shares(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static double share_of(const struct held *host)
{
	return host->probes > 0 ? host->held / host->probes : 0;
}

/* Returns the median share of the hosts that were probed, or 0 if out of memory or if there are none. */
static double median_share(const struct held *hosts, size_t count)
{
	double *shares = calloc(count + 1, sizeof *shares), median = 0;
	size_t probed = 0;

	for (size_t i = 0; shares && i < count; i++)
		if (hosts[i].pairs)
			shares[probed++] = share_of(&hosts[i]);
	if (probed) {
		qsort(shares, probed, sizeof *shares, compare_shares);
		median = shares[(probed - 1) / 2];
	}
	free(shares);
	return median;
}

static void add_up(const struct search *search, struct held *hosts)
{
	struct latency_entry entry;
	enum latency_state state;

	for (size_t i = 0; i < latency_matrix_count(search->live); i++) {
		struct held *host;

		if (!search_load(search, i, &entry, &state) || state != LATENCY_STATE_MEASURED)
			continue;
		host = &hosts[entry.destination];
		host->pairs++;
		host->probes += (double)entry.samples;
		host->held += (double)entry.samples * (double)entry.peer_stalled;
		if (host->longest_us < (double)entry.peer_stall_us)
			host->longest_us = (double)entry.peer_stall_us;
	}
}

int search_stalls(struct search *search)
{
	struct held *hosts = calloc(search->hosts + 1, sizeof *hosts);
	double limit;
	int code = 0;

	if (!hosts)
		return -ENOMEM;
	add_up(search, hosts);
	limit = median_share(hosts, search->hosts) * stalling_factor;
	limit = limit > stalling_share ? limit : stalling_share;
	for (uint32_t host = 0; !code && host < search->hosts; host++) {
		struct pattern pattern = {.kind = PATTERN_STALL,
					  .from = host,
					  .to = host,
					  .pairs = hosts[host].pairs,
					  .us = hosts[host].longest_us,
					  .share = share_of(&hosts[host])};

		if (pattern.pairs < PROBERS_LEAST || pattern.share < limit)
			continue;
		search->stalls[host] = true;
		code = search_report(search, pattern);
	}
	free(hosts);
	return code;
}
