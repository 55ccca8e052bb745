/* SPDX-License-Identifier: BSD-3-Clause */
#include <fitting/linear/linear.h>

#include <math.h>

double fitting_aicc(double chi2, size_t rows, size_t parameters)
{
	double n = (double)rows, k = (double)parameters + 1;

	if (n <= k + 1)
		return INFINITY;
	return n * log(chi2 / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1);
}

double fitting_bic(double chi2, size_t rows, size_t parameters)
{
	double n = (double)rows, k = (double)parameters + 1;

	return n * log(chi2 / n) + k * log(n);
}
