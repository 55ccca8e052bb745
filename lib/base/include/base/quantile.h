/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantiles of the normal and Student's t distributions, and of samples. Pure. */
#ifndef BASE_QUANTILE_H
#define BASE_QUANTILE_H

#include <stddef.h>

/*
 * The z below which a standard normal variable lies with probability p (0 < p < 1): Acklam's rational approximation and
 * one step of Halley's method, relative error under 1e-14. -INFINITY for p = 0, INFINITY for 1.
 */
double quantile_normal(double p);

/*
 * The t for which a variable lies outside -t..t with probability `outside` (0 < outside < 1), for dof >= 1 degrees of
 * freedom; dof INFINITY is the normal distribution. Hill, "Algorithm 396: Student's t-quantiles", CACM 13 (1970): exact
 * for dof 1, 2 and INFINITY, else to 5e-4.
 */
double quantile_student(double outside, double dof);

/* Median of `count` values, none NAN; NAN for count 0. Sorts the values. */
double quantile_median(double *values, size_t count);

#endif
