/* SPDX-License-Identifier: BSD-3-Clause */
/* An agent that measures continuously into a live matrix; its peer is another agent, connected by two rings. */
#include <criterion/criterion.h>

#include <math.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/log.h>
#include <base/ns.h>

#include <rte_eth_ring.h>
#include <rte_ring.h>

#include <dp/eal.h>
#include <probe/mesh/row.h>
#include <probe/mesh/watch.h>

#undef NS_PER_S
#define NS_PER_S INT64_C(1000000000)

struct side {
	struct agent *agent;
	struct dp_port *port;
	struct dp_clock clock;
	pthread_t thread;
	volatile sig_atomic_t stop;
};

static struct peer hosts[] = {{.name = "a", .rack = "r1", .address = 0x0a000001},
			      {.name = "b", .rack = "r2", .address = 0x0a000002},
			      {.name = "ghost", .rack = "r2", .address = 0x0a000003},
			      {.name = "mute", .rack = "r2", .address = 0x0a000005}}; /* no MAC; ARP gets no answer */
static struct dp_pool *pool;
static struct side sides[2];
static struct mesh_watch watch;
static char live_path[64], peers_path[64];
static struct error err;

static void write_peers(const char *text)
{
	char temporary[80];
	FILE *file;

	snprintf(temporary, sizeof temporary, "%s.new", peers_path);
	file = fopen(temporary, "w");
	fputs(text, file);
	fclose(file);
	rename(temporary, peers_path);
}

static void set_up(void)
{
	struct dp_eal_options options = {.program = "test", .memory_MiB = 64};

	cr_assert_eq(dp_eal_start(&options, &err), 0, "%s", err.text);
	pool = dp_pool_create("test", 8191, 2048, &err);
	cr_assert_not_null(pool, "%s", err.text);
	snprintf(live_path, sizeof live_path, "/tmp/nomora-watch-%ld", (long)getpid());
	snprintf(peers_path, sizeof peers_path, "/tmp/nomora-peers-%ld", (long)getpid());
	unlink(live_path);
}

static void tear_down(void)
{
	unlink(live_path);
	unlink(peers_path);
	dp_eal_stop();
}

static void open_side(struct side *side, const char *name, struct rte_ring *in, struct rte_ring *out, uint32_t address)
{
	struct dp_port_options port = {.pool = pool, .descriptors = 512};
	struct agent_options options = {.address = address,
					.udp_port = 862,
					.reflect = true,
					.paths = 2,
					.interval = {NS_PER_MS},
					.timeout = {50 * NS_PER_MS},
					.slots = 1,
					.poll = AGENT_POLL_ADAPTIVE,
					.seed = address};
	char device[64];

	cr_assert_geq(rte_eth_from_rings(name, &in, 1, &out, 1, 0), 0);
	snprintf(device, sizeof device, "net_ring_%s", name);
	port.name = device;
	side->port = dp_port_open(&port, &err);
	cr_assert_not_null(side->port, "%s", err.text);
	cr_assert_eq(dp_port_start(side->port, &err), 0, "%s", err.text);
	cr_assert_eq(dp_clock_calibrate(&side->clock, (struct ns){10 * NS_PER_MS}, &err), 0, "%s", err.text);
	side->agent = agent_create(&options, side->port, pool, &side->clock, &err);
	cr_assert_not_null(side->agent, "%s", err.text);
}

static void *reflect(void *context)
{
	struct side *side = context;

	while (!side->stop) {
		if (!agent_step(side->agent, agent_now(side->agent)))
			agent_sleep(side->agent, agent_wake_at(side->agent));
	}
	return NULL;
}

static void *measure(void *context)
{
	struct side *side = context;
	const struct peers peers = {.count = 4, .items = hosts};

	cr_assert_eq(mesh_watch_run(side->agent, &peers, &watch, &side->stop, &err), 0, "%s", err.text);
	return NULL;
}

/* Waits up to 20 s until the pair's entry has this state (and is older than nothing). */
static bool wait_for_state(const struct latency_matrix *live, const char *to, enum latency_state state,
			   struct latency_entry *entry)
{
	for (int i = 0; i < 2000; i++) {
		int64_t from = latency_matrix_find_host(live, "a"), host = latency_matrix_find_host(live, to);

		if (from >= 0 && host >= 0 && latency_matrix_load_pair(live, (uint32_t)from, (uint32_t)host, entry) &&
		    entry->state == state)
			return true;
		usleep(10000);
	}
	return false;
}

static atomic_int rows_fail; /* number of calls of mesh_row_add() that fail next */

int __real_mesh_row_add(struct mesh_row *row, const struct agent_row *window);
int __wrap_mesh_row_add(struct mesh_row *row, const struct agent_row *window);
int __wrap_mesh_row_add(struct mesh_row *row, const struct agent_row *window)
{
	int code = __real_mesh_row_add(row, window);

	if (code == 0 && row->count > 0 && rows_fail > 0) {
		rows_fail--;
		return -ENOMEM;
	}
	return code;
}

TestSuite(mesh_watch, .init = set_up, .fini = tear_down, .timeout = 120);

Test(mesh_watch, windows_reach_the_live_matrix_and_peers_come_and_go)
{
	const struct latency_live_size size = {.hosts = 16, .racks = 4, .pairs = 64};
	struct rte_ring *there = rte_ring_create("there", 1024, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
	struct rte_ring *back = rte_ring_create("back", 1024, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
	struct latency_matrix *reader;
	struct latency_maximum maximum;
	struct latency_entry entry;
	struct ns first;
	char *logged = NULL, *found;
	size_t bytes;
	FILE *log;

	open_side(&sides[0], "a", back, there, hosts[0].address);
	open_side(&sides[1], "b", there, back, hosts[1].address);
	write_peers("a 10.0.0.1 r1\nb 10.0.0.2 r2\nghost 10.0.0.3 02:00:00:00:00:99 r2\nmute 10.0.0.5 r2\n");
	hosts[2].has_mac = true;
	hosts[2].mac[0] = 2;
	watch = (struct mesh_watch){.host = "a",
				    .address = hosts[0].address,
				    .peers_path = peers_path,
				    .window = {100 * NS_PER_MS},
				    .error_us = 0.5,
				    .live = latency_live_open(live_path, &size, &err)};
	cr_assert_not_null(watch.live, "%s", err.text);
	reader = latency_live_map(live_path, &err);
	log_set_sink(log = open_memstream(&logged, &bytes));
	pthread_create(&sides[1].thread, NULL, reflect, &sides[1]);
	pthread_create(&sides[0].thread, NULL, measure, &sides[0]);

	cr_assert(wait_for_state(reader, "b", LATENCY_STATE_MEASURED, &entry), "b is measured while the agent runs");
	cr_assert(entry.rtt_p50_us > 0 && entry.samples > 0 && entry.error_us == 0.5F && entry.paths_covered == 2);
	first = entry.updated_at;
	cr_assert(wait_for_state(reader, "ghost", LATENCY_STATE_UNREACHABLE, &entry), "nobody answers for it");
	cr_assert(entry.loss == 1 && isnan(entry.rtt_p50_us));
	cr_assert_eq(entry.answered_at.v, 0, "it never answered");
	first = entry.updated_at;
	for (int i = 0; i < 2000 && entry.updated_at.v <= first.v; i++) {
		usleep(10000);
		cr_assert(wait_for_state(reader, "ghost", LATENCY_STATE_UNREACHABLE, &entry));
	}
	cr_assert_gt(entry.updated_at.v, first.v, "a dead peer is seen in each window");
	cr_assert(wait_for_state(reader, "mute", LATENCY_STATE_UNREACHABLE, &entry), "nobody says where it is");
	cr_assert(entry.loss == 1 && isnan(entry.rtt_p50_us));
	for (int i = 0; i < 2000 && entry.updated_at.v <= first.v; i++) {
		usleep(10000);
		cr_assert(wait_for_state(reader, "b", LATENCY_STATE_MEASURED, &entry));
	}
	cr_assert_gt(entry.updated_at.v, first.v, "windows go on");
	rows_fail = 2;
	for (int i = 0; i < 2000 && rows_fail > 0; i++)
		usleep(10000);
	cr_assert_eq(rows_fail, 0);
	for (int i = 0; i < 2000 && !latency_live_maximum(reader, 0, 1, &maximum); i++)
		usleep(10000);
	cr_assert(latency_live_maximum(reader, 0, 1, &maximum) && maximum.pairs == 1);

	write_peers("a 10.0.0.1 r1\nghost 10.0.0.3 02:00:00:00:00:99 r2\nmute 10.0.0.5 r2\n"
		    "later 10.0.0.4 02:00:00:00:00:98 r2\n");
	cr_assert(wait_for_state(reader, "later", LATENCY_STATE_UNREACHABLE, &entry), "a new peer is probed");
	/* A list with a peer that cannot be added changes nothing; its other peers are new to the next list. */
	write_peers("a 10.0.0.1 r1\nmute 10.0.0.5 r2\nsix fd00::1 r2\nsix2 fd00::2 r2\nsix3 fd00::3 r2\nn1 10.0.0.7 "
		    "r2\nn2 10.0.0.8 r2\nn3 10.0.0.9 r2\n");
	usleep(100000);
	write_peers("a 10.0.0.1 r1\nmute 10.0.0.5 r2\nn1 10.0.0.7 r2\nn2 10.0.0.8 r2\nn3 10.0.0.9 r2\n");
	cr_assert(wait_for_state(reader, "n1", LATENCY_STATE_UNREACHABLE, &entry));
	cr_assert(wait_for_state(reader, "n2", LATENCY_STATE_UNREACHABLE, &entry));
	cr_assert(wait_for_state(reader, "n3", LATENCY_STATE_UNREACHABLE, &entry));
	sides[0].stop = 1;
	pthread_join(sides[0].thread, NULL);
	fclose(log);
	log_set_sink(stderr);
	cr_expect_not(strstr(logged, "full"), "%s", logged);
	found = strstr(logged, "some rows are missing in the live matrix: Cannot allocate memory");
	cr_expect(found && !strstr(found + 1, "some rows"), "once: %s", logged);
	free(logged);
	cr_assert_eq(agent_peer_count(sides[0].agent), 4, "b, ghost and later are gone");
	cr_assert_gt(watch.state.windows, 3);
	cr_assert_eq(watch.state.unreachable, 6);
	sides[1].stop = 1;
	pthread_join(sides[1].thread, NULL);
	latency_matrix_destroy(reader);
	latency_matrix_destroy(watch.live);
	for (int i = 0; i < 2; i++) {
		agent_destroy(sides[i].agent);
		dp_port_close(sides[i].port);
	}
}

enum { RACK_HOSTS = 9, OTHERS = RACK_HOSTS - 2 };

/* Fills order[] with the last octets of the hosts 10.0.0.3 to .9, in the order in which a prober ends their windows. */
static void read_order(const char *port, uint32_t address, uint32_t order[OTHERS])
{
	const struct latency_live_size size = {.hosts = 16, .racks = 4, .pairs = 256};
	struct peer rack[RACK_HOSTS];
	const struct peers peers = {.count = RACK_HOSTS, .items = rack};
	struct rte_ring *ring = rte_ring_create(port, 1024, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
	struct side side = {.stop = 1}; /* it ends before it measures */
	struct agent_row *row;
	size_t others = 0;

	for (uint32_t i = 0; i < RACK_HOSTS; i++) {
		rack[i] = (struct peer){.rack = "r1", .address = 0x0a000001 + i, .has_mac = true};
		snprintf(rack[i].name, sizeof rack[i].name, "h%u", i + 1);
	}
	open_side(&side, port, ring, ring, address);
	watch = (struct mesh_watch){.host = "h1",
				    .address = address,
				    .window = {100 * NS_PER_MS},
				    .live = latency_live_open(live_path, &size, &err)};
	cr_assert_not_null(watch.live, "%s", err.text);
	cr_assert_eq(mesh_watch_run(side.agent, &peers, &watch, &side.stop, &err), 0, "%s", err.text);
	cr_assert_eq(agent_peer_count(side.agent), RACK_HOSTS - 1);
	row = agent_row_create(side.agent);
	for (size_t i = 0; i < RACK_HOSTS - 1; i++) {
		agent_window(side.agent, i, row);
		if (row->peer.address > 0x0a000002)
			order[others++] = (uint32_t)row->peer.address & 0xff;
	}
	agent_row_destroy(row);
	latency_matrix_destroy(watch.live);
	agent_destroy(side.agent);
	dp_port_close(side.port);
	rte_ring_free(ring);
	unlink(live_path);
}

/* If all probers had the same order, the first bad windows of a fault would all be of the same peers. */
Test(mesh_watch, each_prober_has_an_order_of_its_own)
{
	uint32_t first[OTHERS] = {0}, again[OTHERS] = {0}, other[OTHERS] = {0}, seen = 0;

	read_order("first", 0x0a000001, first);
	read_order("again", 0x0a000001, again);
	read_order("other", 0x0a000002, other);
	for (size_t i = 0; i < OTHERS; i++)
		seen |= 1U << first[i];
	cr_assert_eq(seen, 0x3f8, "each host has its place");
	cr_assert_arr_eq(first, again, sizeof first, "the same order after a restart");
	cr_assert_arr_neq(first, other, sizeof first);
}
