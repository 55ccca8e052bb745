/* SPDX-License-Identifier: BSD-3-Clause */
#include "qr_priv.h"
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
	w->solution = arena_take(arena, columns, sizeof(long double));
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
