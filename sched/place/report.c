/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints a placement: a table for people, nomora.place/1 for programs. */
#include <sched/place/place.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <base/number.h>

enum { CELL_BYTES = 192, COLUMNS = 7 };

static const char *const headings[COLUMNS] = {"JOB.TASK",    "MACHINE",   "RTT TO ROOT", "PERFORMANCE",
					      "COST BY ARC", "NEXT BEST", "RANDOM"};

struct row {
	char cell[COLUMNS][CELL_BYTES];
};

static void print_place(const struct placement_task *task, char *text)
{
	const struct placement_option *taken = &task->taken;

	if (!taken->machine)
		snprintf(text, CELL_BYTES, "waits");
	else if (task->was_on && strcmp(task->was_on, taken->machine) != 0)
		snprintf(text, CELL_BYTES, "%s (%s), was %s", taken->machine, taken->rack, task->was_on);
	else
		snprintf(text, CELL_BYTES, "%s (%s)%s", taken->machine, taken->rack, task->was_on ? ", stays" : "");
}

static struct row row_of(const struct placement_task *task)
{
	struct row row = {0};
	char(*cell)[CELL_BYTES] = row.cell;
	bool predicted = task->state == PLACEMENT_PLACED;

	snprintf(cell[0], CELL_BYTES, "%s.%s%s", task->job, task->task, task->root ? " (root)" : "");
	print_place(task, cell[1]);
	if (predicted) {
		if (isnan(task->taken.rtt_us))
			snprintf(cell[2], CELL_BYTES, "%s", task->taken.rtt_origin);
		else
			snprintf(cell[2], CELL_BYTES, "%.1f us %s", task->taken.rtt_us, task->taken.rtt_origin);
		snprintf(cell[3], CELL_BYTES, "%.3f", task->taken.performance);
	}
	if (strcmp(task->arc, flownet_arc_name(FLOWNET_ARC_NONE)) != 0 && task->state != PLACEMENT_WAITING)
		snprintf(cell[4], CELL_BYTES, "%d %s", task->arc_cost, task->arc);
	if (task->state == PLACEMENT_WAITING)
		snprintf(cell[2], CELL_BYTES, "%s", task->why_waiting);
	else if (task->next_best.machine)
		snprintf(cell[5], CELL_BYTES, "%s %.3f", task->next_best.machine, task->next_best.performance);
	else if (predicted)
		snprintf(cell[5], CELL_BYTES, "no other slot");
	if (!isnan(task->random_performance))
		snprintf(cell[6], CELL_BYTES, "%.3f", task->random_performance);
	return row;
}

static void widen(const struct row *row, bool waiting, int *width)
{
	for (int c = 0; c < COLUMNS; c++) {
		int length = (int)strlen(row->cell[c]);

		if (waiting && c >= 2)
			break; /* the reason for waiting takes the space of the other columns */
		width[c] = length > width[c] ? length : width[c];
	}
}

static void print_row(const struct row *row, const int *width, FILE *out)
{
	int last = COLUMNS - 1;

	while (last > 0 && row->cell[last][0] == '\0')
		last--;
	for (int c = 0; c < last; c++)
		fprintf(out, "%-*s  ", width[c], row->cell[c]);
	fprintf(out, "%s\n", row->cell[last]);
}

/*
 * Prints whether a curve's baseline round trip is subtracted from the measured ones. Lists the curves whose baseline is
 * unknown: for these, nothing is subtracted.
 */
static void print_latency(const struct place_world *world, FILE *out)
{
	bool added = world->settings->reference == LATENCY_REFERENCE_ADDED, any = false;

	fprintf(out, "Latency: %s; %s", latency_statistic_names[world->settings->statistic],
		added ? "a curve's baseline round trip is subtracted"
		      : "absolute: no baseline round trip is subtracted");
	for (size_t i = 0; added && i < curve_library_count(world->library); i++) {
		if (!isnan(curve_library_at(world->library, i)->baseline_rtt_us))
			continue;
		fprintf(out, "%s %s", any ? "," : " (warning: baseline unknown, so nothing is subtracted for",
			curve_library_name(world->library, i));
		any = true;
	}
	fprintf(out, "%s.\n", any ? ")" : "");
}

/* A predicted curve is only as good as its assumptions. */
static void print_predicted(const struct place_world *world, FILE *out)
{
	bool any = false;

	for (size_t i = 0; i < curve_library_count(world->library); i++) {
		if (!curve_library_at(world->library, i)->predicted)
			continue;
		fprintf(out, "%s %s",
			any ? "," : "Curves that are predicted, not measured:", curve_library_name(world->library, i));
		any = true;
	}
	if (any)
		fputs(".\n", out);
}

static void print_head(const struct place_world *world, const struct place_outcome *outcome, FILE *out)
{
	const struct place_settings *settings = world->settings;
	const struct placement_totals *totals = &outcome->explanation.totals;
	const struct policy *policy = placer_policy(world->placer);
	const struct round_outcome *round = &outcome->round;

	fprintf(out, "%s", policy->name);
	if (strcmp(policy->name, "nomora") == 0)
		fprintf(out, ", p_m %" PRId64 ", p_r %" PRId64 ", %s", settings->p_m, settings->p_r,
			settings->preemption ? "preemption" : "no preemption");
	fprintf(out, "; %u machine%s in %u rack%s, %" PRId64 " of %" PRId64 " slot%s free; %zu job%s, %zu task%s\n",
		world->cluster->machine_count, number_s(world->cluster->machine_count), world->cluster->rack_count,
		number_s(world->cluster->rack_count), totals->slots_free_before, totals->slots,
		number_s((uint64_t)totals->slots), world->jobs->count, number_s(world->jobs->count),
		outcome->explanation.task_count, number_s(outcome->explanation.task_count));
	if (policy->root_first)
		fprintf(out,
			"One round = two solves: roots first (%zu placed), then the other tasks, whose roots are known "
			"(%zu move%s).\n",
			round->roots_placed, round->move_count - round->root_moves,
			number_s(round->move_count - round->root_moves));
	print_latency(world, out);
	print_predicted(world, out);
	fputc('\n', out);
}

static void print_totals(const struct place_world *world, const struct place_outcome *outcome, FILE *out)
{
	const struct placement_totals *totals = &outcome->explanation.totals;
	const struct flownet_round *last = &outcome->round.last;

	fprintf(out,
		"\n%" PRId64 " placed, %" PRId64 " stay, %" PRId64 " moved or preempted, %" PRId64 " wait; %" PRId64
		" slots left\n",
		totals->placed, totals->stay, totals->moved, totals->waiting, totals->slots_free_after);
	if (totals->predicted > 0)
		fprintf(out, "Predicted performance, mean of %" PRId64 " tasks: %s %.1f %%", totals->predicted,
			placer_policy(world->placer)->name, 100 * totals->mean_performance);
	if (totals->compared > 0)
		fprintf(out, ", random %.1f %% (expected value for a random free slot)",
			100 * totals->random_mean_performance);
	if (totals->predicted > 0)
		fprintf(out, "; worst task %.1f %%\n%" PRId64 " of these tasks are in their root's rack\n",
			100 * totals->worst_performance, totals->in_root_rack);
	fprintf(out, "Solved by %s in %.3f ms", last->algorithm, outcome->seconds * 1e3);
	if (outcome->round.unreachable > 0)
		fprintf(out, ", not optimal (refused moves to machines that the root cannot reach: %" PRIu64 ")",
			outcome->round.unreachable);
	else if (outcome->round.withdrawn > 0)
		fprintf(out, ", not optimal (jobs that got fewer slots than their minimum_tasks: %" PRIu64 ")",
			outcome->round.withdrawn);
	else if (last->verified)
		fputs(", proved optimal", out);
	fprintf(out, "; cost %" PRId64 "; sum of 100/performance %" PRId64 "\n", outcome->round.cost,
		totals->performance_cost);
}

static void print_root(const struct place_world *world, const struct placer_job_bound *job, FILE *out)
{
	const struct cluster_machine *machines = world->cluster->machines, *root = &machines[job->root];
	uint32_t tasks = job->tasks + job->kept;

	fprintf(out, "Job %s: with its root on %s (%s), its %u other task%s cost%s %" PRId64,
		world->jobs->items[job->job].id, root->name, world->cluster->racks[root->rack].name, tasks,
		number_s(tasks), tasks == 1 ? "s" : "", job->cost);
	if (job->alone < job->cost)
		fprintf(out, " (without the round's other jobs %" PRId64 ")", job->alone);
	if (job->next_root == FLOWNET_NONE)
		fputs("; no other machine is possible", out);
	else
		fprintf(out, "; on the best other machine, %s (%s), at least %" PRId64, machines[job->next_root].name,
			world->cluster->racks[machines[job->next_root].rack].name, job->next);
	fputc('\n', out);
}

/* With --verify: how far the round's tasks are from the least cost, and why the roots are where they are. */
static void print_bound(const struct place_world *world, const struct place_outcome *outcome, FILE *out)
{
	const struct placer_bound *bound = &outcome->round.bound;

	if (bound->count == 0)
		return;
	fprintf(out,
		"The tasks placed in this round cost %" PRId64 ", with any choice of roots and slots at least %" PRId64
		" (gap %.1f %%)\n",
		bound->cost, bound->bound, 100 * placer_bound_gap(bound));
	for (size_t j = 0; j < bound->count; j++)
		if (bound->jobs[j].root_placed && bound->jobs[j].tasks + bound->jobs[j].kept > 0)
			print_root(world, &bound->jobs[j], out);
}

static json_t *root_json(const struct place_world *world, const struct placer_job_bound *job)
{
	const struct cluster_machine *machines = world->cluster->machines;
	bool other = job->next_root != FLOWNET_NONE;

	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:o}", "job", world->jobs->items[job->job].id, "root",
			 machines[job->root].name, "tasks", (json_int_t)(job->tasks + job->kept), "cost",
			 (json_int_t)job->cost, "cost_alone", (json_int_t)job->alone, "next_root",
			 other ? json_string(machines[job->next_root].name) : json_null(), "next_cost",
			 other ? json_integer(job->next) : json_null());
}

/* NULL: without --verify, or no task was placed. */
static json_t *bound_json(const struct place_world *world, const struct place_outcome *outcome)
{
	const struct placer_bound *bound = &outcome->round.bound;
	json_t *roots;

	if (bound->count == 0)
		return NULL;
	roots = json_array();
	for (size_t j = 0; j < bound->count; j++)
		if (bound->jobs[j].root_placed)
			json_array_append_new(roots, root_json(world, &bound->jobs[j]));
	return json_pack("{s:I, s:I, s:f, s:o}", "cost", (json_int_t)bound->cost, "cost_bound",
			 (json_int_t)bound->bound, "gap", placer_bound_gap(bound), "roots", roots);
}

/* One line for each job with a graph. Returns 0 or -ENOMEM. */
static int print_graphs(const struct place_world *world, FILE *out)
{
	for (uint32_t j = 0; j < world->jobs->count; j++) {
		const struct job *job = &world->jobs->items[j];
		struct placer_edges edges;

		if (placer_edges(world->placer, j, &edges) != 0)
			return -ENOMEM;
		if (!job->graph || isnan(edges.performance))
			continue;
		fprintf(out, "Job %s: mean performance of its %zu edge%s %.1f %%", job->id, edges.count,
			edges.count == 1 ? "" : "s", 100 * edges.performance);
		if (!isnan(edges.given))
			fprintf(out, " (%.1f %% before its tasks were ordered)", 100 * edges.given);
		fprintf(out, "; cost %.0f", edges.cost);
		if (edges.bound > 0)
			fprintf(out, ", in no order below %.0f", edges.bound);
		fputc('\n', out);
	}
	return 0;
}

/* Sets *graphs to NULL if no job has a graph. Returns 0 or -ENOMEM. */
static int graphs_json(const struct place_world *world, json_t **graphs)
{
	*graphs = NULL;
	for (uint32_t j = 0; j < world->jobs->count; j++) {
		const struct job *job = &world->jobs->items[j];
		struct placer_edges edges;

		if (!job->graph)
			continue;
		if (placer_edges(world->placer, j, &edges) != 0) {
			json_decref(*graphs);
			return -ENOMEM;
		}
		*graphs = *graphs ? *graphs : json_array();
		json_array_append_new(*graphs,
				      json_pack("{s:s, s:I, s:o, s:o, s:f, s:o}", "job", job->id, "edges",
						(json_int_t)edges.count, "performance",
						json_number_or_null(edges.performance), "performance_unordered",
						json_number_or_null(edges.given), "cost", edges.cost, "cost_bound",
						edges.bound > 0 ? json_real(edges.bound) : json_null()));
	}
	return 0;
}

int place_print_table(const struct place_world *world, const struct place_outcome *outcome, FILE *out)
{
	const struct explanation *explanation = &outcome->explanation;
	struct explain_scene scene = place_scene(world);
	struct flownet_names names = place_names(world);
	int width[COLUMNS];
	struct row row;

	for (int c = 0; c < COLUMNS; c++) {
		width[c] = (int)strlen(headings[c]);
		snprintf(row.cell[c], CELL_BYTES, "%s", headings[c]);
	}
	print_head(world, outcome, out);
	for (size_t i = 0; i < explanation->task_count; i++) {
		struct placement_task task = explain_placement(&scene, &names, &explanation->tasks[i]);
		struct row task_row = row_of(&task);

		widen(&task_row, task.state == PLACEMENT_WAITING, width);
	}
	print_row(&row, width, out);
	for (size_t i = 0; i < explanation->task_count; i++) {
		struct placement_task task = explain_placement(&scene, &names, &explanation->tasks[i]);

		row = row_of(&task);
		print_row(&row, width, out);
	}
	print_totals(world, outcome, out);
	print_bound(world, outcome, out);
	if (print_graphs(world, out) != 0)
		return -ENOMEM;
	return ferror(out) ? -EIO : 0;
}

static struct placement_settings settings_of(const struct place_settings *settings)
{
	return (struct placement_settings){
		.p_m = settings->p_m,
		.p_r = settings->p_r,
		.gamma = settings->gamma,
		.unscheduled_capacity = settings->unscheduled_capacity,
		.rounds = settings->rounds,
		.omega_per_s = settings->omega_per_s,
		.beta_per_s = settings->beta_per_s,
		.preemption = settings->preemption,
		.latency_reference = settings->reference == LATENCY_REFERENCE_ADDED ? "added" : "absolute",
		.latency_stat = latency_statistic_names[settings->statistic],
	};
}

int place_print_json(const struct place_world *world, const struct place_outcome *outcome, FILE *out)
{
	const struct explanation *explanation = &outcome->explanation;
	const struct flownet_round *last = &outcome->round.last;
	struct placement_settings settings = settings_of(world->settings);
	struct explain_scene scene = place_scene(world);
	struct flownet_names names = place_names(world);
	struct placement_solver solver = {
		.algorithm = last->algorithm,
		.solves = (int64_t)outcome->solves,
		.cost = outcome->round.cost,
		.unscheduled = last->unscheduled,
		.unrouted = last->unrouted,
		.refused = (int64_t)outcome->round.unreachable,
		.seconds = outcome->seconds,
		.verified = last->verified && outcome->round.unreachable == 0 && outcome->round.withdrawn == 0,
	};
	json_t *graphs;
	bool written;

	if (graphs_json(world, &graphs) != 0)
		return -ENOMEM;
	written = placement_print_begin(out, placer_policy(world->placer)->name, &settings);
	for (size_t i = 0; i < explanation->task_count && written; i++) {
		struct placement_task task = explain_placement(&scene, &names, &explanation->tasks[i]);

		written = placement_print_task(out, &task, i == 0);
	}
	if (!written)
		json_decref(graphs);
	return written && placement_print_end(out, &explanation->totals, &solver, graphs, bound_json(world, outcome))
		       ? 0
		       : -EIO;
}
