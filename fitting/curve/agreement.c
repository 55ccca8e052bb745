/* SPDX-License-Identifier: BSD-3-Clause */
#include <fitting/curve/agreement.h>

#include <base/quantile.h>

/* Less than this is no band: the curve is held there. */
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

/* A file that does not say: as many independent points as there are levels is the most that can be (Sidak). */
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
