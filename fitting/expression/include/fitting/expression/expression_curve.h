/* SPDX-License-Identifier: BSD-3-Clause */
/* A curve (model/curve.h) from a fitted formula of one predictor, the added round trip in µs. No state between calls.
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
	const struct nonlinear_result *result; /* of performance relative to the baseline */
	double r_squared;
	const double *x_us, *y, *deviation; /* result->observations, x ascending; deviation NULL = not known */
	const char *application;
	struct sweep_metric metric;
	double baseline_value, baseline_deviation, baseline_rtt_us; /* NAN = not known */
	long disturbed_runs;
};

/*
 * The formula divided by its value at 0, as a table to the last x, with levels, coefficients and a 95 % band from their
 * covariance (delta method; none if the covariance is not finite). NULL with err set: the first y is not about 1, the
 * formula is not finite and above 0 at 0, or rises by more than a tenth, or there is no memory.
 */
struct curve *expression_curve_create(const struct expression_curve_source *source, struct error *err);

#endif
