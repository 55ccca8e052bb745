/* SPDX-License-Identifier: BSD-3-Clause */
#include <fitting/expression/expression.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "qr_priv.h"

/* Context of the solver's callbacks. */
struct work {
	const struct expression_fit_problem *problem;
	long double *y; /* y after the response's transform */
	double *y_double, *x_double, *weights;
	bool *linear;
	long double *gradient, *scratch;
	double *gradient_double, *scratch_double;
};

static void lay_out(struct work *work, struct arena *arena)
{
	const struct expression_fit_problem *problem = work->problem;
	size_t scratch = expression_scratch(problem->model);

	if (problem->response && expression_scratch(problem->response) > scratch)
		scratch = expression_scratch(problem->response);
	work->y = arena_take(arena, problem->observations, sizeof(long double));
	work->gradient = arena_take(arena, problem->parameters + 1, sizeof(long double));
	work->scratch = arena_take(arena, scratch, sizeof(long double));
	work->gradient_double = arena_take(arena, problem->parameters + 1, sizeof(double));
	work->scratch_double = arena_take(arena, scratch, sizeof(double));
	work->y_double = arena_take(arena, problem->observations, sizeof(double));
	work->x_double = arena_take(arena, problem->observations * problem->predictors, sizeof(double));
	work->weights = arena_take(arena, problem->observations, sizeof(double));
	work->linear = arena_take(arena, problem->parameters + 1, sizeof(bool));
}

/* Transforms y[i]. A deviation becomes the weight 1 / (slope * deviation)^2, with the slope of the transform. */
static int transform(struct work *work, size_t i, struct error *err)
{
	const struct expression_fit_problem *problem = work->problem;
	long double slope = 1;
	double deviation;

	work->y[i] = problem->y[i];
	if (problem->response)
		work->y[i] =
			expression_evaluate_extended(problem->response, NULL, &problem->y[i], &slope, work->scratch);
	if (!isfinite(work->y[i]))
		return error_set(err, EINVAL, "observation %zu: the response has no finite value at y = %Lg", i + 1,
				 problem->y[i]);
	work->y_double[i] = (double)work->y[i];
	if (!problem->deviations)
		return 0;
	deviation = fabs(problem->deviations[i] * (double)slope);
	if (!(problem->deviations[i] > 0) || !(deviation > 0) || !isfinite(1 / (deviation * deviation)))
		return error_set(err, EINVAL, "observation %zu: expected a deviation above 0, found %g", i + 1,
				 problem->deviations[i]);
	work->weights[i] = 1 / (deviation * deviation);
	return 0;
}

static int evaluate(void *context, const double *b, double *residuals, double *jacobian)
{
	struct work *work = context;
	const struct expression_fit_problem *problem = work->problem;

	for (size_t i = 0; i < problem->observations; i++) {
		residuals[i] = expression_evaluate(problem->model, work->x_double + i * problem->predictors, b,
						   jacobian ? work->gradient_double : NULL, work->scratch_double) -
			       work->y_double[i];
		if (!isfinite(residuals[i]))
			return -EDOM;
		for (size_t j = 0; jacobian && j < problem->parameters; j++)
			jacobian[i + j * problem->observations] = work->gradient_double[j];
	}
	return 0;
}

static int evaluate_extended(void *context, const long double *b, long double *residuals, long double *jacobian)
{
	struct work *work = context;
	const struct expression_fit_problem *problem = work->problem;

	for (size_t i = 0; i < problem->observations; i++) {
		residuals[i] = expression_evaluate_extended(problem->model, problem->x + i * problem->predictors, b,
							    jacobian ? work->gradient : NULL, work->scratch) -
			       work->y[i];
		for (size_t j = 0; jacobian && j < problem->parameters; j++)
			jacobian[i + j * problem->observations] = work->gradient[j];
	}
	return 0;
}

static double r_squared_of(const struct work *work, double rss)
{
	const struct expression_fit_problem *problem = work->problem;
	long double sum = 0, mean = 0, total = 0;

	for (size_t i = 0; i < problem->observations; i++) {
		long double weight = problem->deviations ? work->weights[i] : 1;

		sum += weight;
		mean += weight * work->y[i];
	}
	mean /= sum;
	for (size_t i = 0; i < problem->observations; i++)
		total += (problem->deviations ? work->weights[i] : 1) * (work->y[i] - mean) * (work->y[i] - mean);
	return total > 0 ? (double)(1 - rss / total) : (double)NAN;
}

int expression_fit(const struct expression_fit_problem *problem, const struct nonlinear_settings *settings,
		   struct nonlinear_result *result, double *r_squared, struct error *err)
{
	struct work work = {.problem = problem};
	struct arena arena = {0};
	struct nonlinear_problem least_squares = {
		.observations = problem->observations,
		.parameters = problem->parameters,
		.evaluate = evaluate,
		.evaluate_extended = evaluate_extended,
		.context = &work,
		.start = problem->start,
		.lower = problem->lower,
		.upper = problem->upper,
		.fixed = problem->fixed,
	};
	int code = 0;

	*result = (struct nonlinear_result){0};
	lay_out(&work, &arena);
	arena = (struct arena){.block = arena.overflow ? NULL : malloc(arena.used + 64)};
	if (!arena.block)
		return error_set(err, ENOMEM, "not enough memory for %zu observations", problem->observations);
	lay_out(&work, &arena);
	for (size_t i = 0; i < problem->observations * problem->predictors; i++)
		work.x_double[i] = (double)problem->x[i];
	for (size_t i = 0; i < problem->observations && code == 0; i++)
		code = transform(&work, i, err);
	if (code == 0) {
		expression_affine_parameters(problem->model, work.linear);
		least_squares.linear = work.linear;
		least_squares.weights = problem->deviations ? work.weights : NULL;
		code = nonlinear_fit(&least_squares, settings, result, err);
	}
	if (code == 0)
		*r_squared = r_squared_of(&work, result->rss);
	free(arena.block);
	return code;
}
