/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include <criterion/criterion.h>

#include <base/rng.h>
#include <fitting/observations/observations.h>

enum { POINTS = 40 };

Test(monotone, pools_a_textbook_case)
{
	const double y[] = {5, 3, 4, 1, 2, 0}, weight[] = {1, 1, 3, 1, 1, 1};
	double fitted[6], work[18];

	cr_assert_eq(isotonic_regression(y, weight, 6, fitted, work), 4);
	cr_assert_float_eq(fitted[0], 5, 1e-15);
	cr_assert_float_eq(fitted[1], 3.75, 1e-15);
	cr_assert_float_eq(fitted[2], 3.75, 1e-15);
	cr_assert_float_eq(fitted[3], 1.5, 1e-15);
	cr_assert_float_eq(fitted[5], 0, 1e-15);
}

/* Optimality: pools keep their weighted sums, and no small monotone change reduces the error. */
Test(monotone, pooling_is_the_best_monotone_fit)
{
	struct rng rng;

	rng_seed(&rng, 7);
	for (int trial = 0; trial < 300; trial++) {
		double y[POINTS], weight[POINTS], fitted[POINTS], work[3 * POINTS], sum = 0, error = 0;

		for (int i = 0; i < POINTS; i++) {
			y[i] = -0.05 * i + rng_normal(&rng);
			weight[i] = 0.1 + rng_uniform(&rng);
		}
		isotonic_regression(y, weight, POINTS, fitted, work);
		for (int i = 0; i < POINTS; i++) {
			cr_assert(i == 0 || fitted[i] <= fitted[i - 1]);
			sum += weight[i] * (y[i] - fitted[i]);
			error += weight[i] * pow(y[i] - fitted[i], 2);
		}
		cr_assert_float_eq(sum, 0, 1e-9);
		for (int from = 0; from < POINTS; from++) {
			double raised = 0;

			/* Raising all points up to `from`, and lowering all points from there on, keep the order. */
			for (int i = 0; i < POINTS; i++)
				raised += weight[i] * pow(y[i] - fitted[i] - (i <= from ? 1e-4 : 0), 2);
			cr_assert_geq(raised, error - 1e-12);
			raised = 0;
			for (int i = 0; i < POINTS; i++)
				raised += weight[i] * pow(y[i] - fitted[i] + (i >= from ? 1e-4 : 0), 2);
			cr_assert_geq(raised, error - 1e-12);
		}
	}
}

/* Worked by hand: Fritsch and Butland's weighted harmonic means within, limited three-point slopes at the ends. */
Test(monotone, slopes)
{
	static const struct {
		size_t count;
		double x[4], y[4], slopes[4];
	} rows[] = {
		{1, {2}, {5}, {0}},
		{2, {1, 3}, {5, 1}, {-2, -2}},
		{3, {1, 2, 4}, {10, 6, 4}, {-5, -12.0 / 7, 0}}, /* the last: 1, against its piece */
		{3, {1, 2, 4}, {1, 0.6, 0.4}, {-0.5, -1.2 / 7, 0}},
		{3, {1, 2, 4}, {10, 6, 8}, {-17.0 / 3, 0, 3}},       /* 13 / 3, cut to three times its piece */
		{3, {1, 2, 4}, {10, 6, 7}, {-33.0 / 6, 0, 3.0 / 2}}, /* 7 / 2, cut */
		{3, {1, 2, 3}, {8, 4, 5}, {-13.0 / 2, 0, 3}},        /* 7 / 2, cut */
		{3, {1, 2, 3}, {8, 7, 4}, {0, -3.0 / 2, -4}},
		{4, {0, 1, 2, 4}, {9, 8, 5, 4}, {0, -3.0 / 2, -27.0 / 29, 0}},
	};

	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		double slopes[4];

		monotone_slopes(rows[r].x, rows[r].y, rows[r].count, slopes);
		for (size_t i = 0; i < rows[r].count; i++)
			cr_expect_float_eq(slopes[i], rows[r].slopes[i], 1e-12, "row %zu: slope %zu: %.17g", r, i,
					   slopes[i]);
	}
}

Test(monotone, interpolates_without_overshoot)
{
	struct rng rng;

	rng_seed(&rng, 8);
	for (int trial = 0; trial < 300; trial++) {
		double x[POINTS], y[POINTS], slopes[POINTS], before = INFINITY;
		size_t count = 1 + rng_below(&rng, POINTS);

		x[0] = 0;
		y[0] = 1;
		for (size_t i = 1; i < count; i++) {
			x[i] = x[i - 1] + 0.01 + rng_exponential(&rng);
			y[i] = y[i - 1] - (rng_below(&rng, 3) ? rng_exponential(&rng) : 0);
		}
		for (size_t i = 0; i < count; i++)
			slopes[i] = NAN;
		monotone_slopes(x, y, count, slopes);
		for (size_t i = 0; i < count; i++) {
			cr_assert(slopes[i] <= 0);
			cr_assert_float_eq(monotone_interpolate(x, y, slopes, count, x[i]), y[i], 1e-12);
		}
		for (int i = -5; i < 505; i++) {
			double value = monotone_interpolate(x, y, slopes, count, x[count - 1] * i / 500);

			cr_assert_leq(value, before + 1e-12);
			cr_assert(value <= y[0] && value >= y[count - 1] - 1e-12);
			before = value;
		}
	}
}
