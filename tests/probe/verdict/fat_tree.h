/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model of a mesh on a fat tree of two stages: it gives what the agents of all hosts would measure, window by window,
 * to the real rooms: <probe/mesh/watch.h>, the live matrix and <probe/verdict/patterns.h>. Seeded; the time is
 * counted in windows. Answers return over spines of their own.
 *
 * Without a fault, there is a background: each packet may be lost, hosts drop bursts of probes, and round trips vary.
 */
#ifndef FAT_TREE_H
#define FAT_TREE_H

#include <base/rng.h>
#include <model/latency_live.h>
#include <probe/mesh/watch.h>
#include <probe/verdict/patterns.h>

enum { TREE_LEAVES_MOST = 8, TREE_SPINES_MOST = 8, TREE_HOSTS_MOST = 32 };

struct tree_shape {
	uint32_t leaves, spines, hosts; /* hosts: in all; as many in each rack */
	uint32_t probes;                /* of each path in a window */
};

struct tree_background {
	double loss;      /* of a packet on its way through the network */
	double bursts;    /* probability of a burst at a host in a window */
	double noise_us;  /* largest excess of a path's median */
	double disturbed; /* mean share of samples that are disturbed; it varies from path to path */
};

enum tree_fault_kind {
	TREE_STALL,
	TREE_LINK_UP,   /* from leaf to spine */
	TREE_LINK_DOWN, /* from spine to leaf */
	TREE_LINK,
	TREE_SPINE,
	TREE_RACK,
	TREE_FAULT_KINDS
};

struct tree_fault {
	enum tree_fault_kind kind;
	uint32_t leaf, spine, host;
	double loss, us;
	double begin, end; /* windows */
};

struct tree {
	struct tree_shape shape;
	struct tree_background background;
	struct tree_fault faults[2];
	size_t fault_count;
	bool same_order; /* of the windows of all probers */
	struct rng rng;
	struct latency_matrix *live;
	struct culprits *culprits[TREE_HOSTS_MOST];
	uint8_t order[TREE_HOSTS_MOST][TREE_HOSTS_MOST];                  /* of a host's peers */
	uint8_t back[TREE_HOSTS_MOST][TREE_HOSTS_MOST][TREE_SPINES_MOST]; /* spine over which answers return */
	double burst[TREE_HOSTS_MOST];                                    /* share of the probes, in this window */
	uint32_t step;
};

/* The live matrix is at `path`; it must not exist. */
void tree_create(struct tree *tree, const struct tree_shape *shape, const char *path);
void tree_destroy(struct tree *tree);
/* Begins a new world without a fault, at time 0. */
void tree_seed(struct tree *tree, uint64_t seed);
/* Goes on until the next window of each prober ends, for one of its peers. */
void tree_step(struct tree *tree);
double tree_time(const struct tree *tree); /* windows */
void tree_find(const struct tree *tree, struct patterns *found);
/* Is this finding the fault? Or near: a finding that contains the culprit, which is no false accusation. */
bool tree_is_named(const struct tree_fault *fault, const struct pattern *finding);
bool tree_is_near(const struct tree *tree, const struct tree_fault *fault, const struct pattern *finding);

#endif
