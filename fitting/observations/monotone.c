/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include <fitting/observations/observations.h>

#include <base/array.h>

/* Pushes a pool onto the stack: the mean, weight and number of its points. */
static void push_pool(double *pools, size_t *count, double mean, double weight, double size)
{
	double *top = pools + 3 * (*count)++;

	top[0] = mean;
	top[1] = weight;
	top[2] = size;
}

size_t isotonic_regression(const double *y, const double *weight, size_t count, double *fitted, double *work)
{
	size_t pools = 0, at = 0;

	for (size_t i = 0; i < count; i++) {
		double mean = y[i], total = weight[i], size = 1;

		while (pools > 0 && work[3 * (pools - 1)] <= mean) {
			const double *before = work + 3 * --pools;

			mean = (before[0] * before[1] + mean * total) / (before[1] + total);
			total += before[1];
			size += before[2];
		}
		push_pool(work, &pools, mean, total, size);
	}
	for (size_t k = 0; k < pools; k++)
		for (size_t end = at + (size_t)work[3 * k + 2]; at < end; at++)
			fitted[at] = work[3 * k];
	return pools;
}

/* Returns the one-sided three-point slope at an end, limited so that the end piece stays monotone. */
static double end_slope(double h0, double h1, double d0, double d1)
{
	double slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1);

	if (slope * d0 <= 0)
		return 0;
	if (fabs(slope) > 3 * fabs(d0)) /* only if the pieces have different signs: else, |slope| < 2 |d0| */
		return 3 * d0;
	return slope;
}

void monotone_slopes(const double *x, const double *y, size_t count, double *slopes)
{
	if (count < 2) {
		if (count)
			slopes[0] = 0;
		return;
	}
	if (count == 2) {
		slopes[0] = slopes[1] = (y[1] - y[0]) / (x[1] - x[0]);
		return;
	}
	for (size_t i = 1; i + 1 < count; i++) {
		double h0 = x[i] - x[i - 1], h1 = x[i + 1] - x[i];
		double d0 = (y[i] - y[i - 1]) / h0, d1 = (y[i + 1] - y[i]) / h1;
		double w0 = 2 * h1 + h0, w1 = h1 + 2 * h0;

		slopes[i] = d0 * d1 > 0 ? (w0 + w1) / (w0 / d0 + w1 / d1) : 0;
	}
	slopes[0] = end_slope(x[1] - x[0], x[2] - x[1], (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1]));
	slopes[count - 1] = end_slope(x[count - 1] - x[count - 2], x[count - 2] - x[count - 3],
				      (y[count - 1] - y[count - 2]) / (x[count - 1] - x[count - 2]),
				      (y[count - 2] - y[count - 3]) / (x[count - 2] - x[count - 3]));
}

double monotone_interpolate(const double *x, const double *y, const double *slopes, size_t count, double at)
{
	size_t low, high;
	double h, t, t2, t3;

	if (at <= x[0] || count == 1)
		return y[0];
	if (at >= x[count - 1])
		return y[count - 1];
	SEARCH_LOWER_BOUND(high, 1, count - 1, x[high] <= at);
	low = high - 1;
	h = x[high] - x[low];
	t = (at - x[low]) / h;
	t2 = t * t;
	t3 = t2 * t;
	return (2 * t3 - 3 * t2 + 1) * y[low] + (t3 - 2 * t2 + t) * h * slopes[low] + (3 * t2 - 2 * t3) * y[high] +
	       (t3 - t2) * h * slopes[high];
}
