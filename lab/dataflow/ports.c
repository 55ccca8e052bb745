/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds source ports for which equal-cost hashing sends each connection over its route; the switches are not changed.
 */
#include "run_priv.h"

#include <errno.h>
#include <netinet/in.h>
#include <unistd.h>

#include <base/array.h>

enum {
	PORT_LOWEST = 16384, /* above the ports on which tasks listen, below the kernels' ephemeral ports */
	PORT_LAST = 32767,
	CANDIDATES = 1024, /* number of ports to try per connection; with 64 equally probable paths, the probability
			      that none of these ports hashes to a given path is 1e-7 */
};

/*
 * Returns the first port to try. It depends on the process number, because a port used by the previous run cannot be
 * reused for a minute (TIME_WAIT).
 */
static uint16_t first_port(void)
{
	return (uint16_t)(PORT_LOWEST + (uint32_t)getpid() * 251U % ((PORT_LAST + 1 - PORT_LOWEST) / 2));
}

static int host_of(const struct run *run, const struct task_process *task)
{
	return run->fabric.node_of[task->job->job->hosts[task->task]];
}

/* Returns the host of the task that listens on the target's port; no two tasks of a run have the same port. */
static int target_host(const struct run *run, const struct worker_target *target)
{
	uint32_t t = 0;

	while (t + 1 < run->task_count && run->tasks[t].plan->port != target->port)
		t++;
	return host_of(run, &run->tasks[t]);
}

static const struct lab_route *find_route(const struct fabric *fabric, int from, int to)
{
	for (size_t r = 0; r < fabric->route_count; r++)
		if (fabric->routes[r].from == from && fabric->routes[r].to == to)
			return &fabric->routes[r];
	return NULL;
}

/*
 * Chooses the source port of one connection from host `from`. *next: the first port of this host that no connection
 * uses yet; is increased.
 */
static int choose(struct run *run, int from, uint16_t *next, struct worker_target *target, struct error *err)
{
	struct routes_packet packet = {.from = from,
				       .to = target_host(run, target),
				       .protocol = IPPROTO_TCP,
				       .source_port = *next,
				       .port = target->port};
	const struct lab_route *route = find_route(&run->fabric, from, packet.to);
	uint32_t last = *next + CANDIDATES - 1U;
	struct run_flow *flows;
	int code;

	if (!route)
		return 0; /* both tasks are on one host */
	code = routes_find_port(run->routes, route, &packet, last < PORT_LAST ? (uint16_t)last : PORT_LAST, err);
	if (code != 0)
		return code;
	flows = array_grow(run->flows, run->flow_count, &run->flow_capacity, sizeof *flows);
	if (!flows)
		return error_set(err, ENOMEM, "out of memory");
	run->flows = flows;
	flows[run->flow_count++] = (struct run_flow){.from = run->lab->hosts[from].name,
						     .to = run->lab->hosts[packet.to].name,
						     .source_port = packet.source_port,
						     .port = packet.port};
	target->source_port = packet.source_port;
	*next = (uint16_t)(packet.source_port + 1);
	return 0;
}

int run_choose_ports(struct run *run, struct error *err)
{
	uint16_t next[LAB_HOSTS_MAXIMUM];
	int code = 0;

	for (int h = 0; h < LAB_HOSTS_MAXIMUM; h++)
		next[h] = first_port();
	for (uint32_t t = 0; t < run->task_count; t++) {
		int from = host_of(run, &run->tasks[t]);
		struct worker_plan *plan = run->tasks[t].plan;

		for (uint32_t e = 0; e < plan->edge_count; e++)
			for (uint32_t i = 0; i < plan->edges[e].target_count && code == 0; i++)
				code = choose(run, from, &next[from], &plan->edges[e].targets[i], err);
	}
	return code;
}
