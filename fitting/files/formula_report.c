/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include <base/json.h>
#include <base/number.h>

#include "files_priv.h"

static const char *note_of(const struct formula_fit *fit, size_t j)
{
	if (fit->parameters.fixed[j])
		return "held";
	if (fit->result.at_bound[j])
		return "at its bound";
	return isinf(fit->result.standard_errors[j]) ? "not determined" : "";
}

static void print_warnings(const struct formula_fit *fit, FILE *out)
{
	const struct nonlinear_result *result = &fit->result;

	if (result->dof <= 0)
		fprintf(out, "warning: as many parameters as observations: errors cannot be estimated\n");
	if (isfinite(result->condition) && result->condition > 1e8)
		fprintf(out,
			"warning: parameters are nearly linearly dependent (condition %.1e): their errors are strongly "
			"correlated\n",
			result->condition);
	if (result->start_used > 0)
		fprintf(out, "note: the given start led to a worse result; this fit comes from generated start %d\n",
			result->start_used);
}

void formula_fit_print(const struct formula_fit *fit, FILE *out)
{
	const struct nonlinear_result *result = &fit->result;

	fprintf(out, "%s = %s\n", fit->settings->response ? fit->settings->response : "y", fit->settings->expression);
	fprintf(out, "%zu observation%s; %s\n", fit->data.observations, number_s(fit->data.observations),
		nonlinear_reason_text(result->reason));
	fprintf(out, "%d iteration%s, %d evaluation%s, %d of %d start%s in agreement\n\n", result->iterations,
		number_s((uint64_t)result->iterations), result->evaluations, number_s((uint64_t)result->evaluations),
		result->starts_agreeing, result->starts_tried, number_s((uint64_t)result->starts_tried));
	fprintf(out, "  %-12s %20s  %14s\n", "parameter", "value", "standard error");
	for (size_t j = 0; j < result->parameters; j++)
		fprintf(out, "  %-12s %20.12g  %14.6g  %s\n", fit->parameters.name[j], result->values[j],
			result->standard_errors[j], note_of(fit, j));
	fprintf(out, "\n  residual sum of squares      %.12g\n", result->rss);
	if (result->dof > 0)
		fprintf(out, "  residual standard deviation  %.8g on %.0f degrees of freedom\n",
			sqrt(result->rss / result->dof), result->dof);
	fprintf(out, "  R^2 %.8g   AICc %.6g   BIC %.6g\n", fit->r_squared, result->aicc, result->bic);
	print_warnings(fit, out);
}

static json_t *parameters_json(const struct formula_fit *fit)
{
	const struct nonlinear_result *result = &fit->result;
	json_t *array = json_array();

	for (size_t j = 0; j < result->parameters; j++)
		json_array_append_new(array,
				      json_pack("{s:s, s:f, s:f, s:o, s:b, s:b}", "name", fit->parameters.name[j],
						"start", fit->parameters.start[j], "value", result->values[j],
						"standard_error", json_number_or_null(result->standard_errors[j]),
						"fixed", fit->parameters.fixed[j], "at_bound", result->at_bound[j]));
	return array;
}

static json_t *covariance_json(const struct nonlinear_result *result)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < result->parameters; i++) {
		json_t *row = json_array();

		for (size_t j = 0; j < result->parameters; j++)
			json_array_append_new(row, json_number_or_null(result->covariance[i * result->parameters + j]));
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *residuals_json(const struct nonlinear_result *result)
{
	json_t *array = json_array();

	/* the JSON has observed - model, the opposite sign */
	for (size_t i = 0; i < result->observations; i++)
		json_array_append_new(array, json_number_or_null(-result->residuals[i]));
	return array;
}

json_t *formula_fit_to_json(const struct formula_fit *fit)
{
	const struct nonlinear_result *result = &fit->result;
	const struct formula_settings *settings = fit->settings;

	return json_pack(
		"{s:s, s:s, s:s, s:s, s:b, s:s, s:I, s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o,"
		" s:o, s:o}",
		"schema", "nomora.fit_expression/1", "response", settings->response ? settings->response : "y", "model",
		settings->expression, "loss", formula_loss_names[settings->loss], "converged", result->converged,
		"reason", nonlinear_reason_text(result->reason), "observations", (json_int_t)fit->data.observations,
		"iterations", result->iterations, "evaluations", result->evaluations, "starts_tried",
		result->starts_tried, "starts_agreeing", result->starts_agreeing, "start_used", result->start_used,
		"parameters", parameters_json(fit), "covariance", covariance_json(result), "rss",
		json_number_or_null(result->rss), "degrees_of_freedom", json_number_or_null(result->dof), "r_squared",
		json_number_or_null(fit->r_squared), "aicc", json_number_or_null(result->aicc), "bic",
		json_number_or_null(result->bic), "condition", json_number_or_null(result->condition), "residuals",
		residuals_json(result));
}
