/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pieces of a nonlinear fit: the objective (model, weights, loss, free parameters), the trust region that lowers
 * it in double, and the polish in long double that also gives the covariance.
 */
#ifndef FITTING_NONLINEAR_PRIV_H
#define FITTING_NONLINEAR_PRIV_H

#include <fitting/nonlinear/nonlinear.h>

#include "arena_priv.h"
#include "qr_priv.h"

/* One fit's problem in its free parameters; "free vector" below means `free` numbers in the order of `index`. */
struct objective {
	const struct nonlinear_problem *problem;
	enum nonlinear_loss loss;
	double loss_scale;
	size_t rows, free;
	size_t index[NONLINEAR_PARAMETERS_MAXIMUM]; /* free -> the problem's parameter */
	double lower[NONLINEAR_PARAMETERS_MAXIMUM], upper[NONLINEAR_PARAMETERS_MAXIMUM];
	double *root_weights; /* rows, or NULL */
	double *full;         /* problem's parameters */
	double *raw_jacobian; /* rows x problem's parameters */
	long double *full_extended, *raw_jacobian_extended;
	double *narrow_residuals; /* rows: when the model has no long double form */
	int evaluations;
};

/* A loss at z = weight r^2 / scale^2: rho, rho', and rho' + 2 z rho''. */
struct loss_terms {
	long double value, slope, curvature;
};
struct loss_terms loss_terms(enum nonlinear_loss loss, long double z);

/*
 * The cost at a free vector, or INFINITY where the model has no finite value. residuals (rows) and jacobian
 * (rows x free, may be NULL) come weighted and multiplied by the root of rho', so that J'r is the gradient.
 */
double objective_evaluate(struct objective *objective, const double *values, double *residuals, double *jacobian);
long double objective_evaluate_extended(struct objective *objective, const long double *values, long double *residuals,
					long double *jacobian);

/* The value of parameter j, clamped to its bounds. */
double objective_clip(const struct objective *objective, size_t j, double value);

/* Scratch of the trust region for `rows` and `free`. */
struct trust_region {
	struct objective *objective;
	double tolerance;
	int iterations_maximum;
	bool acceleration, dogleg;
	double radius_factor; /* first radius / scaled norm of the start */
	int iterations;
	/* of one step: */
	size_t active;                                /* columns that are not held at a bound */
	size_t column[NONLINEAR_PARAMETERS_MAXIMUM];  /* active -> free */
	double scaling[NONLINEAR_PARAMETERS_MAXIMUM]; /* More's D, by free */
	double radius, damping;
	double cost;
	double *residuals, *trial_residuals, *jacobian, *rotated; /* rows, rows, rows x free, rows */
	double *gradient, *trial, *step, *second, *work, *best;   /* free */
	double *work2;                                            /* 2 x free */
	struct qr_double qr;                                      /* of the active columns */
	struct qr_double damped;                                  /* of [R; sqrt(damping) D] */
};

void trust_region_lay_out(struct trust_region *region, struct arena *arena, size_t rows, size_t free);

/* Lowers the cost from `values` (a free vector, changed in place). */
enum nonlinear_reason trust_region_minimise(struct trust_region *region, double *values);

/* Sets the free parameters that enter linearly to their best values, the others held. False if that fails. */
bool trust_region_solve_linear(struct trust_region *region, double *values);

/* Steps for the current qr and radius, into region->step by free (0 where held); trust_step.c. */
void trust_step_levenberg(struct trust_region *region);
void trust_step_dogleg(struct trust_region *region);
/* region->second := half the geodesic acceleration for `curvature` (rows: second directional derivative). */
void trust_step_accelerate(struct trust_region *region, double *curvature);

/* Long double scratch of the polish. */
struct polish {
	struct objective *objective;
	struct qr_extended qr;
	size_t active;
	size_t column[NONLINEAR_PARAMETERS_MAXIMUM];
	long double *residuals, *jacobian, *rotated; /* rows, rows x free, rows */
	long double *trial, *step, *work, *root;     /* free, free, free, free x free */
	long double relative_offset;                 /* Bates & Watts: tangential over normal part of the residuals */
	long double step_size;                       /* remaining Gauss-Newton step, relative to the values */
	long double cost;
	long double
		condition; /* |R_11| / |R_nn| of the active columns, scaled to length 1; infinite if rank-deficient */
};

void polish_lay_out(struct polish *polish, struct arena *arena, size_t rows, size_t free);

/* Gauss-Newton to the last digit. False if the model is not finite there; values are never made worse. */
bool polish_run(struct polish *polish, long double *values, int steps_maximum);

/*
 * After polish_run() at the same values: root such that root root' = (J'J)^-1 over polish->column, columns x columns in
 * polish->root. J is weighted, but the loss is not applied to it. False if it is not finite.
 */
bool polish_covariance_root(struct polish *polish, const long double *values);

#endif
