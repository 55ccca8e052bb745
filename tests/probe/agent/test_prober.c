/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <string.h>

#include <probe/rtt/exchange.h>

#include "prober_priv.h"

/* A counter that ticks once a nanosecond and began with the epoch. */
static struct dp_clock fake_clock = {
	.ns_per_cycle = 1,
	.latest = {.cycles = UINT64_C(1795188663000000000), .wall_ns = INT64_C(1795188663000000000)},
};

static struct peer hosts[] = {
	{.name = "self", .address = 1},
	{.name = "a", .address = 2, .has_mac = true, .mac = {2, 0, 0, 0, 0, 2}},
	{.name = "b", .address = 3, .has_mac = true, .mac = {2, 0, 0, 0, 0, 3}},
	{.name = "c", .address = 4, .has_mac = true, .mac = {2, 0, 0, 0, 0, 4}},
};

static const struct peers peers = {.count = 4, .items = hosts};

static struct agent_options options_for(uint32_t paths)
{
	return (struct agent_options){.peers = &peers,
				      .address = 1,
				      .udp_port = 862,
				      .paths = paths,
				      .interval = {3 * NS_PER_MS},
				      .timeout = {100 * NS_PER_MS},
				      .slots = 1,
				      .seed = 42};
}

/* Of the one test that runs in this process. */
static struct agent_options options;
static struct neighbours neighbours;
static struct prober prober;
static struct prober_probe probe;

static void make(void)
{
	struct error err = {0};

	cr_assert_eq(prober_create(&prober, &options, &fake_clock, &neighbours, &err), 0, "%s", err.text);
}

static void tear_down(void)
{
	prober_free(&prober);
	neighbours_free(&neighbours);
}

TestSuite(prober, .fini = tear_down);

/* The peer's answer to a probe that took there_ns, 700 ns inside and back_ns. */
static bool answer(const struct prober_probe *asked, uint64_t sent, int64_t there_ns, int64_t back_ns)
{
	int64_t t2 = (int64_t)sent + there_ns;
	struct stamp_reply reply = {.sequence = asked->request.sequence,
				    .sent_at = {t2 + 700},
				    .error = {false, STAMP_PTP, 0, 1},
				    .session = asked->request.session,
				    .received_at = {t2},
				    .request_sequence = asked->request.sequence,
				    .request_sent_at = {(int64_t)sent},
				    .request_error = {false, STAMP_PTP, 0, 1}};
	uint8_t payload[STAMP_BYTES];
	struct frame frame = {.kind = FRAME_UDP,
			      .source_address = prober.targets[asked->target].peer->address,
			      .destination_address = 1,
			      .source_port = 862,
			      .destination_port = asked->source_port,
			      .payload = payload,
			      .payload_bytes = sizeof payload};

	stamp_write_reply(&reply, payload);
	return prober_answer(&prober, &frame, (uint64_t)(t2 + 700 + back_ns));
}

/* An answer to it would come to our own reflector. */
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

static const uint64_t begin_ticks = UINT64_C(1795188663000000000);

Test(prober, each_peer_gets_its_probes_in_even_steps_over_all_paths)
{
	unsigned int sent[3] = {0}, on_path[4] = {0};
	uint64_t last = 0;

	options = options_for(4);
	make();
	cr_assert_eq(prober.target_count, 3, "our own address is left out");
	prober_measure(&prober, begin_ticks);
	for (uint64_t now = begin_ticks; now < begin_ticks + 120 * NS_PER_MS; now += 10000) {
		if (!prober_take(&prober, now, &neighbours, &probe))
			continue;
		cr_assert(last == 0 || now - last == NS_PER_MS, "%lu ns after the one before", now - last);
		last = now;
		sent[probe.target]++;
		on_path[probe.path]++;
		cr_assert_eq(probe.source_port, prober.ports[probe.path]);
		prober_sent(&prober, &probe, now);
		cr_assert(answer(&probe, now, 5000, 6000));
	}
	for (size_t i = 0; i < 3; i++) {
		cr_assert_eq(sent[i], 40);
		prober_sum(&prober, i);
		cr_assert_eq(histogram_count(prober.targets[i].all), 40);
		cr_assert_eq(histogram_minimum(prober.targets[i].all), 11000, "residence is taken off");
		cr_assert_eq(histogram_maximum(prober.targets[i].residence), 700);
		cr_assert_eq(prober.targets[i].best_offset.v, -500, "half of the asymmetry");
	}
	for (size_t i = 0; i < 4; i++)
		cr_assert_eq(on_path[i], 30);
}

Test(prober, a_stall_is_skipped_not_made_good_by_a_burst)
{
	unsigned int burst = 0;

	options = options_for(1);
	make();
	prober_measure(&prober, begin_ticks);
	cr_assert(prober_take(&prober, begin_ticks, &neighbours, &probe));
	while (prober_take(&prober, begin_ticks + 50 * NS_PER_MS, &neighbours, &probe))
		burst++;
	cr_assert_leq(burst, 2, "%u at once", burst);
	cr_assert(prober.skipped >= 45 && prober.skipped <= 50, "%lu skipped", prober.skipped);
}

Test(prober, greetings_do_not_count_and_end_when_all_were_heard)
{
	struct prober_probe first = {0};
	uint64_t now = begin_ticks;
	bool have_first = false;

	options = options_for(2);
	make();
	prober_greet(&prober, now);
	for (; now < begin_ticks + 60 * NS_PER_MS; now += NS_PER_MS) {
		if (!prober_take(&prober, now, &neighbours, &probe))
			continue;
		prober_sent(&prober, &probe, now);
		if (have_first)
			answer(&probe, now, 1, 1);
		else
			first = probe;
		have_first = true;
	}
	cr_assert(prober_all_heard(&prober));
	prober_measure(&prober, now);
	cr_assert(answer(&first, now - 1000, 1, 1), "a late answer to a greeting is ours");
	prober_sum(&prober, 0);
	cr_assert_eq(histogram_count(prober.targets[0].all), 0, "but is no sample");
}

Test(prober, slots_are_kept)
{
	unsigned int inside = 0;

	options = options_for(1);
	options.slot = 2;
	options.slots = 8;
	options.slot_length.v = 100 * NS_PER_MS;
	make();
	prober_measure(&prober, begin_ticks);
	for (uint64_t now = begin_ticks; now < begin_ticks + 1700 * NS_PER_MS; now += 100000) {
		int64_t within = (int64_t)(now % (800 * NS_PER_MS));

		if (!prober_take(&prober, now, &neighbours, &probe))
			continue;
		prober_sent(&prober, &probe, now);
		inside++;
		/* 100 ms, less the eighth that is left to answers under way */
		cr_assert(within >= 200 * NS_PER_MS && within < 287500000, "at %ld us", within / 1000);
	}
	cr_assert(inside > 150, "%u probes in two turns", inside);
}

Test(prober, counts_end_it_and_silence_is_loss)
{
	uint64_t now = begin_ticks;

	options = options_for(1);
	options.count = 7;
	make();
	prober_measure(&prober, now);
	for (; !prober_done(&prober, &neighbours) && now < begin_ticks + NS_PER_S; now += 100000)
		if (prober_take(&prober, now, &neighbours, &probe))
			prober_sent(&prober, &probe, now);
	cr_assert_eq(prober_expire(&prober, now), 21, "all still out");
	cr_assert_eq(prober_expire(&prober, now + 200 * NS_PER_MS), 0);
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(session_counters(prober.targets[i].paths[0].session).lost, 7);
}

Test(prober, a_peer_without_a_mac_does_not_hold_up_the_count)
{
	static struct peer half_known[] = {{.name = "a", .address = 2, .has_mac = true, .mac = {2, 0, 0, 0, 0, 2}},
					   {.name = "nobody", .address = 3}};
	static const struct peers two = {.count = 2, .items = half_known};
	uint64_t now = begin_ticks;

	options = options_for(1);
	options.count = 5;
	options.peers = &two;
	make();
	prober_measure(&prober, now);
	for (; !prober_done(&prober, &neighbours) && now < begin_ticks + NS_PER_S; now += 100000)
		prober_take(&prober, now, &neighbours, &probe);
	cr_assert_lt(now, begin_ticks + 30 * NS_PER_MS);
	cr_assert(prober.targets[0].sent == 5 && prober.targets[1].sent == 0);
}

Test(prober, a_gateway_stands_for_those_off_the_link)
{
	static struct peer far_hosts[] = {{.name = "near", .address = 0x0a000005},
					  {.name = "far", .address = 0x0b000005}};
	static const struct peers far_peers = {.count = 2, .items = far_hosts};

	options = options_for(1);
	options.peers = &far_peers;
	options.address = 0x0a000001;
	options.prefix_bits = 8;
	options.gateway = 0x0a0000fe;
	make();
	cr_assert_eq(neighbours.items[prober.targets[0].neighbour].address, 0x0a000005);
	cr_assert_eq(neighbours.items[prober.targets[1].neighbour].address, 0x0a0000fe);
}
