/* SPDX-License-Identifier: BSD-3-Clause */
#include <fitting/files/fit_files.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/json.h>
#include <figures/figures.h>
#include <fitting/curve/agreement.h>

struct comparison {
	const struct curve *first, *second;
	const char *first_path, *second_path;
	struct agreement_difference at;
	struct agreement agreement;
	struct agreement_baselines baselines;
};

static json_t *points_json(const struct comparison *comparison)
{
	json_t *points = json_array();

	for (size_t i = 0; i < agreement_points(comparison->first, comparison->second); i++) {
		struct agreement_point point = agreement_at(comparison->first, comparison->second, i);

		json_array_append_new(points, json_pack("{s:f, s:f, s:f, s:f}", "x_us", point.x_us, "first",
							point.first, "second", point.second, "allowed", point.allowed));
	}
	return points;
}

/* Returns nomora.curve_comparison/1, or NULL if out of memory. */
static json_t *comparison_json(const struct comparison *comparison)
{
	const struct agreement_difference *at = &comparison->at;
	const struct agreement *agreement = &comparison->agreement;
	json_t *root = json_pack("{s:s, s:[s, s], s:{s:f, s:f, s:f, s:f}, s:f}", "schema", "nomora.curve_comparison/1",
				 "curves", comparison->first_path, comparison->second_path, "greatest_difference",
				 "x_us", at->x_us, "difference", at->difference, "first", at->first, "second",
				 at->second, "rms_difference", at->rms);

	if (!root)
		return NULL;
	json_object_set_new(root, "verdict", json_string(agreement_name(agreement->verdict)));
	if (agreement->verdict != AGREEMENT_UNKNOWN)
		json_object_set_new(root, "whole_curve",
				    json_pack("{s:f, s:f, s:f, s:I, s:I}", "worst", agreement->worst, "at_us",
					      agreement->worst_at_us, "allowed", agreement->allowed, "points",
					      (json_int_t)agreement->points, "within", (json_int_t)agreement->within));
	json_object_set_new(root, "baselines",
			    json_pack("{s:o, s:o, s:o, s:o}", "first",
				      json_number_or_null(comparison->first->baseline_value), "second",
				      json_number_or_null(comparison->second->baseline_value), "difference_percent",
				      json_number_or_null(comparison->baselines.percent), "allowed_percent",
				      json_number_or_null(comparison->baselines.noise_percent)));
	json_object_set_new(root, "points", points_json(comparison));
	return root;
}

static void print_verdict(const struct agreement *agreement, FILE *out)
{
	if (agreement->verdict == AGREEMENT_UNKNOWN) {
		fprintf(out, "verdict             none: neither curve has a confidence band\n");
		return;
	}
	fprintf(out,
		"verdict             the curves %s: largest difference %.2f combined half-widths of the 95 %% bands "
		"(at %g us), limit %.2f\n",
		agreement_name(agreement->verdict), agreement->worst, agreement->worst_at_us, agreement->allowed);
	fprintf(out, "                    at %zu of %zu points the difference is within its interval\n",
		agreement->within, agreement->points);
}

static void print_text(const struct comparison *comparison, FILE *out)
{
	const struct curve *first = comparison->first, *second = comparison->second;
	const struct agreement_difference *at = &comparison->at;

	fprintf(out, "first               %s (%s)\n", comparison->first_path, first->application);
	fprintf(out, "second              %s (%s)\n", comparison->second_path, second->application);
	fprintf(out, "largest difference  %.4g at %g us: first %.4g (cost %ld), second %.4g (cost %ld)\n",
		at->difference, at->x_us, at->first, curve_cost(first, at->x_us), at->second,
		curve_cost(second, at->x_us));
	fprintf(out, "root mean square    %.4g over 0 to %g us\n", at->rms,
		fmax(first->domain_high_us, second->domain_high_us));
	if (first->domain_high_us != second->domain_high_us)
		fprintf(out, "domains differ      %g and %g us; a curve keeps its smallest value beyond its domain\n",
			first->domain_high_us, second->domain_high_us);
	print_verdict(&comparison->agreement, out);
	if (isfinite(comparison->baselines.percent) && isfinite(comparison->baselines.noise_percent))
		fprintf(out,
			"baselines           %.6g and %.6g %s differ by %+.1f %% (up to %.1f %% is run-to-run noise)\n",
			first->baseline_value, second->baseline_value, second->unit, comparison->baselines.percent,
			comparison->baselines.noise_percent);
}

static struct comparison compare(const struct curve_comparisons *comparisons, size_t second)
{
	const struct curve *a = comparisons->curves[0], *b = comparisons->curves[second];
	struct comparison comparison = {.first = a,
					.second = b,
					.first_path = comparisons->paths[0],
					.second_path = comparisons->paths[second],
					.at = agreement_difference_of(a, b),
					.baselines = agreement_baselines_of(a, b)};

	agreement_judge(a, b, &comparison.agreement);
	return comparison;
}

int curve_comparisons_load(char *const *paths, size_t count, const struct fit_plots *plots,
			   struct curve_comparisons *comparisons, struct error *err)
{
	struct figures_curves figure = {
		.count = count, .labels = (const char *const *)paths, .log_x = plots->log_x, .zoom_y = plots->zoom_y};
	int rc;

	*comparisons = (struct curve_comparisons){
		.paths = paths, .count = count, .curves = calloc(count, sizeof *comparisons->curves)};
	figure.curves = (const struct curve *const *)comparisons->curves;
	rc = comparisons->curves ? 0 : error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; rc == 0 && i < count; i++) {
		comparisons->curves[i] = curve_load(paths[i], err);
		rc = comparisons->curves[i] ? 0 : error_code(err, EIO);
	}
	for (size_t i = 0; rc == 0 && i < plots->files.count; i++)
		rc = figures_curves_save(&figure, plots->files.items[i], err);
	if (rc != 0)
		curve_comparisons_free(comparisons);
	return rc;
}

void curve_comparisons_free(struct curve_comparisons *comparisons)
{
	for (size_t i = 0; comparisons->curves && i < comparisons->count; i++)
		curve_destroy(comparisons->curves[i]);
	free(comparisons->curves);
	*comparisons = (struct curve_comparisons){0};
}

bool curve_comparisons_differ(const struct curve_comparisons *comparisons)
{
	struct agreement agreement;

	for (size_t i = 1; i < comparisons->count; i++) {
		agreement_judge(comparisons->curves[0], comparisons->curves[i], &agreement);
		if (agreement.verdict == AGREEMENT_DIFFERS)
			return true;
	}
	return false;
}

void curve_comparisons_print(const struct curve_comparisons *comparisons, FILE *out)
{
	for (size_t i = 1; i < comparisons->count; i++) {
		struct comparison comparison = compare(comparisons, i);

		if (i > 1)
			fputc('\n', out);
		print_text(&comparison, out);
	}
}

json_t *curve_comparisons_to_json(const struct curve_comparisons *comparisons)
{
	json_t *array = json_array();

	for (size_t i = 1; i < comparisons->count; i++) {
		struct comparison comparison = compare(comparisons, i);

		if (comparisons->count == 2) {
			json_decref(array);
			return comparison_json(&comparison);
		}
		if (json_array_append_new(array, comparison_json(&comparison)) != 0) {
			json_decref(array);
			return NULL;
		}
	}
	return json_pack("{s:s, s:o}", "schema", "nomora.curve_comparisons/1", "comparisons", array);
}
