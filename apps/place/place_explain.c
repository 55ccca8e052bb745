/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A round, and why it came out so. "One round" is two solves: roots first, then, with their places known, the others
 * (NoMora 5.2). Random's expectation is over the slots that were free when the others were placed, each with equal
 * chance, the root where it is: of a root that came in the same solve the slot is its own.
 */
#include "place.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/ns.h>

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

static int64_t count_free(const struct place_world *world)
{
	int64_t slots = 0;

	for (uint32_t m = 0; m < world->cluster->machine_count; m++)
		slots += flownet_free(placer_net(world->placer), m);
	return slots;
}

static void explain_waiting(const struct place_world *world, const struct place_outcome *outcome,
			    struct place_task *task, int32_t root)
{
	const struct flownet *net = placer_net(world->placer);
	const char *freed = task->from >= 0 ? "preempted; " : "";

	task->state = PLACE_WAITING;
	task->arc_cost = 0;
	task->arc = flownet_arc_to(net, task->job, task->task, FLOWNET_NONE, &task->arc_cost);
	if (world->policy->root_first && root == FLOWNET_NONE && task->task != flownet_root_task(net, task->job))
		snprintf(task->why, sizeof task->why, "waits for its root, which has no machine");
	else if (outcome->free_after == 0)
		snprintf(task->why, sizeof task->why, "%sno free slot in the cluster", freed);
	else if (task->next_best.machine >= 0)
		snprintf(task->why, sizeof task->why, "%swaiting costs %d, the best free slot (%s) %d", freed,
			 task->arc_cost, world->cluster->machines[task->next_best.machine].name, task->next_best.cost);
	else
		snprintf(task->why, sizeof task->why, "%sno arc leads to a free slot", freed);
}

static void explain_task(const struct place_world *world, const struct place_outcome *outcome, const int64_t best[2],
			 struct place_task *task)
{
	const struct flownet *net = placer_net(world->placer);
	int32_t root = flownet_root_machine(net, task->job);
	bool is_root = task->task == flownet_root_task(net, task->job);

	task->taken.machine = flownet_task_machine(net, task->job, task->task);
	task->next_best.machine = -1;
	if (root != FLOWNET_NONE && !is_root) {
		int64_t other = best[best[0] == task->taken.machine];

		if (other >= 0)
			look_at(world, task->job, (uint32_t)root, (uint32_t)other, &task->next_best);
	}
	if (task->taken.machine < 0) {
		explain_waiting(world, outcome, task, root);
		return;
	}
	task->state = is_root ? PLACE_ROOT : root == FLOWNET_NONE ? PLACE_ORPHAN : PLACE_TASK;
	if (task->state == PLACE_TASK)
		look_at(world, task->job, (uint32_t)root, (uint32_t)task->taken.machine, &task->taken);
	if (task->from == task->taken.machine) {
		task->arc = FLOWNET_ARC_RUNNING;
		flownet_arc_to(net, task->job, task->task, (int32_t)task->from, &task->arc_cost);
	}
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
	struct vacancies vacancies;
	int64_t best[2] = {-1, -1};
	int code;

	progress_update(world->progress, 4, "explaining");
	if (explain_random(world, outcome) != 0)
		return -ENOMEM;
	code = list_vacancies(world, NULL, &vacancies);
	outcome->free_after = vacancies.slots;
	for (size_t i = 0; i < outcome->task_count && code == 0; i++) {
		struct place_task *task = &outcome->tasks[i];
		int32_t root = flownet_root_machine(placer_net(world->placer), task->job);

		if (root != FLOWNET_NONE && (i == 0 || task->job != outcome->tasks[i - 1].job))
			best_machines(world, &vacancies, task->job, (uint32_t)root, best);
		explain_task(world, outcome, best, task);
	}
	vacancies_free(&vacancies);
	add_up(world, outcome);
	return code;
}

/* Writes what --dump-dimacs and --draw ask for. `network` is as it was before the solve, the tasks are where they are
 * now: that is the flow. */
static int write_network(const struct place_world *world, const struct flownet_network *network, struct error *err)
{
	const struct place_settings *settings = world->settings;
	const char *const paths[] = {settings->dump_dimacs, settings->draw};
	const struct flownet *net = placer_net(world->placer);
	struct flownet_names names = place_names(world);
	int32_t *flow = calloc((size_t)network->problem.arc_count + 1, sizeof *flow);
	int code = flow ? flownet_network_route(network, net, flow) : -ENOMEM;

	for (int i = 0; i < 2 && code == 0; i++) {
		size_t length = paths[i] ? strlen(paths[i]) : 0;
		struct file_writer *writer;
		FILE *out;

		if (!paths[i])
			continue;
		writer = file_writer_open(paths[i], err);
		if (!writer) {
			free(flow);
			return -(err->code ? err->code : EIO);
		}
		out = file_writer_stream(writer);
		if (i == 0)
			flownet_network_write_dimacs(network, net, &names, out);
		else if (length > 5 && strcasecmp(paths[i] + length - 5, ".json") == 0)
			flownet_network_write_json(network, net, &names, flow, out);
		else
			flownet_network_write_dot(network, net, &names, flow, out);
		code = file_writer_commit(writer, err);
	}
	free(flow);
	return code == -ENOMEM ? error_set(err, ENOMEM, "out of memory") : code;
}

static void note_moves(struct place_outcome *outcome, const struct flownet_round *round, const size_t *first_of_job)
{
	for (size_t i = 0; i < round->move_count; i++) {
		const struct flownet_move *move = &round->moves[i];
		struct place_task *task = &outcome->tasks[first_of_job[move->job] + move->task];

		task->arc = move->arc;
		task->arc_cost = move->cost;
	}
}

static int solve_once(struct place_world *world, struct place_outcome *outcome, const size_t *first_of_job,
		      struct error *err)
{
	int code = flownet_solve(placer_net(world->placer), &outcome->last, err);

	if (code != 0)
		return code;
	note_moves(outcome, &outcome->last, first_of_job);
	outcome->solves++;
	outcome->seconds += outcome->last.apply_s + outcome->last.solve_s + outcome->last.extract_s;
	outcome->last.moves = NULL;
	return 0;
}

static bool a_root_waits(const struct place_world *world)
{
	const struct flownet *net = placer_net(world->placer);

	for (uint32_t j = 0; world->policy->root_first && j < world->jobs->count; j++) {
		if (flownet_root_machine(net, j) == FLOWNET_NONE)
			return true;
	}
	return false;
}

/* One round. The last one's second solve is the one that is drawn and compared with random. */
static int run_round(struct place_world *world, struct place_outcome *outcome, const size_t *first_of_job, bool last,
		     struct error *err)
{
	bool wants_network = last && (world->settings->dump_dimacs || world->settings->draw);
	struct flownet_network network = {0};
	int code = 0;

	outcome->roots_placed = outcome->others_placed = 0;
	progress_update(world->progress, 2, "placing roots");
	if (a_root_waits(world)) {
		code = solve_once(world, outcome, first_of_job, err);
		outcome->roots_placed = (int64_t)outcome->last.move_count;
	}
	progress_update(world->progress, 3, "placing the others");
	if (code == 0 && wants_network)
		code = flownet_network_build(placer_net(world->placer), &network, err);
	if (code == 0 && last && place_explain_before(world, outcome) != 0)
		code = error_set(err, ENOMEM, "out of memory");
	if (code == 0)
		code = solve_once(world, outcome, first_of_job, err);
	outcome->others_placed = (int64_t)outcome->last.move_count;
	if (code == 0 && wants_network)
		code = write_network(world, &network, err);
	flownet_network_free(&network);
	return code;
}

static int list_tasks(const struct place_world *world, struct place_outcome *outcome, size_t *first_of_job)
{
	size_t count = 0;

	for (size_t j = 0; j < world->jobs->count; j++)
		count += world->jobs->items[j].task_count;
	outcome->tasks = calloc(count + 1, sizeof *outcome->tasks);
	if (!outcome->tasks)
		return -ENOMEM;
	for (uint32_t j = 0; j < world->jobs->count; j++) {
		first_of_job[j] = outcome->task_count;
		for (uint32_t t = 0; t < world->jobs->items[j].task_count; t++) {
			outcome->tasks[outcome->task_count++] = (struct place_task){
				.job = j,
				.task = t,
				.from = world->jobs->items[j].tasks[t].machine,
				.arc = FLOWNET_ARC_NONE,
				.random_performance = NAN,
			};
		}
	}
	return 0;
}

int place_run(struct place_world *world, struct place_outcome *outcome, struct error *err)
{
	const struct place_settings *settings = world->settings;
	size_t *first_of_job = calloc(world->jobs->count + 1, sizeof *first_of_job);
	int code = first_of_job ? 0 : -ENOMEM;

	*outcome = (struct place_outcome){0};
	if (code == 0)
		code = list_tasks(world, outcome, first_of_job);
	if (code != 0) {
		free(first_of_job);
		return error_set(err, ENOMEM, "out of memory");
	}
	outcome->slots = cluster_slots(world->cluster);
	outcome->free_before = count_free(world);
	for (int64_t round = 1; round <= settings->rounds && code == 0; round++) {
		if (round > 1)
			flownet_time_passed(placer_net(world->placer), settings->round_s);
		code = run_round(world, outcome, first_of_job, round == settings->rounds, err);
	}
	free(first_of_job);
	if (code == 0 && place_explain_after(world, outcome) != 0)
		code = error_set(err, ENOMEM, "out of memory");
	return code;
}

void place_outcome_free(struct place_outcome *outcome)
{
	free(outcome->tasks);
	free(outcome->free_slots);
	free(outcome->root_known);
	*outcome = (struct place_outcome){0};
}
