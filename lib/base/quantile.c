/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/quantile.h>

#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;

/* Acklam's approximation for p <= 0.5, relative error under 1.2e-9. */
static double approximate_normal(double p)
{
	static const double a[] = {-39.69683028665376, 220.9460984245205,  -275.9285104469687,
				   138.3577518672690,  -30.66479806614716, 2.506628277459239};
	static const double b[] = {-54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972,
				   -13.28068155288572};
	static const double c[] = {-0.007784894002430293, -0.3223964580411365, -2.400758277161838,
				   -2.549732539343734,    4.374664141464968,   2.938163982698783};
	static const double d[] = {0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416};
	double q, r;

	if (p < 0.02425) {
		q = sqrt(-2 * log(p));
		return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
		       ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
	}
	q = p - 0.5;
	r = q * q;
	return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
	       (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

double quantile_normal(double p)
{
	double z, u;

	if (p > 0.5)
		return -quantile_normal(1 - p);
	if (p <= 0)
		return -INFINITY;
	z = approximate_normal(p);
	u = (erfc(-z / sqrt(2)) / 2 - p) * sqrt(2 * pi) * exp(z * z / 2);
	return z - u / (1 + z * u / 2);
}

double quantile_student(double outside, double dof)
{
	double a, b, c, d, x, y;

	if (dof <= 1)
		return 1 / tan(outside * pi / 2);
	if (dof == 2)
		return sqrt(2 / (outside * (2 - outside)) - 2);
	if (isinf(dof))
		return -quantile_normal(outside / 2);
	a = 1 / (dof - 0.5);
	b = 48 / (a * a);
	c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
	d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * pi / 2) * dof;
	x = d * outside;
	y = pow(x, 2 / dof);
	if (y > 0.05 + a) {
		x = quantile_normal(outside / 2);
		y = x * x;
		if (dof < 5)
			c += 0.3 * (dof - 4.5) * (x + 0.6);
		c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b;
		y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
		y = expm1(a * y * y);
	} else {
		y = ((1 / (((dof + 6) / (dof * y) - 0.089 * d - 0.822) * (dof + 2) * 3) + 0.5 / (dof + 4)) * y - 1) *
			    (dof + 1) / (dof + 2) +
		    1 / y;
	}
	return sqrt(dof * y);
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

void quantile_sort(double *values, size_t count)
{
	qsort(values, count, sizeof *values, compare_doubles);
}

double quantile_median(double *values, size_t count)
{
	if (count == 0)
		return NAN;
	quantile_sort(values, count);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}
