/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Probes per second that one core handles over ring ports, all on this thread, per second of CPU time:
 *
 *   round trip   sent by one agent, reflected by another, received and accounted by the first
 *   follow-up    the same round trips, whose probes request follow-up telemetry, as those of `mesh agent` do
 *   sending      only sent; transmitted packets are dropped
 *   sessions     100,000 sessions that share 1 M probes a second; memory of each, and the longest gap between two looks
 *                at the port, by the wall clock and by the thread's CPU time (its own work, whatever else runs)
 *   floods       100 peers measured at 100 probes a second each, alone, beside 1 M requests a second to the reflector
 *                from one source, and from a million
 *
 * One JSON line per figure. Arguments: seconds per figure (default 2); "trip", "follow", "send", "many" or "flood" for
 * only one figure; a factor by which the schedule is slower (default 1), for programs such as callgrind under which
 * everything takes longer. With "many 0.1", the rate is what one core can do with 100,000 sessions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <rte_eth_ring.h>
#include <rte_ring.h>

#include <base/address.h>
#include <base/ns.h>
#include <dp/eal.h>
#include <dp/packet.h>
#include <probe/agent/agent.h>
#include <probe/rtt/tlv.h>

enum { RING_SIZE = 1024, FEW = 128, MANY = 100000, MEMORY_MIB = 128, ROUND = 32 };

static const ip_address prober_address = 0x0a000001, first_peer = 0x0b000001;
static struct dp_pool *pool;
static struct dp_clock clock_now;
static uint8_t reflector_mac[ADDRESS_MAC_BYTES];

static void must(bool ok, const char *what, const struct error *err)
{
	if (ok)
		return;
	fprintf(stderr, "bench_agent_rate: %s: %s\n", what, err ? err->text : "out of memory");
	exit(1);
}

static struct dp_port *open_port(const char *name, struct rte_ring *in, struct rte_ring *out)
{
	struct dp_port_options options = {.pool = pool, .descriptors = RING_SIZE / 2};
	struct error err = {0};
	struct dp_port *port;
	char device[64];

	must(rte_eth_from_rings(name, &in, 1, &out, 1, 0) >= 0, name, NULL);
	snprintf(device, sizeof device, "net_ring_%s", name);
	options.name = device;
	port = dp_port_open(&options, &err);
	must(port && dp_port_start(port, &err) == 0, name, &err);
	return port;
}

static struct agent *make_agent(struct dp_port *port, ip_address address, struct ns interval, struct ns timeout,
				struct ns stall, uint32_t source_pps, uint32_t tlvs)
{
	struct agent_options options = {.address = address,
					.udp_port = 862,
					.reflect = true,
					.paths = 1,
					.interval = interval,
					.timeout = timeout,
					.stall = stall,
					.slots = 1,
					.source_pps = source_pps,
					.tlvs = tlvs,
					.poll = AGENT_POLL_BUSY,
					.digits = 2,
					.seed = 5};
	struct error err = {0};
	struct agent *agent = agent_create(&options, port, pool, &clock_now, &err);

	must(agent, "agent", &err);
	return agent;
}

/* Adds peers that all have the reflector's MAC address. */
static void add_peers(struct agent *agent, struct dp_port *reflector, uint32_t count)
{
	struct dp_port_report report;
	struct error err = {0};

	dp_port_report(reflector, &report);
	address_parse_mac(report.mac, reflector_mac);
	for (uint32_t i = 0; i < count; i++) {
		struct peer peer = {.address = first_peer + i, .has_mac = true};

		memcpy(peer.mac, reflector_mac, sizeof peer.mac);
		snprintf(peer.name, sizeof peer.name, "p%u", i);
		must(agent_add_peer(agent, &peer, &err) == 0, "peer", &err);
	}
}

/*
 * Moves packets from one agent to the other and swaps the addresses of each, which keeps the checksums valid: so a
 * single reflector with the prober's address stands for all peers.
 */
static void exchange_addresses(struct rte_ring *from, struct rte_ring *to)
{
	struct rte_mbuf *packets[ROUND];
	unsigned int count = rte_ring_sc_dequeue_burst(from, (void **)packets, ROUND, NULL), moved;

	for (unsigned int i = 0; i < count; i++) {
		uint8_t *addresses = rte_pktmbuf_mtod_offset(packets[i], uint8_t *, 26), kept[4];

		memcpy(kept, addresses, 4);
		memcpy(addresses, addresses + 4, 4);
		memcpy(addresses + 4, kept, 4);
	}
	moved = rte_ring_sp_enqueue_burst(to, (void **)packets, count, NULL);
	rte_pktmbuf_free_bulk(packets + moved, count - moved);
}

static void throw_away(struct rte_ring *ring)
{
	struct rte_mbuf *packets[ROUND];

	rte_pktmbuf_free_bulk(packets, rte_ring_sc_dequeue_burst(ring, (void **)packets, ROUND, NULL));
}

struct bench {
	struct rte_ring *rings[4]; /* prober's out, its in, reflector's in, its out */
	struct dp_port *ports[2];
	struct agent *prober, *reflector;
};

static void open_bench(struct bench *bench)
{
	char name[16];

	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof name, "ring%d", i);
		bench->rings[i] = rte_ring_create(name, RING_SIZE, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
		must(bench->rings[i], name, NULL);
	}
	bench->ports[0] = open_port("a", bench->rings[1], bench->rings[0]);
	bench->ports[1] = open_port("b", bench->rings[2], bench->rings[3]);
}

enum { FLOOD_PPS = 1000000, FLOOD_SOURCES = 1000000, PEERS = 100, SOURCE_PPS = 1000 };

struct figure {
	const char *group, *name;
	uint32_t peers;
	double pps;
	bool reflected;
	uint32_t flood_sources; /* 0 = no flood */
	uint32_t tlvs;
};

struct flood {
	struct stamp next;
	uint32_t sent;
};

/* Enqueues the requests that are due on the reflector's ring, as far as they fit. */
static void flood_ring(struct flood *flood, struct rte_ring *ring, const struct figure *figure, struct stamp now)
{
	uint8_t payload[STAMP_BYTES];
	struct frame frame = {.kind = FRAME_UDP,
			      .destination_address = prober_address,
			      .source_port = 50000,
			      .destination_port = 862,
			      .payload = payload,
			      .payload_bytes = sizeof payload};

	memcpy(frame.destination_mac, reflector_mac, FRAME_MAC_BYTES);
	frame.source_mac[0] = 2;
	/* Requests that would have come while this thread did not run are not made up for: a NIC's ring drops them. */
	if (!flood->next.valid || now.ns - flood->next.ns > ROUND * (NS_PER_S / FLOOD_PPS))
		flood->next = now;
	for (int i = 0; i < ROUND && flood->next.ns <= now.ns; i++, flood->sent++) {
		struct stamp_request request = {.sequence = flood->sent, .error = {.multiplier = 1}};
		struct dp_packet *packet = dp_packet_alloc(pool);

		flood->next.ns += NS_PER_S / FLOOD_PPS;
		if (!packet)
			continue;
		frame.source_address = 0x14000000 + flood->sent % figure->flood_sources;
		stamp_write_request(&request, payload);
		dp_packet_set_length(packet, frame_write_udp(&frame, dp_packet_bytes(packet), dp_packet_room(packet)));
		if (rte_ring_sp_enqueue(ring, packet))
			dp_packet_free(packet);
	}
}

struct counted {
	uint64_t sent, fresh, disturbed, lost, reflected, limited, evicted;
	double cpu_s, wall_s, gap_us, p50_us, p99_us;
};

/*
 * Gaps between two looks in the thread's CPU time, which has the interrupts and stolen time of the machine in it: a
 * loop that does nothing else (idle) shows how much that is.
 */
struct gaps {
	double longest_us, last_s;
	uint64_t over; /* 100 us */
	long faults;
};

static void look(struct gaps *gaps)
{
	double now_s = ns_to_s(ns_now_cpu()), gap_us = (now_s - gaps->last_s) * 1e6;

	gaps->over += gap_us > 100;
	gaps->longest_us = gap_us > gaps->longest_us ? gap_us : gaps->longest_us;
	gaps->last_s = now_s;
}

static long page_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

static struct gaps idle(double seconds)
{
	struct gaps gaps = {.last_s = ns_to_s(ns_now_cpu()), .faults = page_faults()};
	double end_s = gaps.last_s + seconds;

	while (gaps.last_s < end_s)
		look(&gaps);
	gaps.faults = page_faults() - gaps.faults;
	return gaps;
}

static void turn(struct bench *bench, const struct figure *figure, struct flood *flood)
{
	struct stamp now = agent_now(bench->prober);

	agent_step(bench->prober, now);
	if (!figure->reflected) {
		throw_away(bench->rings[0]);
		return;
	}
	exchange_addresses(bench->rings[0], bench->rings[2]);
	if (flood && figure->flood_sources)
		flood_ring(flood, bench->rings[2], figure, now);
	agent_step(bench->reflector, agent_now(bench->reflector));
	exchange_addresses(bench->rings[3], bench->rings[1]);
}

static struct counted count_all(struct bench *bench)
{
	struct agent_row *row = agent_row_create(bench->prober), *all = agent_row_create(bench->prober);
	struct agent_summary summary;
	struct counted counted = {0};

	must(row && all, "row", NULL);
	for (size_t i = 0; i < agent_peer_count(bench->prober); i++) {
		agent_window(bench->prober, i, row);
		counted.sent += row->counters.sent;
		counted.fresh += row->counters.fresh;
		counted.disturbed += row->disturbed;
		counted.lost += row->counters.lost;
		histogram_merge(all->rtt, row->rtt);
	}
	counted.p50_us = (double)histogram_percentile(all->rtt, 50) / 1e3;
	counted.p99_us = (double)histogram_percentile(all->rtt, 99) / 1e3;
	agent_row_destroy(row);
	agent_row_destroy(all);
	agent_summarise(bench->reflector, &summary);
	counted.reflected = summary.reflector.answered;
	counted.limited = summary.reflector.source_limited;
	counted.evicted = summary.reflector.evicted;
	return counted;
}

static struct counted run(struct bench *bench, const struct figure *figure, double seconds, struct gaps *own)
{
	double gap_us = 0, cpu;
	struct flood flood = {.sent = 0};
	struct counted counted;
	struct stamp now, start;
	int64_t end;

	agent_set_mode(bench->prober, AGENT_MEASURING);
	start = now = agent_now(bench->prober);
	end = now.ns + (int64_t)(seconds * 1e9);
	cpu = ns_to_s(ns_now_cpu());
	*own = (struct gaps){.last_s = cpu, .faults = page_faults()};
	while (now.ns < end) {
		struct stamp before = now;

		turn(bench, figure, &flood);
		now = agent_now(bench->prober);
		if (now.ns - before.ns > gap_us * 1e3)
			gap_us = (double)(now.ns - before.ns) / 1e3;
		if (figure->peers == MANY) /* a system call, avoided in the packet rates */
			look(own);
	}
	cpu = ns_to_s(ns_now_cpu()) - cpu;
	own->faults = page_faults() - own->faults;
	agent_set_mode(bench->prober, AGENT_QUIET);
	for (int i = 0; figure->reflected && i < 2 * RING_SIZE; i++)
		turn(bench, figure, NULL); /* the last answers */
	counted = count_all(bench);
	counted.cpu_s = cpu;
	counted.wall_s = (double)(now.ns - start.ns) / 1e9;
	counted.gap_us = gap_us;
	return counted;
}

static void measure(struct bench *bench, const struct figure *figure, double seconds, double slower)
{
	/* Limits the number of outstanding probes to what a ring holds at high rates; otherwise the usual second. */
	const struct ns timeout = {(int64_t)(slower * (figure->pps < 10e6 ? NS_PER_S : NS_PER_S / 100))};
	const struct ns interval = {(int64_t)(slower * (double)figure->peers / figure->pps * 1e9)};
	const struct ns stall = {(int64_t)((slower > 1 ? slower : 1) * 100 * NS_PER_US)};
	const uint32_t source_pps = figure->peers == PEERS ? SOURCE_PPS : 0;
	struct gaps own, machine = {0};
	struct counted counted;
	size_t bytes;

	bench->prober = make_agent(bench->ports[0], prober_address, interval, timeout, stall, source_pps, figure->tlvs);
	bench->reflector = make_agent(bench->ports[1], prober_address, interval, timeout, stall, source_pps, 0);
	add_peers(bench->prober, bench->ports[1], figure->peers);
	counted = run(bench, figure, seconds, &own);
	if (figure->peers == MANY)
		machine = idle(seconds);
	bytes = agent_session_bytes(bench->prober);
	printf("{\"benchmark\": \"probe_agent_rate\", \"what\": \"%s\", \"sessions\": %u, \"Mpps_per_cpu_second\": "
	       "%.2f, "
	       "\"Mpps_wall\": %.2f, \"sent\": %llu, \"answered\": %llu, \"disturbed\": %llu, \"reflected\": %llu, "
	       "\"lost\": %llu, "
	       "\"refused\": %llu, \"evicted\": %llu, \"p50_us\": %.2f, \"p99_us\": %.2f, \"bytes_per_session\": %zu, "
	       "\"longest_gap_us\": %.0f, \"longest_own_gap_us\": %.0f, \"own_gaps_over_100us\": %llu, "
	       "\"page_faults\": %ld, "
	       "\"idle_longest_gap_us\": %.0f, \"idle_gaps_over_100us\": %llu}\n",
	       figure->name, figure->peers, (double)counted.sent / counted.cpu_s / 1e6,
	       (double)counted.sent / counted.wall_s / 1e6, (unsigned long long)counted.sent,
	       (unsigned long long)counted.fresh, (unsigned long long)counted.disturbed,
	       (unsigned long long)counted.reflected, (unsigned long long)counted.lost,
	       (unsigned long long)counted.limited, (unsigned long long)counted.evicted, counted.p50_us, counted.p99_us,
	       bytes / figure->peers, counted.gap_us, own.longest_us, (unsigned long long)own.over, own.faults,
	       machine.longest_us, (unsigned long long)machine.over);
	fflush(stdout);
	agent_destroy(bench->prober);
	agent_destroy(bench->reflector);
}

int main(int argc, char **argv)
{
	static const struct figure figures[] = {
		{"trip", "sent, reflected, received and accounted", FEW, 50e6, true, 0, 0},
		{"follow", "the same with follow-up telemetry", FEW, 50e6, true, 0, UINT32_C(1) << TLV_FOLLOW_UP},
		{"send", "sent alone", FEW, 50e6, false, 0, 0},
		{"many", "many sessions", MANY, 1e6, true, 0, 0},
		{"flood", "peers alone", PEERS, 100 * PEERS, true, 0, 0},
		{"flood", "peers beside 1 M requests/s of one source", PEERS, 100 * PEERS, true, 1, 0},
		{"flood", "peers beside 1 M requests/s of a million sources", PEERS, 100 * PEERS, true, FLOOD_SOURCES,
		 0},
	};
	double seconds = argc > 1 ? atof(argv[1]) : 2, slower = argc > 3 ? atof(argv[3]) : 1;
	struct dp_eal_options eal = {.program = "bench_agent_rate", .memory_MiB = MEMORY_MIB};
	struct bench bench = {0};
	struct error err = {0};

	if (seconds <= 0 || slower <= 0) {
		fprintf(stderr, "usage: %s [SECONDS [trip|follow|send|many|flood [SLOWER]]]\n", argv[0]);
		return 2;
	}
	must(dp_eal_start(&eal, &err) == 0, "EAL", &err);
	pool = dp_pool_create("bench", AGENT_BUFFERS, 2048, &err);
	must(pool, "pool", &err);
	must(dp_clock_calibrate(&clock_now, (struct ns){50 * NS_PER_MS}, &err) == 0, "clock", &err);
	open_bench(&bench);
	for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
		if (argc < 3 || strcmp(argv[2], figures[i].group) == 0)
			measure(&bench, &figures[i], seconds, slower);
	dp_port_close(bench.ports[0]);
	dp_port_close(bench.ports[1]);
	dp_pool_free(pool);
	dp_eal_stop();
	return 0;
}
