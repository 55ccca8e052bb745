/* SPDX-License-Identifier: BSD-3-Clause */
/* Fits a NIST set and compares the outcome with the certified values. */
#include "nist_priv.h"

#include <fitting/linear.h>
#include <fitting/nonlinear.h>

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STARTS_DEFAULT = 8 };
static const double digits_maximum = 15;

double nist_log_relative_error(double found, double certified)
{
	double error;

	if (isnan(found) || isnan(certified))
		return 0;
	if (found == certified)
		return digits_maximum;
	error = certified == 0 ? fabs(found) : fabs(found - certified) / fabs(certified);
	return fmin(fmax(-log10(error), 0), digits_maximum);
}

/* The set as the callbacks see it. */
struct work {
	const struct nist_set *set;
	struct expression *model;
	long double *y; /* transformed response */
	double *x_double;
	long double *gradient, *scratch; /* also used as double */
};

static void work_free(struct work *work)
{
	expression_destroy(work->model);
	free(work->y);
	free(work->x_double);
	free(work->gradient);
	free(work->scratch);
}

static int work_prepare(struct work *work, const struct nist_set *set, struct error *err)
{
	size_t cells = set->observations * set->predictor_count;
	struct expression *response;
	long double *scratch = NULL;
	int code;

	*work = (struct work){.set = set};
	code = nist_expressions(set, &work->model, &response, err);
	if (code)
		return code;
	work->y = malloc(set->observations * sizeof *work->y);
	work->x_double = malloc(cells * sizeof *work->x_double);
	work->gradient = malloc(set->parameter_count * sizeof *work->gradient);
	work->scratch = malloc(expression_scratch(work->model) * sizeof *work->scratch);
	scratch = malloc(expression_scratch(response) * sizeof *scratch);
	if (!work->y || !work->x_double || !work->gradient || !work->scratch || !scratch) {
		code = error_set(err, ENOMEM, "not enough memory for %zu observations", set->observations);
		goto out;
	}
	for (size_t i = 0; i < cells; i++)
		work->x_double[i] = (double)set->x[i];
	for (size_t i = 0; i < set->observations && code == 0; i++) {
		work->y[i] = expression_evaluate_extended(response, &set->y[i], NULL, NULL, scratch);
		if (!isfinite(work->y[i]))
			code = error_set(err, EINVAL, "%s of observation %zu (y = %Lg) has no value", set->response,
					 i + 1, set->y[i]);
	}
out:
	free(scratch);
	expression_destroy(response);
	if (code)
		work_free(work);
	return code;
}

static int evaluate(void *context, const double *b, double *residuals, double *jacobian)
{
	struct work *work = context;
	const struct nist_set *set = work->set;
	double *gradient = (double *)work->gradient;

	for (size_t i = 0; i < set->observations; i++) {
		const double *x = work->x_double + i * set->predictor_count;

		residuals[i] =
			expression_evaluate(work->model, x, b, jacobian ? gradient : NULL, (double *)work->scratch) -
			(double)work->y[i];
		for (size_t j = 0; jacobian && j < set->parameter_count; j++)
			jacobian[i + j * set->observations] = gradient[j];
	}
	return 0;
}

static int evaluate_extended(void *context, const long double *b, long double *residuals, long double *jacobian)
{
	struct work *work = context;
	const struct nist_set *set = work->set;

	for (size_t i = 0; i < set->observations; i++) {
		const long double *x = set->x + i * set->predictor_count;

		residuals[i] = expression_evaluate_extended(work->model, x, b, jacobian ? work->gradient : NULL,
							    work->scratch) -
			       work->y[i];
		for (size_t j = 0; jacobian && j < set->parameter_count; j++)
			jacobian[i + j * set->observations] = work->gradient[j];
	}
	return 0;
}

static void compare(const struct nist_set *set, struct nist_fit *fit)
{
	for (size_t j = 0; j < set->parameter_count; j++) {
		const struct nist_parameter *parameter = &set->parameters[j];

		fit->value_digits[j] = nist_log_relative_error(fit->values[j], parameter->certified);
		fit->error_digits[j] = nist_log_relative_error(fit->errors[j], parameter->certified_error);
	}
	fit->residual_deviation = fit->dof > 0 ? sqrt(fit->rss / fit->dof) : (double)NAN;
	fit->rss_digits = set->has_certified_rss ? nist_log_relative_error(fit->rss, set->certified_rss) : (double)NAN;
	fit->residual_deviation_digits =
		nist_log_relative_error(fit->residual_deviation, set->certified_residual_deviation);
	fit->r_squared_digits = isnan(set->certified_r_squared)
					? (double)NAN
					: nist_log_relative_error(fit->r_squared, set->certified_r_squared);
}

static int solve_nonlinear(struct work *work, size_t start, int starts, struct nist_fit *fit, struct error *err)
{
	const struct nist_set *set = work->set;
	double given[NIST_PARAMETERS_MAXIMUM];
	bool linear[NIST_PARAMETERS_MAXIMUM];
	struct nonlinear_problem problem = {
		.observations = set->observations,
		.parameters = set->parameter_count,
		.evaluate = evaluate,
		.evaluate_extended = evaluate_extended,
		.context = work,
		.start = given,
		.linear = linear,
	};
	struct nonlinear_settings settings;
	struct nonlinear_result result;
	int code;

	for (size_t j = 0; j < set->parameter_count; j++)
		given[j] = set->parameters[j].start[start];
	expression_affine_parameters(work->model, linear);
	nonlinear_settings_default(&settings);
	settings.starts = starts > 0 ? starts : STARTS_DEFAULT;
	settings.iterations = 1000;
	code = nonlinear_fit(&problem, &settings, &result, err);
	if (code)
		return code;
	fit->converged = result.converged;
	fit->reason = nonlinear_reason_text(result.reason);
	memcpy(fit->values, result.values, set->parameter_count * sizeof *fit->values);
	memcpy(fit->errors, result.standard_errors, set->parameter_count * sizeof *fit->errors);
	fit->rss = result.rss;
	fit->dof = result.dof;
	fit->r_squared = NAN;
	fit->iterations = result.iterations;
	fit->starts_tried = result.starts_tried;
	fit->start_used = result.start_used;
	fit->starts_agreeing = result.starts_agreeing;
	nonlinear_result_free(&result);
	return 0;
}

/* Columns are the derivatives by each parameter; what the model gives at 0 goes over to the response. */
static void linear_columns(struct work *work, long double *matrix)
{
	const struct nist_set *set = work->set;
	long double zero[NIST_PARAMETERS_MAXIMUM] = {0};

	for (size_t i = 0; i < set->observations; i++) {
		work->y[i] -= expression_evaluate_extended(work->model, set->x + i * set->predictor_count, zero,
							   work->gradient, work->scratch);
		for (size_t j = 0; j < set->parameter_count; j++)
			matrix[i + j * set->observations] = work->gradient[j];
	}
}

static bool is_constant_column(const long double *column, size_t rows)
{
	for (size_t i = 0; i < rows; i++)
		if (column[i] != column[0] || column[i] == 0)
			return false;
	return true;
}

/* Are the columns 1, x, x^2, ... of the only predictor? */
static bool is_polynomial(const struct nist_set *set, const long double *matrix)
{
	if (set->predictor_count != 1)
		return false;
	for (size_t i = 0; i < set->observations; i++) {
		long double power = 1;

		for (size_t j = 0; j < set->parameter_count; j++, power *= set->x[i]) {
			long double off = matrix[i + j * set->observations] - power;

			if (fabsl(off) > 64 * LDBL_EPSILON * fabsl(power))
				return false;
		}
	}
	return true;
}

static int solve_linear(struct work *work, struct nist_fit *fit, struct error *err)
{
	const struct nist_set *set = work->set;
	size_t rows = set->observations, columns = set->parameter_count;
	long double *matrix = malloc(rows * columns * sizeof *matrix);
	struct linear_workspace *workspace = linear_workspace_create(rows, columns);
	struct linear_extended_problem problem = {.rows = rows, .columns = columns, .matrix = matrix};
	bool all[NIST_PARAMETERS_MAXIMUM];
	struct linear_result result;
	int code = 0;

	memset(all, true, sizeof all);
	if (!matrix || !workspace) {
		code = error_set(err, ENOMEM, "not enough memory for %zu observations", rows);
		goto out;
	}
	if (!expression_is_affine(work->model, all)) {
		code = error_set(err, EINVAL, "the model '%s' is not linear in its parameters, and no starts are given",
				 set->model);
		goto out;
	}
	linear_columns(work, matrix);
	problem.response = work->y;
	for (size_t j = 0; j < columns; j++)
		problem.has_intercept |= is_constant_column(matrix + j * rows, rows);
	if (is_polynomial(set, matrix))
		linear_fit_polynomial_extended(workspace, set->x, work->y, rows, columns - 1, &result);
	else
		linear_fit_extended(workspace, &problem, &result);
	fit->converged = result.status == LINEAR_OK;
	fit->reason = linear_status_text(result.status);
	if (result.status == LINEAR_OK || result.status == LINEAR_RANK_DEFICIENT) {
		memcpy(fit->values, result.coefficients, columns * sizeof *fit->values);
		memcpy(fit->errors, result.standard_errors, columns * sizeof *fit->errors);
	}
	fit->rss = result.chi2;
	fit->dof = result.dof;
	fit->r_squared = result.r_squared;
out:
	linear_workspace_destroy(workspace);
	free(matrix);
	return code;
}

int nist_solve(const struct nist_set *set, size_t start, int starts, struct nist_fit *fit, struct error *err)
{
	struct work work;
	int code;

	*fit = (struct nist_fit){0};
	if (!set->linear && start >= set->start_count)
		return error_set(err, EINVAL, "%s has no start %zu", set->name, start + 1);
	code = work_prepare(&work, set, err);
	if (code)
		return code;
	code = set->linear ? solve_linear(&work, fit, err) : solve_nonlinear(&work, start, starts, fit, err);
	work_free(&work);
	if (code == 0)
		compare(set, fit);
	return code;
}
