/* SPDX-License-Identifier: BSD-3-Clause */
/* --sweep: the policies at each value of one option, as a table, sweep.csv and a chart of the areas. */
#include "simulate_priv.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include <base/file.h>
#include <base/number.h>
#include <plot/chart.h>

/* The results of one policy at one value. */
struct outcome {
	double area, worst, task_mean, placement_p50_s, placement_p99_s, migrations, waiting, cpu_s;
};

struct outcomes {
	struct outcome rows[SIMULATE_SWEEP_MAXIMUM][SIMULATE_POLICIES_MAXIMUM];
	char names[SIMULATE_POLICIES_MAXIMUM][SIMULATE_NAME_BYTES];
	size_t policy_count;
};

static struct outcome outcome_of(const struct sim_result *result)
{
	return (struct outcome){
		.area = result->area,
		.worst = result->area_worst,
		.task_mean = result->task_mean,
		.placement_p50_s = (double)histogram_percentile(result->placement_us, 50) / 1e6,
		.placement_p99_s = (double)histogram_percentile(result->placement_us, 99) / 1e6,
		.migrations = (double)result->migrations / result->task_hours,
		.waiting = result->waiting_mean,
		.cpu_s = result->cpu_s,
	};
}

static int run_value(const struct simulate_options *options, size_t value, struct outcomes *outcomes, struct error *err)
{
	struct simulate simulate;
	int code = simulate_whole(&simulate, options, err);

	for (size_t p = 0; p < simulate.policy_count && code == 0; p++) {
		snprintf(outcomes->names[p], SIMULATE_NAME_BYTES, "%s", simulate.policies[p].name);
		outcomes->rows[value][p] = outcome_of(&simulate.policies[p].result);
	}
	outcomes->policy_count = simulate.policy_count;
	simulate_free(&simulate);
	return code;
}

static void print_table(const struct simulate_sweep *sweep, const struct outcomes *outcomes, FILE *out)
{
	fprintf(out, "%-12s %-38s %6s %6s %6s %11s %11s %9s %8s\n", sweep->key, "POLICY", "AREA", "WORST", "TASKS",
		"PLACED p50", "p99", "MIGRATED", "WAITING");
	for (size_t v = 0; v < sweep->count; v++) {
		for (size_t p = 0; p < outcomes->policy_count; p++) {
			const struct outcome *row = &outcomes->rows[v][p];

			fprintf(out, "%-12s %-38s", sweep->texts[v], outcomes->names[p]);
			simulate_print_share(out, row->area);
			simulate_print_share(out, row->worst);
			simulate_print_share(out, row->task_mean);
			fprintf(out, " %9.3f s %9.3f s %9.2f %8.0f\n", row->placement_p50_s, row->placement_p99_s,
				row->migrations, row->waiting);
		}
	}
	fprintf(out, "\nMIGRATED is per task-hour; the other columns are those of a single run.\n");
}

/* An unknown share is an empty field. */
static void write_share(FILE *out, double share)
{
	if (isnan(share))
		fputc(',', out);
	else
		fprintf(out, ",%.6f", share);
}

static int write_csv(const struct simulate_sweep *sweep, const struct outcomes *outcomes, const char *folder,
		     struct error *err)
{
	struct file_writer *writer;
	char path[PATH_MAX];
	FILE *out;

	snprintf(path, sizeof path, "%s/sweep.csv", folder);
	writer = file_writer_open(path, err);
	if (!writer)
		return error_code(err, EIO);
	out = file_writer_stream(writer);
	fprintf(out,
		"%s,policy,area,worst_task,task_mean,placement_p50_s,placement_p99_s,migrations_per_task_hour,"
		"waiting_mean,cpu_s\n",
		sweep->key);
	for (size_t v = 0; v < sweep->count; v++) {
		for (size_t p = 0; p < outcomes->policy_count; p++) {
			const struct outcome *row = &outcomes->rows[v][p];

			fprintf(out, "%s,\"%s\"", sweep->texts[v], outcomes->names[p]);
			write_share(out, row->area);
			write_share(out, row->worst);
			write_share(out, row->task_mean);
			fprintf(out, ",%.6f,%.6f,%.6f,%.3f,%.3f\n", row->placement_p50_s, row->placement_p99_s,
				row->migrations, row->waiting, row->cpu_s);
		}
	}
	return file_writer_commit(writer, err);
}

/*
 * Fills x with the position of each value on the chart's axis. Returns true if all values are numbers; otherwise the
 * positions are 0, 1, ..., and the axis shows the values as labels.
 */
static bool parse_values(const struct simulate_sweep *sweep, double *x)
{
	bool numbers = true;

	for (size_t v = 0; v < sweep->count; v++)
		numbers = numbers && number_parse_double(sweep->texts[v], &x[v]) == 0;
	for (size_t v = 0; v < sweep->count && !numbers; v++)
		x[v] = (double)v;
	return numbers;
}

static int write_chart(const struct simulate_sweep *sweep, const struct outcomes *outcomes, const char *folder,
		       struct error *err)
{
	struct chart *chart = chart_create(&(struct chart_options){
		.title = "Average application performance",
		.x.label = sweep->key,
		.y = {.label = "area, %", .has_minimum = true, .has_maximum = true, .maximum = 100},
	});
	double x[SIMULATE_SWEEP_MAXIMUM], y[SIMULATE_SWEEP_MAXIMUM];
	char path[PATH_MAX];
	int code = chart ? 0 : -ENOMEM;

	if (code == 0 && !parse_values(sweep, x))
		code = chart_set_categories(chart, sweep->texts, sweep->count);
	for (size_t p = 0; p < outcomes->policy_count && code == 0; p++) {
		struct chart_style style = {.colour = (int)p + 1};

		for (size_t v = 0; v < sweep->count; v++)
			y[v] = 100 * outcomes->rows[v][p].area;
		code = chart_add_line(chart, outcomes->names[p], x, y, sweep->count, style);
		if (code == 0)
			code = chart_add_points(chart, NULL, x, y, NULL, sweep->count, style);
	}
	snprintf(path, sizeof path, "%s/sweep.svg", folder);
	code = code == 0 ? chart_save(chart, path, err) : error_set(err, ENOMEM, "out of memory");
	chart_destroy(chart);
	return code;
}

int simulate_sweep(const struct simulate_sweep *sweep, const char *folder, FILE *out, struct error *err)
{
	struct outcomes *outcomes = calloc(1, sizeof *outcomes);
	bool made = false;
	int code = outcomes ? simulate_make_folder(folder, &made, err) : error_set(err, ENOMEM, "out of memory");

	for (size_t v = 0; v < sweep->count && code == 0; v++)
		code = run_value(&sweep->options[v], v, outcomes, err);
	if (code == 0 && folder)
		code = write_csv(sweep, outcomes, folder, err);
	if (code == 0 && folder)
		code = write_chart(sweep, outcomes, folder, err);
	if (code == 0)
		print_table(sweep, outcomes, out);
	else
		simulate_drop_folder(folder, made);
	free(outcomes);
	return code;
}
