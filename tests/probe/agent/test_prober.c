/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>

#include <probe/rtt/session.h>

#include "prober_world.h"

static uint64_t outstanding(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < prober.target_count; i++)
		for (uint32_t path = 0; path < prober.targets[i]->path_count; path++)
			sum += session_outstanding(prober.targets[i]->paths[path].session);
	cr_assert_eq(prober_has_outstanding(&prober), sum > 0);
	return sum;
}

TestSuite(prober, .fini = tear_down);

static void make(void)
{
	make_with(hosts + 1, 3);
}

static int64_t held_ns = 700;

/* The peer's answer to a probe that took there_ns to the peer, held_ns inside and back_ns back. */
static bool answer(const struct prober_probe *asked, int64_t sent, int64_t there_ns, int64_t back_ns)
{
	int64_t t2 = sent + there_ns;
	struct stamp_reply reply = {.sequence = asked->request.sequence,
				    .sent_at = {t2 + held_ns},
				    .error = {false, STAMP_PTP, 0, 1},
				    .session = asked->request.session,
				    .received_at = {t2},
				    .request_sequence = asked->request.sequence,
				    .request_sent_at = {sent},
				    .request_error = {false, STAMP_PTP, 0, 1}};
	uint8_t payload[STAMP_BYTES];
	struct frame frame = {.kind = FRAME_UDP,
			      .source_address = asked->target->peer.address,
			      .destination_address = 1,
			      .source_port = 862,
			      .destination_port = asked->source_port,
			      .payload = payload,
			      .payload_bytes = sizeof payload};

	stamp_write_reply(&reply, payload);
	return prober_answer(&prober, &frame, &(struct prober_arrival){.at = at(t2 + held_ns + back_ns)});
}

/* An answer to that port would arrive at our own reflector. */
Test(prober, no_path_has_the_port_of_the_reflectors)
{
	uint16_t taken;

	options = options_for(4);
	make();
	taken = prober.ports[2];
	tear_down();
	options.udp_port = taken;
	make();
	for (int i = 0; i < 4; i++)
		cr_assert_neq(prober.ports[i], taken);
}

Test(prober, each_peer_gets_its_probes_in_even_steps_over_all_paths)
{
	unsigned int sent[3] = {0}, on_path[4] = {0};
	struct error err = {0};
	int64_t last = 0;

	options = options_for(4);
	make();
	cr_assert_eq(prober_add(&prober, &hosts[0], &neighbours, &err), -EEXIST, "our own address");
	cr_assert_eq(prober_add(&prober, &hosts[1], &neighbours, &err), -EEXIST, "twice");
	prober_set_mode(&prober, AGENT_MEASURING, at(begin_ns));
	for (int64_t now = begin_ns; now < begin_ns + 120 * NS_PER_MS; now += 10000) {
		if (!prober_take(&prober, at(now), &neighbours, &probe))
			continue;
		cr_assert(last == 0 || now - last == NS_PER_MS, "%lu ns after the one before", now - last);
		last = now;
		for (size_t i = 0; i < 3; i++)
			sent[i] += probe.target == prober.targets[i];
		cr_assert(prober.path_of_port[probe.source_port] >= 0 && prober.path_of_port[probe.source_port] < 4);
		on_path[prober.path_of_port[probe.source_port]]++;
		prober_sent(&prober, &probe, at(now), false);
		cr_assert(answer(&probe, now, 5000, 6000));
	}
	for (size_t i = 0; i < 3; i++) {
		cr_assert_eq(sent[i], 40);
		take_window(i, begin_ns + NS_PER_S);
		cr_assert_eq(histogram_count(row.rtt), 40);
		cr_assert_eq(histogram_count(row.undisturbed), 40);
		cr_assert_eq(histogram_minimum(row.rtt), 11000, "residence is taken off");
		cr_assert_eq(histogram_maximum(row.residence), 700);
		cr_assert(row.offset.valid && row.offset.ns == -500, "half of the asymmetry");
		cr_assert_eq(row.last_answer.ns % NS_PER_MS, 11700);
	}
	for (size_t i = 0; i < 4; i++)
		cr_assert_eq(on_path[i], 30);
}

Test(prober, a_stall_is_skipped_not_made_good_by_a_burst)
{
	unsigned int burst = 0;

	options = options_for(1);
	make();
	prober_set_mode(&prober, AGENT_MEASURING, at(begin_ns));
	cr_assert(prober_take(&prober, at(begin_ns), &neighbours, &probe));
	while (prober_take(&prober, at(begin_ns + 50 * NS_PER_MS), &neighbours, &probe))
		burst++;
	cr_assert_leq(burst, 2, "%u at once", burst);
	cr_assert(prober.skipped >= 45 && prober.skipped <= 50, "%lu skipped", prober.skipped);
}

/* 128 peers in 2.56 us: a core that needs 10 us per iteration of its loop would otherwise send one probe in each. */
Test(prober, a_rate_above_what_a_core_sends_leaves_in_bursts)
{
	static struct peer many[128];
	unsigned int burst = 0;

	for (uint32_t i = 0; i < 128; i++)
		many[i] = (struct peer){.address = 2 + i, .has_mac = true};
	options = options_for(1);
	options.interval.v = 128 * 20;
	make_with(many, 128);
	prober_set_mode(&prober, AGENT_MEASURING, at(begin_ns));
	cr_assert(prober_take(&prober, at(begin_ns), &neighbours, &probe));
	for (int i = 0; i < 200; i++)
		burst += prober_take(&prober, at(begin_ns + 100000), &neighbours, &probe);
	cr_assert(burst >= 127 && burst <= 130, "%u at once, of 5,000 that were due", burst);
}

Test(prober, the_target_of_an_answer_is_fetched_before_the_answer_is_read)
{
	static struct peer many[1100];
	struct frame frame = {.kind = FRAME_UDP, .destination_port = 1};

	for (uint32_t i = 0; i < 1100; i++)
		many[i] = (struct peer){.address = 2 + i, .has_mac = true};
	options = options_for(1);
	make_with(many, 1000);
	cr_assert_not(prober_needs_prefetch(&prober), "1,000 sessions are in the cache");
	for (uint32_t i = 1000; i < 1100; i++)
		cr_assert_eq(prober_add(&prober, &many[i], &neighbours, NULL), 0);
	cr_assert(prober_needs_prefetch(&prober));
	prober_set_mode(&prober, AGENT_MEASURING, at(begin_ns));
	prober_prefetch_turns(&prober, &neighbours, 32);
	cr_assert(prober_take(&prober, at(begin_ns), &neighbours, &probe));
	cr_assert_null(prober_prefetch(&prober, 99999), "no peer of ours");
	cr_assert_eq(prober_prefetch(&prober, probe.target->peer.address), probe.target);
	for (int step = 0; step < PROBER_PREFETCH_STEPS; step++) {
		target_prefetch(&prober, probe.target, &frame, step); /* to another port, without payload */
		frame.destination_port = probe.source_port;
		target_prefetch(&prober, probe.target, &frame, step);
		frame.destination_port = 1;
	}
}

Test(prober, greetings_do_not_count_and_end_when_all_were_heard)
{
	struct prober_probe first = {0};
	int64_t now = begin_ns;
	bool have_first = false;

	options = options_for(2);
	make();
	prober_set_mode(&prober, AGENT_GREETING, at(now));
	for (; now < begin_ns + 60 * NS_PER_MS; now += NS_PER_MS) {
		if (!prober_take(&prober, at(now), &neighbours, &probe))
			continue;
		prober_sent(&prober, &probe, at(now), false);
		if (have_first)
			answer(&probe, now, 1, 1);
		else
			first = probe;
		have_first = true;
	}
	cr_assert(prober_all_heard(&prober));
	prober_set_mode(&prober, AGENT_MEASURING, at(now));
	cr_assert(answer(&first, now - 1000, 1, 1), "a late answer to a greeting is ours");
	take_window(0, now + 1);
	cr_assert_eq(histogram_count(row.rtt), 0, "but is no sample");
}

Test(prober, slots_are_kept)
{
	unsigned int inside = 0;

	options = options_for(1);
	options.slot = 2;
	options.slots = 8;
	options.slot_length.v = 100 * NS_PER_MS;
	make();
	prober_set_mode(&prober, AGENT_MEASURING, at(begin_ns));
	for (int64_t now = begin_ns; now < begin_ns + 1700 * NS_PER_MS; now += 100000) {
		int64_t within = (int64_t)(now % (800 * NS_PER_MS));

		if (!prober_take(&prober, at(now), &neighbours, &probe))
			continue;
		prober_sent(&prober, &probe, at(now), false);
		inside++;
		/* 100 ms, without the last eighth, which is left for outstanding answers */
		cr_assert(within >= 200 * NS_PER_MS && within < 287500000, "at %ld us", within / 1000);
	}
	cr_assert(inside > 150, "%u probes in two turns", inside);
}

Test(prober, counts_end_it_and_silence_is_loss)
{
	int64_t now = begin_ns;

	options = options_for(1);
	options.count = 7;
	make();
	prober_set_mode(&prober, AGENT_MEASURING, at(now));
	for (; !prober_done(&prober, &neighbours) && now < begin_ns + NS_PER_S; now += 100000)
		if (prober_take(&prober, at(now), &neighbours, &probe))
			prober_sent(&prober, &probe, at(now), false);
	prober_expire(&prober, at(now), SIZE_MAX);
	cr_assert_eq(outstanding(), 21, "all still out");
	prober_expire(&prober, at(now + 200 * NS_PER_MS), 2);
	cr_assert_eq(outstanding(), 7, "two of three sessions");
	prober_expire(&prober, at(now + 200 * NS_PER_MS), SIZE_MAX);
	cr_assert_eq(outstanding(), 0);
	for (size_t i = 0; i < 3; i++) {
		take_window(i, now + 200 * NS_PER_MS);
		cr_assert_eq(row.counters.lost, 7);
		cr_assert(!row.lost_forward_known, "no answer says where");
	}
}

/* Its stamp may be older than the timeout when it is reported as sent, so that its tick has already been processed. */
Test(prober, a_probe_that_expired_before_it_was_reported_is_lost_at_once)
{
	const int64_t tick = 100 * NS_PER_MS / (PROBER_WHEEL_SLOTS / 2), now = begin_ns / tick * tick + 10 * tick;

	options = options_for(1);
	make();
	prober_set_mode(&prober, AGENT_MEASURING, at(now - tick));
	cr_assert(prober_take(&prober, at(now), &neighbours, &probe));
	prober_expire(&prober, at(now), SIZE_MAX);
	prober_sent(&prober, &probe, at(now - options.timeout.v - tick), false);
	prober_expire(&prober, at(now + tick), SIZE_MAX);
	cr_assert_eq(outstanding(), 0);
}

/* More sessions than 65,536; each lost probe is counted once, soon after its timeout, with few expiries per step. */
Test(prober, many_sessions_expire_in_time_and_a_few_at_once)
{
	enum { PEERS = 70000, STEP = 64 };
	struct error err = {0};
	int64_t now = begin_ns;
	uint64_t lost = 0;

	options = options_for(1);
	options.interval.v = 50 * NS_PER_MS;
	options.count = 1;
	options.digits = 2;
	make_with(NULL, 0);
	for (uint32_t i = 0; i < PEERS; i++) {
		struct peer peer = {.address = 0x0b000000 + i, .has_mac = true, .mac = {2, 0, 0, 0, 0, 2}};

		cr_assert_eq(prober_add(&prober, &peer, &neighbours, &err), 0, "%s", err.text);
	}
	cr_assert_leq(prober_bytes(&prober) / PEERS, 4096);
	prober_set_mode(&prober, AGENT_MEASURING, at(now));
	for (; now < begin_ns + 200 * NS_PER_MS; now += 10000) {
		for (int i = 0; i < 32 && prober_take(&prober, at(now), &neighbours, &probe); i++)
			prober_sent(&prober, &probe, at(now), false);
		cr_assert_leq(prober_expire(&prober, at(now), STEP), STEP);
		if (now == begin_ns + 61 * NS_PER_MS || now == begin_ns + 99 * NS_PER_MS)
			cr_assert_eq(outstanding(), PEERS, "none before its timeout");
	}
	cr_assert_eq(outstanding(), 0);
	for (size_t i = 0; i < PEERS; i += 7) {
		take_window(i, now);
		lost += row.counters.lost;
	}
	cr_assert_eq(lost, PEERS / 7);
	cr_assert_eq(prober_remove(&prober, 0x0b000000, &neighbours), 0);
	cr_assert_null(prober_find(&prober, 0x0b000000));
	cr_assert_eq(prober_find(&prober, 0x0b000000 + PEERS - 1)->peer.address, 0x0b000000 + PEERS - 1);
}

Test(prober, a_peer_without_a_mac_does_not_hold_up_the_count)
{
	static struct peer half_known[] = {{.name = "a", .address = 2, .has_mac = true, .mac = {2, 0, 0, 0, 0, 2}},
					   {.name = "nobody", .address = 3}};
	int64_t now = begin_ns;

	options = options_for(1);
	options.count = 5;
	make_with(half_known, 2);
	prober_set_mode(&prober, AGENT_MEASURING, at(now));
	for (; !prober_done(&prober, &neighbours) && now < begin_ns + NS_PER_S; now += 100000)
		prober_take(&prober, at(now), &neighbours, &probe);
	cr_assert_lt(now, begin_ns + 30 * NS_PER_MS);
	cr_assert(prober.targets[0]->sent == 5 && prober.targets[1]->sent == 0);
	cr_assert_geq(prober.turn, 2 * options.count, "each peer had its turns");
	neighbours.items[prober.targets[1]->neighbour].known = true;
	cr_assert(!prober_done(&prober, &neighbours), "it is known now, and gets its probes");
}

Test(prober, a_gateway_stands_for_those_off_the_link)
{
	static struct peer far_hosts[] = {{.name = "near", .address = 0x0a000005},
					  {.name = "far", .address = 0x0b000005}};

	options = options_for(1);
	options.address = 0x0a000001;
	options.prefix_bits = 8;
	options.gateway = 0x0a0000fe;
	make_with(far_hosts, 2);
	cr_assert_eq(neighbours.items[prober.targets[0]->neighbour].address, 0x0a000005);
	cr_assert_eq(neighbours.items[prober.targets[1]->neighbour].address, 0x0a0000fe);
}

Test(prober, a_disturbed_sample_is_in_the_raw_figures_alone)
{
	options = options_for(1);
	options.interval.v = NS_PER_MS;
	options.samples = 8;
	make_with(hosts + 1, 1);
	prober_set_mode(&prober, AGENT_MEASURING, at(begin_ns));
	for (unsigned int i = 0; i < 4; i++) {
		int64_t now = begin_ns + i * NS_PER_MS;

		cr_assert(prober_take(&prober, at(now), &neighbours, &probe));
		prober_sent(&prober, &probe, at(now), i == 2);
		answer(&probe, now, i == 2 ? 900000 : 3000, 3000);
	}
	take_window(0, begin_ns + NS_PER_S);
	cr_assert_eq(row.disturbed, 1);
	cr_assert_eq(histogram_maximum(row.rtt), 903000);
	cr_assert_eq(histogram_maximum(row.undisturbed), 6000);
	for (unsigned int i = 0; i < 4; i++) {
		struct agent_sample sample;

		cr_assert(spsc_take(prober.samples, &sample));
		cr_assert(sample.sequence == i && sample.disturbed == (i == 2) && sample.peer == 2);
	}
}

/*
 * The peer was stopped for 300 ms between t3 and the departure of its answer to the third probe: this looks like the
 * way back. That the next probe arrived at once, but was held for 299 ms, shows that it was not.
 */
Test(prober, a_stall_of_the_peer_is_not_taken_for_the_network)
{
	static const int64_t held[] = {700, 700, 700, 299 * NS_PER_MS, 298 * NS_PER_MS, 700};

	options = options_for(1);
	options.interval.v = NS_PER_MS;
	make_with(hosts + 1, 1);
	prober_set_mode(&prober, AGENT_MEASURING, at(begin_ns));
	for (unsigned int i = 0; i < 6; i++) {
		int64_t now = begin_ns + i * NS_PER_MS;

		cr_assert(prober_take(&prober, at(now), &neighbours, &probe));
		prober_sent(&prober, &probe, at(now), false);
		held_ns = held[i];
		cr_assert(answer(&probe, now, 3000, i == 2 ? 300 * NS_PER_MS : 3000));
	}
	take_window(0, begin_ns + NS_PER_S);
	cr_assert_eq(histogram_count(row.rtt), 6);
	cr_assert_eq(row.disturbed, 1, "%lu", row.disturbed);
	cr_assert_eq(histogram_maximum(row.undisturbed), 6000);
	cr_assert_eq(histogram_count(row.residence), 6);
}

Test(prober, samples_are_in_the_window_they_were_taken_in_however_many_and_long_they_are)
{
	static const unsigned int counts[] = {PROBER_SAMPLES - 1, 2 * PROBER_SAMPLES + 1, PROBER_SAMPLES};
	const int64_t longest_ns = INT64_C(5) * NS_PER_S; /* does not fit 32 bits */
	int64_t now = begin_ns;

	options = options_for(1);
	options.interval.v = NS_PER_MS;
	options.timeout.v = 9 * NS_PER_S;
	make_with(hosts + 1, 1);
	prober_set_mode(&prober, AGENT_MEASURING, at(begin_ns));
	for (unsigned int window = 0; window < 3; window++) {
		for (unsigned int i = 0; i < counts[window]; i++, now += NS_PER_MS) {
			cr_assert(prober_take(&prober, at(now), &neighbours, &probe));
			prober_sent(&prober, &probe, at(now), false);
			answer(&probe, now, window == 1 && i == 3 ? longest_ns - 1000 : 4000 + 1000 * i, 1000);
		}
		take_window(0, now);
		cr_assert_eq(histogram_count(row.undisturbed), counts[window]);
		cr_assert_eq(histogram_count(row.paths[0].rtt), counts[window]);
		cr_assert_eq(histogram_count(row.residence), counts[window]);
		cr_assert_eq(histogram_minimum(row.undisturbed), 5000);
		cr_assert_eq(histogram_maximum(row.undisturbed),
			     window == 1 ? longest_ns : 5000 + 1000 * (counts[window] - 1));
		cr_assert_eq(histogram_maximum(row.residence), 700);
	}
}

Test(prober, probes_that_leave_late_are_disturbed)
{
	static const int64_t late_us[] = {0, 99, 101, 2000};

	options = options_for(1);
	options.interval.v = NS_PER_MS;
	make_with(hosts + 1, 1);
	prober_set_mode(&prober, AGENT_MEASURING, at(begin_ns));
	for (size_t i = 0; i < 4; i++) {
		int64_t now = prober_next_due(&prober).ns + late_us[i] * NS_PER_US;

		cr_assert(prober_take(&prober, at(now), &neighbours, &probe));
		prober_sent(&prober, &probe, at(now), false);
		answer(&probe, now, late_us[i] > 100 ? 900000 : 3000, 3000);
	}
	take_window(0, begin_ns + NS_PER_S);
	cr_assert_eq(row.disturbed, 2);
	cr_assert_eq(histogram_maximum(row.undisturbed), 6000);
}

Test(prober, peers_come_and_go_while_it_measures)
{
	unsigned int sent[3] = {0};

	options = options_for(1);
	make();
	prober_set_mode(&prober, AGENT_MEASURING, at(begin_ns));
	for (int64_t now = begin_ns; now < begin_ns + 90 * NS_PER_MS; now += 10000) {
		if (now == begin_ns + 30 * NS_PER_MS)
			cr_assert_eq(prober_remove(&prober, hosts[2].address, &neighbours), 0);
		if (now == begin_ns + 60 * NS_PER_MS)
			cr_assert_eq(prober_add(&prober, &hosts[2], &neighbours, NULL), 0);
		if (!prober_take(&prober, at(now), &neighbours, &probe))
			continue;
		prober_sent(&prober, &probe, at(now), false);
		sent[probe.target->peer.address - 2]++;
		cr_assert(answer(&probe, now, 1000, 1000));
	}
	cr_assert_eq(prober_remove(&prober, 77, &neighbours), -ENOENT);
	cr_assert(sent[0] >= 29 && sent[0] <= 31 && sent[2] >= 29 && sent[2] <= 31, "%u %u", sent[0], sent[2]);
	cr_assert(sent[1] >= 19 && sent[1] <= 21, "%u", sent[1]);
	cr_assert_eq(outstanding(), 0);
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(prober_remove(&prober, hosts[i + 1].address, &neighbours), 0);
	cr_assert(!prober_next_due(&prober).valid);
}

Test(prober, a_limit_of_probes_a_second_stretches_the_interval)
{
	options = options_for(1);
	options.probe_pps = 500;
	make();
	prober_set_mode(&prober, AGENT_MEASURING, at(0));
	cr_assert(prober.limited);
	cr_assert_eq(prober_interval(&prober).v, 6 * NS_PER_MS, "3 peers at 500 a second");
	options.probe_pps = 1000;
	prober_set_mode(&prober, AGENT_MEASURING, at(0));
	cr_assert(!prober.limited);
	cr_assert_eq(prober_interval(&prober).v, 3 * NS_PER_MS);
}

/*
 * Path discovery. Between us and each peer are router 100, then router 201 or 202 by the parity of the source port, and
 * the peer itself at the third hop. A probe takes 1 ms to a router, or to the peer, and back.
 */
static uint32_t second_router = 200;

/* Sends the trace probe that is due, if there is one, and answers it. Returns false if there is none. */
static bool trace(int64_t now)
{
	struct stamp_reply reply;
	struct expired expired = {.source = 1, .destination_port = 862};
	const size_t overhead = 8 + STAMP_BYTES;

	if (!prober_take_trace(&prober, at(now), &neighbours, &probe))
		return false;
	cr_assert_eq(probe.padding, 8 + probe.ttl, "the length tells the TTL");
	if (probe.ttl >= 3) {
		reply = (struct stamp_reply){.request_sequence = probe.request.sequence};
		cr_assert(prober_trace_answer(&prober, probe.target, &reply, at(now + NS_PER_MS)));
		return true;
	}
	expired.router = probe.ttl == 1 ? 100 : second_router + 1 + probe.source_port % 2;
	expired.source_port = probe.source_port;
	expired.destination = probe.target->peer.address;
	expired.udp_bytes = (uint16_t)(overhead + probe.padding);
	prober_expired(&prober, &expired, at(now + NS_PER_MS));
	return true;
}

/* Runs for some milliseconds. Returns the number of trace probes. */
static int run_traces(int64_t *now, int ms)
{
	int count = 0;
	int64_t last = 0;

	for (int64_t end = *now + ms * NS_PER_MS; *now < end; *now += NS_PER_MS / 2)
		if (trace(*now)) {
			cr_assert(last == 0 || *now - last >= 2 * NS_PER_MS, "500 a second");
			last = *now;
			count++;
		}
	return count;
}

static void make_finder(uint32_t most)
{
	options = options_for(most);
	options.find_paths = true;
	make_with(hosts + 1, 2);
	prober_set_mode(&prober, AGENT_GREETING, at(begin_ns));
}

Test(prober, finds_both_paths_to_each_peer_and_measures_them)
{
	int64_t now = begin_ns;

	make_finder(4);
	cr_assert_eq(prober.targets[0]->path_count, 0);
	cr_assert_not(prober_all_found(&prober));
	run_traces(&now, 3000);
	cr_assert(prober_all_found(&prober));
	for (size_t i = 0; i < 2; i++) {
		struct prober_target *target = prober.targets[i];

		cr_assert_eq(target->path_count, 2);
		take_window(i, now);
		cr_assert(row.finds_paths && row.paths_known == 2 && row.paths_confidence >= 0.99);
		for (uint32_t path = 0; path < 2; path++) {
			const struct path *route = &row.paths[path].route;
			uint16_t port = target_port(&prober, target, path);

			cr_assert(route->hop_count == 2 && route->hops[0] == 100);
			cr_assert(route->hops[1] == 201u + port % 2, "the port takes this path");
			cr_assert_eq(target_path(target, (uint32_t)prober.path_of_port[port]), (int)path);
		}
		cr_assert_neq(row.paths[0].route.hops[1], row.paths[1].route.hops[1]);
	}
	/* The probes that measure are sent over both. */
	prober_set_mode(&prober, AGENT_MEASURING, at(now));
	for (int turn = 0; turn < 40; turn++, now += NS_PER_MS)
		if (prober_take(&prober, at(now), &neighbours, &probe)) {
			prober_sent(&prober, &probe, at(now), false);
			cr_assert(answer(&probe, now, 5000, 6000));
		}
	take_window(0, now);
	cr_assert(row.paths[0].counters.fresh >= 4 && row.paths[1].counters.fresh >= 4);
}

Test(prober, measures_no_more_paths_than_wanted)
{
	int64_t now = begin_ns;

	make_finder(1);
	run_traces(&now, 3000);
	cr_assert(prober_all_found(&prober));
	cr_assert_eq(prober.targets[0]->path_count, 1);
	take_window(0, now);
	cr_assert_eq(row.paths_known, 2);
}

/* After a change of routes, the old paths are measured no more. */
Test(prober, follows_a_change_of_routes)
{
	int64_t now = begin_ns;

	make_finder(4);
	run_traces(&now, 3000);
	second_router = 300;
	run_traces(&now, 60000);
	cr_assert(prober_all_found(&prober));
	cr_assert_eq(prober.targets[0]->path_count, 2);
	take_window(0, now);
	cr_assert(row.paths[0].route.hops[1] > 300 && row.paths[1].route.hops[1] > 300);
}

/* Messages of routers about packets of others, or with impossible values, tell nothing. */
Test(prober, ignores_messages_about_other_packets)
{
	struct expired good, expired;
	int64_t now = begin_ns;

	make_finder(4);
	cr_assert(prober_take_trace(&prober, at(now), &neighbours, &probe));
	cr_assert_not(prober_take_trace(&prober, at(now + 2 * NS_PER_MS - 1), &neighbours, &probe), "too early");
	good = (struct expired){.router = 100,
				.source = 1,
				.destination = probe.target->peer.address,
				.source_port = probe.source_port,
				.destination_port = 862,
				.udp_bytes = (uint16_t)(8 + STAMP_BYTES + probe.padding)};
	for (int kind = 0; kind < 6; kind++) {
		expired = good;
		if (kind == 0)
			expired.source = 9;
		if (kind == 1)
			expired.destination = 9;
		if (kind == 2)
			expired.destination_port = 863;
		if (kind == 3)
			expired.udp_bytes = 8 + STAMP_BYTES + 8;
		if (kind == 4)
			expired.udp_bytes = 8 + STAMP_BYTES + 8 + 256;
		if (kind == 5)
			expired.source_port = 1;
		prober_expired(&prober, &expired, at(now));
	}
	now += 2 * NS_PER_MS;
	cr_assert(prober_take_trace(&prober, at(now), &neighbours, &probe));
	cr_assert(probe.target->peer.address != good.destination && probe.ttl == 1, "the other peer's turn");
	now += 2 * NS_PER_MS;
	cr_assert_not(prober_take_trace(&prober, at(now), &neighbours, &probe), "both are waiting");
	prober_expired(&prober, &good, at(now));
	now += 2 * NS_PER_MS;
	cr_assert(prober_take_trace(&prober, at(now), &neighbours, &probe), "at once");
	cr_assert(probe.target->peer.address == good.destination && probe.ttl == 2);
	prober_set_mode(&prober, AGENT_QUIET, at(now));
	cr_assert_not(prober_take_trace(&prober, at(now + NS_PER_S), &neighbours, &probe));
	options.find_paths = false;
	cr_assert_not(prober_take_trace(&prober, at(now + NS_PER_S), &neighbours, &probe));
}
