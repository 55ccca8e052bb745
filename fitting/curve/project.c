/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Least distance programming (Lawson & Hanson 1974, chapter 23): to find the shortest move u with G u >= h, solves the
 * nonnegative least squares problem min |E v - f|, E = [G'; h'], f = (0, ..., 0, 1).
 */
#include <math.h>
#include <string.h>

#include "fit_priv.h"

enum { ROWS = COLUMNS_MAXIMUM + 1 };

static const double dependence_tolerance = 1e-11;

struct nnls {
	size_t rows, columns;
	double e[CONSTRAINT_ROWS][ROWS]; /* e[j] is column j of E */
	double v[CONSTRAINT_ROWS];
	bool passive[CONSTRAINT_ROWS];
	size_t members[CONSTRAINT_ROWS], count; /* indices of the passive columns (v > 0), and their number */
};

/* Solves least squares over the passive columns. Returns false if they are linearly dependent. */
static bool solve_passive(const struct nnls *nnls, double *solution)
{
	double matrix[ROWS * ROWS], target[ROWS] = {0}, head[ROWS], factor[ROWS], scale[ROWS], norms[ROWS],
				    scratch[ROWS];
	size_t pivot[ROWS];
	struct qr_double qr = {.rows = nnls->rows,
			       .columns = nnls->count,
			       .a = matrix,
			       .head = head,
			       .factor = factor,
			       .scale = scale,
			       .norms = norms,
			       .scratch = scratch,
			       .pivot = pivot};

	if (nnls->count > nnls->rows)
		return false;
	for (size_t k = 0; k < nnls->count; k++)
		memcpy(matrix + k * nnls->rows, nnls->e[nnls->members[k]], nnls->rows * sizeof *matrix);
	target[nnls->rows - 1] = 1;
	if (!factorise_double(&qr, dependence_tolerance) || qr.rank < nnls->count)
		return false;
	least_squares_double(&qr, target, solution);
	return true;
}

static void residual(const struct nnls *nnls, double *out)
{
	memset(out, 0, ROWS * sizeof *out);
	out[nnls->rows - 1] = -1;
	for (size_t k = 0; k < nnls->count; k++)
		for (size_t i = 0; i < nnls->rows; i++)
			out[i] += nnls->e[nnls->members[k]][i] * nnls->v[nnls->members[k]];
}

static void drop_passive(struct nnls *nnls, size_t k)
{
	nnls->passive[nnls->members[k]] = false;
	nnls->v[nnls->members[k]] = 0;
	nnls->count--;
	memmove(&nnls->members[k], &nnls->members[k + 1], (nnls->count - k) * sizeof *nnls->members);
}

/* Moves v to the least-squares solution over the passive columns. Columns whose v reaches 0 leave the passive set. */
static bool update_passive(struct nnls *nnls)
{
	double solution[ROWS];

	for (;;) {
		double step = 1;
		size_t blocking = CONSTRAINT_ROWS;

		if (!solve_passive(nnls, solution))
			return false;
		for (size_t k = 0; k < nnls->count; k++) {
			double v = nnls->v[nnls->members[k]];

			if (solution[k] <= 0 && v / (v - solution[k]) < step) {
				step = v / (v - solution[k]);
				blocking = k;
			}
		}
		for (size_t k = 0; k < nnls->count; k++)
			nnls->v[nnls->members[k]] += step * (solution[k] - nnls->v[nnls->members[k]]);
		if (blocking == CONSTRAINT_ROWS)
			return true;
		drop_passive(nnls, blocking);
	}
}

static void solve_nnls(struct nnls *nnls)
{
	double error[ROWS];

	for (size_t round = 0; round < 3 * (size_t)CONSTRAINT_ROWS; round++) {
		double steepest = 1e-12;
		size_t best = CONSTRAINT_ROWS;

		residual(nnls, error);
		for (size_t j = 0; j < nnls->columns; j++) {
			double slope = 0;

			if (nnls->passive[j])
				continue;
			for (size_t i = 0; i < nnls->rows; i++)
				slope -= nnls->e[j][i] * error[i];
			if (slope > steepest) {
				steepest = slope;
				best = j;
			}
		}
		if (best == CONSTRAINT_ROWS)
			return;
		nnls->passive[best] = true;
		nnls->members[nnls->count++] = best;
		if (!update_passive(nnls)) {
			/* The new column depends linearly on the passive ones. */
			drop_passive(nnls, nnls->count - 1);
			return;
		}
		if (!nnls->passive[best])
			return;
	}
}

bool project_onto_constraints(const double *rows, const double *bound, size_t row_count, size_t columns, double *c)
{
	struct nnls nnls = {.rows = columns + 1, .columns = row_count};
	double worst = 0, error[ROWS];

	for (size_t i = 0; i < row_count; i++) {
		double excess = -bound[i];

		for (size_t k = 0; k < columns; k++) {
			excess += rows[i * columns + k] * c[k];
			nnls.e[i][k] = -rows[i * columns + k];
		}
		nnls.e[i][columns] = excess;
		worst = fmax(worst, fabs(excess));
	}
	if (!(worst > 0))
		return true;
	/* Divide by the largest violation, so that the last row of E has the magnitude of the others. */
	for (size_t i = 0; i < row_count; i++)
		nnls.e[i][columns] /= worst;
	solve_nnls(&nnls);
	residual(&nnls, error);
	if (!(fabs(error[columns]) > 1e-14))
		return false;
	for (size_t k = 0; k < columns; k++)
		c[k] -= worst * error[k] / error[columns];
	return true;
}
