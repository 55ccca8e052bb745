/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/number.h>

#include "fit_priv.h"

/*
 * Data are rejected if they rise by more than rise_deviations standard errors and by at least rise_least, as a share of
 * the baseline: drift alone can cause a small rise.
 */
static const double rise_deviations = 4, rise_least = 0.1;
/*
 * If no effect of latency was found, but the band allows a loss of performance above this share, the fit warns that the
 * runs scatter too much.
 */
static const double effect_least = 0.1;

void fit_settings_default(struct fit_settings *settings)
{
	*settings = (struct fit_settings){
		.family = FIT_AUTO,
		.form = FIT_AUTO,
		.threshold_us = NAN,
		.replicates = 400,
		.seed = 1,
		.baseline_rtt_us = NAN,
	};
}

static __attribute__((format(printf, 2, 3))) void warn(struct fit *fit, const char *format, ...)
{
	size_t used = strlen(fit->warnings);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(fit->warnings + used, sizeof fit->warnings - used, format, arguments);
	va_end(arguments);
}

static const char *form_noun(enum curve_form form)
{
	static const char *const nouns[CURVE_FORMS] = {"no threshold", "jump", "hinge"};

	return nouns[form];
}

static void warn_form(struct fit *fit)
{
	const struct fit_decision *decision = &fit->decision;
	enum curve_form first = fit->candidates[0].form;

	warn(fit,
	     "The data do not decide the form of the threshold: %s (probability %.0f %%) or %s (%.0f %%). The best "
	     "curves of these two forms differ by at most %.2g in performance (at %g us).",
	     form_noun(first), 100 * fit->form_probability[first], form_noun(decision->other),
	     100 * fit->form_probability[decision->other], decision->difference, decision->difference_at_us);
	if (decision->runs)
		warn(fit, " To decide, measure %d more delays, evenly between %.4g and %.4g us, %ld runs each.\n",
		     decision->levels, decision->from_us, decision->to_us, decision->runs);
	else
		warn(fit, " No affordable number of runs would decide it: use either form.\n");
}

/* Outliers are kept by default, as they may be what the user wants to see; few of them can turn the curve. */
static void warn_outliers(struct fit *fit)
{
	const struct observations *observations = &fit->observations;
	const struct observation_outlier *worst = observations->outliers;

	for (size_t i = 1; i < observations->outlier_count; i++)
		if (fabs(observations->outliers[i].deviations) > fabs(worst->deviations))
			worst = &observations->outliers[i];
	if (!worst)
		return;
	warn(fit,
	     "%zu outlier%s (more than 4.5 robust deviations from the level's median), %s; the worst: line %ld, x %g "
	     "us, "
	     "%+.1f deviations.",
	     observations->outlier_count, number_s(observations->outlier_count),
	     observations->without_outliers ? "excluded" : "kept", worst->line, worst->x_us, worst->deviations);
	warn(fit, "%s\n",
	     observations->without_outliers ? "" : " They can turn the curve; --without-outliers excludes them.");
}

static void collect_warnings(const struct problem *problem, struct fit *fit)
{
	const struct fit_candidate *chosen = &fit->candidates[0];
	const struct observations *observations = &fit->observations;

	if (observations->disturbed)
		warn(fit,
		     "%ld of %ld runs %s disturbed (see the sweep's log): do not rely on this curve; "
		     "--without-disturbed excludes them.\n",
		     observations->disturbed, observations->runs, observations->disturbed == 1 ? "was" : "were");
	if (fit->flat && fit->flat_drop > effect_least)
		warn(fit,
		     "The runs scatter too much to show an effect below %.2g %%: make longer or more runs, on a "
		     "quieter machine.\n",
		     100 * fit->flat_drop);
	warn_outliers(fit);
	if (fit->curve->domain_high_us < CURVE_STEP_US)
		warn(fit, "The largest x is %g us, less than a step of the table (%g us): is x in us?\n",
		     fit->curve->domain_high_us, CURVE_STEP_US);
	if (problem->x[0] > 0)
		warn(fit, "The smallest x is %g us: the curve below it is extrapolated.\n", problem->x[0]);
	if (chosen->constrained && !fit->flat)
		warn(fit,
		     "The unconstrained fit rises or falls below 0 within %g us; this one is constrained "
		     "(non-increasing, positive).\n",
		     problem->constraint_end_us);
	if (fit->overdispersion > 1)
		warn(fit,
		     "Level means scatter %.1f times as much about the curve as runs about their level (drift?); the "
		     "band "
		     "is widened accordingly.\n",
		     sqrt(fit->overdispersion));
	if (fit->blocks_drift)
		warn(fit,
		     "The curve varies %.1f times as much between replicate blocks as run-to-run noise explains "
		     "(drift); "
		     "the band is widened accordingly.\n",
		     sqrt(fit->block_dispersion));
	if (fit->decision.open)
		warn_form(fit);
	if (problem->count < 8)
		warn(fit, "Only %zu delay levels: expect a simple curve and a wide band.\n", problem->count);
	if (fit->curve->table[fit->curve->table_count - 1] < CURVE_FLOOR)
		warn(fit, "The curve falls below %g at the end of the domain; schedulers use %g there.\n", CURVE_FLOOR,
		     CURVE_FLOOR);
	if (problem->rows == (double)problem->count)
		warn(fit, "One run per level: noise is estimated from the residuals alone.\n");
}

/*
 * Fits a straight line to the level means. Returns its rise over the whole range, or 0 if the rise is not significant;
 * the standard error comes from the residuals of the means.
 */
static double significant_rise(const struct problem *problem)
{
	double weight = 0, mean_x = 0, mean_y = 0, xx = 0, xy = 0, residuals = 0, slope;

	for (size_t i = 0; i < problem->count; i++) {
		weight += problem->weight[i];
		mean_x += problem->weight[i] * problem->x[i];
		mean_y += problem->weight[i] * problem->y[i];
	}
	mean_x /= weight;
	mean_y /= weight;
	for (size_t i = 0; i < problem->count; i++) {
		xx += problem->weight[i] * pow(problem->x[i] - mean_x, 2);
		xy += problem->weight[i] * (problem->x[i] - mean_x) * (problem->y[i] - mean_y);
	}
	slope = xy / xx;
	for (size_t i = 0; i < problem->count; i++)
		residuals += problem->weight[i] * pow(problem->y[i] - mean_y - slope * (problem->x[i] - mean_x), 2);
	if (!(slope > rise_deviations * sqrt(residuals / fmax((double)problem->count - 2, 1) / xx)))
		return 0;
	return slope * (problem->x[problem->count - 1] - problem->x[0]);
}

/* No application's performance rises with latency: the columns are swapped, or the metric has the wrong `better`. */
static int refuse_rising(const struct problem *problem, struct error *err)
{
	double rise = significant_rise(problem);

	if (rise < rise_least)
		return 0;
	return error_set(
		err, EINVAL,
		"performance rises with latency, by %.3g baselines: are the columns swapped, or is 'better' wrong?",
		rise);
}

int fit_observations(struct observations *observations, const struct fit_settings *settings, struct fit *fit,
		     struct error *err)
{
	struct problem problem;
	int rc;

	memset(fit, 0, sizeof *fit);
	if (problem_create(observations, &problem) != 0)
		return error_set(err, ENOMEM, "out of memory");
	fit->observations = *observations;
	rc = refuse_rising(&problem, err);
	if (rc == 0)
		rc = choose_candidates(&problem, settings, fit, err);
	if (rc == 0)
		rc = build_curve(&problem, settings, fit, err);
	if (rc == 0)
		collect_warnings(&problem, fit);
	problem_free(&problem);
	if (rc != 0) {
		/* The caller keeps the observations on failure: fit_free() must not free them. */
		memset(&fit->observations, 0, sizeof fit->observations);
		fit_free(fit);
		return rc;
	}
	memset(observations, 0, sizeof *observations);
	return 0;
}

void fit_free(struct fit *fit)
{
	observations_free(&fit->observations);
	free(fit->candidates);
	curve_destroy(fit->curve);
	memset(fit, 0, sizeof *fit);
}
