/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/latency_table.h>

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

static bool is_all_stale(const struct latency_census *census)
{
	return !census->by_state[LATENCY_STATE_MEASURED] && !census->by_state[LATENCY_STATE_UNREACHABLE];
}

/* With the default of 60 s, half of it is three windows of an agent. */
static bool is_blind(const struct latency_census *census, struct ns max_age)
{
	return is_all_stale(census) || (max_age.v > 0 && census->newest.v > max_age.v / 2);
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
	census->max_age = max_age;
	census->blind = census->pairs > census->by_state[LATENCY_STATE_NEVER] && is_blind(census, max_age);
	if (census->blind && !is_all_stale(census)) {
		free(reach);
		latency_census_free(census);
		return latency_census_take(matrix, statistic, now, (struct ns){max_age.v / 2}, census);
	}
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

void latency_census_print(const struct latency_census *census, const struct latency_matrix *live, struct ns now,
			  FILE *out)
{
	if (census->blind)
		fprintf(out, "BLIND: no pair was seen for %.0f s; all figures are older\n", ns_to_s(census->newest));
	fprintf(out, "%zu hosts, %llu pairs:", latency_matrix_hosts(live), (unsigned long long)census->pairs);
	for (size_t i = 0; i < LATENCY_STATES; i++)
		fprintf(out, " %llu %s%s", (unsigned long long)census->by_state[i], latency_state_names[i],
			i + 1 < LATENCY_STATES ? "," : "");
	fprintf(out, "; written %.1f s ago\n", ns_to_s(ns_sub(now, latency_live_written_at(live))));
	for (size_t i = 0; i < census->lost_count; i++)
		fprintf(out, "%s %s: no host reaches it\n", i == 0 ? "lost:" : "     ",
			latency_matrix_host(live, census->lost_hosts[i]));
	fprintf(out, "\n%-20s %-20s %10s %10s %10s %8s %8s\n", "from", "to", "p50 us", "p99 us", "max us", "loss %",
		"age s");
	for (size_t i = 0; i < census->worst_count; i++) {
		const struct latency_entry *entry = &census->worst[i];

		fprintf(out, "%-20.20s %-20.20s %10.1f %10.1f %10.1f %8.2f %8.1f\n",
			latency_matrix_host(live, entry->source), latency_matrix_host(live, entry->destination),
			entry->rtt_p50_us, entry->rtt_p99_us, entry->rtt_max_us, entry->loss * 100,
			ns_to_s(ns_sub(now, entry->updated_at)));
	}
}

json_t *latency_census_to_json(const struct latency_census *census, const struct latency_matrix *live)
{
	json_t *worst = json_array(), *lost = json_array(), *states = json_object();

	for (size_t i = 0; i < census->worst_count; i++) {
		const struct latency_entry *entry = &census->worst[i];

		json_array_append_new(worst, json_pack("{s:s,s:s,s:f,s:f,s:f,s:f,s:f}", "src",
						       latency_matrix_host(live, entry->source), "dst",
						       latency_matrix_host(live, entry->destination), "rtt_p50_us",
						       entry->rtt_p50_us, "rtt_p99_us", entry->rtt_p99_us, "rtt_max_us",
						       entry->rtt_max_us, "loss", entry->loss, "updated_at",
						       ns_to_s(entry->updated_at)));
	}
	for (size_t i = 0; i < census->lost_count; i++)
		json_array_append_new(lost, json_string(latency_matrix_host(live, census->lost_hosts[i])));
	for (size_t i = 0; i < LATENCY_STATES; i++)
		json_object_set_new(states, latency_state_names[i], json_integer((json_int_t)census->by_state[i]));
	return json_pack("{s:s,s:I,s:I,s:o,s:b,s:f,s:o,s:o}", "schema", "nomora.mesh_top/1", "hosts",
			 (json_int_t)latency_matrix_hosts(live), "pairs", (json_int_t)census->pairs, "states", states,
			 "blind", census->blind, "written_at", ns_to_s(latency_live_written_at(live)), "lost_hosts",
			 lost, "worst", worst);
}
