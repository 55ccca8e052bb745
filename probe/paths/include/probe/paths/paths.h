/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The equal-cost paths to one destination, learned by probes whose TTL expires on the way: the path of each source
 * port, whether more paths can be expected, and whether a route has changed. Pure: the caller sends the probes and
 * brings the answers. One thread.
 *
 * A trace sends from one source port with TTL 1, 2, ... until the destination answers; the routers that report the end
 * of the TTL are the path. Further ports are traced until it is improbable that there is an unknown path: with k paths
 * seen by n ports, k + 1 equally likely ones would all but one be missed with a probability of at most (k + 1) (k / (k
 * + 1))^n (Augustin, Friedman, Teixeira, "Multipath tracing with Paris traceroute", 2007). Later, known ports and fresh
 * ones are traced in turn. A known port on another path means that the routes have changed: all paths are learned
 * again.
 *
 * Routers that do not answer are unknown hops, which equal any.
 */
#ifndef PROBE_PATHS_H
#define PROBE_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/address.h>
#include <base/ns.h>

enum {
	PATHS_MAXIMUM = 256, /* known paths */
	PATHS_HOPS_MAXIMUM = 16,
	PATHS_CANDIDATES_MAXIMUM = 4096,
};

struct paths_options {
	uint32_t candidates; /* source ports to choose from, numbered from 0 */
	double miss;         /* accepted probability that a path remains unknown, 0..1 */
	struct ns timeout;   /* of an answer; three attempts */
	struct ns pause;     /* between traces once the paths are known, and after one that did not arrive */
};

struct path {
	uint32_t candidate; /* the first source port that took it */
	uint32_t hop_count;
	ip_address hops[PATHS_HOPS_MAXIMUM]; /* 0 = unknown */
	bool open_end;                       /* there may be more hops, which did not answer */
};

struct paths;

struct paths *paths_create(const struct paths_options *options); /* copies them; NULL: out of memory or range */
void paths_destroy(struct paths *paths);                         /* NULL is legal */

struct paths_probe {
	uint32_t candidate;
	uint8_t ttl;
};

/* When paths_take() has something to do; times are the caller's clock. */
struct ns paths_due(const struct paths *paths);
/* True: *probe must be sent now. Gives up probes without an answer. */
bool paths_take(struct paths *paths, struct ns now, struct paths_probe *probe);
/* A router reported the end of that probe's TTL, or the destination answered the probe. */
void paths_expired(struct paths *paths, const struct paths_probe *probe, ip_address router, struct ns now);
void paths_reached(struct paths *paths, const struct paths_probe *probe, struct ns now);

/* Paths are numbered in the order in which they were found; a new generation begins with none. */
uint32_t paths_count(const struct paths *paths);
uint32_t paths_generation(const struct paths *paths);
const struct path *paths_get(const struct paths *paths, uint32_t number);
/* Enough ports were traced, without an unknown path. */
bool paths_known(const struct paths *paths);
/* 1 - the probability above; 0 before the first trace. */
double paths_confidence(const struct paths *paths);

#endif
