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
	const struct expression *model; /* every predictor it uses is set to x */
	const char *formula;            /* text of the model */
	size_t predictors;
	const char *const *parameter_names;    /* result->parameters */
	const struct nonlinear_result *result; /* a fit of performance relative to the baseline */
	double r_squared;
	const double *x_us, *y, *deviation; /* in ascending order of x; deviation NULL = not known */
	const char *application;
	struct sweep_metric metric;
	double baseline_value, baseline_deviation, baseline_rtt_us; /* NAN = not known */
	long disturbed_runs;
};

/*
 * Makes a table of the formula, divided by its value at 0, up to the last x, with levels, coefficients and a 95 % band
 * from their covariance (delta method; no band if the covariance is not finite). Returns NULL with err set if the first
 * y is not about 1, an x is negative, the formula is not above 0 at 0, is not finite or rises by more than a tenth, or
 * there is no memory.
 */
struct curve *expression_curve_create(const struct expression_curve_source *source, struct error *err);

#endif
