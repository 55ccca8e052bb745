/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes a curve (model/curve.h) from a fitted formula of one predictor, the added round trip in µs. No state between
 * calls.
 */
#ifndef FITTING_EXPRESSION_CURVE_H
#define FITTING_EXPRESSION_CURVE_H

#include <stddef.h>

#include <base/error.h>
#include <fitting/expression/expression.h>
#include <fitting/nonlinear/nonlinear.h>
#include <model/curve.h>

struct expression_curve_source {
	const struct expression *model;        /* a formula; every predictor that it uses is set to x */
	const char *formula;                   /* text of the model */
	size_t predictors;                     /* number of the model's predictors */
	const char *const *parameter_names;    /* an array of result->parameters names */
	const struct nonlinear_result *result; /* a fit of performance relative to the baseline */
	double r_squared;
	/* arrays of result->observations elements, one per level, by ascending x; deviation NULL = not known */
	const double *x_us, *y, *deviation;
	const char *application;
	struct sweep_metric metric;
	double baseline_value, baseline_deviation, baseline_rtt_us; /* NAN = not known */
	long disturbed_runs;
};

/*
 * Makes a curve from the formula f: a table of f(x) / f(0) from 0 to the last x, the levels, the coefficients, and a
 * 95 % band from the covariance of the coefficients (delta method; no band if the covariance is not finite). Returns
 * NULL with err set if the first y is not about 1, if an x is negative, if f(0) is not above 0, if f(x) / f(0) is not
 * finite or exceeds 1.1 in the table, or if out of memory.
 */
struct curve *expression_curve_create(const struct expression_curve_source *source, struct error *err);

#endif
