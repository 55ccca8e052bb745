/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/latency_census.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <model/latency_live.h>

enum { LOST_PAIRS = 2 };

struct reach {
	uint32_t answered, unreachable;
};

/* Inserts the entry into worst[] (the largest value first) if it is one of the worst. */
static void consider(struct latency_census *census, enum latency_statistic statistic, const struct latency_entry *entry)
{
	double value = latency_entry_value(entry, statistic);
	size_t at = census->worst_count;

	while (at > 0 && latency_entry_value(&census->worst[at - 1], statistic) < value)
		at--;
	if (at == LATENCY_WORST)
		return;
	if (census->worst_count < LATENCY_WORST)
		census->worst_count++;
	memmove(&census->worst[at + 1], &census->worst[at], (census->worst_count - at - 1) * sizeof *entry);
	census->worst[at] = *entry;
}

static void count(struct latency_census *census, const struct latency_entry *entry, enum latency_state state,
		  struct ns now)
{
	struct ns age = ns_sub(now, entry->updated_at);

	census->pairs++;
	census->by_state[state]++;
	census->disturbed += state == LATENCY_STATE_MEASURED && entry->disturbed > 0.01F;
	if (state == LATENCY_STATE_NEVER)
		return;
	if (age.v > census->oldest.v)
		census->oldest = age;
	if (census->pairs - census->by_state[LATENCY_STATE_NEVER] == 1 || age.v < census->newest.v)
		census->newest = age;
}

int latency_census_take(const struct latency_matrix *matrix, enum latency_statistic statistic, struct ns now,
			struct ns max_age, struct latency_census *census)
{
	size_t hosts = latency_matrix_hosts(matrix);
	struct reach *reach = calloc(hosts + 1, sizeof *reach);
	struct latency_entry entry;

	*census = (struct latency_census){0};
	census->lost_hosts = calloc(hosts + 1, sizeof *census->lost_hosts);
	if (!reach || !census->lost_hosts) {
		free(reach);
		latency_census_free(census);
		return -ENOMEM;
	}
	for (size_t i = 0; i < latency_matrix_count(matrix); i++) {
		enum latency_state state;

		if (!latency_matrix_load(matrix, i, &entry) || entry.destination >= hosts ||
		    entry.source == entry.destination)
			continue;
		state = latency_entry_state(&entry, now, max_age);
		count(census, &entry, state, now);
		if (state == LATENCY_STATE_MEASURED)
			consider(census, statistic, &entry);
		reach[entry.destination].answered += state == LATENCY_STATE_MEASURED;
		reach[entry.destination].unreachable += state == LATENCY_STATE_UNREACHABLE;
	}
	census->blind = census->by_state[LATENCY_STATE_STALE] && !census->by_state[LATENCY_STATE_MEASURED] &&
			!census->by_state[LATENCY_STATE_UNREACHABLE];
	for (uint32_t host = 0; host < hosts; host++)
		if (latency_live_status(matrix, host) == LATENCY_HOST_ACTIVE && reach[host].unreachable >= LOST_PAIRS &&
		    !reach[host].answered)
			census->lost_hosts[census->lost_count++] = host;
	free(reach);
	return 0;
}

void latency_census_free(struct latency_census *census)
{
	free(census->lost_hosts);
	census->lost_hosts = NULL;
	census->lost_count = 0;
}
