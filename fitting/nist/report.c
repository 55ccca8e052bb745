/* SPDX-License-Identifier: BSD-3-Clause */
#include <fitting/nist/report.h>

#include <math.h>

#include <base/json.h>

static void print_number(const char *label, double found, double digits, FILE *out)
{
	fprintf(out, "  %-28s %22.14E", label, found);
	if (!isnan(digits))
		fprintf(out, "  %5.1f", digits);
	fprintf(out, "\n");
}

static void nist_print_fit(const struct nist_set *set, size_t start, const struct nist_fit *fit, FILE *out)
{
	if (set->linear) {
		fprintf(out, "\n%s\n", fit->reason);
	} else {
		fprintf(out, "\nStart %zu (", start + 1);
		for (size_t j = 0; j < set->parameter_count; j++)
			fprintf(out, "%s%s=%g", j ? ", " : "", set->parameters[j].name,
				set->parameters[j].start[start]);
		fprintf(out, ")\n%s; %d iterations, %d of %d starts agree", fit->reason, fit->iterations,
			fit->starts_agreeing, fit->starts_tried);
		if (fit->start_used > 0)
			fprintf(out, " (found from generated start %d)", fit->start_used);
		fprintf(out, "\n");
	}
	fprintf(out, "\n  %-9s %22s  %5s  %22s  %5s\n", "parameter", "value", "LRE", "standard error", "LRE");
	for (size_t j = 0; j < set->parameter_count; j++)
		fprintf(out, "  %-9s %22.14E  %5.1f  %22.14E  %5.1f\n", set->parameters[j].name, fit->values[j],
			fit->value_digits[j], fit->errors[j], fit->error_digits[j]);
	fprintf(out, "\n");
	print_number("residual sum of squares", fit->rss, fit->rss_digits, out);
	print_number("residual standard deviation", fit->residual_deviation, fit->residual_deviation_digits, out);
	print_number("R-squared", fit->r_squared, fit->r_squared_digits, out);
	fprintf(out, "  %-28s %22.0f\n", "degrees of freedom", fit->dof);
}

static json_t *nist_fit_to_json(const struct nist_set *set, size_t start, const struct nist_fit *fit)
{
	json_t *parameters = json_array();

	for (size_t j = 0; j < set->parameter_count; j++) {
		const struct nist_parameter *parameter = &set->parameters[j];

		json_array_append_new(parameters,
				      json_pack("{s:s, s:o, s:o, s:f, s:o, s:o, s:f, s:f}", "name", parameter->name,
						"start", set->linear ? json_null() : json_real(parameter->start[start]),
						"value", json_number_or_null(fit->values[j]), "certified_value",
						parameter->certified, "standard_error",
						json_number_or_null(fit->errors[j]), "certified_standard_error",
						json_number_or_null(parameter->certified_error), "value_lre",
						fit->value_digits[j], "standard_error_lre", fit->error_digits[j]));
	}
	return json_pack(
		"{s:o, s:b, s:s, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "start",
		set->linear ? json_null() : json_integer((json_int_t)start + 1), "converged", fit->converged, "reason",
		fit->reason, "iterations", fit->iterations, "starts_tried", fit->starts_tried, "starts_agreeing",
		fit->starts_agreeing, "start_used", fit->start_used, "parameters", parameters, "rss",
		json_number_or_null(fit->rss), "certified_rss",
		set->has_certified_rss ? json_real(set->certified_rss) : json_null(), "rss_lre",
		json_number_or_null(fit->rss_digits), "residual_standard_deviation",
		json_number_or_null(fit->residual_deviation), "residual_standard_deviation_lre",
		json_number_or_null(fit->residual_deviation_digits), "r_squared", json_number_or_null(fit->r_squared),
		"certified_r_squared", json_number_or_null(set->certified_r_squared), "r_squared_lre",
		json_number_or_null(fit->r_squared_digits), "degrees_of_freedom", json_number_or_null(fit->dof));
}

static void nist_print_set(const struct nist_set *set, FILE *out)
{
	fprintf(out, "%s: %zu observations, %zu parameters\n%s = %s\n", set->name, set->observations,
		set->parameter_count, set->response, set->model);
}

static json_t *nist_set_to_json(const struct nist_set *set, json_t *fits)
{
	return json_pack("{s:s, s:s, s:b, s:s, s:s, s:I, s:o}", "schema", "nomora.fit_nist/1", "set", set->name,
			 "linear", set->linear, "response", set->response, "model", set->model, "observations",
			 (json_int_t)set->observations, "runs", fits);
}

int nist_run(const char *path, FILE *out, json_t **json, struct error *err)
{
	struct nist_set set;
	json_t *fits = json_array();
	int code = nist_read(path, &set, err), converged = 1;

	if (code < 0) {
		json_decref(fits);
		return code;
	}
	if (out)
		nist_print_set(&set, out);
	for (size_t start = 0; start < (set.linear ? 1 : set.start_count) && code == 0; start++) {
		struct nist_fit fit;

		code = nist_solve(&set, start, 0, &fit, err);
		if (code < 0) {
			error_prefix(err, "%s", path);
			break;
		}
		converged = converged && fit.converged;
		if (json)
			json_array_append_new(fits, nist_fit_to_json(&set, start, &fit));
		if (out)
			nist_print_fit(&set, start, &fit, out);
	}
	if (json && code == 0)
		*json = nist_set_to_json(&set, json_incref(fits));
	json_decref(fits);
	nist_free(&set);
	return code < 0 ? code : converged;
}
