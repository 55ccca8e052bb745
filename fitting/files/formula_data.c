/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <fitting/observations/observations.h>
#include <model/sweep.h>

#include "files_priv.h"

static bool taken(const struct formula_data *data, const char *name)
{
	for (size_t k = 0; k < data->table.columns; k++)
		if (strcasecmp(data->table.column[k].name, name) == 0)
			return true;
	return false;
}

/*
 * Gives each column, except y and the deviations, the name in its header and a second name: x if it is the only one,
 * else x1, x2... Leaves the second name out if a header has it.
 */
static void name_predictors(struct formula_data *data, int y, int deviation)
{
	size_t predictors = 0, place = 0;

	for (size_t k = 0; k < data->table.columns; k++)
		predictors += (int)k != y && (int)k != deviation;
	for (size_t k = 0; k < data->table.columns; k++) {
		char *alias = data->aliases[place];

		if ((int)k == y || (int)k == deviation)
			continue;
		data->column[data->name_count] = k;
		data->names[data->name_count++] = data->table.column[k].name;
		place++;
		if (predictors == 1)
			strcpy(alias, "x");
		else
			snprintf(alias, sizeof data->aliases[0], "x%zu", place);
		if (taken(data, alias))
			continue;
		data->column[data->name_count] = k;
		data->names[data->name_count++] = alias;
	}
}

static int find_column(const struct expression_table *table, const char *name, const char *option, struct error *err)
{
	int column = expression_table_find_column(table, name);

	if (column < 0)
		return error_set(err, EINVAL, "%s: there is no column '%s' for %s", table->file, name, option);
	return column;
}

static int allocate(struct formula_data *data, bool deviations, struct error *err)
{
	size_t cells;

	if (__builtin_mul_overflow(data->observations, data->name_count + 1, &cells))
		return error_set(err, ENOMEM, "too many observations");
	data->x = calloc(cells, sizeof *data->x);
	data->y = calloc(data->observations, sizeof *data->y);
	data->deviations = deviations ? calloc(data->observations, sizeof *data->deviations) : NULL;
	if (!data->x || !data->y || (deviations && !data->deviations))
		return error_set(err, ENOMEM, "not enough memory for %zu observations", data->observations);
	return 0;
}

/* Copies the used columns. Refuses deviations that are not above 0: the message can still name the line. */
static int copy_rows(struct formula_data *data, int y, int deviation, struct error *err)
{
	const struct expression_table *table = &data->table;

	for (size_t i = 0; i < table->rows; i++) {
		const long double *row = table->values + i * table->columns;

		data->y[i] = row[y];
		for (size_t k = 0; k < data->name_count; k++)
			data->x[i * data->name_count + k] = row[data->column[k]];
		if (deviation < 0)
			continue;
		data->deviations[i] = (double)row[deviation];
		if (!(data->deviations[i] > 0)) {
			struct error_place place = {table->file, table->lines[i], table->column[deviation].name};

			return error_at(err, place, EINVAL, "expected a standard deviation above 0, found %g",
					data->deviations[i]);
		}
	}
	return 0;
}

static bool is_sweep(const struct expression_table *table)
{
	return expression_table_find_column(table, "delay_us") >= 0 &&
	       expression_table_find_column(table, "metric") >= 0 && expression_table_find_column(table, "value") >= 0;
}

/*
 * Reads the levels of a sweep: x is the added round trip, y the normalised performance; the deviations come from the
 * scatter of the runs.
 */
static int read_sweep(const struct formula_settings *settings, struct formula_data *data, struct error *err)
{
	const struct observation_settings how = {.metric = settings->metric,
						 .absolute_sigma = settings->absolute_sigma};
	struct observations observations;
	struct sweep *sweep;
	int code;

	expression_table_free(&data->table);
	if (settings->y_column || settings->deviation_column)
		return error_set(err, EINVAL,
				 "%s is a sweep: its y is the normalised performance, --y-column and "
				 "--deviation-column do not apply",
				 settings->input);
	if (strcmp(settings->input, "-") == 0)
		return error_set(err, EINVAL, "a sweep for --expr must be a file, not stdin");
	sweep = sweep_read(file_lines_open(settings->input, err), err);
	if (!sweep)
		return -EINVAL;
	code = observations_prepare(sweep, &how, &observations, err);
	sweep_destroy(sweep);
	if (code)
		return code;
	data->names[data->name_count++] = "x";
	data->observations = observations.count;
	data->metric = observations.metric;
	data->baseline_value = observations.baseline_value;
	data->baseline_deviation = observations.baseline_deviation;
	data->baseline_rtt_us = observations.baseline_rtt_us;
	data->disturbed_runs = observations.disturbed;
	code = allocate(data, true, err);
	for (size_t i = 0; code == 0 && i < observations.count; i++) {
		data->x[i] = observations.levels[i].x_us;
		data->y[i] = observations.levels[i].mean;
		data->deviations[i] = 1 / sqrt(observations.levels[i].weight);
	}
	observations_free(&observations);
	return code;
}

int formula_data_read(const struct formula_settings *settings, struct formula_data *data, struct error *err)
{
	int y, deviation = -1, code = expression_table_read(file_lines_open(settings->input, err), &data->table, err);

	data->metric = (struct sweep_metric){.name = "performance", .unit = "1", .better = SWEEP_HIGHER};
	data->baseline_value = data->baseline_deviation = data->baseline_rtt_us = NAN;
	if (code)
		return code;
	if (is_sweep(&data->table))
		return read_sweep(settings, data, err);
	if (settings->y_column) {
		y = find_column(&data->table, settings->y_column, "--y-column", err);
	} else {
		y = expression_table_find_column(&data->table, "y");
		y = y < 0 ? 0 : y;
	}
	if (y < 0)
		return y;
	if (settings->deviation_column) {
		deviation = find_column(&data->table, settings->deviation_column, "--deviation-column", err);
		if (deviation < 0)
			return deviation;
		if (deviation == y)
			return error_set(err, EINVAL, "%s: column '%s' cannot be both y and its deviation",
					 data->table.file, data->table.column[y].name);
	}
	code = expression_table_check_column(&data->table, (size_t)y, err);
	if (code == 0 && deviation >= 0)
		code = expression_table_check_column(&data->table, (size_t)deviation, err);
	if (code)
		return code;
	name_predictors(data, y, deviation);
	data->observations = data->table.rows;
	code = allocate(data, deviation >= 0, err);
	return code ? code : copy_rows(data, y, deviation, err);
}

int formula_data_check(const struct formula_data *data, const struct expression *model, struct error *err)
{
	for (size_t k = 0; k < data->name_count && data->table.columns > 0; k++) {
		int code = expression_uses_predictor(model, k)
				   ? expression_table_check_column(&data->table, data->column[k], err)
				   : 0;

		if (code)
			return code;
	}
	return 0;
}

struct row {
	double x, y, deviation;
};

static int compare_rows(const void *left, const void *right)
{
	double a = ((const struct row *)left)->x, b = ((const struct row *)right)->x;

	return a < b ? -1 : a > b;
}

int formula_data_sorted(const struct formula_data *data, double **x, double **y, double **deviation, struct error *err)
{
	size_t n = data->observations;
	struct row *rows = malloc(n * sizeof *rows);

	*x = malloc(3 * n * sizeof **x);
	if (!rows || !*x) {
		free(rows);
		free(*x);
		return error_set(err, ENOMEM, "out of memory");
	}
	*y = *x + n;
	*deviation = data->deviations ? *y + n : NULL;
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct row){(double)data->x[i * data->name_count], (double)data->y[i],
				       data->deviations ? data->deviations[i] : 0};
	qsort(rows, n, sizeof *rows, compare_rows);
	for (size_t i = 0; i < n; i++) {
		(*x)[i] = rows[i].x;
		(*y)[i] = rows[i].y;
		if (*deviation)
			(*deviation)[i] = rows[i].deviation;
	}
	free(rows);
	return 0;
}

void formula_data_free(struct formula_data *data)
{
	expression_table_free(&data->table);
	free(data->x);
	free(data->y);
	free(data->deviations);
	*data = (struct formula_data){0};
}
