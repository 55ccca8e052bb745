/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <figures/figures.h>
#include <fitting/expression/expression.h>
#include <model/curve.h>

#include "files_priv.h"

const char *const formula_loss_names[] = {"linear", "soft_l1", "huber", NULL};

void formula_settings_default(struct formula_settings *settings)
{
	*settings = (struct formula_settings){.loss_scale = 1, .multistart = 8, .seed = 1, .baseline_rtt_us = NAN};
}

static int parse_parameters(const struct formula_settings *settings, struct expression_parameters *parameters,
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

static struct expression *parse_model(const struct formula_settings *settings,
				      const struct expression_parameters *parameters, const struct formula_data *data,
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

/* Parses the transform of y that --response gives; without --response, sets *response to NULL. */
static int parse_response(const struct formula_settings *settings, struct expression **response, struct error *err)
{
	static const char *const y[] = {"y"};
	struct expression_names known = {.parameters = y, .parameter_count = 1};

	*response = NULL;
	if (!settings->response)
		return 0;
	*response = expression_parse(settings->response, &known, err);
	return *response ? 0 : error_prefix(err, "--response '%s'", settings->response);
}

static bool wants_curve(const struct formula_settings *settings)
{
	return settings->output || settings->plots.files.count > 0;
}

int formula_fit_save(const struct formula_fit *fit, struct error *err)
{
	const struct formula_settings *settings = fit->settings;
	const struct formula_data *data = &fit->data;
	const char *names[PARAMETERS_MAXIMUM];
	struct expression_curve_source source = {
		.model = fit->model,
		.formula = settings->expression,
		.predictors = data->name_count,
		.parameter_names = names,
		.result = &fit->result,
		.r_squared = fit->r_squared,
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

	if (!wants_curve(settings))
		return 0;
	for (size_t k = 0; k < fit->parameters.count; k++)
		names[k] = fit->parameters.name[k];
	rc = formula_data_sorted(data, &x, &y, &deviation, err);
	if (rc != 0)
		return rc;
	source.x_us = x;
	source.y = y;
	source.deviation = deviation;
	curve = expression_curve_create(&source, err);
	rc = curve ? 0 : error_code(err, EINVAL);
	for (size_t i = 0; rc == 0 && i < settings->plots.files.count; i++)
		rc = figures_curves_save(&figure, settings->plots.files.items[i], err);
	if (rc == 0 && settings->output)
		rc = curve_save(curve, settings->output, err);
	curve_destroy(curve);
	free(x);
	return rc;
}

/* Reads the data, whose header defines names for the formula, and parses the formula. */
static int prepare(struct formula_fit *fit, bool *bad_option, struct error *err)
{
	const struct formula_settings *settings = fit->settings;
	int code;

	*bad_option = true;
	code = parse_parameters(settings, &fit->parameters, err);
	if (code == 0)
		code = parse_response(settings, &fit->response, err);
	if (code != 0)
		return code;
	*bad_option = false;
	code = formula_data_read(settings, &fit->data, err);
	if (code != 0)
		return code;
	fit->model = parse_model(settings, &fit->parameters, &fit->data, err);
	*bad_option = !fit->model;
	code = fit->model ? formula_data_check(&fit->data, fit->model, err) : error_code(err, EINVAL);
	if (code != 0)
		return code;
	*bad_option = wants_curve(settings) &&
		      (settings->response || fit->data.table.columns > 2 + (fit->data.deviations != NULL));
	return *bad_option ? error_set(err, EINVAL,
				       "-o and --plot: a curve needs one predictor, the added round trip, and no "
				       "--response; --json prints any fit")
			   : 0;
}

static int solve(struct formula_fit *fit, struct error *err)
{
	const struct formula_settings *settings = fit->settings;
	const struct formula_data *data = &fit->data;
	struct expression_fit_problem problem = {
		.model = fit->model,
		.response = fit->response,
		.observations = data->observations,
		.predictors = data->name_count,
		.parameters = fit->parameters.count,
		.x = data->x,
		.y = data->y,
		.deviations = data->deviations,
		.start = fit->parameters.start,
		.lower = fit->parameters.lower,
		.upper = fit->parameters.upper,
		.fixed = fit->parameters.fixed,
	};
	struct nonlinear_settings how;

	nonlinear_settings_default(&how);
	how.loss = (enum nonlinear_loss)settings->loss;
	how.loss_scale = settings->loss_scale;
	how.starts = (int)settings->multistart;
	how.seed = (uint64_t)settings->seed;
	how.absolute_sigma = settings->absolute_sigma;
	return expression_fit(&problem, &how, &fit->result, &fit->r_squared, err) == 0
		       ? 0
		       : error_prefix(err, "%s", settings->input);
}

struct formula_fit *formula_fit_create(const struct formula_settings *settings, bool *bad_option, struct error *err)
{
	struct formula_fit *fit = calloc(1, sizeof *fit);

	*bad_option = false;
	if (!fit) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	fit->settings = settings;
	if (prepare(fit, bad_option, err) == 0 && solve(fit, err) == 0)
		return fit;
	formula_fit_destroy(fit);
	return NULL;
}

bool formula_fit_converged(const struct formula_fit *fit)
{
	return fit->result.converged;
}

void formula_fit_destroy(struct formula_fit *fit)
{
	if (!fit)
		return;
	nonlinear_result_free(&fit->result);
	expression_destroy(fit->model);
	expression_destroy(fit->response);
	formula_data_free(&fit->data);
	free(fit);
}
