/* SPDX-License-Identifier: BSD-3-Clause */
/* What `nomora probe` and `reflect` print: every line of the report, and when it is left out. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/address.h>

#include "station_priv.h"

static struct mesh_pair pairs[2];
static struct mesh_path paths[3];

static struct station_result result = {
	.port = {.name = "eth0", .driver = "net_af_packet", .mac = "02:00:00:00:00:01"},
	.started_at = {1500 * NS_PER_MS},
	.finished_at = {4000 * NS_PER_MS},
	.measured = {2500 * NS_PER_MS},
	.summary = {.stamps = "kernel", .poll = "busy", .reflector = {.answered = 40, .sessions = 3}},
	.row = {.host = "h1", .pairs = pairs},
};

/* Asserts that the report consists of the heading, these lines, and the number of answers. */
static void check_text(const char *lines, const char *after, int at)
{
	char expected[4096], *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	station_report_text(&result, out);
	fclose(out);
	snprintf(expected, sizeof expected,
		 "h1 on eth0 (net_af_packet), %s stamps, busy polling, 2.5 s\n%s%sanswered 40 probes in 3 sessions\n%s",
		 result.summary.stamps, lines, lines[0] ? "\n" : "", after);
	cr_assert_str_eq(text, expected, "line %d:\n%s", at, text);
	free(text);
}

#define TEXT(lines, after) check_text(lines, after, __LINE__)
#define HEADING "\npeer             sent   lost   dup reord    min us    p50 us    p99 us    max us\n"
#define H2 "h2                 50      6     7     8 "
#define TIMES "     10.0      20.0      30.0      40.0"

static void make_pair(void)
{
	memset(pairs, 0, sizeof pairs);
	result.row.count = 1;
	strcpy(pairs[0].peer.name, "h2");
	pairs[0].counters =
		(struct session_counters){.sent = 50, .fresh = 44, .lost = 6, .duplicates = 7, .reordered = 8};
	pairs[0].rtt = (struct mesh_distribution){
		.samples = 40, .min_us = 10, .p50_us = 20, .p90_us = 25, .p99_us = 30, .max_us = 40};
	pairs[0].stamps = (struct agent_stamp_counts){.departures = 40, .arrivals = 40};
}

Test(station_report, a_line_for_each_peer)
{
	TEXT("", "");
	make_pair();
	TEXT(HEADING H2 TIMES "\n", "");
	result.row.count = 2;
	strcpy(pairs[1].peer.name, "h3");
	TEXT(HEADING H2 TIMES "\nh3                  0      0     0     0 no MAC address: nobody answers ARP for it\n",
	     "");
	result.row.count = 1;
	pairs[0].rtt.samples = 0;
	TEXT(HEADING H2 "no answer with plausible time stamps\n", "");
	pairs[0].counters.fresh = 0;
	pairs[0].resolved = true;
	TEXT(HEADING H2 "no answer\n", "");
}

Test(station_report, undisturbed_samples_have_their_own_figures)
{
	make_pair();
	pairs[0].disturbed = 10;
	TEXT(HEADING H2 TIMES "\n", "");
	pairs[0].undisturbed = (struct mesh_distribution){.samples = 30, .p50_us = 19, .p99_us = 28, .max_us = 29};
	TEXT(HEADING H2 TIMES "   undisturbed: p50 19.0 p99 28.0 max 29.0 us (25 % of the samples disturbed)\n", "");
	pairs[0].disturbed = 0;
	TEXT(HEADING H2 TIMES "\n", "");
}

Test(station_report, one_way_delays_have_an_error)
{
	make_pair();
	pairs[0].forward = (struct mesh_distribution){.samples = 40, .p50_us = 5, .p99_us = 6};
	pairs[0].backward = (struct mesh_distribution){.samples = 40, .p50_us = 7, .p99_us = 8};
	pairs[0].one_way_error_us = 1.5;
	TEXT(HEADING H2 TIMES
	     "\n      one way: there p50 5.0 p99 6.0 us, back p50 7.0 p99 8.0 us, each +-1.5 us (clock errors)\n",
	     "");
}

Test(station_report, stamps_are_named_when_they_are_not_as_expected)
{
	make_pair();
	pairs[0].stamps.departures = 30;
	TEXT(HEADING H2 TIMES "\n       stamps: t1 by the kernel in 75 %, t3 by follow-up telemetry in 0 %, t4 by the "
			      "kernel in 100 % of the samples\n",
	     "");
	pairs[0].stamps = (struct agent_stamp_counts){.departures = 40, .arrivals = 4};
	TEXT(HEADING H2 TIMES "\n       stamps: t1 by the kernel in 100 %, t3 by follow-up telemetry in 0 %, t4 by the "
			      "kernel in 10 % of the samples\n",
	     "");
	pairs[0].stamps = (struct agent_stamp_counts){.departures = 40, .arrivals = 40, .follow_ups = 20};
	TEXT(HEADING H2 TIMES "\n       stamps: t1 by the kernel in 100 %, t3 by follow-up telemetry in 50 %, t4 by "
			      "the kernel in 100 % of the samples\n",
	     "");
	result.summary.stamps = "counter";
	pairs[0].stamps = (struct agent_stamp_counts){0};
	TEXT(HEADING H2 TIMES "\n", "");
	pairs[0].stamps.departures = 40;
	TEXT(HEADING H2 TIMES "\n       stamps: t1 by the kernel in 100 %, t3 by follow-up telemetry in 0 %, t4 by the "
			      "kernel in 0 % of the samples\n",
	     "");
	pairs[0].rtt.samples = 0;
	TEXT(HEADING H2 "no answer with plausible time stamps\n", "");
}

Test(station_report, the_slowest_and_the_lossiest_path)
{
	make_pair();
	pairs[0].paths = paths;
	pairs[0].paths_known = 4;
	pairs[0].path_count = 2;
	pairs[0].paths_confidence = 0.95;
	paths[0] = (struct mesh_path){.source_port = 50000,
				      .counters = {.sent = 25, .lost = 5},
				      .lost_forward_known = true,
				      .lost_forward = 3,
				      .rtt = {.samples = 20, .p50_us = 21, .p99_us = 31, .max_us = 39},
				      .route = {.hop_count = 1}};
	paths[1] = (struct mesh_path){.source_port = 50001,
				      .counters = {.sent = 25, .lost = 1},
				      .rtt = {.samples = 20, .p50_us = 22, .p99_us = 28, .max_us = 40},
				      .route = {.hop_count = 2}};
	address_parse("10.0.0.7", &paths[1].route.hops[0]);
	TEXT(HEADING H2 TIMES "\n", ""); /* the paths were not looked for */
	pairs[0].finds_paths = true;
	TEXT(HEADING H2 TIMES
	     "\n        paths: 4 known, 2 covered by probes; probability that another one exists: under 5 %\n"
	     "      slowest: 10.0.0.7 ?: p50 22.0 p99 28.0 max 40.0 us, 1 of 25 lost, source port 50001\n"
	     "    most loss: ?: p50 21.0 p99 31.0 max 39.0 us, 5 of 25 lost (3 on the way there), source port 50000\n",
	     "");
	paths[0].counters.lost = 0;
	paths[1].counters.lost = 0;
	TEXT(HEADING H2 TIMES
	     "\n        paths: 4 known, 2 covered by probes; probability that another one exists: under 5 %\n"
	     "      slowest: 10.0.0.7 ?: p50 22.0 p99 28.0 max 40.0 us, 0 of 25 lost, source port 50001\n",
	     "");
	pairs[0].path_count = 1;
	TEXT(HEADING H2 TIMES
	     "\n        paths: 4 known, 1 covered by probes; probability that another one exists: under 5 %\n",
	     "");
}

Test(station_report, each_counter_has_its_warning)
{
	struct agent_summary *summary = &result.summary;

	summary->port.rx_missed = 1;
	TEXT("", "warnings: 1 packets missed on receive\n");
	summary->send_failures = 2;
	summary->skipped = 3;
	summary->unstamped = 4;
	summary->broken_frames = 5;
	summary->unfinished_checksums = 6;
	summary->other_vlan = 7;
	summary->samples_dropped = 8;
	summary->frames_dropped = 9;
	summary->not_handed_over = 10;
	summary->reflector.not_ours = 11;
	summary->reflector.bad_source = 12;
	summary->reflector.loops = 13;
	summary->reflector.not_allowed = 14;
	summary->reflector.short_requests = 15;
	summary->reflector.source_limited = 16;
	summary->reflector.total_limited = 17;
	summary->reflector.unknown_session = 18;
	summary->reflector.bad_hmac = 19;
	summary->reflector.replayed = 20;
	summary->reflector.other_member = 21;
	summary->bad_hmac = 22;
	summary->other_member = 23;
	TEXT("", "warnings: 1 packets missed on receive, 2 packets not sent, 3 probes skipped (prober late), 4 packets "
		 "without a kernel timestamp, 5 broken frames, 6 packets with an unfinished checksum (on their sender: "
		 "ethtool -K INTERFACE tx off), 7 STAMP packets of other VLANs (not answered; see --vlan), 8 samples "
		 "not written, 9 packets not in the capture, 10 answers lost between two queues, 11 requests to "
		 "another host, 12 requests with an invalid source address, 13 answers of other reflectors, 14 "
		 "requests that --allow does not list, 15 short TWAMP requests over 100 per second (no limit if "
		 "--allow lists the sender), 16 requests over --limit-source, 17 requests over --limit-total, 18 "
		 "requests of sessions "
		 "without a key, 19 requests with a wrong HMAC, 20 replayed requests, 21 requests for another member "
		 "link, 22 answers with a wrong HMAC, 23 answers of another member link\n");
}

Test(station_report, impossible_stamps_and_the_limit_are_warnings)
{
	make_pair();
	result.row.count = 2;
	pairs[0].impossible = 2;
	pairs[1].impossible = 3;
	strcpy(pairs[1].peer.name, "h3");
	result.summary.limited = true;
	result.summary.interval = ns_from_us(150);
	TEXT(HEADING H2 TIMES "\nh3                  0      0     0     0 no MAC address: nobody answers ARP for it\n",
	     "warnings: 5 answers with impossible time stamps\n"
	     "limited by --limit-probes: a probe to each peer every 150.0 us\n");
}
