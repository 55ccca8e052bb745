/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assigns source ports to the paths of a target: a fixed number of ports, each of which counts as a path; or, with
 * find_paths, one port for each path that <probe/paths/paths.h> found. The probes of this search (trace probes) are
 * STAMP requests of a separate session with a small TTL. The length of a trace probe encodes its TTL, so that a
 * router's message about the expired probe shows the TTL.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/ns.h>
#include <base/rng.h>

#include "agent_priv.h"

enum {
	FIRST_DYNAMIC_PORT = 49152, /* RFC 6335 section 6 */
	DYNAMIC_PORTS = 16384,
	TRACE_PPS = 500, /* trace probes a second; Linux routers send 1,000 ICMP messages a second by default
			    (icmp_msgs_per_sec) */
	TRACE_SEQUENCE = INT32_C(1) << 30, /* a trace probe has the sequence number TRACE_SEQUENCE | candidate << 8 |
					      TTL; it identifies the probe even if the reflector ignores the SSID */
	TRACE_PADDING = 8,                 /* a trace probe's padding TLV has 8 + TTL bytes, 4 of them its header */
	UDP_HEADER_BYTES = 8,
};

static const struct ns trace_gap = {NS_PER_S / TRACE_PPS}, trace_timeout = {100 * NS_PER_MS},
		       trace_pause = {NS_PER_S / 2};
static const double accepted_miss = 0.01;

uint32_t prober_candidates(const struct agent_options *options)
{
	return options->find_paths ? AGENT_CANDIDATES : options->paths;
}

/*
 * Chooses distinct random source ports, so that different runs use different links, and a run with many ports uses many
 * links. The last port in ports[] is for greetings.
 */
int prober_choose_ports(struct prober *prober, struct rng *rng)
{
	uint32_t wanted = prober_candidates(prober->options) + 1;
	const uint16_t queues = prober->options->queues; /* the agent on queue q uses ports with port % queues == q */

	prober->ports = calloc(wanted, sizeof *prober->ports);
	prober->path_of_port = malloc(65536 * sizeof *prober->path_of_port);
	if (!prober->ports || !prober->path_of_port)
		return -ENOMEM;
	memset(prober->path_of_port, 0xff, 65536 * sizeof *prober->path_of_port);
	for (uint32_t i = 0; i < wanted;) {
		uint16_t port = (uint16_t)(FIRST_DYNAMIC_PORT + rng_below(rng, DYNAMIC_PORTS));

		if (queues > 1)
			port = (uint16_t)(port - port % queues + prober->options->queue);
		if (port < FIRST_DYNAMIC_PORT || prober->path_of_port[port] >= 0 || port == prober->options->udp_port)
			continue;
		prober->path_of_port[port] = (int16_t)i;
		prober->ports[i++] = port;
	}
	return 0;
}

int target_find_paths(struct prober_target *target, const struct agent_options *options)
{
	struct paths_options find = {
		.candidates = AGENT_CANDIDATES, .miss = accepted_miss, .timeout = trace_timeout, .pause = trace_pause};

	target->path_count = options->paths;
	if (!options->find_paths)
		return 0;
	target->path_count = 0;
	target->known = paths_create(&find);
	target->candidate_of = calloc(options->paths, sizeof *target->candidate_of);
	return target->known && target->candidate_of ? 0 : -1;
}

uint16_t target_port(const struct prober *prober, const struct prober_target *target, uint32_t path)
{
	return prober->ports[target->known ? target->candidate_of[path] : path];
}

int target_path(const struct prober_target *target, uint32_t candidate)
{
	if (!target->known)
		return candidate < target->path_count ? (int)candidate : -1;
	for (uint32_t path = 0; path < target->path_count; path++)
		if (target->candidate_of[path] == candidate)
			return (int)path;
	return -1;
}

/*
 * Begins to measure the newly found paths, at most options->paths. After a change of routes, first stops measuring the
 * old ones.
 */
static void follow(struct prober *prober, struct prober_target *target)
{
	uint32_t known = paths_count(target->known);

	if (paths_generation(target->known) != target->generation) {
		target->generation = paths_generation(target->known);
		target_release(prober, target);
		for (uint32_t path = 0; path < target->path_count; path++)
			session_abandon(target->paths[path].session);
		target->path_count = target->next_path = 0;
	}
	for (; target->path_count < known && target->path_count < prober->options->paths; target->path_count++)
		target->candidate_of[target->path_count] =
			(uint16_t)paths_get(target->known, target->path_count)->candidate;
}

static struct ns trace_time(struct stamp now)
{
	return (struct ns){now.ns};
}

bool prober_take_trace(struct prober *prober, struct stamp now, const struct neighbours *neighbours,
		       struct prober_probe *probe)
{
	int64_t next = INT64_MAX;

	if (!prober->options->find_paths || prober->mode == AGENT_QUIET || now.ns < prober->next_trace_ns)
		return false;
	for (size_t i = 0; i < prober->target_count; i++) {
		struct prober_target *target = prober->targets[prober->trace_turn++ % prober->target_count];
		struct paths_probe trace;

		if (!neighbours->items[target->neighbour].known)
			continue;
		if (!paths_take(target->known, trace_time(now), &trace)) {
			next = paths_due(target->known).v < next ? paths_due(target->known).v : next;
			continue;
		}
		prober->next_trace_ns = now.ns + trace_gap.v;
		*probe = (struct prober_probe){
			.target = target,
			.source_port = prober->ports[trace.candidate],
			.ttl = trace.ttl,
			.padding = (uint16_t)(TRACE_PADDING + trace.ttl),
			.request = {.session = stamp_companion(prober->session),
				    .authenticated = prober->options->key,
				    .sequence = TRACE_SEQUENCE | trace.candidate << 8 | trace.ttl},
		};
		return true;
	}
	/* Check again after trace_timeout at the latest: by then, the MAC of another target may be known. */
	prober->next_trace_ns = next < now.ns + trace_timeout.v ? next : now.ns + trace_timeout.v;
	if (prober->next_trace_ns < now.ns + trace_gap.v)
		prober->next_trace_ns = now.ns + trace_gap.v;
	return false;
}

/*
 * Called after an answer to a trace probe, or a router's message about one: the next trace probe may leave as soon as
 * the rate limit permits.
 */
static void go_on(struct prober *prober, struct prober_target *target, struct stamp now)
{
	follow(prober, target);
	if (prober->next_trace_ns > now.ns + trace_gap.v)
		prober->next_trace_ns = now.ns + trace_gap.v;
}

bool prober_trace_answer(struct prober *prober, struct prober_target *target, const struct stamp_reply *reply,
			 struct stamp now)
{
	uint32_t sequence = reply->request_sequence;
	struct paths_probe trace = {(sequence ^ TRACE_SEQUENCE) >> 8, (uint8_t)sequence};

	if (!target->known || trace.candidate >= AGENT_CANDIDATES)
		return false;
	paths_reached(target->known, &trace, trace_time(now));
	go_on(prober, target, now);
	return true;
}

void prober_expired(struct prober *prober, const struct expired *expired, struct stamp now)
{
	int16_t candidate = prober->path_of_port[expired->source_port];
	size_t overhead = UDP_HEADER_BYTES + stamp_bytes(prober->options->key) + TRACE_PADDING;
	struct paths_probe trace = {(uint32_t)candidate, (uint8_t)(expired->udp_bytes - overhead)};
	struct prober_target *target;

	if (candidate < 0 || candidate >= AGENT_CANDIDATES || expired->source != prober->options->address ||
	    expired->destination_port != prober->options->udp_port || expired->udp_bytes <= overhead ||
	    expired->udp_bytes > overhead + UINT8_MAX)
		return;
	target = prober_find(prober, expired->destination);
	if (!target)
		return;
	paths_expired(target->known, &trace, expired->router, trace_time(now));
	go_on(prober, target, now);
}

bool prober_all_found(const struct prober *prober)
{
	for (size_t i = 0; i < prober->target_count; i++)
		if (prober->targets[i]->known && !paths_known(prober->targets[i]->known))
			return false;
	return true;
}

void target_describe_paths(const struct prober_target *target, struct agent_row *row)
{
	row->finds_paths = target->known != NULL;
	row->paths_known = target->known ? paths_count(target->known) : 0;
	row->paths_confidence = target->known ? paths_confidence(target->known) : 0;
	for (uint32_t path = 0; target->known && path < row->path_count; path++)
		row->paths[path].route = *paths_get(target->known, path);
}

void target_forget_paths(struct prober_target *target)
{
	paths_destroy(target->known);
	free(target->candidate_of);
}
