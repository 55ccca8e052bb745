/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit_priv.h"

/*
 * A replicate is the candidate's curve plus noise. A threshold gets no design if a fit with it to the curve without
 * noise has a residual sum of squares above this, in noise variances: practically no replicate would choose it.
 */
static const double plausible = 25;

enum { HALVINGS_MAXIMUM = 4 };

static void add_design(struct simulator *simulator, double threshold_us)
{
	struct profile profile = candidate_profile(simulator->candidate);
	struct design *design = &simulator->designs[simulator->design_count];

	profile.threshold_us = threshold_us;
	design_make(simulator->problem, &profile, design,
		    simulator->storage + simulator->design_count * design_storage(simulator->problem));
	simulator->design_count += design->usable;
}

static double free_rss(struct simulator *simulator, double threshold_us)
{
	size_t before = simulator->design_count;
	struct solution solution;

	add_design(simulator, threshold_us);
	if (simulator->design_count == before)
		return INFINITY;
	design_solve(simulator->problem, &simulator->designs[simulator->design_count - 1], simulator->fitted,
		     &solution);
	return solution.rss;
}

/*
 * Adds a design for the candidate's jump and for each other gap that a replicate could choose: with a jump there, the
 * residual sum of squares to the candidate's own curve is at most `limit`.
 */
static void add_jumps(struct simulator *simulator, double limit)
{
	const struct problem *problem = simulator->problem;
	double at = simulator->candidate->threshold_us;
	size_t middle = 1;

	while (middle + 1 < problem->count && problem->x[middle] < at)
		middle++;
	add_design(simulator, at);
	for (int direction = -1; direction <= 1; direction += 2) {
		for (long i = (long)middle + direction; i >= 1 && i < (long)problem->count; i += direction) {
			size_t before = simulator->design_count;

			if (simulator->design_count == DESIGNS_MAXIMUM)
				return;
			if (free_rss(simulator, (problem->x[i - 1] + problem->x[i]) / 2) > limit) {
				simulator->design_count = before;
				break;
			}
		}
	}
}

/*
 * Replaces the designs by a grid of hinges around the fitted one. On each side the grid extends until the residual sum
 * of squares to the candidate's own curve exceeds `limit`, or for ten growing steps.
 */
static void add_hinges(struct simulator *simulator, double limit)
{
	double at = simulator->candidate->threshold_us, ends[2] = {at, at};

	for (int side = 0; side < 2; side++) {
		double step = simulator->problem->end_us / 256;

		for (int i = 0; i < 10; i++, step *= 1.7) {
			double next = side ? at + step : at - step;

			if (next < 0 || next > 0.9 * simulator->problem->end_us)
				break;
			simulator->design_count = 0;
			ends[side] = next;
			if (free_rss(simulator, next) > limit)
				break;
		}
	}
	simulator->design_count = 0;
	for (int i = 0; i < DESIGNS_MAXIMUM - 1; i++)
		add_design(simulator, ends[0] + (ends[1] - ends[0]) * i / (DESIGNS_MAXIMUM - 2));
}

/*
 * Returns the candidate's profile with its searched constants changed: the threshold moves by by[k] * problem->end_us,
 * and a shape constant is multiplied by exp(by[k]).
 */
static struct profile moved_profile(const struct simulator *simulator, const double *by)
{
	struct profile profile = candidate_profile(simulator->candidate);

	for (size_t k = 0; k < simulator->searched; k++) {
		if (simulator->kinds[k] == 0)
			profile.threshold_us = fmin(fmax(profile.threshold_us + by[k] * simulator->problem->end_us, 0),
						    0.95 * simulator->problem->end_us);
		else
			profile.shape[simulator->kinds[k] - 1] *= exp(fmin(fmax(by[k], -2), 2));
	}
	return profile;
}

/*
 * Fills simulator->answer: the weighted derivatives of the curve with respect to the searched constants (at most three
 * columns), made orthogonal to the design's columns. answer_noise() regresses the noise on them.
 */
static void make_answer(struct simulator *simulator)
{
	const struct problem *problem = simulator->problem;
	const struct design *design = &simulator->designs[0];
	size_t n = problem->count;
	double *answer = simulator->answer;

	for (size_t k = 0; k < simulator->searched; k++) {
		double by[CONSTANTS_MAXIMUM] = {0}, *column = answer + k * n, length = 0;
		struct profile up, down;

		by[k] = 1e-4;
		up = moved_profile(simulator, by);
		by[k] = -1e-4;
		down = moved_profile(simulator, by);
		for (size_t i = 0; i < n; i++)
			column[i] = problem->root_weight[i] *
				    (profile_value(problem, &up, simulator->candidate->coefficients, problem->x[i]) -
				     profile_value(problem, &down, simulator->candidate->coefficients, problem->x[i])) /
				    2e-4;
		for (size_t j = 0; j < design->columns; j++) {
			double part = 0;

			for (size_t i = 0; i < n; i++)
				part += design->q[j * n + i] * column[i];
			for (size_t i = 0; i < n; i++)
				column[i] -= part * design->q[j * n + i];
		}
		for (size_t i = 0; i < n; i++)
			length += column[i] * column[i];
		if (!(length > 1e-18)) {
			simulator->searched = k;
			return;
		}
	}
}

/*
 * Regresses the noise on simulator->answer (least squares); by[k] is the change of searched constant k, in the units of
 * moved_profile(), that fits the noise best.
 */
static void answer_noise(const struct simulator *simulator, const double *noise, double *by)
{
	const struct problem *problem = simulator->problem;
	size_t n = problem->count,
	       m = simulator->searched < CONSTANTS_MAXIMUM ? simulator->searched : CONSTANTS_MAXIMUM;
	double a[CONSTANTS_MAXIMUM][CONSTANTS_MAXIMUM] = {{0}}, b[CONSTANTS_MAXIMUM] = {0};

	for (size_t k = 0; k < m; k++) {
		const double *column = simulator->answer + k * n;

		for (size_t i = 0; i < n; i++)
			b[k] += column[i] * noise[i] * problem->root_weight[i];
		for (size_t j = 0; j <= k; j++) {
			for (size_t i = 0; i < n; i++)
				a[k][j] += column[i] * simulator->answer[j * n + i];
			a[j][k] = a[k][j];
		}
		a[k][k] *= 1 + 1e-9;
	}
	for (size_t k = 0; k < m; k++) {
		for (size_t i = k + 1; i < m; i++) {
			double factor = a[i][k] / a[k][k];

			for (size_t j = k; j < m; j++)
				a[i][j] -= factor * a[k][j];
			b[i] -= factor * b[k];
		}
	}
	for (size_t k = m; k-- > 0;) {
		by[k] = b[k];
		for (size_t j = k + 1; j < m; j++)
			by[k] -= a[k][j] * by[j];
		by[k] /= a[k][k];
	}
}

int simulator_create(const struct problem *problem, const struct fit_settings *settings,
		     const struct fit_candidate *candidate, struct noise noise, struct simulator *simulator)
{
	size_t n = problem->count, size = design_storage(problem);
	double limit = plausible * noise.scale * noise.scale;
	struct profile profile = candidate_profile(candidate);

	memset(simulator, 0, sizeof *simulator);
	simulator->problem = problem;
	simulator->candidate = candidate;
	simulator->noise = noise;
	simulator->storage = malloc((size * (DESIGNS_MAXIMUM + 1) + (14 + CONSTANTS_MAXIMUM) * n) * sizeof(double));
	if (!simulator->storage)
		return -ENOMEM;
	simulator->fitted = simulator->storage + size * (DESIGNS_MAXIMUM + 1);
	simulator->answer = simulator->fitted + n;
	simulator->work = simulator->answer + CONSTANTS_MAXIMUM * n;
	if (candidate->family == FIT_MONOTONE) {
		struct isotonic isotonic;

		isotonic_fit(problem, problem->y, &isotonic, simulator->work);
		for (size_t i = 0; i < n; i++)
			simulator->fitted[i] = isotonic_value(&isotonic, problem->x[i]);
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		simulator->fitted[i] = profile_value(problem, &profile, candidate->coefficients, problem->x[i]);
	if (family_shapes(candidate->family) > 0) {
		add_design(simulator, candidate->threshold_us);
		if (candidate->form == CURVE_FORM_HINGE && isnan(settings->threshold_us))
			simulator->kinds[simulator->searched++] = 0;
		simulator->kinds[simulator->searched++] = 1;
		if (candidate->family == FIT_HILL)
			simulator->kinds[simulator->searched++] = 2;
		if (simulator->design_count)
			make_answer(simulator);
	} else if (candidate->form == CURVE_FORM_JUMP && isnan(settings->threshold_us)) {
		add_jumps(simulator, limit);
	} else if (candidate->form == CURVE_FORM_HINGE && isnan(settings->threshold_us)) {
		add_hinges(simulator, limit);
	} else {
		add_design(simulator, candidate->threshold_us);
	}
	return simulator->design_count ? 0 : -EDOM;
}

/* Finds the best constrained solution over all designs for the response y. */
static void refit_designs(struct simulator *simulator, const double *y, struct profile *profile, struct solution *best)
{
	struct solution free_solutions[DESIGNS_MAXIMUM];
	bool done[DESIGNS_MAXIMUM] = {false};

	best->rss = INFINITY;
	for (size_t k = 0; k < simulator->design_count; k++)
		design_solve(simulator->problem, &simulator->designs[k], y, &free_solutions[k]);
	for (size_t round = 0; round < simulator->design_count; round++) {
		size_t next = simulator->design_count;

		for (size_t k = 0; k < simulator->design_count; k++)
			if (!done[k] &&
			    (next == simulator->design_count || free_solutions[k].rss < free_solutions[next].rss))
				next = k;
		if (free_solutions[next].rss >= best->rss)
			return;
		done[next] = true;
		design_constrain(simulator->problem, &simulator->designs[next], &free_solutions[next]);
		if (free_solutions[next].rss < best->rss) {
			*best = free_solutions[next];
			*profile = simulator->designs[next].profile;
		}
	}
}

/* Returns the weighted sum of squares of the noise: the residual sum of squares of the curve that generated y. */
static double generator_rss(const struct simulator *simulator, const double *noise)
{
	const struct problem *problem = simulator->problem;
	double rss = 0;

	for (size_t i = 0; i < problem->count; i++)
		rss += problem->root_weight[i] * problem->root_weight[i] * noise[i] * noise[i];
	return rss;
}

/*
 * For families with shape constants: changes threshold and shape constants by one linearised step, then fits the
 * coefficients exactly. Beside a cliff, the linearisation is bad: the step is halved until the fit is at least as good
 * as the generating curve, and at last left out.
 */
static void refit_shapes(struct simulator *simulator, const double *noise, const double *y, struct profile *profile,
			 struct solution *solution)
{
	double by[CONSTANTS_MAXIMUM] = {0}, limit = generator_rss(simulator, noise);
	struct design design;

	answer_noise(simulator, noise, by);
	for (int halvings = 0; halvings <= HALVINGS_MAXIMUM; halvings++) {
		*profile = moved_profile(simulator, by);
		design_make(simulator->problem, profile, &design,
			    simulator->storage + DESIGNS_MAXIMUM * design_storage(simulator->problem));
		design_solve(simulator->problem, &design, y, solution);
		design_constrain(simulator->problem, &design, solution);
		if (solution->rss <= limit)
			return;
		for (size_t k = 0; k < simulator->searched; k++)
			by[k] = halvings + 1 < HALVINGS_MAXIMUM ? by[k] / 2 : 0;
	}
}

void simulator_curve(struct simulator *simulator, const double *noise, struct candidate_curve *curve,
		     struct solution *solution)
{
	const struct fit_candidate *candidate = simulator->candidate;
	double *y = simulator->work + 8 * simulator->problem->count;

	for (size_t i = 0; i < simulator->problem->count; i++)
		y[i] = simulator->fitted[i] + noise[i];
	*curve = (struct candidate_curve){.problem = simulator->problem,
					  .profile = candidate_profile(candidate),
					  .coefficients = solution->coefficients};
	*solution = (struct solution){0};
	if (candidate->family == FIT_MONOTONE) {
		isotonic_fit(simulator->problem, y, &curve->isotonic, simulator->work);
		return;
	}
	if (simulator->searched)
		refit_shapes(simulator, noise, y, &curve->profile, solution);
	else
		refit_designs(simulator, y, &curve->profile, solution);
	if (solution->rss <= generator_rss(simulator, noise))
		return;
	curve->profile = candidate_profile(candidate);
	curve->coefficients = candidate->coefficients;
}
