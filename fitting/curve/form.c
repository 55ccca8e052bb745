/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Probability of each threshold form. Comparing maximum likelihoods (BIC) would favour the form with the more flexible
 * threshold: a hinge between two levels can imitate a jump, and a small jump a hinge. So the comparison uses the
 * marginal likelihood: the likelihood is averaged over the threshold's prior (log_share(); for a jump a sum over the
 * gaps, for a hinge a quadrature), then over the families of the form. Each coefficient costs half the log of the
 * number of levels, as in BIC (unit information prior, Kass & Raftery 1995). If the curve leaves the baseline by a step
 * (at a jump, or at 0), the shape constraint requires that the step goes down: the likelihood is multiplied by the
 * posterior probability of this and divided by its prior probability, 1/2. The forms have equal prior probabilities.
 */
#include <math.h>
#include <stdlib.h>

#include "fit_priv.h"

enum { GAPS_MAXIMUM = 96, PLACES = 25, DOUBLINGS = 12 };

/* Thresholds are negligible if their likelihood is below exp(-drop) times the best one's. */
static const double drop = 9;
struct evidence {
	const struct problem *problem;
	struct profile profile;
	double *storage;
	double best;
};

/* Returns the log of the normal distribution function, accurate in the tail. */
static double log_normal_share(double z)
{
	if (z > -8)
		return log(0.5 * erfc(-z / sqrt(2)));
	return -z * z / 2 - log(-z * sqrt(2 * acos(-1.0)));
}

static bool has_drop_at_start(const struct problem *problem, const struct profile *profile)
{
	return profile->form == CURVE_FORM_JUMP || (profile->form == CURVE_FORM_NONE && problem->baseline_known);
}

/* Returns the log-likelihood of the profile with this threshold, with the coefficients integrated out. */
static double log_likelihood(const struct evidence *evidence, double threshold_us)
{
	const struct problem *problem = evidence->problem;
	struct profile profile = evidence->profile;
	struct solution solution;
	struct design design;
	double variance, value;

	profile.threshold_us = threshold_us;
	design_make(problem, &profile, &design, evidence->storage);
	design_solve(problem, &design, problem->y, &solution);
	if (!isfinite(solution.rss))
		return -INFINITY;
	variance = fmax(solution.rss + problem->scatter, 1e-300) / problem->rows;
	value = -0.5 * problem->rows * log(variance) - 0.5 * (double)design.columns * log((double)problem->count);
	if (has_drop_at_start(problem, &profile)) {
		double row[COLUMNS_MAXIMUM + 1], bound = design_first_constraint(problem, &design, row);

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
 * Returns the log prior probability that the threshold is in an interval: uniform in log(threshold + end/50), since
 * thresholds occur at all scales (the papers' are 20, 40, 40 and 200 us of 1000).
 */
static double log_share(const struct problem *problem, double low_us, double high_us)
{
	double soft = problem->end_us / 50;

	return log(log((high_us + soft) / (low_us + soft)) / log((problem->end_us + soft) / soft));
}

/*
 * Returns the log of the likelihood summed over the gaps, each weighted by its prior probability. Starts at the most
 * likely gap and goes outward in both directions until the gaps are negligible (see `drop`).
 */
static double jump_evidence(const struct evidence *evidence)
{
	const struct problem *problem = evidence->problem;
	size_t middle = 1, behind = profile_columns(problem, &evidence->profile);
	double sum = -INFINITY;

	while (middle + 1 < problem->count && problem->x[middle] < evidence->profile.threshold_us)
		middle++;
	for (int direction = -1; direction <= 1; direction += 2) {
		long i = (long)middle - (direction < 0);
		double best = evidence->best;

		for (int k = 0; k < GAPS_MAXIMUM && i >= 1 && i < (long)(problem->count + 1 - behind);
		     k++, i += direction) {
			double value = log_likelihood(evidence, (problem->x[i - 1] + problem->x[i]) / 2);

			sum = add_logs(sum, value + log_share(problem, problem->x[i - 1], problem->x[i]));
			if (value < best - drop)
				break;
		}
	}
	return sum;
}

/*
 * Goes from the best threshold down (direction -1) or up (1), in steps that double. Returns the first negligible
 * threshold (see `drop`), or the end of the range if that comes first.
 */
static double hinge_end(const struct evidence *evidence, double direction)
{
	double end_us = evidence->problem->end_us, at = evidence->profile.threshold_us, step = end_us / 2048;

	for (int k = 0; k < DOUBLINGS; k++, step *= 2) {
		double next = fmin(fmax(at + direction * step, 0), 0.95 * end_us);

		if (next == 0 || next == 0.95 * end_us || log_likelihood(evidence, next) < evidence->best - drop)
			return next;
	}
	return at;
}

static double hinge_evidence(const struct evidence *evidence)
{
	double low = hinge_end(evidence, -1), high = hinge_end(evidence, 1), at = evidence->profile.threshold_us;
	double sum = -INFINITY;

	/*
	 * Midpoint rule on each side of the most likely threshold. Both sides include that threshold, each with half an
	 * interval.
	 */
	for (int side = 0; side < 2; side++) {
		double from = side ? at : low, width = (side ? high - at : at - low) / (PLACES - 1);

		for (int k = 0; k < PLACES && width > 0; k++) {
			double place = from + width * k;

			sum = add_logs(sum, log_likelihood(evidence, place) +
						    log_share(evidence->problem, k > 0 ? place - width / 2 : place,
							      k < PLACES - 1 ? place + width / 2 : place));
		}
	}
	return sum;
}

double form_evidence(const struct problem *problem, const struct profile *best, bool threshold_forced, double *storage)
{
	struct evidence evidence = {.problem = problem, .profile = *best, .storage = storage};
	double shapes = (double)(profile_parameters(problem, best) - profile_columns(problem, best)) -
			(best->form != CURVE_FORM_NONE);
	double value;

	evidence.best = log_likelihood(&evidence, best->threshold_us);
	if (best->form == CURVE_FORM_NONE || threshold_forced)
		value = evidence.best;
	else
		value = best->form == CURVE_FORM_JUMP ? jump_evidence(&evidence) : hinge_evidence(&evidence);
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
