/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is the flow optimal already? Mostly it is, or nearly so, phases before epsilon has fallen to 1: what lacks are prices
 * that show it (price refinement, Goldberg 1997). They are shortest distances where an arc is as long as its reduced
 * cost is over -1, found from the phase's prices by passes in topological order (Goldberg & Radzik 1993). The cycles of
 * negative length that come up are filled: near the optimum they are few.
 */
#include <string.h>

#include "scaling_priv.h"

/* Of a node in a pass: not reached, on the way that the search is on, in the order. */
enum mark { UNSEEN, ON_WAY, IN_ORDER };
enum { NO_ARC = -1 };
/*
 * Measured, in scans of all arcs: what passes may take at least, what a pass adds to that, how often cycles are looked
 * for, and what beginning a phase takes. A scan of a phase costs several of a pass, which goes along the arrays;
 * looking for cycles goes from node to node and costs several of a pass a node.
 */
enum { SCANS_BASE = 4, PASSES_PER_SCAN = 8, LOOKS_PER_SCAN = 4, SCANS_OF_BEGINNING = 2, PASS_SCANS_A_SCAN = 3 };
enum { SCANS_OF_LOOKING = 4 };
/* The part of all that passes may take while they stay long. */
enum { SCANS_PART = 4 };
/*
 * With fewer nodes than this part still labelled the next phase begins with the new prices. Measured on random arcs:
 * it then takes a third of the time; with a 25th of them left it is the longer one on layered networks.
 */
enum { NEARLY_ALL = 100 };

struct settle {
	struct scaling *scaling;
	int64_t *price;       /* [nodes] as far as they are found */
	int32_t *parent;      /* [nodes] arc that lowered the price last, or NO_ARC */
	int32_t *parent_tail; /* [nodes] of that arc */
	int32_t *label; /* [label_count] nodes that may have arcs of negative length out: the next pass starts there */
	bool *labelled;
	int32_t *order; /* [nodes] from order_begin: nodes of the pass, tails before heads */
	int32_t *way;   /* [depth] nodes above the search; arcs by which it went down are at next[] */
	int32_t *mark;  /* [nodes] enum mark */
	int32_t label_count, order_begin, depth;
	int64_t scans; /* arcs looked at */
};

static void label(struct settle *settle, int32_t node)
{
	if (settle->labelled[node])
		return;
	settle->labelled[node] = true;
	settle->label[settle->label_count++] = node;
}

/* The next arc of negative length out of `node` to what is not in the order; next[node] stands there. */
static bool find_down(struct settle *settle, int32_t node)
{
	const struct scaling *scaling = settle->scaling;
	int32_t begin = scaling->next[node], end = scaling->first[node + 1], i = begin;
	int64_t bound = -1 - settle->price[node]; /* seen less than this: the arc's length is negative */

	while (i < end && (scaling_seen(settle->price, &scaling->arcs[i]) >= bound ||
			   settle->mark[scaling->arcs[i].head] == IN_ORDER))
		i++;
	settle->scans += i - begin;
	scaling->next[node] = i;
	return i < end;
}

/*
 * The way from `top` down to `node` and the arc that next[node] stands at are a cycle: fills it. Returns the node of
 * the cycle to go on from: all that was reached by its arc, which is full, is forgotten.
 */
static int32_t fill_way(struct settle *settle, int32_t node, int32_t top)
{
	struct scaling *scaling = settle->scaling;
	int32_t room = scaling->arcs[scaling->next[node]].room, depth = settle->depth, full = depth;

	for (int32_t k = depth, v = node; v != top;) {
		v = settle->way[--k];
		if (scaling->arcs[scaling->next[v]].room <= room) {
			room = scaling->arcs[scaling->next[v]].room;
			full = k;
		}
	}
	scaling_push(scaling, node, scaling->next[node], room);
	for (int32_t k = depth, v = node; v != top;) {
		v = settle->way[--k];
		scaling_push(scaling, v, scaling->next[v], room);
	}
	for (; settle->depth > full; node = settle->way[--settle->depth])
		settle->mark[node] = UNSEEN;
	return node;
}

/* Depth first along arcs of negative length; nodes enter the order, from its end, when all below them has. */
static void search_from(struct settle *settle, int32_t node)
{
	struct scaling *scaling = settle->scaling;

	settle->depth = 0;
	settle->mark[node] = ON_WAY;
	scaling->next[node] = scaling->first[node];
	for (;;) {
		if (find_down(settle, node)) {
			int32_t head = scaling->arcs[scaling->next[node]].head;

			if (settle->mark[head] == ON_WAY) {
				node = fill_way(settle, node, head);
				continue;
			}
			settle->way[settle->depth++] = node;
			node = head;
			settle->mark[node] = ON_WAY;
			scaling->next[node] = scaling->first[node];
			continue;
		}
		settle->mark[node] = IN_ORDER;
		settle->order[--settle->order_begin] = node;
		if (settle->depth == 0)
			return;
		node = settle->way[--settle->depth];
		scaling->next[node]++;
	}
}

/* Lowers prices behind the node's arcs of negative length; what is not looked at later in this pass is labelled. */
static void lower_heads(struct settle *settle, int32_t node)
{
	const struct scaling *scaling = settle->scaling;
	int64_t bound = -1 - settle->price[node];

	settle->scans += scaling->first[node + 1] - scaling->first[node];
	for (int32_t i = scaling->first[node]; i < scaling->first[node + 1]; i++) {
		const struct residual *arc = &scaling->arcs[i];
		int64_t seen = scaling_seen(settle->price, arc);

		if (seen >= bound)
			continue;
		settle->price[arc->head] += seen - bound;
		settle->parent[arc->head] = i;
		settle->parent_tail[arc->head] = node;
		if (settle->mark[arc->head] != IN_ORDER)
			label(settle, arc->head);
	}
}

static void run_pass(struct settle *settle)
{
	int32_t count = settle->label_count;

	settle->order_begin = settle->scaling->node_count;
	for (int32_t k = 0; k < count; k++) {
		settle->labelled[settle->label[k]] = false;
		if (settle->mark[settle->label[k]] == UNSEEN)
			search_from(settle, settle->label[k]);
	}
	settle->label_count = 0;
	for (int32_t k = settle->order_begin; k < settle->scaling->node_count; k++) {
		settle->mark[settle->order[k]] = UNSEEN;
		lower_heads(settle, settle->order[k]);
	}
}

/* Fills the cycle of parents that `start` is on. */
static void fill_parents(struct settle *settle, int32_t start)
{
	struct scaling *scaling = settle->scaling;
	int32_t room = INT32_MAX, node = start;

	do {
		const struct residual *arc = &scaling->arcs[settle->parent[node]];

		room = arc->room < room ? arc->room : room;
		node = settle->parent_tail[node];
	} while (node != start);
	do {
		int32_t arc = settle->parent[node], tail = settle->parent_tail[node];

		scaling_push(scaling, tail, arc, room);
		settle->parent[node] = NO_ARC;
		node = tail;
	} while (node != start);
}

/* A cycle of parents is one of negative length. Filling it makes no arc of negative length. */
static void fill_parent_cycles(struct settle *settle)
{
	const struct scaling *scaling = settle->scaling;
	int32_t *seen_from = settle->order; /* free between passes */

	settle->scans += (int64_t)SCANS_OF_LOOKING * scaling->node_count;
	memset(seen_from, 0xff, (size_t)scaling->node_count * sizeof *seen_from);
	for (int32_t start = 0; start < scaling->node_count; start++) {
		int32_t node = start;

		while (seen_from[node] < 0) {
			seen_from[node] = start;
			if (settle->parent[node] == NO_ARC)
				break;
			node = settle->parent_tail[node];
		}
		if (seen_from[node] == start && settle->parent[node] != NO_ARC)
			fill_parents(settle, node);
	}
}

/* Passes until no node is labelled, which is success, or until that seems too far off. */
static bool run_passes(struct settle *settle, int64_t phase_scans)
{
	int64_t all = settle->scaling->first[settle->scaling->node_count], looked = 0;
	int64_t scans_most = PASS_SCANS_A_SCAN * (phase_scans + SCANS_OF_BEGINNING * all);
	int64_t allowed = scans_most / SCANS_PART > SCANS_BASE * all ? scans_most / SCANS_PART : SCANS_BASE * all;

	while (settle->label_count > 0 && settle->scans <= allowed) {
		run_pass(settle);
		scaling_report(settle->scaling);
		allowed = allowed + all / PASSES_PER_SCAN < scans_most ? allowed + all / PASSES_PER_SCAN : allowed;
		if (settle->scans - looked > all / LOOKS_PER_SCAN) {
			fill_parent_cycles(settle);
			looked = settle->scans;
		}
	}
	return settle->label_count == 0;
}

bool scaling_settle(struct scaling *scaling, int64_t phase_scans)
{
	size_t nodes = (size_t)scaling->node_count;
	struct settle settle = {.scaling = scaling,
				.price = scaling->trial_price,
				.parent = scaling->parent,
				.parent_tail = scaling->parent_tail,
				.label = scaling->queue,
				.labelled = scaling->queued,
				.order = scaling->bucket_next,
				.way = scaling->bucket_before,
				.mark = scaling->rank};
	bool settled;

	memcpy(settle.price, scaling->price, nodes * sizeof *settle.price);
	memset(settle.parent, 0xff, nodes * sizeof *settle.parent);
	memset(settle.mark, 0, nodes * sizeof *settle.mark);
	memset(settle.labelled, 0, nodes * sizeof *settle.labelled);
	for (int32_t v = 0; v < scaling->node_count; v++)
		label(&settle, v);
	settled = run_passes(&settle, phase_scans);
	if (settle.label_count > scaling->node_count / NEARLY_ALL)
		return false;
	scaling->trial_price = scaling->price;
	scaling->price = settle.price;
	return settled;
}
