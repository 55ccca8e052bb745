/* SPDX-License-Identifier: BSD-3-Clause */
#include "verdict_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/quantile.h>

enum { RACKS_FOR_PATHS = 4096, P99_SAMPLES = 100 };

static const double bad_share = 0.6, good_share = 0.3, bad_loss = 0.01, bad_factor = 3, bad_excess_us = 20;
/*
 * One path of a pair crosses a lossy link on the way there; as to the answers, chance decides how many paths' do. By
 * what the mean loss of a pair is multiplied.
 */
static const double chance_factors[] = {2, 4};
/* Probability that chance alone names anything, if some pairs are bad. */
static const double false_alarm = 0.0001;

const char *const pattern_names[] = {"rack", "uplink", "host", "path", "stall", "router", "link", NULL};

static int relation(const struct search *search, const struct latency_entry *entry)
{
	uint32_t from = search->rack_of[entry->source], to = search->rack_of[entry->destination];

	if (from == to)
		return 0;
	return strcmp(latency_live_pod_name(search->live, from), latency_live_pod_name(search->live, to)) == 0 ? 1 : 2;
}

/*
 * Returns what reported routers and links do to a pair: those that its own prober names or one in the same rack, or
 * those of the opposite pairs, whose probes go where this pair's answers go.
 */
static struct explanation explanation_of(const struct search *search, const struct latency_entry *entry)
{
	const uint64_t keys[] = {search_key(search, entry->source, entry->destination),
				 search_key(search, entry->destination, entry->source)};
	bool far = keys[0] != keys[1];
	struct explanation sum = {0};

	for (int i = 0; i < 2 && search->explanation_count; i++) {
		uint32_t at = hash_table_find(&search->explained, keys[i]);
		struct explanation one = far ? search->far_explanation : (struct explanation){0};

		if (at != HASH_TABLE_NONE) {
			one.us = fmax(one.us, search->explanations[at].us);
			one.loss = fmax(one.loss, search->explanations[at].loss);
		}
		sum.us = fmax(sum.us, one.us);
		sum.loss += chance_factors[i] * one.loss / (entry->paths ? entry->paths : 1);
	}
	return sum;
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

static bool is_bad(const struct search *search, const struct latency_entry *entry, struct explanation explained)
{
	bool stalls = search->stalls[entry->source] || search->stalls[entry->destination];

	return (entry->loss > bad_loss + explained.loss && !stalls) ||
	       judged_value(search, entry, explained.us) > search->limits[relation(search, entry)];
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

/* Adds each count `times` times; -1 subtracts it. */
static void add(struct tally *tally, const struct tally *more, uint32_t times)
{
	tally->pairs += times * more->pairs;
	tally->bad += times * more->bad;
	tally->unreachable += times * more->unreachable;
	tally->explained += times * more->explained;
}

/* Adds a pair to all counts, or subtracts it. */
static void count(struct search *search, uint32_t source, uint32_t destination, const struct tally *pair,
		  uint32_t times)
{
	uint32_t from = search->rack_of[source], to = search->rack_of[destination];

	add(&search->all, pair, times);
	add(&search->host[PATTERN_SOURCE][source], pair, times);
	add(&search->host[PATTERN_DESTINATION][destination], pair, times);
	if (from >= search->racks || to >= search->racks)
		return;
	add(from == to ? &search->inside[from] : &search->outside[from], pair, times);
	if (from != to) {
		add(&search->outside[to], pair, times);
		add(&search->far, pair, times);
	}
	if (search->between)
		search->between[from * search->racks + to] += times;
}

static int note_bad(struct search *search, struct bad_pair pair)
{
	struct bad_pair *bad = array_grow(search->bad, search->bad_count, &search->bad_capacity, sizeof *bad);

	if (!bad)
		return -ENOMEM;
	search->bad = bad;
	bad[search->bad_count++] = pair;
	return 0;
}

static int count_pairs(struct search *search)
{
	struct latency_entry entry;
	enum latency_state state;
	int code = 0;

	for (size_t i = 0; i < latency_matrix_count(search->live) && !code; i++) {
		struct explanation explained;
		struct tally pair = {.pairs = 1};

		if (!search_load(search, i, &entry, &state))
			continue;
		explained = explanation_of(search, &entry);
		pair.unreachable = state == LATENCY_STATE_UNREACHABLE;
		pair.bad = pair.unreachable || is_bad(search, &entry, explained);
		pair.explained = !pair.bad && (explained.us > 0 || explained.loss > 0);
		count(search, entry.source, entry.destination, &pair, 1);
		if (pair.bad)
			code = note_bad(search,
					(struct bad_pair){entry.source, entry.destination, pair.unreachable, false});
	}
	return code;
}

static double share(const struct tally *tally)
{
	return tally->pairs ? (double)tally->bad / tally->pairs : 0;
}

/* Marks the bad pairs that the pattern explains, and subtracts them from the counts. */
static void explain(struct search *search,
		    bool (*is)(const struct search *search, const struct bad_pair *pair, const struct pattern *pattern),
		    const struct pattern *pattern)
{
	for (size_t i = 0; i < search->bad_count; i++) {
		struct bad_pair *pair = &search->bad[i];

		if (pair->explained || !is(search, pair, pattern))
			continue;
		pair->explained = true;
		count(search, pair->source, pair->destination,
		      &(struct tally){.pairs = 1, .bad = 1, .unreachable = pair->unreachable}, (uint32_t)-1);
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
	return (struct tally){from->pairs + to->pairs, from->bad + to->bad, from->unreachable + to->unreachable,
			      from->explained + to->explained};
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

/*
 * Returns true if some pairs are bad so much more often than the rest of all pairs that chance does not explain it,
 * given the number of candidates that were compared.
 */
static bool stands_out(const struct tally *some, const struct tally *all, double candidates)
{
	/* A rack's counts lack the pairs of its hosts with hosts that have no rack. */
	double known = fmax(0, (double)all->pairs - all->explained - ((double)some->pairs - some->explained));
	double bad = fmin(known, fmax(0, (double)all->bad - some->bad));
	double normal = (bad + 0.5) / (known + 1);

	return share(some) >= bad_share &&
	       likelihood_of_excess(some->bad, some->pairs, normal) > log(candidates / false_alarm);
}

static int judge_racks(struct search *search)
{
	int code = 0;

	for (uint32_t rack = 0; rack < search->racks && !code; rack++) {
		const struct tally *in = &search->inside[rack], *out = &search->outside[rack];
		bool whole = share(in) >= bad_share && share(out) >= bad_share;
		bool uplink =
			in->pairs && share(in) < good_share && stands_out(out, &search->far, (double)search->racks);
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
		if (search->rack_hosts[rack] < 2 || search->racks < 3 || !(whole || uplink))
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

/* Among all hosts, and in its rack: if the others there are as bad, it may be the uplink. */
static bool host_stands_out(const struct search *search, uint32_t host, const struct tally *tally)
{
	uint32_t rack = search->rack_of[host];
	struct tally of_rack;

	if (!stands_out(tally, &search->all, (double)search->hosts))
		return false;
	if (rack >= search->racks || search->rack_hosts[rack] < 2)
		return true;
	of_rack = search->inside[rack];
	add(&of_rack, &search->outside[rack], 1);
	return stands_out(tally, &of_rack, (double)search->hosts);
}

/* A host that is bad only in one direction must have good pairs in the other. */
static bool is_bad_host(const struct search *search, uint32_t host, int end)
{
	struct tally tally = tally_of(search, host, end), other;

	if (tally.pairs < PAIRS_LEAST || share(&tally) < bad_share)
		return false;
	if (tally.unreachable < bad_share * tally.pairs && !host_stands_out(search, host, &tally))
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
	const double racks = (double)search->racks;
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
		struct tally path;

		for (next = i; next < count && compare_by_racks(keys[i], keys[next]) == 0;)
			next++;
		pattern.bad = (uint32_t)(next - i);
		pattern.pairs =
			search->between ? search->between[pattern.from * search->racks + pattern.to] : pattern.bad;
		path = (struct tally){.pairs = pattern.pairs, .bad = pattern.bad};
		if (pattern.bad < 2 || !stands_out(&path, &search->far, racks * racks))
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
	hash_table_free(&search->explained);
	free(search->explanations);
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
