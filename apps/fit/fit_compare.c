/* SPDX-License-Identifier: BSD-3-Clause */
#include "command.h"
#include "fit_parts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/json.h>
#include <base/quantile.h>
#include <figures/curves.h>
#include <fitting/curve/agreement.h>

struct comparison {
	const struct curve *first, *second;
	const char *first_path, *second_path;
	struct fit_difference at;
	struct agreement agreement;
	double baseline_percent, baseline_allowed_percent; /* second to first; NAN = not known */
};

void fit_compare(const struct curve *first, const struct curve *second, struct fit_difference *difference)
{
	size_t count = first->table_count > second->table_count ? first->table_count : second->table_count;
	double squares = 0;

	*difference = (struct fit_difference){.difference = -1};
	for (size_t i = 0; i < count; i++) {
		double x = CURVE_STEP_US * (double)i, a = curve_eval(first, x), b = curve_eval(second, x);

		squares += (a - b) * (a - b);
		if (fabs(a - b) > difference->difference)
			*difference = (struct fit_difference){x, a, b, fabs(a - b), 0};
	}
	difference->rms = sqrt(squares / (double)count);
}

/* Variance of a baseline's mean, relative; NAN where the runs do not tell. */
static double baseline_variance(const struct curve *curve)
{
	double runs = curve->level_count ? (double)curve->levels[0].runs : 0;

	return runs > 1 ? pow(curve->baseline_deviation / curve->baseline_value, 2) / runs : NAN;
}

/* The curves are relative to these: that they differ is told, and is no part of the verdict (Welch's test). */
static void compare_baselines(struct comparison *comparison)
{
	const struct curve *first = comparison->first, *second = comparison->second;
	double one = baseline_variance(first), other = baseline_variance(second);
	double dof =
		pow(one + other, 2) / (one * one / (double)(first->level_count ? first->levels[0].runs - 1 : 1) +
				       other * other / (double)(second->level_count ? second->levels[0].runs - 1 : 1));

	comparison->baseline_percent = 100 * (second->baseline_value / first->baseline_value - 1);
	comparison->baseline_allowed_percent = dof > 0 ? 100 * quantile_student(0.05, dof) * sqrt(one + other) : NAN;
}

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

static int print_json(const struct comparison *comparison, struct error *err)
{
	const struct fit_difference *at = &comparison->at;
	const struct agreement *agreement = &comparison->agreement;
	json_t *root = json_pack("{s:s, s:[s, s], s:{s:f, s:f, s:f, s:f}, s:f}", "schema", "nomora.curve_comparison/1",
				 "curves", comparison->first_path, comparison->second_path, "greatest_difference",
				 "x_us", at->x_us, "difference", at->difference, "first", at->first, "second",
				 at->second, "rms_difference", at->rms);
	int rc;

	if (!root)
		return error_set(err, ENOMEM, "out of memory");
	json_object_set_new(root, "verdict", json_string(agreement_name(agreement->verdict)));
	if (agreement->verdict != AGREEMENT_UNKNOWN)
		json_object_set_new(root, "whole_curve",
				    json_pack("{s:f, s:f, s:f, s:I, s:I}", "worst", agreement->worst, "at_us",
					      agreement->worst_at_us, "allowed", agreement->allowed, "points",
					      (json_int_t)agreement->points, "within", (json_int_t)agreement->within));
	json_object_set_new(root, "baselines",
			    json_pack("{s:o, s:o, s:o, s:o}", "first", known_number(comparison->first->baseline_value),
				      "second", known_number(comparison->second->baseline_value), "difference_percent",
				      known_number(comparison->baseline_percent), "allowed_percent",
				      known_number(comparison->baseline_allowed_percent)));
	json_object_set_new(root, "points", points_json(comparison));
	rc = json_write_file("-", root, err);
	json_decref(root);
	return rc;
}

static void print_verdict(const struct comparison *comparison)
{
	const struct agreement *agreement = &comparison->agreement;

	if (agreement->verdict == AGREEMENT_UNKNOWN) {
		printf("verdict             none: neither file states how far its curve may be off\n");
		return;
	}
	printf("verdict             the curves %s: of the half-widths of both 95 %% bands together the difference is "
	       "%.2f "
	       "at most (at %g us), and may be %.2f\n",
	       agreement_name(agreement->verdict), agreement->worst, agreement->worst_at_us, agreement->allowed);
	printf("                    %zu of %zu points agree by themselves\n", agreement->within, agreement->points);
}

static void print_text(const struct comparison *comparison)
{
	const struct curve *first = comparison->first, *second = comparison->second;
	const struct fit_difference *at = &comparison->at;

	printf("greatest difference %.4g at %g us: %s %.4g (cost %ld), %s %.4g (cost %ld)\n", at->difference, at->x_us,
	       first->application, at->first, curve_cost(first, at->x_us), second->application, at->second,
	       curve_cost(second, at->x_us));
	printf("root mean square    %.4g over 0 to %g us\n", at->rms,
	       fmax(first->domain_high_us, second->domain_high_us));
	if (first->domain_high_us != second->domain_high_us)
		printf("domains differ      %g and %g us; beyond its own a curve keeps its smallest value\n",
		       first->domain_high_us, second->domain_high_us);
	print_verdict(comparison);
	if (isfinite(comparison->baseline_percent) && isfinite(comparison->baseline_allowed_percent))
		printf("baselines           %.6g and %.6g %s: %+.1f %%, of which the runs explain %.1f %%\n",
		       first->baseline_value, second->baseline_value, second->unit, comparison->baseline_percent,
		       comparison->baseline_allowed_percent);
}

int fit_compare_files(const char *first_path, const char *second_path, const struct option_list *plots, bool json)
{
	struct error err = {0};
	struct curve *first = curve_load(first_path, &err);
	struct curve *second = first ? curve_load(second_path, &err) : NULL;
	const struct curve *both[2] = {first, second};
	struct comparison comparison = {
		.first = first, .second = second, .first_path = first_path, .second_path = second_path};
	int rc = second ? 0 : -1;

	for (size_t i = 0; rc == 0 && i < plots->count; i++)
		rc = figures_curves_save(both, 2, plots->items[i], &err);
	if (rc == 0) {
		fit_compare(first, second, &comparison.at);
		agreement_judge(first, second, &comparison.agreement);
		compare_baselines(&comparison);
		rc = json ? print_json(&comparison, &err) : 0;
	}
	if (rc == 0 && !json)
		print_text(&comparison);
	curve_destroy(first);
	curve_destroy(second);
	if (rc != 0)
		return command_fail(&err, COMMAND_FAILED);
	return comparison.agreement.verdict == AGREEMENT_DIFFERS ? COMMAND_NEGATIVE : COMMAND_OK;
}
