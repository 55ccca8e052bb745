/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of `nomora fit --expr`: a table's columns, or the levels of a sweep.csv. */
#ifndef APPS_FIT_EXPR_DATA_H
#define APPS_FIT_EXPR_DATA_H

#include <errno.h>

#include <fitting/expression/expression.h>
#include <fitting/expression/table.h>
#include <model/sweep.h>

#include "fit_expr.h"

enum { FIT_NAMES_MAXIMUM = 2 * TABLE_COLUMNS_MAXIMUM };

struct fit_data {
	struct expression_table table; /* of a plain table; empty for a sweep */
	size_t name_count; /* columns of x: each predictor by its header name, and by its alias x1, x2, ... */
	const char *names[FIT_NAMES_MAXIMUM];
	char aliases[TABLE_COLUMNS_MAXIMUM][16];
	size_t column[FIT_NAMES_MAXIMUM]; /* in the table */
	size_t observations;
	long double *x, *y; /* x is observations x name_count, row-major */
	double *deviations; /* NULL = all alike */
	/* Of a sweep; of a plain table "performance" and unknown baselines. */
	struct sweep_metric metric;
	double baseline_value, baseline_deviation, baseline_rtt_us;
	long disturbed_runs;
};

int fit_data_read(const struct fit_expression_settings *settings, struct fit_data *data, struct error *err);

/* Are the columns that the formula uses numbers throughout? */
int fit_data_check(const struct fit_data *data, const struct expression *model, struct error *err);
/*
 * The observations by ascending x (the first predictor), in one block that *x begins and the caller frees;
 * *deviation is NULL if there are none. 0 or -ENOMEM.
 */
int fit_data_sorted(const struct fit_data *data, double **x, double **y, double **deviation, struct error *err);
void fit_data_free(struct fit_data *data); /* of a zeroed or filled one */

#endif
