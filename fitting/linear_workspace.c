/* SPDX-License-Identifier: BSD-3-Clause */
#include "linear_priv.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/* Hands out pieces of a block; with a NULL block it only counts bytes. */
struct carver {
	char *block;
	size_t used;
	bool overflow;
};

static void *carve(struct carver *carver, size_t count, size_t size)
{
	size_t bytes, start = carver->used;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2 - start - 64) {
		carver->overflow = true;
		return NULL;
	}
	carver->used = (start + bytes + 63) & ~(size_t)63;
	return carver->block ? carver->block + start : NULL;
}

static void lay_out(struct linear_workspace *w, struct carver *carver, size_t rows, size_t columns)
{
	size_t cells = rows * columns, square = columns * columns;

	w->qr.a = carve(carver, cells, sizeof(double));
	w->qr.head = carve(carver, columns, sizeof(double));
	w->qr.factor = carve(carver, columns, sizeof(double));
	w->qr.scale = carve(carver, columns, sizeof(double));
	w->qr.norms = carve(carver, columns, sizeof(double));
	w->qr.scratch = carve(carver, columns, sizeof(double));
	w->qr.pivot = carve(carver, columns, sizeof(size_t));
	w->root_weights = carve(carver, rows, sizeof(double));
	w->target = carve(carver, rows, sizeof(double));
	w->orthogonal = carve(carver, rows, sizeof(double));
	w->correction = carve(carver, columns, sizeof(double));
	w->root = carve(carver, square, sizeof(double));
	w->coefficients = carve(carver, columns, sizeof(double));
	w->covariance_absolute = carve(carver, square, sizeof(double));
	w->covariance_scaled = carve(carver, square, sizeof(double));
	w->standard_errors = carve(carver, columns, sizeof(double));
	w->residuals = carve(carver, rows, sizeof(double));
	w->precise_rows = carve(carver, rows, sizeof(long double));
	w->precise_rows2 = carve(carver, rows, sizeof(long double));
	w->solution = carve(carver, columns, sizeof(long double));
	w->precise_columns = carve(carver, columns, sizeof(long double));
	w->precise_root = carve(carver, square, sizeof(long double));
	w->expansion = carve(carver, square, sizeof(long double));
	/* last, since double-only users never touch these pages */
	w->qr_extended.head = carve(carver, columns, sizeof(long double));
	w->qr_extended.factor = carve(carver, columns, sizeof(long double));
	w->qr_extended.scale = carve(carver, columns, sizeof(long double));
	w->qr_extended.norms = carve(carver, columns, sizeof(long double));
	w->qr_extended.scratch = carve(carver, columns, sizeof(long double));
	w->qr_extended.pivot = carve(carver, columns, sizeof(size_t));
	w->qr_extended.a = carve(carver, cells, sizeof(long double));
}

struct linear_workspace *linear_workspace_create(size_t rows_maximum, size_t columns_maximum)
{
	struct linear_workspace layout = {0}, *workspace;
	struct carver carver = {0};
	size_t cells;

	if (rows_maximum == 0 || columns_maximum == 0) {
		errno = EINVAL;
		return NULL;
	}
	if (__builtin_mul_overflow(rows_maximum, columns_maximum, &cells) || cells > SIZE_MAX / 64 ||
	    columns_maximum > UINT32_MAX / 2) {
		errno = ENOMEM;
		return NULL;
	}
	carve(&carver, 1, sizeof *workspace);
	lay_out(&layout, &carver, rows_maximum, columns_maximum);
	/* calloc'ed pages that are never touched cost nothing */
	carver.block = carver.overflow ? NULL : calloc(1, carver.used);
	if (!carver.block) {
		errno = ENOMEM;
		return NULL;
	}
	carver.used = 0;
	workspace = carve(&carver, 1, sizeof *workspace);
	lay_out(workspace, &carver, rows_maximum, columns_maximum);
	workspace->rows_maximum = rows_maximum;
	workspace->columns_maximum = columns_maximum;
	return workspace;
}

void linear_workspace_destroy(struct linear_workspace *workspace)
{
	free(workspace);
}

void linear_finish(struct linear_workspace *w, size_t rows, size_t columns, bool has_intercept,
		   const struct linear_sums *sums, struct linear_result *result)
{
	long double total = has_intercept ? sums->about_mean : sums->about_zero;
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
	for (size_t i = 0; i < rows; i++)
		w->residuals[i] = (double)w->precise_rows[i];
	result->coefficients = w->coefficients;
	result->covariance_absolute = w->covariance_absolute;
	result->covariance_scaled = w->covariance_scaled;
	result->standard_errors = w->standard_errors;
	result->residuals = w->residuals;
}

const char *linear_status_text(enum linear_status status)
{
	switch (status) {
	case LINEAR_OK:
		return "solved";
	case LINEAR_RANK_DEFICIENT:
		return "the columns are linearly dependent: some coefficients cannot be told from the data";
	case LINEAR_TOO_FEW_ROWS:
		return "there are fewer usable rows than coefficients";
	case LINEAR_NOT_FINITE:
		return "a number in the input or on the way is not finite, or a weight is negative";
	}
	return "unknown";
}
