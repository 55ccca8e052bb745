/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Learns the equal-cost paths to one destination by probes whose TTL expires on the way: which path each source port
 * takes, whether more paths can be expected, and whether a route has changed. Pure: the caller sends the probes and
 * passes in the answers. One thread.
 *
 * A trace sends probes from one source port with TTL 1, 2, ... until the destination answers; the routers that report
 * an expired TTL are the path. Further ports are traced until an unknown path is improbable: if n ports showed k paths,
 * but there are k + 1 equally likely ones, the probability of missing one is at most (k + 1) (k / (k + 1))^n (Augustin,
 * Friedman, Teixeira, "Multipath tracing with Paris traceroute", 2007). After that, known and new ports are traced
 * alternately. If a known port now takes another path, the routes have changed, and all paths are learned again.
 *
 * A router that does not answer is an unknown hop, which is equal to any hop.
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
	uint32_t candidates; /* number of source ports to select from, numbered from 0 */
	double miss;         /* accepted probability that a path remains unknown, 0..1 */
	struct ns timeout; /* time to wait for the answer to a probe; after three unanswered probes, a hop is unknown */
	struct ns pause;   /* between two traces once the paths are known, and after a trace that did not reach the
			      destination */
};

struct path {
	uint32_t candidate; /* index of the source port by which the path was first found */
	uint32_t hop_count;
	ip_address hops[PATHS_HOPS_MAXIMUM]; /* 0 = unknown */
	bool open_end; /* further hops before the destination may be missing, because they did not answer */
};

struct paths;

/* Copies the options. Returns NULL if out of memory or if an option is out of range. */
struct paths *paths_create(const struct paths_options *options);
void paths_destroy(struct paths *paths); /* NULL is legal */

struct paths_probe {
	uint32_t candidate;
	uint8_t ttl;
};

/* Returns the time at which paths_take() must be called next. All times are on the caller's clock. */
struct ns paths_due(const struct paths *paths);
/* Returns true if *probe must be sent now. First gives up a probe that was not answered within the timeout. */
bool paths_take(struct paths *paths, struct ns now, struct paths_probe *probe);
/*
 * Report the answer to *probe: paths_expired() that a router reported the expired TTL, paths_reached() that the
 * destination answered.
 */
void paths_expired(struct paths *paths, const struct paths_probe *probe, ip_address router, struct ns now);
void paths_reached(struct paths *paths, const struct paths_probe *probe, struct ns now);

/*
 * Paths are numbered from 0 in the order in which they were found. After a change of routes, all paths are forgotten,
 * and a new generation begins.
 */
uint32_t paths_count(const struct paths *paths);
uint32_t paths_generation(const struct paths *paths);
const struct path *paths_get(const struct paths *paths, uint32_t number);
/* Returns true if an unknown path is improbable, given the number of ports traced (see paths_options.miss). */
bool paths_known(const struct paths *paths);
/* Returns 1 minus the probability of missing a path, (k + 1) (k / (k + 1))^n as above; 0 before the first trace. */
double paths_confidence(const struct paths *paths);

/*
 * Reads a router's message that the TTL of a UDP datagram expired: ICMP time exceeded in transit (RFC 792 type 11, RFC
 * 4443 type 3) in an Ethernet frame, with or without VLAN tags. The message quotes the datagram's IP and UDP headers,
 * by which the sender identifies the datagram. Pure.
 */

struct expired {
	ip_address router;
	ip_address source, destination; /* of the datagram */
	uint16_t source_port, destination_port;
	uint16_t udp_bytes; /* UDP length of the datagram */
};

/* Returns 0, or -EBADMSG if the frame is something else, is cut short or has a wrong checksum. */
int expired_read(const uint8_t *bytes, size_t length, struct expired *expired);

#endif
