/* SPDX-License-Identifier: BSD-3-Clause */
/* The agent at work: bursts in, answers and probes out, sleep between. */
#include "agent_priv.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include <dp/packet.h>

enum { SEND_ATTEMPTS = 1000, IPV4_ETHERTYPE = 0x0800 };

/* Sleeping without a socket to wake us, and the longest sleep with one (clock upkeep, ARP, signals). */
static const struct ns blind_nap = {20 * NS_PER_US}, longest_sleep = {50 * NS_PER_MS};
static const struct ns tick_gap = {100 * NS_PER_MS}, upkeep_gap = {10 * NS_PER_MS}, clock_gap = {NS_PER_S};

enum phase { PHASE_GREETING, PHASE_MEASURING, PHASE_DRAINING, PHASE_LINGERING, PHASE_OVER };

static const char *const phase_names[] = {"waiting for peers", "measuring", "last answers", "still answering", "over"};

struct run {
	struct agent *agent;
	enum phase phase;
	uint64_t phase_end; /* ticks; UINT64_MAX = open */
	uint64_t next_tick, next_upkeep, next_clock;
};

static uint64_t after(const struct agent *agent, uint64_t now, struct ns wait)
{
	return now + (uint64_t)dp_clock_cycles(agent->clock, wait);
}

/* Takes the packet. A full transmit ring is tried again for a moment. */
static bool send_now(struct agent *agent, struct dp_packet *packet)
{
	for (int attempt = 0; attempt < SEND_ATTEMPTS; attempt++)
		if (dp_transmit(agent->port_id, 0, &packet, 1) == 1)
			return true;
	dp_packet_free(packet);
	agent->send_failures++;
	return false;
}

static void send_arp(struct agent *agent, enum frame_kind kind, uint32_t about, const uint8_t *to,
		     struct dp_packet *packet)
{
	struct frame frame = {.kind = kind, .source_address = agent->options.address, .destination_address = about};

	memcpy(frame.source_mac, agent->mac, FRAME_MAC_BYTES);
	if (to)
		memcpy(frame.destination_mac, to, FRAME_MAC_BYTES);
	dp_packet_set_length(packet, frame_write_arp(&frame, dp_packet_bytes(packet), dp_packet_room(packet)));
	send_now(agent, packet);
}

/* Both kinds tell us the sender's MAC. Takes the packet. */
static void take_arp(struct agent *agent, const struct frame *frame, struct dp_packet *packet)
{
	neighbours_learn(&agent->neighbours, frame);
	if (frame->kind == FRAME_ARP_REQUEST && agent->answers_arp &&
	    frame->destination_address == agent->options.address) {
		uint8_t asker[FRAME_MAC_BYTES];

		memcpy(asker, frame->source_mac, FRAME_MAC_BYTES);
		send_arp(agent, FRAME_ARP_REPLY, frame->source_address, asker, packet);
		return;
	}
	dp_packet_free(packet);
}

/*
 * Answers in the request's own buffer. t3 is taken when all but the stamp and the checksums is in place. Takes the
 * packet.
 */
static void take_request(struct agent *agent, const struct frame *request, uint64_t received, struct dp_packet *packet)
{
	uint8_t *bytes = dp_packet_bytes(packet);
	uint8_t *payload = bytes + (request->payload - bytes);
	struct ns received_at = dp_clock_wall(agent->clock, received);
	struct stamp_reply reply;
	struct frame answer;
	uint64_t sent;

	agent->last_request = received;
	if (reflector_prepare(agent->reflector, request, received_at, agent->error_estimate, payload, &reply)) {
		dp_packet_free(packet);
		return;
	}
	answer = (struct frame){
		.kind = FRAME_UDP,
		.source_address = request->destination_address,
		.destination_address = request->source_address,
		.source_port = request->destination_port,
		.destination_port = request->source_port,
		.dscp = request->dscp,
		.payload = payload,
		.payload_bytes = request->payload_bytes,
	};
	memcpy(answer.source_mac, agent->mac, FRAME_MAC_BYTES);
	memcpy(answer.destination_mac, request->source_mac, FRAME_MAC_BYTES);
	sent = dp_cycles();
	reflector_finish(&reply, ns_add(received_at, dp_clock_duration(agent->clock, (int64_t)(sent - received))),
			 payload);
	dp_packet_set_length(packet, frame_write_udp(&answer, bytes, dp_packet_room(packet)));
	send_now(agent, packet);
}

/* The kernel's stamp as ticks: how long ago it was, on the wall clock, counted back from a fresh reading of both. */
static uint64_t arrival_ticks(struct agent *agent, const struct frame *frame, uint64_t received,
			      const struct dp_clock *reading)
{
	struct ns arrived_at;

	if (!agent->kernel_stamps)
		return received;
	if (!doorbell_stamp(agent->doorbell, frame, &arrived_at)) {
		agent->unstamped++;
		return received;
	}
	return reading->latest.cycles -
	       (uint64_t)dp_clock_cycles(agent->clock, (struct ns){reading->latest.wall_ns - arrived_at.v});
}

/* Untagged IPv4 alone: an answer is built in place and would lose its tag. Takes the packet. */
static void take_frame(struct agent *agent, struct dp_packet *packet, uint64_t received, const struct dp_clock *reading)
{
	const uint8_t *bytes = dp_packet_bytes(packet);
	struct frame frame = frame_read(bytes, dp_packet_contiguous(packet), dp_packet_contiguous(packet));

	if (frame.kind == FRAME_ARP_REQUEST || frame.kind == FRAME_ARP_REPLY) {
		take_arp(agent, &frame, packet);
		return;
	}
	agent->broken_frames += frame.kind == FRAME_BROKEN;
	if (frame.kind == FRAME_UDP && frame.destination_address == agent->options.address &&
	    dp_packet_in_one_piece(packet) && (bytes[12] << 8 | bytes[13]) == IPV4_ETHERTYPE) {
		if (frame.destination_port == agent->options.udp_port && agent->options.reflect) {
			take_request(agent, &frame, arrival_ticks(agent, &frame, received, reading), packet);
			return;
		}
		if (frame.source_port == agent->options.udp_port)
			prober_answer(&agent->prober, &frame, arrival_ticks(agent, &frame, received, reading));
	}
	dp_packet_free(packet);
}

static uint16_t receive(struct agent *agent)
{
	struct dp_packet *burst[AGENT_BURST];
	uint16_t count = dp_receive(agent->port_id, 0, burst, AGENT_BURST);
	uint64_t received = dp_cycles();
	struct dp_clock reading = *agent->clock;

	if (count && agent->doorbell) /* also when its stamps are not wanted: what stays there would keep us awake */
		doorbell_drain(agent->doorbell);
	if (count && agent->kernel_stamps)
		dp_clock_update(&reading);
	for (uint16_t i = 0; i < count; i++)
		take_frame(agent, burst[i], received, &reading);
	return count;
}

/* t1 goes in last; the counter is read once more right before the burst, since checksums take their time. */
static void send_probe(struct agent *agent, const struct prober_probe *probe)
{
	const struct prober_target *target = &agent->prober.targets[probe->target];
	struct dp_packet *packet = dp_packet_alloc(agent->pool);
	struct stamp_request request = probe->request;
	uint8_t payload[STAMP_BYTES];
	struct frame frame = {
		.kind = FRAME_UDP,
		.source_address = agent->options.address,
		.destination_address = target->peer->address,
		.source_port = probe->source_port,
		.destination_port = agent->options.udp_port,
		.ttl = agent->options.ttl,
		.dscp = agent->options.dscp,
		.payload = payload,
		.payload_bytes = sizeof payload,
	};

	if (!packet) {
		agent->send_failures++;
		prober_unsent(&agent->prober, probe);
		return;
	}
	memcpy(frame.source_mac, agent->mac, FRAME_MAC_BYTES);
	memcpy(frame.destination_mac, agent->neighbours.items[target->neighbour].mac, FRAME_MAC_BYTES);
	request.error = agent->error_estimate;
	request.sent_at = dp_clock_wall(agent->clock, dp_cycles());
	stamp_write_request(&request, payload);
	dp_packet_set_length(packet, frame_write_udp(&frame, dp_packet_bytes(packet), dp_packet_room(packet)));
	prober_sent(&agent->prober, probe, dp_cycles());
	if (!send_now(agent, packet))
		prober_unsent(&agent->prober, probe);
}

static void ask_neighbour(struct agent *agent)
{
	const struct neighbour *neighbour = neighbours_ask(&agent->neighbours, ns_now_monotonic());
	struct dp_packet *packet = neighbour ? dp_packet_alloc(agent->pool) : NULL;

	if (packet)
		send_arp(agent, FRAME_ARP_REQUEST, neighbour->address, NULL, packet);
}

static void begin_measuring(struct run *run, uint64_t now)
{
	struct agent *agent = run->agent;

	run->phase = PHASE_MEASURING;
	run->phase_end = agent->options.duration.v ? after(agent, now, agent->options.duration) : UINT64_MAX;
	agent->measure_begin = now;
	prober_measure(&agent->prober, now);
}

/* Phases follow one another as their conditions are met; see enum phase. */
static void step_phase(struct run *run, uint64_t now, uint64_t outstanding)
{
	struct agent *agent = run->agent;

	switch (run->phase) {
	case PHASE_GREETING:
		if (prober_all_heard(&agent->prober) || now >= run->phase_end)
			begin_measuring(run, now);
		break;
	case PHASE_MEASURING:
		if (now < run->phase_end &&
		    !(agent->prober.target_count && prober_done(&agent->prober, &agent->neighbours)))
			break;
		agent->measure_end = now;
		run->phase = PHASE_DRAINING;
		run->phase_end = after(agent, now, agent->options.timeout);
		break;
	case PHASE_DRAINING:
		if (outstanding && now < run->phase_end)
			break;
		run->phase = PHASE_LINGERING;
		agent->last_request = agent->last_request > now ? agent->last_request : now;
		/* Those who began later end later, by no more than they could be late; others may probe for ever. */
		run->phase_end = after(agent, now, ns_add(agent->options.patience, agent->options.linger));
		break;
	case PHASE_LINGERING:
		if (now >= after(agent, agent->last_request, agent->options.linger) || now >= run->phase_end)
			run->phase = PHASE_OVER;
		break;
	case PHASE_OVER:
		break;
	}
}

static void tell(struct run *run, uint64_t now)
{
	const struct agent *agent = run->agent;
	double share = -1;

	if (!agent->options.on_tick || now < run->next_tick)
		return;
	run->next_tick = after(agent, now, tick_gap);
	if (run->phase == PHASE_MEASURING && agent->options.duration.v)
		share = (double)(now - agent->measure_begin) / (double)(run->phase_end - agent->measure_begin);
	else if (run->phase == PHASE_MEASURING && agent->options.count && agent->prober.target_count)
		share = fmin(1, (double)agent->prober.turn / (double)agent->prober.target_count /
					(double)agent->options.count);
	else if (run->phase > PHASE_MEASURING)
		share = 1;
	agent->options.on_tick(agent->options.context, share, phase_names[run->phase]);
}

/* What need not be done at every turn. */
static void upkeep(struct run *run, uint64_t now)
{
	struct agent *agent = run->agent;

	if (now < run->next_upkeep)
		return;
	run->next_upkeep = after(agent, now, upkeep_gap);
	if (now >= run->next_clock) {
		run->next_clock = after(agent, now, clock_gap);
		dp_clock_update(agent->clock);
	}
	ask_neighbour(agent);
	step_phase(run, now, prober_expire(&agent->prober, now));
	tell(run, now);
}

static void nap(const struct run *run, uint64_t now)
{
	const struct agent *agent = run->agent;
	uint64_t wake = run->next_upkeep, due = prober_next_due(&agent->prober);
	struct ns length;

	if (run->phase <= PHASE_MEASURING && due < wake)
		wake = due;
	if (wake <= now)
		return;
	length = dp_clock_duration(agent->clock, (int64_t)(wake - now));
	if (length.v > longest_sleep.v)
		length = longest_sleep;
	if (agent->doorbell) {
		doorbell_wait(agent->doorbell, length);
		return;
	}
	nanosleep(&(struct timespec){0, (long)(length.v < blind_nap.v ? length.v : blind_nap.v)}, NULL);
}

/* What came in between the port's start and ours was not stamped when it came: answering it now would be a lie. */
static void discard_old_frames(struct agent *agent)
{
	struct dp_packet *burst[AGENT_BURST];
	uint16_t count;

	do {
		count = dp_receive(agent->port_id, 0, burst, AGENT_BURST);
		dp_packets_free(burst, count);
	} while (count == AGENT_BURST);
}

static void start_run(struct run *run, struct agent *agent)
{
	uint64_t now = dp_cycles();

	*run = (struct run){.agent = agent, .phase_end = UINT64_MAX};
	run->next_clock = after(agent, now, clock_gap);
	agent->last_request = now;
	if (agent->prober.target_count) {
		run->phase_end = after(agent, now, agent->options.patience);
		prober_greet(&agent->prober, now);
	} else {
		begin_measuring(run, now);
	}
}

void agent_run(struct agent *agent, const volatile sig_atomic_t *stop)
{
	struct prober_probe probe;
	struct run run;

	prctl(PR_SET_TIMERSLACK, 1UL); /* the default lets a sleep end 50 us late */
	discard_old_frames(agent);
	start_run(&run, agent);
	while (!*stop && run.phase != PHASE_OVER) {
		bool busy = receive(agent) > 0;
		uint64_t now = dp_cycles();

		upkeep(&run, now);
		if (run.phase <= PHASE_MEASURING && prober_take(&agent->prober, now, &agent->neighbours, &probe)) {
			send_probe(agent, &probe);
			busy = true;
		}
		if (!busy && agent->sleeps)
			nap(&run, now);
	}
	if (run.phase == PHASE_MEASURING)
		agent->measure_end = dp_cycles();
	prober_expire(&agent->prober, dp_cycles());
	prober_abandon(&agent->prober);
}
