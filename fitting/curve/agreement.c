/* SPDX-License-Identifier: BSD-3-Clause */
#include <fitting/curve/agreement.h>

#include <math.h>

#include <base/quantile.h>

/*
 * Points whose combined half-width is at most this are ignored: the curves are certain there. One such point is x = 0,
 * where every curve is 1 by definition.
 */
static const double half_width_least = 1e-9;

const char *agreement_name(enum agreement_verdict verdict)
{
	static const char *const names[] = {"unknown", "agree", "differ"};

	return names[verdict];
}

size_t agreement_points(const struct curve *first, const struct curve *second)
{
	return first->table_count < second->table_count ? first->table_count : second->table_count;
}

static double half_width(const struct curve *curve, size_t index)
{
	return curve->band_low && curve->band_high ? (curve->band_high[index] - curve->band_low[index]) / 2 : 0;
}

struct agreement_point agreement_at(const struct curve *first, const struct curve *second, size_t index)
{
	return (struct agreement_point){.x_us = CURVE_STEP_US * (double)index,
					.first = first->table[index],
					.second = second->table[index],
					.allowed = hypot(half_width(first, index), half_width(second, index))};
}

/*
 * Returns the factor by which the band must grow to hold at all points at once: band_whole_factor, but at least 1. If
 * the curve's file does not have it, returns Sidak's factor, which treats the levels (or the points of the table, if
 * there are no levels) as independent. Without a band, returns 1.
 */
static double whole_factor(const struct curve *curve)
{
	double points = (double)(curve->level_count ? curve->level_count : curve->table_count);

	if (!curve->band_low || !curve->band_high)
		return 1;
	if (isfinite(curve->band_whole_factor))
		return fmax(curve->band_whole_factor, 1);
	return quantile_student(1 - pow(0.95, 1 / points), INFINITY) / quantile_student(0.05, INFINITY);
}

void agreement_judge(const struct curve *first, const struct curve *second, struct agreement *agreement)
{
	size_t count = agreement_points(first, second);

	*agreement = (struct agreement){.allowed = fmax(whole_factor(first), whole_factor(second))};
	for (size_t i = 0; i < count; i++) {
		struct agreement_point point = agreement_at(first, second, i);
		double away = fabs(point.first - point.second) / point.allowed;

		if (!(point.allowed > half_width_least))
			continue;
		agreement->points++;
		agreement->within += away <= 1;
		if (away > agreement->worst) {
			agreement->worst = away;
			agreement->worst_at_us = point.x_us;
		}
	}
	if (agreement->points)
		agreement->verdict = agreement->worst <= agreement->allowed ? AGREEMENT_AGREES : AGREEMENT_DIFFERS;
}

struct agreement_difference agreement_difference_of(const struct curve *first, const struct curve *second)
{
	size_t count = first->table_count > second->table_count ? first->table_count : second->table_count;
	struct agreement_difference most = {.difference = -1};
	double squares = 0;

	for (size_t i = 0; i < count; i++) {
		double x = CURVE_STEP_US * (double)i, a = curve_eval(first, x), b = curve_eval(second, x);

		squares += (a - b) * (a - b);
		if (fabs(a - b) > most.difference)
			most = (struct agreement_difference){x, a, b, fabs(a - b), 0};
	}
	most.rms = sqrt(squares / (double)count);
	return most;
}

/* Returns the relative variance of the mean of the baseline runs, or NAN if it is not known. */
static double baseline_variance(const struct curve *curve)
{
	double runs = curve->level_count ? (double)curve->levels[0].runs : 0;

	return runs > 1 ? pow(curve->baseline_deviation / curve->baseline_value, 2) / runs : NAN;
}

struct agreement_baselines agreement_baselines_of(const struct curve *first, const struct curve *second)
{
	double one = baseline_variance(first), other = baseline_variance(second);
	double one_dof = first->level_count ? (double)first->levels[0].runs - 1 : 1;
	double other_dof = second->level_count ? (double)second->levels[0].runs - 1 : 1;
	double dof = pow(one + other, 2) / (one * one / one_dof + other * other / other_dof);

	return (struct agreement_baselines){
		.percent = 100 * (second->baseline_value / first->baseline_value - 1),
		.noise_percent = dof > 0 ? 100 * quantile_student(0.05, dof) * sqrt(one + other) : NAN,
	};
}
