/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gauss-Newton in long double, from a minimum that the trust region found in double. When rounding dominates the
 * residuals, the cost no longer shows which of two points is better; so the length of the step decides when to stop.
 */
#include "nonlinear_priv.h"

#include <float.h>

enum { HALVINGS_MAXIMUM = 8 };

static const long double step_negligible = 1e-18L;

void polish_lay_out(struct polish *p, struct arena *arena, size_t rows, size_t free)
{
	p->residuals = arena_take(arena, rows, sizeof(long double));
	p->rotated = arena_take(arena, rows, sizeof(long double));
	p->jacobian = arena_take(arena, rows * free, sizeof(long double));
	p->trial = arena_take(arena, free, sizeof(long double));
	p->step = arena_take(arena, free, sizeof(long double));
	p->work = arena_take(arena, free, sizeof(long double));
	p->root = arena_take(arena, free * free, sizeof(long double));
	lay_out_extended(&p->qr, arena, rows, free);
}

/*
 * Computes at `values` the cost, the QR of the columns not held at a bound, the relative offset, and the Gauss-Newton
 * step (0 for a parameter held at a bound). Returns false if a number is not finite.
 */
static bool linearise(struct polish *p, const long double *values)
{
	struct objective *o = p->objective;
	long double tangential = 0, normal = 0;

	p->cost = objective_evaluate_extended(o, values, p->residuals, p->jacobian);
	if (!isfinite(p->cost))
		return false;
	p->active = 0;
	for (size_t j = 0; j < o->free; j++) {
		const long double *column = p->jacobian + j * o->rows;
		long double g = dot_extended(column, p->residuals, o->rows);

		if ((values[j] <= o->lower[j] && g > 0) || (values[j] >= o->upper[j] && g < 0))
			continue;
		memcpy(p->qr.a + p->active * o->rows, column, o->rows * sizeof *column);
		p->column[p->active++] = j;
	}
	p->qr.columns = p->active;
	p->qr.rank = 0;
	if (p->active > 0 && !factorise_extended(&p->qr, (long double)o->rows * LDBL_EPSILON))
		return false;
	p->condition = p->active > 0 ? INFINITY : 1;
	if (p->active > 0 && p->qr.rank == p->active)
		p->condition = fabsl(p->qr.a[0] / p->qr.a[(p->active - 1) * (o->rows + 1)]);
	memcpy(p->rotated, p->residuals, o->rows * sizeof *p->rotated);
	least_squares_extended(&p->qr, p->rotated, p->work);
	memset(p->step, 0, o->free * sizeof *p->step);
	p->step_size = 0;
	for (size_t k = 0; k < p->active; k++) {
		size_t j = p->column[k];
		long double size = fmaxl(fabsl(values[j]), LDBL_MIN);

		p->step[j] = -p->work[k];
		p->step_size = fmaxl(p->step_size, fabsl(p->work[k]) / size);
	}
	for (size_t i = 0; i < o->rows; i++)
		*(i < p->qr.rank ? &tangential : &normal) += p->rotated[i] * p->rotated[i];
	if (p->qr.rank > 0 && o->rows > p->qr.rank && normal > 0)
		p->relative_offset = sqrtl(tangential / (long double)p->qr.rank) /
				     sqrtl(normal / (long double)(o->rows - p->qr.rank));
	else
		p->relative_offset = tangential > 0 ? INFINITY : 0;
	return true;
}

/*
 * Returns the relative change of the cost that rounding alone can cause. Residuals carry the rounding errors of the
 * model's values, whose size is estimated from the parameters' contributions, |J_j values_j|.
 */
static long double cost_noise(const struct polish *p, const long double *values)
{
	const struct objective *o = p->objective;
	long double epsilon = o->problem->evaluate_extended ? LDBL_EPSILON : (long double)DBL_EPSILON;
	long double size = 0, residual = sqrtl(2 * p->cost);

	for (size_t j = 0; j < o->free; j++)
		size += norm_extended(p->jacobian + j * o->rows, o->rows) * fabsl(values[j]);
	return residual > 0 ? 8 * epsilon * (1 + size / residual) : 8 * epsilon;
}

/*
 * Moves `values` along the step, which is halved until the cost does not rise (beyond rounding). Returns false if no
 * such point is found.
 */
static bool move(struct polish *p, long double *values)
{
	struct objective *o = p->objective;
	long double share = 1, limit = p->cost * (1 + cost_noise(p, values));

	for (int halving = 0; halving < HALVINGS_MAXIMUM; halving++, share /= 2) {
		bool changed = false;

		for (size_t j = 0; j < o->free; j++) {
			long double value = values[j] + share * p->step[j];

			p->trial[j] = fminl(fmaxl(value, o->lower[j]), o->upper[j]);
			changed |= p->trial[j] != values[j];
		}
		if (!changed)
			return false;
		if (objective_evaluate_extended(o, p->trial, p->residuals, NULL) <= limit) {
			memcpy(values, p->trial, o->free * sizeof *values);
			return true;
		}
	}
	return false;
}

bool polish_run(struct polish *p, long double *values, int steps_maximum)
{
	long double before = INFINITY;
	int stalls = 0;

	if (!linearise(p, values))
		return false;
	for (int step = 0; step < steps_maximum && p->step_size > step_negligible; step++) {
		/* where rounding dominates, steps vary at random and stop shrinking */
		stalls = p->step_size > 0.9L * before ? stalls + 1 : 0;
		if (stalls >= 3 && p->step_size < 1e-9L)
			break;
		before = fminl(before, p->step_size);
		if (!move(p, values))
			break;
		if (!linearise(p, values))
			return false;
	}
	return true;
}

bool polish_covariance_root(struct polish *p, const long double *values)
{
	struct objective *o = p->objective;
	enum nonlinear_loss loss = o->loss;

	if (p->active == 0)
		return true;
	if (loss != NONLINEAR_LINEAR) {
		o->loss = NONLINEAR_LINEAR;
		p->cost = objective_evaluate_extended(o, values, p->residuals, p->jacobian);
		o->loss = loss;
		for (size_t k = 0; k < p->active; k++)
			memcpy(p->qr.a + k * o->rows, p->jacobian + p->column[k] * o->rows, o->rows * sizeof *p->qr.a);
		if (!isfinite(p->cost) || !factorise_extended(&p->qr, (long double)o->rows * LDBL_EPSILON))
			return false;
	}
	covariance_root_extended(&p->qr, p->root);
	return true;
}
