/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora fit DATA --expr FORMULA --start ...: a user's own model. */
#include "command.h"
#include "fit_expr.h"
#include "fit_expr_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <figures/curves.h>
#include <fitting/expression/expression_curve.h>
#include <fitting/expression/expression_fit.h>

const char *const fit_loss_names[] = {"linear", "soft_l1", "huber", NULL};

void fit_expression_defaults(struct fit_expression_settings *settings)
{
	*settings = (struct fit_expression_settings){.loss_scale = 1, .multistart = 8, .seed = 1};
}

static int parse_parameters(const struct fit_expression_settings *settings, struct expression_parameters *parameters,
			    struct error *err)
{
	int code;

	if (!settings->start)
		return error_set(err, EINVAL, "--expr needs --start name=number,... (it names the parameters)");
	code = expression_parameters_start(settings->start, parameters, err);
	if (code == 0 && settings->bounds)
		code = expression_parameters_bounds(settings->bounds, parameters, err);
	if (code == 0 && settings->fixed)
		code = expression_parameters_fixed(settings->fixed, parameters, err);
	return code;
}

static struct expression *parse_model(const struct fit_expression_settings *settings,
				      const struct expression_parameters *parameters, const struct fit_data *data,
				      struct error *err)
{
	const char *names[PARAMETERS_MAXIMUM];
	struct expression_names known = {
		.predictors = data->names,
		.predictor_count = data->name_count,
		.parameters = names,
		.parameter_count = parameters->count,
	};
	struct expression *model;

	for (size_t k = 0; k < parameters->count; k++)
		names[k] = parameters->name[k];
	model = expression_parse(settings->expression, &known, err);
	if (!model) {
		error_prefix(err, "--expr '%s'", settings->expression);
		return NULL;
	}
	for (size_t k = 0; k < parameters->count; k++) {
		if (expression_uses_parameter(model, k) || parameters->fixed[k])
			continue;
		error_set(err, EINVAL, "--expr: parameter '%s' has a start but does not occur in the formula",
			  parameters->name[k]);
		expression_destroy(model);
		return NULL;
	}
	return model;
}

/* *response stays NULL without --response. */
static int parse_response(const struct fit_expression_settings *settings, struct expression **response,
			  struct error *err)
{
	static const char *const y[] = {"y"};
	struct expression_names known = {.parameters = y, .parameter_count = 1};

	*response = NULL;
	if (!settings->response)
		return 0;
	*response = expression_parse(settings->response, &known, err);
	return *response ? 0 : error_prefix(err, "--response '%s'", settings->response);
}

static bool wants_curve(const struct fit_expression_settings *settings)
{
	return settings->output || settings->plots->count > 0;
}

/* -o and --plot: the formula as a curve. */
static int write_curve(const struct fit_expression_report *report, const struct expression *model,
		       const struct fit_data *data, struct error *err)
{
	const struct fit_expression_settings *settings = report->settings;
	const char *names[PARAMETERS_MAXIMUM];
	struct expression_curve_source source = {
		.model = model,
		.formula = settings->expression,
		.predictors = data->name_count,
		.parameter_names = names,
		.result = report->result,
		.r_squared = report->r_squared,
		.application = settings->application,
		.metric = data->metric,
		.baseline_value = data->baseline_value,
		.baseline_deviation = data->baseline_deviation,
		.baseline_rtt_us = isnan(settings->baseline_rtt_us) ? data->baseline_rtt_us : settings->baseline_rtt_us,
		.disturbed_runs = data->disturbed_runs,
	};
	double *x, *y, *deviation;
	struct curve *curve;
	struct figures_curves figure = {.curves = (const struct curve *const *)&curve, .count = 1};
	int rc;

	for (size_t k = 0; k < report->parameters->count; k++)
		names[k] = report->parameters->name[k];
	rc = fit_data_sorted(data, &x, &y, &deviation, err);
	if (rc != 0)
		return rc;
	source.x_us = x;
	source.y = y;
	source.deviation = deviation;
	curve = expression_curve_create(&source, err);
	rc = curve ? 0 : error_code(err, EINVAL);
	for (size_t i = 0; rc == 0 && i < settings->plots->count; i++)
		rc = figures_curves_save(&figure, settings->plots->items[i], err);
	if (rc == 0 && settings->output)
		rc = curve_save(curve, settings->output, err);
	curve_destroy(curve);
	free(x);
	return rc;
}

static int fit_and_report(const struct fit_expression_settings *settings,
			  const struct expression_parameters *parameters, const struct expression *model,
			  const struct expression *response, const struct fit_data *data)
{
	struct expression_fit_problem problem = {
		.model = model,
		.response = response,
		.observations = data->observations,
		.predictors = data->name_count,
		.parameters = parameters->count,
		.x = data->x,
		.y = data->y,
		.deviations = data->deviations,
		.start = parameters->start,
		.lower = parameters->lower,
		.upper = parameters->upper,
		.fixed = parameters->fixed,
	};
	struct nonlinear_settings how;
	struct nonlinear_result result;
	struct fit_expression_report report = {settings, parameters, &result, data->observations, 0};
	struct error err = {0};
	int exit_code;

	nonlinear_settings_default(&how);
	how.loss = (enum nonlinear_loss)settings->loss;
	how.loss_scale = settings->loss_scale;
	how.starts = (int)settings->multistart;
	how.seed = (uint64_t)settings->seed;
	how.absolute_sigma = settings->absolute_sigma;
	if (expression_fit(&problem, &how, &result, &report.r_squared, &err) != 0) {
		error_prefix(&err, "%s", settings->input);
		return command_fail(&err, COMMAND_FAILED);
	}
	exit_code = result.converged ? COMMAND_OK : COMMAND_NEGATIVE;
	if (!settings->json && !settings->quiet)
		fit_expression_print(&report);
	if (fit_expression_write_json(&report, &err) != 0 ||
	    (wants_curve(settings) && result.converged && write_curve(&report, model, data, &err) != 0))
		exit_code = command_fail(&err, COMMAND_FAILED);
	nonlinear_result_free(&result);
	return exit_code;
}

int command_fit_expression(const struct fit_expression_settings *settings)
{
	struct expression_parameters parameters;
	struct fit_data data = {0};
	struct expression *model = NULL, *response = NULL;
	struct error err = {0};
	int exit_code = COMMAND_USAGE;

	if (parse_parameters(settings, &parameters, &err) != 0 || parse_response(settings, &response, &err) != 0)
		goto failed;
	exit_code = COMMAND_FAILED;
	if (fit_data_read(settings, &data, &err) != 0)
		goto failed;
	model = parse_model(settings, &parameters, &data, &err);
	if (!model) {
		exit_code = COMMAND_USAGE;
		goto failed;
	}
	if (fit_data_check(&data, model, &err) != 0)
		goto failed;
	if (wants_curve(settings) && (settings->response || data.table.columns > 2 + (data.deviations != NULL))) {
		error_set(&err, EINVAL,
			  "-o and --plot: a curve needs one predictor, the added round trip, and no --response; --json "
			  "prints any fit");
		exit_code = COMMAND_USAGE;
		goto failed;
	}
	exit_code = fit_and_report(settings, &parameters, model, response, &data);
	goto out;
failed:
	command_fail(&err, exit_code);
out:
	expression_destroy(model);
	expression_destroy(response);
	fit_data_free(&data);
	return exit_code;
}
