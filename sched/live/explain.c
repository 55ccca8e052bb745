/* SPDX-License-Identifier: BSD-3-Clause */
/* The candidate machines of a task, and why it waits or stays. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "live_priv.h"

static bool better(const struct live_candidate *a, const struct live_candidate *b)
{
	if (a->performance != b->performance)
		return a->performance > b->performance;
	return a->rtt_us != b->rtt_us ? a->rtt_us < b->rtt_us : a->machine < b->machine;
}

/* Inserts a candidate into list[], the best candidates so far: at most `most`, sorted by better(). */
static void insert(struct live_candidate *list, size_t *count, size_t most, const struct live_candidate *candidate)
{
	size_t at = *count;

	if (at == most) {
		if (most == 0 || !better(candidate, &list[most - 1]))
			return;
		at--;
	} else {
		++*count;
	}
	for (; at > 0 && better(candidate, &list[at - 1]); at--)
		list[at] = list[at - 1];
	list[at] = *candidate;
}

static struct live_candidate candidate_at(const struct live *live, const struct live_job *job,
					  const struct live_task *task, uint32_t machine)
{
	struct live_candidate candidate = {.machine = machine,
					   .free_slots = (uint32_t)flownet_free(live->net, machine),
					   .is_here = task->machine == (int32_t)machine};

	live_predict(live, job, machine, &candidate.rtt_us, &candidate.performance, &candidate.origin);
	return candidate;
}

static double rest_s(const struct live_task *task, double now_s)
{
	return fmax(0, now_s - task->started_s);
}

/* Explains why a proposed move was refused. */
static void say_refusal(const struct live *live, const struct live_job *job, const struct live_task *task, double now_s,
			char why[static 160])
{
	const struct live_settings *settings = &live->settings;
	const char *to = task->proposed_to >= 0 ? live->cluster->machines[task->proposed_to].name : "-";
	struct job_limits limits = live_limits(live, job);
	double restart_s = job->restart_s >= 0 ? job->restart_s : settings->restart_s;

	switch (task->refusal) {
	case LIVE_REFUSED_GAIN:
		snprintf(why, 160, "does not move to %.60s: gain %.2f < %.2f", to, task->gain, limits.migrate_gain);
		return;
	case LIVE_REFUSED_HOLD:
		snprintf(why, 160, "does not move to %.60s yet: gain %.2f for %.0f s < %.0f s", to, task->gain,
			 fmax(0, now_s - task->gain_since_s), limits.migrate_hold_s);
		return;
	case LIVE_REFUSED_RESTART:
		snprintf(why, 160,
			 "does not move to %.60s: gain %.2f times %.0f s of expected run time < restart cost of %.0f s",
			 to, task->gain, rest_s(task, now_s), restart_s);
		return;
	case LIVE_REFUSED_RETURN:
		snprintf(why, 160,
			 "does not move to %.60s again: left it, or failed to start there, only %.0f s ago "
			 "(minimum %.0f s)",
			 to, fmax(0, now_s - task->moved_s), settings->no_return_s);
		return;
	case LIVE_REFUSED_RATE:
		snprintf(why, 160, "does not move to %.60s yet: %u tasks are already moving", to, live->on_the_move);
		return;
	case LIVE_REFUSED_MACHINE:
		snprintf(why, 160,
			 "does not move to %.60s yet: the limit of %u tasks moving from or to one machine is reached",
			 to, settings->migrate_per_machine);
		return;
	case LIVE_REFUSED_JOB:
		snprintf(why, 160, "does not move to %.60s yet: %u tasks of the job are already moving", to,
			 limits.migrate_tasks);
		return;
	case LIVE_REFUSED_CLOSED:
		snprintf(why, 160, "does not move to %.60s until --migrate-window allows moves: gain %.2f", to,
			 task->gain);
		return;
	case LIVE_REFUSED_FORBIDDEN:
		snprintf(why, 160, "does not move: moves are off, or the job does not allow them");
		return;
	case LIVE_REFUSED_UNREACHABLE:
		snprintf(why, 160,
			 "does not move to %.60s: unreachable from the root, or unmeasured with --require-measured",
			 to);
		return;
	case LIVE_REFUSED_UNMEASURED:
		snprintf(why, 160, "does not move to %.60s: gain %.2f is not measured", to, task->gain);
		return;
	case LIVE_REFUSED_EVICTION:
		snprintf(why, 160, "stays although another task would gain more here: running tasks are never evicted");
		return;
	default:
		return;
	}
}

/* Explains why a running task stays although another machine has a better prediction. */
static void say_why_stays(const struct live *live, const struct live_job *job, const struct live_task *task,
			  const struct live_candidate *candidates, size_t count, double now_s, char why[static 160])
{
	const struct live_candidate *here = NULL, *best = NULL;
	double gain;

	for (size_t c = 0; c < count; c++) {
		here = candidates[c].is_here ? &candidates[c] : here;
		best = !best && !candidates[c].is_here ? &candidates[c] : best;
	}
	if (task->proposed_round == live->round && task->refusal != LIVE_REFUSED_NOT) {
		say_refusal(live, job, task, now_s, why);
		return;
	}
	gain = here && best ? best->performance - here->performance : 0;
	if (gain <= 0)
		return;
	if (!live_fit_for(live, job, task, (int32_t)best->machine))
		snprintf(why, 160, "does not move to %.60s: the round trip to the root is not measured",
			 live->cluster->machines[best->machine].name);
	else if (live->settings.migration == LIVE_MIGRATE_OFF)
		snprintf(why, 160, "does not move to %.60s: gain %.2f, moves are off",
			 live->cluster->machines[best->machine].name, gain);
	else if (!job->may_move)
		snprintf(why, 160, "does not move to %.60s: gain %.2f, the job does not allow it",
			 live->cluster->machines[best->machine].name, gain);
	else if (gain < live_limits(live, job).migrate_gain)
		snprintf(why, 160, "does not move to %.60s: gain %.2f < %.2f",
			 live->cluster->machines[best->machine].name, gain, live_limits(live, job).migrate_gain);
	else if (live->settings.migration == LIVE_MIGRATE_ADVISE)
		snprintf(why, 160, "does not move to %.60s: gain %.2f, moves are only advised",
			 live->cluster->machines[best->machine].name, gain);
	else
		snprintf(why, 160, "does not move to %.60s: gain %.2f, but others gain more there",
			 live->cluster->machines[best->machine].name, gain);
}

/*
 * Writes to why[] why the task waits or was given up; otherwise "". fit: number of machines with a free slot on which
 * the task may be placed.
 */
static void say_why(const struct live *live, const struct live_job *job, const struct live_task *task, size_t fit,
		    char why[static 160])
{
	bool is_root = live_task_number(job, task) == job->root;

	why[0] = '\0';
	if (task->state == LIVE_FAILED)
		snprintf(why, 160, "given up after %u attempts", task->attempts);
	else if (task->state != LIVE_WAITING)
		return;
	else if (task->retry_s > 0)
		snprintf(why, 160, "paused after %u failed attempts", task->attempts);
	else if (job->gang != LIVE_GANG_NONE)
		snprintf(why, 160, "waits until %u tasks of its job can start together", job->limits.minimum_tasks);
	else if (!is_root && flownet_root_machine(live->net, job->number) == FLOWNET_NONE)
		snprintf(why, 160, "waits for its root, task '%s'", job->tasks[job->root].name);
	else if (live->settings.require_measured && !is_root && fit == 0)
		snprintf(why, 160, "no free machine with a measured round trip to the root");
	else
		snprintf(why, 160, "no free slot, or waiting costs less than any free slot");
}

int live_explain(struct live *live, const char *job_id, const char *task_name, struct live_candidate *candidates,
		 size_t most, char why[static 160], struct error *err)
{
	struct live_job *job;
	struct live_task *task = live_find_task(live, job_id, task_name, &job);
	size_t count = 0, fit = 0;
	bool here = false;

	if (!task)
		return error_set(err, ENOENT, "unknown task '%s' of job '%s'", task_name, job_id);
	say_why(live, job, task, 0, why);
	if (flownet_root_machine(live->net, job->number) == FLOWNET_NONE)
		return 0;
	for (uint32_t m = 0; m < live->cluster->machine_count; m++) {
		struct live_candidate candidate;

		if (!live->machines[m].in_network || live->machines[m].state != LIVE_UP)
			continue;
		candidate = candidate_at(live, job, task, m);
		if (candidate.free_slots > 0 || candidate.is_here)
			insert(candidates, &count, most, &candidate);
		fit += candidate.free_slots > 0 && live_fit_for(live, job, task, (int32_t)m);
	}
	say_why(live, job, task, fit, why);
	for (size_t i = 0; i < count; i++)
		here = here || candidates[i].is_here;
	if (!here && task->machine >= 0 && most > 0 && live->machines[task->machine].in_network) {
		count -= count == most;
		candidates[count++] = candidate_at(live, job, task, (uint32_t)task->machine);
	}
	if (task->state == LIVE_RUNNING && live_task_number(job, task) != job->root)
		say_why_stays(live, job, task, candidates, count, live->network_s, why);
	return (int)count;
}
