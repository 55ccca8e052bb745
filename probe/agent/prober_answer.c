/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes answers, and ends the windows of results. */
#include "agent_priv.h"

#include <errno.h>

/* An answer to a greeting shows that the peer is up, and whether its answers have their own sequence numbers. */
static void take_greeting(struct prober *prober, struct prober_target *target, const struct stamp_reply *reply)
{
	target->heard = true;
	if (reply->sequence == reply->request_sequence)
		return;
	for (uint32_t path = 0; path < prober->options->paths; path++)
		session_set_stateful(target->paths[path].session);
}

static void note_headers(struct agent_headers *seen, uint8_t sent_ttl, const struct frame *frame,
			 const struct stamp_reply *reply)
{
	*seen = (struct agent_headers){
		.seen = true,
		.request_ttl = reply->request_ttl,
		.ttl = frame->ttl,
		.sent_ttl = sent_ttl,
		.dscp = frame->dscp,
		.ecn = frame->ecn,
		.may_fragment = frame->may_fragment,
		.congested = seen->congested + (frame->ecn == FRAME_CONGESTED),
	};
}

static int read_reply(struct prober *prober, const struct frame *frame, struct stamp_reply *reply)
{
	const struct stamp_key *key = prober->options->key;

	if (!key)
		return stamp_read_reply(frame->payload, frame->payload_bytes, reply);
	if (stamp_read_authenticated_reply(frame->payload, frame->payload_bytes, reply))
		return -EBADMSG;
	if (reply->session != prober->session)
		key = prober->trace_key;
	if (stamp_is_signed(key, frame->payload, frame->payload_bytes))
		return 0;
	prober->bad_hmac++;
	return -EBADMSG;
}

/* Reads the TLVs of an answer into *tlvs. Returns false if the answer has none, or if our probes request none. */
static bool note_tlvs(struct prober *prober, struct tlv_reading *tlvs, const struct frame *frame,
		      const struct stamp_reply *reply)
{
	size_t base = stamp_bytes(reply->authenticated);

	if (!prober->options->tlvs || frame->payload_bytes <= base)
		return false;
	tlv_read(prober->options->key, reply->sequence, reply->error.format, frame->payload + base,
		 frame->payload_bytes - base, tlvs);
	prober->bad_hmac += tlvs->bad_hmac;
	return true;
}

/*
 * Returns false for an answer that names other LAG member links than the probe: such an answer must be ignored (RFC
 * 9534 section 3.2). Also learns the peer's member link, if it is unknown.
 */
static bool is_of_member(struct prober *prober, struct prober_target *target)
{
	const struct tlv_reading *tlvs = &target->tlvs;

	if (!prober->options->member || !(tlvs->filled >> TLV_MICRO_SESSION & 1))
		return true;
	if (!target->peer_member && tlvs->member == prober->options->member)
		target->peer_member = tlvs->peer_member;
	if (tlvs->member == prober->options->member && tlvs->peer_member == target->peer_member)
		return true;
	prober->other_member++;
	return false;
}

static void take_fresh(struct prober *prober, struct prober_target *target, int path, const struct stamp_reply *reply,
		       const struct session_probe *probe, const struct prober_arrival *arrival)
{
	target->peer_synchronised = reply->error.synchronised;
	target->peer_error = stamp_error_to_ns(reply->error);
	target->last_answer = dp_clock_to_wall(prober->clock, arrival->at);
	target_take_exchange(prober, target, path,
			     &(struct prober_exchange){
				     .stamps = {probe->sent_at, stamp_at(CLOCK_PEER, reply->received_at.v),
						stamp_at(CLOCK_PEER, reply->sent_at.v), arrival->at},
				     .clock_error = ns_add(prober->clock_error, target->peer_error),
				     .sequence = reply->request_sequence,
				     .answer_sequence = reply->sequence,
				     .source_port = target_port(prober, target, (uint32_t)path),
				     .synchronised = prober->synchronised && target->peer_synchronised,
				     .disturbed = arrival->disturbed || probe->disturbed,
				     .departed = probe->departed,
				     .arrived = arrival->by_kernel,
				     .arrived_at_nic = arrival->by_nic,
			     });
}

bool prober_answer(struct prober *prober, const struct frame *frame, const struct prober_arrival *arrival)
{
	int path = prober->path_of_port ? prober->path_of_port[frame->destination_port] : -1;
	struct prober_target *target = path >= 0 ? prober_find(prober, frame->source_address) : NULL;
	struct session_probe probe;
	struct stamp_reply reply;
	enum session_answer answer;
	struct session *session;
	bool has_tlvs;

	if (!target || read_reply(prober, frame, &reply))
		return false;
	if (reply.session != prober->session && prober_trace_answer(prober, target, &reply, arrival->at))
		return true;
	/*
	 * RFC 8972 section 3: a reflector that does not support session identifiers sets them to 0; then address and
	 * port identify the session.
	 */
	if (reply.session != prober->session && (reply.session != 0 || reply.authenticated))
		return false;
	if (reply.session == 0 && target->ssid_echoed) {
		prober->forged++; /* this peer supports them */
		return true;
	}
	if (path == (int)prober_candidates(prober->options)) {
		take_greeting(prober, target, &reply);
		return true;
	}
	path = target_path(target, (uint32_t)path);
	if (path < 0)
		return true; /* the port is not measured any more, since the routes have changed */
	session = target->paths[path].session;
	if (!session_echoes(session, reply.request_sequence, reply.request_sent_at)) {
		prober->forged++;
		return true;
	}
	has_tlvs = note_tlvs(prober, &target->tlvs, frame, &reply);
	if (has_tlvs && !is_of_member(prober, target))
		return true;
	answer = session_receive(session, reply.request_sequence, reply.sequence, &probe);
	note_headers(&target->headers, prober->options->ttl, frame, &reply);
	if (has_tlvs && target->held)
		target_follow_up(prober, target, path, &target->tlvs);
	if (answer == SESSION_FRESH) {
		target->ssid_ignored = reply.session == 0;
		target->ssid_echoed = reply.session != 0;
		take_fresh(prober, target, path, &reply, &probe, arrival);
	}
	return true;
}

static struct session_counters counters_since(struct session_counters now, const struct session_counters *before)
{
	return (struct session_counters){
		.sent = now.sent - before->sent,
		.fresh = now.fresh - before->fresh,
		.lost = now.lost - before->lost,
		.late = now.late - before->late,
		.duplicates = now.duplicates - before->duplicates,
		.reordered = now.reordered - before->reordered,
		.unknown = now.unknown - before->unknown,
	};
}

static void add_counters(struct session_counters *sum, const struct session_counters *more)
{
	sum->sent += more->sent;
	sum->fresh += more->fresh;
	sum->lost += more->lost;
	sum->late += more->late;
	sum->duplicates += more->duplicates;
	sum->reordered += more->reordered;
	sum->unknown += more->unknown;
}

static void exchange_histograms(struct histogram **ours, struct histogram **theirs)
{
	struct histogram *full = *ours;

	histogram_reset(*theirs);
	*ours = *theirs;
	*theirs = full;
}

static void path_window(struct prober_path *path, struct agent_row *row, struct agent_path_row *out)
{
	struct session_counters counters = session_counters(path->session);
	uint64_t lost_forward = 0;
	bool known = session_lost_forward(path->session, &lost_forward);

	out->counters = counters_since(counters, &path->before);
	add_counters(&row->counters, &out->counters);
	out->lost_forward_known = known || !out->counters.lost;
	out->lost_forward =
		known && lost_forward > path->lost_forward_before ? lost_forward - path->lost_forward_before : 0;
	if (known)
		path->lost_forward_before = lost_forward;
	row->lost_forward += out->lost_forward;
	row->lost_forward_known = row->lost_forward_known && out->lost_forward_known;
	path->before = counters;
	exchange_histograms(&path->rtt, &out->rtt);
	histogram_merge(row->undisturbed, out->rtt);
}

void prober_window(struct prober *prober, size_t index, struct stamp now, struct agent_row *row)
{
	struct prober_target *target = prober->targets[index];
	struct stamp wall = dp_clock_to_wall(prober->clock, now);

	target_release(prober, target);
	row->peer = target->peer;
	/* A target added in mid-round begins with its first turn, which may be later than now. */
	row->began = target->began.ns < wall.ns ? target->began : wall;
	row->ended = target->began = wall;
	row->last_answer = target->last_answer;
	row->counters = (struct session_counters){0};
	row->impossible = target->impossible;
	row->ssid_ignored = target->ssid_ignored;
	row->headers = target->headers;
	row->tlvs = target->tlvs;
	target->headers.congested = 0;
	row->offset = (struct stamp){target->best_offset.v, CLOCK_PEER, target->best_rtt.v < INT64_MAX};
	row->lost_forward_known = true;
	row->lost_forward = 0;
	histogram_reset(row->undisturbed);
	row->path_count = target->path_count;
	target_describe_paths(target, row);
	for (uint32_t path = 0; path < row->path_count; path++) {
		prober_expire_path(prober, &target->paths[path], now);
		path_record_samples(target, &target->paths[path]);
		row->paths[path].source_port = target_port(prober, target, path);
		path_window(&target->paths[path], row, &row->paths[path]);
	}
	exchange_histograms(&target->disturbed_rtt, &row->rtt);
	row->disturbed = histogram_count(row->rtt);
	histogram_merge(row->rtt, row->undisturbed);
	exchange_histograms(&target->residence, &row->residence);
	exchange_histograms(&target->forward, &row->forward);
	exchange_histograms(&target->backward, &row->backward);
	row->one_way_error = target->one_way_error;
	target_check_one_way(row);
	row->stamps = target->stamps;
	row->clocks = (struct agent_clocks){prober->synchronised, target->peer_synchronised, prober->clock_error,
					    target->peer_error};
	target->one_way_error = (struct ns){0};
	target->stamps = (struct agent_stamp_counts){0};
	target->impossible = 0;
	target->last_answer.valid = false;
	target->best_rtt.v = INT64_MAX;
}
