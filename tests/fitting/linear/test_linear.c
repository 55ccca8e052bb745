/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/rng.h>
#include <fitting/linear/linear.h>

enum { ROWS = 40, COLUMNS = 5 };

static struct linear_workspace *workspace;

static void setup(void)
{
	workspace = linear_workspace_create(200, 16);
	cr_assert_not_null(workspace);
}

static void teardown(void)
{
	linear_workspace_destroy(workspace);
}

TestSuite(linear, .init = setup, .fini = teardown);

static void random_problem(struct rng *rng, double *matrix, double *y, double *weights)
{
	for (int i = 0; i < ROWS; i++) {
		for (int j = 0; j < COLUMNS; j++)
			matrix[i + j * ROWS] = j == 0 ? 1 : rng_normal(rng) * pow(10, 3 * j - 6) + j;
		y[i] = rng_normal(rng) * 10;
		weights[i] = rng_uniform(rng) * 4;
	}
}

static void assert_near(double found, double wanted, double relative, const char *what)
{
	cr_assert(fabs(found - wanted) <= relative * fmax(fabs(wanted), 1e-300), "%s: %.17g, wanted %.17g", what, found,
		  wanted);
}

Test(linear, residuals_are_orthogonal_to_every_column)
{
	double matrix[ROWS * COLUMNS], y[ROWS], weights[ROWS];
	struct linear_problem problem = {ROWS, COLUMNS, matrix, 0, y, weights, true};
	struct linear_result result;
	struct rng rng;

	rng_seed(&rng, 1);
	for (int round = 0; round < 200; round++) {
		random_problem(&rng, matrix, y, weights);
		cr_assert_eq(linear_fit(workspace, &problem, &result), LINEAR_OK);
		for (int j = 0; j < COLUMNS; j++) {
			double product = 0, size = 0;

			for (int i = 0; i < ROWS; i++) {
				product += weights[i] * matrix[i + j * ROWS] * result.residuals[i];
				size += fabs(weights[i] * matrix[i + j * ROWS] * result.residuals[i]);
			}
			cr_assert(fabs(product) <= 1e-14 * size, "column %d: %g of %g", j, product, size);
		}
	}
}

Test(linear, straight_line_has_its_textbook_covariance)
{
	double matrix[20], y[10], sum = 0, square = 0, rss = 0, total = 0, mean = 0;
	struct linear_problem problem = {10, 2, matrix, 0, y, NULL, true};
	struct linear_result result;
	double determinant;

	for (int i = 0; i < 10; i++) {
		matrix[i] = 1;
		matrix[10 + i] = i * i;
		y[i] = 3 - 0.25 * i * i + (i % 3) * 0.1;
		sum += matrix[10 + i];
		square += matrix[10 + i] * matrix[10 + i];
		mean += y[i] / 10;
	}
	cr_assert_eq(linear_fit(workspace, &problem, &result), LINEAR_OK);
	for (int i = 0; i < 10; i++) {
		rss += pow(y[i] - result.coefficients[0] - result.coefficients[1] * matrix[10 + i], 2);
		total += pow(y[i] - mean, 2);
	}
	determinant = 10 * square - sum * sum;
	assert_near(result.covariance_absolute[0], square / determinant, 1e-13, "variance of the intercept");
	assert_near(result.covariance_absolute[1], -sum / determinant, 1e-13, "covariance");
	assert_near(result.covariance_absolute[3], 10 / determinant, 1e-13, "variance of the slope");
	assert_near(result.covariance_scaled[3], 10 / determinant * rss / 8, 1e-12, "scaled variance");
	assert_near(result.standard_errors[1], sqrt(10 / determinant * rss / 8), 1e-12, "standard error");
	assert_near(result.chi2, rss, 1e-12, "chi2");
	assert_near(result.r_squared, 1 - rss / total, 1e-13, "R squared");
	assert_near(result.aicc, 10 * log(rss / 10) + 6 + 24.0 / 6, 1e-12, "AICc");
	assert_near(result.bic, 10 * log(rss / 10) + 3 * log(10), 1e-12, "BIC");
	cr_assert_eq(result.dof, 8);
}

Test(linear, weight_n_is_the_row_n_times_and_weight_0_no_row)
{
	double matrix[3 * 12], y[12], weights[12], repeated[3 * 24], repeated_y[24], coefficients[3], covariance[9],
		chi2;
	struct linear_problem weighted = {12, 3, matrix, 0, y, weights, true};
	struct linear_problem plain = {0, 3, repeated, 24, repeated_y, NULL, true};
	struct linear_result result;
	struct rng rng;

	rng_seed(&rng, 3);
	for (int i = 0; i < 12; i++) {
		matrix[i] = 1;
		matrix[12 + i] = rng_normal(&rng);
		matrix[24 + i] = rng_normal(&rng);
		y[i] = rng_normal(&rng);
		weights[i] = i % 3;
		for (int k = 0; k < i % 3; k++, plain.rows++) {
			for (int j = 0; j < 3; j++)
				repeated[plain.rows + j * 24] = matrix[i + j * 12];
			repeated_y[plain.rows] = y[i];
		}
	}
	cr_assert_eq(linear_fit(workspace, &weighted, &result), LINEAR_OK);
	cr_assert_eq(result.rows_used, 8);
	cr_assert_eq(result.dof, 5);
	memcpy(coefficients, result.coefficients, sizeof coefficients);
	memcpy(covariance, result.covariance_absolute, sizeof covariance);
	chi2 = result.chi2;
	cr_assert_eq(linear_fit(workspace, &plain, &result), LINEAR_OK);
	for (int j = 0; j < 3; j++)
		assert_near(coefficients[j], result.coefficients[j], 1e-13, "coefficient");
	for (int k = 0; k < 9; k++)
		assert_near(covariance[k], result.covariance_absolute[k], 1e-12, "covariance");
	assert_near(chi2, result.chi2, 1e-13, "chi2");
}

Test(linear, dependent_columns_are_found)
{
	double matrix[ROWS * COLUMNS], y[ROWS], weights[ROWS];
	struct linear_problem problem = {ROWS, COLUMNS, matrix, 0, y, NULL, true};
	struct linear_result result;
	struct rng rng;

	rng_seed(&rng, 4);
	for (int round = 0; round < 50; round++) {
		int infinite = 0;

		random_problem(&rng, matrix, y, weights);
		for (int i = 0; i < ROWS; i++)
			matrix[i + 4 * ROWS] = 3 * matrix[i] - 0.1 * matrix[i + 2 * ROWS];
		cr_assert_eq(linear_fit(workspace, &problem, &result), LINEAR_RANK_DEFICIENT);
		cr_assert_eq(result.rank, COLUMNS - 1);
		for (int j = 0; j < COLUMNS; j++)
			infinite += isinf(result.standard_errors[j]);
		cr_assert_eq(infinite, 1);
	}
	memset(matrix + ROWS, 0, ROWS * sizeof *matrix);
	cr_assert_eq(linear_fit(workspace, &problem, &result), LINEAR_RANK_DEFICIENT);
	cr_assert_eq(result.coefficients[1], 0);
	/* A column without effect before useful ones must not hide them. */
	cr_assert_eq(result.rank, COLUMNS - 2);
	memset(matrix, 0, sizeof matrix);
	cr_assert_eq(linear_fit(workspace, &problem, &result), LINEAR_RANK_DEFICIENT);
	cr_assert_eq(result.rank, 0);
}

Test(linear, impossible_input_is_refused)
{
	double matrix[ROWS * COLUMNS], y[ROWS], weights[ROWS];
	struct linear_problem problem = {4, COLUMNS, matrix, ROWS, y, NULL, true};
	struct linear_result result;
	struct rng rng;

	rng_seed(&rng, 5);
	random_problem(&rng, matrix, y, weights);
	cr_assert_eq(linear_fit(workspace, &problem, &result), LINEAR_TOO_FEW_ROWS);
	problem.rows = ROWS;
	problem.weights = weights;
	weights[3] = -1;
	cr_assert_eq(linear_fit(workspace, &problem, &result), LINEAR_NOT_FINITE);
	weights[3] = NAN;
	cr_assert_eq(linear_fit(workspace, &problem, &result), LINEAR_NOT_FINITE);
	weights[3] = 1;
	y[7] = NAN;
	cr_assert_eq(linear_fit(workspace, &problem, &result), LINEAR_NOT_FINITE);
	y[7] = 1;
	matrix[9] = INFINITY;
	cr_assert_eq(linear_fit(workspace, &problem, &result), LINEAR_NOT_FINITE);
	for (int i = 0; i < ROWS; i++)
		weights[i] = i < 4;
	cr_assert_eq(linear_fit(workspace, &problem, &result), LINEAR_TOO_FEW_ROWS);
	problem.rows = 201;
	cr_assert_eq(linear_fit(workspace, &problem, &result), LINEAR_TOO_FEW_ROWS);
	cr_assert_null(linear_workspace_create(0, 1));
	cr_assert_null(linear_workspace_create(SIZE_MAX / 2, 8));
}

Test(linear, as_many_rows_as_columns_leave_errors_infinite)
{
	double matrix[4] = {1, 1, 0, 2}, y[2] = {3, 7};
	struct linear_problem problem = {2, 2, matrix, 0, y, NULL, true};
	struct linear_result result;

	cr_assert_eq(linear_fit(workspace, &problem, &result), LINEAR_OK);
	assert_near(result.coefficients[0], 3, 1e-15, "intercept");
	assert_near(result.coefficients[1], 2, 1e-15, "slope");
	cr_assert(isinf(result.standard_errors[0]));
	cr_assert_eq(result.dof, 0);
}

Test(linear, extreme_scales_neither_overflow_nor_lose_digits)
{
	double matrix[30], y[10];
	struct linear_problem problem = {10, 3, matrix, 0, y, NULL, true};
	struct linear_result result;

	for (int i = 0; i < 10; i++) {
		matrix[i] = 1e-160;
		matrix[10 + i] = 1e150 * i;
		matrix[20 + i] = 1e-250 * i * i;
		y[i] = 2 + 3.0 * i - 0.5 * i * i;
	}
	cr_assert_eq(linear_fit(workspace, &problem, &result), LINEAR_OK);
	assert_near(result.coefficients[0], 2e160, 1e-13, "first");
	assert_near(result.coefficients[1], 3e-150, 1e-13, "second");
	assert_near(result.coefficients[2], -0.5e250, 1e-13, "third");
}
