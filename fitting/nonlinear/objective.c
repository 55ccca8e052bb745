/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of a nonlinear fit with its residuals and Jacobian, weighted and scaled by the robust loss. */
#include "nonlinear_priv.h"

#include <float.h>

struct loss_terms loss_terms(enum nonlinear_loss loss, long double z)
{
	long double root;

	switch (loss) {
	case NONLINEAR_LINEAR:
		break;
	case NONLINEAR_SOFT_L1:
		root = sqrtl(1 + z);
		return (struct loss_terms){2 * (root - 1), 1 / root, 1 / (root * root * root)};
	case NONLINEAR_HUBER:
		if (z <= 1)
			break;
		root = sqrtl(z);
		return (struct loss_terms){2 * root - 1, 1 / root, 0};
	}
	return (struct loss_terms){z, 1, 1};
}

double objective_clip(const struct objective *objective, size_t j, double value)
{
	return fmin(fmax(value, objective->lower[j]), objective->upper[j]);
}

/* Applies weight and robust loss to one row's residual; returns the row's share of the cost. */
static long double bend_row(const struct objective *o, size_t i, long double *residual)
{
	long double scale = o->loss_scale, weighted = *residual * (o->root_weights ? o->root_weights[i] : 1);
	struct loss_terms terms;

	if (o->loss == NONLINEAR_LINEAR) {
		*residual = weighted;
		return weighted * weighted / 2;
	}
	terms = loss_terms(o->loss, weighted * weighted / (scale * scale));
	*residual = weighted * sqrtl(terms.slope);
	return scale * scale * terms.value / 2;
}

/*
 * Returns the factor by which bend_row() multiplies the residual of this row. The row of the Jacobian is multiplied by
 * the same factor.
 */
static double row_factor(const struct objective *o, size_t i, double raw_residual)
{
	double weight = o->root_weights ? o->root_weights[i] : 1, z = raw_residual * weight / o->loss_scale;

	if (o->loss == NONLINEAR_LINEAR)
		return weight;
	return weight * sqrt((double)loss_terms(o->loss, (long double)z * z).slope);
}

static void fill_full(const struct objective *o, const double *values)
{
	memcpy(o->full, o->problem->start, o->problem->parameters * sizeof *o->full);
	for (size_t j = 0; j < o->free; j++)
		o->full[o->index[j]] = values[j];
}

double objective_evaluate(struct objective *o, const double *values, double *residuals, double *jacobian)
{
	double cost = 0;

	fill_full(o, values);
	o->evaluations++;
	if (o->problem->evaluate(o->problem->context, o->full, residuals, jacobian ? o->raw_jacobian : NULL) != 0)
		return INFINITY;
	for (size_t j = 0; jacobian && j < o->free; j++) {
		const double *from = o->raw_jacobian + o->index[j] * o->rows;
		double *to = jacobian + j * o->rows;

		for (size_t i = 0; i < o->rows; i++) {
			to[i] = from[i] * row_factor(o, i, residuals[i]);
			if (!isfinite(to[i]))
				return INFINITY;
		}
	}
	for (size_t i = 0; i < o->rows; i++) {
		long double residual = residuals[i];

		cost += (double)bend_row(o, i, &residual);
		residuals[i] = (double)residual;
	}
	return isfinite(cost) ? cost : (double)INFINITY;
}

/* Evaluates the caller's long double model; without one, evaluates the double model and converts its results. */
static int evaluate_widest(struct objective *o, long double *residuals, bool derivatives)
{
	const struct nonlinear_problem *problem = o->problem;
	int code;

	if (problem->evaluate_extended)
		return problem->evaluate_extended(problem->context, o->full_extended, residuals,
						  derivatives ? o->raw_jacobian_extended : NULL);
	for (size_t j = 0; j < problem->parameters; j++)
		o->full[j] = (double)o->full_extended[j];
	code = problem->evaluate(problem->context, o->full, o->narrow_residuals, derivatives ? o->raw_jacobian : NULL);
	for (size_t i = 0; i < o->rows; i++)
		residuals[i] = o->narrow_residuals[i];
	for (size_t i = 0; derivatives && i < o->rows * problem->parameters; i++)
		o->raw_jacobian_extended[i] = o->raw_jacobian[i];
	return code;
}

long double objective_evaluate_extended(struct objective *o, const long double *values, long double *residuals,
					long double *jacobian)
{
	long double cost = 0;

	for (size_t j = 0; j < o->problem->parameters; j++)
		o->full_extended[j] = o->problem->start[j];
	for (size_t j = 0; j < o->free; j++)
		o->full_extended[o->index[j]] = values[j];
	o->evaluations++;
	if (evaluate_widest(o, residuals, jacobian != NULL) != 0)
		return INFINITY;
	for (size_t j = 0; jacobian && j < o->free; j++) {
		const long double *from = o->raw_jacobian_extended + o->index[j] * o->rows;
		long double *to = jacobian + j * o->rows;

		for (size_t i = 0; i < o->rows; i++) {
			to[i] = from[i] * row_factor(o, i, (double)residuals[i]);
			if (!isfinite(to[i]))
				return INFINITY;
		}
	}
	for (size_t i = 0; i < o->rows; i++)
		cost += bend_row(o, i, &residuals[i]);
	return isfinite(cost) ? cost : (long double)INFINITY;
}
