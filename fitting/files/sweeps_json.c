/* SPDX-License-Identifier: BSD-3-Clause */
#include "files_priv.h"

#include <math.h>
#include <string.h>

#include <base/json.h>

static json_t *candidates_json(const struct fit *fit)
{
	json_t *array = json_array();

	for (size_t i = 0; i < fit->candidate_count; i++) {
		const struct fit_candidate *candidate = &fit->candidates[i];

		json_array_append_new(array, json_pack("{s:s, s:s, s:o, s:I, s:o, s:o, s:o, s:o, s:f, s:b}", "model",
						       fit_family_name(candidate->family), "form",
						       curve_form_name(candidate->form), "threshold_us",
						       candidate->form == CURVE_FORM_NONE
							       ? json_null()
							       : json_number_or_null(candidate->threshold_us),
						       "parameters", (json_int_t)candidate->parameters, "chi_square",
						       json_number_or_null(candidate->rss), "aicc",
						       json_number_or_null(candidate->aicc), "bic",
						       json_number_or_null(candidate->bic), "cross_validation",
						       json_number_or_null(candidate->cross_validation), "weight",
						       candidate->weight, "constrained", candidate->constrained));
	}
	return array;
}

static json_t *outliers_json(const struct observations *observations)
{
	json_t *array = json_array();

	for (size_t i = 0; i < observations->outlier_count; i++) {
		const struct observation_outlier *outlier = &observations->outliers[i];

		json_array_append_new(array, json_pack("{s:I, s:f, s:f, s:f, s:f}", "line", (json_int_t)outlier->line,
						       "x_us", outlier->x_us, "value", outlier->value, "normalised",
						       outlier->normalised, "deviations", outlier->deviations));
	}
	return array;
}

static json_t *warnings_json(const struct fit *fit)
{
	json_t *array = json_array();

	for (const char *line = fit->warnings; *line;) {
		size_t bytes = strcspn(line, "\n");

		json_array_append_new(array, json_stringn(line, bytes));
		line += bytes + (line[bytes] == '\n');
	}
	return array;
}

static json_t *form_json(const struct fit *fit)
{
	const struct fit_decision *decision = &fit->decision;
	json_t *form = json_object();

	for (int k = 0; k < CURVE_FORMS; k++)
		json_object_set_new(form, curve_form_name((enum curve_form)k),
				    json_number_or_null(fit->form_probability[k]));
	json_object_set_new(form, "open", json_boolean(decision->open));
	if (!decision->open)
		return form;
	json_object_set_new(form, "difference",
			    json_pack("{s:s, s:f, s:f}", "other", curve_form_name(decision->other), "performance",
				      decision->difference, "x_us", decision->difference_at_us));
	json_object_set_new(form, "measure",
			    json_pack("{s:i, s:f, s:f, s:o}", "levels", decision->levels, "from_us", decision->from_us,
				      "to_us", decision->to_us, "runs",
				      decision->runs ? json_integer(decision->runs) : json_null()));
	return form;
}

json_t *fit_to_json(const struct fit *fit)
{
	const struct curve *curve = fit->curve;
	const struct curve_threshold *threshold = &curve->threshold;
	json_t *at =
		threshold->form == CURVE_FORM_NONE
			? json_null()
			: json_pack("{s:s, s:f, s:o, s:o}", "form", curve_form_name(threshold->form), "at_us",
				    threshold->at_us, "low_us",
				    json_number_or_null(threshold->has_interval ? threshold->low_us : NAN), "high_us",
				    json_number_or_null(threshold->has_interval ? threshold->high_us : NAN));

	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:f, s:f, s:o, s:o, s:o, s:o}", "application",
			 curve->application, "metric", curve->metric, "model", curve->model, "equation",
			 curve->equation, "reason", fit->reason, "threshold", at, "form", form_json(fit), "runs",
			 (json_int_t)fit->observations.runs, "levels", (json_int_t)fit->observations.count, "r_squared",
			 curve->goodness.r_squared, "overdispersion", fit->overdispersion, "pass_dispersion",
			 json_number_or_null(fit->block_dispersion), "candidates", candidates_json(fit), "outliers",
			 outliers_json(&fit->observations), "warnings", warnings_json(fit));
}
