/* SPDX-License-Identifier: BSD-3-Clause */
/* Two agents on two ports connected by rings. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <string.h>

#include <base/ns.h>

#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <dp/eal.h>
#include <probe/agent/agent.h>

struct side {
	struct agent *agent;
	struct dp_port *port;
	struct dp_clock clock;
};

static volatile sig_atomic_t stop;
static struct peer hosts[] = {{.name = "a", .address = 0x0a000001}, {.name = "b", .address = 0x0a000002}};
static struct dp_pool *pool;

static void start_eal(void)
{
	struct dp_eal_options options = {.program = "test", .memory_MiB = 64};
	struct error err = {0};

	cr_assert_eq(dp_eal_start(&options, &err), 0, "%s", err.text);
	pool = dp_pool_create("test", 8191, 2048, &err);
	cr_assert_not_null(pool, "%s", err.text);
}

static void open_side(struct side *side, const char *name, struct rte_ring *in, struct rte_ring *out,
		      struct agent_options options)
{
	struct dp_port_options port = {.name = name, .pool = pool, .descriptors = 512};
	struct error err = {0};

	cr_assert_geq(rte_eth_from_rings(name, &in, 1, &out, 1, 0), 0);
	/* DPDK names a port made of rings "net_ring_NAME". */
	char device[64];

	snprintf(device, sizeof device, "net_ring_%s", name);
	port.name = device;
	side->port = dp_port_open(&port, &err);
	cr_assert_not_null(side->port, "%s", err.text);
	cr_assert_eq(dp_port_start(side->port, &err), 0, "%s", err.text);
	cr_assert_eq(dp_clock_calibrate(&side->clock, (struct ns){10 * NS_PER_MS}, &err), 0, "%s", err.text);
	side->agent = agent_create(&options, side->port, pool, &side->clock, &err);
	cr_assert_not_null(side->agent, "%s", err.text);
	cr_assert_eq(agent_add_peer(side->agent, &hosts[options.address == hosts[0].address], &err), 0, "%s", err.text);
}

static void *run_side(void *context)
{
	struct side *side = context;
	struct agent_run run = {.patience = {10 * INT64_C(1000000000)}, .linger = {200 * NS_PER_MS}};

	cr_assert_eq(agent_run(side->agent, &run, &stop, NULL), 0);
	return NULL;
}

static void check_results(struct agent *agent, uint64_t sent)
{
	struct agent_row *row = agent_row_create(agent);
	uint64_t on_paths = 0;

	cr_assert_not_null(row);
	agent_window(agent, 0, row);
	cr_assert(row->resolved, "found by ARP");
	cr_assert_eq(row->counters.sent, sent);
	cr_assert_eq(row->counters.fresh, sent, "%lu of %lu", row->counters.fresh, sent);
	cr_assert_eq(row->counters.lost + row->counters.duplicates + row->counters.reordered, 0);
	cr_assert_eq(histogram_count(row->rtt), sent);
	cr_assert_eq(histogram_count(row->undisturbed), sent - row->disturbed);
	cr_assert_eq(row->impossible, 0);
	cr_assert_gt(histogram_minimum(row->rtt), 0);
	cr_assert_gt(histogram_minimum(row->residence), 0, "answering takes its time, and t3 says so");
	cr_assert(row->lost_forward_known && row->lost_forward == 0);
	for (uint32_t path = 0; path < 3; path++) {
		on_paths += row->paths[path].counters.fresh;
		cr_assert_eq(row->paths[path].counters.sent, sent / 3);
	}
	cr_assert_eq(on_paths, sent);
	agent_row_destroy(row);
}

TestSuite(agent, .init = start_eal, .fini = dp_eal_stop, .timeout = 60);

Test(agent, two_agents_probe_each_other_without_loss)
{
	struct rte_ring *there = rte_ring_create("there", 1024, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
	struct rte_ring *back = rte_ring_create("back", 1024, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
	struct agent_options options = {.address = 0x0a000001,
					.udp_port = 862,
					.reflect = true,
					.paths = 3,
					.interval = {500 * NS_PER_US},
					.timeout = {2 * INT64_C(1000000000)},
					.count = 600,
					.slots = 1,
					.poll = AGENT_POLL_ADAPTIVE,
					.samples = 1024,
					.seed = 5};
	struct agent_summary summary;
	struct agent_sample sample;
	unsigned int samples = 0;
	struct side sides[2];
	pthread_t threads[2];

	cr_assert(there && back);
	open_side(&sides[0], "a", back, there, options);
	options.address = 0x0a000002;
	options.seed = 6;
	options.samples = 0;
	options.format = STAMP_NTP;
	open_side(&sides[1], "b", there, back, options);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, run_side, &sides[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++) {
		check_results(sides[i].agent, 600);
		agent_summarise(sides[i].agent, &summary);
		cr_assert_geq(summary.reflector.answered, 600);
		cr_assert_eq(summary.reflector.malformed + summary.send_failures + summary.broken_frames, 0);
		cr_assert_str_eq(summary.stamps, "tsc");
		while (agent_take_sample(sides[i].agent, &sample))
			samples += sample.peer == 0x0a000002;
		agent_destroy(sides[i].agent);
		dp_port_close(sides[i].port);
	}
	cr_assert_eq(samples, 600);
}

/* 40 frames of a VLAN that is not ours; the agent itself may have some of its own in flight. */
Test(agent, buffers_of_other_vlans_come_back)
{
	static const uint8_t tag[] = {0x81, 0, 0, 7, 8, 0};
	struct rte_ring *out = rte_ring_create("out", 64, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
	struct rte_ring *in = rte_ring_create("in", 64, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
	struct agent_options options = {.address = 0x0a000001,
					.udp_port = 862,
					.paths = 1,
					.interval = {NS_PER_S},
					.timeout = {NS_PER_S},
					.slots = 1,
					.poll = AGENT_POLL_BUSY};
	struct side side;

	cr_assert(out && in);
	open_side(&side, "tagged", in, out, options);
	for (int i = 0; i < 40; i++) {
		struct rte_mbuf *packet = rte_pktmbuf_alloc((struct rte_mempool *)pool);
		char *bytes = packet ? rte_pktmbuf_append(packet, 64) : NULL;

		cr_assert_not_null(bytes);
		memset(bytes, 0, 64);
		memcpy(bytes + 12, tag, sizeof tag);
		cr_assert_eq(rte_ring_sp_enqueue(in, packet), 0);
	}
	while (rte_ring_count(in) > 0)
		agent_step(side.agent, agent_now(side.agent));
	cr_expect_lt(rte_mempool_in_use_count((struct rte_mempool *)pool), 20);
	agent_destroy(side.agent);
	dp_port_close(side.port);
}

/* The transmit ring has one place, which is taken: the agent's ARP requests are not sent. */
Test(agent, packets_that_a_full_ring_does_not_take_are_counted)
{
	struct rte_ring *out = rte_ring_create("full", 2, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
	struct rte_ring *in = rte_ring_create("silent", 64, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
	struct agent_options options = {.address = 0x0a000001,
					.udp_port = 862,
					.paths = 1,
					.interval = {NS_PER_S},
					.timeout = {NS_PER_S},
					.slots = 1,
					.poll = AGENT_POLL_BUSY};
	struct agent_summary summary = {0};
	struct side side;
	struct stamp now;

	cr_assert(out && in);
	open_side(&side, "full", in, out, options);
	cr_assert_eq(rte_ring_sp_enqueue(out, rte_pktmbuf_alloc((struct rte_mempool *)pool)), 0);
	now = agent_now(side.agent);
	while (summary.send_failures == 0 && agent_now(side.agent).ns - now.ns < INT64_C(3) * NS_PER_S) {
		agent_step(side.agent, agent_now(side.agent));
		agent_summarise(side.agent, &summary);
	}
	cr_expect_eq(summary.send_failures, 1, "%lu", summary.send_failures);
	cr_expect_eq(rte_mempool_in_use_count((struct rte_mempool *)pool), 1, "the packet was not freed");
	agent_destroy(side.agent);
	dp_port_close(side.port);
}

static void start_eal_for_two(void)
{
	struct dp_eal_options options = {.program = "test", .memory_MiB = 64, .workers = 1};
	struct error err = {0};

	cr_assert_eq(dp_eal_start(&options, &err), 0, "%s", err.text);
	pool = dp_pool_create("test", 8191, 2048, &err);
	cr_assert_not_null(pool, "%s", err.text);
}

static struct dp_port *open_queues(const char *name, struct rte_ring **in, struct rte_ring **out, uint16_t queues)
{
	char device[64];
	struct dp_port_options options = {.name = device, .pool = pool, .descriptors = 512, .queues = queues};
	struct error err = {0};
	struct dp_port *port;

	cr_assert_geq(rte_eth_from_rings(name, in, queues, out, queues, 0), 0);
	snprintf(device, sizeof device, "net_ring_%s", name);
	port = dp_port_open(&options, &err);
	cr_assert_not_null(port, "%s", err.text);
	cr_assert_eq(dp_port_start(port, &err), 0, "%s", err.text);
	return port;
}

/* Runs both reflectors in one thread: they do not share a queue. */
static void *reflect(void *context)
{
	struct agent **agents = context;

	while (!stop)
		for (int i = 0; i < 2; i++)
			agent_step(agents[i], agent_now(agents[i]));
	return NULL;
}

/* While this is not 0, each summary has this as each counter, and then ten times it. */
static uint64_t counter;

void __real_agent_summarise(struct agent *agent, struct agent_summary *summary);
void __wrap_agent_summarise(struct agent *agent, struct agent_summary *summary);

void __wrap_agent_summarise(struct agent *agent, struct agent_summary *summary)
{
	__real_agent_summarise(agent, summary);
	if (counter == 0)
		return;
	summary->skipped = summary->unstamped = summary->departures = summary->send_failures = counter;
	summary->broken_frames = summary->unfinished_checksums = summary->bad_hmac = summary->other_member = counter;
	summary->forged = summary->other_vlan = summary->samples_dropped = counter;
	summary->handed_over = summary->not_handed_over = counter;
	for (size_t i = 0; i < sizeof summary->reflector / sizeof counter; i++)
		((uint64_t *)&summary->reflector)[i] = counter;
	summary->limited = counter > 1;
	counter *= 10;
}

static void check_sums(struct agent_group *group)
{
	struct agent_summary sum = {0};
	const uint64_t *counts[] = {&sum.skipped,        &sum.unstamped,       &sum.departures,
				    &sum.send_failures,  &sum.broken_frames,   &sum.unfinished_checksums,
				    &sum.bad_hmac,       &sum.other_member,    &sum.forged,
				    &sum.other_vlan,     &sum.samples_dropped, &sum.handed_over,
				    &sum.not_handed_over};

	counter = 1;
	agent_group_summarise(group, &sum);
	counter = 0;
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		cr_expect_eq(*counts[i], 11, "counter %zu: %lu", i, *counts[i]);
	for (size_t i = 0; i < sizeof sum.reflector / sizeof counter; i++)
		cr_expect_eq(((uint64_t *)&sum.reflector)[i], 11);
	cr_expect(sum.limited);
}

/*
 * A prober with two queues. Each queue has its own reflector, whose answers, including those to ARP, arrive on the
 * other queue: each answer must be passed to the agent that sent the request.
 */
TestSuite(agent_group, .init = start_eal_for_two, .fini = dp_eal_stop, .timeout = 120);

Test(agent_group, two_queues_hand_their_answers_over)
{
	struct agent_options options = {.address = 0x0a000001,
					.udp_port = 862,
					.paths = 2,
					.interval = {500 * NS_PER_US},
					.timeout = {50 * INT64_C(1000000000)},
					.count = 200,
					.slots = 1,
					.poll = AGENT_POLL_ADAPTIVE,
					.queues = 2,
					.seed = 7};
	struct agent_run run = {.patience = {60 * INT64_C(1000000000)}};
	struct rte_ring *there[2], *back[2];
	struct peer peers[2] = {{.name = "x", .address = 0x0a000002}, {.name = "y", .address = 0x0a000003}};
	struct dp_clock clock, reflectors_clock;
	struct agent *reflectors[2];
	struct agent_summary summary;
	struct agent_group *group;
	struct dp_port *ports[2];
	struct agent_row *row;
	struct error err = {0};
	pthread_t thread;

	for (int i = 0; i < 2; i++) {
		there[i] = rte_ring_create(i ? "there1" : "there0", 1024, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
		back[i] = rte_ring_create(i ? "back1" : "back0", 1024, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
		cr_assert(there[i] && back[i]);
	}
	ports[0] = open_queues("prober", back, there, 2);
	ports[1] = open_queues("reflector", there, (struct rte_ring *[]){back[1], back[0]}, 2);
	cr_assert_eq(dp_clock_calibrate(&clock, (struct ns){10 * NS_PER_MS}, &err), 0, "%s", err.text);
	reflectors_clock = clock;
	group = agent_group_create(&options, ports[0], pool, &clock, &err);
	cr_assert_not_null(group, "%s", err.text);
	for (uint16_t i = 0; i < 2; i++) {
		struct agent_options own = {.address = peers[i].address,
					    .udp_port = 862,
					    .reflect = true,
					    .paths = 1,
					    .interval = {NS_PER_S},
					    .timeout = {NS_PER_S},
					    .slots = 1,
					    .queue = i};

		reflectors[i] = agent_create(&own, ports[1], pool, &reflectors_clock, &err);
		cr_assert_not_null(reflectors[i], "%s", err.text);
		cr_assert_eq(agent_group_add_peer(group, &peers[i], &err), 0, "%s", err.text);
	}
	cr_assert_eq(pthread_create(&thread, NULL, reflect, reflectors), 0);
	cr_assert_eq(agent_group_run(group, &run, &stop, &err), 0, "%s", err.text);
	stop = 1;
	pthread_join(thread, NULL);
	row = agent_row_create(agent_group_first(group));
	for (size_t i = 0; i < agent_group_peer_count(group); i++) {
		agent_group_window(group, i, row);
		cr_assert_str_eq(row->peer.name, peers[i].name);
		cr_assert_eq(row->counters.sent, 200);
		cr_assert_eq(row->counters.fresh, 200, "%lu of %s", row->counters.fresh, row->peer.name);
	}
	agent_group_summarise(group, &summary);
	cr_assert_geq(summary.handed_over, 2 * 200);
	cr_assert_eq(summary.not_handed_over, 0);
	check_sums(group);
	agent_row_destroy(row);
	agent_group_destroy(group);
	for (int i = 0; i < 2; i++) {
		agent_destroy(reflectors[i]);
		dp_port_close(ports[i]);
	}
}
