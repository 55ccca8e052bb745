/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/mesh/culprit.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

enum { SAMPLES_LEAST = 10, LOST_LEAST = 2, BAD_PATHS_LEAST = 4 };

static const double slow_factor = 1.5, slow_excess_us = 20, lossy_share = 0.01, accusing_share = 0.6, contrast = 0.4;

enum fault { SLOW, LOSSY, FAULTS };

struct judged {
	ip_address peer;
	struct path route;
	double us, loss;  /* excess over the best path; share of the probes lost on the way there */
	bool now[FAULTS]; /* the path is slow, lossy in the last window */
	bool bad[FAULTS]; /* and in the one before */
};

struct culprits {
	struct judged *paths;
	size_t count, capacity;
};

/* A path's passage over a link. */
struct passage {
	ip_address from, to;
	bool bad;
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

/*
 * Returns the number of probes that were lost on the way there. If a peer answers on other paths and never on this one,
 * these are all: answers return over any path.
 */
static uint64_t lost_there(const struct mesh_pair *pair, const struct mesh_path *path)
{
	if (path->counters.fresh == 0 && pair->counters.fresh > 0)
		return path->counters.lost;
	return path->lost_forward_known ? path->lost_forward : 0;
}

static struct judged judge(const struct mesh_pair *pair, const struct mesh_path *path, double best_us)
{
	struct judged judged = {.peer = pair->peer.address, .route = path->route};
	uint64_t lost = lost_there(pair, path);

	judged.us = path->rtt.samples >= SAMPLES_LEAST ? path->rtt.p50_us - best_us : 0;
	judged.loss = path->counters.sent ? (double)lost / (double)path->counters.sent : 0;
	judged.loss = judged.loss > 1 ? 1 : judged.loss;
	judged.now[SLOW] = judged.us > slow_excess_us && judged.us + best_us > slow_factor * best_us;
	judged.now[LOSSY] = judged.loss > lossy_share && lost >= LOST_LEAST;
	return judged;
}

static bool same_route(const struct path *a, const struct path *b)
{
	return a->hop_count == b->hop_count && memcmp(a->hops, b->hops, a->hop_count * sizeof *a->hops) == 0;
}

static void compare_with_window_before(const struct culprits *culprits, size_t known, struct judged *path)
{
	for (size_t i = 0; i < known; i++) {
		const struct judged *old = &culprits->paths[i];

		if (old->peer != path->peer || !same_route(&old->route, &path->route))
			continue;
		for (int fault = 0; fault < FAULTS; fault++)
			path->bad[fault] = path->now[fault] && old->now[fault];
	}
}

int culprits_take(struct culprits *culprits, const struct mesh_pair *pair)
{
	double best_us = best_of(pair);
	size_t known = culprits->count, kept = 0;

	for (uint32_t i = 0; pair->finds_paths && i < pair->path_count; i++) {
		struct judged *paths = array_grow(culprits->paths, culprits->count, &culprits->capacity, sizeof *paths);

		if (!paths)
			return -ENOMEM;
		culprits->paths = paths;
		paths[culprits->count] = judge(pair, &pair->paths[i], best_us);
		compare_with_window_before(culprits, known, &paths[culprits->count++]);
	}
	for (size_t i = 0; i < culprits->count; i++)
		if (i >= known || culprits->paths[i].peer != pair->peer.address)
			culprits->paths[kept++] = culprits->paths[i];
	culprits->count = kept;
	return 0;
}

void culprits_keep(struct culprits *culprits, const struct peers *peers)
{
	size_t kept = 0;

	for (size_t i = 0; i < culprits->count; i++)
		if (peers_find(peers, culprits->paths[i].peer))
			culprits->paths[kept++] = culprits->paths[i];
	culprits->count = kept;
}

static int compare_links(const void *a, const void *b)
{
	const struct passage *left = a, *right = b;

	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	return (left->to > right->to) - (left->to < right->to);
}

static bool crosses(const struct path *route, const struct passage *link)
{
	for (uint32_t i = 0; i + 1 < route->hop_count; i++)
		if (route->hops[i] == link->from && route->hops[i + 1] == link->to)
			return true;
	return false;
}

/* Returns all passages over links whose ends are both known, sorted by link, or NULL if out of memory. */
static struct passage *passages_of(const struct culprits *culprits, enum fault fault, size_t *count)
{
	struct passage *passages = calloc(culprits->count * PATHS_HOPS_MAXIMUM + 1, sizeof *passages);

	*count = 0;
	for (size_t i = 0; passages && i < culprits->count; i++) {
		const struct path *route = &culprits->paths[i].route;

		for (uint32_t hop = 0; hop + 1 < route->hop_count; hop++)
			if (route->hops[hop] && route->hops[hop + 1])
				passages[(*count)++] = (struct passage){route->hops[hop], route->hops[hop + 1],
									culprits->paths[i].bad[fault]};
	}
	if (*count)
		qsort(passages, *count, sizeof *passages, compare_links);
	return passages;
}

/* Finds the link that explains the bad paths best. Returns their number, 0 if there is no such link, or -ENOMEM. */
static int64_t find_culprit(const struct culprits *culprits, enum fault fault, struct passage *culprit)
{
	size_t count, bad_paths = 0, most = 0, next;
	struct passage *passages;

	for (size_t i = 0; i < culprits->count; i++)
		bad_paths += culprits->paths[i].bad[fault];
	if (bad_paths < BAD_PATHS_LEAST)
		return 0;
	passages = passages_of(culprits, fault, &count);
	if (!passages)
		return -ENOMEM;
	for (size_t i = 0; i < count; i = next) {
		size_t bad = 0, rest;
		double share, share_of_rest;

		for (next = i; next < count && compare_links(&passages[i], &passages[next]) == 0; next++)
			bad += passages[next].bad;
		rest = culprits->count - (next - i);
		share = (double)bad / (double)(next - i);
		share_of_rest = rest ? (double)(bad_paths - bad) / (double)rest : 0;
		if (bad < BAD_PATHS_LEAST || bad <= most || share < accusing_share || share < share_of_rest + contrast)
			continue;
		most = bad;
		*culprit = passages[i];
	}
	free(passages);
	return (int64_t)most;
}

int culprits_name(const struct culprits *culprits, ip_address peer, struct latency_entry *entry)
{
	for (int fault = 0; fault < FAULTS && !entry->hop; fault++) {
		struct passage culprit = {0};
		int64_t paths = find_culprit(culprits, (enum fault)fault, &culprit);

		if (paths < 0)
			return (int)paths;
		for (size_t i = 0; paths && i < culprits->count; i++) {
			const struct judged *path = &culprits->paths[i];

			if (path->peer != peer || !path->bad[fault] || !crosses(&path->route, &culprit))
				continue;
			entry->hop = culprit.from;
			entry->next_hop = culprit.to;
			entry->hop_us = fault == SLOW ? (float)path->us : 0;
			entry->hop_loss = (float)path->loss;
		}
	}
	return 0;
}
