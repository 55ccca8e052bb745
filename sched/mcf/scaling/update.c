/* SPDX-License-Identifier: BSD-3-Clause */
/* The global update, which lowers prices by the nodes' distances from the deficits, and the proof of infeasibility. */
#include <string.h>

#include "scaling_priv.h"

enum { NOWHERE = -1 };

static void bucket_put(struct scaling *scaling, int32_t node, int32_t rank)
{
	int32_t old = scaling->bucket[rank];

	scaling->bucket_next[node] = old;
	scaling->bucket_before[node] = NOWHERE;
	if (old != NOWHERE)
		scaling->bucket_before[old] = node;
	scaling->bucket[rank] = node;
	scaling->rank[node] = rank;
	scaling->buckets_used = rank < scaling->buckets_used ? scaling->buckets_used : rank + 1;
}

static void bucket_take(struct scaling *scaling, int32_t node)
{
	int32_t next = scaling->bucket_next[node], before = scaling->bucket_before[node];

	if (before != NOWHERE)
		scaling->bucket_next[before] = next;
	else
		scaling->bucket[scaling->rank[node]] = next;
	if (next != NOWHERE)
		scaling->bucket_before[next] = before;
}

/* Number of arcs scanned together. */
enum { TOGETHER = 16 };

/*
 * Lists those of the arcs begin .. end - 1 out of `node` whose head would get a lower rank by a path through `node`,
 * over the reverse arc. The conditions are unpredictable: evaluating all without branches is faster than stopping at
 * the first that fails.
 */
static inline int32_t list_nearer(const struct scaling *scaling, int32_t node, int32_t begin, int32_t end,
				  int32_t listed[TOGETHER])
{
	int64_t own = scaling->price[node];
	int32_t rank = scaling->rank[node], count = 0;

	for (int32_t i = begin; i < end; i++) {
		const struct residual *arc = &scaling->arcs[i];
		int64_t reduced = scaling->price[arc->head] - arc->cost - own;
		mcf_wide most = (mcf_wide)(scaling->rank[arc->head] - rank - 1) * scaling->epsilon;

		listed[count] = i;
		count += (scaling->rank[arc->head] > rank) & (reduced < most) & scaling_has_way_back(scaling, i);
	}
	return count;
}

/*
 * Lowers the ranks of nodes with a residual arc to `node`. The length of such an arc is its reduced cost in epsilons,
 * rounded down, + 1; it is 0 if the reduced cost is negative.
 */
static void scan_into(struct scaling *scaling, int32_t node)
{
	int32_t end = scaling->end[node], none = scaling->bucket_count, listed[TOGETHER];

	scaling->scans += end - scaling->first[node];
	for (int32_t i = scaling->first[node]; i < end; i += TOGETHER) {
		int32_t count = list_nearer(scaling, node, i, end - i < TOGETHER ? end : i + TOGETHER, listed);

		for (int32_t k = 0; k < count; k++) {
			const struct residual *arc = &scaling->arcs[listed[k]];
			int32_t tail = arc->head;
			/* The cost of the reverse arc is -arc->cost. */
			int64_t steps = scaling->price[tail] - arc->cost - scaling->price[node];

			steps = steps < 0 ? 0 : steps / scaling->epsilon + 1;
			steps += scaling->rank[node];
			if (steps >= scaling->rank[tail]) /* a parallel arc gave it a lower rank */
				continue;
			if (scaling->rank[tail] < none)
				bucket_take(scaling, tail);
			bucket_put(scaling, tail, (int32_t)steps);
		}
	}
}

bool scaling_global_update(struct scaling *scaling)
{
	int32_t none = scaling->bucket_count, rank, active = 0;

	memset(scaling->bucket, 0xff, (size_t)scaling->buckets_used * sizeof *scaling->bucket);
	scaling->buckets_used = 0;
	for (int32_t v = 0; v < scaling->node_count; v++) {
		scaling->rank[v] = none;
		if (scaling->excess[v] < 0)
			bucket_put(scaling, v, 0);
		active += scaling->excess[v] > 0;
	}
	for (rank = 0; active > 0 && rank<none; rank += active> 0) {
		while (active > 0 && scaling->bucket[rank] != NOWHERE) {
			int32_t node = scaling->bucket[rank];

			bucket_take(scaling, node);
			scan_into(scaling, node);
			active -= scaling->excess[node] > 0;
		}
	}
	if (active > 0) {
		if (!scaling_deficits_reachable(scaling))
			return false;
		scaling_release_fixed(scaling);
		/*
		 * scaling_deficits_reachable() has overwritten rank[], so the prices stay as they are until the next
		 * update
		 */
		return true;
	}
	/* Nodes that were not scanned are at least as far from a deficit as `rank`, at which the loop ended. */
	for (int32_t v = 0; v < scaling->node_count; v++) {
		int32_t steps = scaling->rank[v] < rank ? scaling->rank[v] : rank;

		if (steps == 0)
			continue;
		scaling->price[v] -= steps * scaling->epsilon;
		scaling->next[v] = scaling->first[v];
	}
	return true;
}

bool scaling_deficits_reachable(struct scaling *scaling)
{
	int32_t count = 0;

	/* rank = 1 means not reached. bucket_next is used as the queue. */
	for (int32_t v = 0; v < scaling->node_count; v++) {
		scaling->rank[v] = scaling->excess[v] >= 0;
		if (scaling->excess[v] < 0)
			scaling->bucket_next[count++] = v;
	}
	for (int32_t k = 0; k < count; k++) {
		int32_t node = scaling->bucket_next[k];

		for (int32_t i = scaling->first[node]; i < scaling->first[node + 1]; i++) {
			int32_t tail = scaling->arcs[i].head;

			if (scaling->rank[tail] == 0 || !scaling_has_way_back(scaling, i))
				continue;
			scaling->rank[tail] = 0;
			scaling->bucket_next[count++] = tail;
		}
	}
	for (int32_t v = 0; v < scaling->node_count; v++) {
		if (scaling->excess[v] > 0 && scaling->rank[v] == 1)
			return false;
	}
	return true;
}
