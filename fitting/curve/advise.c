/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the measurements that would decide between the two most likely forms of threshold. Assumes that the sharper
 * form is true (a jump is sharper than a hinge, and a hinge than no threshold), adds levels around the threshold, and
 * finds the number of runs at which the misfit of the other form becomes significant.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "fit_priv.h"

enum { MORE_LEVELS = 8 };

/* The form is undecided if the most likely one has a lower probability than this. */
static const double sure = 0.95;
/*
 * Increase of the residual sum of squares, in noise variances, that counts as significant. With this increase, a
 * likelihood-ratio test chooses the wrong form in 2 % of the cases, whichever of the two forms is true.
 */
static const double plain_misfit = 4.1 * 4.1;
static const long runs_tried[] = {3, 5, 10, 20, 40, 80, 160, 320, 640, 1280};

/* The most likely candidate of a form, or NULL. */
static const struct fit_candidate *likeliest(const struct fit *fit, enum curve_form form)
{
	const struct fit_candidate *best = NULL;

	for (size_t i = 0; i < fit->candidate_count; i++) {
		const struct fit_candidate *candidate = &fit->candidates[i];

		if (candidate->form == form && isfinite(candidate->evidence) &&
		    (!best || candidate->evidence > best->evidence))
			best = candidate;
	}
	return best;
}

static enum curve_form second_form(const struct fit *fit, enum curve_form first)
{
	enum curve_form second = first == CURVE_FORM_NONE ? CURVE_FORM_JUMP : CURVE_FORM_NONE;

	for (int form = 0; form < CURVE_FORMS; form++)
		if (form != (int)first && fit->form_probability[form] > fit->form_probability[second])
			second = (enum curve_form)form;
	return second;
}

static double value_at(const struct problem *problem, const struct fit_candidate *candidate, double x_us)
{
	struct profile profile = candidate_profile(candidate);
	struct candidate_curve curve = {problem, profile, candidate->coefficients, {0}};

	return candidate_curve_value(&curve, x_us) / candidate_curve_baseline(&curve);
}

static void find_difference(const struct problem *problem, const struct fit_candidate *a, const struct fit_candidate *b,
			    struct fit_decision *decision)
{
	for (int i = 0; CURVE_STEP_US * i <= problem->end_us; i++) {
		double x = CURVE_STEP_US * i, difference = fabs(value_at(problem, a, x) - value_at(problem, b, x));

		if (difference > decision->difference) {
			decision->difference = difference;
			decision->difference_at_us = x;
		}
	}
}

/*
 * Sets decision->from_us and to_us, the range in which to measure: from the level before the lower threshold of the two
 * candidates to the level after the higher threshold.
 */
static void find_stretch(const struct problem *problem, const struct fit_candidate *a, const struct fit_candidate *b,
			 struct fit_decision *decision)
{
	double first = a->form == CURVE_FORM_NONE ? b->threshold_us : a->threshold_us;
	double last = b->form == CURVE_FORM_NONE ? a->threshold_us : b->threshold_us;
	size_t low = 0, high = problem->count - 1;

	if (first > last) {
		double swap = first;

		first = last;
		last = swap;
	}
	while (low + 1 < problem->count && problem->x[low + 1] < first)
		low++;
	while (high > low + 1 && problem->x[high - 1] > last)
		high--;
	decision->from_us = problem->x[low];
	decision->to_us = problem->x[high];
}

/*
 * Fills `more` with the existing and the new levels, in ascending order of x; more->y is the assumed true curve.
 */
static void merge_levels(const struct problem *problem, const struct fit_candidate *truth, double run_weight,
			 struct fit_decision *decision, struct problem *more)
{
	size_t old = 0, added = 0;
	double step = (decision->to_us - decision->from_us) / (MORE_LEVELS + 1);
	struct profile profile = candidate_profile(truth);

	for (size_t i = 0; i < more->count; i++) {
		double next = added < MORE_LEVELS ? decision->from_us + step * (double)(added + 1) : (double)INFINITY;

		if (old < problem->count && problem->x[old] <= next) {
			more->x[i] = problem->x[old];
			more->weight[i] = problem->weight[old++];
		} else {
			more->x[i] = next;
			more->weight[i] = run_weight;
			added++;
		}
		more->y[i] = profile_value(problem, &profile, truth->coefficients, more->x[i]);
		more->root_weight[i] = sqrt(more->weight[i]);
	}
}

/*
 * Sets decision->runs to the first number in runs_tried that makes the misfit significant, or to 0 if there is none.
 * Returns 0 or -ENOMEM.
 */
static int find_runs(const struct problem *problem, const struct fit_candidate *truth,
		     const struct fit_candidate *rival, double run_weight, double variance,
		     struct fit_decision *decision)
{
	struct problem more = *problem;

	more.count = problem->count + MORE_LEVELS;
	more.x = malloc(5 * more.count * sizeof *more.x);
	if (!more.x)
		return -ENOMEM;
	more.y = more.x + more.count;
	more.weight = more.y + more.count;
	more.root_weight = more.weight + more.count;
	more.work = more.root_weight + more.count;
	for (size_t k = 0; k < sizeof runs_tried / sizeof runs_tried[0] && decision->runs == 0; k++) {
		struct best_profile found;
		int code;

		merge_levels(problem, truth, run_weight * (double)runs_tried[k], decision, &more);
		code = search_candidate(&more, rival->family, rival->form, NAN, &found);
		if (code < 0) {
			free(more.x);
			return code;
		}
		if (code == 0)
			break;
		if (found.solution.rss >= plain_misfit * variance)
			decision->runs = runs_tried[k];
	}
	free(more.x);
	return 0;
}

int advise_measurements(const struct problem *problem, struct noise noise, struct fit *fit)
{
	struct fit_decision *decision = &fit->decision;
	enum curve_form first = fit->candidates[0].form;
	const struct fit_candidate *own = likeliest(fit, first), *other;
	double weights = 0;

	*decision = (struct fit_decision){.open = false};
	if (!own || !(fit->form_probability[first] < sure))
		return 0;
	decision->other = second_form(fit, first);
	other = likeliest(fit, decision->other);
	if (!other)
		return 0;
	decision->open = true;
	find_difference(problem, own, other, decision);
	find_stretch(problem, own, other, decision);
	decision->levels = MORE_LEVELS;
	for (size_t i = 0; i < problem->count; i++)
		weights += problem->weight[i];
	if (first == CURVE_FORM_NONE || (first == CURVE_FORM_HINGE && decision->other == CURVE_FORM_JUMP)) {
		const struct fit_candidate *swap = own;

		own = other;
		other = swap;
	}
	return find_runs(problem, own, other, weights / (double)fit->observations.runs, noise.scale * noise.scale,
			 decision);
}
