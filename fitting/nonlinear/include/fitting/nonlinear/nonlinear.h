/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonlinear least squares: minimises 1/2 sum of s^2 rho(weight_i * r_i^2 / s^2) over the parameters, where r_i =
 * model_i - y_i, rho is the loss and s is the scale of the loss.
 *
 * A trust region in More's scaling (MINPACK, More 1978): the Levenberg-Marquardt step with geodesic acceleration
 * (Transtrum & Sethna 2012); Powell's dogleg if that does not converge; and several starts. The caller supplies exact
 * Jacobians. A converged result is polished by Gauss-Newton steps with a QR in long double, to the last digits of the
 * model's arithmetic. Standard errors come from that QR, never from J'J.
 *
 * A parameter is held at a bound while the gradient pushes it against the bound: the step does not change it.
 *
 * If several starts converge, the one of least cost wins; at equal cost, the one that was tried first. The search ends
 * early when three starts have ended in the best minimum.
 *
 * A solve allocates all its memory at the start and frees it at the end (*result has its own). Solves in several
 * threads share no data.
 *
 * The comment of an array begins with its length, in `parameters` and `observations`.
 */
#ifndef FITTING_NONLINEAR_H
#define FITTING_NONLINEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>

enum nonlinear_loss { NONLINEAR_LINEAR, NONLINEAR_SOFT_L1, NONLINEAR_HUBER };

enum { NONLINEAR_PARAMETERS_MAXIMUM = 64 };

/*
 * Computes the residuals (model - observed, not weighted) at `parameters` and, unless `jacobian` is NULL, their
 * derivatives, column-major: d residual_i / d parameter_j is jacobian[i + j * observations]. Returns 0, or another
 * value if the model is undefined there: the solver then uses an infinite cost, as for a NaN.
 */
typedef int (*nonlinear_evaluate)(void *context, const double *parameters, double *residuals, double *jacobian);
typedef int (*nonlinear_evaluate_extended)(void *context, const long double *parameters, long double *residuals,
					   long double *jacobian);

struct nonlinear_problem {
	size_t observations, parameters;
	nonlinear_evaluate evaluate;
	nonlinear_evaluate_extended evaluate_extended; /* used by the polish; NULL: the polish uses evaluate(), too */
	void *context;
	const double *start;   /* parameters */
	const double *weights; /* observations, >= 0; 0 leaves the observation out; NULL = all 1 */
	const double *lower;   /* parameters: lower bounds, -INFINITY = no bound; NULL = no bounds */
	const double *upper;
	const bool *fixed; /* parameters: true = keeps its start; NULL = none is fixed */
	/*
	 * parameters: true for a set of parameters in which the model is jointly affine; further starts compute their
	 * values by linear least squares; NULL = none
	 */
	const bool *linear;
};

struct nonlinear_settings {
	enum nonlinear_loss loss;
	double loss_scale;   /* s of the objective above, in weighted residuals; > 0 */
	int starts;          /* number of starts; 1 = only the given one */
	uint64_t seed;       /* seed of the further starts */
	int iterations;      /* maximum per start */
	double tolerance;    /* relative tolerance of step, decrease and gradient cosine */
	bool acceleration;   /* geodesic */
	bool absolute_sigma; /* the weights are 1/variance, so standard errors are not scaled by chi2/dof */
	bool polish;
};

/* Linear loss, scale 1, 1 start, 500 iterations, tolerance 1e-12; acceleration and polish are on. */
void nonlinear_settings_default(struct nonlinear_settings *settings);

enum nonlinear_reason {
	NONLINEAR_STEP_SMALL,     /* converged: parameters no longer change */
	NONLINEAR_DECREASE_SMALL, /* converged: the cost no longer falls */
	NONLINEAR_GRADIENT_SMALL, /* converged: residuals are orthogonal to the Jacobian's columns */
	NONLINEAR_EXACT,          /* converged: every residual is 0 */
	NONLINEAR_ITERATIONS,     /* not converged: iterations used up */
	NONLINEAR_STUCK,          /* not converged: no step lowers the cost, though the gradient is not 0 */
	NONLINEAR_UNDETERMINED,   /* not converged: the data do not determine all parameters (the cost is flat) */
	NONLINEAR_START_BAD,      /* not converged: the model has no finite value at the start */
};

/* Returns a sentence for messages. */
const char *nonlinear_reason_text(enum nonlinear_reason reason);

struct nonlinear_result {
	bool converged;
	enum nonlinear_reason reason;
	size_t parameters, observations;
	double *values;               /* parameters */
	double *standard_errors;      /* parameters: 0 if fixed, NaN if held at a bound, infinite if not determined */
	double *covariance;           /* parameters x parameters; its diagonal holds the squares of standard_errors */
	bool *at_bound;               /* parameters */
	double *residuals;            /* observations: model - observed, not weighted; NaN for weight 0 */
	long double *extended_values; /* parameters, before rounding to double */
	double rss;                   /* sum of weight_i * r_i^2, without the loss */
	/* number of observations of positive weight - number of free parameters not held at a bound */
	double dof;
	/* rank of the Jacobian in the free parameters not held at a bound */
	size_t rank;
	/* condition number of this Jacobian with columns scaled to length 1: |R_11| / |R_nn| */
	double condition;
	double aicc, bic; /* as in linear.h, from rss */
	int iterations, evaluations;
	int starts_tried, starts_agreeing; /* starts_agreeing: starts that ended in the best minimum */
	int start_used;                    /* number of the start that gave the result; 0 = the caller's start */
};

/*
 * Returns 0 with *result filled (even if not converged: see result->converged), or -errno with err set: -EINVAL (fewer
 * observations than free parameters, start out of bounds, bad settings) or -ENOMEM. All parameters may be fixed.
 */
int nonlinear_fit(const struct nonlinear_problem *problem, const struct nonlinear_settings *settings,
		  struct nonlinear_result *result, struct error *err);
void nonlinear_result_free(struct nonlinear_result *result); /* zeroed or filled */

#endif
