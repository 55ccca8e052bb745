/* SPDX-License-Identifier: BSD-3-Clause */
/* What a round decided: a table for people, nomora.place/1 for programs. */
#include "place.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <jansson.h>

#include <base/json.h>

enum { CELL_BYTES = 192, COLUMNS = 7 };

static const char *const headings[COLUMNS] = {"JOB.TASK",    "MACHINE",   "RTT TO ROOT", "PERFORMANCE",
					      "COST BY ARC", "NEXT BEST", "RANDOM"};

struct row {
	char cell[COLUMNS][CELL_BYTES];
};

static const char *machine_name(const struct place_world *world, int64_t machine)
{
	return machine < 0 ? "-" : world->cluster->machines[machine].name;
}

static const char *rack_name(const struct place_world *world, int64_t machine)
{
	return world->cluster->racks[world->cluster->machines[machine].rack].name;
}

static void print_place(const struct place_world *world, const struct place_task *task, char *text)
{
	if (task->taken.machine < 0)
		snprintf(text, CELL_BYTES, "waits");
	else if (task->from >= 0 && task->from != task->taken.machine)
		snprintf(text, CELL_BYTES, "%s (%s), was %s", machine_name(world, task->taken.machine),
			 rack_name(world, task->taken.machine), machine_name(world, task->from));
	else
		snprintf(text, CELL_BYTES, "%s (%s)%s", machine_name(world, task->taken.machine),
			 rack_name(world, task->taken.machine), task->from >= 0 ? ", stays" : "");
}

static void fill_row(const struct place_world *world, const struct place_task *task, struct row *row)
{
	const struct job *job = &world->jobs->items[task->job];
	char(*cell)[CELL_BYTES] = row->cell;

	memset(row, 0, sizeof *row);
	snprintf(cell[0], CELL_BYTES, "%s.%s%s", job->id, job->tasks[task->task].name,
		 task->task == job->root ? " (root)" : "");
	print_place(world, task, cell[1]);
	if (task->state == PLACE_TASK) {
		snprintf(cell[2], CELL_BYTES, "%.1f us %s", task->taken.rtt_us,
			 latency_origin_name(task->taken.origin));
		snprintf(cell[3], CELL_BYTES, "%.3f", task->taken.performance);
	}
	if (task->arc != FLOWNET_ARC_NONE && task->state != PLACE_WAITING)
		snprintf(cell[4], CELL_BYTES, "%d %s", task->arc_cost, flownet_arc_name(task->arc));
	if (task->state == PLACE_WAITING)
		snprintf(cell[2], CELL_BYTES, "%s", task->why);
	else if (task->next_best.machine >= 0)
		snprintf(cell[5], CELL_BYTES, "%s %.3f", machine_name(world, task->next_best.machine),
			 task->next_best.performance);
	else if (task->state == PLACE_TASK)
		snprintf(cell[5], CELL_BYTES, "no other slot");
	if (task->state == PLACE_TASK && !isnan(task->random_performance))
		snprintf(cell[6], CELL_BYTES, "%.3f", task->random_performance);
}

static void widen(const struct row *row, bool waiting, int *width)
{
	for (int c = 0; c < COLUMNS; c++) {
		int length = (int)strlen(row->cell[c]);

		if (waiting && c >= 2)
			break; /* its reason runs on through the other columns */
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

static void print_head(const struct place_world *world, const struct place_outcome *outcome, FILE *out)
{
	const struct place_settings *settings = world->settings;

	fprintf(out, "%s", world->policy->name);
	if (strcmp(world->policy->name, "nomora") == 0)
		fprintf(out, ", p_m %" PRId64 ", p_r %" PRId64 ", %s", settings->p_m, settings->p_r,
			settings->preemption ? "preemption" : "no preemption");
	fprintf(out, "; %u machines in %u racks, %" PRId64 " of %" PRId64 " slots free; %zu jobs, %zu tasks\n",
		world->cluster->machine_count, world->cluster->rack_count, outcome->free_before, outcome->slots,
		world->jobs->count, outcome->task_count);
	if (world->policy->root_first)
		fprintf(out,
			"One round = two solves: roots first (%" PRId64
			" placed), then the others, their roots known (%" PRId64 " moves).\n",
			outcome->roots_placed, outcome->others_placed);
	fputc('\n', out);
}

static void print_totals(const struct place_world *world, const struct place_outcome *outcome, FILE *out)
{
	const struct place_totals *totals = &outcome->totals;

	fprintf(out,
		"\n%" PRIu64 " placed, %" PRIu64 " stay, %" PRIu64 " moved or preempted, %" PRIu64 " wait; %" PRId64
		" slots left\n",
		totals->placed, totals->running, totals->moved, totals->waiting, outcome->free_after);
	if (totals->predicted > 0)
		fprintf(out, "Predicted performance, mean of %" PRIu64 " tasks: %s %.1f %%", totals->predicted,
			world->policy->name, 100 * totals->performance);
	if (totals->compared > 0)
		fprintf(out, ", random %.1f %% (expected over the free slots)", 100 * totals->random_performance);
	if (totals->predicted > 0)
		fprintf(out, "; worst task %.1f %%\n%" PRIu64 " of them in their root's rack\n", 100 * totals->worst,
			totals->in_root_rack);
	fprintf(out, "Solved by %s in %.3f ms%s; cost %" PRId64 "\n", outcome->last.algorithm, outcome->seconds * 1e3,
		outcome->last.verified ? ", proved optimal" : "", outcome->cost);
}

int place_print_table(const struct place_world *world, const struct place_outcome *outcome, FILE *out)
{
	int width[COLUMNS];
	struct row row;

	for (int c = 0; c < COLUMNS; c++) {
		width[c] = (int)strlen(headings[c]);
		snprintf(row.cell[c], CELL_BYTES, "%s", headings[c]);
	}
	print_head(world, outcome, out);
	for (size_t i = 0; i < outcome->task_count; i++) {
		struct row task_row;

		fill_row(world, &outcome->tasks[i], &task_row);
		widen(&task_row, outcome->tasks[i].state == PLACE_WAITING, width);
	}
	print_row(&row, width, out);
	for (size_t i = 0; i < outcome->task_count; i++) {
		fill_row(world, &outcome->tasks[i], &row);
		print_row(&row, width, out);
	}
	print_totals(world, outcome, out);
	return ferror(out) ? -EIO : 0;
}

static json_t *number_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *option_json(const struct place_world *world, const struct place_option *option)
{
	if (option->machine < 0)
		return json_null();
	return json_pack("{s:s,s:s,s:i,s:f,s:s,s:f}", "machine", machine_name(world, option->machine), "rack",
			 rack_name(world, option->machine), "cost", option->cost, "rtt_us", option->rtt_us,
			 "rtt_origin", latency_origin_name(option->origin), "performance", option->performance);
}

static json_t *task_json(const struct place_world *world, const struct place_task *task)
{
	static const char *const states[] = {"root", "placed", "orphan", "waiting"};
	const struct job *job = &world->jobs->items[task->job];
	json_t *object = json_pack("{s:s,s:s,s:s,s:b,s:s,s:i}", "job", job->id, "task", job->tasks[task->task].name,
				   "state", states[task->state], "root", task->task == job->root, "arc",
				   flownet_arc_name(task->arc), "arc_cost", task->arc_cost);
	bool placed = task->taken.machine >= 0, predicted = task->state == PLACE_TASK;

	json_object_set_new(object, "machine",
			    placed ? json_string(machine_name(world, task->taken.machine)) : json_null());
	json_object_set_new(object, "rack", placed ? json_string(rack_name(world, task->taken.machine)) : json_null());
	json_object_set_new(object, "was_on",
			    task->from >= 0 ? json_string(machine_name(world, task->from)) : json_null());
	json_object_set_new(object, "rtt_us", predicted ? json_real(task->taken.rtt_us) : json_null());
	json_object_set_new(object, "rtt_origin",
			    predicted ? json_string(latency_origin_name(task->taken.origin)) : json_null());
	json_object_set_new(object, "performance", predicted ? json_real(task->taken.performance) : json_null());
	json_object_set_new(object, "next_best", option_json(world, &task->next_best));
	json_object_set_new(object, "random_performance",
			    predicted ? number_or_null(task->random_performance) : json_null());
	json_object_set_new(object, "why_waiting", task->why[0] ? json_string(task->why) : json_null());
	return object;
}

static json_t *totals_json(const struct place_outcome *outcome)
{
	const struct place_totals *totals = &outcome->totals;

	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:o,s:o,s:I,s:I,s:I,s:I}", "tasks",
			 (json_int_t)totals->tasks, "roots", (json_int_t)totals->roots, "placed",
			 (json_int_t)totals->placed, "stay", (json_int_t)totals->running, "moved",
			 (json_int_t)totals->moved, "waiting", (json_int_t)totals->waiting, "predicted",
			 (json_int_t)totals->predicted, "compared", (json_int_t)totals->compared, "mean_performance",
			 number_or_null(totals->performance), "random_mean_performance",
			 number_or_null(totals->random_performance), "worst_performance", number_or_null(totals->worst),
			 "in_root_rack", (json_int_t)totals->in_root_rack, "slots", (json_int_t)outcome->slots,
			 "slots_free_before", (json_int_t)outcome->free_before, "slots_free_after",
			 (json_int_t)outcome->free_after);
}

static json_t *solver_json(const struct place_outcome *outcome)
{
	const struct flownet_round *last = &outcome->last;

	return json_pack("{s:s,s:I,s:I,s:I,s:I,s:f,s:b}", "algorithm", last->algorithm, "solves",
			 (json_int_t)outcome->solves, "cost", (json_int_t)outcome->cost, "unscheduled",
			 (json_int_t)last->unscheduled, "unrouted", (json_int_t)last->unrouted, "seconds",
			 outcome->seconds, "verified", last->verified);
}

static json_t *settings_json(const struct place_settings *settings)
{
	return json_pack("{s:I,s:I,s:I,s:f,s:f,s:b,s:I,s:s,s:s,s:I}", "p_m", (json_int_t)settings->p_m, "p_r",
			 (json_int_t)settings->p_r, "gamma", (json_int_t)settings->gamma, "omega_per_s",
			 settings->omega_per_s, "beta_per_s", settings->beta_per_s, "preemption", settings->preemption,
			 "unscheduled_capacity", (json_int_t)settings->unscheduled_capacity, "latency_reference",
			 settings->reference == LATENCY_REFERENCE_ADDED ? "added" : "absolute", "latency_stat",
			 (const char *[]){"max", "p99", "p50"}[settings->statistic], "rounds",
			 (json_int_t)settings->rounds);
}

/* Member by member, task by task: all of it as one value would take several hundred bytes a member of each task. */
int place_print_json(const struct place_world *world, const struct place_outcome *outcome, FILE *out)
{
	bool written = json_print_member(out, "{\n  \"schema\": ", json_string("nomora.place/1")) &&
		       json_print_member(out, ",\n  \"policy\": ", json_string(world->policy->name)) &&
		       json_print_member(out, ",\n  \"settings\": ", settings_json(world->settings)) &&
		       fputs(",\n  \"tasks\": [", out) != EOF;

	for (size_t i = 0; i < outcome->task_count && written; i++)
		written = json_print_member(out, i == 0 ? "\n    " : ",\n    ", task_json(world, &outcome->tasks[i]));
	written = written && fputs("\n  ]", out) != EOF &&
		  json_print_member(out, ",\n  \"totals\": ", totals_json(outcome)) &&
		  json_print_member(out, ",\n  \"solver\": ", solver_json(outcome)) && fputs("\n}\n", out) != EOF;
	return written ? 0 : -EIO;
}
