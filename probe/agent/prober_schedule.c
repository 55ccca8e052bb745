/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules the probes to peers and paths, and counts unanswered probes as lost after the timeout. */
#include "agent_priv.h"

#include <base/rng.h>

/*
 * Timer wheel (Varghese and Lauck 1987): each session is in the slot of the tick that follows the timeout of its oldest
 * probe. An answer does not move its session. When a slot is processed, each of its sessions moves to a later slot, or
 * to none if no probe is outstanding. So each session is processed about once per timeout, whatever its rate.
 */
enum { TICKS_A_TIMEOUT = PROBER_WHEEL_SLOTS / 2 };

static const struct ns greeting_gap = {50 * NS_PER_MS};
/*
 * After a long stall, the probes that were due in its last 10 us are sent late, as a burst; the earlier ones are
 * skipped. At rates below 10^5 probes per second, less than one probe is due in 10 us.
 */
static const struct ns made_up = {10 * NS_PER_US};

/* Continues the schedule from the next turn on, with the gaps for the current number of peers. */
void prober_reschedule(struct prober *prober)
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

void prober_set_mode(struct prober *prober, enum agent_mode mode, struct stamp now)
{
	struct stamp wall = dp_clock_to_wall(prober->clock, now);

	prober->mode = mode;
	prober->turn = 0;
	prober->next_target = 0;
	prober->schedule_start = now;
	prober->next_due.valid = false;
	for (size_t i = 0; mode == AGENT_MEASURING && i < prober->target_count; i++)
		prober->targets[i]->began = wall;
	prober_reschedule(prober);
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

bool prober_has_outstanding(const struct prober *prober)
{
	for (size_t i = 0; i < prober->target_count; i++)
		for (uint32_t path = 0; path < prober->targets[i]->path_count; path++)
			if (session_outstanding(prober->targets[i]->paths[path].session))
				return true;
	return false;
}

/*
 * Returns the time until our slot of wall-clock time begins (see agent_options.slot), or 0 within it. The last eighth
 * of a slot is kept free for answers.
 */
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
	const double round_ns = prober->gap_ns * (double)prober->target_count;
	int64_t late_ns;

	prober->turn++;
	if (++prober->next_target >= prober->target_count)
		prober->next_target = 0;
	if (prober->options->poisson)
		prober->schedule_start.ns += (int64_t)((rng_exponential(&prober->rng) - 1) * prober->gap_ns);
	prober->next_due.ns = prober->schedule_start.ns + (int64_t)((double)prober->turn * prober->gap_ns);
	late_ns = now.ns - prober->next_due.ns;
	/*
	 * A round is one turn of every peer. After a stall of more than a round, missed probes are skipped: a burst of
	 * them would measure the queue that the burst itself causes. Only those of the last 10 us (made_up) are still
	 * sent: if the rate is higher than one core can send, all probes leave in bursts anyway.
	 */
	if ((double)late_ns > round_ns) {
		int64_t kept_ns = round_ns < (double)made_up.v ? (int64_t)round_ns : made_up.v;

		late_ns -= kept_ns;
		prober->skipped += prober->mode == AGENT_MEASURING ? (uint64_t)((double)late_ns / prober->gap_ns) : 0;
		prober->schedule_start.ns += late_ns;
		prober->next_due.ns += late_ns;
	}
}

static void fill_probe(struct prober *prober, struct prober_target *target, struct prober_probe *probe)
{
	*probe = (struct prober_probe){.target = target};
	probe->source_port = prober->ports[prober_candidates(prober->options)]; /* the port for greetings */
	probe->request.session = prober->session;
	probe->request.authenticated = prober->options->key;
	if (prober->mode != AGENT_MEASURING) {
		/*
		 * Greetings are numbered from 1, as if number 0 had been lost. So the first answer shows the kind of
		 * reflector: one that numbers its answers itself sends 0, one that copies the request's number sends 1.
		 */
		probe->request.sequence = ++target->greetings;
		return;
	}
	probe->path = &target->paths[target->next_path];
	probe->source_port = target_port(prober, target, target->next_path);
	target->next_path = target->next_path + 1 < target->path_count ? target->next_path + 1 : 0;
	target->sent++;
	probe->request.sequence = session_send(probe->path->session, (struct stamp){.clock = CLOCK_COUNTER});
}

bool prober_take(struct prober *prober, struct stamp now, const struct neighbours *neighbours,
		 struct prober_probe *probe)
{
	struct prober_target *target;
	struct ns wait;
	bool late;

	if (!prober->next_due.valid || now.ns < prober->next_due.ns)
		return false;
	wait = until_slot(prober, now);
	if (wait.v > 0) {
		prober->schedule_start.ns += now.ns + wait.v - prober->next_due.ns;
		prober->next_due = stamp_after(now, wait);
		return false;
	}
	late = now.ns - prober->next_due.ns > prober->options->stall.v;
	target = prober->targets[prober->next_target];
	advance(prober, now);
	if (!neighbours->items[target->neighbour].known) {
		if (!target->missed.valid)
			target->missed = now;
		return false;
	}
	if (prober->mode == AGENT_MEASURING && target->path_count == 0)
		return false; /* no path to this peer was found yet */
	if (prober->mode == AGENT_MEASURING ? prober->options->count && target->sent >= prober->options->count
					    : target->heard)
		return false;
	fill_probe(prober, target, probe);
	probe->late = late;
	return true;
}

static void link_path(struct prober *prober, struct prober_path *path, int64_t tick)
{
	struct prober_path **slot = &prober->wheel[tick & (PROBER_WHEEL_SLOTS - 1)];

	path->next = *slot;
	if (path->next)
		path->next->link = &path->next;
	path->link = slot;
	*slot = path;
}

void prober_forget_expiry(struct prober_path *path)
{
	if (!path->link)
		return;
	*path->link = path->next;
	if (path->next)
		path->next->link = path->link;
	path->link = NULL;
}

/* Puts the session into the slot of the tick that follows the timeout of its oldest probe. */
static void await_expiry(struct prober *prober, struct prober_path *path, struct stamp sent_at)
{
	int64_t tick = (sent_at.ns + prober->options->timeout.v) / prober->tick_ns + 1;

	if (tick <= prober->wheel_at)
		tick = prober->wheel_at + 1;
	if (tick >= prober->wheel_at + PROBER_WHEEL_SLOTS)
		tick = prober->wheel_at + PROBER_WHEEL_SLOTS - 1;
	link_path(prober, path, tick);
}

void prober_set_up_expiry(struct prober *prober)
{
	prober->tick_ns = prober->options->timeout.v / TICKS_A_TIMEOUT;
	if (prober->tick_ns < 1)
		prober->tick_ns = 1;
}

void prober_sent(struct prober *prober, const struct prober_probe *probe, struct stamp sent_at, bool disturbed)
{
	struct session *session = probe->path ? probe->path->session : NULL;

	if (!session)
		return;
	session_restamp(session, probe->request.sequence, sent_at, false);
	session_carries(session, probe->request.sequence, probe->request.sent_at);
	if (disturbed)
		session_disturb(session, probe->request.sequence);
	if (probe->late)
		session_left_late(session, probe->request.sequence);
	if (!probe->path->link)
		await_expiry(prober, probe->path, sent_at);
}

void prober_unsent(const struct prober_probe *probe)
{
	if (!probe->path)
		return; /* a greeting or a trace probe: no counter to correct, it is treated as lost on the way */
	session_unsend(probe->path->session);
	probe->target->sent--;
}

void prober_left(struct prober *prober, const struct frame *frame, struct stamp left_at)
{
	int path = prober->path_of_port[frame->source_port];
	struct prober_target *target = path >= 0 ? prober_find(prober, frame->destination_address) : NULL;
	struct stamp_request request = {0};

	if (!target || path == (int)prober_candidates(prober->options) ||
	    (prober->options->key ? stamp_read_authenticated_request
				  : stamp_read_request)(frame->payload, frame->payload_bytes, &request) ||
	    request.session != prober->session)
		return;
	path = target_path(target, (uint32_t)path);
	if (path >= 0 && left_at.valid)
		session_restamp(target->paths[path].session, request.sequence, left_at, true);
}

void prober_expire_path(struct prober *prober, struct prober_path *path, struct stamp now)
{
	now.ns -= prober->options->timeout.v;
	session_expire(path->session, now);
}

size_t prober_expire(struct prober *prober, struct stamp now, size_t sessions)
{
	struct stamp sent_at;
	size_t seen = 0;
	int64_t tick;

	if (now.ns < prober->next_tick_ns)
		return 0;
	tick = now.ns / prober->tick_ns;
	if (prober->wheel_at < tick - PROBER_WHEEL_SLOTS)
		prober->wheel_at = tick - PROBER_WHEEL_SLOTS; /* one turn of the wheel visits every slot */
	while (prober->wheel_at < tick && seen < sessions) {
		struct prober_path *path = prober->wheel[(prober->wheel_at + 1) & (PROBER_WHEEL_SLOTS - 1)];

		if (!path) {
			prober->wheel_at++;
			continue;
		}
		prober_forget_expiry(path);
		prober_expire_path(prober, path, now);
		if (session_oldest(path->session, &sent_at))
			await_expiry(prober, path, sent_at);
		seen++;
	}
	prober->next_tick_ns = (prober->wheel_at + 1) * prober->tick_ns;
	return seen;
}

void prober_abandon(struct prober *prober)
{
	for (size_t i = 0; i < prober->target_count; i++) {
		target_release(prober, prober->targets[i]);
		for (uint32_t path = 0; path < prober->options->paths; path++)
			session_abandon(prober->targets[i]->paths[path].session);
	}
}
