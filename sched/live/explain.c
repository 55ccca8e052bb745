/* SPDX-License-Identifier: BSD-3-Clause */
/* The candidate machines of a task, and why it waits or stays. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <base/number.h>

#include "live_priv.h"

/* The most pairs of a machine and a task for which the machines of a root are compared: some 50 ms. */
enum { COMPARED = 2000000 };

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

static const char *root_name(const struct live *live, const struct live_job *job)
{
	return live->cluster->machines[flownet_root_machine(live->net, job->number)].name;
}

static double rest_s(const struct live_task *task, double now_s)
{
	return fmax(0, now_s - task->started_s);
}

static const char *proposed_to(const struct live *live, const struct live_task *task)
{
	return task->move.to >= 0 ? live->cluster->machines[task->move.to].name : "-";
}

/* Explains a move whose gain is too small, too new, or not worth the restart. */
static void say_gain(const struct live *live, const struct live_job *job, const struct live_task *task, double now_s,
		     char why[static 160])
{
	const char *to = proposed_to(live, task);
	struct job_limits limits = live_limits(live, job);

	if (task->move.refusal == MIGRATION_REFUSED_GAIN)
		snprintf(why, 160, "does not move to %.60s: gain %.2f < %.2f", to, task->move.gain,
			 limits.migrate_gain);
	else if (task->move.refusal == MIGRATION_REFUSED_HOLD)
		snprintf(why, 160, "does not move to %.60s yet: gain %.2f for %.0f s < %.0f s", to, task->move.gain,
			 fmax(0, now_s - task->move.gain_since_s), limits.migrate_hold_s);
	else
		snprintf(why, 160,
			 "does not move to %.60s: gain %.2f times %.0f s of expected run time < restart cost of %.0f s",
			 to, task->move.gain, rest_s(task, now_s),
			 job->restart_s >= 0 ? job->restart_s : live->settings.moves.restart_s);
}

/* Explains a move that would exceed a limit on the number of moving tasks. */
static void say_limit(const struct live *live, const struct live_job *job, const struct live_task *task,
		      char why[static 160])
{
	const struct migration_settings *moves = &live->settings.moves;
	const char *to = proposed_to(live, task);

	if (task->move.refusal == MIGRATION_REFUSED_MACHINE)
		snprintf(why, 160,
			 "does not move to %.60s yet: the limit of %lld tasks moving from or to one machine is reached",
			 to, (long long)moves->per_machine);
	else if (task->move.refusal == MIGRATION_REFUSED_JOB)
		snprintf(why, 160, "does not move to %.60s yet: %u tasks of the job are already moving", to,
			 live_limits(live, job).migrate_tasks);
	else if (live->on_the_move >= moves->rate)
		snprintf(why, 160, "does not move to %.60s yet: %u tasks are already moving", to, live->on_the_move);
	else
		snprintf(why, 160, "does not move to %.60s yet: too many tasks were moving, or it had just moved", to);
}

/* Explains why a proposed move was refused. */
static void say_refusal(const struct live *live, const struct live_job *job, const struct live_task *task, double now_s,
			char why[static 160])
{
	const struct live_settings *settings = &live->settings;
	const char *to = proposed_to(live, task);

	switch (task->move.refusal) {
	case MIGRATION_REFUSED_GAIN:
	case MIGRATION_REFUSED_HOLD:
	case MIGRATION_REFUSED_RESTART:
		say_gain(live, job, task, now_s, why);
		return;
	case MIGRATION_REFUSED_RETURN:
		snprintf(why, 160,
			 "does not move to %.60s again: left it, or failed to start there, only %.0f s ago "
			 "(minimum %.0f s)",
			 to, fmax(0, now_s - task->moved_s), settings->moves.no_return_s);
		return;
	case MIGRATION_REFUSED_RATE:
	case MIGRATION_REFUSED_MACHINE:
	case MIGRATION_REFUSED_JOB:
		say_limit(live, job, task, why);
		return;
	case MIGRATION_REFUSED_CLOSED:
		snprintf(why, 160, "does not move to %.60s until --migrate-window allows moves: gain %.2f", to,
			 task->move.gain);
		return;
	case MIGRATION_REFUSED_FORBIDDEN:
		snprintf(why, 160, "does not move: %s",
			 settings->moves.mode == MIGRATION_OFF ? "moves are off" : "the job does not allow it");
		return;
	case MIGRATION_REFUSED_UNREACHABLE:
		snprintf(why, 160, "does not move to %.60s: %s", to,
			 live_is_cut_off(live, job, task, task->move.to)
				 ? "unreachable from the root"
				 : "the round trip to the root is not measured");
		return;
	case MIGRATION_REFUSED_UNMEASURED:
		snprintf(why, 160, "does not move to %.60s: gain %.2f is not measured", to, task->move.gain);
		return;
	case MIGRATION_REFUSED_EVICTION:
		snprintf(why, 160, "stays although another task would gain more here: running tasks are never evicted");
		return;
	case MIGRATION_ALLOWED:
	case MIGRATION_REFUSALS:
		return;
	}
}

/* Returns the task whose move to `machine` the last round proposed and refused; NULL: there is none. */
static const struct live_task *find_refused(const struct live *live, int32_t machine, const struct live_job **job)
{
	for (uint32_t j = 0; j < live->job_count; j++)
		for (uint32_t t = 0; live->jobs[j] && t < live->jobs[j]->task_count; t++) {
			const struct live_task *task = &live->jobs[j]->tasks[t];

			*job = live->jobs[j];
			if (task->move.round == live->round && task->move.to == machine &&
			    task->move.refusal != MIGRATION_ALLOWED)
				return task;
		}
	return NULL;
}

/* Explains, from the network's costs, why the last round proposed no move to `best`. */
static void say_not_proposed(const struct live *live, const struct live_job *job, const struct live_task *task,
			     const struct live_candidate *best, char why[static 160])
{
	const char *to = live->cluster->machines[best->machine].name;
	uint32_t number = live_task_number(job, task);
	const struct live_job *other_job;
	const struct live_task *other = find_refused(live, (int32_t)best->machine, &other_job);
	int32_t staying = 0, moving = 0;

	if (live->changed || job->review)
		snprintf(why, 160, "does not move to %.60s before the next round", to);
	else if (other)
		snprintf(why, 160, "does not move to %.40s: the network gives the slot to %.30s/%.30s", to,
			 other_job->id, other->name);
	else if (flownet_arc_to(live->net, job->number, number, task->machine, &staying) != FLOWNET_ARC_NONE &&
		 flownet_arc_to(live->net, job->number, number, (int32_t)best->machine, &moving) != FLOWNET_ARC_NONE)
		snprintf(why, 160, "does not move to %.60s: in the network, staying costs %d, moving %d", to, staying,
			 moving);
	else
		snprintf(why, 160, "does not move to %.60s: the network has no arc to it", to);
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
	if (task->move.round == live->round && task->move.refusal != MIGRATION_ALLOWED) {
		say_refusal(live, job, task, now_s, why);
		return;
	}
	gain = here && best ? best->performance - here->performance : 0;
	if (live_is_cut_off(live, job, task, task->machine) &&
	    (!best || live_is_cut_off(live, job, task, (int32_t)best->machine))) {
		snprintf(why, 160, "%.40s is unreachable from the root on %.40s, and so is every free machine",
			 live->cluster->machines[task->machine].name, root_name(live, job));
		return;
	}
	if (gain <= 0)
		return;
	if (!live_fit_for(live, job, task, (int32_t)best->machine))
		snprintf(why, 160, "does not move to %.60s: the round trip to the root is not measured",
			 live->cluster->machines[best->machine].name);
	else if (live->settings.moves.mode == MIGRATION_OFF)
		snprintf(why, 160, "does not move to %.60s: gain %.2f, moves are off",
			 live->cluster->machines[best->machine].name, gain);
	else if (!job->may_move)
		snprintf(why, 160, "does not move to %.60s: gain %.2f, the job does not allow it",
			 live->cluster->machines[best->machine].name, gain);
	else if (gain < live_limits(live, job).migrate_gain && !live_is_cut_off(live, job, task, task->machine))
		snprintf(why, 160, "does not move to %.60s: gain %.2f < %.2f",
			 live->cluster->machines[best->machine].name, gain, live_limits(live, job).migrate_gain);
	else if (live->settings.moves.mode == MIGRATION_ADVISE)
		snprintf(why, 160, "does not move to %.60s: gain %.2f, moves are only advised",
			 live->cluster->machines[best->machine].name, gain);
	else
		say_not_proposed(live, job, task, best, why);
}

/* The machines that are up and have a free slot. */
struct free_machines {
	uint32_t count, reachable, fit; /* reachable from the task's root; fit: live_fit_for() */
	int32_t best;                   /* the one to which the network's cheapest arc leads; -1: none */
	int32_t cost;                   /* of that arc */
};

static struct free_machines list_free(const struct live *live, const struct live_job *job, const struct live_task *task)
{
	struct free_machines list = {.best = -1};
	uint32_t number = live_task_number(job, task);
	bool rooted = number == job->root || flownet_root_machine(live->net, job->number) != FLOWNET_NONE;

	for (uint32_t m = 0; m < live->cluster->machine_count && rooted; m++) {
		int32_t cost;

		if (!live->machines[m].in_network || live->machines[m].state != LIVE_UP ||
		    flownet_free(live->net, m) <= 0)
			continue;
		list.count++;
		list.reachable += !live_is_cut_off(live, job, task, (int32_t)m);
		if (!live_fit_for(live, job, task, (int32_t)m))
			continue;
		list.fit++;
		if (flownet_task_present(live->net, job->number, number) &&
		    flownet_arc_to(live->net, job->number, number, (int32_t)m, &cost) != FLOWNET_ARC_NONE &&
		    (list.best < 0 || cost < list.cost)) {
			list.best = (int32_t)m;
			list.cost = cost;
		}
	}
	return list;
}

/* Explains why no machine is free, or why the network leaves the task waiting although some are. */
static void say_why_not_placed(const struct live *live, const struct live_job *job, const struct live_task *task,
			       char why[static 160])
{
	struct free_machines list = list_free(live, job, task);
	struct live_totals totals = live_totals(live);
	uint32_t reserved = totals.decided + totals.moving;
	int32_t waiting = 0;

	if (list.count == 0 && reserved > 0)
		snprintf(why, 160, "no free slot: %u slots are reserved for tasks that have not started yet", reserved);
	else if (list.count == 0)
		snprintf(why, 160, "no free slot");
	else if (list.reachable == 0)
		snprintf(why, 160, "every free machine is unreachable from the root on %.60s", root_name(live, job));
	else if (list.fit == 0)
		snprintf(why, 160, "no free machine with a measured round trip to the root");
	else if (live->changed)
		snprintf(why, 160, "waits for the next round");
	else if (list.best < 0)
		snprintf(why, 160, "the network has no arc from the task to a free machine");
	else if (flownet_arc_to(live->net, job->number, live_task_number(job, task), FLOWNET_NONE, &waiting) !=
		 FLOWNET_ARC_NONE)
		snprintf(why, 160, "waiting costs %d, the best free slot (%.60s) %d", waiting,
			 live->cluster->machines[list.best].name, list.cost);
}

/* Writes to why[] why the task waits or was given up; otherwise "". */
static void say_why(const struct live *live, const struct live_job *job, const struct live_task *task,
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
	else if (job->is_held)
		snprintf(why, 160, "waits until %u tasks of its job can start together; free slots: %llu",
			 job->limits.minimum_tasks, (unsigned long long)live_totals(live).free_slots);
	else if (!is_root && flownet_root_machine(live->net, job->number) == FLOWNET_NONE)
		snprintf(why, 160, "waits for its root, task '%s'", job->tasks[job->root].name);
	else
		say_why_not_placed(live, job, task, why);
}

/* Mean performance of the job's other tasks, which have machines, with the root on `root`. *count: their number. */
static double mean_with_root(const struct live *live, const struct live_job *job, uint32_t root, uint32_t *count)
{
	double sum = 0;

	*count = 0;
	for (uint32_t t = 0; t < job->task_count; t++) {
		int32_t cost;

		if (t == job->root || job->tasks[t].machine < 0)
			continue;
		cost = placer_latency_cost(live->placer, job->number, root, (uint32_t)job->tasks[t].machine);
		sum += cost > COST_MAXIMUM ? 0 : 100. / cost;
		++*count;
	}
	return *count > 0 ? sum / *count : NAN;
}

/* Explains why the root is on its machine and in its rack: its tasks, with it here and on the best other free machine.
 */
static void say_why_root_here(const struct live *live, const struct live_job *job, char why[static 160])
{
	int32_t here = job->tasks[job->root].machine, best = -1;
	double performance, other = -1;
	uint32_t tasks, machines = live->cluster->machine_count;
	int length;

	if (here < 0 || (performance = mean_with_root(live, job, (uint32_t)here, &tasks), tasks == 0))
		return;
	length = snprintf(why, 160, "the job's %u other task%s reach%s %.3f with the root here", tasks, number_s(tasks),
			  tasks == 1 ? "es" : "", performance);
	if ((uint64_t)machines * tasks > COMPARED)
		return;
	for (uint32_t m = 0; m < machines; m++) {
		double mean;

		if ((int32_t)m == here || !live->machines[m].in_network || live->machines[m].state != LIVE_UP ||
		    flownet_free(live->net, m) <= 0)
			continue;
		mean = mean_with_root(live, job, m, &tasks);
		if (mean > other) {
			other = mean;
			best = (int32_t)m;
		}
	}
	if (best < 0)
		snprintf(why + length, (size_t)(160 - length), "; no other machine is free");
	else
		snprintf(why + length, (size_t)(160 - length), "; on %.30s (%.20s), the best other free machine, %.3f",
			 live->cluster->machines[best].name,
			 live->cluster->racks[live->cluster->machines[best].rack].name, other);
}

/* Explains why this task of a job with a graph, and not another one, is on its machine. */
static void say_why_rank_here(const struct live *live, const struct live_job *job, const struct live_task *task,
			      char why[static 160])
{
	struct placer_rank rank = placer_rank(live->placer, job->number, live_task_number(job, task));
	int length;

	if (rank.edges == 0)
		return;
	length = snprintf(why, 160, "its %zu edge%s to other tasks reach%s %.3f", rank.edges, number_s(rank.edges),
			  rank.edges == 1 ? "es" : "", rank.performance);
	if (!isnan(rank.added))
		snprintf(why + length, (size_t)(160 - length),
			 "; an exchange with %.40s would cost %.0f %s, others no less", job->tasks[rank.other].name,
			 fabs(rank.added), rank.added < 0 ? "less" : "more");
}

int live_explain(struct live *live, const char *job_id, const char *task_name, struct live_candidate *candidates,
		 size_t most, char why[static 160], struct error *err)
{
	struct live_job *job;
	struct live_task *task = live_find_task(live, job_id, task_name, &job);
	size_t count = 0;
	bool here = false;

	if (!task)
		return error_set(err, ENOENT, "unknown task '%s' of job '%s'", task_name, job_id);
	say_why(live, job, task, why);
	if (flownet_root_machine(live->net, job->number) == FLOWNET_NONE)
		return 0;
	for (uint32_t m = 0; m < live->cluster->machine_count; m++) {
		struct live_candidate candidate;

		if (!live->machines[m].in_network || live->machines[m].state != LIVE_UP)
			continue;
		candidate = candidate_at(live, job, task, m);
		if (candidate.free_slots > 0 || candidate.is_here)
			insert(candidates, &count, most, &candidate);
	}
	for (size_t i = 0; i < count; i++)
		here = here || candidates[i].is_here;
	if (!here && task->machine >= 0 && most > 0 && live->machines[task->machine].in_network) {
		count -= count == most;
		candidates[count++] = candidate_at(live, job, task, (uint32_t)task->machine);
	}
	if (task->state == LIVE_DECIDED || task->state == LIVE_RUNNING)
		live_recovery_say(task, why);
	if (why[0] == '\0' && task->state == LIVE_RUNNING && live_task_number(job, task) != job->root)
		say_why_stays(live, job, task, candidates, count, live->network_s, why);
	if (why[0] == '\0' && live_task_number(job, task) == job->root)
		say_why_root_here(live, job, why);
	else if (why[0] == '\0')
		say_why_rank_here(live, job, task, why);
	return (int)count;
}
