/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a measurement of limited duration, in phases, by calling agent_step(). */
#include "agent_priv.h"

#include <math.h>

enum phase { PHASE_GREETING, PHASE_MEASURING, PHASE_DRAINING, PHASE_LINGERING, PHASE_OVER };

static const char *const phase_names[] = {"waiting for peers", "measuring", "last answers", "still answering", "over"};
static const struct ns tick_gap = {100 * NS_PER_MS};

struct course {
	struct agent *agent;
	struct agent_run *run;
	enum phase phase;
	struct stamp phase_end; /* invalid = no limit */
	struct stamp measure_begin, next_tick;
};

static void enter(struct course *course, enum phase phase, struct stamp now, struct ns length)
{
	course->phase = phase;
	course->phase_end = stamp_after(now, length);
}

static void begin_measuring(struct course *course, struct stamp now)
{
	enter(course, PHASE_MEASURING, now, course->run->duration);
	course->phase_end.valid = course->run->duration.v > 0;
	course->measure_begin = now;
	agent_set_mode(course->agent, AGENT_MEASURING);
}

static void end_measuring(struct course *course, struct stamp now)
{
	course->run->measured.v = now.ns - course->measure_begin.ns;
	agent_set_mode(course->agent, AGENT_QUIET);
}

/* Enters the next phase if the current one is over. */
static void step_phase(struct course *course, struct stamp now)
{
	struct agent *agent = course->agent;
	bool ended = course->phase_end.valid && now.ns >= course->phase_end.ns;

	switch (course->phase) {
	case PHASE_GREETING:
		if (ended || (prober_all_heard(&agent->prober) && prober_all_found(&agent->prober)))
			begin_measuring(course, now);
		break;
	case PHASE_MEASURING:
		if (!ended && !prober_done(&agent->prober, &agent->neighbours))
			break;
		end_measuring(course, now);
		enter(course, PHASE_DRAINING, now, agent->options.timeout);
		break;
	case PHASE_DRAINING:
		if (!ended && prober_has_outstanding(&agent->prober))
			break;
		if (agent->last_request.ns < now.ns)
			agent->last_request = now;
		/*
		 * Continues to answer, for peers that began to measure up to `patience` later than we did. The time is
		 * limited because other hosts may send requests for ever.
		 */
		enter(course, PHASE_LINGERING, now, ns_add(course->run->patience, course->run->linger));
		break;
	case PHASE_LINGERING:
		if (ended || now.ns >= stamp_after(agent->last_request, course->run->linger).ns)
			course->phase = PHASE_OVER;
		break;
	case PHASE_OVER:
		break;
	}
}

static double share_done(const struct course *course, struct stamp now)
{
	const struct prober *prober = &course->agent->prober;
	uint64_t count = prober->options->count;

	if (course->phase > PHASE_MEASURING)
		return 1;
	if (course->phase == PHASE_MEASURING && course->phase_end.valid)
		return (double)(now.ns - course->measure_begin.ns) / (double)course->run->duration.v;
	if (course->phase == PHASE_MEASURING && count && prober->target_count)
		return fmin(1, (double)prober->turn / (double)prober->target_count / (double)count);
	return -1;
}

static int tick(struct course *course, struct stamp now, struct error *err)
{
	if (now.ns < course->next_tick.ns)
		return 0;
	course->next_tick = stamp_after(now, tick_gap);
	if (course->run->on_tick)
		course->run->on_tick(course->run->context, share_done(course, now), phase_names[course->phase]);
	return agent_check_port(course->agent, err);
}

int agent_run(struct agent *agent, struct agent_run *run, const volatile sig_atomic_t *stop, struct error *err)
{
	struct course course = {.agent = agent, .run = run};
	struct stamp now = agent_now(agent), next_look = now;
	int code = 0;

	course.next_tick = now;
	if (agent_peer_count(agent)) {
		enter(&course, PHASE_GREETING, now, run->patience);
		agent_set_mode(agent, AGENT_GREETING);
	} else {
		begin_measuring(&course, now);
	}
	while (!*stop && !code && course.phase != PHASE_OVER) {
		bool busy = agent_step(agent, now);

		now = agent_now(agent);       /* so that it is later than any request handled in this step */
		if (now.ns >= next_look.ns) { /* at most once per upkeep() of the agent */
			next_look = agent->next_upkeep;
			step_phase(&course, now);
			code = tick(&course, now, err);
		}
		if (!busy)
			agent_sleep(agent, agent_wake_at(agent));
		now = agent_now(agent);
	}
	if (course.phase == PHASE_MEASURING)
		end_measuring(&course, now);
	agent_abandon(agent);
	return code;
}
