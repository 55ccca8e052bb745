/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <math.h>

#include <base/quantile.h>

Test(quantile, of_the_normal_distribution_is_the_inverse_of_its_function)
{
	cr_assert_float_eq(quantile_normal(0.5), 0, 1e-15);
	cr_assert_float_eq(quantile_normal(0.975), 1.959963984540054, 1e-14);
	cr_assert_float_eq(quantile_normal(1e-9), -5.997807015007773, 1e-13);
	cr_assert_eq(quantile_normal(0), -INFINITY);
	cr_assert_eq(quantile_normal(1), INFINITY);
	for (double p = 1e-200; p < 0.6; p *= 1.7)
		cr_assert_float_eq(erfc(-quantile_normal(p) / sqrt(2)) / 2 / p, 1, 1e-11, "p %g", p);
}

Test(quantile, of_student_are_those_of_the_tables)
{
	static const struct {
		double dof, outside, quantile;
	} rows[] = {{1, 0.05, 12.7062},  {2, 0.05, 4.30265}, {3, 0.05, 3.18245},
		    {4, 0.05, 2.77645},  {5, 0.01, 4.03214}, {10, 0.05, 2.22814},
		    {30, 0.05, 2.04227}, {7, 0.32, 1.07057}, {INFINITY, 0.05, 1.95996}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_assert_float_eq(quantile_student(rows[i].outside, rows[i].dof), rows[i].quantile,
				   1e-3 * rows[i].quantile, "dof %g, outside %g: %g", rows[i].dof, rows[i].outside,
				   quantile_student(rows[i].outside, rows[i].dof));
}

/* Exact values by numerical integration, where the series about the normal quantile is used. */
Test(quantile, of_student_in_the_middle_are_exact_to_three_millionths)
{
	cr_assert_float_eq(quantile_student(0.5, 3), 0.764892, 2e-6);
	cr_assert_float_eq(quantile_student(0.2, 3), 1.637744, 5e-6);
	cr_assert_float_eq(quantile_student(0.1, 4), 2.131847, 6e-6);
}

Test(quantile, the_median_is_the_middle_value_or_the_mean_of_two)
{
	double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2}, one[] = {7};

	cr_assert_eq(quantile_median(odd, 3), 2);
	cr_assert_eq(quantile_median(even, 4), 2.5);
	cr_assert_eq(quantile_median(one, 1), 7);
	cr_assert(isnan(quantile_median(NULL, 0)));
}

/* Exact values by numerical integration, where the series in the tail is used. */
Test(quantile, of_student_in_the_tail_are_exact_to_a_millionth)
{
	static const struct {
		double dof, outside, quantile, error;
	} rows[] = {{3, 0.05, 3.18244631, 2e-6},  {4, 0.01, 4.60409487, 1e-6},  {5, 0.01, 4.03214298, 5e-6},
		    {5, 0.001, 6.86882663, 2e-7}, {7, 0.001, 5.40788252, 4e-6}, {10, 1e-6, 10.51649, 2e-7}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_assert_float_eq(quantile_student(rows[i].outside, rows[i].dof) / rows[i].quantile, 1, rows[i].error,
				   "dof %g, outside %g: %.9g", rows[i].dof, rows[i].outside,
				   quantile_student(rows[i].outside, rows[i].dof));
}
