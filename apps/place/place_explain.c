/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why a round came out as it did. Random's expectation is over the slots that were free when the others were placed,
 * each with equal chance, the root where it is: of a root that came in the same solve the slot is its own.
 */
#include "place.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const struct curve *curve_of(const struct place_world *world, uint32_t job)
{
	return world->curves[world->curve_of_job[job]].curve;
}

static double performance_at(const struct place_world *world, const struct curve *curve, double rtt_us)
{
	return curve_eval(curve, world->settings->reference == LATENCY_REFERENCE_ADDED
					 ? curve_added_rtt_us(curve, rtt_us)
					 : rtt_us);
}

static void look_at(const struct place_world *world, uint32_t job, uint32_t root, uint32_t machine,
		    struct place_option *option)
{
	const struct curve *curve = curve_of(world, job);
	float rtt_us = latency_view_get(world->view, root, machine, &option->origin);

	option->machine = machine;
	option->rtt_us = round((double)rtt_us * 1e3) / 1e3; /* a float holds no more */
	option->cost = placer_latency_cost(world->placer, job, root, machine);
	option->performance = performance_at(world, curve, (double)rtt_us);
}

/* Machines with free slots, in the layout's order, and scratch to look at them from a root. */
struct vacancies {
	struct vacancy {
		uint32_t column, machine;
		int32_t slots;
	} * items;
	size_t count;
	int64_t slots; /* of all */
	float *rtt_us; /* [the layout's columns] */
};

static void vacancies_free(struct vacancies *vacancies)
{
	free(vacancies->items);
	free(vacancies->rtt_us);
}

/* Slots of each machine as given, or those that are free now (NULL). 0 or -ENOMEM; vacancies_free() in any case. */
static int list_vacancies(const struct place_world *world, const int32_t *free_slots, struct vacancies *vacancies)
{
	const struct cost_layout *layout = world->layout;

	*vacancies = (struct vacancies){
		.items = calloc((size_t)world->cluster->machine_count + 1, sizeof *vacancies->items),
		.rtt_us = calloc((size_t)layout->column_count + 1, sizeof *vacancies->rtt_us),
	};
	if (!vacancies->items || !vacancies->rtt_us)
		return -ENOMEM;
	for (uint32_t c = 0; c < layout->column_count; c++) {
		uint32_t machine = layout->machine_of_column[c];
		int32_t slots = 0;

		if (machine != COST_NO_MACHINE)
			slots = free_slots ? free_slots[machine] : flownet_free(placer_net(world->placer), machine);
		if (slots == 0)
			continue;
		vacancies->items[vacancies->count++] = (struct vacancy){c, machine, slots};
		vacancies->slots += slots;
	}
	return 0;
}

/* Predicted performance of the job's tasks, the mean over all slots but `taken` of the root's machine, each alike; NAN
 * when there is none. */
static double mean_performance(const struct place_world *world, const struct vacancies *vacancies, uint32_t job,
			       uint32_t root, int32_t taken)
{
	const struct curve *curve = curve_of(world, job);
	int64_t slots = vacancies->slots - taken;
	double sum = 0;

	latency_view_row(world->view, root, 0, world->layout->column_count, vacancies->rtt_us);
	for (size_t i = 0; i < vacancies->count; i++) {
		const struct vacancy *vacancy = &vacancies->items[i];

		sum += (vacancy->slots - (vacancy->machine == root ? taken : 0)) *
		       performance_at(world, curve, (double)vacancies->rtt_us[vacancy->column]);
	}
	return slots > 0 ? sum / (double)slots : NAN;
}

/* The two best machines with a free slot for the job's tasks; -1 = there is none. */
static void best_machines(const struct place_world *world, const struct vacancies *vacancies, uint32_t job,
			  uint32_t root, int64_t machines[2])
{
	const struct curve *curve = curve_of(world, job);
	double best[2] = {-1, -1};

	machines[0] = machines[1] = -1;
	latency_view_row(world->view, root, 0, world->layout->column_count, vacancies->rtt_us);
	for (size_t i = 0; i < vacancies->count; i++) {
		const struct vacancy *vacancy = &vacancies->items[i];
		double performance = performance_at(world, curve, (double)vacancies->rtt_us[vacancy->column]);

		if (performance > best[0]) {
			machines[1] = machines[0];
			best[1] = best[0];
			machines[0] = vacancy->machine;
			best[0] = performance;
		} else if (performance > best[1]) {
			machines[1] = vacancy->machine;
			best[1] = performance;
		}
	}
}

int place_explain_before(const struct place_world *world, struct place_outcome *outcome)
{
	const struct flownet *net = placer_net(world->placer);

	outcome->free_slots = calloc((size_t)world->cluster->machine_count + 1, sizeof *outcome->free_slots);
	outcome->root_known = calloc(world->jobs->count + 1, sizeof *outcome->root_known);
	if (!outcome->free_slots || !outcome->root_known)
		return -ENOMEM;
	for (uint32_t m = 0; m < world->cluster->machine_count; m++)
		outcome->free_slots[m] = flownet_free(net, m);
	for (uint32_t j = 0; j < world->jobs->count; j++)
		outcome->root_known[j] = flownet_root_machine(net, j) != FLOWNET_NONE;
	return 0;
}

/* Fills random's expectation of every task, looked up once per job. 0 or -ENOMEM. */
static int explain_random(const struct place_world *world, struct place_outcome *outcome)
{
	struct vacancies vacancies;
	double expected = NAN;
	int code = list_vacancies(world, outcome->free_slots, &vacancies);

	for (size_t i = 0; i < outcome->task_count && code == 0; i++) {
		struct place_task *task = &outcome->tasks[i];
		int32_t root = flownet_root_machine(placer_net(world->placer), task->job);

		if (i == 0 || task->job != outcome->tasks[i - 1].job)
			expected = root == FLOWNET_NONE ? NAN
							: mean_performance(world, &vacancies, task->job, (uint32_t)root,
									   !outcome->root_known[task->job]);
		task->random_performance = expected;
	}
	vacancies_free(&vacancies);
	return code;
}

/* What the policy asks for the free slot that it asks least for; alike for all tasks of a job but its root. */
struct cheapest {
	int64_t job; /* of whom the rest is told; -1 = of nobody yet */
	bool is_root;
	uint32_t machine;
	int32_t cost;
	enum flownet_arc arc; /* FLOWNET_ARC_NONE: there is none */
};

static void find_cheapest(const struct place_world *world, const struct vacancies *vacancies,
			  const struct place_task *task, bool is_root, struct cheapest *found)
{
	if (found->job == task->job && found->is_root == is_root)
		return;
	*found = (struct cheapest){.job = task->job, .is_root = is_root, .cost = INT32_MAX, .arc = FLOWNET_ARC_NONE};
	for (size_t i = 0; i < vacancies->count; i++) {
		uint32_t machine = vacancies->items[i].machine;
		int32_t cost;
		enum flownet_arc arc =
			flownet_arc_to(placer_net(world->placer), task->job, task->task, (int32_t)machine, &cost);

		if (arc == FLOWNET_ARC_NONE || cost >= found->cost)
			continue;
		found->machine = machine;
		found->cost = cost;
		found->arc = arc;
	}
}

/* What the tasks of a job are explained by. */
struct explainer {
	const struct place_world *world;
	const bool *root_known;
	struct vacancies vacancies; /* now */
	int64_t best[2];            /* best_machines() of this job */
	struct cheapest cheapest;
	bool *unrouted; /* [tasks of this job] U is too narrow for it; NULL: it holds all */
};

static void explain_waiting(struct explainer *explainer, struct place_task *task)
{
	const struct place_world *world = explainer->world;
	struct cheapest *cheapest = &explainer->cheapest;
	const struct flownet *net = placer_net(world->placer);
	const char *freed = task->from >= 0 ? "preempted; " : "";
	bool is_root = task->task == flownet_root_task(net, task->job);

	task->state = PLACE_WAITING;
	task->arc_cost = 0;
	task->arc = FLOWNET_ARC_NONE;
	if (world->policy->root_first && !explainer->root_known[task->job] && !is_root) {
		snprintf(task->why, sizeof task->why, "%s",
			 flownet_root_machine(net, task->job) == FLOWNET_NONE
				 ? "waits for its root, which has no machine"
				 : "waits for the next round, its root came last in this one");
		return;
	}
	if (!explainer->unrouted || !explainer->unrouted[task->task])
		task->arc = flownet_arc_to(net, task->job, task->task, FLOWNET_NONE, &task->arc_cost);
	if (explainer->vacancies.count == 0) {
		snprintf(task->why, sizeof task->why, "%sno free slot in the cluster", freed);
		return;
	}
	find_cheapest(world, &explainer->vacancies, task, is_root, cheapest);
	if (cheapest->arc != FLOWNET_ARC_NONE)
		snprintf(task->why, sizeof task->why, "%swaiting costs %d, the cheapest free slot (%s) %d by %s", freed,
			 task->arc_cost, world->cluster->machines[cheapest->machine].name, cheapest->cost,
			 flownet_arc_name(cheapest->arc));
	else
		snprintf(task->why, sizeof task->why, "%sno arc leads to a free slot", freed);
}

static void explain_task(struct explainer *explainer, struct place_task *task)
{
	const struct place_world *world = explainer->world;
	const struct flownet *net = placer_net(world->placer);
	int32_t root = flownet_root_machine(net, task->job);
	bool is_root = task->task == flownet_root_task(net, task->job);

	task->taken.machine = flownet_task_machine(net, task->job, task->task);
	task->next_best.machine = -1;
	if (root != FLOWNET_NONE && !is_root) {
		int64_t other = explainer->best[explainer->best[0] == task->taken.machine];

		if (other >= 0)
			look_at(world, task->job, (uint32_t)root, (uint32_t)other, &task->next_best);
	}
	if (task->taken.machine < 0) {
		explain_waiting(explainer, task);
		return;
	}
	task->state = is_root ? PLACE_ROOT : root == FLOWNET_NONE ? PLACE_ORPHAN : PLACE_TASK;
	if (task->state == PLACE_TASK)
		look_at(world, task->job, (uint32_t)root, (uint32_t)task->taken.machine, &task->taken);
	if (task->arc == FLOWNET_ARC_NONE)
		task->arc = flownet_arc_to(net, task->job, task->task, (int32_t)task->taken.machine, &task->arc_cost);
}

static int begin_job(struct explainer *explainer, uint32_t job)
{
	const struct flownet *net = placer_net(explainer->world->placer);
	int32_t root = flownet_root_machine(net, job);

	if (root != FLOWNET_NONE)
		best_machines(explainer->world, &explainer->vacancies, job, (uint32_t)root, explainer->best);
	return explainer->unrouted ? flownet_list_unrouted(net, job, explainer->unrouted) : 0;
}

static void add_up(const struct place_world *world, struct place_outcome *outcome)
{
	struct place_totals *totals = &outcome->totals;
	const struct cluster *cluster = world->cluster;

	*totals = (struct place_totals){.worst = INFINITY};
	for (size_t i = 0; i < outcome->task_count; i++) {
		const struct place_task *task = &outcome->tasks[i];
		int32_t root = flownet_root_machine(placer_net(world->placer), task->job);

		totals->tasks++;
		totals->roots += task->state == PLACE_ROOT;
		totals->waiting += task->state == PLACE_WAITING;
		totals->placed += task->from < 0 && task->taken.machine >= 0;
		totals->running += task->from >= 0 && task->taken.machine == task->from;
		totals->moved += task->from >= 0 && task->taken.machine != task->from;
		if (task->state != PLACE_TASK)
			continue;
		totals->in_root_rack += cluster->machines[task->taken.machine].rack == cluster->machines[root].rack;
		totals->worst = fmin(totals->worst, task->taken.performance);
		totals->predicted++;
		totals->performance += task->taken.performance;
		if (isnan(task->random_performance))
			continue;
		totals->compared++;
		totals->random_performance += task->random_performance;
	}
	totals->performance /= (double)totals->predicted;
	totals->random_performance /= (double)totals->compared;
}

int place_explain_after(struct place_world *world, struct place_outcome *outcome)
{
	struct explainer explainer = {
		.world = world, .root_known = outcome->root_known, .best = {-1, -1}, .cheapest = {.job = -1}};
	int code;

	progress_update(world->progress, 4, "explaining");
	if (explain_random(world, outcome) != 0)
		return -ENOMEM;
	code = list_vacancies(world, NULL, &explainer.vacancies);
	outcome->free_after = explainer.vacancies.slots;
	if (code == 0 && world->settings->unscheduled_capacity > 0) {
		explainer.unrouted = calloc(outcome->task_count + 1, sizeof *explainer.unrouted);
		code = explainer.unrouted ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < outcome->task_count && code == 0; i++) {
		struct place_task *task = &outcome->tasks[i];

		if (i == 0 || task->job != outcome->tasks[i - 1].job)
			code = begin_job(&explainer, task->job);
		if (code == 0)
			explain_task(&explainer, task);
	}
	free(explainer.unrouted);
	vacancies_free(&explainer.vacancies);
	add_up(world, outcome);
	return code;
}
