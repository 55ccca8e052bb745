/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit_priv.h"

/* Normal quantile of 99 %: lack of fit that noise would show in one sweep of a hundred is believed. */
static const double lack_of_fit_quantile = 2.326;

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

double fit_f_to_normal(double f, double dof_above, double dof_below)
{
	double root = cbrt(f), a = 2 / (9 * dof_above), b = 2 / (9 * dof_below);

	return ((1 - b) * root - (1 - a)) / sqrt(b * root * root + a);
}

/*
 * The noise of levels' means. Runs about their levels say how much runs scatter; if levels scatter about the curve
 * more than that explains (drift between levels, or no family fits), the larger figure is the honest one.
 */
struct noise fit_noise(const struct problem *problem, const struct fit_settings *settings, struct fit *fit)
{
	const struct fit_candidate *chosen = &fit->candidates[0];
	double parameters = (double)chosen->parameters;
	double level_dof = fmax((double)problem->count - parameters, 1),
	       scatter_dof = problem->rows - (double)problem->count;
	double level_variance = (chosen->rss - problem->scatter) / level_dof;

	fit->overdispersion = 1;
	fit->dof = fmax(problem->rows - parameters, 1);
	if (settings->absolute_sigma)
		return (struct noise){1, INFINITY};
	if (scatter_dof < 1)
		return (struct noise){sqrt(fmax(level_variance, 0)), fmax(level_dof, 2)};
	if (fit_f_to_normal(level_variance / (problem->scatter / scatter_dof), level_dof, scatter_dof) >
	    lack_of_fit_quantile) {
		fit->overdispersion = level_variance / (problem->scatter / scatter_dof);
		return (struct noise){sqrt(level_variance), fmax(level_dof, 2)};
	}
	return (struct noise){sqrt(chosen->rss / fit->dof), fit->dof};
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
	static const char *const nouns[CURVE_FORMS] = {"no threshold", "jump", "corner"};

	return nouns[form];
}

static void warn_form(struct fit *fit)
{
	const struct fit_decision *decision = &fit->decision;
	enum curve_form first = fit->candidates[0].form;

	warn(fit,
	     "The sweep leaves the threshold's form open: %s %.0f %%, %s %.0f %%. The likeliest curves of the two "
	     "differ "
	     "by %.2g at most (at %g us).",
	     form_noun(first), 100 * fit->form_probability[first], form_noun(decision->other),
	     100 * fit->form_probability[decision->other], decision->difference, decision->difference_at_us);
	if (decision->runs)
		warn(fit, " To settle it, measure %d more delays, evenly between %.4g and %.4g us, %ld runs each.\n",
		     decision->levels, decision->from_us, decision->to_us, decision->runs);
	else
		warn(fit, " No affordable number of runs would settle it: either will do.\n");
}

static void collect_warnings(const struct problem *problem, struct fit *fit)
{
	const struct fit_candidate *chosen = &fit->candidates[0];
	const struct observations *observations = &fit->observations;

	if (observations->outlier_count)
		warn(fit, "%zu outlying run%s (more than 4.5 robust deviations from the level's median)%s.\n",
		     observations->outlier_count, observations->outlier_count == 1 ? "" : "s",
		     observations->without_outliers ? " left out as asked" : ", kept in the fit");
	if (chosen->constrained)
		warn(fit, "The free fit rises or falls under 0 within %g us: this one is held to p' <= 0 and p > 0.\n",
		     problem->law_end_us);
	if (fit->overdispersion > 1)
		warn(fit,
		     "Levels scatter %.1f times as much about the curve as their runs do about them (drift between "
		     "levels?): the band is widened by that.\n",
		     sqrt(fit->overdispersion));
	if (fit->passes_drift)
		warn(fit,
		     "The curve varies %.1f times as much from pass to pass as single runs explain (the machine "
		     "drifts): "
		     "the band is widened by that.\n",
		     sqrt(fit->pass_dispersion));
	if (fit->decision.open)
		warn_form(fit);
	if (problem->count < 8)
		warn(fit, "%zu delay levels only: a simple curve and a wide band are all they carry.\n",
		     problem->count);
	if (fit->curve->table[fit->curve->table_count - 1] < CURVE_FLOOR)
		warn(fit, "The curve falls under %g at the end of the domain; schedulers take it as %g.\n", CURVE_FLOOR,
		     CURVE_FLOOR);
	if (problem->rows == (double)problem->count)
		warn(fit, "One run per level: the noise is known from the residuals alone.\n");
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
	rc = choose_candidates(&problem, settings, fit, err);
	if (rc == 0)
		rc = build_curve(&problem, settings, fit, err);
	if (rc == 0)
		collect_warnings(&problem, fit);
	problem_free(&problem);
	if (rc != 0) {
		/* The caller keeps what it gave us. */
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
