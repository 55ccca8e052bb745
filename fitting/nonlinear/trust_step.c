/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps within a trust region |D step| <= radius, from the pivoted QR of the Jacobian's active columns and rotated =
 * Q'r. In this file vectors are in the QR's own coordinates u (scaled columns, in pivoted order): step = S^-1 P u, and
 * D becomes D/S.
 */
#include "nonlinear_priv.h"

#include <float.h>

/* More (1978): it is enough to meet the radius to within a tenth. */
static const double radius_slack = 0.1;
enum { DAMPING_ROUNDS_MAXIMUM = 10 };

/* Returns D/S of column k of the pivoted order. */
static double scaling_at(const struct trust_region *t, size_t k)
{
	size_t j = t->qr.pivot[k];

	return t->scaling[t->column[j]] / t->qr.scale[j];
}

static double scaled_norm(const struct trust_region *t, const double *u)
{
	double sum = 0;

	for (size_t k = 0; k < t->active; k++)
		sum += scaling_at(t, k) * u[k] * scaling_at(t, k) * u[k];
	return sqrt(sum);
}

static void hand_out(const struct trust_region *t, const double *u, double *step)
{
	memset(step, 0, t->objective->free * sizeof *step);
	for (size_t k = 0; k < t->active; k++)
		step[t->column[t->qr.pivot[k]]] = u[k] / t->qr.scale[t->qr.pivot[k]];
}

/* u := -R^-1 rotated, with 0 for the columns beyond the rank. */
static void gauss_newton(const struct trust_region *t, const double *rotated, double *u)
{
	memset(u, 0, t->active * sizeof *u);
	for (size_t k = 0; k < t->qr.rank; k++)
		u[k] = -rotated[k];
	solve_upper_double(&t->qr, u);
}

/* out := R' Q'r, the gradient in u. */
static void gradient_of(const struct trust_region *t, double *out)
{
	for (size_t k = 0; k < t->active; k++) {
		size_t length = k + 1 < t->qr.rank ? k + 1 : t->qr.rank;

		out[k] = dot_double(t->qr.a + k * t->qr.rows, t->rotated, length);
	}
}

/* Factors [R; sqrt(damping) D]. */
static void factor_damped(struct trust_region *t)
{
	size_t n = t->active, rows = 2 * n;

	t->damped.rows = rows;
	t->damped.columns = n;
	memset(t->damped.a, 0, rows * n * sizeof *t->damped.a);
	for (size_t k = 0; k < n; k++) {
		size_t length = k + 1 < t->qr.rank ? k + 1 : t->qr.rank;

		memcpy(t->damped.a + k * rows, t->qr.a + k * t->qr.rows, length * sizeof *t->damped.a);
		t->damped.a[k * rows + n + k] = sqrt(t->damping) * scaling_at(t, k);
	}
	factorise_double(&t->damped, 0);
}

/*
 * u := argmin |[R; sqrt(damping) D] u + [top; 0]|. Uses only the first t->qr.rank elements of `top`. Overwrites work2.
 */
static void solve_damped(struct trust_region *t, const double *top, double *u)
{
	memset(t->work2, 0, 2 * t->active * sizeof *t->work2);
	for (size_t k = 0; k < t->qr.rank; k++)
		t->work2[k] = -top[k];
	least_squares_double(&t->damped, t->work2, u);
}

/*
 * Returns -d |D u| / d damping, computed as |D u| |R^-T D' D u / |D u||^2. `qr` has R: that of t->damped for the
 * current damping, or that of t->qr for damping 0. Overwrites work2.
 */
static double norm_slope(struct trust_region *t, const struct qr_double *qr, const double *u, double norm)
{
	double sum = 0;

	for (size_t k = 0; k < t->active; k++) {
		size_t j = qr == &t->qr ? k : qr->pivot[k];
		double scale = qr == &t->qr ? 1 : qr->scale[j];

		t->work2[k] = scaling_at(t, j) * scaling_at(t, j) * u[j] / norm / scale;
	}
	solve_upper_transposed_double(qr, t->work2);
	for (size_t k = 0; k < qr->rank; k++)
		sum += t->work2[k] * t->work2[k];
	return norm * sum;
}

/*
 * Finds the damping at which |D u| equals the radius, by the safeguarded Newton iteration of Hebden and More; u is the
 * step for this damping.
 */
static void find_damping(struct trust_region *t, double *u, double norm)
{
	double excess = norm - t->radius, low = 0, high = 0;

	if (t->qr.rank == t->active)
		low = excess / norm_slope(t, &t->qr, u, norm) / t->radius * norm;
	gradient_of(t, t->work);
	for (size_t k = 0; k < t->active; k++)
		high += t->work[k] / scaling_at(t, k) * (t->work[k] / scaling_at(t, k));
	high = sqrt(high) / t->radius;
	if (high == 0)
		high = DBL_MIN / fmin(t->radius, 0.1);
	low = fmin(isfinite(low) ? low : 0, high);
	t->damping = fmin(fmax(t->damping, low), high);
	for (int round = 0; round < DAMPING_ROUNDS_MAXIMUM; round++) {
		double slope;

		if (t->damping == 0)
			t->damping = fmax(DBL_MIN, 0.001 * high);
		factor_damped(t);
		solve_damped(t, t->rotated, u);
		norm = scaled_norm(t, u);
		excess = norm - t->radius;
		if (fabs(excess) <= radius_slack * t->radius || norm == 0)
			return;
		slope = norm_slope(t, &t->damped, u, norm);
		if (excess > 0)
			low = fmax(low, t->damping);
		else
			high = fmin(high, t->damping);
		if (slope > 0)
			t->damping += excess / slope * (norm / t->radius);
		t->damping = fmin(fmax(t->damping, low), high);
	}
}

void trust_step_levenberg(struct trust_region *t)
{
	double *u = t->trial; /* trial is unused until the caller tries the step */
	double norm;

	gauss_newton(t, t->rotated, u);
	norm = scaled_norm(t, u);
	if (t->qr.rank == t->active && norm <= (1 + radius_slack) * t->radius)
		t->damping = 0;
	else
		find_damping(t, u, norm);
	hand_out(t, u, t->step);
}

void trust_step_accelerate(struct trust_region *t, double *curvature)
{
	double *u = t->trial;

	apply_transposed_double(&t->qr, curvature);
	if (t->damping == 0)
		gauss_newton(t, curvature, u);
	else
		solve_damped(t, curvature, u);
	for (size_t k = 0; k < t->active; k++)
		u[k] /= 2;
	hand_out(t, u, t->second);
}

/*
 * Powell's dogleg: goes down the scaled gradient to the minimum in this direction, then towards the Gauss-Newton point,
 * and stops at the radius.
 */
void trust_step_dogleg(struct trust_region *t)
{
	size_t n = t->active;
	double *newton = t->trial, *cauchy = t->work, downhill = 0, bend = 0, along, cauchy_norm, newton_norm;

	gauss_newton(t, t->rotated, newton);
	newton_norm = scaled_norm(t, newton);
	t->damping = 0;
	if (newton_norm <= t->radius) {
		hand_out(t, newton, t->step);
		return;
	}
	gradient_of(t, cauchy);
	for (size_t k = 0; k < n; k++) {
		downhill += cauchy[k] / scaling_at(t, k) * (cauchy[k] / scaling_at(t, k));
		cauchy[k] = -cauchy[k] / (scaling_at(t, k) * scaling_at(t, k));
	}
	for (size_t i = 0; i < t->qr.rank; i++) {
		double sum = 0;

		for (size_t k = i; k < n; k++)
			sum += t->qr.a[i + k * t->qr.rows] * cauchy[k];
		bend += sum * sum;
	}
	along = bend > 0 ? downhill / bend : 0;
	for (size_t k = 0; k < n; k++)
		cauchy[k] *= along;
	cauchy_norm = scaled_norm(t, cauchy);
	if (cauchy_norm >= t->radius || along == 0) {
		for (size_t k = 0; k < n; k++)
			newton[k] = cauchy_norm > 0 ? cauchy[k] * (t->radius / cauchy_norm) : 0;
	} else {
		double a = 0, b = 0, c = cauchy_norm * cauchy_norm - t->radius * t->radius, share;

		for (size_t k = 0; k < n; k++) {
			double d = scaling_at(t, k), difference = d * (newton[k] - cauchy[k]);

			a += difference * difference;
			b += difference * d * cauchy[k];
		}
		/* the positive root of a s^2 + 2 b s + c = 0 with c < 0, computed without cancellation */
		share = b > 0 ? -c / (b + sqrt(b * b - a * c)) : (sqrt(b * b - a * c) - b) / a;
		for (size_t k = 0; k < n; k++)
			newton[k] = cauchy[k] + fmin(share, 1) * (newton[k] - cauchy[k]);
	}
	hand_out(t, newton, t->step);
}
