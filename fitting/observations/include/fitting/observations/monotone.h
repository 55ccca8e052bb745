/* SPDX-License-Identifier: BSD-3-Clause */
/* Isotonic regression and monotone interpolation. Pure functions; the arrays belong to the caller. */
#ifndef FITTING_MONOTONE_H
#define FITTING_MONOTONE_H

#include <stddef.h>

/*
 * Weighted least squares with fitted[0] >= fitted[1] >= ...: pool adjacent violators (Barlow et al. 1972), in linear
 * time.
 * Weights must be positive. `fitted` may be the same array as y; work has 3 * count elements. Returns the number of
 * pools.
 */
size_t isotonic_regression(const double *y, const double *weight, size_t count, double *fitted, double *work);

/*
 * Computes the slopes of a monotone piecewise cubic Hermite interpolant through (x, y), with x strictly ascending
 * (Fritsch & Butland 1984): the curve is monotone where y is, without overshoot.
 */
void monotone_slopes(const double *x, const double *y, size_t count, double *slopes);

/* Returns the interpolant at x = `at`; it is constant outside x[0]..x[count - 1]. count >= 1. */
double monotone_interpolate(const double *x, const double *y, const double *slopes, size_t count, double at);

#endif
