/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An agent measures a reflector, both on this thread over rings, while the thread of the samples file takes each sample
 * from it. No sample is lost unnoticed: the file has a line for every answer, except those that the agent reports as
 * dropped.
 */
#include <inttypes.h>
#include <stdio.h>

#include <rte_eth_ring.h>
#include <rte_ring.h>

#include <base/address.h>
#include <dp/eal.h>
#include <probe/agent/agent.h>

enum { PROBES = 3000, RING_SIZE = 1024, TURNS_MAXIMUM = 100000000 };

struct side {
	struct dp_port *port;
	struct agent *agent;
};

static struct error err;
static struct dp_clock counter;
static struct peer hosts[] = {{.name = "a", .address = 0x0a000001}, {.name = "b", .address = 0x0a000002}};

static int open_side(struct side *side, const char *name, struct rte_ring *in, struct rte_ring *out,
		     struct dp_pool *pool, int self)
{
	struct agent_options options = {.address = hosts[self].address,
					.udp_port = 862,
					.reflect = true,
					.paths = 2,
					.interval = {20 * NS_PER_US},
					.timeout = {60 * NS_PER_S},
					.count = PROBES,
					.slots = 1,
					.poll = AGENT_POLL_BUSY,
					.samples = 256,
					.seed = 5};
	struct dp_port_options port = {.pool = pool, .descriptors = RING_SIZE / 2};
	char device[64];

	if (!in || !out || rte_eth_from_rings(name, &in, 1, &out, 1, 0) < 0)
		return 1;
	snprintf(device, sizeof device, "net_ring_%s", name);
	port.name = device;
	side->port = dp_port_open(&port, &err);
	if (!side->port || dp_port_start(side->port, &err))
		return 1;
	side->agent = agent_create(&options, side->port, pool, &counter, &err);
	return !side->agent;
}

/* Both resolve each other by ARP, then the first one measures. */
static int measure(struct side *sides)
{
	struct agent_summary summary = {0};

	agent_set_mode(sides[0].agent, AGENT_MEASURING);
	for (int i = 0; i < TURNS_MAXIMUM; i++) {
		for (int side = 0; side < 2; side++)
			agent_step(sides[side].agent, agent_now(sides[side].agent));
		if (i % 1024)
			continue;
		agent_summarise(sides[1].agent, &summary);
		if (summary.reflector.answered == PROBES)
			break;
	}
	for (int i = 0; i < RING_SIZE; i++)
		agent_step(sides[0].agent, agent_now(sides[0].agent));
	if (summary.reflector.answered == PROBES)
		return 0;
	fprintf(stderr, "%" PRIu64 " of %d probes were answered\n", summary.reflector.answered, PROBES);
	return 1;
}

static int check(struct agent *agent, FILE *out)
{
	struct agent_summary summary;
	uint64_t lines = 0;

	rewind(out);
	for (int c = getc(out); c != EOF; c = getc(out))
		lines += c == '\n';
	agent_summarise(agent, &summary);
	if (lines == 1 + PROBES - summary.samples_dropped)
		return 0;
	fprintf(stderr, "%" PRIu64 " lines for %d samples, %" PRIu64 " dropped\n", lines, PROBES,
		summary.samples_dropped);
	return 1;
}

int main(void)
{
	struct dp_eal_options eal = {.program = "test", .memory_MiB = 64};
	struct peers peers = {.count = 2, .items = hosts};
	struct side sides[2] = {{NULL, NULL}, {NULL, NULL}};
	struct sample_file *file = NULL;
	struct rte_ring *there, *back;
	struct dp_pool *pool;
	FILE *out = tmpfile();
	int status = 1;

	if (!out || dp_eal_start(&eal, &err)) {
		fprintf(stderr, "EAL: %s\n", err.text);
		return 1;
	}
	pool = dp_pool_create("pool", AGENT_BUFFERS, 2048, &err);
	there = rte_ring_create("there", RING_SIZE, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
	back = rte_ring_create("back", RING_SIZE, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (!pool || dp_clock_calibrate(&counter, (struct ns){20 * NS_PER_MS}, &err) ||
	    open_side(&sides[0], "a", back, there, pool, 0) || open_side(&sides[1], "b", there, back, pool, 1) ||
	    agent_add_peer(sides[0].agent, &hosts[1], &err))
		goto out;
	file = sample_file_start(sides[0].agent, &peers, out, &err);
	if (!file)
		goto out;
	status = measure(sides);
	sample_file_stop(file);
	if (!status)
		status = check(sides[0].agent, out);
out:
	if (err.code)
		fprintf(stderr, "agents over rings: %s\n", err.text);
	for (int i = 0; i < 2; i++) {
		agent_destroy(sides[i].agent);
		dp_port_close(sides[i].port);
	}
	dp_pool_free(pool);
	dp_eal_stop();
	fclose(out);
	return status;
}
