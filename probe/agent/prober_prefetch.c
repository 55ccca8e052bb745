/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prefetches the memory needed for a whole burst of packets. With 100,000 sessions, almost every access is a cache
 * miss. A session uses a dozen cache lines, some of them behind pointers that must be fetched first: therefore
 * target_prefetch() works in steps.
 */
#include "agent_priv.h"

/* Up to this number of sessions, 2 KB each, fit into the second-level cache: prefetching would only cost time. */
enum { CACHED_SESSIONS = 1024 };

bool prober_needs_prefetch(const struct prober *prober)
{
	return prober->target_count * prober->options->paths > CACHED_SESSIONS;
}

static void fetch_target(const struct prober_target *target)
{
	__builtin_prefetch(&target->address, 1);
	__builtin_prefetch(&target->best_rtt, 1);
}

struct prober_target *prober_prefetch(const struct prober *prober, ip_address address)
{
	struct prober_target *target = prober_likely(prober, address);

	if (target)
		fetch_target(target);
	return target;
}

void target_prefetch(const struct prober *prober, const struct prober_target *target, const struct frame *answer,
		     int step)
{
	int candidate = prober->path_of_port[answer->destination_port];
	int path = candidate < 0 ? -1 : target_path(target, (uint32_t)candidate);
	const struct prober_path *found = path < 0 ? NULL : &target->paths[path];

	if (!found)
		return;
	if (step == 0) {
		__builtin_prefetch(found, 1);
	} else if (step == 1) {
		session_prefetch(found->session);
		__builtin_prefetch(&found->samples[found->sample_count], 1);
	} else {
		session_prefetch_slot(found->session, stamp_request_number(answer->payload, answer->payload_bytes,
									   prober->options->key));
	}
}

void prober_prefetch_turns(const struct prober *prober, const struct neighbours *neighbours, size_t turns)
{
	size_t count = prober->target_count < turns ? prober->target_count : turns;

	if (!prober_needs_prefetch(prober) || prober->mode != AGENT_MEASURING)
		return;
	for (int step = 0; step < 4; step++)
		for (size_t i = 0, at = prober->next_target; i < count;
		     i++, at = at + 1 < prober->target_count ? at + 1 : 0) {
			const struct prober_target *target = prober->targets[at];
			const struct prober_path *path = step > 1 ? &target->paths[target->next_path] : NULL;

			if (step == 0) {
				fetch_target(target);
			} else if (step == 1) {
				__builtin_prefetch(&neighbours->items[target->neighbour]);
				__builtin_prefetch(&target->paths[target->next_path], 1);
			} else if (step == 2) {
				session_prefetch(path->session);
			} else {
				session_prefetch_next(path->session);
			}
		}
}

void agent_prefetch(const struct agent *agent, const struct frame *frames, uint16_t count)
{
	const bool requests = agent->options.reflect && reflector_needs_prefetch(agent->reflector);
	const bool answers = prober_needs_prefetch(&agent->prober);
	struct prober_target *targets[AGENT_BURST];

	if (!requests && !answers)
		return;
	for (uint16_t i = 0; i < count; i++) {
		bool asks = frames[i].destination_port == agent->options.udp_port && agent->options.reflect;

		targets[i] = NULL;
		if (frames[i].kind != FRAME_UDP)
			continue;
		if (asks && requests)
			reflector_prefetch(agent->reflector, &frames[i]);
		else if (!asks && answers)
			targets[i] = prober_prefetch(&agent->prober, frames[i].source_address);
	}
	for (int step = 0; step < PROBER_PREFETCH_STEPS; step++)
		for (uint16_t i = 0; i < count; i++)
			if (targets[i])
				target_prefetch(&agent->prober, targets[i], &frames[i], step);
}
