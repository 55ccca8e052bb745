/* SPDX-License-Identifier: BSD-3-Clause */
/* Linear least squares in long double: the columns are given, or are powers of a centred and scaled variable. */
#include "linear_priv.h"

#include <float.h>

/* A problem whose columns are given (`matrix`), or are powers of t, which is computed from `x`. */
struct extended_source {
	size_t rows, columns;
	const long double *response;
	const long double *matrix; /* NULL: the columns are powers of t = (x - middle) / half_range */
	const long double *x;
	long double middle, half_range;
	bool has_intercept;
};

static long double element(const struct extended_source *source, size_t i, size_t j)
{
	long double t, power = 1;

	if (source->matrix)
		return source->matrix[i + j * source->rows];
	t = (source->x[i] - source->middle) / source->half_range;
	for (size_t k = 0; k < j; k++)
		power *= t;
	return power;
}

/*
 * Copies the matrix into qr.a, or builds the powers of t column by column. Returns false if a response is not finite.
 */
static bool load(struct linear_workspace *w, const struct extended_source *source)
{
	struct qr_extended *qr = &w->qr_extended;
	size_t rows = source->rows;

	qr->rows = rows;
	qr->columns = source->columns;
	for (size_t i = 0; i < rows; i++) {
		if (!isfinite(source->response[i]))
			return false;
		w->precise_rows2[i] = source->response[i];
		qr->a[i] = element(source, i, 0);
	}
	for (size_t j = 1; j < source->columns; j++) {
		long double *column = qr->a + j * rows;

		for (size_t i = 0; i < rows; i++)
			column[i] = source->matrix ? source->matrix[i + j * rows]
						   : column[i - rows] * element(source, i, 1);
	}
	return true;
}

/* Computes the expansion: element (i, k) is the coefficient of x^i in ((x - middle)/half_range)^k. */
static void expand_powers(struct linear_workspace *w, const struct extended_source *source)
{
	size_t n = source->columns;
	long double *e = w->expansion;

	memset(e, 0, n * n * sizeof *e);
	e[0] = 1;
	for (size_t k = 1; k < n; k++) {
		for (size_t i = 0; i < k; i++) {
			e[i + 1 + k * n] += e[i + (k - 1) * n] / source->half_range;
			e[i + k * n] -= e[i + (k - 1) * n] * source->middle / source->half_range;
		}
	}
}

/* out := expansion * in, for vectors of n. */
static void to_powers_of_x(const struct linear_workspace *w, size_t n, const long double *in, long double *out)
{
	memset(out, 0, n * sizeof *out);
	for (size_t k = 0; k < n; k++)
		add_multiple_extended(out, in[k], w->expansion + k * n, n);
}

static void take_residuals(struct linear_workspace *w, const struct extended_source *source)
{
	size_t n = source->columns;

	for (size_t i = 0; i < source->rows; i++) {
		long double fit = 0;

		if (source->matrix) {
			for (size_t j = 0; j < n; j++)
				fit += w->solution[j] * source->matrix[i + j * source->rows];
		} else {
			long double t = element(source, i, 1);

			for (size_t j = n; j-- > 0;)
				fit = fit * t + w->solution[j];
		}
		w->precise_rows[i] = source->response[i] - fit;
	}
}

static void take_sums(const struct linear_workspace *w, const struct extended_source *source, struct linear_sums *sums)
{
	long double mean = 0;

	*sums = (struct linear_sums){0};
	for (size_t i = 0; i < source->rows; i++) {
		long double y = source->response[i];

		mean += y / source->rows;
		sums->chi2 += w->precise_rows[i] * w->precise_rows[i];
		sums->about_zero += y * y;
	}
	for (size_t i = 0; i < source->rows; i++) {
		long double off = source->response[i] - mean;

		sums->about_mean += off * off;
	}
}

/*
 * Transforms the covariance root to powers of x before squaring it: variances are then sums of squares, without
 * cancellation.
 */
static void take_covariance(struct linear_workspace *w, const struct extended_source *source)
{
	size_t n = source->columns;

	covariance_root_extended(&w->qr_extended, w->precise_root);
	for (size_t c = 0; c < w->qr_extended.rank && !source->matrix; c++) {
		memcpy(w->precise_columns, w->precise_root + c * n, n * sizeof *w->precise_columns);
		to_powers_of_x(w, n, w->precise_columns, w->precise_root + c * n);
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++) {
			long double sum = 0;

			for (size_t c = 0; c < w->qr_extended.rank; c++)
				sum += w->precise_root[i + c * n] * w->precise_root[j + c * n];
			w->covariance_absolute[i * n + j] = (double)sum;
		}
	}
	for (size_t k = w->qr_extended.rank; k < n; k++) {
		size_t j = w->qr_extended.pivot[k];

		/* if a power of t is not determined, no lower power of x is determined either */
		for (size_t i = source->matrix ? j : 0; i <= j; i++)
			w->covariance_absolute[i * (n + 1)] = INFINITY;
	}
}

static enum linear_status solve(struct linear_workspace *w, const struct extended_source *source,
				struct linear_result *result)
{
	struct qr_extended *qr = &w->qr_extended;
	struct linear_sums sums;
	size_t n = source->columns;

	*result = (struct linear_result){.status = LINEAR_NOT_FINITE, .columns = n};
	if (source->rows > w->rows_maximum || n > w->columns_maximum || n == 0)
		return result->status = LINEAR_TOO_FEW_ROWS;
	if (!load(w, source))
		return result->status;
	result->rows_used = source->rows;
	if (result->rows_used < n)
		return result->status = LINEAR_TOO_FEW_ROWS;
	if (!factorise_extended(qr, (long double)source->rows * LDBL_EPSILON))
		return result->status;
	result->rank = qr->rank;
	result->status = qr->rank == n ? LINEAR_OK : LINEAR_RANK_DEFICIENT;
	result->condition =
		qr->rank ? (double)fabsl(qr->a[0] / qr->a[(qr->rank - 1) * (qr->rows + 1)]) : (double)INFINITY;
	least_squares_extended(qr, w->precise_rows2, w->solution);
	take_residuals(w, source);
	take_sums(w, source, &sums);
	if (!source->matrix) {
		expand_powers(w, source);
		memcpy(w->precise_columns, w->solution, n * sizeof *w->solution);
		to_powers_of_x(w, n, w->precise_columns, w->solution);
	}
	take_covariance(w, source);
	linear_finish(w, source->rows, n, source->has_intercept, &sums, result);
	return result->status;
}

enum linear_status linear_fit_extended(struct linear_workspace *workspace,
				       const struct linear_extended_problem *problem, struct linear_result *result)
{
	struct extended_source source = {
		.rows = problem->rows,
		.columns = problem->columns,
		.response = problem->response,
		.matrix = problem->matrix,
		.has_intercept = problem->has_intercept,
	};

	return solve(workspace, &source, result);
}

/* Sets the middle and half-range of x. Returns false if an x is not finite. */
static bool take_range(struct extended_source *source)
{
	long double low = INFINITY, high = -INFINITY;

	for (size_t i = 0; i < source->rows; i++) {
		if (!isfinite(source->x[i]))
			return false;
		low = fminl(low, source->x[i]);
		high = fmaxl(high, source->x[i]);
	}
	source->middle = high >= low ? (low + high) / 2 : 0;
	source->half_range = high > low ? (high - low) / 2 : 1;
	return true;
}

enum linear_status linear_fit_polynomial(struct linear_workspace *workspace, const long double *x,
					 const long double *response, size_t rows, size_t degree,
					 struct linear_result *result)
{
	struct extended_source source = {
		.rows = rows, .columns = degree + 1, .x = x, .response = response, .has_intercept = true};

	if (rows > workspace->rows_maximum || !take_range(&source)) {
		*result = (struct linear_result){.status = LINEAR_NOT_FINITE, .columns = source.columns};
		return result->status;
	}
	return solve(workspace, &source, result);
}
