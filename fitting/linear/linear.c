/* SPDX-License-Identifier: BSD-3-Clause */
/* Linear least squares in double, refined with residuals in long double. */
#include "linear_priv.h"

#include <float.h>
#include <math.h>

enum { REFINEMENTS_MAXIMUM = 4 };

/* Refinement stops when a correction is below this share of the solution; each round gains over 5 digits. */
static const double refined_enough = 1e-12;

/* chi2 and the sums that R^2 needs, computed from unweighted residuals in long double. */
struct linear_sums {
	long double chi2, about_zero, about_mean;
};

static bool take_weights(struct linear_workspace *w, const struct linear_problem *problem, size_t *used)
{
	*used = problem->rows;
	if (!problem->weights)
		return true;
	*used = 0;
	for (size_t i = 0; i < problem->rows; i++) {
		if (!(problem->weights[i] >= 0) || !isfinite(problem->weights[i]))
			return false;
		w->root_weights[i] = sqrt(problem->weights[i]);
		*used += problem->weights[i] > 0;
	}
	return true;
}

static size_t stride_of(const struct linear_problem *problem)
{
	return problem->stride ? problem->stride : problem->rows;
}

static bool load(struct linear_workspace *w, const struct linear_problem *problem)
{
	size_t rows = problem->rows;
	double check = 0;

	w->qr.rows = rows;
	w->qr.columns = problem->columns;
	for (size_t j = 0; j < problem->columns; j++) {
		const double *from = problem->matrix + j * stride_of(problem);
		double *to = w->qr.a + j * rows;

		if (problem->weights)
			for (size_t i = 0; i < rows; i++)
				to[i] = from[i] * w->root_weights[i];
		else
			memcpy(to, from, rows * sizeof *to);
	}
	for (size_t i = 0; i < rows; i++) {
		w->target[i] = problem->weights ? problem->response[i] * w->root_weights[i] : problem->response[i];
		check += fabs(w->target[i]);
	}
	return isfinite(check);
}

/*
 * precise_rows := response - A solution, in long double. Computed row by row, so that each sum stays in a register:
 * storing and loading 80-bit numbers costs more than adding them.
 */
static void take_residuals(struct linear_workspace *w, const struct linear_problem *problem)
{
	size_t stride = stride_of(problem), columns = problem->columns;

	for (size_t i = 0; i < problem->rows; i++) {
		const double *row = problem->matrix + i;
		long double sum = problem->response[i];

		for (size_t j = 0; j < columns; j++)
			sum -= w->solution[j] * row[j * stride];
		w->precise_rows[i] = sum;
	}
}

/*
 * Returns the sum of root_weight * residual * element, in long double. Uses two running sums, to hide the latency of
 * the additions.
 */
static long double weighted_product(const double *roots, const double *residuals, const double *column, size_t rows)
{
	long double even = 0, odd = 0;
	size_t i = 0;

	for (; !roots && i + 2 <= rows; i += 2) {
		even += (long double)residuals[i] * column[i];
		odd += (long double)residuals[i + 1] * column[i + 1];
	}
	for (; roots && i + 2 <= rows; i += 2) {
		even += (long double)residuals[i] * roots[i] * column[i];
		odd += (long double)residuals[i + 1] * roots[i + 1] * column[i + 1];
	}
	if (i < rows)
		even += (long double)residuals[i] * (roots ? roots[i] : 1) * column[i];
	return even + odd;
}

/*
 * correction := R^-T P' S^-1 g with g = -A'r. g is 0 if the residuals r are orthogonal to the columns of A, as they are
 * in an exact solution.
 */
static void take_obliqueness(struct linear_workspace *w, const struct linear_problem *problem)
{
	const double *roots = problem->weights ? w->root_weights : NULL;

	for (size_t k = 0; k < w->qr.rank; k++) {
		size_t j = w->qr.pivot[k];
		const double *column = problem->matrix + j * stride_of(problem);

		w->correction[k] =
			-(double)weighted_product(roots, w->orthogonal, column, problem->rows) / w->qr.scale[j];
	}
	solve_upper_transposed_double(&w->qr, w->correction);
}

/*
 * Makes one round of refinement on [I A; A' 0][r; x] = [b; 0] (Björck 1967). Returns the size of the correction
 * relative to x.
 */
static double refine(struct linear_workspace *w, const struct linear_problem *problem)
{
	double moved = 0, size = 0;

	for (size_t i = 0; i < problem->rows; i++) {
		long double residual = w->precise_rows[i];

		if (problem->weights)
			residual *= w->root_weights[i];
		w->target[i] = (double)(residual - w->orthogonal[i]);
	}
	take_obliqueness(w, problem);
	apply_transposed_double(&w->qr, w->target);
	for (size_t k = 0; k < w->qr.rank; k++) {
		double oblique = w->correction[k];

		w->correction[k] = w->target[k] - oblique;
		w->target[k] = oblique;
	}
	solve_upper_double(&w->qr, w->correction);
	for (size_t k = 0; k < w->qr.rank; k++) {
		size_t j = w->qr.pivot[k];

		w->solution[j] += (long double)w->correction[k] / w->qr.scale[j];
		moved = fmax(moved, fabs(w->correction[k]));
		size = fmax(size, fabs((double)w->solution[j] * w->qr.scale[j]));
	}
	apply_double(&w->qr, w->target);
	for (size_t i = 0; i < problem->rows; i++)
		w->orthogonal[i] += w->target[i];
	take_residuals(w, problem);
	return size > 0 ? moved / size : 0;
}

static void solve(struct linear_workspace *w, const struct linear_problem *problem)
{
	double before = INFINITY;

	apply_transposed_double(&w->qr, w->target);
	memcpy(w->correction, w->target, w->qr.rank * sizeof *w->correction);
	solve_upper_double(&w->qr, w->correction);
	for (size_t k = 0; k < problem->columns; k++)
		w->solution[w->qr.pivot[k]] = 0;
	for (size_t k = 0; k < w->qr.rank; k++)
		w->solution[w->qr.pivot[k]] = (long double)w->correction[k] / w->qr.scale[w->qr.pivot[k]];
	memset(w->orthogonal, 0, w->qr.rank * sizeof *w->orthogonal);
	memcpy(w->orthogonal + w->qr.rank, w->target + w->qr.rank, (problem->rows - w->qr.rank) * sizeof *w->target);
	apply_double(&w->qr, w->orthogonal);
	take_residuals(w, problem);
	for (int round = 0; round < REFINEMENTS_MAXIMUM; round++) {
		double moved = refine(w, problem);

		if (!(moved > refined_enough) || moved > before / 2)
			break;
		before = moved;
	}
}

static void take_sums(const struct linear_workspace *w, const struct linear_problem *problem, struct linear_sums *sums)
{
	long double weight_sum = 0, mean = 0;

	*sums = (struct linear_sums){0};
	for (size_t i = 0; i < problem->rows; i++) {
		long double weight = problem->weights ? problem->weights[i] : 1, y = problem->response[i];

		weight_sum += weight;
		mean += weight * y;
		sums->chi2 += weight * w->precise_rows[i] * w->precise_rows[i];
		sums->about_zero += weight * y * y;
	}
	mean /= weight_sum;
	for (size_t i = 0; i < problem->rows; i++) {
		long double weight = problem->weights ? problem->weights[i] : 1, off = problem->response[i] - mean;

		sums->about_mean += weight * off * off;
	}
}

static void take_covariance(struct linear_workspace *w)
{
	size_t n = w->qr.columns;

	covariance_root_double(&w->qr, w->root);
	memset(w->covariance_absolute, 0, n * n * sizeof *w->covariance_absolute);
	for (size_t c = 0; c < w->qr.rank; c++)
		for (size_t j = 0; j < n; j++)
			add_multiple_double(w->covariance_absolute + j * n, w->root[c * n + j], w->root + c * n, n);
	for (size_t k = w->qr.rank; k < n; k++)
		w->covariance_absolute[w->qr.pivot[k] * (n + 1)] = INFINITY;
}

/* Computes the result from solution, precise_rows (residuals), sums and covariance_absolute. */
static void finish(struct linear_workspace *w, const struct linear_problem *problem, const struct linear_sums *sums,
		   struct linear_result *result)
{
	size_t columns = problem->columns;
	long double total = problem->has_intercept ? sums->about_mean : sums->about_zero;
	double variance;

	result->dof = (double)result->rows_used - (double)result->rank;
	result->chi2 = (double)sums->chi2;
	result->r_squared = total > 0 ? (double)(1 - sums->chi2 / total) : (double)NAN;
	result->aicc = fitting_aicc(result->chi2, result->rows_used, result->rank);
	result->bic = fitting_bic(result->chi2, result->rows_used, result->rank);
	variance = result->dof > 0 ? (double)(sums->chi2 / (long double)result->dof) : (double)INFINITY;
	for (size_t i = 0; i < columns * columns; i++)
		w->covariance_scaled[i] = result->dof > 0 ? w->covariance_absolute[i] * variance : (double)INFINITY;
	for (size_t j = 0; j < columns; j++) {
		w->coefficients[j] = (double)w->solution[j];
		w->standard_errors[j] = sqrt(w->covariance_scaled[j * columns + j]);
		if (!isfinite(w->coefficients[j]))
			result->status = LINEAR_NOT_FINITE;
	}
	for (size_t i = 0; i < problem->rows; i++)
		w->residuals[i] = (double)w->precise_rows[i];
	result->coefficients = w->coefficients;
	result->covariance_absolute = w->covariance_absolute;
	result->covariance_scaled = w->covariance_scaled;
	result->standard_errors = w->standard_errors;
	result->residuals = w->residuals;
}

enum linear_status linear_fit(struct linear_workspace *w, const struct linear_problem *problem,
			      struct linear_result *result)
{
	struct linear_sums sums;
	size_t wider = problem->rows > problem->columns ? problem->rows : problem->columns;

	*result = (struct linear_result){.status = LINEAR_NOT_FINITE, .columns = problem->columns};
	if (problem->rows > w->rows_maximum || problem->columns > w->columns_maximum || problem->columns == 0)
		return result->status = LINEAR_TOO_FEW_ROWS;
	if (!take_weights(w, problem, &result->rows_used))
		return result->status;
	if (result->rows_used < problem->columns)
		return result->status = LINEAR_TOO_FEW_ROWS;
	if (!load(w, problem) || !factorise_double(&w->qr, (double)wider * DBL_EPSILON))
		return result->status;
	result->rank = w->qr.rank;
	result->status = w->qr.rank == problem->columns ? LINEAR_OK : LINEAR_RANK_DEFICIENT;
	result->condition =
		w->qr.rank ? fabs(w->qr.a[0] / w->qr.a[(w->qr.rank - 1) * (problem->rows + 1)]) : (double)INFINITY;
	solve(w, problem);
	take_sums(w, problem, &sums);
	take_covariance(w);
	finish(w, problem, &sums, result);
	return result->status;
}

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
