/* SPDX-License-Identifier: BSD-3-Clause */
/* A prober in rack 1 of a fabric of 4 leaves and 4 spines, with 3 peers in each other rack; answers return at random.
 */
#include <criterion/criterion.h>

#include <base/rng.h>
#include <probe/mesh/culprit.h>

enum { SPINES = 4, RACKS = 4, PEERS = 3 * (RACKS - 1) };

static const ip_address spine = 0x0a4e0001, leaf = 0x0a4e0005;
static struct culprits *culprits;
static struct mesh_path paths[SPINES];
static struct rng rng;
static double slow_us, loss, noise_us;
static int bad_spine, bad_rack; /* bad_rack -1: the spine is bad to all racks, and on the way back */

static struct mesh_pair window_of(int peer)
{
	int rack = 1 + peer / 3;
	struct mesh_pair pair = {.peer.address = 0x0a4d0000 + (ip_address)peer,
				 .finds_paths = true,
				 .path_count = SPINES,
				 .paths = paths};

	pair.counters.fresh = 200;
	for (int i = 0; i < SPINES; i++) {
		bool there = i == bad_spine && (bad_rack < 0 || rack == bad_rack);
		bool back = (int)rng_below(&rng, SPINES) == bad_spine && (bad_rack < 0 || rack == bad_rack);

		paths[i] = (struct mesh_path){
			.counters = {.sent = 200,
				     .lost = there ? (uint64_t)(200 * loss) : 0,
				     .fresh = there ? (uint64_t)(200 * (1 - loss)) : 200},
			.lost_forward_known = !there || loss < 1, /* an answer says it */
			.lost_forward = there && loss < 1 ? (uint64_t)(200 * loss) : 0,
			.rtt = {.samples = there && loss == 1 ? 0 : 200,
				.p50_us = 30 + noise_us * rng_uniform(&rng) + slow_us * (there + back)},
			.route = {.hop_count = 3, .hops = {leaf, spine + (ip_address)i, leaf + (ip_address)rack}},
		};
	}
	return pair;
}

/* Measures for some windows; returns the number of entries with a culprit in the last one, and the last of these. */
static int measure(int windows, struct latency_entry *named)
{
	int count = 0;

	for (int window = 0; window < windows; window++) {
		count = 0;
		for (int peer = 0; peer < PEERS; peer++) {
			struct mesh_pair pair = window_of(peer);
			struct latency_entry entry = {0};

			cr_assert_eq(culprits_take(culprits, &pair), 0);
			cr_assert_eq(culprits_name(culprits, pair.peer.address, &entry), 0);
			count += entry.hop != 0;
			if (entry.hop)
				*named = entry;
		}
	}
	return count;
}

static void set_up(void)
{
	rng_seed(&rng, 11);
	culprits = culprits_create();
	bad_spine = bad_rack = -1;
}

static void tear_down(void)
{
	culprits_destroy(culprits);
}

TestSuite(culprit, .init = set_up, .fini = tear_down);

Test(culprit, a_good_fabric_has_none)
{
	struct latency_entry entry;

	noise_us = 15;
	cr_assert_eq(measure(20, &entry), 0);
	noise_us = 60; /* a loaded machine */
	for (int i = 0; i < 50; i++)
		cr_assert_eq(measure(1, &entry), 0, "window %d", i);
}

Test(culprit, a_slow_spine_is_at_the_end_of_the_link_to_it)
{
	struct latency_entry entry = {0};

	bad_spine = 2;
	slow_us = 200;
	cr_assert_eq(measure(1, &entry), 0, "one window proves nothing");
	cr_assert_geq(measure(2, &entry), PEERS - 2);
	cr_assert(entry.hop == leaf && entry.next_hop == spine + 2);
	cr_assert(entry.hop_us >= 180 && entry.hop_us <= 420, "%g", (double)entry.hop_us);
}

Test(culprit, a_lossy_spine)
{
	struct latency_entry entry = {0};

	bad_spine = 3;
	loss = 0.05;
	cr_assert_eq(measure(3, &entry), PEERS);
	cr_assert(entry.hop == leaf && entry.next_hop == spine + 3);
	cr_assert(entry.hop_us == 0 && entry.hop_loss == 0.05F);
}

Test(culprit, a_dead_spine)
{
	struct latency_entry entry = {0};

	bad_spine = 1;
	loss = 1;
	cr_assert_eq(measure(3, &entry), PEERS);
	cr_assert(entry.hop == leaf && entry.next_hop == spine + 1 && entry.hop_loss == 1);
}

Test(culprit, peers_that_left_accuse_nobody)
{
	struct latency_entry entry = {0};
	const struct peers none = {0};

	bad_spine = 2;
	slow_us = 200;
	cr_assert_gt(measure(2, &entry), 0);
	culprits_keep(culprits, &none);
	entry = (struct latency_entry){0};
	cr_assert_eq(culprits_name(culprits, 0x0a4d0000, &entry), 0);
	cr_assert_eq(entry.hop, 0);
}
