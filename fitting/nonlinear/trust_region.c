/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trust-region descent in More's scaling. Bounds by projection: a parameter is held at its bound (left out of the step)
 * while the gradient pushes it against the bound.
 */
#include "nonlinear_priv.h"

#include <float.h>

static const double accept_ratio = 1e-4;
/* Largest accepted ratio of the acceleration to the plain step (the velocity); Transtrum & Sethna (2012). */
static const double acceleration_limit = 0.75;
static const double acceleration_reach = 0.1;
/* If the predicted relative decrease is below this, the finite difference for the acceleration is rounding noise. */
static const double acceleration_worthwhile = 1e-6;

void trust_region_lay_out(struct trust_region *t, struct arena *arena, size_t rows, size_t free)
{
	t->residuals = arena_take(arena, rows, sizeof(double));
	t->trial_residuals = arena_take(arena, rows, sizeof(double));
	t->rotated = arena_take(arena, rows, sizeof(double));
	t->jacobian = arena_take(arena, rows * free, sizeof(double));
	t->gradient = arena_take(arena, free, sizeof(double));
	t->trial = arena_take(arena, free, sizeof(double));
	t->step = arena_take(arena, free, sizeof(double));
	t->second = arena_take(arena, free, sizeof(double));
	t->work = arena_take(arena, free, sizeof(double));
	t->best = arena_take(arena, free, sizeof(double));
	t->work2 = arena_take(arena, 2 * free, sizeof(double));
	lay_out_double(&t->qr, arena, rows, free);
	lay_out_double(&t->damped, arena, 2 * free, free);
}

static void load_columns(struct trust_region *t)
{
	size_t rows = t->objective->rows;

	t->qr.rows = rows;
	t->qr.columns = t->active;
	for (size_t k = 0; k < t->active; k++)
		memcpy(t->qr.a + k * rows, t->jacobian + t->column[k] * rows, rows * sizeof *t->qr.a);
}

static double scaled_size(const struct trust_region *t, const double *values)
{
	double sum = 0;

	for (size_t j = 0; j < t->objective->free; j++)
		sum += t->scaling[j] * values[j] * t->scaling[j] * values[j];
	return sqrt(sum);
}

static void update_scaling(struct trust_region *t, bool first)
{
	for (size_t j = 0; j < t->objective->free; j++) {
		double norm = norm_double(t->jacobian + j * t->objective->rows, t->objective->rows);

		if (first)
			t->scaling[j] = norm > 0 ? norm : 1;
		else
			t->scaling[j] = fmax(t->scaling[j], norm);
	}
}

/*
 * Computes the gradient, lists the active columns (here: those not held at a bound), and factorises them (QR). Returns
 * the largest cosine between the residuals and an active column; it is 0 at a minimum.
 */
static double prepare(struct trust_region *t, const double *values)
{
	const struct objective *o = t->objective;
	double residual_norm = norm_double(t->residuals, o->rows), cosine = 0;

	t->active = 0;
	for (size_t j = 0; j < o->free; j++) {
		const double *column = t->jacobian + j * o->rows;
		double g = dot_double(column, t->residuals, o->rows), norm = norm_double(column, o->rows);

		t->gradient[j] = g;
		if ((values[j] <= o->lower[j] && g > 0) || (values[j] >= o->upper[j] && g < 0))
			continue;
		t->column[t->active++] = j;
		if (norm > 0 && residual_norm > 0)
			cosine = fmax(cosine, fabs(g) / norm / residual_norm);
	}
	load_columns(t);
	if (t->active > 0)
		factorise_double(&t->qr, DBL_EPSILON);
	else
		t->qr.rank = 0;
	memcpy(t->rotated, t->residuals, o->rows * sizeof *t->rotated);
	apply_transposed_double(&t->qr, t->rotated);
	return cosine;
}

/*
 * Shortens t->step so that values + step is within the bounds, and returns the decrease of the cost that the linear
 * model predicts for this step.
 */
static double predict(struct trust_region *t, const double *values)
{
	const struct objective *o = t->objective;
	double linear = 0, square = 0;

	memset(t->trial_residuals, 0, o->rows * sizeof *t->trial_residuals);
	for (size_t j = 0; j < o->free; j++) {
		t->step[j] = objective_clip(o, j, values[j] + t->step[j]) - values[j];
		linear += t->gradient[j] * t->step[j];
		add_multiple_double(t->trial_residuals, t->step[j], t->jacobian + j * o->rows, o->rows);
	}
	square = dot_double(t->trial_residuals, t->trial_residuals, o->rows);
	return -linear - square / 2;
}

/* Returns the cost at values + share * step + extra (extra may be NULL); stores this point in t->trial. */
static double try_step(struct trust_region *t, const double *values, double share, const double *extra)
{
	for (size_t j = 0; j < t->objective->free; j++)
		t->trial[j] = objective_clip(t->objective, j, values[j] + share * t->step[j] + (extra ? extra[j] : 0));
	return objective_evaluate(t->objective, t->trial, t->trial_residuals, NULL);
}

/*
 * Sets t->second and returns the cost of the accelerated step, or INFINITY if the model is not finite nearby or
 * the acceleration is too large to be trusted. The second derivative along the step costs one more evaluation.
 */
static double try_accelerated(struct trust_region *t, const double *values)
{
	size_t rows = t->objective->rows;
	double h = acceleration_reach;

	if (!isfinite(try_step(t, values, h, NULL)))
		return INFINITY;
	for (size_t i = 0; i < rows; i++)
		t->trial_residuals[i] = (t->trial_residuals[i] - t->residuals[i]) / h;
	for (size_t j = 0; j < t->objective->free; j++)
		add_multiple_double(t->trial_residuals, -t->step[j], t->jacobian + j * rows, rows);
	for (size_t i = 0; i < rows; i++)
		t->trial_residuals[i] *= 2 / h;
	trust_step_accelerate(t, t->trial_residuals);
	if (!(2 * scaled_size(t, t->second) <= acceleration_limit * scaled_size(t, t->step)))
		return INFINITY;
	return try_step(t, values, 1, t->second);
}

/*
 * Tries the accelerated step and, unless that lowers the cost, also the plain step. Returns the lower cost; stores its
 * point in t->best.
 */
static double try_both(struct trust_region *t, const double *values, double predicted)
{
	size_t bytes = t->objective->free * sizeof *t->best;
	double cost = INFINITY, plain;

	if (t->acceleration && !t->dogleg && predicted > acceleration_worthwhile * t->cost) {
		cost = try_accelerated(t, values);
		memcpy(t->best, t->trial, bytes);
		if (cost < t->cost)
			return cost;
	}
	plain = try_step(t, values, 1, NULL);
	if (plain < cost || !isfinite(cost)) {
		memcpy(t->best, t->trial, bytes);
		cost = plain;
	}
	return cost;
}

/*
 * More's rule. After a bad step, shrinks the radius: a parabola through the cost, the slope and the trial cost has its
 * minimum at some share of the step, and this share, limited to 0.1..0.5, is the factor. After a good step, lets the
 * radius grow.
 */
static void update_radius(struct trust_region *t, double step_size, double actual, double ratio)
{
	if (ratio < 0.25) {
		double slope = 0, shrink = 0.5;

		for (size_t j = 0; j < t->objective->free; j++)
			slope += t->gradient[j] * t->step[j];
		if (actual < 0 && slope < 0 && isfinite(actual))
			shrink = fmin(fmax(slope / (2 * (slope + actual)), 0.1), 0.5);
		else if (!isfinite(actual))
			shrink = 0.25;
		t->radius = shrink * fmin(t->radius, step_size * 10);
		t->damping /= shrink;
	} else if (t->damping == 0 || ratio > 0.75) {
		t->radius = fmax(t->radius, 2 * step_size);
		t->damping /= 2;
	}
}

/*
 * Tries steps. Returns true when one is accepted. Returns false with *reason set when there is a reason to stop, even
 * if the last step was accepted.
 */
static bool advance(struct trust_region *t, double *values, enum nonlinear_reason *reason)
{
	for (;;) {
		double predicted, actual, ratio, step_size, cost;

		if (t->dogleg)
			trust_step_dogleg(t);
		else
			trust_step_levenberg(t);
		predicted = predict(t, values);
		step_size = scaled_size(t, t->step);
		if (t->iterations == 0)
			t->radius = fmin(t->radius, step_size > 0 ? step_size : t->radius);
		cost = try_both(t, values, predicted);
		actual = t->cost - cost;
		ratio = predicted > 0 ? actual / predicted : -1;
		update_radius(t, step_size, actual, ratio);
		if (ratio >= accept_ratio && actual > 0)
			memcpy(values, t->best, t->objective->free * sizeof *values);
		if (fabs(actual) <= t->tolerance * t->cost && fabs(predicted) <= t->tolerance * t->cost && ratio <= 2) {
			*reason = NONLINEAR_DECREASE_SMALL;
			return false;
		}
		if (t->radius <= t->tolerance * scaled_size(t, values)) {
			*reason = predicted <= 1e-6 * t->cost ? NONLINEAR_STEP_SMALL : NONLINEAR_STUCK;
			return false;
		}
		if (ratio >= accept_ratio && actual > 0)
			return true;
		if (t->radius < DBL_MIN || ++t->iterations >= t->iterations_maximum) {
			*reason = t->radius < DBL_MIN ? NONLINEAR_STUCK : NONLINEAR_ITERATIONS;
			return false;
		}
	}
}

enum nonlinear_reason trust_region_minimise(struct trust_region *t, double *values)
{
	enum nonlinear_reason reason = NONLINEAR_ITERATIONS;
	struct objective *o = t->objective;

	t->iterations = 0;
	t->damping = 0;
	t->cost = objective_evaluate(o, values, t->residuals, t->jacobian);
	if (!isfinite(t->cost))
		return NONLINEAR_START_BAD;
	update_scaling(t, true);
	t->radius = scaled_size(t, values);
	if (!(t->radius > 0))
		t->radius = 1;
	while (t->iterations < t->iterations_maximum) {
		double cosine;

		if (t->cost == 0)
			return NONLINEAR_EXACT;
		cosine = prepare(t, values);
		if (cosine <= t->tolerance || t->active == 0)
			return NONLINEAR_GRADIENT_SMALL;
		if (!advance(t, values, &reason))
			return reason;
		t->iterations++;
		t->cost = objective_evaluate(o, values, t->residuals, t->jacobian);
		if (!isfinite(t->cost)) /* a finite cost with an infinite derivative */
			return NONLINEAR_STUCK;
		update_scaling(t, false);
	}
	return reason;
}

bool trust_region_solve_linear(struct trust_region *t, double *values)
{
	const struct objective *o = t->objective;

	t->active = 0;
	for (size_t j = 0; j < o->free; j++)
		if (o->problem->linear[o->index[j]])
			t->column[t->active++] = j;
	if (t->active == 0 || !isfinite(objective_evaluate(t->objective, values, t->residuals, t->jacobian)))
		return false;
	load_columns(t);
	if (!factorise_double(&t->qr, 1e-12) || t->qr.rank == 0)
		return false;
	least_squares_double(&t->qr, t->residuals, t->work);
	for (size_t k = 0; k < t->active; k++) {
		size_t j = t->column[k];

		values[j] = objective_clip(o, j, values[j] - t->work[k]);
	}
	return true;
}
