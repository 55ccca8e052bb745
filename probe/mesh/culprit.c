/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/mesh/watch.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/quantile.h>

enum { SAMPLES_LEAST = 5, SLOW_PATHS_LEAST = 4, WINDOWS = 3, CULPRITS_MOST = 8, SEARCHES_A_ROUND = 8 };

static const double slow_factor = 1.5, slow_excess_us = 20, slow_share = 0.75, lossy_share = 0.005, normal_loss = 0.001;

/*
 * SLOW: its median, in two windows one after the other. SILENT: no answer in a window in which the peer answers on
 * other paths. LOSSY: by the losses on the way there.
 */
enum fault { SLOW, SILENT, LOSSY, FAULTS };

/*
 * Logarithm of the likelihood ratio from which on a link is named; LOSSY: plus that of the number of links, with a
 * chance of 10^-6. It may be less for SLOW and SILENT: chance decides over which links answers return, but it decides
 * only once, not in each window.
 */
static const double least_evidence[FAULTS] = {4, 5, 13.8};

/* Paths that are slow or silent, of all; or probes that were lost, of those that were sent. */
struct tally {
	double bad, of;
};

struct judged {
	ip_address peer;
	struct path route;
	double us; /* excess over the best path */
	/* timed: it has the samples for a median; _now: in the last window, else also in the one before. */
	bool timed_now, slow_now, timed, slow, silent;
	struct tally windows[WINDOWS]; /* losses on the way to the peer; the newest window first */
	bool explained[FAULTS];
};

struct culprit {
	ip_address from, to;
	enum fault fault;
	double evidence;
	size_t paths; /* that cross it */
};

struct culprits {
	struct judged *paths; /* those of one peer one after the other */
	size_t count, capacity;
	size_t taken; /* number of paths since the last search */
	struct culprit found[CULPRITS_MOST];
	size_t found_count;
};

/* A path's passage over a link. */
struct passage {
	ip_address from, to;
	size_t path;
};

struct culprits *culprits_create(void)
{
	return calloc(1, sizeof(struct culprits));
}

void culprits_destroy(struct culprits *culprits)
{
	if (culprits)
		free(culprits->paths);
	free(culprits);
}

/* --- paths --- */

static double best_of(const struct mesh_pair *pair)
{
	double best = 0;

	for (uint32_t i = 0; i < pair->path_count; i++) {
		const struct mesh_distribution *rtt = &pair->paths[i].rtt;

		if (rtt->samples >= SAMPLES_LEAST && (best == 0 || rtt->p50_us < best))
			best = rtt->p50_us;
	}
	return best;
}

static struct judged judge(const struct mesh_pair *pair, const struct mesh_path *path, double best_us)
{
	struct judged judged = {.peer = pair->peer.address, .route = path->route};

	judged.timed_now = path->rtt.samples >= SAMPLES_LEAST;
	judged.us = judged.timed_now ? path->rtt.p50_us - best_us : 0;
	judged.slow_now = judged.us > slow_excess_us && judged.us + best_us > slow_factor * best_us;
	judged.silent = path->counters.lost >= SAMPLES_LEAST && path->counters.fresh == 0;
	judged.windows[0].of = (double)path->counters.sent;
	/* An answer may report losses of earlier windows, too. */
	if (path->lost_forward_known)
		judged.windows[0].bad = fmin((double)path->lost_forward, (double)path->counters.lost);
	judged.windows[0].bad = fmin(judged.windows[0].bad, judged.windows[0].of);
	return judged;
}

static bool same_route(const struct path *a, const struct path *b)
{
	return a->hop_count == b->hop_count && memcmp(a->hops, b->hops, a->hop_count * sizeof *a->hops) == 0;
}

static void add_windows_before(const struct culprits *culprits, size_t known, struct judged *path)
{
	for (size_t i = 0; i < known; i++) {
		const struct judged *old = &culprits->paths[i];

		if (old->peer != path->peer || !same_route(&old->route, &path->route))
			continue;
		path->timed = path->timed_now && old->timed_now;
		path->slow = path->slow_now && old->slow_now;
		memcpy(path->windows + 1, old->windows, (WINDOWS - 1) * sizeof *path->windows);
		return;
	}
}

/* --- the search --- */

static double share(struct tally tally)
{
	return tally.of > 0 ? tally.bad / tally.of : 0;
}

static void add(struct tally *sum, struct tally more)
{
	sum->bad += more.bad;
	sum->of += more.of;
}

static struct tally minus(struct tally all, struct tally part)
{
	return (struct tally){all.bad - part.bad, all.of - part.of};
}

/* Adds up the losses of windows `from` up to, but not including, `to`. */
static struct tally losses(const struct judged *path, int from, int to)
{
	struct tally sum = {0};

	for (int i = from; i < to; i++)
		add(&sum, path->windows[i]);
	return sum;
}

static struct tally tally_of(const struct judged *path, enum fault fault)
{
	if (path->explained[fault])
		return (struct tally){0};
	switch (fault) {
	case SLOW:
		return (struct tally){path->slow, path->timed};
	case SILENT:
		return (struct tally){path->silent, 1};
	case LOSSY:
	case FAULTS:
		break;
	}
	return losses(path, 0, WINDOWS);
}

/* Adds up the losses of all paths to the peer of this path that are not explained yet. */
static struct tally losses_of_peer(const struct culprits *culprits, size_t path)
{
	ip_address peer = culprits->paths[path].peer;
	struct tally sum = {0};

	while (path > 0 && culprits->paths[path - 1].peer == peer)
		path--;
	for (; path < culprits->count && culprits->paths[path].peer == peer; path++)
		add(&sum, tally_of(&culprits->paths[path], LOSSY));
	return sum;
}

static int compare_links(const struct passage *a, const struct passage *b)
{
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

static int compare_passages(const void *a, const void *b)
{
	const struct passage *left = a, *right = b;
	int order = compare_links(left, right);

	return order ? order : (left->path > right->path) - (left->path < right->path);
}

/* Returns all passages over links whose ends are both known, sorted by link and path, or NULL if out of memory. */
static struct passage *passages_of(const struct culprits *culprits, size_t *count)
{
	struct passage *passages = calloc(culprits->count * PATHS_HOPS_MAXIMUM + 1, sizeof *passages);

	*count = 0;
	for (size_t i = 0; passages && i < culprits->count; i++) {
		const struct path *route = &culprits->paths[i].route;

		for (uint32_t hop = 0; hop + 1 < route->hop_count; hop++)
			if (route->hops[hop] && route->hops[hop + 1])
				passages[(*count)++] = (struct passage){route->hops[hop], route->hops[hop + 1], i};
	}
	if (*count)
		qsort(passages, *count, sizeof *passages, compare_passages);
	return passages;
}

/* The paths over a link, in an order by peers. */
struct link {
	const struct passage *first, *end;
	struct tally on, rest; /* of the paths over it; of all others */
};

/* Returns the share of the link's trials that are bad without a fault. */
static double normal_share(const struct culprits *culprits, const struct link *link, enum fault fault)
{
	double normal = (link->rest.bad + 0.5) / (link->rest.of + 1), bad = 0;

	if (fault != LOSSY)
		return normal;
	normal = fmax(normal, normal_loss);
	for (const struct passage *at = link->first; at < link->end;) {
		const struct judged *path = &culprits->paths[at->path];
		struct tally peer = losses_of_peer(culprits, at->path), on = {0};

		for (; at < link->end && culprits->paths[at->path].peer == path->peer; at++)
			add(&on, tally_of(&culprits->paths[at->path], LOSSY));
		peer = minus(peer, on);
		/* A peer without other paths may lose all of them itself. */
		bad += on.of * fmax(normal, peer.of > 0 ? share(peer) : share(on));
	}
	return link->on.of > 0 ? fmin(bad / link->on.of, 0.99) : normal;
}

/* Does the link lose probes in its newest windows and in those before? */
static bool goes_on(const struct culprits *culprits, const struct link *link, double normal)
{
	struct tally newest = {0}, older = {0};

	for (const struct passage *at = link->first; at < link->end; at++) {
		const struct judged *path = &culprits->paths[at->path];

		if (path->explained[LOSSY])
			continue;
		add(&newest, losses(path, 0, 1));
		add(&older, losses(path, 1, WINDOWS));
	}
	return share(newest) > normal && share(older) > normal;
}

static double evidence_of(const struct culprits *culprits, struct link *link, enum fault fault, struct tally all)
{
	double normal;

	for (const struct passage *at = link->first; at < link->end; at++)
		add(&link->on, tally_of(&culprits->paths[at->path], fault));
	link->rest = minus(all, link->on);
	normal = normal_share(culprits, link, fault);
	if (fault == LOSSY && (share(link->on) <= lossy_share || !goes_on(culprits, link, normal)))
		return 0;
	if (fault == SLOW && (link->on.bad < SLOW_PATHS_LEAST || share(link->on) < slow_share))
		return 0;
	return likelihood_of_excess(link->on.bad, link->on.of, normal);
}

/* Finds the link that explains the faults best. Returns false if there is none. */
static bool find_culprit(const struct culprits *culprits, const struct passage *passages, size_t count,
			 enum fault fault, struct culprit *culprit)
{
	const struct passage *end = passages + count, *next;
	struct tally all = {0};
	size_t links = 0;

	for (size_t i = 0; i < culprits->count; i++)
		add(&all, tally_of(&culprits->paths[i], fault));
	*culprit = (struct culprit){.fault = fault};
	for (const struct passage *at = passages; at < end; at = next, links++) {
		struct link link = {.first = at};
		double evidence;

		for (next = at; next < end && compare_links(at, next) == 0;)
			next++;
		link.end = next;
		evidence = evidence_of(culprits, &link, fault, all);
		if (evidence > culprit->evidence)
			*culprit = (struct culprit){at->from, at->to, fault, evidence, (size_t)(next - at)};
	}
	return culprit->evidence > least_evidence[fault] + (fault == LOSSY ? log((double)links + 1) : 0);
}

static bool crosses(const struct path *route, const struct culprit *culprit)
{
	for (uint32_t i = 0; i + 1 < route->hop_count; i++)
		if (route->hops[i] == culprit->from && route->hops[i + 1] == culprit->to)
			return true;
	return false;
}

/* Finds the culprits, one after the other: a path that one explains does not count for the next. */
static int search(struct culprits *culprits)
{
	size_t count;
	struct passage *passages = passages_of(culprits, &count);

	if (!passages)
		return -ENOMEM;
	for (size_t i = 0; i < culprits->count; i++)
		memset(culprits->paths[i].explained, 0, sizeof culprits->paths[i].explained);
	culprits->found_count = culprits->taken = 0;
	for (int fault = 0; fault < FAULTS;) {
		struct culprit *culprit = &culprits->found[culprits->found_count];

		if (culprits->found_count == CULPRITS_MOST)
			break;
		if (!find_culprit(culprits, passages, count, (enum fault)fault, culprit)) {
			fault++;
			continue;
		}
		for (size_t i = 0; i < culprits->count; i++)
			if (crosses(&culprits->paths[i].route, culprit))
				culprits->paths[i].explained[fault] = true;
		culprits->found_count++;
	}
	free(passages);
	return 0;
}

/* --- the interface --- */

int culprits_take(struct culprits *culprits, const struct mesh_pair *pair)
{
	double best_us = best_of(pair);
	size_t known = culprits->count, kept = 0;

	for (uint32_t i = 0; pair->finds_paths && pair->counters.fresh && i < pair->path_count; i++) {
		struct judged *paths = array_grow(culprits->paths, culprits->count, &culprits->capacity, sizeof *paths);

		if (!paths)
			return -ENOMEM;
		culprits->paths = paths;
		paths[culprits->count] = judge(pair, &pair->paths[i], best_us);
		add_windows_before(culprits, known, &paths[culprits->count++]);
	}
	culprits->taken += culprits->count - known;
	for (size_t i = 0; i < culprits->count; i++)
		if (i >= known || culprits->paths[i].peer != pair->peer.address)
			culprits->paths[kept++] = culprits->paths[i];
	culprits->count = kept;
	return culprits->taken * SEARCHES_A_ROUND >= culprits->count ? search(culprits) : 0;
}

void culprits_keep(struct culprits *culprits, const struct peers *peers)
{
	size_t kept = 0;

	for (size_t i = 0; i < culprits->count; i++)
		if (peers_find(peers, culprits->paths[i].peer))
			culprits->paths[kept++] = culprits->paths[i];
	culprits->count = kept;
}

static bool is_bad(const struct judged *path, enum fault fault)
{
	struct tally tally = fault == LOSSY ? losses(path, 0, WINDOWS)
					    : (struct tally){fault == SLOW ? path->slow : path->silent, 1};

	return share(tally) > lossy_share;
}

static bool is_rarer(const struct culprit *culprit, const struct culprit *named)
{
	return !named || culprit->paths < named->paths;
}

static void name(const struct judged *path, const struct culprit *culprit, struct latency_entry *entry)
{
	entry->hop = culprit->from;
	entry->next_hop = culprit->to;
	entry->hop_us = culprit->fault == SLOW ? (float)path->us : 0;
	entry->hop_loss = path->silent ? 1 : (float)share(losses(path, 0, WINDOWS));
}

void culprits_name(const struct culprits *culprits, ip_address peer, struct latency_entry *entry)
{
	const struct culprit *named = NULL;

	for (size_t k = 0; k < culprits->found_count; k++) {
		/* Of culprits with the same number of paths, some peers name the one, some the other. */
		const struct culprit *culprit = &culprits->found[(k + (size_t)peer) % culprits->found_count];

		for (size_t i = 0; i < culprits->count && is_rarer(culprit, named); i++) {
			const struct judged *path = &culprits->paths[i];

			if (path->peer != peer || !is_bad(path, culprit->fault) || !crosses(&path->route, culprit))
				continue;
			named = culprit;
			name(path, culprit, entry);
		}
	}
}
