/* SPDX-License-Identifier: BSD-3-Clause */
/* Noise of the level means: from all runs, or from the level means alone if the lack of fit is significant. */
#include <math.h>

#include "fit_priv.h"

/* Normal quantile of 99 %: noise alone is taken for lack of fit in at most one sweep of a hundred. */
static const double lack_of_fit_quantile = 2.326;

double fit_f_to_normal(double f, double dof_above, double dof_below)
{
	double root = cbrt(f), a = 2 / (9 * dof_above), b = 2 / (9 * dof_below);

	return ((1 - b) * root - (1 - a)) / sqrt(b * root * root + a);
}

/*
 * Returns the noise of the level means. Usually estimates it from the residuals of all runs about the curve. Estimates
 * it from the level means alone if they scatter about the curve significantly more than the runs do about their level
 * means (lack of fit: drift between levels, or no family fits), or if no level has several runs. With absolute_sigma,
 * the scale is 1.
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
