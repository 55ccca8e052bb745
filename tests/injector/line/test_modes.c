/* SPDX-License-Identifier: BSD-3-Clause */
/* Each mode separately, on packets in memory, with a clock that the test advances. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <injector/line/mode.h>

#include "mode_priv.h"
#include "rule_priv.h"

#include "../../support/fail_in_turn.h"

enum { TRIES = 200000 };

/* One cycle is half a nanosecond. */
static const struct dp_clock the_clock = {.ns_per_cycle = 0.5};
#define US(us) ((uint64_t)((us)*2000.0))

static uint8_t frame[128];
static struct rte_mbuf packet = {.buf_addr = frame, .data_len = 60, .pkt_len = 60};

static struct injector_modes *create(struct injector_mode_settings settings)
{
	struct error err = {0};
	struct injector_modes *modes;

	if (settings.replay_interval_us == 0)
		settings.replay_interval_us = 1e6;
	modes = injector_modes_create(&settings, &the_clock, &err);
	cr_assert_not_null(modes, "%s", err.text);
	return modes;
}

static struct verdict judge(const struct injector_modes *modes, uint64_t now)
{
	struct verdict verdict = {.delay_cycles = US(10)};

	modes_apply(modes, (const struct dp_packet *)&packet, now, &verdict);
	return verdict;
}

/* Within five standard deviations of a binomial count. */
static void assert_share(uint64_t count, uint64_t tries, double share)
{
	double deviation = sqrt((double)tries * share * (1 - share));

	cr_assert_float_eq((double)count, (double)tries * share, 5 * deviation + 1, "%lu of %lu, expected %g", count,
			   tries, share);
}

Test(modes, loss_is_bernoulli)
{
	struct injector_modes *modes = create((struct injector_mode_settings){.loss = "2.5", .seed = 1});
	uint64_t lost = 0, pairs = 0;
	bool before = false;

	for (int i = 0; i < TRIES; i++) {
		bool now = judge(modes, 0).lost;

		lost += now;
		pairs += now && before;
		before = now;
	}
	assert_share(lost, TRIES, 0.025);
	assert_share(pairs, TRIES, 0.025 * 0.025);
	injector_modes_destroy(modes);
}

Test(modes, gilbert_loses_in_bursts)
{
	struct injector_modes *modes = create((struct injector_mode_settings){.gilbert = "1,20", .seed = 1});
	uint64_t lost = 0, bursts = 0;
	bool before = false;

	for (int i = 0; i < TRIES; i++) {
		bool now = judge(modes, 0).lost;

		lost += now;
		bursts += now && !before;
		before = now;
	}
	cr_assert_float_eq((double)lost / TRIES, 0.01 / 0.21, 0.005, "stationary share P/(P+R)");
	cr_assert_float_eq((double)lost / (double)bursts, 5, 0.35, "mean burst 1/R");
	injector_modes_destroy(modes);
}

Test(modes, extremes_are_exact)
{
	struct injector_modes *none = create((struct injector_mode_settings){.loss = "0", .duplicate = "0"});
	struct injector_modes *all = create((struct injector_mode_settings){.loss = "100"});
	struct injector_modes *twice = create((struct injector_mode_settings){.duplicate = "100"});

	for (int i = 0; i < 1000; i++) {
		cr_assert(!judge(none, 0).lost);
		cr_assert_eq(judge(none, 0).copies, 0);
		cr_assert(judge(all, 0).lost);
		cr_assert_eq(judge(twice, 0).copies, 1);
	}
	injector_modes_destroy(none);
	injector_modes_destroy(all);
	injector_modes_destroy(twice);
}

Test(modes, steps_follow_the_clock_from_the_first_packet)
{
	struct injector_modes *modes = create((struct injector_mode_settings){.steps = "0:10,1.5:20,3:0.1"});
	uint64_t start = UINT64_C(123456789012), second = UINT64_C(2000000000);

	cr_assert_eq(judge(modes, start).delay_cycles, US(10));
	cr_assert_eq(judge(modes, start + second).delay_cycles, US(10));
	cr_assert_eq(judge(modes, start + 3 * second / 2).delay_cycles, US(20));
	cr_assert_eq(judge(modes, start + 100 * second).delay_cycles, US(0.1));
	injector_modes_destroy(modes);
}

/*
 * Both directions share one position in the schedule, whichever has the first packet; the other may be slightly
 * earlier.
 */
Test(modes, both_directions_have_one_clock)
{
	_Atomic uint64_t start = 0;
	const struct injector_mode_settings settings = {.steps = "0:10,2:5000", .start = &start};
	struct injector_modes *ab = create(settings), *ba = create(settings);
	uint64_t first = UINT64_C(123456789012), second = UINT64_C(2000000000);

	cr_assert_eq(judge(ab, first).delay_cycles, US(10));
	cr_assert_eq(start, first);
	cr_assert_eq(judge(ba, first - 500).delay_cycles, US(10), "before the beginning is at the beginning");
	cr_assert_eq(judge(ba, first + 2 * second).delay_cycles, US(5000));
	cr_assert_eq(judge(ab, first + 2 * second).delay_cycles, US(5000));
	cr_assert_eq(start, first);
	injector_modes_destroy(ab);
	injector_modes_destroy(ba);
	ab = create(settings); /* the clock is already running */
	cr_assert_eq(judge(ab, first + 2 * second).delay_cycles, US(5000));
	injector_modes_destroy(ab);
}

Test(modes, tell_the_longest_delay_and_who_sets_it)
{
	const struct injector_mode_settings step_settings = {.steps = "0:10,1:70,2:5", .rate = "10"};
	const struct injector_mode_settings jitter_settings = {.jitter = "uniform:100"}, loss_settings = {.loss = "1"};
	struct injector_modes *steps = create(step_settings), *jitter = create(jitter_settings);
	struct injector_modes *loss = create(loss_settings);

	cr_assert_eq(modes_longest(steps, US(500)), US(70));
	cr_assert_str_eq(modes_delay_setter(steps), "steps");
	cr_assert_float_eq((double)modes_longest(jitter, US(500)), (double)US(600), (double)US(0.01));
	cr_assert_null(modes_delay_setter(jitter));
	cr_assert_eq(modes_longest(loss, US(500)), US(500));
	cr_assert_null(modes_delay_setter(loss));
	cr_assert_eq(modes_longest(NULL, US(500)), US(500));
	cr_assert_null(modes_delay_setter(NULL));
	injector_modes_destroy(steps);
	injector_modes_destroy(jitter);
	injector_modes_destroy(loss);
}

Test(modes, tell_how_many_packets_become_of_one)
{
	struct injector_modes *quarter = create((struct injector_mode_settings){.duplicate = "25", .rate = "10"});
	struct injector_modes *all = create((struct injector_mode_settings){.duplicate = "100", .loss = "50"});
	struct injector_modes *lossy = create((struct injector_mode_settings){.loss = "50"});

	cr_assert_float_eq(modes_multiple(quarter), 1.25, 1e-12);
	cr_assert_float_eq(modes_multiple(all), 2, 0);
	cr_assert_float_eq(modes_multiple(lossy), 1, 0);
	cr_assert_float_eq(modes_multiple(NULL), 1, 0);
	injector_modes_destroy(quarter);
	injector_modes_destroy(all);
	injector_modes_destroy(lossy);
}

Test(modes, replay_goes_round)
{
	char path[64];
	FILE *file;
	struct injector_modes *modes;
	uint64_t start = 1000;
	_Atomic uint64_t begun;

	snprintf(path, sizeof path, "/tmp/test-replay-%d", (int)getpid());
	file = fopen(path, "w");
	fputs("10\n20\n30\n", file);
	fclose(file);
	modes = create((struct injector_mode_settings){.replay = path, .replay_interval_us = 100});
	cr_assert_eq(judge(modes, start).delay_cycles, US(10));
	cr_assert_eq(judge(modes, start + US(99)).delay_cycles, US(10));
	cr_assert_eq(judge(modes, start + US(100)).delay_cycles, US(20));
	cr_assert_eq(judge(modes, start + US(250)).delay_cycles, US(30));
	cr_assert_eq(judge(modes, start + US(300)).delay_cycles, US(10));
	cr_assert_eq(modes_longest(modes, US(500)), US(30));
	cr_assert_str_eq(modes_delay_setter(modes), "replay");
	cr_assert_eq(judge(modes, start + US(300 * 1000 + 400)).delay_cycles, US(20), "a long gap skips whole rounds");
	injector_modes_destroy(modes);
	atomic_init(&begun, start);
	modes = create((struct injector_mode_settings){.replay = path, .replay_interval_us = 100, .start = &begun});
	cr_assert_eq(judge(modes, start + US(250)).delay_cycles, US(30), "the other direction began it");
	injector_modes_destroy(modes);
	unlink(path);
}

static uint64_t leave(const struct injector_modes *modes, uint64_t due)
{
	struct verdict verdict = judge(modes, 0);

	return verdict_leave(&verdict, due);
}

Test(modes, rate_spaces_packets_by_their_wire_time)
{
	/* 84 bytes on the wire at 10 Mbit/s: 67.2 us. */
	struct injector_modes *modes = create((struct injector_mode_settings){.rate = "10"});

	cr_assert_eq(leave(modes, US(10)), US(10), "the first one waits for nobody");
	for (int i = 1; i < 10; i++) {
		double cycles = (double)leave(modes, US(10)); /* once: Criterion evaluates arguments twice */

		cr_assert_float_eq(cycles, 20000 + i * 134400.0, 20.0, "packet %d", i);
	}
	judge(modes, US(20)); /* dropped after the mode was applied, so it never used the link */
	cr_assert_eq(leave(modes, US(5000)), US(5000), "the link is idle again");
	injector_modes_destroy(modes);
}

/* An Ethernet and IPv4 header, with ports behind them. */
static void make_ipv4(uint8_t protocol, const uint8_t source[4], const uint8_t destination[4], uint16_t from,
		      uint16_t to)
{
	memset(frame, 0, sizeof frame);
	frame[12] = 0x08;
	frame[14] = 0x45;
	frame[23] = protocol;
	memcpy(frame + 26, source, 4);
	memcpy(frame + 30, destination, 4);
	frame[34] = (uint8_t)(from >> 8);
	frame[35] = (uint8_t)from;
	frame[36] = (uint8_t)(to >> 8);
	frame[37] = (uint8_t)to;
	packet.data_len = packet.pkt_len = 60;
}

static const uint8_t host_1[] = {10, 0, 0, 1}, host_2[] = {10, 0, 0, 2};

Test(modes, the_filter_picks_the_applications_packets)
{
	struct injector_modes *port = create((struct injector_mode_settings){.only = "tcp:11211"});
	struct injector_modes *mixed = create((struct injector_mode_settings){.only = "udp:319,host:10.0.0.2"});
	struct injector_modes *ping = create((struct injector_mode_settings){.only = "proto:icmp"});

	make_ipv4(6, host_1, host_2, 40000, 11211);
	cr_assert(!judge(port, 0).bypass);
	cr_assert(!judge(mixed, 0).bypass, "by address");
	cr_assert(judge(ping, 0).bypass);
	make_ipv4(6, host_1, host_1, 11211, 40000);
	cr_assert(!judge(port, 0).bypass, "the way back");
	cr_assert(judge(mixed, 0).bypass);
	make_ipv4(17, host_1, host_1, 11211, 319);
	cr_assert(judge(port, 0).bypass, "UDP is not TCP");
	cr_assert(!judge(mixed, 0).bypass);
	make_ipv4(1, host_1, host_1, 11211, 319);
	cr_assert(!judge(ping, 0).bypass);
	injector_modes_destroy(port);
	injector_modes_destroy(mixed);
	injector_modes_destroy(ping);
}

Test(modes, the_filter_knows_networks_service_classes_and_types)
{
	static const struct {
		const char *only;
		bool matches;
	} cases[] = {{"host:10.0.0.0/24", true}, {"host:10.0.0.0/31", true},
		     {"host:10.0.0.2/31", true}, {"host:10.0.0.4/30", false},
		     {"host:11.0.0.0/8", false}, {"host:0.0.0.0/0", true},
		     {"host:::/0", false},       {"dscp:46", true},
		     {"dscp:45", false},         {"vlan:7", true},
		     {"vlan:8", false},          {"ether:0x0800", true},
		     {"ether:2048", true},       {"ether:0x86dd", false},
		     {"vlan:8,dscp:46", true}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct injector_modes *modes = create((struct injector_mode_settings){.only = cases[i].only});

		make_ipv4(17, host_1, host_2, 1, 2);
		frame[15] = 46 << 2 | 1;
		memmove(frame + 16, frame + 12, 50);
		memcpy(frame + 12, "\x81\0\xe0\x07", 4); /* priority 7, VLAN 7 */
		cr_expect_eq(judge(modes, 0).bypass, !cases[i].matches, "%s", cases[i].only);
		injector_modes_destroy(modes);
	}
}

Test(modes, rules_refuse_what_they_do_not_know)
{
	static const char *const bad[] = {"",
					  "udp:53",
					  "udp:53 ",
					  "udp:53 delay",
					  "udp:53 delay=-1",
					  "udp:53 delay=10001",
					  "udp:53 only=tcp:1",
					  "udp:53 nothing=1",
					  "udp:0 delay=1",
					  "delay=1",
					  "udp:53 loss=101",
					  "udp:53 delay=1 delay=2",
					  "udp:53 loss=1 loss=2",
					  "udp:53 loss=1 gilbert=1,2",
					  "udp:53 delay=1 steps=0:5"};
	const struct injector_mode_settings common = {.replay_interval_us = 1e6};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct error err = {0};

		cr_assert_null(injector_rules_create(&bad[i], 1, &common, &the_clock, &err), "%s", bad[i]);
		cr_assert_eq(err.code, EINVAL, "%s: %s", bad[i], err.text);
		cr_assert(strncmp(err.text, "--rule: ", 8) == 0, "%s: %s", bad[i], err.text);
	}
}

Test(modes, the_filter_knows_tags_fragments_ipv6_and_short_frames)
{
	struct injector_modes *port = create((struct injector_mode_settings){.only = "port:6379"});
	struct injector_modes *host = create((struct injector_mode_settings){.only = "host:fe80::1"});

	make_ipv4(6, host_1, host_2, 40000, 6379);
	memmove(frame + 16, frame + 12, 50);
	frame[12] = 0x81; /* 802.1Q */
	frame[13] = 0;
	cr_assert(!judge(port, 0).bypass);
	make_ipv4(6, host_1, host_2, 40000, 6379);
	frame[21] = 10; /* a later fragment: it has no ports */
	cr_assert(judge(port, 0).bypass);
	for (uint16_t bytes = 0; bytes < 38; bytes++) {
		make_ipv4(6, host_1, host_2, 40000, 6379);
		packet.data_len = bytes;
		cr_assert(judge(port, 0).bypass, "%u bytes", bytes);
	}
	memset(frame, 0, sizeof frame);
	memcpy(frame + 12, "\x86\xdd\x60", 3);
	frame[20] = 6;
	memcpy(frame + 22, "\xfe\x80", 2);
	frame[37] = 1;
	memcpy(frame + 54, "\x18\xeb\x9c\x40", 4); /* 6379, 40000 */
	packet.data_len = packet.pkt_len = 80;
	cr_assert(!judge(port, 0).bypass);
	cr_assert(!judge(host, 0).bypass);
	injector_modes_destroy(port);
	injector_modes_destroy(host);
}

/* An IPv6 frame with these extension headers between the IPv6 header and the payload. */
static void make_ipv6(uint8_t first, const uint8_t *extensions, size_t bytes)
{
	memset(frame, 0, sizeof frame);
	memcpy(frame + 12, "\x86\xdd\x60", 3);
	frame[20] = first;
	frame[37] = frame[53] = 1;
	memcpy(frame + 54, extensions, bytes);
	memcpy(frame + 54 + bytes, "\x18\xeb\x9c\x40", 4); /* 6379, 40000 */
	packet.data_len = packet.pkt_len = (uint16_t)(58 + bytes);
}

Test(modes, the_filter_walks_ipv6_extension_headers)
{
	/* Each names the next one: hop-by-hop of 16 bytes, AH of 24, fragment of 8, TCP. */
	uint8_t headers[48] = {51, 1, [16] = 44, 4, [40] = 6};
	struct injector_modes *port = create((struct injector_mode_settings){.only = "tcp:6379"});
	struct injector_modes *protocol = create((struct injector_mode_settings){.only = "proto:tcp"});

	make_ipv6(0, headers, sizeof headers);
	cr_assert(!judge(port, 0).bypass, "the first fragment has ports");
	headers[43] = 8; /* bytes on */
	make_ipv6(0, headers, sizeof headers);
	cr_assert(judge(port, 0).bypass, "a later one has none");
	cr_assert(!judge(protocol, 0).bypass, "but a protocol");
	headers[43] = 0;
	headers[1] = 255; /* longer than the frame */
	make_ipv6(0, headers, sizeof headers);
	cr_assert(judge(port, 0).bypass);
	headers[1] = 1;
	for (uint16_t bytes = 0; bytes < 54 + sizeof headers + 4; bytes++) {
		make_ipv6(0, headers, sizeof headers);
		packet.data_len = bytes;
		cr_assert(judge(port, 0).bypass, "%u bytes", bytes);
	}
	make_ipv6(43, (const uint8_t[]){60, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0}, 16);
	cr_assert(!judge(port, 0).bypass, "routing, then destination options");
	injector_modes_destroy(port);
	injector_modes_destroy(protocol);
}

Test(modes, the_same_seed_gives_the_same_packets)
{
	struct injector_modes *a =
		create((struct injector_mode_settings){.loss = "30", .jitter = "uniform:5", .seed = 9});
	struct injector_modes *b =
		create((struct injector_mode_settings){.loss = "30", .jitter = "uniform:5", .seed = 9});

	for (int i = 0; i < 1000; i++) {
		struct verdict x = judge(a, 0), y = judge(b, 0);

		cr_assert_eq(x.lost, y.lost);
		cr_assert_eq(x.delay_cycles, y.delay_cycles);
	}
	injector_modes_destroy(a);
	injector_modes_destroy(b);
}

Test(modes, refuses_bad_and_overlapping_specifications)
{
	static const struct injector_mode_settings bad[] = {
		{.loss = "101"},
		{.loss = "-1"},
		{.loss = "x"},
		{.gilbert = "1"},
		{.gilbert = "1,2,3,4,5"},
		{.duplicate = "nan"},
		{.corrupt = "100.1"},
		{.rate = "0"},
		{.jitter = "uniform"},
		{.jitter = "pareto:3"},
		{.jitter = "pareto:3,1"},
		{.jitter = "normal:-1"},
		{.jitter = "normal:1,2"},
		{.jitter = "netem:1"},
		{.jitter = "netem:1,"},
		{.jitter = "netem:1,/nonexistent"},
		{.jitter = "netem:-1,/dev/null"},
		{.jitter = "netem:1,/dev/null"},
		{.jitter = "samples:"},
		{.jitter = "samples:/dev/null"},
		{.jitter = "uniform:100", .jitter_wave_us = 1},
		{.steps = "1:10"},
		{.steps = "0:10,0:20"},
		{.steps = "0:10001"},
		{.replay = "/nonexistent"},
		{.only = "tcp:0"},
		{.only = "host:1.2.3"},
		{.only = ""},
		{.only = "tcp"},
		{.only = "proto:0"},
		{.only = "proto:256"},
		{.only = "tcp:65536"},
		{.only = "host:10.0.0.0/33"},
		{.only = "host:10.0.0.0/"},
		{.only = "dscp:64"},
		{.only = "vlan:4096"},
		{.only = "ether:0x5ff"},
		{.only = "ether:0x"},
		{.only = "ether:0x10000"},
		{.only = "port:1,port:2,port:3,port:4,port:5,port:6,port:7,port:8,port:9,port:10,port:11,port:12,port:"
			 "13,"
			 "port:14,port:15,port:16,port:17"},
		{.reorder = true},
		{.jitter = "uniform:1", .reorder = true, .rate = "10"},
		{.loss = "1", .gilbert = "1,2"},
		{.steps = "0:1", .jitter = "uniform:1"},
		{.jitter = "uniform:1", .replay = "/nonexistent"},
	};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct injector_mode_settings settings = bad[i];
		struct error err = {0};

		settings.replay_interval_us = 1e6;
		cr_assert_null(injector_modes_create(&settings, &the_clock, &err), "case %zu", i);
		cr_assert_gt(strlen(err.text), 0, "case %zu", i);
	}
}

Test(modes, accept_the_limits_of_their_rules)
{
	static const char *const good[] = {"proto:1", "proto:255", "tcp:65535", "udp:1",
					   "port:1,port:2,port:3,port:4,port:5,port:6,port:7,port:8,port:9,port:10,"
					   "port:11,port:12,port:13,port:14,"
					   "port:15,port:16"};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		injector_modes_destroy(create((struct injector_mode_settings){.only = good[i]}));
}

/* 60 bytes at 100 Gbit/s and 2 GHz: 13.44 cycles, and none of the fractions is lost. */
Test(modes, rate_keeps_fractions_of_a_cycle)
{
	struct injector_modes *modes = create((struct injector_mode_settings){.rate = "100000"});
	double cycles = 0;

	for (int i = 0; i <= 100000; i++)
		cycles = (double)leave(modes, US(10)) - US(10);
	cr_assert_float_eq(cycles / 100000, 13.44, 0.01, "%f", cycles / 100000);
	injector_modes_destroy(modes);
}

Test(modes, tell_how_many_packets_a_rate_lets_through)
{
	struct injector_modes *limited = create((struct injector_mode_settings){.duplicate = "25", .rate = "10000"});
	struct injector_modes *lossy = create((struct injector_mode_settings){.loss = "1", .rate = "10000"});
	struct injector_modes *filtered = create((struct injector_mode_settings){.only = "tcp:80", .rate = "10000"});
	struct injector_modes *none = create((struct injector_mode_settings){.duplicate = "25"});

	cr_assert_float_eq(modes_limit_pps(limited), 14880952, 1, "the line rate of 10 Gbit/s, as RFC 2544 has it");
	cr_assert(isinf(modes_limit_pps(lossy)), "what is lost takes no time on the link");
	cr_assert(isinf(modes_limit_pps(filtered)), "nor does what passes by");
	cr_assert(isinf(modes_limit_pps(none)));
	cr_assert(isinf(modes_limit_pps(NULL)));
	injector_modes_destroy(limited);
	injector_modes_destroy(lossy);
	injector_modes_destroy(filtered);
	injector_modes_destroy(none);
}

static int make_rules(const void *texts, char *answer, size_t bytes)
{
	const struct injector_mode_settings common = {.replay_interval_us = 1e6, .seed = 1};
	struct error err = {0};
	struct injector_rules *rules = injector_rules_create(texts, 4, &common, &the_clock, &err);

	if (rules)
		snprintf(answer, bytes, "%g times %llu", rules_multiple(rules),
			 (unsigned long long)rules_longest(rules, US(10), 0));
	injector_rules_destroy(rules);
	return rules ? 0 : -err.code;
}

static int make_modes(const void *settings, char *answer, size_t bytes)
{
	struct error err = {0};
	struct injector_modes *modes = injector_modes_create(settings, &the_clock, &err);

	if (modes)
		snprintf(answer, bytes, "%g times %llu", modes_multiple(modes),
			 (unsigned long long)modes_longest(modes, US(10)));
	injector_modes_destroy(modes);
	return modes ? 0 : -err.code;
}

Test(modes, lack_of_memory_leaves_none_out)
{
	static const char *const texts[] = {"udp:53,host:10.0.0.0/8 delay=20 loss=1", "tcp:80 gilbert=1,2",
					    "port:9 steps=0:5,1:30", "ether:0x0707 duplicate=50"};
	static const struct injector_mode_settings all[] = {
		{.replay_interval_us = 1e6, .steps = "0:10,1.5:20", .only = "port:6379,host:10.0.0.1"},
		{.replay_interval_us = 1e6, .loss = "3", .duplicate = "40"},
	};

	allocations_fail(make_rules, texts, "rules");
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		allocations_fail(make_modes, &all[i], "modes");
}
