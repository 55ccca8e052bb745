/* SPDX-License-Identifier: BSD-3-Clause */
#include "fat_tree.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>

static const ip_address first_spine = 0x0a4e0001, first_leaf = 0x0a4e0041, first_host = 0x0a4d0001;
static const double rack_us = 15, network_us = 30;

static uint32_t rack_of(const struct tree *tree, uint32_t host)
{
	return host / (tree->shape.hosts / tree->shape.leaves);
}

void tree_create(struct tree *tree, const struct tree_shape *shape, const char *path)
{
	const struct latency_live_size size = {
		.hosts = shape->hosts, .racks = shape->leaves, .pairs = shape->hosts * shape->hosts};
	struct error err = {0};
	char host[16], rack[16];

	*tree = (struct tree){.shape = *shape, .live = latency_live_open(path, &size, &err)};
	cr_assert_not_null(tree->live, "%s", err.text);
	latency_live_begin(tree->live, &err);
	for (uint32_t i = 0; i < shape->hosts; i++) {
		snprintf(host, sizeof host, "h%u", i);
		snprintf(rack, sizeof rack, "r%u", rack_of(tree, i));
		cr_assert_eq(latency_live_add_host(tree->live, host, rack, ""), i);
	}
	latency_live_end(tree->live);
}

static void forget(struct tree *tree)
{
	for (uint32_t i = 0; i < tree->shape.hosts; i++) {
		culprits_destroy(tree->culprits[i]);
		tree->culprits[i] = NULL;
	}
}

void tree_destroy(struct tree *tree)
{
	forget(tree);
	latency_matrix_destroy(tree->live);
}

void tree_seed(struct tree *tree, uint64_t seed)
{
	uint32_t hosts = tree->shape.hosts;

	rng_seed(&tree->rng, seed);
	forget(tree);
	tree->step = 0;
	tree->fault_count = 0;
	for (uint32_t from = 0; from < hosts; from++) {
		tree->culprits[from] = culprits_create();
		for (uint32_t peer = 0; peer + 1 < hosts; peer++)
			tree->order[from][peer] = (uint8_t)(peer < from ? peer : peer + 1);
		if (!tree->same_order)
			rng_shuffle(&tree->rng, tree->order[from], hosts - 1, 1);
		for (uint32_t to = 0; to < hosts; to++)
			for (uint32_t path = 0; path < tree->shape.spines; path++)
				tree->back[from][to][path] = (uint8_t)rng_below(&tree->rng, tree->shape.spines);
	}
	for (uint32_t i = 0; i + 1 < hosts; i++)
		tree_step(tree); /* all pairs are measured */
}

double tree_time(const struct tree *tree)
{
	return (double)tree->step / (tree->shape.hosts - 1);
}

/* Does a packet from rack to rack over a spine meet the fault? */
static bool meets(const struct tree_fault *fault, uint32_t from, uint32_t to, uint32_t spine)
{
	bool up = from == fault->leaf, down = to == fault->leaf, far = from != to && spine == fault->spine;

	switch (fault->kind) {
	case TREE_LINK_UP:
		return far && up;
	case TREE_LINK_DOWN:
		return far && down;
	case TREE_LINK:
		return far && (up || down);
	case TREE_SPINE:
		return far;
	case TREE_RACK:
		return up || down;
	case TREE_STALL:
	case TREE_FAULT_KINDS:
		break;
	}
	return false;
}

/* Share of the window that ends now in which the fault was there. */
static double share_of_window(const struct tree *tree, const struct tree_fault *fault)
{
	double now = tree_time(tree), share = fmin(now, fault->end) - fmax(now - 1, fault->begin);

	return share > 0 ? share : 0;
}

/* Binomial, by the gaps between the hits. */
static uint32_t hits_of(struct rng *rng, uint32_t trials, double probability)
{
	uint32_t hits = 0;

	if (probability >= 1)
		return trials;
	for (double at = 0; probability > 0; hits++) {
		at += 1 + floor(log1p(-rng_uniform(rng)) / log1p(-probability));
		if (at > trials)
			break;
	}
	return hits;
}

/* One way through the network: what is lost of `packets`, and how slow it is. */
static uint32_t cross(struct tree *tree, uint32_t from, uint32_t to, uint32_t spine, uint32_t packets, double *us)
{
	double pass = 1 - tree->background.loss;
	uint32_t lost = 0;

	for (size_t i = 0; i < tree->fault_count; i++) {
		const struct tree_fault *fault = &tree->faults[i];
		double share =
			meets(fault, rack_of(tree, from), rack_of(tree, to), spine) ? share_of_window(tree, fault) : 0;
		uint32_t during = (uint32_t)(share * packets);

		lost += hits_of(&tree->rng, during, fault->loss);
		*us += share > 0.5 ? fault->us : 0; /* the median */
	}
	lost = lost > packets ? packets : lost;
	return lost + hits_of(&tree->rng, packets - lost, 1 - pass);
}

static const struct tree_fault *stall_of(const struct tree *tree, uint32_t host)
{
	for (size_t i = 0; i < tree->fault_count; i++)
		if (tree->faults[i].kind == TREE_STALL && tree->faults[i].host == host &&
		    share_of_window(tree, &tree->faults[i]) > 0)
			return &tree->faults[i];
	return NULL;
}

/* Does nothing pass any more, on the way there or back? */
static bool is_dead(const struct tree *tree, uint32_t from, uint32_t to, uint32_t spine)
{
	uint32_t here = rack_of(tree, from), there = rack_of(tree, to);

	for (size_t i = 0; i < tree->fault_count; i++)
		if (tree->faults[i].loss == 1 && share_of_window(tree, &tree->faults[i]) > 0 &&
		    (meets(&tree->faults[i], here, there, spine) ||
		     meets(&tree->faults[i], there, here, tree->back[from][to][spine])))
			return true;
	return false;
}

static struct mesh_path measure_path(struct tree *tree, uint32_t from, uint32_t to, uint32_t spine)
{
	uint32_t there = rack_of(tree, to), here = rack_of(tree, from), sent = tree->shape.probes, lost_there,
		 lost_back;
	bool far = here != there;
	double us = (far ? network_us : rack_us) + tree->background.noise_us * rng_uniform(&tree->rng), undisturbed;
	struct mesh_path path = {.route = {.hop_count = far ? 3 : 1, .hops = {first_leaf + here}}};

	if (far) {
		path.route.hops[1] = first_spine + spine;
		path.route.hops[2] = first_leaf + there;
	} else {
		sent *= tree->shape.spines; /* its only path */
	}
	lost_there = cross(tree, from, to, spine, sent, &us);
	lost_there += (uint32_t)((sent - lost_there) * tree->burst[to]); /* all its paths alike */
	lost_back = cross(tree, to, from, tree->back[from][to][spine], sent - lost_there, &us);
	path.counters = (struct session_counters){
		.sent = sent, .lost = lost_there + lost_back, .fresh = sent - lost_there - lost_back};
	/* Losses after the newest answer are not known. */
	path.lost_forward_known = !path.counters.lost || path.counters.fresh;
	path.lost_forward = path.counters.fresh && !is_dead(tree, from, to, spine) ? lost_there : 0;
	undisturbed = 1 - tree->background.disturbed;
	undisturbed *= 1 + (2 * rng_uniform(&tree->rng) - 1) * fmin(1, tree->background.disturbed);
	path.rtt = (struct mesh_distribution){.samples = (uint64_t)(path.counters.fresh * fmin(1, undisturbed)),
					      .p50_us = us,
					      .p99_us = us + tree->background.noise_us,
					      .max_us = us + 2 * tree->background.noise_us};
	return path;
}

/* Ends a window: the prober's agent publishes the pair. */
static void measure_pair(struct tree *tree, uint32_t from, uint32_t to)
{
	bool far = rack_of(tree, from) != rack_of(tree, to);
	struct mesh_path paths[TREE_SPINES_MOST];
	struct mesh_pair pair = {.peer.address = first_host + to,
				 .finds_paths = true,
				 .path_count = far ? tree->shape.spines : 1,
				 .paths = paths,
				 .updated_at = {(int64_t)((tree_time(tree) + 1) * NS_PER_S)}};
	struct latency_entry entry;
	uint64_t undisturbed = 0;

	pair.paths_known = pair.path_count;
	for (uint32_t i = 0; i < pair.path_count; i++) {
		paths[i] = measure_path(tree, from, to, i);
		pair.counters.sent += paths[i].counters.sent;
		pair.counters.lost += paths[i].counters.lost;
		pair.counters.fresh += paths[i].counters.fresh;
		pair.rtt.samples += paths[i].counters.fresh;
		undisturbed += paths[i].rtt.samples;
		pair.rtt.p50_us += paths[i].rtt.p50_us / pair.path_count;
		pair.rtt.max_us = fmax(pair.rtt.max_us, paths[i].rtt.max_us);
	}
	pair.rtt.p99_us = pair.rtt.max_us;
	pair.undisturbed = pair.rtt;
	pair.undisturbed.samples = undisturbed;
	pair.disturbed = stall_of(tree, from) ? pair.rtt.samples * 9 / 10 : pair.rtt.samples - undisturbed;
	pair.peer_stalled = stall_of(tree, to) ? 0.43 : 0;
	pair.residence.max_us = stall_of(tree, to) ? 299000 : 50;
	entry = mesh_pair_entry(&pair);
	entry.source = from;
	entry.destination = to;
	cr_assert_eq(culprits_take(tree->culprits[from], &pair), 0);
	if (entry.state == LATENCY_STATE_MEASURED)
		culprits_name(tree->culprits[from], pair.peer.address, &entry);
	cr_assert_eq(latency_matrix_set(tree->live, &entry), 0);
}

void tree_step(struct tree *tree)
{
	uint32_t hosts = tree->shape.hosts, peers = hosts - 1;

	tree->step++;
	for (uint32_t host = 0; host < hosts && tree->step % peers == 0; host++)
		tree->burst[host] =
			rng_uniform(&tree->rng) < tree->background.bursts ? 0.01 * rng_uniform(&tree->rng) : 0;
	latency_live_begin(tree->live, NULL);
	for (uint32_t from = 0; from < hosts; from++) {
		measure_pair(tree, from, tree->order[from][tree->step % peers]);
	}
	latency_live_end(tree->live);
}

void tree_find(const struct tree *tree, struct patterns *found)
{
	const struct ns now = {(int64_t)((tree_time(tree) + 1) * NS_PER_S)};

	cr_assert_eq(patterns_find(tree->live, LATENCY_STATISTIC_P50, now, (struct ns){0}, found), 0);
}

bool tree_is_named(const struct tree_fault *fault, const struct pattern *finding)
{
	switch (fault->kind) {
	case TREE_STALL:
		return finding->kind == PATTERN_STALL && finding->from == fault->host;
	case TREE_LINK_UP:
	case TREE_LINK_DOWN:
	case TREE_LINK:
		return finding->kind == PATTERN_LINK && finding->hop == first_spine + fault->spine &&
		       finding->next_hop == first_leaf + fault->leaf;
	case TREE_SPINE:
		return finding->kind == PATTERN_ROUTER && finding->hop == first_spine + fault->spine;
	case TREE_RACK:
		return finding->kind == PATTERN_RACK && finding->from == fault->leaf;
	case TREE_FAULT_KINDS:
		break;
	}
	return false;
}

bool tree_is_near(const struct tree *tree, const struct tree_fault *fault, const struct pattern *finding)
{
	bool of_leaf = fault->kind != TREE_STALL && fault->kind != TREE_SPINE &&
		       (finding->kind == PATTERN_UPLINK || finding->kind == PATTERN_PATH) &&
		       (finding->from == fault->leaf || finding->to == fault->leaf);

	return tree_is_named(fault, finding) || of_leaf ||
	       (fault->kind == TREE_RACK && finding->kind == PATTERN_HOST &&
		rack_of(tree, finding->from) == fault->leaf);
}
