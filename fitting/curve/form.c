/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which form of threshold? A corner can sit just so between two levels that it passes for a jump, and a jump can be
 * so small that it passes for a corner: comparing the best of each (BIC of the maxima) rewards the form that can be
 * tuned more finely. So likelihoods are averaged: over every place of the threshold with a flat prior (a jump's gaps by
 * their width, a corner's places by quadrature), then over the families that have the form. Coefficients cost half the
 * log of the number of levels each, as in BIC (Kass & Raftery 1995, unit information prior), and a jump, or a start at
 * 0 away from the baseline, counts by the share of its posterior that goes down.
 * A priori the forms are equally likely.
 */
#include <math.h>
#include <stdlib.h>

#include "fit_priv.h"

enum { GAPS_MAXIMUM = 96, PLACES = 25, DOUBLINGS = 12 };

/* Places whose likelihood is less than exp(-drop) of the best one's add nothing. */
static const double drop = 9;
struct profile {
	const struct problem *problem;
	struct member member;
	double *storage;
	double best;
};

/* log of the normal distribution function, also far out. */
static double log_normal_share(double z)
{
	if (z > -8)
		return log(0.5 * erfc(-z / sqrt(2)));
	return -z * z / 2 - log(-z * sqrt(2 * acos(-1.0)));
}

static bool has_drop_at_start(const struct problem *problem, const struct member *member)
{
	return member->form == CURVE_FORM_JUMP || (member->form == CURVE_FORM_NONE && problem->baseline_known);
}

/* Log-likelihood of the member with the threshold there, its coefficients integrated out. */
static double log_likelihood(const struct profile *profile, double threshold_us)
{
	const struct problem *problem = profile->problem;
	struct member member = profile->member;
	struct solution solution;
	struct design design;
	double variance, value;

	member.threshold_us = threshold_us;
	design_make(problem, &member, &design, profile->storage);
	design_solve(problem, &design, problem->y, &solution);
	if (!isfinite(solution.rss))
		return -INFINITY;
	variance = fmax(solution.rss + problem->scatter, 1e-300) / problem->rows;
	value = -0.5 * problem->rows * log(variance) - 0.5 * (double)design.columns * log((double)problem->count);
	if (has_drop_at_start(problem, &member)) {
		double row[COLUMNS_MAXIMUM + 1], bound = design_first_law_row(problem, &design, row);

		for (size_t k = 0; k < design.columns; k++)
			bound -= row[k] * solution.c[k];
		value += log_normal_share(bound / sqrt(variance)) - log(0.5);
	}
	return value;
}

static double add_logs(double a, double b)
{
	double high = fmax(a, b);

	return isfinite(high) ? high + log(exp(a - high) + exp(b - high)) : high;
}

/*
 * Prior share of thresholds between two places: even in log(threshold + end/50), because they are found at all scales
 * (the papers': 20, 40, 40 and 200 us of 1000).
 */
static double log_share(const struct problem *problem, double low_us, double high_us)
{
	double soft = problem->end_us / 50;

	return log(log((high_us + soft) / (low_us + soft)) / log((problem->end_us + soft) / soft));
}

/* Gaps outward from the best one, until they add nothing. */
static double jump_evidence(const struct profile *profile)
{
	const struct problem *problem = profile->problem;
	size_t middle = 1, behind = member_columns(problem, &profile->member);
	double sum = -INFINITY;

	while (middle + 1 < problem->count && problem->x[middle] < profile->member.threshold_us)
		middle++;
	for (int direction = -1; direction <= 1; direction += 2) {
		long i = (long)middle - (direction < 0);
		double best = profile->best;

		for (int k = 0; k < GAPS_MAXIMUM && i >= 1 && i < (long)(problem->count + 1 - behind);
		     k++, i += direction) {
			double value = log_likelihood(profile, (problem->x[i - 1] + problem->x[i]) / 2);

			sum = add_logs(sum, value + log_share(problem, problem->x[i - 1], problem->x[i]));
			if (value < best - drop)
				break;
		}
	}
	return sum;
}

/* Where the likelihood of a corner has dropped, on one side. */
static double corner_end(const struct profile *profile, double direction)
{
	double end_us = profile->problem->end_us, at = profile->member.threshold_us, step = end_us / 2048;

	for (int k = 0; k < DOUBLINGS; k++, step *= 2) {
		double next = fmin(fmax(at + direction * step, 0), 0.95 * end_us);

		if (next == 0 || next == 0.95 * end_us || log_likelihood(profile, next) < profile->best - drop)
			return next;
	}
	return at;
}

static double corner_evidence(const struct profile *profile)
{
	double low = corner_end(profile, -1), high = corner_end(profile, 1), at = profile->member.threshold_us;
	double sum = -INFINITY;

	/* Two pieces, so that the likeliest place is one of the points; each stands for the stretch around it. */
	for (int side = 0; side < 2; side++) {
		double from = side ? at : low, width = (side ? high - at : at - low) / (PLACES - 1);

		for (int k = 0; k < PLACES && width > 0; k++) {
			double place = from + width * k;

			sum = add_logs(sum, log_likelihood(profile, place) +
						    log_share(profile->problem, k > 0 ? place - width / 2 : place,
							      k < PLACES - 1 ? place + width / 2 : place));
		}
	}
	return sum;
}

double form_evidence(const struct problem *problem, const struct member *best, bool threshold_forced, double *storage)
{
	struct profile profile = {.problem = problem, .member = *best, .storage = storage};
	double shapes = (double)(member_parameters(problem, best) - member_columns(problem, best)) -
			(best->form != CURVE_FORM_NONE);
	double value;

	profile.best = log_likelihood(&profile, best->threshold_us);
	if (best->form == CURVE_FORM_NONE || threshold_forced)
		value = profile.best;
	else
		value = best->form == CURVE_FORM_JUMP ? jump_evidence(&profile) : corner_evidence(&profile);
	return value - 0.5 * shapes * log((double)problem->count);
}

void form_probabilities(struct fit *fit)
{
	double logs[CURVE_FORMS], best = -INFINITY, total = 0;

	for (int form = 0; form < CURVE_FORMS; form++) {
		size_t families = 0;

		logs[form] = -INFINITY;
		for (size_t i = 0; i < fit->candidate_count; i++)
			if ((int)fit->candidates[i].form == form && isfinite(fit->candidates[i].evidence)) {
				logs[form] = add_logs(logs[form], fit->candidates[i].evidence);
				families++;
			}
		if (families)
			logs[form] -= log((double)families);
		best = fmax(best, logs[form]);
	}
	for (int form = 0; form < CURVE_FORMS; form++)
		total += isfinite(best) ? exp(logs[form] - best) : 0;
	for (int form = 0; form < CURVE_FORMS; form++)
		fit->form_probability[form] = total > 0 ? exp(logs[form] - best) / total : (double)NAN;
}
