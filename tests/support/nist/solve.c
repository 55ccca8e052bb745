/* SPDX-License-Identifier: BSD-3-Clause */
/* Fits a NIST set and compares the outcome with the certified values. */
#include "nist_priv.h"

#include <fitting/expression/expression.h>
#include <fitting/linear/linear.h>

#include <errno.h>
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

static int solve_nonlinear(const struct nist_set *set, const struct expression *model,
			   const struct expression *response, const double *start, int starts, struct nist_fit *fit,
			   struct error *err)
{
	struct expression_fit_problem problem = {
		.model = model,
		.response = response,
		.observations = set->observations,
		.predictors = set->predictor_count,
		.parameters = set->parameter_count,
		.x = set->x,
		.y = set->y,
		.start = start,
	};
	struct nonlinear_settings settings;
	struct nonlinear_result result;
	int code;

	nonlinear_settings_default(&settings);
	settings.starts = starts > 0 ? starts : STARTS_DEFAULT;
	settings.iterations = 1000;
	code = expression_fit(&problem, &settings, &result, &fit->r_squared, err);
	if (code)
		return code;
	fit->converged = result.converged;
	fit->reason = nonlinear_reason_text(result.reason);
	memcpy(fit->values, result.values, set->parameter_count * sizeof *fit->values);
	memcpy(fit->errors, result.standard_errors, set->parameter_count * sizeof *fit->errors);
	fit->rss = result.rss;
	fit->dof = result.dof;
	fit->iterations = result.iterations;
	fit->starts_tried = result.starts_tried;
	fit->start_used = result.start_used;
	fit->starts_agreeing = result.starts_agreeing;
	nonlinear_result_free(&result);
	return 0;
}

/*
 * Fills `matrix` with the derivatives of the model by each parameter, and y with the response minus the model's value
 * with all parameters 0.
 */
static int linear_columns(const struct nist_set *set, const struct expression *model, const struct expression *response,
			  double *matrix, double *y, struct error *err)
{
	size_t scratch_size = expression_scratch(model) + expression_scratch(response);
	long double zero[NIST_PARAMETERS_MAXIMUM] = {0}, gradient[NIST_PARAMETERS_MAXIMUM];
	long double *scratch = malloc(scratch_size * sizeof *scratch);

	if (!scratch)
		return error_set(err, ENOMEM, "not enough memory for the model");
	for (size_t i = 0; i < set->observations; i++) {
		y[i] = (double)(expression_evaluate_extended(response, NULL, &set->y[i], NULL, scratch) -
				expression_evaluate_extended(model, set->x + i * set->predictor_count, zero, gradient,
							     scratch));
		for (size_t j = 0; j < set->parameter_count; j++)
			matrix[i + j * set->observations] = (double)gradient[j];
	}
	free(scratch);
	return 0;
}

static bool is_constant_column(const double *column, size_t rows)
{
	for (size_t i = 0; i < rows; i++)
		if (column[i] != column[0] || column[i] == 0)
			return false;
	return true;
}

static void take_linear(const struct linear_result *result, struct nist_fit *fit)
{
	fit->converged = result->status == LINEAR_OK;
	fit->reason = result->status == LINEAR_OK ? "solved" : "not determined";
	if (result->status == LINEAR_OK || result->status == LINEAR_RANK_DEFICIENT) {
		memcpy(fit->values, result->coefficients, result->columns * sizeof *fit->values);
		memcpy(fit->errors, result->standard_errors, result->columns * sizeof *fit->errors);
	}
	fit->rss = result->chi2;
	fit->dof = result->dof;
	fit->r_squared = result->r_squared;
}

static int solve_linear(const struct nist_set *set, const struct expression *model, const struct expression *response,
			struct nist_fit *fit, struct error *err)
{
	size_t rows = set->observations, columns = set->parameter_count;
	double *matrix = malloc(rows * columns * sizeof *matrix), *y = malloc(rows * sizeof *y);
	struct linear_workspace *workspace = linear_workspace_create(rows, columns);
	struct linear_problem problem = {.rows = rows, .columns = columns, .matrix = matrix, .response = y};
	struct linear_result result;
	int code;

	if (!matrix || !y || !workspace)
		code = error_set(err, ENOMEM, "not enough memory for %zu observations", rows);
	else
		code = linear_columns(set, model, response, matrix, y, err);
	if (code)
		goto out;
	for (size_t j = 0; j < columns; j++)
		problem.has_intercept |= is_constant_column(matrix + j * rows, rows);
	linear_fit(workspace, &problem, &result);
	take_linear(&result, fit);
out:
	linear_workspace_destroy(workspace);
	free(matrix);
	free(y);
	return code;
}

int nist_solve(const struct nist_set *set, size_t start, int starts, struct nist_fit *fit, struct error *err)
{
	struct expression *model, *response;
	double given[NIST_PARAMETERS_MAXIMUM];
	int code;

	*fit = (struct nist_fit){0};
	if (!set->linear && start >= set->start_count)
		return error_set(err, EINVAL, "%s has no start %zu", set->name, start + 1);
	code = nist_expressions(set, &model, &response, err);
	if (code)
		return code;
	for (size_t j = 0; j < set->parameter_count && !set->linear; j++)
		given[j] = set->parameters[j].start[start];
	code = set->linear ? solve_linear(set, model, response, fit, err)
			   : solve_nonlinear(set, model, response, given, starts, fit, err);
	expression_destroy(model);
	expression_destroy(response);
	if (code == 0)
		compare(set, fit);
	return code;
}
