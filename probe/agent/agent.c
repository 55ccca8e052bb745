/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/address.h>

const char *const agent_poll_names[] = {"auto", "busy", "adaptive", NULL};
const char *const agent_stamps_names[] = {"auto", "tsc", "kernel", NULL};

enum { REFLECTOR_SESSIONS = 65536 };

/* Holds the ports in the kernel if the address is its own; whether we are the ones to answer ARP follows from that. */
static int take_address(struct agent *agent, struct error *err)
{
	const struct agent_options *options = &agent->options;
	int held = doorbell_hold_port(agent->doorbell, options->address, options->udp_port, err);

	if (held < 0)
		return held;
	agent->answers_arp = held == 0;
	for (uint32_t i = 0; held == 1 && agent->prober.target_count && i < options->paths; i++) {
		int code = doorbell_hold_port(agent->doorbell, options->address, agent->prober.ports[i], err);

		if (code < 0)
			return code;
	}
	return 0;
}

static int open_doorbell(struct agent *agent, const struct dp_port_report *report, struct error *err)
{
	const char *interface = dp_port_interface(agent->port);
	bool af_packet = strcmp(report->driver, "net_af_packet") == 0;

	agent->answers_arp = true;
	if (!af_packet && agent->options.stamps == AGENT_STAMPS_KERNEL)
		return error_set(err, ENOTSUP, "%s: the kernel stamps packets of af_packet ports only, this one is %s",
				 report->name, report->driver);
	if (!af_packet || !interface[0])
		return 0;
	agent->doorbell = doorbell_open(interface, agent->options.udp_port, dp_port_socket(agent->port), err);
	if (!agent->doorbell)
		return -(err && err->code ? err->code : EIO);
	agent->kernel_stamps = agent->options.stamps != AGENT_STAMPS_TSC;
	return take_address(agent, err);
}

static int set_up(struct agent *agent, struct error *err)
{
	struct dp_port_report report;
	int code;

	agent->port_id = dp_port_id(agent->port);
	dp_port_report(agent->port, &report);
	if (address_parse_mac(report.mac, agent->mac))
		return error_set(err, ENODEV, "%s has no MAC address", report.name);
	agent->error_bound = dp_clock_duration(agent->clock, (int64_t)(agent->clock->latest.width_cycles / 2 + 1));
	/* S stays 0: whether an outside source disciplines the host's clock is not known here. */
	agent->error_estimate = stamp_error_from_ns(agent->error_bound, false, agent->options.format);
	agent->sleeps = agent->options.poll == AGENT_POLL_ADAPTIVE ||
			(agent->options.poll == AGENT_POLL_AUTO && dp_port_interface(agent->port)[0]);
	agent->reflector = reflector_create(REFLECTOR_SESSIONS);
	if (!agent->reflector)
		return error_set(err, ENOMEM, "out of memory");
	code = prober_create(&agent->prober, &agent->options, agent->clock, &agent->neighbours, err);
	return code ? code : open_doorbell(agent, &report, err);
}

struct agent *agent_create(const struct agent_options *options, struct dp_port *port, struct dp_pool *pool,
			   struct dp_clock *clock, struct error *err)
{
	struct agent *agent = calloc(1, sizeof *agent);

	if (!agent) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	agent->options = *options;
	agent->port = port;
	agent->pool = pool;
	agent->clock = clock;
	if (set_up(agent, err)) {
		agent_destroy(agent);
		return NULL;
	}
	return agent;
}

void agent_destroy(struct agent *agent)
{
	if (!agent)
		return;
	doorbell_close(agent->doorbell);
	prober_free(&agent->prober);
	neighbours_free(&agent->neighbours);
	reflector_destroy(agent->reflector);
	free(agent);
}

size_t agent_peer_count(const struct agent *agent)
{
	return agent->prober.target_count;
}

static void add_counters(struct session_counters *sum, struct session_counters more)
{
	sum->sent += more.sent;
	sum->fresh += more.fresh;
	sum->lost += more.lost;
	sum->late += more.late;
	sum->duplicates += more.duplicates;
	sum->reordered += more.reordered;
	sum->unknown += more.unknown;
}

void agent_peer_result(struct agent *agent, size_t index, struct agent_peer_result *result)
{
	const struct prober_target *target = &agent->prober.targets[index];
	const struct neighbour *neighbour = &agent->neighbours.items[target->neighbour];

	prober_sum(&agent->prober, index);
	*result = (struct agent_peer_result){
		.peer = target->peer,
		.resolved = neighbour->known,
		.rtt = target->all,
		.residence = target->residence,
		.offset = target->best_offset,
		.path_count = agent->options.paths,
	};
	memcpy(result->mac, neighbour->mac, FRAME_MAC_BYTES);
	for (uint32_t path = 0; path < agent->options.paths; path++) {
		add_counters(&result->counters, session_counters(target->paths[path].session));
		result->lost_forward += session_lost_forward(target->paths[path].session);
	}
}

void agent_path_result(struct agent *agent, size_t index, uint32_t path, struct agent_path_result *result)
{
	const struct prober_path *from = &agent->prober.targets[index].paths[path];

	*result = (struct agent_path_result){
		.source_port = agent->prober.ports[path],
		.counters = session_counters(from->session),
		.rtt = from->rtt,
	};
}

void agent_summary(struct agent *agent, struct agent_summary *summary)
{
	uint64_t end = agent->measure_end ? agent->measure_end : agent->measure_begin;

	*summary = (struct agent_summary){
		.stamps = agent->kernel_stamps ? "kernel" : "tsc",
		.poll = agent->sleeps ? "adaptive" : "busy",
		.measured = dp_clock_duration(agent->clock, (int64_t)(end - agent->measure_begin)),
		.skipped = agent->prober.skipped,
		.unstamped = agent->unstamped,
		.send_failures = agent->send_failures,
		.broken_frames = agent->broken_frames,
		.error_bound = agent->error_bound,
		.reflector = reflector_counters(agent->reflector),
	};
	memcpy(summary->mac, agent->mac, FRAME_MAC_BYTES);
	dp_port_statistics(agent->port, &summary->port);
}
