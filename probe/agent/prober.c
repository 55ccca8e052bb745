/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/rng.h>

enum {
	WINDOW_MAXIMUM = 65536,
	WINDOW_SPARE = 16,
	SELDOM_ROOM = 8, /* like PROBER_ROOM, for one-way delays and disturbed round trips (often none) */
};

static const int64_t rtt_lowest_ns = 100, rtt_highest_ns = INT64_C(10) * NS_PER_S;

struct histogram *prober_histogram(const struct prober *prober, uint32_t room)
{
	return histogram_create_compact(rtt_lowest_ns, rtt_highest_ns, prober->options->digits == 2 ? 2 : 3, room);
}

int prober_create(struct prober *prober, const struct agent_options *options, struct dp_clock *clock, struct error *err)
{
	*prober = (struct prober){.options = options, .clock = clock};
	prober_set_up_expiry(prober);
	rng_seed(&prober->rng, options->seed);
	prober->session = (uint16_t)(1 + rng_below(&prober->rng, 65535));
	if (options->session || options->key)
		prober->session = options->key ? options->key->session : options->session;
	if (options->key)
		prober->trace_key =
			options->keys ? stamp_keys_for(options->keys, stamp_companion(prober->session)) : options->key;
	if (options->samples)
		prober->samples = spsc_create(options->samples, sizeof(struct agent_sample));
	if (prober_choose_ports(prober, &prober->rng) || (options->samples && !prober->samples)) {
		prober_free(prober);
		return error_set(err, ENOMEM, "out of memory");
	}
	return 0;
}

/* Returns the maximum number of outstanding probes on a path: the probes sent within the timeout, plus WINDOW_SPARE. */
static uint32_t session_window(const struct agent_options *options)
{
	int64_t gap = options->interval.v * options->paths;
	int64_t window = options->timeout.v / (gap > 0 ? gap : 1) + WINDOW_SPARE;

	return window > WINDOW_MAXIMUM ? WINDOW_MAXIMUM : (uint32_t)window;
}

static void target_destroy(struct prober_target *target, uint32_t paths)
{
	for (uint32_t path = 0; target->paths && path < paths; path++) {
		session_destroy(target->paths[path].session);
		histogram_destroy(target->paths[path].rtt);
	}
	free(target->paths);
	target_forget_paths(target);
	histogram_destroy(target->disturbed_rtt);
	histogram_destroy(target->residence);
	histogram_destroy(target->forward);
	histogram_destroy(target->backward);
	free(target->held);
	free(target);
}

void prober_free(struct prober *prober)
{
	for (size_t i = 0; i < prober->target_count; i++)
		target_destroy(prober->targets[i], prober->options->paths);
	free(prober->targets);
	free(prober->by_id);
	hash_table_free(&prober->by_address);
	free(prober->ports);
	free(prober->path_of_port);
	free(prober->samples);
	*prober = (struct prober){0};
}

static struct prober_target *target_create(const struct prober *prober, const struct peer *peer)
{
	const struct agent_options *options = prober->options;
	struct prober_target *target = cache_aligned_zeros(sizeof *target);
	bool whole;

	if (!target)
		return NULL;
	target->peer = *peer;
	target->address = peer->address;
	target->peer_member = options->peer_member;
	target->best_rtt.v = INT64_MAX;
	target->paths = cache_aligned_zeros(options->paths * sizeof *target->paths);
	target->disturbed_rtt = prober_histogram(prober, SELDOM_ROOM);
	target->residence = prober_histogram(prober, PROBER_ROOM);
	target->forward = prober_histogram(prober, SELDOM_ROOM);
	target->backward = prober_histogram(prober, SELDOM_ROOM);
	if (options->tlvs >> TLV_FOLLOW_UP & 1)
		target->held = calloc(options->paths, sizeof *target->held);
	whole = target->paths && target->disturbed_rtt && target->residence && target->forward && target->backward &&
		(target->held || !(options->tlvs >> TLV_FOLLOW_UP & 1)) && target_find_paths(target, options) == 0;
	for (uint32_t i = 0; whole && i < options->paths; i++) {
		target->paths[i].session = session_create(session_window(options));
		target->paths[i].rtt = prober_histogram(prober, PROBER_ROOM);
		whole = target->paths[i].session && target->paths[i].rtt;
	}
	if (whole)
		return target;
	target_destroy(target, options->paths);
	return NULL;
}

static ip_address next_hop(const struct agent_options *options, ip_address address)
{
	bool on_link = address_shares_prefix(address, options->address, options->prefix_bits);

	return options->gateway && !on_link ? options->gateway : address;
}

/* Reserves memory, so that the following steps cannot fail. */
static int make_room(struct prober *prober)
{
	struct prober_target **items = array_grow(prober->targets, prober->target_count, &prober->target_capacity,
						  sizeof(struct prober_target *));

	if (!items)
		return -ENOMEM;
	prober->targets = items;
	return prober_index_reserve(prober);
}

int prober_add(struct prober *prober, const struct peer *peer, struct neighbours *neighbours, struct error *err)
{
	const struct agent_options *options = prober->options;
	struct prober_target *target;
	int64_t neighbour;

	if (address_is_ipv4(peer->address) != address_is_ipv4(options->address))
		return error_set(err, EAFNOSUPPORT, "peer '%s': its address is IPv%d, ours IPv%d", peer->name,
				 address_is_ipv4(peer->address) ? 4 : 6, address_is_ipv4(options->address) ? 4 : 6);
	if (peer->address == options->address || prober_find(prober, peer->address))
		return error_set(err, EEXIST, "peer '%s': its address is ours or another peer's", peer->name);
	target = make_room(prober) ? NULL : target_create(prober, peer);
	neighbour =
		target ? neighbours_add(neighbours, next_hop(options, peer->address), peer->has_mac ? peer->mac : NULL)
		       : -ENOMEM;
	if (neighbour < 0) {
		if (target)
			target_destroy(target, options->paths);
		return error_set(err, ENOMEM, "no memory for the sessions of %zu peers over %u paths",
				 prober->target_count + 1, options->paths);
	}
	target->neighbour = (uint32_t)neighbour;
	target->began = dp_clock_to_wall(prober->clock, prober->schedule_start);
	prober_index_add(prober, target);
	prober->targets[prober->target_count++] = target;
	prober_reschedule(prober);
	return 0;
}

int prober_remove(struct prober *prober, ip_address address, struct neighbours *neighbours)
{
	struct prober_target *target = prober_find(prober, address);
	size_t at = 0;

	if (!target)
		return -ENOENT;
	while (prober->targets[at] != target)
		at++;
	for (uint32_t path = 0; path < prober->options->paths; path++)
		prober_forget_expiry(&target->paths[path]);
	neighbours_drop(neighbours, target->neighbour);
	prober_index_remove(prober, target);
	memmove(prober->targets + at, prober->targets + at + 1,
		(prober->target_count - at - 1) * sizeof(struct prober_target *));
	prober->target_count--;
	if (prober->next_target >= prober->target_count)
		prober->next_target = 0;
	target_destroy(target, prober->options->paths);
	prober_reschedule(prober);
	return 0;
}

size_t prober_bytes(const struct prober *prober)
{
	size_t bytes = 0;

	for (size_t i = 0; i < prober->target_count; i++) {
		const struct prober_target *target = prober->targets[i];

		bytes += sizeof *target + histogram_bytes(target->disturbed_rtt) + histogram_bytes(target->residence) +
			 histogram_bytes(target->forward) + histogram_bytes(target->backward);
		if (target->held)
			bytes += prober->options->paths * sizeof *target->held;
		for (uint32_t path = 0; path < prober->options->paths; path++)
			bytes += sizeof *target->paths + session_bytes(target->paths[path].session) +
				 histogram_bytes(target->paths[path].rtt);
	}
	return bytes;
}
