/* SPDX-License-Identifier: BSD-3-Clause */
/* Student's t, for the deviation that few measurements tell. Pure. */
#ifndef BASE_STUDENT_H
#define BASE_STUDENT_H

/*
 * The t that lies outside -t..t with this probability (0 < outside < 1), for dof >= 1 degrees of freedom, INFINITY =
 * the normal distribution: Hill, "Algorithm 396: Student's t-quantiles", CACM 13 (1970), exact for 1 and 2, else to
 * 5e-4.
 */
double student_quantile(double outside, double dof);

#endif
