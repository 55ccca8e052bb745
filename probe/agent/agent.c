/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

#include <base/address.h>
#include <dp/packet.h>

const char *const agent_poll_names[] = {"auto", "busy", "adaptive", NULL};
const char *const agent_stamps_names[] = {"auto", "tsc", "kernel", "nic", NULL};

enum { REFLECTOR_SESSIONS = 1 << 18 }; /* 25 MB */

static const struct ns default_stall = {100 * NS_PER_US};

/* Reserves the UDP port in the kernel if the kernel has our address; otherwise we answer ARP and ND ourselves. */
static int take_address(struct agent *agent, struct error *err)
{
	const struct agent_options *options = &agent->options;
	int held = kernel_stamps_hold_port(agent->kernel, options->address, options->udp_port, err);

	agent->answers_neighbours = held == 0;
	agent->holds_ports = held == 1;
	return held < 0 ? held : 0;
}

static int open_kernel_stamps(struct agent *agent, const struct dp_port_report *report, struct error *err)
{
	const char *interface = dp_port_interface(agent->port);
	bool af_packet = strcmp(report->driver, "net_af_packet") == 0;

	agent->answers_neighbours = true;
	if (!af_packet && agent->options.stamps == AGENT_STAMPS_KERNEL)
		return error_set(err, ENOTSUP,
				 "%s: only af_packet ports have the kernel's timestamps; the driver of this port is %s",
				 report->name, report->driver);
	if (!af_packet || !interface[0])
		return 0;
	agent->wants_kernel_stamps =
		agent->options.stamps == AGENT_STAMPS_AUTO || agent->options.stamps == AGENT_STAMPS_KERNEL;
	agent->kernel = kernel_stamps_open(interface, agent->options.udp_port, dp_port_socket(agent->port),
					   agent->wants_kernel_stamps, err);
	if (!agent->kernel)
		return error_code(err, EIO);
	return take_address(agent, err);
}

static int open_nic_stamps(struct agent *agent, const struct dp_port_report *report, struct error *err)
{
	uint64_t nic, tsc;

	agent->wants_nic_stamps = agent->options.stamps == AGENT_STAMPS_NIC;
	if (!agent->wants_nic_stamps)
		return 0;
	if (dp_port_stamps(agent->port, &agent->nic_stamps) || dp_port_read_clock(agent->port, &nic, &tsc))
		return error_set(err, ENOTSUP, "%s: driver %s has no clock to stamp arrivals", report->name,
				 report->driver);
	nic_clock_read(&agent->nic_clock, nic, tsc);
	return 0;
}

static int create_reflector(struct agent *agent, struct error *err)
{
	struct reflector_rules rules = {
		.address = agent->options.address,
		.prefix_bits = agent->options.prefix_bits,
		.allow = agent->options.allow,
		.allow_count = agent->options.allow_count,
		.source_pps = agent->options.source_pps,
		.total_pps = agent->options.total_pps,
		.keys = agent->options.keys,
		.stateless = agent->options.stateless,
		.member = agent->options.member,
	};

	memcpy(rules.mac, agent->mac, FRAME_MAC_BYTES);
	agent->reflector = reflector_create(agent->options.reflect ? REFLECTOR_SESSIONS : 1, &rules);
	agent->wake_up = prober_histogram(&agent->prober, PROBER_ROOM);
	if (agent->options.frames)
		agent->frames = spsc_create(agent->options.frames, sizeof(struct agent_frame));
	return agent->reflector && agent->wake_up && (agent->frames || !agent->options.frames)
		       ? 0
		       : error_set(err, ENOMEM, "out of memory");
}

/*
 * Sets the S bit and the error estimate of our packets. If options.clock_error is set, our clock counts as
 * synchronised, with this error bound. Otherwise both are from the kernel, which knows whether NTP or PTP synchronises
 * the clock.
 */
void agent_estimate_error(struct agent *agent)
{
	struct prober *prober = &agent->prober;
	struct ns to_utc = agent->options.clock_error;
	struct timex clock = {0};

	prober->synchronised = to_utc.v || (ntp_adjtime(&clock) != TIME_ERROR && !(clock.status & STA_UNSYNC));
	if (!to_utc.v)
		to_utc = ns_from_us(prober->synchronised ? (double)clock.maxerror : 0);
	prober->clock_error = ns_add(agent->error_bound, to_utc);
	agent->error_estimate = stamp_error_from_ns(prober->clock_error, prober->synchronised, agent->options.format);
}

static int set_up(struct agent *agent, struct error *err)
{
	struct dp_port_report report;
	int code;

	agent->port_id = dp_port_id(agent->port);
	dp_port_report(agent->port, &report);
	agent->burst = report.sends_by_system_call ? 1 : AGENT_BURST;
	if (agent->options.packet_bytes > agent_packet_minimum(&agent->options))
		agent->padding = agent->options.packet_bytes - agent_packet_minimum(&agent->options);
	if (address_parse_mac(report.mac, agent->mac))
		return error_set(err, ENODEV, "%s has no MAC address", report.name);
	agent->error_bound = dp_clock_duration(agent->clock, (int64_t)(agent->clock->latest.width_cycles / 2 + 1));
	agent->sleeps = agent->options.poll == AGENT_POLL_ADAPTIVE ||
			(agent->options.poll == AGENT_POLL_AUTO && dp_port_interface(agent->port)[0]);
	if (!agent->options.stall.v)
		agent->options.stall = default_stall;
	code = prober_create(&agent->prober, &agent->options, agent->clock, err);
	agent_estimate_error(agent);
	if (!code)
		code = create_reflector(agent, err);
	if (!code)
		code = open_nic_stamps(agent, &report, err);
	agent_make_template(agent);
	return code ? code : open_kernel_stamps(agent, &report, err);
}

/*
 * Discards the frames that arrived before the agent began to poll the port: they have no correct stamp, so answers to
 * them would report wrong times.
 */
static void discard_old_frames(struct agent *agent)
{
	struct dp_packet *burst[AGENT_BURST];
	uint16_t count = AGENT_BURST;

	/*
	 * Stops after as many frames as there are buffers: on a busy port, more frames arrive during the loop, and it
	 * might not end.
	 */
	for (int bursts = 0; bursts < AGENT_BUFFERS / AGENT_BURST && count == AGENT_BURST; bursts++) {
		count = dp_receive(agent->port_id, agent->options.queue, burst, AGENT_BURST);
		dp_packets_free(burst, count);
	}
}

size_t agent_packet_minimum(const struct agent_options *options)
{
	return frame_headers(&(struct frame){.destination_address = options->address}) - FRAME_ETHERNET_BYTES +
	       stamp_bytes(options->key) +
	       tlv_request_bytes(&(struct tlv_request){
		       .wanted = options->tlvs, .key = options->key, .destination = options->address});
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
	discard_old_frames(agent);
	agent->next_upkeep = agent->next_clock = agent->last_look = agent->last_request = dp_now(clock);
	return agent;
}

void agent_destroy(struct agent *agent)
{
	if (!agent)
		return;
	kernel_stamps_close(agent->kernel);
	prober_free(&agent->prober);
	neighbours_free(&agent->neighbours);
	reflector_destroy(agent->reflector);
	histogram_destroy(agent->wake_up);
	free(agent->frames);
	free(agent);
}

/* Reserves our source ports in the kernel when the first peer is added: peers send their answers to these ports. */
static int hold_source_ports(struct agent *agent, struct error *err)
{
	for (uint32_t i = 0; agent->holds_ports && i <= prober_candidates(&agent->options); i++) {
		int code = kernel_stamps_hold_port(agent->kernel, agent->options.address, agent->prober.ports[i], err);

		if (code < 0)
			return code;
	}
	agent->holds_ports = false;
	return 0;
}

int agent_add_peer(struct agent *agent, const struct peer *peer, struct error *err)
{
	int code = hold_source_ports(agent, err);

	return code ? code : prober_add(&agent->prober, peer, &agent->neighbours, err);
}

int agent_remove_peer(struct agent *agent, ip_address address)
{
	return prober_remove(&agent->prober, address, &agent->neighbours);
}

int agent_check_port(const struct agent *agent, struct error *err)
{
	if (!dp_port_is_gone(agent->port))
		return 0;
	return error_set(err, ENODEV, "%s: the interface was removed", dp_port_interface(agent->port));
}

size_t agent_peer_count(const struct agent *agent)
{
	return agent->prober.target_count;
}

uint16_t agent_source_port(const struct agent *agent, uint32_t path)
{
	return agent->prober.ports[path];
}

size_t agent_session_bytes(const struct agent *agent)
{
	return prober_bytes(&agent->prober);
}

void agent_set_mode(struct agent *agent, enum agent_mode mode)
{
	prober_set_mode(&agent->prober, mode, dp_now(agent->clock));
}

bool agent_take_frame(struct agent *agent, struct agent_frame *frame)
{
	return agent->frames && spsc_take(agent->frames, frame);
}

bool agent_take_sample(struct agent *agent, struct agent_sample *sample)
{
	return agent->prober.samples && spsc_take(agent->prober.samples, sample);
}

struct agent_row *agent_row_create(const struct agent *agent)
{
	uint32_t paths = agent->options.paths;
	struct agent_row *row = calloc(1, sizeof *row);
	bool whole;

	if (!row)
		return NULL;
	row->paths = calloc(paths, sizeof *row->paths);
	row->rtt = prober_histogram(&agent->prober, PROBER_ROOM);
	row->undisturbed = prober_histogram(&agent->prober, PROBER_ROOM);
	row->residence = prober_histogram(&agent->prober, PROBER_ROOM);
	row->forward = prober_histogram(&agent->prober, PROBER_ROOM);
	row->backward = prober_histogram(&agent->prober, PROBER_ROOM);
	whole = row->paths && row->rtt && row->undisturbed && row->residence && row->forward && row->backward;
	for (; whole && row->path_room < paths; row->path_room++) {
		row->paths[row->path_room].rtt = prober_histogram(&agent->prober, PROBER_ROOM);
		whole = row->paths[row->path_room].rtt;
	}
	if (whole)
		return row;
	agent_row_destroy(row);
	return NULL;
}

void agent_row_destroy(struct agent_row *row)
{
	if (!row)
		return;
	for (uint32_t i = 0; i < row->path_room; i++)
		histogram_destroy(row->paths[i].rtt);
	free(row->paths);
	histogram_destroy(row->rtt);
	histogram_destroy(row->undisturbed);
	histogram_destroy(row->residence);
	histogram_destroy(row->forward);
	histogram_destroy(row->backward);
	free(row);
}

void agent_window(struct agent *agent, size_t index, struct agent_row *row)
{
	const struct prober_target *target = agent->prober.targets[index];
	const struct neighbour *neighbour = &agent->neighbours.items[target->neighbour];
	struct stamp now = dp_now(agent->clock);
	struct ns waited = {0};

	prober_window(&agent->prober, index, now, row);
	row->resolved = neighbour->known;
	/*
	 * The peer counts as unresolvable if its MAC is unknown and the timeout has passed since its first probe was
	 * due (target->missed).
	 */
	row->unresolvable = !neighbour->known && stamp_difference(now, target->missed, &waited) &&
			    waited.v >= agent->options.timeout.v;
	memcpy(row->mac, neighbour->mac, FRAME_MAC_BYTES);
}

void agent_abandon(struct agent *agent)
{
	(void)prober_expire(&agent->prober, dp_now(agent->clock), SIZE_MAX);
	prober_abandon(&agent->prober);
}

void agent_summarise(struct agent *agent, struct agent_summary *summary)
{
	*summary = (struct agent_summary){
		.stamps = agent->wants_kernel_stamps ? "kernel"
			  : agent->wants_nic_stamps  ? "nic"
						     : "tsc",
		.poll = agent->sleeps ? "adaptive" : "busy",
		.skipped = agent->prober.skipped,
		.unstamped = agent->unstamped,
		.departures = agent->departures,
		.frames_dropped = agent->frames_dropped,
		.handed_over = agent->handed_over,
		.not_handed_over = agent->not_handed_over,
		.send_failures = agent->send_failures,
		.broken_frames = agent->broken_frames,
		.unfinished_checksums = agent->unfinished_checksums,
		.bad_hmac = agent->prober.bad_hmac,
		.other_member = agent->prober.other_member,
		.forged = agent->prober.forged,
		.other_vlan = agent->other_vlan,
		.interval = prober_interval(&agent->prober),
		.limited = agent->prober.limited,
		.samples_dropped = agent->prober.samples_dropped,
		.error_bound = agent->error_bound,
		.wake_up = agent->wake_up,
		.reflector = reflector_counters(agent->reflector),
	};
	memcpy(summary->mac, agent->mac, FRAME_MAC_BYTES);
	dp_port_statistics(agent->port, &summary->port);
}
