/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this room share: formulas' fits and readers of sweeps. */
#ifndef FILES_FILES_PRIV_H
#define FILES_FILES_PRIV_H

#include <jansson.h>

#include <fitting/curve/fit.h>
#include <fitting/expression/expression.h>
#include <fitting/files/fit_files.h>
#include <fitting/nonlinear/nonlinear.h>
#include <model/sweep.h>

/* The data and the state of a formula's fit. formula_data.c reads a table's columns or the levels of a sweep.csv. */

enum { FORMULA_NAMES_MAXIMUM = 2 * TABLE_COLUMNS_MAXIMUM };

struct formula_data {
	struct expression_table table; /* only for a plain table; empty for a sweep */
	size_t name_count; /* number of columns of x; a predictor has one for each of its names (fit_files.h) */
	const char *names[FORMULA_NAMES_MAXIMUM];
	char aliases[TABLE_COLUMNS_MAXIMUM][16];
	size_t column[FORMULA_NAMES_MAXIMUM]; /* by name: index of its column in the table */
	size_t observations;
	long double *x, *y; /* x is observations x name_count, row-major */
	double *deviations; /* NULL = all equal */
	/* The metric of a sweep. For a plain table: "performance", with unknown baselines. */
	struct sweep_metric metric;
	double baseline_value, baseline_deviation, baseline_rtt_us;
	long disturbed_runs;
};

int formula_data_read(const struct formula_settings *settings, struct formula_data *data, struct error *err);

/* Checks that each column that the formula uses holds only numbers. */
int formula_data_check(const struct formula_data *data, const struct expression *model, struct error *err);
/*
 * Sets *x, *y and *deviation to the observations sorted by x (the first predictor). *deviation is NULL if the data have
 * no deviations. All three arrays are in one block, which starts at *x; the caller frees *x. Returns 0 or -ENOMEM.
 */
int formula_data_sorted(const struct formula_data *data, double **x, double **y, double **deviation, struct error *err);
void formula_data_free(struct formula_data *data); /* zeroed or filled */

struct formula_fit {
	const struct formula_settings *settings;
	struct formula_data data;
	struct expression_parameters parameters;
	struct expression *model, *response; /* response: NULL = y */
	struct nonlinear_result result;
	double r_squared;
};

/* Returns one element of nomora.fit/1's "fits", or NULL if out of memory. */
json_t *fit_to_json(const struct fit *fit);

#endif
