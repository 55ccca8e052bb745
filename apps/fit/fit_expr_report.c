/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of `nomora fit --expr` as text and JSON. */
#include "fit_expr.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include <base/json.h>

static const char *note_of(const struct fit_expression_report *report, size_t j)
{
	if (report->parameters->fixed[j])
		return "held";
	if (report->result->at_bound[j])
		return "at its bound";
	return isinf(report->result->standard_errors[j]) ? "not determined" : "";
}

static void print_warnings(const struct fit_expression_report *report)
{
	const struct nonlinear_result *result = report->result;

	if (result->dof <= 0)
		printf("warning: as many parameters as observations: errors cannot be estimated\n");
	if (isfinite(result->condition) && result->condition > 1e8)
		printf("warning: parameters are nearly exchangeable (condition %.1e): their errors are strongly tied\n",
		       result->condition);
	if (result->start_used > 0)
		printf("note: the start given ended in a worse minimum; this one is from further start %d\n",
		       result->start_used);
}

void fit_expression_print(const struct fit_expression_report *report)
{
	const struct nonlinear_result *result = report->result;

	printf("%s = %s\n", report->settings->response ? report->settings->response : "y",
	       report->settings->expression);
	printf("%zu observations; %s\n", report->observations, nonlinear_reason_text(result->reason));
	printf("%d iterations, %d evaluations, %d of %d starts agree\n\n", result->iterations, result->evaluations,
	       result->starts_agreeing, result->starts_tried);
	printf("  %-12s %20s  %14s\n", "parameter", "value", "standard error");
	for (size_t j = 0; j < result->parameters; j++)
		printf("  %-12s %20.12g  %14.6g  %s\n", report->parameters->name[j], result->values[j],
		       result->standard_errors[j], note_of(report, j));
	printf("\n  residual sum of squares      %.12g\n", result->rss);
	if (result->dof > 0)
		printf("  residual standard deviation  %.8g on %.0f degrees of freedom\n",
		       sqrt(result->rss / result->dof), result->dof);
	printf("  R^2 %.8g   AICc %.6g   BIC %.6g\n", report->r_squared, result->aicc, result->bic);
	print_warnings(report);
}

/* JSON has neither NaN nor infinity. */
static json_t *number_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *parameters_json(const struct fit_expression_report *report)
{
	const struct nonlinear_result *result = report->result;
	json_t *array = json_array();

	for (size_t j = 0; j < result->parameters; j++)
		json_array_append_new(array,
				      json_pack("{s:s, s:f, s:f, s:o, s:b, s:b}", "name", report->parameters->name[j],
						"start", report->parameters->start[j], "value", result->values[j],
						"standard_error", number_or_null(result->standard_errors[j]), "fixed",
						report->parameters->fixed[j], "at_bound", result->at_bound[j]));
	return array;
}

static json_t *covariance_json(const struct nonlinear_result *result)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < result->parameters; i++) {
		json_t *row = json_array();

		for (size_t j = 0; j < result->parameters; j++)
			json_array_append_new(row, number_or_null(result->covariance[i * result->parameters + j]));
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *residuals_json(const struct nonlinear_result *result)
{
	json_t *array = json_array();

	/* observed - model */
	for (size_t i = 0; i < result->observations; i++)
		json_array_append_new(array, number_or_null(-result->residuals[i]));
	return array;
}

static json_t *report_json(const struct fit_expression_report *report)
{
	const struct nonlinear_result *result = report->result;
	const struct fit_expression_settings *settings = report->settings;

	return json_pack(
		"{s:s, s:s, s:s, s:s, s:b, s:s, s:I, s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o,"
		" s:o, s:o}",
		"schema", "nomora.fit_expression/1", "response", settings->response ? settings->response : "y", "model",
		settings->expression, "loss", fit_loss_names[settings->loss], "converged", result->converged, "reason",
		nonlinear_reason_text(result->reason), "observations", (json_int_t)report->observations, "iterations",
		result->iterations, "evaluations", result->evaluations, "starts_tried", result->starts_tried,
		"starts_agreeing", result->starts_agreeing, "start_used", result->start_used, "parameters",
		parameters_json(report), "covariance", covariance_json(result), "rss", number_or_null(result->rss),
		"degrees_of_freedom", number_or_null(result->dof), "r_squared", number_or_null(report->r_squared),
		"aicc", number_or_null(result->aicc), "bic", number_or_null(result->bic), "condition",
		number_or_null(result->condition), "residuals", residuals_json(result));
}

int fit_expression_write_json(const struct fit_expression_report *report, struct error *err)
{
	json_t *root;
	int code;

	if (!report->settings->json)
		return 0;
	root = report_json(report);
	if (!root)
		return error_set(err, ENOMEM, "not enough memory for the JSON result");
	code = json_write_file("-", root, err);
	json_decref(root);
	return code;
}
