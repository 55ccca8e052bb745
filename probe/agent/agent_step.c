/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One iteration of an agent's loop: receives bursts, sends answers and probes. agent_sleep() sleeps between iterations.
 * Nothing here allocates from the heap or prints.
 */
#include "agent_priv.h"

#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include <dp/packet.h>

enum {
	SEND_ATTEMPTS = 1000,
	EXPIRED_SESSIONS = 64, /* sessions checked for timeouts in each iteration: takes about 5 us */
	NEIGHBOURS_ASKED = 32, /* maximum number of neighbours queried in each upkeep() */
};

/*
 * Maximum length of a sleep:
 *   - blind_nap: if no socket can wake us
 *   - longest_sleep: if a socket can wake us; limited because of clock upkeep, ARP and signals
 */
static const struct ns blind_nap = {20 * NS_PER_US}, longest_sleep = {50 * NS_PER_MS};
static const struct ns kernel_slack = {NS_PER_MS}; /* a kernel stamp may be later than our counter by this; if it is
						      later by more, the wall clock was set */
static const struct ns upkeep_gap = {10 * NS_PER_MS}, clock_gap = {NS_PER_S};

struct stamp agent_now(const struct agent *agent)
{
	return dp_now(agent->clock);
}

/*
 * Returns a conversion between our counter and the kernel's clock that was updated at most 1 ms ago. In 1 ms, the two
 * drift apart by less than 1 ns.
 */
static const struct dp_clock *fresh_clock(struct agent *agent)
{
	struct ns age;

	if (!stamp_difference(dp_now(agent->clock), agent->read_at, &age) || age.v > NS_PER_MS) {
		agent->reading = *agent->clock;
		dp_clock_update(&agent->reading);
		agent->read_at = dp_now(agent->clock);
	}
	return &agent->reading;
}

/* Copies a frame into the capture queue. */
static void keep_frame(struct agent *agent, const uint8_t *bytes, size_t captured, size_t length, struct stamp at,
		       bool outbound)
{
	struct agent_frame frame;

	if (!agent->frames)
		return;
	frame.at = at;
	frame.outbound = outbound;
	frame.length = (uint32_t)length;
	frame.captured = (uint32_t)(captured < AGENT_FRAME_BYTES ? captured : AGENT_FRAME_BYTES);
	memcpy(frame.bytes, bytes, frame.captured);
	if (!spsc_put(agent->frames, &frame))
		agent->frames_dropped++;
}

/* Uses the kernel's departure time of a frame that we sent. */
static void take_departure(void *context, const struct kernel_departure *departure)
{
	const struct frame *frame = departure->frame;
	struct agent *agent = context;
	struct stamp left_at;
	struct ns age;

	if (frame->source_address != agent->options.address)
		return;
	left_at = dp_clock_from_wall(fresh_clock(agent), departure->at);
	if (!stamp_difference(dp_now(agent->clock), left_at, &age) || age.v < -kernel_slack.v)
		return; /* in the future: the wall clock was set */
	agent->departures++;
	keep_frame(agent, departure->bytes, departure->captured, departure->length, departure->at, true);
	if (frame->source_port == agent->options.udp_port)
		reflector_left(agent->reflector, frame, (struct ns){departure->at.ns});
	else
		prober_left(&agent->prober, frame, left_at);
}

static void take_departures(struct agent *agent)
{
	if (agent->wants_kernel_stamps)
		kernel_stamps_departures(agent->kernel, take_departure, agent);
}

/* Captures sent frames, unless the kernel reports their departures (then take_departure() captures them). */
static void keep_sent(struct agent *agent, struct dp_packet **packets, uint16_t count)
{
	struct stamp now;

	if (!agent->frames || (agent->wants_kernel_stamps && kernel_stamps_has_departures(agent->kernel)))
		return;
	now = dp_clock_to_wall(agent->clock, dp_now(agent->clock));
	for (uint16_t i = 0; i < count; i++)
		keep_frame(agent, dp_packet_bytes(packets[i]), dp_packet_contiguous(packets[i]),
			   dp_packet_length(packets[i]), now, true);
}

/*
 * Sends the packets; while the transmit ring is full, tries again, SEND_ATTEMPTS times in all. Returns the number of
 * packets sent. The others, at the end of packets[], are freed.
 */
static uint16_t send_now(struct agent *agent, struct dp_packet **packets, uint16_t count)
{
	uint16_t sent = 0;

	for (int attempt = 0; attempt < SEND_ATTEMPTS && sent < count; attempt++)
		sent += dp_transmit(agent->port_id, agent->options.queue, packets + sent, (uint16_t)(count - sent));
	dp_packets_free(packets + sent, count - sent);
	agent->send_failures += count - sent;
	return sent;
}

static void send_neighbour(struct agent *agent, enum frame_kind kind, ip_address about, const uint8_t *to,
			   struct dp_packet *packet)
{
	struct frame frame = {.kind = kind, .source_address = agent->options.address, .destination_address = about};

	agent_add_tag(agent, &frame);
	memcpy(frame.source_mac, agent->mac, FRAME_MAC_BYTES);
	if (to)
		memcpy(frame.destination_mac, to, FRAME_MAC_BYTES);
	dp_packet_set_length(packet, frame_write_neighbour(&frame, dp_packet_bytes(packet), dp_packet_room(packet)));
	send_now(agent, &packet, 1);
}

/* Handles neighbours' queries and answers; both contain the sender's MAC. Returns true if the packet was consumed. */
static bool take_neighbour(struct agent *agent, const struct frame *frame, struct dp_packet *packet)
{
	neighbours_learn(&agent->neighbours, frame, ns_now_monotonic());
	if (frame->kind == FRAME_WHO_HAS && agent->answers_neighbours &&
	    frame->destination_address == agent->options.address) {
		uint8_t asker[FRAME_MAC_BYTES];

		memcpy(asker, frame->source_mac, FRAME_MAC_BYTES);
		send_neighbour(agent, FRAME_IS_AT, frame->source_address, asker, packet);
		return true;
	}
	return false;
}

/*
 * Sends the collected answers. All have the same t3; it is read right before their base packets, headers and checksums
 * are written.
 */
static void send_answers(struct agent *agent)
{
	struct agent_answers *answers = &agent->answers;
	struct ns sent_at = {dp_clock_to_wall(agent->clock, dp_now(agent->clock)).ns}, left_at;
	uint16_t sent;

	/*
	 * Writes all payloads before it computes the first checksum: a checksum loads wide words, which stalls while
	 * narrower stores to the same bytes are pending.
	 */
	for (uint16_t i = 0; i < answers->count; i++)
		reflector_finish(&answers->prepared[i], sent_at, answers->payloads[i]);
	for (uint16_t i = 0; i < answers->count; i++) {
		struct dp_packet *packet = answers->packets[i];

		dp_packet_set_length(
			packet, frame_write_udp(&answers->frames[i], dp_packet_bytes(packet), dp_packet_room(packet)));
	}
	keep_sent(agent, answers->packets, answers->count);
	sent = send_now(agent, answers->packets, answers->count);
	left_at.v = dp_clock_to_wall(agent->clock, dp_now(agent->clock)).ns;
	for (uint16_t i = 0; i < sent; i++)
		reflector_sent(agent->reflector, &answers->prepared[i], left_at);
	answers->count = 0;
	take_departures(agent);
}

/* Writes the answer into the request's own buffer. Returns true if the packet was consumed. */
static bool take_request(struct agent *agent, const struct frame *request, struct stamp arrived,
			 struct dp_packet *packet)
{
	struct agent_answers *answers = &agent->answers;
	struct reflector_answer *prepared = &answers->prepared[answers->count];
	uint8_t *bytes = dp_packet_bytes(packet);
	uint8_t *payload = bytes + (request->payload - bytes);
	struct stamp received_at = dp_clock_to_wall(agent->clock, arrived);
	struct frame *answer = &answers->frames[answers->count];

	agent->last_request = arrived;
	if (dp_packet_room(packet) < (size_t)(payload - bytes) + STAMP_AUTHENTICATED_BYTES ||
	    reflector_prepare(agent->reflector, request, (struct ns){received_at.ns}, agent->error_estimate, payload,
			      prepared))
		return false;
	*answer = *request; /* the answer keeps the request's tags and DF bit */
	answer->source_address = request->destination_address;
	answer->destination_address = request->source_address;
	answer->source_port = request->destination_port;
	answer->destination_port = request->source_port;
	answer->ttl = 0;
	answer->dscp = prepared->dscp >= 0 ? (uint8_t)prepared->dscp : request->dscp;
	answer->ecn = request->ecn == FRAME_CONGESTED ? 0 : request->ecn;
	answer->payload = payload;
	answer->payload_bytes = prepared->payload_bytes;
	memcpy(answer->source_mac, agent->mac, FRAME_MAC_BYTES);
	memcpy(answer->destination_mac, request->source_mac, FRAME_MAC_BYTES);
	answers->packets[answers->count] = packet;
	answers->payloads[answers->count++] = payload;
	if (answers->count >= agent->burst)
		send_answers(agent);
	return true;
}

/* Information about the arrival of a burst of frames. */
struct arrival {
	struct stamp received;        /* when the RX burst returned, CLOCK_COUNTER */
	const struct dp_clock *clock; /* converts the kernel's timestamps to the counter */
	bool late;                    /* the port was not polled for longer than the stall limit */
	bool handed_over;             /* received by another agent of the group */
};

static bool stamp_by_nic(const struct agent *agent, const struct dp_packet *packet, struct stamp *arrived)
{
	uint64_t nic, tsc;

	if (!agent->wants_nic_stamps || !dp_packet_stamp(packet, &agent->nic_stamps, &nic) ||
	    !nic_clock_to_tsc(&agent->nic_clock, nic, &tsc))
		return false;
	*arrived = dp_clock_stamp(agent->clock, tsc);
	return true;
}

/*
 * Finds the best stamp of a frame's arrival. *best is an output parameter, because copying a returned struct would
 * stall on the narrower stores to it.
 */
static void stamp_arrival(struct agent *agent, const struct dp_packet *packet, const struct frame *frame,
			  const struct arrival *arrival, struct prober_arrival *best)
{
	struct kernel_arrival kernel = {.at.valid = false};
	struct stamp arrived;
	struct ns waited = {0};

	*best = (struct prober_arrival){.at = arrival->received, .disturbed = arrival->late};
	if (stamp_by_nic(agent, packet, &arrived)) {
		*best = (struct prober_arrival){.at = arrived, .by_nic = true};
		return;
	}
	if (agent->wants_kernel_stamps)
		kernel = kernel_stamps_find(agent->kernel, frame);
	if (kernel.at.valid) {
		arrived = dp_clock_from_wall(arrival->clock, kernel.at);
		stamp_difference(arrival->received, arrived, &waited);
	}
	/* A stamp in the future is not used: the wall clock was set. */
	if (kernel.at.valid && waited.v >= -kernel_slack.v) {
		histogram_record(agent->wake_up, waited.v);
		*best = (struct prober_arrival){.at = arrived, .by_kernel = true};
		return;
	}
	agent->unstamped += agent->wants_kernel_stamps || agent->wants_nic_stamps;
}

/* True for frames to our address whose source or destination port is the reflectors' port. */
static bool is_ours(const struct agent *agent, const struct frame *frame)
{
	return frame->destination_address == agent->options.address &&
	       (frame->destination_port == agent->options.udp_port || frame->source_port == agent->options.udp_port);
}

/*
 * Returns false for broken frames. If a local sender left the checksum for the NIC to fill in, the frame counts as
 * intact only if the kernel marks it so.
 */
static bool is_intact(struct agent *agent, const struct frame *frame)
{
	if (frame->kind == FRAME_UDP)
		return true;
	if (!frame->unfinished || !is_ours(agent, frame)) {
		agent->broken_frames += frame->kind == FRAME_BROKEN;
		return false;
	}
	if (agent->kernel && kernel_stamps_find(agent->kernel, frame).no_checksum)
		return true;
	agent->unfinished_checksums++;
	return false;
}

/* True for frames of the VLAN given by --vlan or, without --vlan, for untagged and priority-tagged frames (VLAN 0). */
static bool in_our_vlan(const struct agent *agent, const struct frame *frame)
{
	uint16_t ours = agent->options.tagged ? agent->options.tag_control & FRAME_VLAN_MASK : 0;

	return frame->tags == 0 ? ours == 0 : frame->tags == 1 && (frame->tag[0].control & FRAME_VLAN_MASK) == ours;
}

static void take_expired(struct agent *agent, const uint8_t *bytes, size_t length)
{
	struct expired expired;

	if (expired_read(bytes, length, &expired) == 0)
		prober_expired(&agent->prober, &expired, dp_now(agent->clock));
}

/* Passes the packet to another agent, or frees it. Always consumes it. */
static void put_into_inbox(struct agent *agent, uint16_t to, struct dp_packet *packet, const struct arrival *arrival)
{
	struct agent_handover item = {packet, arrival->received, arrival->late};

	if (packet && spsc_put(agent->group[to]->inbox[agent->options.queue], &item)) {
		agent->handed_over++;
		return;
	}
	agent->not_handed_over++;
	dp_packet_free(packet);
}

/*
 * Passes a frame that arrived on this queue to the agent of the group that must handle it, if that is not this one: an
 * answer (its destination port identifies the agent) or a router's message about a probe. Passes copies of ARP and ND
 * frames to all other agents. Returns true if the packet was consumed.
 */
static bool hand_over(struct agent *agent, const struct frame *frame, struct dp_packet *packet,
		      const struct arrival *arrival)
{
	const uint16_t queues = agent->options.queues, self = agent->options.queue;
	struct expired expired;
	uint16_t owner = self;

	if (frame->kind == FRAME_WHO_HAS || frame->kind == FRAME_IS_AT) {
		for (uint16_t to = 0; to < queues; to++)
			if (to != self)
				put_into_inbox(agent, to, dp_packet_copy(packet), arrival);
		return false;
	}
	if (frame->kind == FRAME_UDP && frame->source_port == agent->options.udp_port &&
	    frame->destination_port != agent->options.udp_port)
		owner = frame->destination_port % queues;
	else if (agent->options.find_paths && frame->kind == FRAME_OTHER &&
		 expired_read(dp_packet_bytes(packet), dp_packet_contiguous(packet), &expired) == 0)
		owner = expired.source_port % queues;
	if (owner == self)
		return false;
	put_into_inbox(agent, owner, packet, arrival);
	return true;
}

/* Returns true if the packet was consumed. */
static bool take_frame(struct agent *agent, struct dp_packet *packet, const struct frame *frame,
		       const struct arrival *arrival)
{
	const uint8_t *bytes = dp_packet_bytes(packet);
	struct prober_arrival arrived;

	if (agent->group && !arrival->handed_over && hand_over(agent, frame, packet, arrival))
		return true;
	if (!in_our_vlan(agent, frame)) {
		agent->other_vlan += frame->kind == FRAME_UDP && is_ours(agent, frame);
		return false;
	}
	if (frame->kind == FRAME_WHO_HAS || frame->kind == FRAME_IS_AT)
		return take_neighbour(agent, frame, packet);
	if (agent->options.find_paths && frame->kind == FRAME_OTHER)
		take_expired(agent, bytes, dp_packet_contiguous(packet));
	if (!is_intact(agent, frame) || !is_ours(agent, frame) || !dp_packet_in_one_piece(packet))
		return false;
	stamp_arrival(agent, packet, frame, arrival, &arrived);
	if (agent->frames)
		keep_frame(agent, bytes, dp_packet_contiguous(packet), dp_packet_length(packet),
			   dp_clock_to_wall(agent->clock, arrived.at), false);
	if (frame->destination_port == agent->options.udp_port && agent->options.reflect)
		return take_request(agent, frame, arrived.at, packet);
	prober_answer(&agent->prober, frame, &arrived);
	return false;
}

static void take_frames(struct agent *agent, struct dp_packet **packets, uint16_t count, const struct arrival *arrival)
{
	struct frame frames[AGENT_BURST];
	uint16_t kept = 0;

	for (uint16_t i = 0; i < count; i++)
		__builtin_prefetch(dp_packet_bytes(packets[i]));
	for (uint16_t i = 0; i < count; i++)
		frame_read(dp_packet_bytes(packets[i]), dp_packet_contiguous(packets[i]),
			   dp_packet_contiguous(packets[i]), &frames[i]);
	agent_prefetch(agent, frames, count);
	for (uint16_t i = 0; i < count; i++)
		if (!take_frame(agent, packets[i], &frames[i], arrival))
			packets[kept++] = packets[i];
	dp_packets_free(packets, kept);
}

static bool longer_than(const struct agent *agent, struct stamp later, struct stamp earlier)
{
	struct ns time;

	return stamp_difference(later, earlier, &time) && time.v > agent->options.stall.v;
}

static uint16_t receive(struct agent *agent)
{
	struct dp_packet *burst[AGENT_BURST];
	uint16_t count = dp_receive(agent->port_id, agent->options.queue, burst, AGENT_BURST);
	struct arrival arrival = {.received = dp_now(agent->clock)};

	arrival.late = longer_than(agent, arrival.received, agent->last_look);
	agent->last_look = arrival.received;
	/* Also if we do not use the stamps: unread messages in the socket would keep waking us. */
	if (count && agent->kernel)
		kernel_stamps_drain(agent->kernel);
	if (count && agent->wants_kernel_stamps) {
		arrival.clock = fresh_clock(agent);
		take_departures(agent); /* first: a departure corrects t1 of a probe that this burst may answer */
	}
	if (count)
		take_frames(agent, burst, count, &arrival);
	if (agent->answers.count)
		send_answers(agent);
	return count;
}

/*
 * Sends the probes. Reads the counter right before the TX burst: this t1 is more exact than the stamp in the packets.
 */
static void send_probes(struct agent *agent, struct prober_probe *probes, uint16_t count)
{
	struct dp_packet *packets[AGENT_BURST];
	struct ns written_at = {dp_clock_to_wall(agent->clock, dp_now(agent->clock)).ns};
	uint16_t sent = 0;

	if (dp_packets_alloc(agent->pool, packets, count) == 0) {
		struct stamp sent_at;
		bool disturbed;

		/* 1 ns apart: paths have the same numbers, and a request equal to another one is taken for a replay. */
		for (uint16_t i = 0; i < count; i++)
			probes[i].request.sent_at.v = written_at.v + i;
		agent_write_probes(agent, probes, packets, count);
		keep_sent(agent, packets, count);
		sent_at = dp_now(agent->clock);
		sent = send_now(agent, packets, count);
		disturbed = longer_than(agent, dp_now(agent->clock), sent_at);
		for (uint16_t i = 0; i < sent; i++)
			prober_sent(&agent->prober, &probes[i], sent_at, disturbed);
		take_departures(agent);
	} else {
		agent->send_failures += count;
	}
	for (uint16_t i = count; i > sent; i--)
		prober_unsent(&probes[i - 1]);
}

/*
 * Sends the probes that are due, at most one burst; if there are none, sends a trace probe if one is due. Returns true
 * if it had probes to send.
 */
static bool probe(struct agent *agent, struct stamp now)
{
	struct prober *prober = &agent->prober;
	struct prober_probe probes[AGENT_BURST];
	struct stamp due = prober_next_due(prober);
	uint16_t count = 0;

	if (due.valid && due.ns <= now.ns)
		prober_prefetch_turns(prober, &agent->neighbours, agent->burst);
	for (uint16_t i = 0; i < agent->burst && due.valid && due.ns <= now.ns; i++, due = prober_next_due(prober))
		count += prober_take(prober, now, &agent->neighbours, &probes[count]);
	if (!count)
		count = prober_take_trace(prober, now, &agent->neighbours, probes);
	if (count)
		send_probes(agent, probes, count);
	return count;
}

static void ask_neighbours(struct agent *agent)
{
	for (int asked = 0; asked < NEIGHBOURS_ASKED; asked++) {
		const struct neighbour *neighbour = neighbours_ask(&agent->neighbours, ns_now_monotonic());
		struct dp_packet *packet = neighbour ? dp_packet_alloc(agent->pool) : NULL;

		if (!packet)
			return;
		send_neighbour(agent, FRAME_WHO_HAS, neighbour->address, NULL, packet);
	}
}

/* Periodic tasks that are not needed in every iteration. */
static void upkeep(struct agent *agent, struct stamp now)
{
	uint64_t nic, tsc;

	agent->next_upkeep = stamp_after(now, upkeep_gap);
	if (now.ns >= agent->next_clock.ns) {
		agent->next_clock = stamp_after(now, clock_gap);
		dp_clock_update(agent->clock);
		agent_estimate_error(agent);
		if (agent->wants_nic_stamps && dp_port_read_clock(agent->port, &nic, &tsc) == 0)
			nic_clock_read(&agent->nic_clock, nic, tsc);
	}
	ask_neighbours(agent);
}

/* Handles frames for us that other agents of the group received. */
static bool empty_inbox(struct agent *agent)
{
	struct agent_handover item;
	bool busy = false;

	for (uint16_t from = 0; agent->group && from < agent->options.queues; from++) {
		if (from == agent->options.queue)
			continue;
		for (int i = 0; i < AGENT_BURST && spsc_take(agent->inbox[from], &item); i++) {
			take_frames(
				agent, &item.packet, 1,
				&(struct arrival){.received = item.received, .late = item.late, .handed_over = true});
			busy = true;
		}
	}
	return busy;
}

bool agent_step(struct agent *agent, struct stamp now)
{
	bool busy = receive(agent) > 0;

	busy |= empty_inbox(agent);
	if (now.ns >= agent->next_upkeep.ns)
		upkeep(agent, now);
	busy |= prober_expire(&agent->prober, now, EXPIRED_SESSIONS) == EXPIRED_SESSIONS;
	busy |= probe(agent, now);
	return busy;
}

struct stamp agent_wake_at(const struct agent *agent)
{
	struct stamp due = prober_next_due(&agent->prober);

	if (agent->options.find_paths && due.valid && agent->prober.next_trace_ns < due.ns)
		due.ns = agent->prober.next_trace_ns;
	return due.valid && due.ns < agent->next_upkeep.ns ? due : agent->next_upkeep;
}

void agent_sleep(struct agent *agent, struct stamp until)
{
	struct ns length;

	if (!agent->sleeps || !stamp_difference(until, dp_now(agent->clock), &length) || length.v <= 0)
		return;
	if (length.v > longest_sleep.v)
		length = longest_sleep;
	if (!agent->exact_timers)
		prctl(PR_SET_TIMERSLACK, 1UL); /* with the default, a sleep ends 50 us late */
	agent->exact_timers = true;
	if (!agent->kernel) {
		nanosleep(&(struct timespec){0, (long)(length.v < blind_nap.v ? length.v : blind_nap.v)}, NULL);
		return;
	}
	kernel_stamps_wait(agent->kernel, length);
	take_departures(agent);                  /* unread departures in the error queue would keep waking us */
	agent->last_look = dp_now(agent->clock); /* no poll was missed: a packet ends the sleep */
}
