/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * QR of a candidate's weighted design. Search and simulation solve for thousands of responses, so Q is stored as a
 * matrix: each solve then costs one product with Q'.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit_priv.h"

static const double rank_tolerance = 1e-10;

int problem_create(const struct observations *observations, struct problem *problem)
{
	size_t n = observations->count;

	memset(problem, 0, sizeof *problem);
	problem->x = malloc(5 * n * sizeof *problem->x);
	if (!problem->x)
		return -1;
	problem->y = problem->x + n;
	problem->weight = problem->y + n;
	problem->root_weight = problem->weight + n;
	problem->work = problem->root_weight + n;
	problem->count = n;
	for (size_t i = 0; i < n; i++) {
		problem->x[i] = observations->levels[i].x_us;
		problem->y[i] = observations->levels[i].mean;
		problem->weight[i] = observations->levels[i].weight;
		problem->root_weight[i] = sqrt(observations->levels[i].weight);
	}
	problem->scatter = observations->scatter;
	problem->rows = (double)n + observations->scatter_dof;
	problem->baseline_known = observations->baseline_known;
	problem->end_us = observations->levels[n - 1].x_us;
	problem->constraint_end_us = fmax(problem->end_us, FIT_CONSTRAINT_END_US);
	problem->knot_count = n / 7 < KNOTS_MAXIMUM ? n / 7 : KNOTS_MAXIMUM;
	for (size_t k = 0; k < problem->knot_count; k++) {
		double position = (double)(k + 1) / (double)(problem->knot_count + 1) * (double)(n - 1);
		size_t i = (size_t)position;

		problem->knots[k] = (problem->x[i] + problem->x[i + 1]) / 2 / problem->end_us;
	}
	return 0;
}

void problem_free(struct problem *problem)
{
	free(problem->x);
	problem->x = NULL;
}

size_t design_storage(const struct problem *problem)
{
	return problem->count * (2 * COLUMNS_MAXIMUM + 1) + CONSTRAINT_ROWS * COLUMNS_MAXIMUM;
}

static void fill_columns(const struct problem *problem, struct design *design)
{
	double row[COLUMNS_MAXIMUM + 1];

	for (size_t i = 0; i < problem->count; i++) {
		design->target_offset[i] = profile_row(problem, &design->profile, problem->x[i], row);
		for (size_t k = 0; k < design->columns; k++)
			design->qr.a[k * problem->count + i] = row[k] * problem->root_weight[i];
	}
}

void design_make(const struct problem *problem, const struct profile *profile, struct design *design, double *storage)
{
	design->profile = *profile;
	design->columns = profile_columns(problem, profile);
	design->q = storage;
	design->target_offset = storage + 2 * problem->count * COLUMNS_MAXIMUM;
	design->constraint = NULL;
	design->qr = (struct qr_double){
		.rows = problem->count,
		.columns = design->columns,
		.a = storage + problem->count * COLUMNS_MAXIMUM,
		.head = design->head,
		.factor = design->factor,
		.scale = design->scale,
		.norms = design->norms,
		.scratch = design->scratch,
		.pivot = design->pivot,
	};
	fill_columns(problem, design);
	design->usable = factorise_double(&design->qr, rank_tolerance) && design->qr.rank == design->columns;
	if (design->usable)
		form_q_double(&design->qr, design->q);
}

/*
 * Transforms a constraint row from coefficients to c coordinates (coefficients = root c) and scales it to unit length.
 * Returns the bound, multiplied by the same factor.
 */
static double finish_constraint(const struct design *design, double *row, double bound)
{
	size_t columns = design->columns;
	double moved[COLUMNS_MAXIMUM], squares = 0, scale;

	for (size_t k = 0; k < columns; k++) {
		moved[k] = 0;
		for (size_t j = 0; j < columns; j++)
			moved[k] += row[j] * design->root[k * columns + j];
		squares += moved[k] * moved[k];
	}
	scale = squares > 0 ? 1 / sqrt(squares) : 0;
	for (size_t k = 0; k < columns; k++)
		row[k] = moved[k] * scale;
	return scale > 0 ? bound * scale : bound;
}

/*
 * The start of the curve must not be above a ceiling: the curve's height before the threshold, or the baseline. Fills
 * the ceiling's row; returns its offset (as profile_row()).
 */
static double profile_ceiling(const struct problem *problem, const struct profile *profile, double *row)
{
	if (profile->form != CURVE_FORM_NONE)
		return profile_row(problem, profile, nextafter(profile->threshold_us, -1), row);
	if (!problem->baseline_known)
		return profile_row(problem, profile, 0, row);
	memset(row, 0, profile_columns(problem, profile) * sizeof *row);
	return 1;
}

double design_first_constraint(const struct problem *problem, struct design *design, double *row)
{
	double ceiling[COLUMNS_MAXIMUM + 1];
	double start = design->profile.form != CURVE_FORM_NONE ? design->profile.threshold_us : 0;
	double bound = profile_ceiling(problem, &design->profile, ceiling) -
		       profile_row(problem, &design->profile, start, row);

	covariance_root_double(&design->qr, design->root);
	for (size_t k = 0; k < design->columns; k++)
		row[k] -= ceiling[k];
	return finish_constraint(design, row, bound);
}

/*
 * The shape constraint at discrete points: the curve does not start above the baseline; it does not rise between
 * consecutive points from the threshold (or 0) to the end of the constrained range; and its end is at least FIT_LEAST.
 */
static void design_make_constraints(const struct problem *problem, struct design *design)
{
	double before[COLUMNS_MAXIMUM + 1], now[COLUMNS_MAXIMUM + 1], offset_before, offset_now;
	double start = design->profile.form != CURVE_FORM_NONE ? design->profile.threshold_us : 0;
	double end = design->profile.family == FIT_SPLINE ? problem->end_us : problem->constraint_end_us;
	size_t columns = design->columns, points = CONSTRAINT_ROWS - 1;

	design->constraint = design->target_offset + problem->count;
	design->constraint_bound[0] = design_first_constraint(problem, design, design->constraint);
	offset_before = profile_row(problem, &design->profile, start, before);
	for (size_t point = 1; point <= points; point++) {
		double x = start + (end - start) * (double)point / (double)(points - 1),
		       *row = design->constraint + point * columns;

		offset_now = point < points ? profile_row(problem, &design->profile, x, now) : 0;
		for (size_t k = 0; k < columns; k++)
			row[k] = point < points ? now[k] - before[k] : -before[k];
		design->constraint_bound[point] = finish_constraint(
			design, row, point < points ? offset_before - offset_now : offset_before - FIT_LEAST);
		memcpy(before, now, sizeof before);
		offset_before = offset_now;
	}
}

void design_solve(const struct problem *problem, const struct design *design, const double *y,
		  struct solution *solution)
{
	size_t n = problem->count;
	double *target = problem->work;

	solution->constrained = false;
	solution->rss = INFINITY;
	if (!design->usable)
		return;
	for (size_t i = 0; i < n; i++)
		target[i] = (y[i] - design->target_offset[i]) * problem->root_weight[i];
	for (size_t k = 0; k < design->columns; k++)
		solution->c[k] = dot_double(design->q + k * n, target, n);
	solution->rss = fmax(0, dot_double(target, target, n) - dot_double(solution->c, solution->c, design->columns));
}

static bool violates_constraints(const struct design *design, const double *c)
{
	for (size_t i = 0; i < CONSTRAINT_ROWS; i++)
		if (dot_double(design->constraint + i * design->columns, c, design->columns) >
		    design->constraint_bound[i] + 1e-9)
			return true;
	return false;
}

void design_constrain(const struct problem *problem, struct design *design, struct solution *solution)
{
	double free_c[COLUMNS_MAXIMUM];

	if (!isfinite(solution->rss))
		return;
	if (!design->constraint)
		design_make_constraints(problem, design);
	if (violates_constraints(design, solution->c)) {
		memcpy(free_c, solution->c, sizeof free_c);
		solution->constrained = true;
		if (!project_onto_constraints(design->constraint, design->constraint_bound, CONSTRAINT_ROWS,
					      design->columns, solution->c)) {
			solution->rss = INFINITY;
			return;
		}
		for (size_t k = 0; k < design->columns; k++)
			solution->rss += (solution->c[k] - free_c[k]) * (solution->c[k] - free_c[k]);
	}
	memset(solution->coefficients, 0, sizeof solution->coefficients);
	for (size_t k = 0; k < design->columns; k++)
		add_multiple_double(solution->coefficients, solution->c[k], design->root + k * design->columns,
				    design->columns);
}
