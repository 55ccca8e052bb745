/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a nonlinear fit: the objective (model, weights, loss, free parameters), the trust region that lowers its
 * cost in double, and the polish in long double that also gives the covariance.
 */
#ifndef FITTING_NONLINEAR_PRIV_H
#define FITTING_NONLINEAR_PRIV_H

#include <base/rng.h>
#include <fitting/nonlinear/nonlinear.h>

#include "qr_priv.h"

/*
 * One fit's problem, reduced to its free parameters. Below, a "free vector" has `free` numbers in the order of `index`.
 */
struct objective {
	const struct nonlinear_problem *problem;
	enum nonlinear_loss loss;
	double loss_scale;
	size_t rows, free;
	size_t index[NONLINEAR_PARAMETERS_MAXIMUM]; /* by free parameter: its index in the problem's parameters */
	double lower[NONLINEAR_PARAMETERS_MAXIMUM], upper[NONLINEAR_PARAMETERS_MAXIMUM];
	double *root_weights; /* rows, or NULL */
	double *full;         /* all parameters of the problem */
	double *raw_jacobian; /* rows x all parameters */
	long double *full_extended, *raw_jacobian_extended;
	double *narrow_residuals; /* rows: residuals of a model without a long double form */
	int evaluations;
};

/* A loss at z = weight r^2 / scale^2: value rho, slope rho', and curvature rho' + 2 z rho''. */
struct loss_terms {
	long double value, slope, curvature;
};
struct loss_terms loss_terms(enum nonlinear_loss loss, long double z);

/*
 * Returns the cost at a free vector, or INFINITY if the model has no finite value there. Fills residuals (rows) and
 * jacobian (rows x free, may be NULL), weighted and multiplied by the root of rho', so that J'r is the gradient.
 */
double objective_evaluate(struct objective *objective, const double *values, double *residuals, double *jacobian);
long double objective_evaluate_extended(struct objective *objective, const long double *values, long double *residuals,
					long double *jacobian);

/* Returns `value` clamped to the bounds of free parameter j. */
double objective_clip(const struct objective *objective, size_t j, double value);

/* State and scratch of the trust region. `rows` and `free`, the lengths of its arrays, are those of the objective. */
struct trust_region {
	struct objective *objective;
	double tolerance;
	int iterations_maximum;
	bool acceleration, dogleg;
	int iterations;
	/*
	 * State of the current step. The active columns are the Jacobian's columns of free parameters not held at a
	 * bound.
	 */
	size_t active;
	size_t column[NONLINEAR_PARAMETERS_MAXIMUM];  /* by active column: number of its free parameter */
	double scaling[NONLINEAR_PARAMETERS_MAXIMUM]; /* More's D, per free parameter */
	double radius, damping;
	double cost;
	double *residuals, *trial_residuals, *jacobian, *rotated; /* rows, rows, rows x free, rows */
	double *gradient, *trial, *step, *second, *work, *best;   /* free */
	double *work2;                                            /* 2 x free */
	struct qr_double qr;                                      /* of the active columns */
	struct qr_double damped;                                  /* of [R; sqrt(damping) D] */
};

void trust_region_lay_out(struct trust_region *region, struct arena *arena, size_t rows, size_t free);

/* Minimises the cost from `values` (a free vector, changed in place). Returns the reason for stopping. */
enum nonlinear_reason trust_region_minimise(struct trust_region *region, double *values);

/*
 * Sets the free parameters in which the model is linear to their best values, with the others fixed. Returns false on
 * failure.
 */
bool trust_region_solve_linear(struct trust_region *region, double *values);

/*
 * Compute region->step, per free parameter (0 if it is held at a bound), for the current qr and radius. In
 * trust_step.c.
 */
void trust_step_levenberg(struct trust_region *region);
void trust_step_dogleg(struct trust_region *region);
/*
 * Sets region->second to half the geodesic acceleration. curvature (rows): the second derivative of the residuals along
 * the step; it is overwritten.
 */
void trust_step_accelerate(struct trust_region *region, double *curvature);

/* State and scratch of the polish. */
struct polish {
	struct objective *objective;
	struct qr_extended qr;
	/* as in struct trust_region: number of active columns; by active column, number of its free parameter */
	size_t active;
	size_t column[NONLINEAR_PARAMETERS_MAXIMUM];
	long double *residuals, *jacobian, *rotated; /* rows, rows x free, rows */
	long double *trial, *step, *work, *root;     /* free, free, free, free x free */
	/*
	 * Bates & Watts: the residuals' component in the space of the columns, divided by the component orthogonal to
	 * it; each is a root mean square over its degrees of freedom
	 */
	long double relative_offset;
	/* the next Gauss-Newton step: largest change of a parameter, relative to its value */
	long double step_size;
	long double cost;
	long double
		condition; /* |R_11| / |R_nn| of the active columns, scaled to length 1; infinite if rank-deficient */
};

void polish_lay_out(struct polish *polish, struct arena *arena, size_t rows, size_t free);

/*
 * Makes Gauss-Newton steps until the last digits are reached. Never increases the cost by more than rounding
 * errors. Returns false if the model or a derivative is not finite at the values.
 */
bool polish_run(struct polish *polish, long double *values, int steps_maximum);

/*
 * Call it after polish_run(), with the values that polish_run() has left. Fills polish->root (active x active) so that
 * root root' = (J'J)^-1 for the parameters in polish->column. J is weighted, but without the loss. Returns false if a
 * number is not finite.
 */
bool polish_covariance_root(struct polish *polish, const long double *values);

/*
 * Sets `values` to further start number `start` (from 1), which is made from the start `given`. Both are free vectors.
 * Overwrites the region's scratch.
 */
void nonlinear_further_start(struct trust_region *region, struct rng *rng, int start, const double *given,
			     double *values);

#endif
