/* SPDX-License-Identifier: BSD-3-Clause */
#include "arena_priv.h"
#include "linear_priv.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

static void lay_out(struct linear_workspace *w, struct arena *arena, size_t rows, size_t columns)
{
	size_t square = columns * columns;

	lay_out_double(&w->qr, arena, rows, columns);
	w->root_weights = arena_take(arena, rows, sizeof(double));
	w->target = arena_take(arena, rows, sizeof(double));
	w->orthogonal = arena_take(arena, rows, sizeof(double));
	w->correction = arena_take(arena, columns, sizeof(double));
	w->root = arena_take(arena, square, sizeof(double));
	w->coefficients = arena_take(arena, columns, sizeof(double));
	w->covariance_absolute = arena_take(arena, square, sizeof(double));
	w->covariance_scaled = arena_take(arena, square, sizeof(double));
	w->standard_errors = arena_take(arena, columns, sizeof(double));
	w->residuals = arena_take(arena, rows, sizeof(double));
	w->precise_rows = arena_take(arena, rows, sizeof(long double));
	w->precise_rows2 = arena_take(arena, rows, sizeof(long double));
	w->solution = arena_take(arena, columns, sizeof(long double));
	w->precise_columns = arena_take(arena, columns, sizeof(long double));
	w->precise_root = arena_take(arena, square, sizeof(long double));
	w->expansion = arena_take(arena, square, sizeof(long double));
	/* last, because fits in double never touch these pages */
	lay_out_extended(&w->qr_extended, arena, rows, columns);
}

struct linear_workspace *linear_workspace_create(size_t rows_maximum, size_t columns_maximum)
{
	struct linear_workspace layout = {0}, *workspace;
	struct arena arena = {0};
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
	arena_take(&arena, 1, sizeof *workspace);
	lay_out(&layout, &arena, rows_maximum, columns_maximum);
	/* calloc'ed pages cost nothing until they are touched */
	arena.block = arena.overflow ? NULL : calloc(1, arena.used);
	if (!arena.block) {
		errno = ENOMEM;
		return NULL;
	}
	arena.used = 0;
	workspace = arena_take(&arena, 1, sizeof *workspace);
	lay_out(workspace, &arena, rows_maximum, columns_maximum);
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
		return "the columns are linearly dependent: the data do not determine all coefficients";
	case LINEAR_TOO_FEW_ROWS:
		return "there are fewer usable rows than coefficients";
	case LINEAR_NOT_FINITE:
		return "a number in the input or an intermediate result is not finite, or a weight is negative";
	}
	return "unknown";
}
