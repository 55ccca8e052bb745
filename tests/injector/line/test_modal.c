/* SPDX-License-Identifier: BSD-3-Clause */
/* The modal loop over rings: which packets arrive, in which order, and whether the counters match. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include <rte_pause.h>

#include "rings.h"

enum { COUNT = 20000, WINDOW = 2000 };

struct outcome {
	uint64_t sent, received, overtaken, early;
	uint8_t seen[COUNT];
	uint64_t damaged_bits, damaged[60]; /* [byte] packets with a wrong bit there */
	struct ns took;                     /* from before the first packet was sent until the last one arrived */
	struct injector_statistics statistics;
};

static bool in_time(struct ns start, int64_t seconds)
{
	return ns_now_monotonic().v - start.v < seconds * INT64_C(1000000000);
}

/* Counts the wrong bits of the packet that was sent as `number`, except in the time when it was sent. */
static void count_damage(struct rte_mbuf *packet, uint64_t number, struct outcome *outcome)
{
	uint8_t expected[60];
	const uint8_t *bytes = rte_pktmbuf_mtod(packet, const uint8_t *);

	memset(expected, (int)(number & 0xff), sizeof expected);
	memcpy(expected + offsetof(struct rings_payload, sequence), &number, sizeof number);
	memcpy(expected + offsetof(struct rings_payload, sent), &rings_payload(packet)->sent, sizeof number);
	for (size_t i = 0; i < sizeof expected; i++) {
		outcome->damaged[i] += bytes[i] != expected[i];
		outcome->damaged_bits += (uint64_t)__builtin_popcount(bytes[i] ^ expected[i]);
	}
}

/* Sends COUNT packets from A to B and waits until the injector holds none. `delay_us` is the minimum delay expected. */
static void run(const struct rings_options *options, double delay_us, struct outcome *outcome)
{
	static struct rings rings;
	struct ns start = ns_now_monotonic();
	uint64_t highest = 0;
	int64_t cycles;
	struct error err = {0};

	memset(outcome, 0, sizeof *outcome);
	rings_open(&rings, options);
	rings_start(&rings);
	cycles = (int64_t)(delay_us * 1e3 / rings.clock.ns_per_cycle);
	for (uint64_t round = 0; in_time(start, 60); round++) {
		const struct injector_direction_statistics *ab = &outcome->statistics.direction[0];
		struct rte_mbuf *packets[32];
		unsigned int count = rings_receive(&rings, 1, packets, 32);
		uint64_t now = rings_now();

		for (unsigned int i = 0; i < count; i++) {
			const struct rings_payload *payload = rings_payload(packets[i]);

			if (options->modes.corrupt) {
				count_damage(packets[i], outcome->received + i, outcome);
				rte_pktmbuf_free(packets[i]);
				continue;
			}
			cr_assert_lt(payload->sequence, COUNT);
			outcome->seen[payload->sequence]++;
			outcome->overtaken += payload->sequence < highest;
			highest = RTE_MAX(highest, payload->sequence);
			outcome->early += (int64_t)(now - payload->sent) < cycles;
			rte_pktmbuf_free(packets[i]);
		}
		outcome->received += count;
		if (count == 0) {
			rte_pause();
			cr_assert_eq(injector_read(rings.injector, &outcome->statistics, &err), 0);
			if (ab->rx_packets == COUNT && ab->held == 0 && ab->tx_packets == outcome->received)
				break;
		}
		/* After losses, the number in transit is not known here: use the number that the injector holds. */
		if (outcome->sent < COUNT && rte_ring_count(rings.in[0]) < WINDOW && ab->held < WINDOW)
			outcome->sent += rings_send(&rings, 0, outcome->sent);
	}
	outcome->took = ns_sub(ns_now_monotonic(), start);
	cr_assert_eq(outcome->sent, COUNT);
	rings_close(&rings);
}

static struct outcome outcome;

static void assert_sum(void)
{
	const struct injector_direction_statistics *ab = &outcome.statistics.direction[0];

	cr_assert_eq(ab->rx_packets + ab->duplicated, ab->tx_packets + ab->held + ab->ring_full + ab->lost);
	cr_assert_eq(outcome.received, ab->tx_packets);
}

Test(modal, jitter_without_reordering_keeps_the_order)
{
	struct rings_options options = {.delay_us = {50, 50}, .modes = {.jitter = "uniform:100", .seed = 1}};

	run(&options, 50, &outcome);
	cr_assert_eq(outcome.received, COUNT);
	cr_assert_eq(outcome.overtaken, 0);
	cr_assert_eq(outcome.early, 0);
	assert_sum();
}

Test(modal, jitter_with_reordering_lets_packets_overtake_and_loses_none)
{
	struct rings_options options = {.delay_us = {50, 50},
					.modes = {.jitter = "uniform:100", .reorder = true, .seed = 1}};

	run(&options, 50, &outcome);
	cr_assert_eq(outcome.received, COUNT);
	for (int i = 0; i < COUNT; i++)
		cr_assert_eq(outcome.seen[i], 1);
	cr_assert_gt(outcome.overtaken, 0);
	cr_assert_eq(outcome.early, 0);
	assert_sum();
}

Test(modal, losses_and_copies_are_counted_to_the_packet)
{
	struct rings_options options = {.delay_us = {20, 20}, .modes = {.loss = "10", .duplicate = "5", .seed = 3}};
	uint64_t absent = 0, twice = 0;

	run(&options, 20, &outcome);
	for (int i = 0; i < COUNT; i++) {
		absent += outcome.seen[i] == 0;
		twice += outcome.seen[i] == 2;
	}
	cr_assert_eq(absent, outcome.statistics.direction[0].lost);
	cr_assert_eq(twice, outcome.statistics.direction[0].duplicated);
	cr_assert_gt(absent, 1000);
	cr_assert_gt(twice, 500);
	cr_assert_eq(outcome.overtaken, 0, "a copy follows its original");
	assert_sum();
}

/* One bit of each damaged packet, in any of its 60 bytes; of 52 of them, the test knows what was sent. */
Test(modal, corruption_flips_one_bit_and_counts_each)
{
	struct rings_options options = {.modes = {.corrupt = "50", .seed = 3}};
	uint64_t packets = 0, expected;

	run(&options, 0, &outcome);
	expected = outcome.statistics.direction[0].corrupted;
	cr_assert_float_eq((double)expected, COUNT / 2, 5 * sqrt(COUNT / 4));
	for (int i = 0; i < 60; i++) {
		packets += outcome.damaged[i];
		if (i < 24 || i >= 32)
			cr_expect_float_eq((double)outcome.damaged[i], (double)expected / 60,
					   5 * sqrt((double)expected / 60), "byte %d", i);
	}
	cr_assert_eq(outcome.damaged_bits, packets, "one bit a packet");
	cr_assert_float_eq((double)packets, (double)expected * 52 / 60, 5 * sqrt((double)expected * 52 * 8) / 60);
	cr_assert_eq(outcome.received, COUNT);
	assert_sum();
}

Test(modal, copies_take_their_time_on_a_limited_link)
{
	struct rings_options options = {.modes = {.duplicate = "100", .rate = "20"}};

	run(&options, 0, &outcome);
	cr_assert_eq(outcome.received, 2 * COUNT);
	/* 60 bytes and 24 of overhead at 20 Mbit/s: 33.6 us per frame; the counter's rate is known to about 0.1 %. */
	cr_assert_geq(outcome.took.v, (int64_t)(2 * COUNT * 33600L * 0.99), "%ld ns", outcome.took.v);
	assert_sum();
}

Test(modal, what_the_filter_leaves_alone_passes_at_once)
{
	struct rings_options options = {.delay_us = {10000, 10000}, .modes = {.only = "tcp:80"}};

	run(&options, 0, &outcome); /* the frames are not IP */
	cr_assert_eq(outcome.received, COUNT);
	cr_assert_eq(outcome.statistics.direction[0].bypassed, COUNT);
	assert_sum();
}

Test(modal, due_times_come_from_the_nics_stamps)
{
	struct rings_options options = {.delay_us = {200, 200}, .stamps = true};

	run(&options, 200, &outcome); /* the delay counts from the stamp, which the client wrote before sending */
	cr_assert_eq(outcome.received, COUNT);
	/* Two readings of the counter define the test NIC's clock: it may be off by the cycles between them. */
	cr_assert_leq(outcome.early, 20);
	cr_assert_eq(outcome.overtaken, 0);
	assert_sum();
}

/*
 * Bytes 12 and 13 of a packet are its number modulo 256: rules on the EtherType catch every 256th packet. Packets of
 * the second rule are overtaken, those of the third never get loss, and nothing else has the rules' modes.
 */
Test(modal, rules_decide_alone_about_their_packets)
{
	struct rings_options options = {.delay_us = {50, 50},
					.modes = {.seed = 3},
					.rules = {"ether:0x0707 loss=100", "ether:0x0808,ether:0x0909 delay=2000",
						  "ether:0x0707 delay=1", "ether:0x0a0a  jitter=uniform:10 loss=50"}};
	const uint64_t each = (COUNT + 255 - 7) / 256;
	const struct injector_rule_statistics *rules = outcome.statistics.rules[0];
	uint64_t absent = 0, halved = 0;

	run(&options, 50, &outcome);
	for (int i = 0; i < COUNT; i++) {
		absent += i % 256 == 7 && outcome.seen[i] == 0;
		halved += i % 256 == 10 && outcome.seen[i] == 0;
		cr_assert(outcome.seen[i] == 1 || i % 256 == 7 || i % 256 == 10, "packet %d", i);
	}
	cr_assert_eq(absent, each);
	cr_assert_eq(outcome.statistics.rule_count[0], 4);
	cr_assert_eq(rules[0].packets, each);
	cr_assert_eq(rules[0].lost, each);
	cr_assert(isnan(rules[0].applied_mean_ns), "none was held");
	cr_assert_eq(rules[1].packets, 2 * ((COUNT + 255 - 8) / 256));
	cr_assert_float_eq(rules[1].applied_mean_ns, 2e6, 10);
	cr_assert_eq(rules[2].packets, 0, "the first rule decides");
	cr_assert_eq(rules[3].lost, halved);
	cr_assert_float_eq((double)halved, (double)rules[3].packets / 2, 5 * sqrt((double)rules[3].packets) / 2);
	cr_assert_float_eq(rules[3].applied_mean_ns, 55000, 3000);
	cr_assert_gt(outcome.overtaken, 0, "2000 us do not hold up 50 us");
	assert_sum();
}

/* Settings of a rule, in turns, and the shortest stay of a packet under each. */
static const struct {
	const char *rule;
	double least_us;
} changes[] = {{"ether:0x0707 delay=2000", 2000},        {"ether:0x0707 delay=0", 0},
	       {"ether:0x0707 delay=500 rate=20", 500},  {"ether:0x0707 delay=17", 17},
	       {"ether:0x0707 jitter=uniform:100", 50},  {"ether:0x0707 delay=1 rate=100000", 1},
	       {" ether:0x0707  jitter=normal:5 ", 0},   {"ether:0x0707 delay=300 duplicate=0", 300},
	       {"ether:0x0707 steps=0:700,0.001:40", 40}};

static void change_rule(struct rings *rings, const char *text, int expected)
{
	struct error err = {0};

	while (rte_ring_count(rings->in[0]) > 0) /* then all packets sent so far have the old settings */
		rte_pause();
	cr_assert_eq(injector_set_rule(rings->injector, text, &err), expected, "%s: %s", text, err.text);
}

/* Receives packets of the rule: the next one in order, and none before it has stayed for least[number] cycles. */
static uint64_t receive_in_order(struct rings *rings, uint64_t next, const int64_t *least)
{
	struct rte_mbuf *packets[32];
	unsigned int count = rings_receive(rings, 1, packets, 32);
	uint64_t now = rings_now();

	for (unsigned int i = 0; i < count; i++, next++) {
		const struct rings_payload *payload = rings_payload(packets[i]);

		cr_assert_eq(payload->sequence, next * 256 + 7, "packet %lu", next);
		cr_assert_geq((int64_t)(now - payload->sent), least[next], "packet %lu", next);
		rte_pktmbuf_free(packets[i]);
	}
	return next;
}

/* No packet of a rule is lost, early or out of order while the rule changes, from a slow link to a fast one, too. */
Test(modal, a_rule_changes_while_its_packets_pass)
{
	static struct rings rings;
	static int64_t least[COUNT];
	struct rings_options options = {.delay_us = {50, 50}, .modes = {.seed = 3}, .rules = {"ether:0x0707 delay=9"}};
	uint64_t sent = 0, received = 0;
	size_t changed = 0;
	double least_us = 9;
	struct ns start = ns_now_monotonic();
	struct injector_statistics statistics;
	struct error err = {0};

	options.modes.replay_interval_us = 1e6;
	rings_open(&rings, &options);
	rings_start(&rings);
	while (received < COUNT && in_time(start, 60)) {
		received = receive_in_order(&rings, received, least);
		if (sent == COUNT || sent - received >= WINDOW)
			continue;
		if (sent % 100 == 99) {
			change_rule(&rings, changes[changed % 9].rule, 0);
			least_us = changes[changed++ % 9].least_us;
			change_rule(&rings, "ether:0x0707 delay=10001", -EINVAL);
			change_rule(&rings, "ether:0x0808 delay=0", -EINVAL);
		}
		least[sent] = (int64_t)(least_us * 1e3 / rings.clock.ns_per_cycle) - 1;
		sent += rings_send(&rings, 0, sent * 256 + 7);
	}
	cr_assert_eq(received, COUNT);
	cr_assert_eq(injector_read(rings.injector, &statistics, &err), 0);
	cr_assert_eq(statistics.rules[0][0].packets, COUNT, "its counters go on");
	cr_assert_str_eq(statistics.rules[0][0].text, changes[(changed - 1) % 9].rule);
	cr_assert_str_eq(statistics.rules[1][0].text, changes[(changed - 1) % 9].rule);
	cr_assert_eq(injector_delay_changes(rings.injector), changed);
	rings_close(&rings);
}
