/* SPDX-License-Identifier: BSD-3-Clause */
#include "prober_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/rng.h>
#include <probe/rtt/exchange.h>

enum {
	GREETER_WINDOW = 64,
	SESSIONS_MAXIMUM = 65536,
	WINDOW_MAXIMUM = 65536,
	WINDOW_SPARE = 16,
};

static const struct ns greeting_gap = {50 * NS_PER_MS};
static const int64_t rtt_lowest_ns = 100, rtt_highest_ns = INT64_C(10) * NS_PER_S;

struct histogram *prober_histogram(const struct prober *prober)
{
	return histogram_create(rtt_lowest_ns, rtt_highest_ns, prober->options->digits == 2 ? 2 : 3);
}

int prober_create(struct prober *prober, const struct agent_options *options, struct dp_clock *clock, struct error *err)
{
	*prober = (struct prober){.options = options, .clock = clock};
	rng_seed(&prober->rng, options->seed);
	prober->session = (uint16_t)(1 + rng_below(&prober->rng, 65535));
	if (options->session || options->key)
		prober->session = options->key ? options->key->session : options->session;
	if (options->samples)
		prober->samples = spsc_create(options->samples, sizeof(struct agent_sample));
	if (prober_choose_ports(prober, &prober->rng) || (options->samples && !prober->samples)) {
		prober_free(prober);
		return error_set(err, ENOMEM, "out of memory");
	}
	return 0;
}

/* As many probes as can be outstanding at once on a path: those sent within the timeout, and some. */
static uint32_t session_window(const struct agent_options *options)
{
	int64_t gap = options->interval.v * options->paths;
	int64_t window = options->timeout.v / (gap > 0 ? gap : 1) + WINDOW_SPARE;

	return window > WINDOW_MAXIMUM ? WINDOW_MAXIMUM : (uint32_t)window;
}

static void target_destroy(struct prober_target *target, uint32_t paths)
{
	for (uint32_t path = 0; target->paths && path < paths; path++) {
		session_destroy(target->paths[path].session);
		histogram_destroy(target->paths[path].rtt);
	}
	free(target->paths);
	target_forget_paths(target);
	session_destroy(target->greeter);
	histogram_destroy(target->rtt);
	histogram_destroy(target->residence);
	free(target);
}

void prober_free(struct prober *prober)
{
	for (size_t i = 0; i < prober->target_count; i++)
		target_destroy(prober->targets[i], prober->options->paths);
	free(prober->targets);
	free(prober->by_address);
	free(prober->ports);
	free(prober->path_of_port);
	free(prober->samples);
	*prober = (struct prober){0};
}

/*
 * The greeter begins with number 1, as if number 0 had been lost: a reflector that numbers its answers itself sends 0,
 * one that copies the request's number sends 1.
 */
static struct session *new_greeter(void)
{
	struct session *greeter = session_create(GREETER_WINDOW);

	if (greeter)
		session_send(greeter, (struct stamp){.clock = CLOCK_COUNTER});
	return greeter;
}

static struct prober_target *target_create(const struct prober *prober, const struct peer *peer)
{
	const struct agent_options *options = prober->options;
	struct prober_target *target = calloc(1, sizeof *target);
	bool whole;

	if (!target)
		return NULL;
	target->peer = *peer;
	target->best_rtt.v = INT64_MAX;
	target->greeter = new_greeter();
	target->paths = calloc(options->paths, sizeof *target->paths);
	target->rtt = prober_histogram(prober);
	target->residence = prober_histogram(prober);
	whole = target->greeter && target->paths && target->rtt && target->residence &&
		target_find_paths(target, options) == 0;
	for (uint32_t i = 0; whole && i < options->paths; i++) {
		target->paths[i].session = session_create(session_window(options));
		target->paths[i].rtt = prober_histogram(prober);
		whole = target->paths[i].session && target->paths[i].rtt;
	}
	if (whole)
		return target;
	target_destroy(target, options->paths);
	return NULL;
}

static ip_address next_hop(const struct agent_options *options, ip_address address)
{
	bool on_link = address_shares_prefix(address, options->address, options->prefix_bits);

	return options->gateway && !on_link ? options->gateway : address;
}

/* Where the address is in by_address, or where it belongs. */
static size_t place_of(const struct prober *prober, ip_address address)
{
	size_t low = 0, high = prober->target_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (prober->by_address[middle]->peer.address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct prober_target *prober_find(const struct prober *prober, ip_address address)
{
	size_t place = place_of(prober, address);

	if (place == prober->target_count || prober->by_address[place]->peer.address != address)
		return NULL;
	return prober->by_address[place];
}

/* The schedule goes on from the turn that is next, with the gaps that this number of peers has. */
static void reschedule(struct prober *prober)
{
	struct ns interval = prober->mode == AGENT_MEASURING ? prober->options->interval : greeting_gap;

	if (prober->target_count == 0 || prober->mode == AGENT_QUIET) {
		prober->next_due.valid = false;
		return;
	}
	prober->gap_ns = (double)interval.v / (double)prober->target_count;
	prober->limited = prober->options->probe_pps && prober->gap_ns * prober->options->probe_pps < NS_PER_S;
	if (prober->limited)
		prober->gap_ns = (double)NS_PER_S / prober->options->probe_pps;
	if (!prober->next_due.valid)
		prober->next_due = prober->schedule_start;
	prober->schedule_start = prober->next_due;
	prober->schedule_start.ns -= (int64_t)((double)prober->turn * prober->gap_ns);
}

static int make_room(struct prober *prober)
{
	struct prober_target **items;

	items = array_grow(prober->targets, prober->target_count, &prober->target_capacity,
			   sizeof(struct prober_target *));
	if (!items)
		return -ENOMEM;
	prober->targets = items;
	items = array_grow(prober->by_address, prober->target_count, &prober->by_address_capacity,
			   sizeof(struct prober_target *));
	if (!items)
		return -ENOMEM;
	prober->by_address = items;
	return 0;
}

int prober_add(struct prober *prober, const struct peer *peer, struct neighbours *neighbours, struct error *err)
{
	const struct agent_options *options = prober->options;
	struct prober_target *target;
	int64_t neighbour;
	size_t place;

	if (address_is_ipv4(peer->address) != address_is_ipv4(options->address))
		return error_set(err, EAFNOSUPPORT, "peer '%s': its address is IPv%d, ours IPv%d", peer->name,
				 address_is_ipv4(peer->address) ? 4 : 6, address_is_ipv4(options->address) ? 4 : 6);
	if (peer->address == options->address || prober_find(prober, peer->address))
		return error_set(err, EEXIST, "peer '%s': its address is ours or another peer's", peer->name);
	if ((prober->target_count + 1) * options->paths > SESSIONS_MAXIMUM)
		return error_set(err, E2BIG, "%zu peers over %u paths are more than %d sessions: give fewer paths",
				 prober->target_count + 1, options->paths, SESSIONS_MAXIMUM);
	target = make_room(prober) ? NULL : target_create(prober, peer);
	neighbour =
		target ? neighbours_add(neighbours, next_hop(options, peer->address), peer->has_mac ? peer->mac : NULL)
		       : -ENOMEM;
	if (neighbour < 0) {
		if (target)
			target_destroy(target, options->paths);
		return error_set(err, ENOMEM, "no memory for the histograms of %zu peers over %u paths",
				 prober->target_count + 1, options->paths);
	}
	target->neighbour = (size_t)neighbour;
	target->began = dp_clock_to_wall(prober->clock, prober->schedule_start);
	place = place_of(prober, peer->address);
	memmove(prober->by_address + place + 1, prober->by_address + place,
		(prober->target_count - place) * sizeof(struct prober_target *));
	prober->by_address[place] = target;
	prober->targets[prober->target_count++] = target;
	reschedule(prober);
	return 0;
}

static void remove_at(struct prober_target **targets, size_t count, size_t place)
{
	memmove(targets + place, targets + place + 1, (count - place - 1) * sizeof(struct prober_target *));
}

int prober_remove(struct prober *prober, ip_address address, struct neighbours *neighbours)
{
	struct prober_target *target = prober_find(prober, address);
	size_t at = 0;

	if (!target)
		return -ENOENT;
	while (prober->targets[at] != target)
		at++;
	for (uint32_t path = 0; path < prober->options->paths; path++)
		prober->outstanding -= session_outstanding(target->paths[path].session);
	neighbours_drop(neighbours, target->neighbour);
	remove_at(prober->by_address, prober->target_count, place_of(prober, address));
	remove_at(prober->targets, prober->target_count, at);
	prober->target_count--;
	target_destroy(target, prober->options->paths);
	reschedule(prober);
	return 0;
}

void prober_set_mode(struct prober *prober, enum agent_mode mode, struct stamp now)
{
	struct stamp wall = dp_clock_to_wall(prober->clock, now);

	prober->mode = mode;
	prober->turn = 0;
	prober->schedule_start = now;
	prober->next_due.valid = false;
	for (size_t i = 0; mode == AGENT_MEASURING && i < prober->target_count; i++)
		prober->targets[i]->began = wall;
	reschedule(prober);
}

bool prober_all_heard(const struct prober *prober)
{
	for (size_t i = 0; i < prober->target_count; i++)
		if (!prober->targets[i]->heard)
			return false;
	return true;
}

bool prober_done(const struct prober *prober, const struct neighbours *neighbours)
{
	uint64_t count = prober->options->count;

	if (!count || !prober->target_count)
		return false;
	for (size_t i = 0; i < prober->target_count; i++) {
		bool reachable = neighbours->items[prober->targets[i]->neighbour].known;

		if (prober->targets[i]->sent < count && (reachable || prober->turn < count * prober->target_count))
			return false;
	}
	return true;
}

/* How long until our slot of wall time begins, 0 in it. Its last eighth is kept free for answers. */
static struct ns until_slot(const struct prober *prober, struct stamp now)
{
	const struct agent_options *options = prober->options;
	int64_t length = options->slot_length.v, round = length * options->slots;
	int64_t within, begin;

	if (options->slots <= 1 || prober->mode != AGENT_MEASURING)
		return (struct ns){0};
	within = dp_clock_to_wall(prober->clock, now).ns % round;
	begin = length * options->slot;
	if (within >= begin && within < begin + length - length / 8)
		return (struct ns){0};
	if (within >= begin)
		begin += round;
	return (struct ns){begin - within};
}

struct ns prober_interval(const struct prober *prober)
{
	return (struct ns){(int64_t)(prober->gap_ns * (double)prober->target_count)};
}

struct stamp prober_next_due(const struct prober *prober)
{
	return prober->next_due;
}

static void advance(struct prober *prober, struct stamp now)
{
	int64_t late_ns;

	prober->turn++;
	if (prober->options->poisson)
		prober->schedule_start.ns += (int64_t)((rng_exponential(&prober->rng) - 1) * prober->gap_ns);
	prober->next_due.ns = prober->schedule_start.ns + (int64_t)((double)prober->turn * prober->gap_ns);
	late_ns = now.ns - prober->next_due.ns;
	/* A stall of over a round is not made up for by a burst: that would measure the burst. */
	if ((double)late_ns > prober->gap_ns * (double)prober->target_count) {
		prober->skipped += prober->mode == AGENT_MEASURING ? (uint64_t)((double)late_ns / prober->gap_ns) : 0;
		prober->schedule_start.ns = now.ns - (int64_t)((double)prober->turn * prober->gap_ns);
		prober->next_due = now;
	}
}

static void fill_probe(struct prober *prober, struct prober_target *target, struct prober_probe *probe)
{
	*probe = (struct prober_probe){.target = target, .session = target->greeter};
	probe->source_port = prober->ports[prober_candidates(prober->options)]; /* greets */
	if (prober->mode == AGENT_MEASURING) {
		uint32_t path = target->next_path;

		target->next_path = (target->next_path + 1) % target->path_count;
		probe->source_port = target_port(prober, target, path);
		probe->session = target->paths[path].session;
		target->sent++;
		prober->outstanding -= session_outstanding(probe->session);
	}
	probe->request.session = prober->session;
	probe->request.authenticated = prober->options->key;
	probe->request.sequence = session_send(probe->session, (struct stamp){.clock = CLOCK_COUNTER});
	if (prober->mode == AGENT_MEASURING)
		prober->outstanding += session_outstanding(probe->session);
}

bool prober_take(struct prober *prober, struct stamp now, const struct neighbours *neighbours,
		 struct prober_probe *probe)
{
	struct prober_target *target;
	struct ns wait;

	if (!prober->next_due.valid || now.ns < prober->next_due.ns)
		return false;
	wait = until_slot(prober, now);
	if (wait.v > 0) {
		prober->schedule_start.ns += now.ns + wait.v - prober->next_due.ns;
		prober->next_due = stamp_after(now, wait);
		return false;
	}
	target = prober->targets[prober->turn % prober->target_count];
	advance(prober, now);
	if (!neighbours->items[target->neighbour].known)
		return false;
	if (prober->mode == AGENT_MEASURING && target->path_count == 0)
		return false; /* until a path is found */
	if (prober->mode == AGENT_MEASURING ? prober->options->count && target->sent >= prober->options->count
					    : target->heard)
		return false;
	fill_probe(prober, target, probe);
	return true;
}

void prober_sent(const struct prober_probe *probe, struct stamp sent_at, bool disturbed)
{
	if (!probe->session)
		return;
	session_restamp(probe->session, sent_at);
	if (disturbed)
		session_disturb(probe->session);
}

void prober_unsent(struct prober *prober, const struct prober_probe *probe)
{
	bool counts = probe->session != probe->target->greeter;

	if (!probe->session)
		return; /* it counts as lost on the way */
	prober->outstanding -= counts ? session_outstanding(probe->session) : 0;
	session_unsend(probe->session);
	prober->outstanding += counts ? session_outstanding(probe->session) : 0;
	probe->target->sent -= counts;
}

static void put_sample(struct prober *prober, const struct agent_sample *sample)
{
	if (prober->samples && !spsc_put(prober->samples, sample))
		prober->samples_dropped++;
}

static void take_sample(struct prober *prober, struct prober_target *target, int path, const struct stamp_reply *reply,
			const struct session_probe *probe, struct stamp received, bool disturbed)
{
	struct exchange exchange = {probe->sent_at, stamp_at(CLOCK_PEER, reply->received_at.v),
				    stamp_at(CLOCK_PEER, reply->sent_at.v), received};
	struct agent_sample sample = {.peer = target->peer.address,
				      .source_port = target_port(prober, target, (uint32_t)path),
				      .sequence = reply->request_sequence,
				      .sent_at = dp_clock_to_wall(prober->clock, probe->sent_at),
				      .disturbed = disturbed || probe->disturbed};
	struct exchange_times times;

	target->last_answer = dp_clock_to_wall(prober->clock, received);
	if (exchange_measure(&exchange, &times) != EXCHANGE_MEASURED) {
		target->impossible++;
		return;
	}
	exchange.t1 = sample.sent_at;
	exchange.t4 = target->last_answer;
	sample.rtt = times.rtt;
	sample.residence = times.residence;
	sample.offset = exchange_offset(&exchange);
	histogram_record(target->rtt, sample.rtt.v);
	histogram_record(target->residence, sample.residence.v);
	if (sample.disturbed)
		target->disturbed++;
	else
		histogram_record(target->paths[path].rtt, sample.rtt.v);
	if (sample.rtt.v < target->best_rtt.v) {
		target->best_rtt = sample.rtt;
		target->best_offset = sample.offset;
	}
	put_sample(prober, &sample);
}

/* An answer to a greeting shows that the peer is there, and whether it numbers answers itself. */
static void take_greeting(struct prober *prober, struct prober_target *target, const struct stamp_reply *reply)
{
	target->heard = true;
	if (reply->sequence == reply->request_sequence)
		return;
	for (uint32_t path = 0; path < prober->options->paths; path++)
		session_set_stateful(target->paths[path].session);
}

static void note_headers(struct agent_headers *seen, const struct frame *frame, const struct stamp_reply *reply)
{
	*seen = (struct agent_headers){
		.seen = true,
		.request_ttl = reply->request_ttl,
		.ttl = frame->ttl,
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
	if (stamp_is_signed(key, frame->payload, frame->payload_bytes))
		return 0;
	prober->bad_hmac++;
	return -EBADMSG;
}

static void note_tlvs(struct prober *prober, struct tlv_reading *tlvs, const struct frame *frame,
		      const struct stamp_reply *reply)
{
	size_t base = stamp_bytes(reply->authenticated);

	if (!prober->options->tlvs || frame->payload_bytes <= base)
		return;
	tlv_read(prober->options->key, reply->sequence, reply->error.format, frame->payload + base,
		 frame->payload_bytes - base, tlvs);
	prober->bad_hmac += tlvs->bad_hmac;
}

bool prober_answer(struct prober *prober, const struct frame *frame, struct stamp received, bool disturbed)
{
	int path = prober->path_of_port ? prober->path_of_port[frame->destination_port] : -1;
	struct prober_target *target = path >= 0 ? prober_find(prober, frame->source_address) : NULL;
	struct session_probe probe;
	struct stamp_reply reply;
	enum session_answer answer;
	struct session *session;

	if (!target || read_reply(prober, frame, &reply))
		return false;
	if (reply.session != prober->session && prober_trace_answer(prober, target, &reply, received))
		return true;
	/* RFC 8972 section 3: a reflector that does not know session identifiers leaves them 0; address and port say
	 * which session it is. */
	if (reply.session != prober->session && (reply.session != 0 || reply.authenticated))
		return false;
	target->ssid_ignored = reply.session == 0;
	if (path == (int)prober_candidates(prober->options)) {
		take_greeting(prober, target, &reply);
		return true;
	}
	path = target_path(target, (uint32_t)path);
	if (path < 0)
		return true; /* a port that was measured before the routes changed */
	session = target->paths[path].session;
	prober->outstanding -= session_outstanding(session);
	answer = session_receive(session, reply.request_sequence, reply.sequence, &probe);
	prober->outstanding += session_outstanding(session);
	note_headers(&target->headers, frame, &reply);
	note_tlvs(prober, &target->tlvs, frame, &reply);
	if (answer == SESSION_FRESH)
		take_sample(prober, target, path, &reply, &probe, received, disturbed);
	return true;
}

static void expire_session(struct prober *prober, struct session *session, struct stamp now)
{
	now.ns -= prober->options->timeout.v;
	prober->outstanding -= session_expire(session, now);
}

void prober_expire(struct prober *prober, struct stamp now, size_t sessions)
{
	size_t all = prober->target_count * prober->options->paths;

	for (size_t i = 0; i < (sessions < all ? sessions : all); i++) {
		if (++prober->expire_path >= prober->options->paths) {
			prober->expire_path = 0;
			prober->expire_target++;
		}
		if (prober->expire_target >= prober->target_count)
			prober->expire_target = 0;
		expire_session(prober, prober->targets[prober->expire_target]->paths[prober->expire_path].session, now);
	}
}

void prober_abandon(struct prober *prober)
{
	for (size_t i = 0; i < prober->target_count; i++)
		for (uint32_t path = 0; path < prober->options->paths; path++)
			session_abandon(prober->targets[i]->paths[path].session);
	prober->outstanding = 0;
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

	out->counters = counters_since(counters, &path->before);
	add_counters(&row->counters, &out->counters);
	if (session_lost_forward(path->session, &lost_forward)) {
		if (lost_forward > path->lost_forward_before)
			row->lost_forward += lost_forward - path->lost_forward_before;
		path->lost_forward_before = lost_forward;
	} else if (out->counters.lost) {
		row->lost_forward_known = false;
	}
	path->before = counters;
	exchange_histograms(&path->rtt, &out->rtt);
	histogram_merge(row->undisturbed, out->rtt);
}

void prober_window(struct prober *prober, size_t index, struct stamp now, struct agent_row *row)
{
	struct prober_target *target = prober->targets[index];

	row->peer = target->peer;
	row->began = target->began;
	row->ended = target->began = dp_clock_to_wall(prober->clock, now);
	row->last_answer = target->last_answer;
	row->counters = (struct session_counters){0};
	row->impossible = target->impossible;
	row->disturbed = target->disturbed;
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
		expire_session(prober, target->paths[path].session, now);
		row->paths[path].source_port = target_port(prober, target, path);
		path_window(&target->paths[path], row, &row->paths[path]);
	}
	exchange_histograms(&target->rtt, &row->rtt);
	exchange_histograms(&target->residence, &row->residence);
	target->impossible = target->disturbed = 0;
	target->last_answer.valid = false;
	target->best_rtt.v = INT64_MAX;
}
