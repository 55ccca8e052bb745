/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fits a formula to a table: joins expression.h and nonlinear.h. Data are long double, so that the polish works on the
 * decimals of the file, not on their rounded doubles. No state between calls; frees all memory that it allocates,
 * except *result's. The comment of an array begins with its length.
 */
#ifndef FITTING_EXPRESSION_FIT_H
#define FITTING_EXPRESSION_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include <base/error.h>
#include <fitting/expression/expression.h>
#include <fitting/nonlinear/nonlinear.h>

struct expression_fit_problem {
	const struct expression *model;    /* formula of `predictors` columns of x and `parameters` parameters */
	const struct expression *response; /* transform of y: a formula whose only parameter is y; NULL = none */
	size_t observations, predictors, parameters;
	const long double *x;        /* observations x predictors, row-major; NULL if predictors is 0 */
	const long double *y;        /* observations */
	const double *deviations;    /* observations: deviation of y before its transform, > 0; NULL = all equal */
	const double *start;         /* parameters */
	const double *lower, *upper; /* parameters or NULL */
	const bool *fixed;           /* parameters or NULL */
};

/*
 * Fits the model to response(y) by nonlinear_fit(). Deviations are multiplied by the slope |d response / d y|. Returns
 * -EINVAL with err set ("observation 3: ...") if response(y) is not finite or a deviation is not above 0; otherwise the
 * result of nonlinear_fit(). *r_squared is 1 - RSS / S, where S is the weighted sum of squares of response(y) about its
 * mean.
 */
int expression_fit(const struct expression_fit_problem *problem, const struct nonlinear_settings *settings,
		   struct nonlinear_result *result, double *r_squared, struct error *err);

#endif
