/* SPDX-License-Identifier: BSD-3-Clause */
#include "prober_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/rng.h>
#include <probe/rtt/exchange.h>

enum {
	FIRST_DYNAMIC_PORT = 49152, /* RFC 6335 section 6 */
	DYNAMIC_PORTS = 16384,
	GREETER_WINDOW = 64,
	SESSIONS_MAXIMUM = 65536,
	SESSIONS_FINE = 1024, /* up to so many, histograms keep three digits; beyond, two */
};

static const struct ns greeting_gap = {50 * NS_PER_MS};
static const int64_t rtt_highest_ns = INT64_C(10) * NS_PER_S;

static struct histogram *new_histogram(const struct prober *prober)
{
	size_t sessions = prober->target_count * prober->options->paths;

	return histogram_create(100, rtt_highest_ns, sessions <= SESSIONS_FINE ? 3 : 2);
}

/* Distinct ports at random, so that two runs hash onto other links and one run covers many. */
static int choose_ports(struct prober *prober, struct rng *rng)
{
	uint32_t paths = prober->options->paths;

	prober->ports = calloc(paths, sizeof *prober->ports);
	prober->path_of_port = malloc(65536 * sizeof *prober->path_of_port);
	if (!prober->ports || !prober->path_of_port)
		return -ENOMEM;
	memset(prober->path_of_port, 0xff, 65536 * sizeof *prober->path_of_port);
	for (uint32_t i = 0; i < paths;) {
		uint16_t port = (uint16_t)(FIRST_DYNAMIC_PORT + rng_below(rng, DYNAMIC_PORTS));

		if (prober->path_of_port[port] >= 0 || port == prober->options->udp_port)
			continue;
		prober->path_of_port[port] = (int16_t)i;
		prober->ports[i++] = port;
	}
	return 0;
}

/* As many probes as can be out at once on a path: what is sent within the timeout, and some. */
static uint32_t session_window(const struct agent_options *options)
{
	int64_t gap = options->interval.v * options->paths;
	int64_t window = options->timeout.v / (gap > 0 ? gap : 1) + 16;

	return window > 65536 ? 65536 : (uint32_t)window;
}

static int fill_target(struct prober *prober, struct prober_target *target)
{
	const struct agent_options *options = prober->options;

	target->greeter = session_create(GREETER_WINDOW);
	target->paths = calloc(options->paths, sizeof *target->paths);
	target->residence = new_histogram(prober);
	target->all = new_histogram(prober);
	if (!target->greeter || !target->paths || !target->residence || !target->all)
		return -ENOMEM;
	for (uint32_t i = 0; i < options->paths; i++) {
		target->paths[i].session = session_create(session_window(options));
		target->paths[i].rtt = new_histogram(prober);
		if (!target->paths[i].session || !target->paths[i].rtt)
			return -ENOMEM;
	}
	return 0;
}

static uint32_t next_hop(const struct agent_options *options, uint32_t address)
{
	uint32_t mask = options->prefix_bits <= 0 ? 0 : ~UINT32_C(0) << (32 - options->prefix_bits);

	if (options->gateway && ((address ^ options->address) & mask))
		return options->gateway;
	return address;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct prober_target *first = *(struct prober_target *const *)a;
	const struct prober_target *second = *(struct prober_target *const *)b;

	return (first->peer->address > second->peer->address) - (first->peer->address < second->peer->address);
}

static int add_targets(struct prober *prober, struct neighbours *neighbours)
{
	const struct peers *peers = prober->options->peers;

	for (size_t i = 0, at = 0; peers && i < peers->count; i++) {
		const struct peer *peer = &peers->items[i];
		struct prober_target *target = &prober->targets[at];
		int64_t neighbour;

		if (peer->address == prober->options->address)
			continue;
		neighbour = neighbours_add(neighbours, next_hop(prober->options, peer->address),
					   peer->has_mac ? peer->mac : NULL);
		if (neighbour < 0)
			return (int)neighbour;
		target->peer = peer;
		target->neighbour = (size_t)neighbour;
		target->best_delay.v = INT64_MAX;
		if (fill_target(prober, target))
			return -ENOMEM;
		prober->by_address[at++] = target;
	}
	qsort(prober->by_address, prober->target_count, sizeof *prober->by_address, compare_addresses);
	return 0;
}

int prober_create(struct prober *prober, const struct agent_options *options, struct dp_clock *clock,
		  struct neighbours *neighbours, struct error *err)
{
	struct rng rng;

	*prober = (struct prober){.options = options, .clock = clock, .next_due = UINT64_MAX};
	for (size_t i = 0; options->peers && i < options->peers->count; i++)
		prober->target_count += options->peers->items[i].address != options->address;
	if (prober->target_count * options->paths > SESSIONS_MAXIMUM)
		return error_set(err, E2BIG, "%zu peers over %u paths are more than %d sessions: give fewer paths",
				 prober->target_count, options->paths, SESSIONS_MAXIMUM);
	rng_seed(&rng, options->seed);
	prober->session = (uint16_t)(1 + rng_below(&rng, 32767));
	prober->greeting_session = (uint16_t)(prober->session + 32767);
	prober->targets = calloc(prober->target_count + 1, sizeof *prober->targets);
	prober->by_address = calloc(prober->target_count + 1, sizeof *prober->by_address);
	if (!prober->targets || !prober->by_address || choose_ports(prober, &rng) || add_targets(prober, neighbours)) {
		prober_free(prober);
		return error_set(err, ENOMEM, "no memory for the histograms of %zu peers over %u paths",
				 prober->target_count, options->paths);
	}
	return 0;
}

void prober_free(struct prober *prober)
{
	for (size_t i = 0; prober->targets && i < prober->target_count; i++) {
		struct prober_target *target = &prober->targets[i];

		for (uint32_t path = 0; target->paths && path < prober->options->paths; path++) {
			session_destroy(target->paths[path].session);
			histogram_destroy(target->paths[path].rtt);
		}
		free(target->paths);
		session_destroy(target->greeter);
		histogram_destroy(target->residence);
		histogram_destroy(target->all);
	}
	free(prober->targets);
	free(prober->by_address);
	free(prober->ports);
	free(prober->path_of_port);
	*prober = (struct prober){.next_due = UINT64_MAX};
}

static void set_schedule(struct prober *prober, struct ns interval, uint64_t now)
{
	size_t targets = prober->target_count ? prober->target_count : 1;

	prober->gap_ticks = (double)interval.v / prober->clock->ns_per_cycle / (double)targets;
	prober->schedule_start = now;
	prober->turn = 0;
	prober->next_due = prober->target_count ? now : UINT64_MAX;
}

void prober_greet(struct prober *prober, uint64_t now)
{
	prober->measuring = false;
	set_schedule(prober, greeting_gap, now);
}

void prober_measure(struct prober *prober, uint64_t now)
{
	prober->measuring = true;
	set_schedule(prober, prober->options->interval, now);
}

bool prober_all_heard(const struct prober *prober)
{
	for (size_t i = 0; i < prober->target_count; i++)
		if (!prober->targets[i].heard)
			return false;
	return true;
}

bool prober_done(const struct prober *prober, const struct neighbours *neighbours)
{
	uint64_t count = prober->options->count;

	if (!count)
		return false;
	for (size_t i = 0; i < prober->target_count; i++) {
		bool reachable = neighbours->items[prober->targets[i].neighbour].known;

		if (prober->targets[i].sent < count && (reachable || prober->turn < count * prober->target_count))
			return false;
	}
	return true;
}

/* When our slot of wall time begins next, or `now` if it is our turn. The last eighth is kept free for answers. */
static uint64_t slot_begin(const struct prober *prober, uint64_t now)
{
	const struct agent_options *options = prober->options;
	int64_t length = options->slot_length.v, round = length * options->slots;
	int64_t within, begin;

	if (options->slots <= 1 || !prober->measuring)
		return now;
	within = dp_clock_wall(prober->clock, now).v % round;
	begin = length * options->slot;
	if (within >= begin && within < begin + length - length / 8)
		return now;
	if (within >= begin)
		begin += round;
	return now + (uint64_t)dp_clock_cycles(prober->clock, (struct ns){begin - within});
}

uint64_t prober_next_due(const struct prober *prober)
{
	return prober->next_due;
}

static void advance(struct prober *prober, uint64_t now)
{
	uint64_t late;

	prober->turn++;
	prober->next_due = prober->schedule_start + (uint64_t)((double)prober->turn * prober->gap_ticks);
	late = now > prober->next_due ? now - prober->next_due : 0;
	/* A stall of over a round is not made good by a burst: that would measure the burst. */
	if ((double)late > prober->gap_ticks * (double)prober->target_count) {
		prober->skipped += prober->measuring ? (uint64_t)((double)late / prober->gap_ticks) : 0;
		prober->schedule_start = now - (uint64_t)((double)prober->turn * prober->gap_ticks);
		prober->next_due = now;
	}
}

static void fill_probe(struct prober *prober, size_t index, struct prober_probe *probe)
{
	struct prober_target *target = &prober->targets[index];

	*probe = (struct prober_probe){.target = index};
	if (prober->measuring) {
		probe->path = target->next_path;
		target->next_path = (target->next_path + 1) % prober->options->paths;
		probe->request.session = prober->session;
		probe->request.sequence = session_send(target->paths[probe->path].session, 0);
		target->sent++;
	} else {
		probe->request.session = prober->greeting_session;
		probe->request.sequence = session_send(target->greeter, 0);
	}
	probe->source_port = prober->ports[probe->path];
}

bool prober_take(struct prober *prober, uint64_t now, const struct neighbours *neighbours, struct prober_probe *probe)
{
	size_t index;
	const struct prober_target *target;
	uint64_t begin;

	if (now < prober->next_due || prober->next_due == UINT64_MAX)
		return false;
	begin = slot_begin(prober, now);
	if (begin > now) {
		prober->schedule_start += begin - prober->next_due;
		prober->next_due = begin;
		return false;
	}
	index = (size_t)(prober->turn % prober->target_count);
	target = &prober->targets[index];
	advance(prober, now);
	if (!neighbours->items[target->neighbour].known)
		return false;
	if (prober->measuring ? prober->options->count && target->sent >= prober->options->count : target->heard)
		return false;
	fill_probe(prober, index, probe);
	return true;
}

static struct session *session_of(struct prober *prober, const struct prober_probe *probe)
{
	struct prober_target *target = &prober->targets[probe->target];

	return probe->request.session == prober->session ? target->paths[probe->path].session : target->greeter;
}

void prober_sent(struct prober *prober, const struct prober_probe *probe, uint64_t sent_ticks)
{
	session_restamp(session_of(prober, probe), sent_ticks);
}

void prober_unsent(struct prober *prober, const struct prober_probe *probe)
{
	session_unsend(session_of(prober, probe));
	if (probe->request.session == prober->session)
		prober->targets[probe->target].sent--;
}

static struct prober_target *find_target(const struct prober *prober, uint32_t address)
{
	size_t low = 0, high = prober->target_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (prober->by_address[middle]->peer->address < address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == prober->target_count || prober->by_address[low]->peer->address != address)
		return NULL;
	return prober->by_address[low];
}

static void take_sample(struct prober *prober, struct prober_target *target, int16_t path,
			const struct stamp_reply *reply, uint64_t sent_ticks, uint64_t received_ticks)
{
	struct ns gross = dp_clock_duration(prober->clock, (int64_t)(received_ticks - sent_ticks));
	struct ns sent_at = dp_clock_wall(prober->clock, sent_ticks);
	struct exchange exchange = {sent_at, reply->received_at, reply->sent_at, ns_add(sent_at, gross)};
	struct agent_sample sample = {
		.peer = target->peer,
		.source_port = prober->ports[path],
		.sequence = reply->request_sequence,
		.sent_at = sent_at,
		.rtt = exchange_delay(&exchange),
		.residence = exchange_residence(&exchange),
		.offset = exchange_offset(&exchange),
	};

	histogram_record(target->paths[path].rtt, sample.rtt.v);
	histogram_record(target->residence, sample.residence.v);
	if (sample.rtt.v < target->best_delay.v) {
		target->best_delay = sample.rtt;
		target->best_offset = sample.offset;
	}
	if (prober->options->on_sample)
		prober->options->on_sample(prober->options->context, &sample);
}

bool prober_answer(struct prober *prober, const struct frame *frame, uint64_t received_ticks)
{
	int16_t path = prober->path_of_port ? prober->path_of_port[frame->destination_port] : -1;
	struct prober_target *target = path >= 0 ? find_target(prober, frame->source_address) : NULL;
	struct stamp_reply reply;
	uint64_t sent_ticks;

	if (!target || stamp_read_reply(frame->payload, frame->payload_bytes, &reply))
		return false;
	if (reply.session == prober->greeting_session) {
		target->heard = true;
		return true;
	}
	if (reply.session != prober->session)
		return false;
	if (session_receive(target->paths[path].session, reply.request_sequence, reply.sequence, &sent_ticks) ==
	    SESSION_FRESH)
		take_sample(prober, target, path, &reply, sent_ticks, received_ticks);
	return true;
}

uint64_t prober_expire(struct prober *prober, uint64_t now)
{
	uint64_t deadline = now - (uint64_t)dp_clock_cycles(prober->clock, prober->options->timeout);
	uint64_t outstanding = 0;

	for (size_t i = 0; i < prober->target_count; i++)
		for (uint32_t path = 0; path < prober->options->paths; path++) {
			session_expire(prober->targets[i].paths[path].session, deadline);
			outstanding += session_outstanding(prober->targets[i].paths[path].session);
		}
	return outstanding;
}

void prober_abandon(struct prober *prober)
{
	for (size_t i = 0; i < prober->target_count; i++)
		for (uint32_t path = 0; path < prober->options->paths; path++)
			session_abandon(prober->targets[i].paths[path].session);
}

void prober_sum(struct prober *prober, size_t target)
{
	histogram_reset(prober->targets[target].all);
	for (uint32_t path = 0; path < prober->options->paths; path++)
		histogram_merge(prober->targets[target].all, prober->targets[target].paths[path].rtt);
}
