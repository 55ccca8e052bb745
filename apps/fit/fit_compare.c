/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora fit --compare: the first curve against each of the others. */
#include "command.h"
#include "fit_parts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/json.h>
#include <figures/curves.h>
#include <fitting/curve/agreement.h>

struct comparison {
	const struct curve *first, *second;
	const char *first_path, *second_path;
	struct agreement_difference at;
	struct agreement agreement;
	struct agreement_baselines baselines;
};

static json_t *known_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

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

/* nomora.curve_comparison/1. NULL if out of memory. */
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
			    json_pack("{s:o, s:o, s:o, s:o}", "first", known_number(comparison->first->baseline_value),
				      "second", known_number(comparison->second->baseline_value), "difference_percent",
				      known_number(comparison->baselines.percent), "allowed_percent",
				      known_number(comparison->baselines.noise_percent)));
	json_object_set_new(root, "points", points_json(comparison));
	return root;
}

static void print_verdict(const struct agreement *agreement)
{
	if (agreement->verdict == AGREEMENT_UNKNOWN) {
		printf("verdict             none: neither curve has a confidence band\n");
		return;
	}
	printf("verdict             the curves %s: largest difference %.2f combined half-widths of the 95 %% bands "
	       "(at %g us), limit %.2f\n",
	       agreement_name(agreement->verdict), agreement->worst, agreement->worst_at_us, agreement->allowed);
	printf("                    %zu of %zu points are within their own interval\n", agreement->within,
	       agreement->points);
}

static void print_text(const struct comparison *comparison)
{
	const struct curve *first = comparison->first, *second = comparison->second;
	const struct agreement_difference *at = &comparison->at;

	printf("first               %s (%s)\n", comparison->first_path, first->application);
	printf("second              %s (%s)\n", comparison->second_path, second->application);
	printf("largest difference  %.4g at %g us: first %.4g (cost %ld), second %.4g (cost %ld)\n", at->difference,
	       at->x_us, at->first, curve_cost(first, at->x_us), at->second, curve_cost(second, at->x_us));
	printf("root mean square    %.4g over 0 to %g us\n", at->rms,
	       fmax(first->domain_high_us, second->domain_high_us));
	if (first->domain_high_us != second->domain_high_us)
		printf("domains differ      %g and %g us; a curve keeps its smallest value beyond its domain\n",
		       first->domain_high_us, second->domain_high_us);
	print_verdict(&comparison->agreement);
	if (isfinite(comparison->baselines.percent) && isfinite(comparison->baselines.noise_percent))
		printf("baselines           %.6g and %.6g %s differ by %+.1f %% (up to %.1f %% is run-to-run noise)\n",
		       first->baseline_value, second->baseline_value, second->unit, comparison->baselines.percent,
		       comparison->baselines.noise_percent);
}

static void compare(const struct curve *const *curves, char *const *paths, size_t second, struct comparison *comparison)
{
	*comparison = (struct comparison){.first = curves[0],
					  .second = curves[second],
					  .first_path = paths[0],
					  .second_path = paths[second],
					  .at = agreement_difference_of(curves[0], curves[second]),
					  .baselines = agreement_baselines_of(curves[0], curves[second])};
	agreement_judge(curves[0], curves[second], &comparison->agreement);
}

/* One comparison as such, several as the elements of "comparisons". */
static int print_json(json_t *comparisons, struct error *err)
{
	json_t *root =
		json_array_size(comparisons) == 1
			? json_incref(json_array_get(comparisons, 0))
			: json_pack("{s:s, s:O}", "schema", "nomora.curve_comparisons/1", "comparisons", comparisons);
	int rc = root ? json_write_file("-", root, err) : error_set(err, ENOMEM, "out of memory");

	json_decref(root);
	return rc;
}

static int compare_all(const struct curve *const *curves, char *const *paths, size_t count, bool json, bool *differ,
		       struct error *err)
{
	json_t *comparisons = json_array();
	int rc = comparisons ? 0 : error_set(err, ENOMEM, "out of memory");

	for (size_t i = 1; rc == 0 && i < count; i++) {
		struct comparison comparison;

		compare(curves, paths, i, &comparison);
		*differ = *differ || comparison.agreement.verdict == AGREEMENT_DIFFERS;
		if (json) {
			if (json_array_append_new(comparisons, comparison_json(&comparison)) != 0)
				rc = error_set(err, ENOMEM, "out of memory");
			continue;
		}
		if (i > 1)
			putchar('\n');
		print_text(&comparison);
	}
	if (rc == 0 && json)
		rc = print_json(comparisons, err);
	json_decref(comparisons);
	return rc;
}

int fit_compare_files(char *const *paths, size_t count, const struct fit_plots *plots, bool json)
{
	struct error err = {0};
	struct curve **curves = calloc(count, sizeof *curves);
	struct figures_curves figure = {.curves = (const struct curve *const *)curves,
					.count = count,
					.labels = (const char *const *)paths,
					.log_x = plots->log_x,
					.zoom_y = plots->zoom_y};
	bool differ = false;
	int rc = curves ? 0 : error_set(&err, ENOMEM, "out of memory");

	for (size_t i = 0; rc == 0 && i < count; i++) {
		curves[i] = curve_load(paths[i], &err);
		rc = curves[i] ? 0 : error_code(&err, EIO);
	}
	for (size_t i = 0; rc == 0 && i < plots->files->count; i++)
		rc = figures_curves_save(&figure, plots->files->items[i], &err);
	if (rc == 0)
		rc = compare_all(figure.curves, paths, count, json, &differ, &err);
	for (size_t i = 0; curves && i < count; i++)
		curve_destroy(curves[i]);
	free(curves);
	if (rc != 0)
		return command_fail(&err, COMMAND_FAILED);
	return differ ? COMMAND_NEGATIVE : COMMAND_OK;
}
