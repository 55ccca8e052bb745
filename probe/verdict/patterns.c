/* SPDX-License-Identifier: BSD-3-Clause */
#include "verdict_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

enum { RACKS_FOR_PATHS = 4096, P99_SAMPLES = 100 };

static const double bad_share = 0.6, good_share = 0.3, bad_loss = 0.01, bad_factor = 3, bad_excess_us = 20;

const char *const pattern_names[] = {"rack", "uplink", "host", "path", "stall", "router", "link", NULL};

static int relation(const struct search *search, const struct latency_entry *entry)
{
	uint32_t from = search->rack_of[entry->source], to = search->rack_of[entry->destination];

	if (from == to)
		return 0;
	return strcmp(latency_live_pod_name(search->live, from), latency_live_pod_name(search->live, to)) == 0 ? 1 : 2;
}

/*
 * Looks for a reported router or link that explains what is wrong with a pair: the pair's own prober names it, or that
 * of the opposite pair, whose probes go where this pair's answers go. Returns true if there is one. *us: what it adds;
 * 0: it loses probes.
 */
static bool is_explained(const struct search *search, const struct latency_entry *entry, double *us)
{
	uint32_t at = hash_table_first(&search->named, search_key(entry->source, entry->destination));

	if (at == HASH_TABLE_NONE)
		at = hash_table_first(&search->named, search_key(entry->destination, entry->source));
	*us = at == HASH_TABLE_NONE ? 0 : hash_table_value(&search->named, at);
	return at != HASH_TABLE_NONE;
}

/*
 * The value by which a pair is judged: a p99 only if there are samples for it, and the host at the other end did not
 * hold them; less what a reported router or link adds. Without undisturbed samples, 0.
 */
static double judged_value(const struct search *search, const struct latency_entry *entry, double explained_us)
{
	double undisturbed = (double)entry->samples * (1 - (double)entry->disturbed);
	bool coarse =
		undisturbed < P99_SAMPLES - 0.5 || search->stalls[entry->source] || search->stalls[entry->destination];

	if (undisturbed < 0.5)
		return 0;
	return latency_entry_value(entry, coarse ? LATENCY_STATISTIC_P50 : search->statistic) - explained_us;
}

static bool is_bad(const struct search *search, const struct latency_entry *entry)
{
	bool stalls = search->stalls[entry->source] || search->stalls[entry->destination];
	double us;
	bool lossy_hop = is_explained(search, entry, &us) && us == 0;

	return (entry->loss > bad_loss && !stalls && !lossy_hop) ||
	       judged_value(search, entry, us) > search->limits[relation(search, entry)];
}

static void find_limits(struct search *search)
{
	struct latency_entry entry;
	enum latency_state state;

	for (size_t i = 0; i < latency_matrix_count(search->live); i++)
		if (search_load(search, i, &entry, &state) && state == LATENCY_STATE_MEASURED)
			histogram_record(search->kinds[relation(search, &entry)],
					 (int64_t)(latency_entry_value(&entry, search->statistic) * 1e3));
	for (int r = 0; r < RELATIONS; r++) {
		double median = histogram_count(search->kinds[r])
					? (double)histogram_percentile(search->kinds[r], 50) / 1e3
					: 0;

		search->limits[r] =
			median * bad_factor > median + bad_excess_us ? median * bad_factor : median + bad_excess_us;
	}
}

static void add(struct tally *tally, bool bad, bool unreachable)
{
	tally->pairs++;
	tally->bad += bad;
	tally->unreachable += unreachable;
}

static int note_bad(struct search *search, const struct latency_entry *entry, bool unreachable)
{
	struct bad_pair *bad = array_grow(search->bad, search->bad_count, &search->bad_capacity, sizeof *bad);

	if (!bad)
		return -ENOMEM;
	search->bad = bad;
	bad[search->bad_count++] = (struct bad_pair){entry->source, entry->destination, unreachable, false};
	return 0;
}

static int count_pairs(struct search *search)
{
	struct latency_entry entry;
	enum latency_state state;
	int code = 0;

	for (size_t i = 0; i < latency_matrix_count(search->live) && !code; i++) {
		bool unreachable, bad;
		uint32_t from, to;

		if (!search_load(search, i, &entry, &state))
			continue;
		unreachable = state == LATENCY_STATE_UNREACHABLE;
		bad = unreachable || is_bad(search, &entry);
		from = search->rack_of[entry.source];
		to = search->rack_of[entry.destination];
		add(&search->host[PATTERN_SOURCE][entry.source], bad, unreachable);
		add(&search->host[PATTERN_DESTINATION][entry.destination], bad, unreachable);
		if (from < search->racks && to < search->racks) {
			add(from == to ? &search->inside[from] : &search->outside[from], bad, unreachable);
			if (from != to)
				add(&search->outside[to], bad, unreachable);
			if (search->between)
				search->between[from * search->racks + to]++;
		}
		if (bad)
			code = note_bad(search, &entry, unreachable);
	}
	return code;
}

static double share(const struct tally *tally)
{
	return tally->pairs ? (double)tally->bad / tally->pairs : 0;
}

/* Marks the bad pairs that the pattern explains, and subtracts them from the hosts' counts. */
static void explain(struct search *search,
		    bool (*is)(const struct search *search, const struct bad_pair *pair, const struct pattern *pattern),
		    const struct pattern *pattern)
{
	for (size_t i = 0; i < search->bad_count; i++) {
		struct bad_pair *pair = &search->bad[i];

		if (pair->explained || !is(search, pair, pattern))
			continue;
		pair->explained = true;
		for (int end = 0; end < PATTERN_ENDS; end++) {
			struct tally *tally =
				&search->host[end][end == PATTERN_SOURCE ? pair->source : pair->destination];

			tally->pairs--;
			tally->bad--;
			tally->unreachable -= pair->unreachable;
		}
	}
}

static bool of_rack(const struct search *search, const struct bad_pair *pair, const struct pattern *pattern)
{
	return search->rack_of[pair->source] == pattern->from || search->rack_of[pair->destination] == pattern->from;
}

static bool through_uplink(const struct search *search, const struct bad_pair *pair, const struct pattern *pattern)
{
	return search->rack_of[pair->source] != search->rack_of[pair->destination] && of_rack(search, pair, pattern);
}

static bool of_host(const struct search *search, const struct bad_pair *pair, const struct pattern *pattern)
{
	(void)search;
	return (pair->source == pattern->from && pattern->end != PATTERN_DESTINATION) ||
	       (pair->destination == pattern->from && pattern->end != PATTERN_SOURCE);
}

static bool on_path(const struct search *search, const struct bad_pair *pair, const struct pattern *pattern)
{
	return search->rack_of[pair->source] == pattern->from && search->rack_of[pair->destination] == pattern->to;
}

/* Counts the pairs of a host at this end; PATTERN_ENDS: at both ends. */
static struct tally tally_of(const struct search *search, uint32_t host, int end)
{
	const struct tally *from = &search->host[PATTERN_SOURCE][host], *to = &search->host[PATTERN_DESTINATION][host];

	if (end != PATTERN_ENDS)
		return search->host[end][host];
	return (struct tally){from->pairs + to->pairs, from->bad + to->bad, from->unreachable + to->unreachable};
}

static uint32_t bad_hosts_of(const struct search *search, uint32_t rack)
{
	uint32_t count = 0;

	for (uint32_t host = 0; host < search->hosts; host++) {
		struct tally tally = tally_of(search, host, PATTERN_ENDS);

		count += search->rack_of[host] == rack && tally.pairs >= PAIRS_LEAST && share(&tally) >= bad_share;
	}
	return count;
}

static bool is_suspect(const struct search *search, uint32_t host)
{
	uint32_t rack = search->rack_of[host];
	struct tally tally = tally_of(search, host, PATTERN_ENDS);

	return share(&tally) >= bad_share || (rack < search->racks && share(&search->outside[rack]) >= bad_share);
}

static bool is_background(const struct search *search, uint32_t source, uint32_t destination)
{
	return search->rack_of[source] != search->rack_of[destination] && !is_suspect(search, source) &&
	       !is_suspect(search, destination);
}

/*
 * True if pairs of hosts and racks that are not suspect are often bad, or if all racks but one are suspect. What is bad
 * is then in the network between the racks, and chance decides which racks and hosts look worse than others.
 */
static bool is_everywhere(const struct search *search)
{
	struct latency_entry entry;
	enum latency_state state;
	struct tally all = {0}, rest = {0};
	size_t suspects = 0;

	for (uint32_t rack = 0; rack < search->racks; rack++) {
		suspects += share(&search->outside[rack]) >= bad_share;
		all.pairs += search->outside[rack].pairs;
		all.bad += search->outside[rack].bad;
	}
	/* Suspects are worse than the average: without them, the share is smaller. This saves the pass over the pairs.
	 */
	if (search->racks < 3 || share(&all) < good_share)
		return false;
	for (size_t i = 0; i < latency_matrix_count(search->live); i++)
		rest.pairs += search_load(search, i, &entry, &state) &&
			      is_background(search, entry.source, entry.destination);
	for (size_t i = 0; i < search->bad_count; i++)
		rest.bad += is_background(search, search->bad[i].source, search->bad[i].destination);
	return share(&rest) >= good_share || suspects + 1 >= search->racks;
}

static int judge_racks(struct search *search)
{
	int code = 0;

	for (uint32_t rack = 0; rack < search->racks && !code; rack++) {
		const struct tally *in = &search->inside[rack], *out = &search->outside[rack];
		bool whole = share(in) >= bad_share && share(out) >= bad_share;
		bool uplink = in->pairs && share(in) < good_share && share(out) >= bad_share;
		struct pattern pattern = {
			.kind = whole ? PATTERN_RACK : PATTERN_UPLINK,
			.from = rack,
			.to = rack,
			.pairs = out->pairs,
			.bad = out->bad,
			.unreachable = out->unreachable,
			.end = PATTERN_ENDS,
		};

		/* With two racks, the pairs do not show whose link is bad: this is reported as a path. */
		if (search->rack_hosts[rack] < 2 || search->racks < 3 || !(whole || (uplink && !search->everywhere)))
			continue;
		/*
		 * If only one host of the rack is bad, the pairs that are not stale may all be this host's: the rack is
		 * not bad.
		 */
		if (whole && bad_hosts_of(search, rack) < 2)
			continue;
		code = search_report(search, pattern);
		explain(search, whole ? of_rack : through_uplink, &pattern);
	}
	return code;
}

/* A host that is bad only in one direction must have good pairs in the other. */
static bool is_bad_host(const struct search *search, uint32_t host, int end)
{
	struct tally tally = tally_of(search, host, end), other;

	if (tally.pairs < PAIRS_LEAST || share(&tally) < bad_share ||
	    (search->everywhere && tally.unreachable < bad_share * tally.pairs))
		return false;
	if (end == PATTERN_ENDS)
		return true;
	other = tally_of(search, host, end == PATTERN_SOURCE ? PATTERN_DESTINATION : PATTERN_SOURCE);
	return other.pairs >= PAIRS_LEAST && share(&other) < good_share;
}

static struct pattern worst_host(const struct search *search, int end)
{
	struct pattern pattern = {.kind = PATTERN_HOST, .end = end};
	double worst = 0;

	for (uint32_t host = 0; host < search->hosts; host++) {
		struct tally tally = tally_of(search, host, end);

		if (!is_bad_host(search, host, end) || share(&tally) < worst ||
		    (share(&tally) == worst && tally.bad <= pattern.bad))
			continue;
		worst = share(&tally);
		pattern = (struct pattern){.kind = PATTERN_HOST,
					   .from = host,
					   .to = host,
					   .pairs = tally.pairs,
					   .bad = tally.bad,
					   .unreachable = tally.unreachable,
					   .end = end};
	}
	return pattern;
}

/*
 * Reports the worst host first; the pairs that it explains no longer count. Hosts that are bad in both directions are
 * reported before those that are bad in one.
 */
static int judge_hosts(struct search *search)
{
	static const int ends[] = {PATTERN_ENDS, PATTERN_SOURCE, PATTERN_DESTINATION};
	int code = 0;

	for (size_t i = 0; i < sizeof ends / sizeof *ends && !code; i++) {
		struct pattern pattern = worst_host(search, ends[i]);

		while (!code && pattern.bad && search->found->by_kind[PATTERN_HOST] < PATTERNS_MOST) {
			code = search_report(search, pattern);
			explain(search, of_host, &pattern);
			pattern = worst_host(search, ends[i]);
		}
	}
	return code;
}

static int compare_by_racks(const void *a, const void *b)
{
	const uint32_t *left = a, *right = b;

	if (left[0] != right[0])
		return left[0] < right[0] ? -1 : 1;
	return (left[1] > right[1]) - (left[1] < right[1]);
}

/* Searches the remaining pairs, grouped by source rack and destination rack. */
static int judge_paths(struct search *search)
{
	uint32_t(*keys)[2] = calloc(search->bad_count + 1, sizeof *keys);
	size_t count = 0, next;
	int code = keys ? 0 : -ENOMEM;

	for (size_t i = 0; keys && i < search->bad_count; i++) {
		const struct bad_pair *pair = &search->bad[i];
		uint32_t from = search->rack_of[pair->source], to = search->rack_of[pair->destination];

		if (pair->explained || from == to || from >= search->racks || to >= search->racks)
			continue;
		keys[count][0] = from;
		keys[count++][1] = to;
	}
	if (count)
		qsort(keys, count, sizeof *keys, compare_by_racks);
	for (size_t i = 0; i < count && !code; i = next) {
		struct pattern pattern = {
			.kind = PATTERN_PATH, .from = keys[i][0], .to = keys[i][1], .end = PATTERN_ENDS};

		for (next = i; next < count && compare_by_racks(keys[i], keys[next]) == 0;)
			next++;
		pattern.bad = (uint32_t)(next - i);
		pattern.pairs = search->between ? search->between[pattern.from * search->racks + pattern.to] : 0;
		if (search->everywhere || pattern.bad < 2 || pattern.bad < bad_share * pattern.pairs)
			continue;
		explain(search, on_path, &pattern);
		code = search_report(search, pattern);
	}
	free(keys);
	return code;
}

static int prepare(struct search *search)
{
	search->hosts = latency_matrix_hosts(search->live);
	search->racks = latency_live_racks(search->live);
	search->rack_of = calloc(search->hosts + 1, sizeof *search->rack_of);
	search->rack_hosts = calloc(search->racks + 1, sizeof *search->rack_hosts);
	search->active = calloc(search->hosts + 1, sizeof *search->active);
	search->stalls = calloc(search->hosts + 1, sizeof *search->stalls);
	for (int end = 0; end < PATTERN_ENDS; end++)
		search->host[end] = calloc(search->hosts + 1, sizeof **search->host);
	search->inside = calloc(search->racks + 1, sizeof *search->inside);
	search->outside = calloc(search->racks + 1, sizeof *search->outside);
	if (search->racks <= RACKS_FOR_PATHS)
		search->between = calloc(search->racks * search->racks + 1, sizeof *search->between);
	for (int r = 0; r < RELATIONS; r++) {
		search->kinds[r] = histogram_create(1, 10 * NS_PER_S, 2);
		if (!search->kinds[r])
			return -ENOMEM;
	}
	if (!search->rack_of || !search->rack_hosts || !search->active || !search->stalls || !search->host[0] ||
	    !search->host[1] || !search->inside || !search->outside)
		return -ENOMEM;
	for (uint32_t host = 0; host < search->hosts; host++) {
		uint32_t rack = latency_live_rack_of(search->live, host);

		search->rack_of[host] = rack < search->racks ? rack : LATENCY_NO_RACK;
		search->active[host] = latency_live_status(search->live, host) == LATENCY_HOST_ACTIVE;
		if (rack < search->racks)
			search->rack_hosts[rack]++;
	}
	return 0;
}

static void release(struct search *search)
{
	for (int r = 0; r < RELATIONS; r++)
		histogram_destroy(search->kinds[r]);
	free(search->rack_of);
	free(search->rack_hosts);
	free(search->active);
	free(search->stalls);
	for (int end = 0; end < PATTERN_ENDS; end++)
		free(search->host[end]);
	free(search->inside);
	free(search->outside);
	free(search->between);
	free(search->bad);
	hash_table_free(&search->named);
}

int patterns_find(const struct latency_matrix *live, enum latency_statistic statistic, struct ns now, struct ns max_age,
		  struct patterns *patterns)
{
	struct search search = {
		.live = live, .statistic = statistic, .now = now, .max_age = max_age, .found = patterns};
	int code = prepare(&search);

	*patterns = (struct patterns){0};
	code = code ? code : search_stalls(&search);
	code = code ? code : search_hops(&search);
	if (!code) {
		find_limits(&search);
		code = count_pairs(&search);
	}
	search.everywhere = !code && is_everywhere(&search);
	if (!code)
		code = judge_racks(&search);
	if (!code)
		code = judge_hosts(&search);
	if (!code)
		code = judge_paths(&search);
	patterns->bad = search.bad_count;
	for (size_t i = 0; i < search.bad_count; i++)
		patterns->unexplained += !search.bad[i].explained;
	release(&search);
	if (code)
		patterns_free(patterns);
	return code;
}

void patterns_free(struct patterns *patterns)
{
	free(patterns->items);
	*patterns = (struct patterns){0};
}
