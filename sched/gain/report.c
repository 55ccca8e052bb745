/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints a comparison: a table for people, nomora.gain/1 for programs. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <base/json.h>
#include <base/number.h>

#include <sched/gain/gain.h>

enum { COLUMNS = 7, CELL_BYTES = 96, LISTED = 20 /* names in a list of the table */ };

static const char *const headings[COLUMNS] = {"JOB", "CURVE", "TASKS", "TODAY", "BEST", "RANDOM", "GAIN"};

static void print_share(const struct gain_share *share, char *text)
{
	if (isnan(share->low))
		snprintf(text, CELL_BYTES, "%.3f", share->performance);
	else
		snprintf(text, CELL_BYTES, "%.3f (%.3f to %.3f)", share->performance, share->low, share->high);
}

static void make_cells(const struct gain_row *row, const char *name, char cell[COLUMNS][CELL_BYTES])
{
	snprintf(cell[0], CELL_BYTES, "%s", name);
	snprintf(cell[1], CELL_BYTES, "%s", row->curve ? row->curve : "");
	snprintf(cell[2], CELL_BYTES, "%" PRIu64, row->tasks);
	print_share(&row->today, cell[3]);
	print_share(&row->best, cell[4]);
	snprintf(cell[5], CELL_BYTES, "%.3f", row->random);
	if (isnan(row->gain_low))
		snprintf(cell[6], CELL_BYTES, "%+.1f %%", number_rounded(100 * row->gain, 1));
	else
		snprintf(cell[6], CELL_BYTES, "%+.1f %% (%+.1f to %+.1f)", number_rounded(100 * row->gain, 1),
			 number_rounded(100 * row->gain_low, 1), number_rounded(100 * row->gain_high, 1));
}

static void print_rows(const struct gain *gain, FILE *out)
{
	char cell[COLUMNS][CELL_BYTES], of_jobs[CELL_BYTES], of_tasks[CELL_BYTES];
	int width[COLUMNS] = {0};

	snprintf(of_jobs, sizeof of_jobs, "mean of %zu job%s", gain->job_count, number_s(gain->job_count));
	snprintf(of_tasks, sizeof of_tasks, "mean of %" PRIu64 " task%s", gain->mean_of_tasks.tasks,
		 number_s(gain->mean_of_tasks.tasks));
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < gain->job_count + 3; i++) {
			size_t j = i - 1;

			if (i == 0)
				for (int c = 0; c < COLUMNS; c++)
					snprintf(cell[c], CELL_BYTES, "%s", headings[c]);
			else if (j < gain->job_count)
				make_cells(&gain->rows[j], gain->rows[j].job, cell);
			else if (j == gain->job_count)
				make_cells(&gain->mean_of_jobs, of_jobs, cell);
			else
				make_cells(&gain->mean_of_tasks, of_tasks, cell);
			for (int c = 0; pass == 0 && c < COLUMNS; c++)
				width[c] = (int)strlen(cell[c]) > width[c] ? (int)strlen(cell[c]) : width[c];
			for (int c = 0; pass == 1 && c < COLUMNS - 1; c++)
				fprintf(out, "%-*s  ", width[c], cell[c]);
			if (pass == 1)
				fprintf(out, "%s\n", cell[COLUMNS - 1]);
		}
	}
}

static void print_verdict(const struct gain_settings *settings, const struct gain *gain, FILE *out)
{
	const struct gain_row *total = &gain->mean_of_tasks;

	if (gain->moved == 0)
		fputs("\nNo better placement was found than the present one, which counts as the best.\n", out);
	else
		fprintf(out, "\nThe best placement moves %" PRIu64 " of %zu tasks.%s\n", gain->moved, gain->task_count,
			total->gain_low <= 0 ? " Its gain is within the uncertainty of the curves." : "");
	fprintf(out,
		"Performance: 1 = no added latency. A job's is the mean of its tasks without the root, by their round "
		"trips to the root.\n"
		"In brackets: bounds by the 95 %% bands of the curves. Random: mean of %" PRId64 " placements.\n",
		settings->seeds);
	if (!settings->place.cluster && settings->slots == 0)
		fputs("Slots: those that the compared jobs use today; --slots or --cluster gives others.\n", out);
}

static void print_left_out(const struct gain *gain, FILE *out)
{
	size_t hosts = json_object_size(gain->foreign), jobs = json_object_size(gain->left_out), listed = 0;
	int64_t tasks = 0;
	const char *name;
	json_t *value;

	json_object_foreach (gain->foreign, name, value)
		tasks += json_integer_value(value);
	if (hosts > 0)
		fprintf(out, "\n%zu host%s not in the mesh, with %" PRId64 " task%s:", hosts,
			hosts == 1 ? " is" : "s are", tasks, number_s((uint64_t)tasks));
	json_object_foreach (gain->foreign, name, value)
		if (listed++ < LISTED)
			fprintf(out, " %s", name);
	if (hosts > 0)
		fputs(hosts > LISTED ? " ... (--json has all)\n" : "\n", out);
	if (jobs > 0)
		fprintf(out, "\n%zu job%s left out:\n", jobs, jobs == 1 ? " is" : "s are");
	listed = 0;
	json_object_foreach (gain->left_out, name, value)
		if (listed++ < LISTED)
			fprintf(out, "  %s: %s\n", name, json_string_value(value));
	if (jobs > LISTED)
		fputs("  ... (--json has all)\n", out);
}

int gain_print_table(const struct gain_settings *settings, const struct gain *gain, FILE *out)
{
	fprintf(out, "%zu job%s with %zu task%s compared; %" PRIu64 " hosts in the mesh; round trips: %s\n\n",
		gain->job_count, number_s(gain->job_count), gain->task_count, number_s(gain->task_count), gain->hosts,
		latency_statistic_names[settings->place.statistic]);
	if (gain->job_count > 0) {
		print_rows(gain, out);
		print_verdict(settings, gain, out);
	}
	print_left_out(gain, out);
	return ferror(out) ? -EIO : 0;
}

static json_t *share_json(const struct gain_share *share)
{
	return json_pack("{s:o, s:o, s:o}", "performance", json_number_or_null(share->performance), "low",
			 json_number_or_null(share->low), "high", json_number_or_null(share->high));
}

static json_t *row_json(const struct gain_row *row)
{
	return json_pack("{s:s*, s:s*, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "job", row->job, "curve", row->curve,
			 "tasks", (json_int_t)row->tasks, "today", share_json(&row->today), "best",
			 share_json(&row->best), "random", json_number_or_null(row->random), "gain",
			 json_number_or_null(row->gain), "gain_low", json_number_or_null(row->gain_low), "gain_high",
			 json_number_or_null(row->gain_high));
}

static json_t *placement_json(const struct gain *gain, size_t job, const struct gain_task *tasks)
{
	const struct cluster *cluster = gain->world.cluster;
	const struct job *running = &gain->world.jobs->items[job];
	json_t *placement = json_array();

	for (uint32_t t = 0; placement && t < running->task_count; t++)
		json_array_append_new(placement,
				      json_pack("{s:s, s:b, s:s, s:s, s:o, s:o}", "task", running->tasks[t].name,
						"root", tasks[t].root, "today", cluster->machines[tasks[t].today].name,
						"best", cluster->machines[tasks[t].best].name, "today_rtt_us",
						json_number_or_null(tasks[t].today_rtt_us), "best_rtt_us",
						json_number_or_null(tasks[t].best_rtt_us)));
	return placement;
}

json_t *gain_to_json(const struct gain_settings *settings, const struct gain *gain)
{
	const struct gain_task *tasks = gain->tasks;
	json_t *jobs = json_array();

	for (size_t j = 0; jobs && j < gain->job_count; j++) {
		json_t *row = row_json(&gain->rows[j]);

		if (row)
			json_object_set_new(row, "placement", placement_json(gain, j, tasks));
		json_array_append_new(jobs, row);
		tasks += gain->world.jobs->items[j].task_count;
	}
	return json_pack("{s:s, s:s, s:o, s:I, s:I, s:o, s:o, s:I, s:o, s:O, s:O}", "schema", "nomora.gain/1",
			 "latency_stat", latency_statistic_names[settings->place.statistic], "measured_until",
			 json_number_or_null(gain->matrix_end), "hosts", (json_int_t)gain->hosts, "seeds",
			 (json_int_t)settings->seeds, "mean_of_jobs",
			 gain->job_count ? row_json(&gain->mean_of_jobs) : json_null(), "mean_of_tasks",
			 gain->job_count ? row_json(&gain->mean_of_tasks) : json_null(), "moved",
			 (json_int_t)gain->moved, "jobs", jobs, "left_out", gain->left_out, "foreign_hosts",
			 gain->foreign);
}
