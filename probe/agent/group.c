/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/agent/agent.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <dp/eal.h>
#include <dp/packet.h>

#include "agent_priv.h"

/* One agent and its thread. */
struct member {
	struct agent_group *group;
	struct agent *agent;
	struct dp_clock clock; /* a copy: each thread needs a clock of its own */
	struct agent_run run;
	const volatile sig_atomic_t *stop;
	struct error err;
};

struct agent_group {
	uint16_t count;
	size_t peers;
	struct agent **agents; /* [count] */
	struct member *members;
	_Atomic int running; /* number of members whose measurement has not ended yet */
};

static uint32_t share_of(uint32_t pps, uint16_t count)
{
	return pps && pps < count ? 1 : pps / count;
}

static int create_inboxes(struct agent *agent)
{
	const uint16_t count = agent->options.queues;

	agent->inbox = calloc(count, sizeof *agent->inbox);
	for (uint16_t from = 0; agent->inbox && from < count; from++) {
		if (from == agent->options.queue)
			continue;
		agent->inbox[from] = spsc_create(AGENT_HANDOVERS, sizeof(struct agent_handover));
		if (!agent->inbox[from])
			return -ENOMEM;
	}
	return agent->inbox ? 0 : -ENOMEM;
}

static void destroy_inboxes(struct agent *agent)
{
	struct agent_handover item;

	for (uint16_t from = 0; agent->inbox && from < agent->options.queues; from++) {
		while (agent->inbox[from] && spsc_take(agent->inbox[from], &item))
			dp_packet_free(item.packet);
		free(agent->inbox[from]);
	}
	free(agent->inbox);
	agent->inbox = NULL;
}

static int create_member(struct agent_group *group, uint16_t queue, const struct agent_options *options,
			 struct dp_port *port, struct dp_pool *pool, const struct dp_clock *clock, struct error *err)
{
	struct member *member = &group->members[queue];
	struct agent_options own = *options;

	own.queue = queue;
	own.seed += queue;
	own.total_pps = share_of(options->total_pps, group->count);
	own.probe_pps = share_of(options->probe_pps, group->count);
	member->group = group;
	member->clock = *clock;
	member->agent = group->agents[queue] = agent_create(&own, port, pool, &member->clock, err);
	if (!member->agent)
		return error_code(err, ENOMEM);
	if (group->count == 1)
		return 0;
	if (create_inboxes(member->agent))
		return error_set(err, ENOMEM, "out of memory");
	member->agent->group = group->agents;
	return 0;
}

struct agent_group *agent_group_create(const struct agent_options *options, struct dp_port *port, struct dp_pool *pool,
				       const struct dp_clock *clock, struct error *err)
{
	struct agent_group *group = calloc(1, sizeof *group);
	int code = 0;

	if (group) {
		group->count = options->queues ? options->queues : 1;
		group->agents = calloc(group->count, sizeof(struct agent *));
		group->members = calloc(group->count, sizeof *group->members);
	}
	if (!group || !group->agents || !group->members)
		code = error_set(err, ENOMEM, "out of memory");
	for (uint16_t queue = 0; !code && queue < group->count; queue++)
		code = create_member(group, queue, options, port, pool, clock, err);
	if (!code)
		return group;
	agent_group_destroy(group);
	return NULL;
}

void agent_group_destroy(struct agent_group *group)
{
	if (!group)
		return;
	for (uint16_t i = 0; group->agents && i < group->count; i++) {
		if (group->agents[i])
			destroy_inboxes(group->agents[i]);
		agent_destroy(group->agents[i]);
	}
	free(group->agents);
	free(group->members);
	free(group);
}

int agent_group_add_peer(struct agent_group *group, const struct peer *peer, struct error *err)
{
	int code = agent_add_peer(group->agents[group->peers % group->count], peer, err);

	group->peers += code == 0;
	return code;
}

size_t agent_group_peer_count(const struct agent_group *group)
{
	return group->peers;
}

void agent_group_window(struct agent_group *group, size_t index, struct agent_row *row)
{
	agent_window(group->agents[index % group->count], index / group->count, row);
}

struct agent *agent_group_first(struct agent_group *group)
{
	return group->agents[0];
}

/*
 * True for the members that call agent_run(): the first, and all that have peers. The others only handle the packets
 * that arrive on their queues.
 */
static bool has_run(const struct member *member)
{
	return member->agent == member->group->agents[0] || agent_peer_count(member->agent);
}

/* Runs the member's own measurement, then handles packets for the others until they have finished. */
static int run_member(void *context)
{
	struct member *member = context;
	struct agent *agent = member->agent;

	if (has_run(member)) {
		agent_run(agent, &member->run, member->stop, &member->err);
		atomic_fetch_sub(&member->group->running, 1);
	}
	while (atomic_load(&member->group->running) && !*member->stop)
		if (!agent_step(agent, agent_now(agent)))
			agent_sleep(agent, agent_wake_at(agent));
	return 0;
}

int agent_group_run(struct agent_group *group, struct agent_run *run, const volatile sig_atomic_t *stop,
		    struct error *err)
{
	uint16_t started = 1;
	int code = 0;

	atomic_store(&group->running, 0);
	for (uint16_t i = 0; i < group->count; i++) {
		group->members[i].run = *run;
		group->members[i].stop = stop;
		group->members[i].err = (struct error){0};
		if (i) /* only the first member reports progress */
			group->members[i].run.on_tick = NULL;
		atomic_fetch_add(&group->running, has_run(&group->members[i]));
	}
	for (; !code && started < group->count; started += code == 0) {
		code = dp_lcore_run(dp_eal_worker(started - 1U), run_member, &group->members[started]);
		if (code)
			error_set(err, -code, "no core for queue %u: the core of its EAL worker is busy", started);
	}
	if (code) /* the members already started stop now */
		atomic_store(&group->running, 0);
	else
		run_member(&group->members[0]);
	for (uint16_t i = 1; i < started; i++)
		dp_lcore_wait(dp_eal_worker(i - 1U));
	run->measured = group->members[0].run.measured;
	for (uint16_t i = 0; !code && i < started; i++)
		if (group->members[i].err.code) {
			*err = group->members[i].err;
			code = -err->code;
		}
	return code;
}

/* Adds each field of *more to *sum; all fields are uint64_t counters. */
static void add_counters(struct reflector_counters *sum, const struct reflector_counters *more)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)more;

	_Static_assert(sizeof *sum % sizeof *to == 0, "counters alone");
	for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
		to[i] += from[i];
}

void agent_group_summarise(struct agent_group *group, struct agent_summary *summary)
{
	struct agent_summary one;

	agent_summarise(group->agents[0], summary);
	for (uint16_t i = 1; i < group->count; i++) {
		agent_summarise(group->agents[i], &one);
		summary->skipped += one.skipped;
		summary->unstamped += one.unstamped;
		summary->departures += one.departures;
		summary->send_failures += one.send_failures;
		summary->broken_frames += one.broken_frames;
		summary->unfinished_checksums += one.unfinished_checksums;
		summary->bad_hmac += one.bad_hmac;
		summary->other_member += one.other_member;
		summary->forged += one.forged;
		summary->other_vlan += one.other_vlan;
		summary->samples_dropped += one.samples_dropped;
		summary->handed_over += one.handed_over;
		summary->not_handed_over += one.not_handed_over;
		summary->limited |= one.limited;
		add_counters(&summary->reflector, &one.reflector);
	}
}
