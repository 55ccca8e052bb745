/* SPDX-License-Identifier: BSD-3-Clause */
/* A prober in rack 1 of a fabric of 4 leaves and 4 spines, with 3 peers in each other rack; answers return at random.
 */
#include <criterion/criterion.h>

#include <base/rng.h>
#include <probe/mesh/watch.h>

enum { SPINES = 4, RACKS = 4, PEERS = 3 * (RACKS - 1) };

static const ip_address spine = 0x0a4e0001, leaf = 0x0a4e0005;
static struct culprits *culprits;
static struct mesh_path paths[SPINES];
static struct rng rng;
static double slow_us, loss, noise_us;
static int deaf_peer = -1;                   /* loses a tenth of the probes on all its paths */
static int other_spine = -1, other_rack = 2; /* this link loses 5 % on the way there */
static int bad_spine, bad_rack;              /* bad_rack -1: the spine is bad to all racks, and on the way back */

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

		uint64_t lost = there ? (uint64_t)(200 * loss) : 0;

		lost += i == other_spine && rack == other_rack ? 10 : 0;
		lost += peer == deaf_peer ? 20 : 0;
		paths[i] = (struct mesh_path){
			.counters = {.sent = 200, .lost = lost, .fresh = 200 - lost},
			.lost_forward_known = lost < 200, /* an answer says it */
			.lost_forward = lost < 200 ? lost : 0,
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
			culprits_name(culprits, pair.peer.address, &entry);
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

/* The prober sees it only on its paths to the three peers behind the link. */
Test(culprit, a_link_beyond_the_spine_that_is_lossy_in_one_direction)
{
	struct latency_entry entry = {0};

	other_spine = 3;
	cr_assert_eq(measure(1, &entry), 0, "one window proves nothing");
	cr_assert_eq(measure(2, &entry), 3);
	cr_assert(entry.hop == spine + 3 && entry.next_hop == leaf + 2);
	cr_assert_float_eq(entry.hop_loss, 0.05F, 1e-6);
	other_spine = -1; /* the fault ends */
	cr_assert_eq(measure(2, &entry), 0);
}

Test(culprit, what_a_peer_loses_on_all_paths_accuses_no_link)
{
	struct latency_entry entry = {0};

	deaf_peer = 4;
	for (int window = 0; window < 10; window++)
		cr_assert_eq(measure(1, &entry), 0);
}

Test(culprit, a_slow_spine_does_not_hide_a_lossy_link)
{
	int slow = 0, lossy = 0;

	bad_spine = 1;
	slow_us = 200;
	other_spine = 3;
	for (int window = 0; window < 3; window++)
		for (int peer = 0; peer < PEERS; peer++) {
			struct mesh_pair pair = window_of(peer);
			struct latency_entry entry = {0};

			cr_assert_eq(culprits_take(culprits, &pair), 0);
			culprits_name(culprits, pair.peer.address, &entry);
			slow += window == 2 && entry.hop == leaf && entry.next_hop == spine + 1 && entry.hop_us > 0;
			lossy += window == 2 && entry.hop == spine + 3 && entry.next_hop == leaf + 2;
		}
	cr_assert_eq(lossy, 3);
	cr_assert_geq(slow, PEERS - 3 - 1);
}

Test(culprit, a_peer_that_never_answers_is_forgotten)
{
	struct latency_entry entry = {0};
	struct mesh_pair pair = {.peer.address = 0x0a4d0000, .finds_paths = true};

	bad_spine = 2;
	slow_us = 200;
	cr_assert_gt(measure(3, &entry), 0);
	entry = (struct latency_entry){0};
	cr_assert_eq(culprits_take(culprits, &pair), 0);
	culprits_name(culprits, pair.peer.address, &entry);
	cr_assert_eq(entry.hop, 0);
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
	culprits_name(culprits, 0x0a4d0000, &entry);
	cr_assert_eq(entry.hop, 0);
}
