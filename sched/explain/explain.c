/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/array.h>
#include <sched/explain/performance.h>

#include "explain_priv.h"

int explain_add_task(struct explanation *explanation, uint32_t job, uint32_t task, int64_t from)
{
	struct explain_task *larger = array_grow(explanation->tasks, explanation->task_count,
						 &explanation->task_capacity, sizeof *explanation->tasks);

	if (!larger)
		return -ENOMEM;
	explanation->tasks = larger;
	larger[explanation->task_count++] = (struct explain_task){
		.job = job,
		.task = task,
		.from = from,
		.arc = FLOWNET_ARC_NONE,
		.random_performance = NAN,
	};
	explanation->job_count = job + 1;
	return 0;
}

void explain_free(struct explanation *explanation)
{
	free(explanation->tasks);
	free(explanation->free_slots);
	free(explanation->root_known);
	*explanation = (struct explanation){0};
}

int explain_before(const struct explain_scene *scene, struct explanation *explanation)
{
	const struct flownet *net = placer_net(scene->placer);
	uint32_t machine_count = scene->layout->cluster->machine_count;

	explanation->free_slots = calloc((size_t)machine_count + 1, sizeof *explanation->free_slots);
	explanation->root_known = calloc((size_t)explanation->job_count + 1, sizeof *explanation->root_known);
	if (!explanation->free_slots || !explanation->root_known)
		return -ENOMEM;
	for (uint32_t m = 0; m < machine_count; m++)
		explanation->free_slots[m] = flownet_free(net, m);
	for (uint32_t j = 0; j < explanation->job_count; j++)
		explanation->root_known[j] = flownet_root_machine(net, j) != FLOWNET_NONE;
	return 0;
}

static bool begins_job(const struct explanation *explanation, size_t task)
{
	return task == 0 || explanation->tasks[task].job != explanation->tasks[task - 1].job;
}

/* Computes the expected performance of a random placement, once per job. Returns 0 or -ENOMEM. */
static int explain_random(const struct explain_scene *scene, struct explanation *explanation)
{
	struct vacancies vacancies;
	double expected = NAN;
	int code = vacancies_list(scene, explanation->free_slots, &vacancies);

	for (size_t i = 0; i < explanation->task_count && code == 0; i++) {
		struct explain_task *task = &explanation->tasks[i];
		int32_t root = flownet_root_machine(placer_net(scene->placer), task->job);

		if (begins_job(explanation, i))
			expected = root == FLOWNET_NONE ? NAN
							: vacancies_mean(scene, &vacancies, task->job, (uint32_t)root,
									 !explanation->root_known[task->job]);
		task->random_performance = expected;
	}
	vacancies_free(&vacancies);
	return code;
}

static int compare_task(const void *key, const void *element)
{
	const struct flownet_move *move = key;
	const struct explain_task *task = element;

	if (move->job != task->job)
		return move->job < task->job ? -1 : 1;
	return move->task < task->task ? -1 : move->task > task->task;
}

static void note_moves(struct explanation *explanation, const struct flownet_move *moves, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct explain_task *task = bsearch(&moves[i], explanation->tasks, explanation->task_count,
						    sizeof *explanation->tasks, compare_task);

		if (!task)
			continue; /* a move of a job that is not to be explained */
		task->arc = moves[i].arc;
		task->arc_cost = moves[i].cost;
	}
}

/* The free slot with the policy's lowest cost. It is the same for all tasks of a job, except for the root. */
struct cheapest {
	int64_t job; /* -1 = not searched yet */
	bool is_root;
	uint32_t machine;
	int32_t cost;
	enum flownet_arc arc; /* arc to this slot; FLOWNET_ARC_NONE: no arc leads to a free slot */
	uint64_t unreachable; /* number of machines with a free slot that are unreachable from the root's machine */
};

/* The state while one job's tasks are explained. */
struct explainer {
	const struct explain_scene *scene;
	const bool *root_known;
	struct vacancies vacancies; /* free slots now */
	int64_t best[2];            /* vacancies_best() of this job */
	struct cheapest cheapest;
	bool *unrouted; /* [tasks of this job] U_J -> S has no capacity for the waiting task; NULL: no limit */
};

static void look_at(const struct explain_scene *scene, uint32_t job, uint32_t root, uint32_t machine,
		    struct explain_option *option)
{
	float rtt_us = latency_view_get(scene->view, root, machine, &option->origin);

	option->machine = machine;
	option->rtt_us = round((double)rtt_us * 1e3) / 1e3; /* to ns: drops digits that a float does not have */
	option->cost = placer_latency_cost(scene->placer, job, root, machine);
	option->performance = explain_performance_at(scene, job, (double)rtt_us);
}

static bool unreachable(const struct explain_scene *scene, uint32_t job, uint32_t machine)
{
	int32_t root = flownet_root_machine(placer_net(scene->placer), job);

	return root != FLOWNET_NONE && isinf(latency_view_get(scene->view, (uint32_t)root, machine, NULL));
}

static void find_cheapest(struct explainer *explainer, const struct explain_task *task, bool is_root)
{
	struct cheapest *found = &explainer->cheapest;

	if (found->job == task->job && found->is_root == is_root)
		return;
	*found = (struct cheapest){.job = task->job, .is_root = is_root, .cost = INT32_MAX, .arc = FLOWNET_ARC_NONE};
	for (size_t i = 0; i < explainer->vacancies.count; i++) {
		uint32_t machine = explainer->vacancies.items[i].machine;
		int32_t cost;
		enum flownet_arc arc = flownet_arc_to(placer_net(explainer->scene->placer), task->job, task->task,
						      (int32_t)machine, &cost);

		if (!is_root && unreachable(explainer->scene, task->job, machine)) {
			found->unreachable++;
			continue;
		}
		if (arc == FLOWNET_ARC_NONE || cost >= found->cost)
			continue;
		found->machine = machine;
		found->cost = cost;
		found->arc = arc;
	}
}

static void explain_waiting(struct explainer *explainer, struct explain_task *task)
{
	const struct explain_scene *scene = explainer->scene;
	const struct cheapest *cheapest = &explainer->cheapest;
	const struct flownet *net = placer_net(scene->placer);
	const char *freed = task->from >= 0 ? "preempted; " : "";
	bool is_root = task->task == flownet_root_task(net, task->job);

	task->state = PLACEMENT_WAITING;
	task->arc_cost = 0;
	task->arc = FLOWNET_ARC_NONE;
	if (!flownet_task_present(net, task->job, task->task)) {
		snprintf(task->why, sizeof task->why,
			 "waits until %u tasks of its job can start together; free slots: %lld",
			 scene->minimum_of_job(scene->context, task->job), (long long)explainer->vacancies.slots);
		return;
	}
	if (placer_policy(scene->placer)->root_first && !explainer->root_known[task->job] && !is_root) {
		snprintf(task->why, sizeof task->why, "%s",
			 flownet_root_machine(net, task->job) == FLOWNET_NONE
				 ? "waits for its root, which has no machine"
				 : "waits for the next round: its root was placed by the last solve of this round");
		return;
	}
	if (!explainer->unrouted || !explainer->unrouted[task->task])
		task->arc = flownet_arc_to(net, task->job, task->task, FLOWNET_NONE, &task->arc_cost);
	if (explainer->vacancies.count == 0) {
		snprintf(task->why, sizeof task->why, "%sno free slot in the cluster", freed);
		return;
	}
	find_cheapest(explainer, task, is_root);
	if (cheapest->arc != FLOWNET_ARC_NONE)
		snprintf(task->why, sizeof task->why, "%swaiting costs %d, the cheapest free slot (%s) %d by %s", freed,
			 task->arc_cost, scene->layout->cluster->machines[cheapest->machine].name, cheapest->cost,
			 flownet_arc_name(cheapest->arc));
	else if (cheapest->unreachable > 0)
		snprintf(task->why, sizeof task->why, "%sno machine with a free slot is reachable from the root's",
			 freed);
	else
		snprintf(task->why, sizeof task->why, "%sthe flow network has no arc to a free slot", freed);
}

static void explain_task(struct explainer *explainer, struct explain_task *task)
{
	const struct explain_scene *scene = explainer->scene;
	const struct flownet *net = placer_net(scene->placer);
	int32_t root = flownet_root_machine(net, task->job);
	bool is_root = task->task == flownet_root_task(net, task->job);

	task->taken.machine = flownet_task_machine(net, task->job, task->task);
	task->next_best.machine = -1;
	if (root != FLOWNET_NONE && !is_root) {
		int64_t other = explainer->best[explainer->best[0] == task->taken.machine];

		if (other >= 0)
			look_at(scene, task->job, (uint32_t)root, (uint32_t)other, &task->next_best);
	}
	if (task->taken.machine < 0) {
		explain_waiting(explainer, task);
		return;
	}
	task->state = is_root ? PLACEMENT_ROOT : root == FLOWNET_NONE ? PLACEMENT_ORPHAN : PLACEMENT_PLACED;
	if (task->state == PLACEMENT_PLACED)
		look_at(scene, task->job, (uint32_t)root, (uint32_t)task->taken.machine, &task->taken);
	if (task->arc == FLOWNET_ARC_NONE)
		task->arc = flownet_arc_to(net, task->job, task->task, (int32_t)task->taken.machine, &task->arc_cost);
}

static int begin_job(struct explainer *explainer, uint32_t job)
{
	const struct flownet *net = placer_net(explainer->scene->placer);
	int32_t root = flownet_root_machine(net, job);

	if (root != FLOWNET_NONE)
		vacancies_best(explainer->scene, &explainer->vacancies, job, (uint32_t)root, explainer->best);
	return explainer->unrouted ? flownet_list_unrouted(net, job, explainer->unrouted) : 0;
}

static void add_task(const struct explain_scene *scene, const struct explain_task *task,
		     struct placement_totals *totals)
{
	const struct cluster *cluster = scene->layout->cluster;
	int32_t root = flownet_root_machine(placer_net(scene->placer), task->job);

	totals->tasks++;
	totals->roots += task->state == PLACEMENT_ROOT;
	totals->waiting += task->state == PLACEMENT_WAITING;
	totals->placed += task->from < 0 && task->taken.machine >= 0;
	totals->stay += task->from >= 0 && task->taken.machine == task->from;
	totals->moved += task->from >= 0 && task->taken.machine != task->from;
	if (task->state != PLACEMENT_PLACED)
		return;
	totals->in_root_rack += cluster->machines[task->taken.machine].rack == cluster->machines[root].rack;
	totals->worst_performance = fmin(totals->worst_performance, task->taken.performance);
	totals->predicted++;
	totals->mean_performance += task->taken.performance;
	totals->performance_cost += task->taken.cost;
	if (isnan(task->random_performance))
		return;
	totals->compared++;
	totals->random_mean_performance += task->random_performance;
}

/* Returns the application performance of the job with the tasks first..end-1; NAN if at most the root is placed. */
static double application_performance(struct explainer *explainer, const struct explain_task *first,
				      const struct explain_task *end)
{
	const struct explain_scene *scene = explainer->scene;
	struct performance_sum sum = {0};
	double total = 0, worst = INFINITY, best;
	uint64_t placed = 0;

	for (const struct explain_task *task = first; task < end; task++) {
		if (task->state != PLACEMENT_PLACED)
			continue;
		total += task->taken.performance;
		worst = fmin(worst, task->taken.performance);
		placed++;
	}
	if (placed == 0)
		return NAN;
	best = performance_best(scene->curve_of_job[first->job], scene->placer, scene->view, scene->layout,
				(uint32_t)flownet_root_machine(placer_net(scene->placer), first->job),
				explainer->vacancies.rtt_us);
	performance_sum_add(&sum, total / (double)placed, worst, best, best, 1);
	return performance_average(&sum);
}

static void add_up(struct explainer *explainer, struct explanation *explanation)
{
	struct placement_totals *totals = &explanation->totals;
	double applications = 0, performance;
	uint64_t jobs = 0;

	*totals = (struct placement_totals){.worst_performance = INFINITY};
	for (size_t i = 0, first = 0; i < explanation->task_count; i++) {
		if (begins_job(explanation, i))
			first = i;
		add_task(explainer->scene, &explanation->tasks[i], totals);
		if (i + 1 < explanation->task_count && !begins_job(explanation, i + 1))
			continue;
		performance =
			application_performance(explainer, &explanation->tasks[first], &explanation->tasks[i + 1]);
		applications += isnan(performance) ? 0 : performance;
		jobs += !isnan(performance);
	}
	totals->mean_performance /= (double)totals->predicted;
	totals->random_mean_performance /= (double)totals->compared;
	totals->application_performance = applications / (double)jobs;
}

int explain_after(const struct explain_scene *scene, struct explanation *explanation, const struct flownet_move *moves,
		  size_t move_count)
{
	struct explainer explainer = {
		.scene = scene, .root_known = explanation->root_known, .best = {-1, -1}, .cheapest = {.job = -1}};
	int code;

	note_moves(explanation, moves, move_count);
	if (explain_random(scene, explanation) != 0)
		return -ENOMEM;
	code = vacancies_list(scene, NULL, &explainer.vacancies);
	if (code == 0 && placer_settings(scene->placer)->flow.unscheduled_capacity > 0) {
		explainer.unrouted = calloc(explanation->task_count + 1, sizeof *explainer.unrouted);
		code = explainer.unrouted ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < explanation->task_count && code == 0; i++) {
		if (begins_job(explanation, i))
			code = begin_job(&explainer, explanation->tasks[i].job);
		if (code == 0)
			explain_task(&explainer, &explanation->tasks[i]);
	}
	if (code == 0)
		add_up(&explainer, explanation);
	explanation->totals.slots_free_after = explainer.vacancies.slots;
	free(explainer.unrouted);
	vacancies_free(&explainer.vacancies);
	return code;
}

static struct placement_option name_option(const struct cluster *cluster, const struct explain_option *option,
					   bool predicted)
{
	struct placement_option named = {.rtt_us = NAN, .performance = NAN};

	if (option->machine < 0)
		return named;
	named.machine = cluster->machines[option->machine].name;
	named.rack = cluster->racks[cluster->machines[option->machine].rack].name;
	if (!predicted)
		return named;
	named.cost = option->cost;
	named.performance = option->performance;
	named.rtt_us = isinf(option->rtt_us) ? NAN : option->rtt_us;
	named.rtt_origin = isinf(option->rtt_us) ? "unreachable" : latency_origin_name(option->origin);
	return named;
}

struct placement_task explain_placement(const struct explain_scene *scene, const struct flownet_names *names,
					const struct explain_task *task)
{
	const struct cluster *cluster = scene->layout->cluster;
	bool predicted = task->state == PLACEMENT_PLACED;

	return (struct placement_task){
		.job = names->job(names->context, task->job),
		.task = names->task(names->context, task->job, task->task),
		.root = task->task == flownet_root_task(placer_net(scene->placer), task->job),
		.state = task->state,
		.taken = name_option(cluster, &task->taken, predicted),
		.was_on = task->from >= 0 ? cluster->machines[task->from].name : NULL,
		.arc = flownet_arc_name(task->arc),
		.arc_cost = task->arc_cost,
		.next_best = name_option(cluster, &task->next_best, true),
		.random_performance = predicted ? task->random_performance : NAN,
		.why_waiting = task->why[0] ? task->why : NULL,
	};
}
