/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns of synthetic meshes: 6 racks of 4 hosts, all pairs measured, 20 us in a rack and 60 us between racks. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <base/hash.h>
#include <model/latency_live.h>
#include <probe/verdict/patterns.h>

#include "../../support/fail_in_turn.h"

enum { HOSTS = 24, PER_RACK = 4 };

static uint32_t hosts = HOSTS, without_rack; /* the last ones */

typedef bool is_bad_fn(uint32_t from, uint32_t to);

static char path[64];
static struct latency_matrix *live;
static struct patterns found;

static void set_up(void)
{
	const struct latency_live_size size = {.hosts = hosts, .racks = hosts / PER_RACK + 1, .pairs = hosts * hosts};
	struct error err = {0};
	char host[16], rack[16];

	snprintf(path, sizeof path, "/tmp/nomora-patterns-%ld", (long)getpid());
	unlink(path);
	live = latency_live_open(path, &size, &err);
	cr_assert_not_null(live, "%s", err.text);
	latency_live_begin(live, &err);
	for (uint32_t i = 0; i < hosts; i++) {
		snprintf(host, sizeof host, "h%u", i);
		snprintf(rack, sizeof rack, "r%u", i / PER_RACK);
		cr_assert_eq(latency_live_add_host(live, host, i < hosts - without_rack ? rack : "", "p"), i);
	}
	latency_live_end(live);
}

static void tear_down(void)
{
	patterns_free(&found);
	latency_matrix_destroy(live);
	unlink(path);
}

TestSuite(patterns, .init = set_up, .fini = tear_down, .timeout = 60);

static struct ns seen_later; /* an unreachable pair was seen this much later than the others */

static void leave(struct latency_entry *entry)
{
	(void)entry;
}

static void (*change)(struct latency_entry *entry) = leave; /* changes each measured pair */

/* Every third bad pair is unreachable, the next lossy, the third slow. */
static struct latency_entry entry_of(uint32_t from, uint32_t to, bool bad)
{
	struct latency_entry entry = {.source = from, .destination = to, .updated_at = {NS_PER_S}};
	double us = from / PER_RACK == to / PER_RACK ? 20 : 60;

	if (bad && (from + to) % 3 == 0) {
		entry.rtt_p50_us = entry.rtt_p99_us = entry.rtt_max_us = __builtin_nan("");
		entry.loss = 1;
		entry.state = LATENCY_STATE_UNREACHABLE;
		entry.updated_at.v += seen_later.v;
		return entry;
	}
	entry.loss = bad && (from + to) % 3 == 1 ? 0.05 : 0;
	entry.rtt_p50_us = us;
	entry.rtt_p99_us = bad && (from + to) % 3 == 2 ? 10 * us : us + (from + to) % 5;
	entry.rtt_max_us = 20 * us;
	entry.samples = 100;
	change(&entry);
	return entry;
}

static struct ns max_age; /* 0: no pair is stale */

static void find(is_bad_fn *is_bad)
{
	latency_live_begin(live, NULL);
	for (uint32_t from = 0; from < hosts; from++)
		for (uint32_t to = 0; to < hosts; to++) {
			struct latency_entry entry = entry_of(from, to, is_bad(from, to));

			if (from != to)
				cr_assert_eq(latency_matrix_set(live, &entry), 0);
		}
	latency_live_end(live);
	cr_assert_eq(patterns_find(live, LATENCY_STATISTIC_P99, (struct ns){2 * NS_PER_S}, max_age, &found), 0);
}

/* Expects exactly one pattern, with the words that are printed. */
static void expect(is_bad_fn *is_bad, const char *words)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	find(is_bad);
	cr_assert_eq(found.count, 1, "%zu patterns", found.count);
	cr_assert_eq(found.by_kind[found.items[0].kind], 1);
	pattern_print(live, &found.items[0], out);
	fclose(out);
	cr_assert_not_null(strstr(text, words), "%s", text);
	cr_assert_eq(found.unexplained, 0, "%llu pairs", (unsigned long long)found.unexplained);
	free(text);
}

static bool none(uint32_t from, uint32_t to)
{
	(void)from;
	(void)to;
	return false;
}

Test(patterns, a_good_mesh_has_none)
{
	find(none);
	cr_assert_eq(found.bad, 0);
	cr_assert_eq(found.count, 0);
}

static bool one_pair(uint32_t from, uint32_t to)
{
	return from == 3 && to == 17;
}

Test(patterns, a_single_pair_is_none)
{
	find(one_pair);
	cr_assert_eq(found.bad, 1);
	cr_assert_eq(found.unexplained, 1);
	cr_assert_eq(found.count, 0);
}

static bool of_host(uint32_t from, uint32_t to)
{
	return from == 9 || to == 9;
}

Test(patterns, a_bad_host)
{
	expect(of_host, "Bad host h9 in rack r2: 46 of 46 pairs are bad");
}

Test(patterns, a_bad_host_among_hosts_without_a_rack)
{
	tear_down();
	without_rack = 12;
	set_up();
	expect(of_host, "Bad host h9 in rack r2: 46 of 46 pairs are bad");
}

static bool from_host(uint32_t from, uint32_t to)
{
	(void)to;
	return from == 9;
}

Test(patterns, a_host_that_fails_as_prober)
{
	expect(from_host, "Bad host h9 in rack r2, when it probes others, not when they probe it: 23 of 23");
}

static bool to_host(uint32_t from, uint32_t to)
{
	(void)from;
	return to == 9;
}

Test(patterns, a_host_that_fails_as_target)
{
	expect(to_host, "Bad host h9 in rack r2, when others probe it, not when it probes them: 23 of 23");
}

static void lose_from_or_to_h0(struct latency_entry *entry)
{
	entry->loss = entry->source == 0 || entry->destination == 0 ? 0.05F : 0;
}

static void lose_from_h0(struct latency_entry *entry)
{
	entry->loss = entry->source == 0 ? 0.05F : 0;
}

/* In smaller meshes, chance makes as many pairs of one host bad. */
Test(patterns, the_smallest_mesh_in_which_a_lossy_host_stands_out)
{
	static void (*const losses[])(struct latency_entry *) = {lose_from_or_to_h0, lose_from_h0};
	static const uint32_t smallest[] = {4, 5};

	for (int i = 0; i < 2; i++)
		for (hosts = 3; hosts <= 8; hosts++) {
			tear_down();
			found = (struct patterns){0};
			set_up();
			change = losses[i];
			find(none);
			cr_assert_eq(found.count, hosts >= smallest[i], "%u hosts: %zu patterns", hosts, found.count);
		}
}

static bool of_rack(uint32_t from, uint32_t to)
{
	return from / PER_RACK == 2 || to / PER_RACK == 2;
}

Test(patterns, a_bad_rack)
{
	expect(of_rack, "Bad rack r2: bad inside and to other racks; with other racks 160 of 160");
}

static bool of_uplink(uint32_t from, uint32_t to)
{
	return (from / PER_RACK == 2) != (to / PER_RACK == 2);
}

Test(patterns, a_bad_uplink)
{
	expect(of_uplink, "Bad uplink of rack r2: good inside; with other racks 160 of 160");
}

static bool on_path(uint32_t from, uint32_t to)
{
	return from / PER_RACK == 2 && to / PER_RACK == 4;
}

Test(patterns, a_bad_path)
{
	expect(on_path, "Bad path from rack r2 to rack r4: 16 of 16");
}

static bool unreachable_host(uint32_t from, uint32_t to)
{
	return (from == 8 || to == 8) && (from + to) % 3 == 0;
}

/* Only its unreachable pairs are left to judge its rack by. */
Test(patterns, a_dead_host_among_stale_pairs_is_no_bad_rack)
{
	max_age.v = NS_PER_S / 2;
	seen_later.v = NS_PER_S;
	find(unreachable_host);
	cr_assert_eq(found.count, 1, "%zu patterns", found.count);
	cr_assert_eq(found.items[0].kind, PATTERN_HOST);
	cr_assert_eq(found.items[0].from, 8);
}

Test(patterns, a_drained_host_is_none)
{
	latency_live_begin(live, NULL);
	latency_live_set_status(live, 9, LATENCY_HOST_DRAINED);
	latency_live_end(live);
	find(of_host);
	cr_assert_eq(found.bad, 0);
	cr_assert_eq(found.count, 0);
}

/* The agent of h9 is stopped for 300 ms of every 700: what its peers, and it itself, then measure. */
static void stop_h9(struct latency_entry *entry)
{
	if (entry->destination == 9) {
		entry->peer_stalled = 0.43F;
		entry->peer_stall_us = 299000;
		entry->rtt_p99_us = entry->rtt_max_us = 299762; /* the stop fell between t3 and the departure */
	}
	if (entry->source == 9) {
		entry->disturbed = 0.9F;
		entry->loss = 0.02;
	}
}

Test(patterns, a_host_that_stalls_is_no_bad_network)
{
	change = stop_h9;
	expect(none, "Host h9 in rack r2 stalls: it holds 43 % of the probes for over 10 ms, up to 299 ms; this is not "
		     "the network");
	cr_assert_eq(found.bad, 0, "%llu pairs", (unsigned long long)found.bad);
}

/* A loaded machine: every host stalls, and the few undisturbed samples have a high maximum. */
static void load_machine(struct latency_entry *entry)
{
	entry->peer_stalled = 0.1F + 0.01F * (float)(entry->destination % 7);
	entry->peer_stall_us = 40000;
	entry->disturbed = entry->source % 2 ? 0.95F : 1;
	if ((entry->source + entry->destination) % 4 == 0)
		entry->rtt_p99_us = entry->rtt_max_us = 30000;
}

Test(patterns, a_loaded_machine_accuses_nobody)
{
	change = load_machine;
	find(none);
	cr_assert_eq(found.count, 0);
	cr_assert_eq(found.bad, 0, "%llu pairs", (unsigned long long)found.bad);
}

static const ip_address leaf1 = 0x0a4e0005, spine1 = 0x0a4e0001, spine3 = 0x0a4e0003; /* leaf of rack N: leaf1 + N */

static bool goes_over(const struct latency_entry *entry)
{
	return entry->source / PER_RACK != entry->destination / PER_RACK;
}

/* Each prober names its own leaf's link to the spine; a few name links at random. */
static void slow_spine3(struct latency_entry *entry)
{
	if (!goes_over(entry))
		return;
	entry->hop = leaf1 + entry->source / PER_RACK;
	entry->next_hop = spine3;
	entry->hop_us = 390 + (float)(entry->destination % 3) * 10;
	if (entry->source < 8) /* the pair's figures are those of its worst path */
		entry->rtt_p50_us = entry->rtt_p99_us = entry->rtt_max_us = 70 + (double)entry->hop_us;
}

Test(patterns, a_slow_router)
{
	change = slow_spine3;
	expect(none, "Router 10.78.0.3 adds 400 us to 480 pairs that cross it");
	cr_assert_eq(found.by_kind[PATTERN_ROUTER], 1);
}

/* The work does not grow with the square of the pairs: it would take minutes. */
Test(patterns, a_slow_router_of_a_large_mesh)
{
	tear_down();
	hosts = 480;
	set_up();
	change = slow_spine3;
	find(none);
	cr_assert_eq(found.count, 1);
	cr_assert_eq(found.items[0].kind, PATTERN_ROUTER);
	cr_assert_eq(found.items[0].pairs, 480 * 476);
}

static void lossy_spine3(struct latency_entry *entry)
{
	slow_spine3(entry);
	entry->hop_loss = entry->hop ? 0.05F : 0;
	entry->hop_us = 0;
	entry->rtt_p50_us = entry->rtt_p99_us = entry->rtt_max_us = 70;
}

Test(patterns, a_lossy_router)
{
	change = lossy_spine3;
	expect(none, "Router 10.78.0.3 loses 5.0 % of the probes of 480 pairs that cross it");
}

/* All pairs that cross it lose probes, also on the way back, where only the opposite pair's prober knows the hops. */
static void lossy_way(struct latency_entry *entry)
{
	if (entry->source / PER_RACK != 0 && entry->destination / PER_RACK != 0)
		return;
	entry->loss = entry->source / PER_RACK == entry->destination / PER_RACK ? 0 : 0.05F;
	if (entry->source / PER_RACK == 0 && entry->loss > 0) {
		entry->hop = leaf1;
		entry->next_hop = spine3;
		entry->hop_loss = 0.2F;
	}
}

Test(patterns, a_link_that_is_lossy_in_one_direction)
{
	change = lossy_way;
	expect(none, "The link between routers 10.78.0.3 and 10.78.0.5 loses 20.0 % of the probes of 80 pairs");
}

/* Two links of a leaf: half of its rack's pairs name the one, half the other. */
static void two_lossy_links(struct latency_entry *entry)
{
	if (entry->source / PER_RACK != 0 || !goes_over(entry))
		return;
	entry->hop = leaf1;
	entry->next_hop = entry->destination % 2 ? spine1 : spine3;
	entry->hop_loss = 0.2F;
}

Test(patterns, a_leaf_with_two_lossy_links)
{
	change = two_lossy_links;
	expect(none, "Router 10.78.0.5 loses 20.0 % of the probes of 80 pairs");
}

/* While the loss of a link begins, its rack's probers name links beyond it, too: wait. */
static void undecided_spine3(struct latency_entry *entry)
{
	if (entry->source / PER_RACK != 0 || !goes_over(entry))
		return;
	entry->hop = entry->destination % 2 ? spine3 : leaf1;
	entry->next_hop = entry->destination % 2 ? leaf1 + entry->destination / PER_RACK : spine3;
	entry->hop_loss = 0.05F;
	entry->loss = 0.02;
	entry->paths = 4;
}

Test(patterns, what_one_rack_sees_of_a_spine_accuses_nobody)
{
	change = undecided_spine3;
	find(none);
	cr_assert_eq(found.count, 0);
	cr_assert_eq(found.bad, 0);
}

/* A dead spine, which some pairs do not name yet, has lost the probes of all pairs between racks. */
static void dead_spine3(struct latency_entry *entry)
{
	slow_spine3(entry);
	if (!goes_over(entry))
		return;
	entry->rtt_p50_us = entry->rtt_p99_us = entry->rtt_max_us = 70;
	entry->paths = 4;
	entry->hop_us = 0;
	entry->hop_loss = 1;
	entry->loss = 0.4;
	if (entry->source / PER_RACK == 2 || entry->destination / PER_RACK == 2) {
		entry->hop = entry->next_hop = 0;
		entry->hop_loss = 0;
	}
}

Test(patterns, pairs_that_do_not_name_a_dead_router_yet_accuse_no_uplink)
{
	change = dead_spine3;
	expect(none, "Router 10.78.0.3 loses 100.0 % of the probes of 320 pairs");
}

/* A spine loses probes, and no prober has named it yet: about half of the pairs between racks are over the limit. */
static bool half_of_all(uint32_t from, uint32_t to)
{
	return from / PER_RACK != to / PER_RACK && hash_mix((uint64_t)from * HOSTS + to) % 100 < 55;
}

Test(patterns, a_bad_network_between_racks_accuses_no_rack)
{
	find(half_of_all);
	cr_assert_eq(found.count, 0, "%zu patterns", found.count);
	cr_assert_gt(found.unexplained, 200);
}

static bool all_between_racks(uint32_t from, uint32_t to)
{
	return from / PER_RACK != to / PER_RACK;
}

Test(patterns, if_all_racks_are_bad_none_is_accused)
{
	find(all_between_racks);
	cr_assert_eq(found.count, 0, "%zu patterns", found.count);
}

/* Two of six uplinks. */
static bool two_uplinks(uint32_t from, uint32_t to)
{
	return from / PER_RACK != to / PER_RACK && (from / PER_RACK < 2 || to / PER_RACK < 2);
}

Test(patterns, two_bad_uplinks)
{
	find(two_uplinks);
	cr_assert_eq(found.count, 2, "%zu patterns", found.count);
	cr_assert_eq(found.by_kind[PATTERN_UPLINK], 2);
	cr_assert_eq(found.unexplained, 0);
}

/* Probers at both ends name the link, in their own direction. */
static void slow_link(struct latency_entry *entry)
{
	if (!goes_over(entry) || (entry->source / PER_RACK != 0 && entry->destination / PER_RACK != 0))
		return;
	entry->hop = entry->source / PER_RACK ? spine3 : leaf1;
	entry->next_hop = entry->source / PER_RACK ? leaf1 : spine3;
	entry->hop_us = 400;
}

Test(patterns, a_slow_link)
{
	change = slow_link;
	expect(none, "The link between routers 10.78.0.3 and 10.78.0.5 adds 400 us to 160 pairs that cross it");
	cr_assert_eq(found.by_kind[PATTERN_LINK], 1);
}

/* One prober alone, or two pairs, accuse nobody. */
static void few_name_spine1(struct latency_entry *entry)
{
	if (entry->source != 2 && !(entry->source == 12 && entry->destination < 2))
		return;
	entry->hop = entry->source == 2 ? leaf1 : leaf1 + 3;
	entry->next_hop = entry->source == 2 ? spine3 : spine1;
	entry->hop_us = 500;
	if (entry->source == 12) /* nobody is accused of it: these two pairs stay bad */
		entry->rtt_p50_us = entry->rtt_p99_us = entry->rtt_max_us = 560;
}

Test(patterns, few_accusations_are_none)
{
	change = few_name_spine1;
	find(none);
	cr_assert_eq(found.count, 0);
	cr_assert_eq(found.bad, 2);
}

static bool host_and_rack(uint32_t from, uint32_t to)
{
	return from == 3 || to == 3 || (from / PER_RACK == 4) != (to / PER_RACK == 4);
}

static int find_again(const void *context, char *answer, size_t bytes)
{
	struct patterns again = {0};
	int code = patterns_find(live, LATENCY_STATISTIC_P99, (struct ns){2 * NS_PER_S}, max_age, &again);
	size_t used = 0;

	(void)context;
	for (size_t i = 0; code == 0 && i < again.count && used < bytes; i++)
		used += (size_t)snprintf(answer + used, bytes - used, "%d %u %u %u of %u, %u, %g; %d, %d\n",
					 again.items[i].kind, again.items[i].from, again.items[i].to,
					 again.items[i].bad, again.items[i].pairs, again.items[i].unreachable,
					 again.items[i].us, (int)again.bad, (int)again.unexplained);
	patterns_free(&again);
	return code;
}

Test(patterns, lack_of_memory_changes_none)
{
	find(host_and_rack);
	allocations_fail(find_again, NULL, "a host and a rack");
}
