/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/student.h>

#include <math.h>

static const double pi = 3.14159265358979323846;

/* The normal z that lies outside -z..z with this probability: erfc is monotone, so halving finds it. */
static double normal_quantile(double outside)
{
	double low = 0, high = 40;

	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (erfc(middle / sqrt(2)) > outside)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

double student_quantile(double outside, double dof)
{
	double a, b, c, d, x, y;

	if (dof <= 1)
		return 1 / tan(outside * pi / 2);
	if (dof == 2)
		return sqrt(2 / (outside * (2 - outside)) - 2);
	if (isinf(dof))
		return normal_quantile(outside);
	a = 1 / (dof - 0.5);
	b = 48 / (a * a);
	c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
	d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * pi / 2) * dof;
	x = d * outside;
	y = pow(x, 2 / dof);
	if (y > 0.05 + a) {
		x = -normal_quantile(outside);
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
