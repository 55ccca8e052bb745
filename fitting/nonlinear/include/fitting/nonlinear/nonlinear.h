/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonlinear least squares: minimises 1/2 sum of s^2 rho(weight_i * r_i^2 / s^2) over the parameters, r_i = model_i -
 * y_i.
 *
 * A trust region in More's scaling (MINPACK, More 1978): the Levenberg-Marquardt step with geodesic acceleration
 * (Transtrum & Sethna 2012), Powell's dogleg when that gets stuck, several starts. The caller
 * supplies exact Jacobians. A converged result is polished by Gauss-Newton steps with a QR in long double, to the last
 * digits of the model's arithmetic. Standard errors come from that QR, never from J'J.
 *
 * Of several starts the converged one of least cost wins; equal costs go to the start given first. The search ends
 * early when three starts have ended in the best minimum.
 *
 * A solve allocates its memory once and frees it; solves in several threads do not touch each other.
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
 * Residuals (model - observed, not weighted) at `parameters`, and unless `jacobian` is NULL their derivatives,
 * column-major: d residual_i / d parameter_j is jacobian[i + j * observations]. Return 0, or another value if the
 * model is undefined there: the solver then uses an infinite cost, as for a NaN.
 */
typedef int (*nonlinear_evaluate)(void *context, const double *parameters, double *residuals, double *jacobian);
typedef int (*nonlinear_evaluate_extended)(void *context, const long double *parameters, long double *residuals,
					   long double *jacobian);

struct nonlinear_problem {
	size_t observations, parameters;
	nonlinear_evaluate evaluate;
	nonlinear_evaluate_extended evaluate_extended; /* for the polish; NULL: evaluate() is used */
	void *context;
	const double *start;   /* parameters */
	const double *weights; /* observations, > 0 or 0 to leave one out; NULL = all 1 */
	const double *lower;   /* parameters, -INFINITY where free; NULL = none */
	const double *upper;
	const bool *fixed; /* parameters that keep their start; NULL = none */
	const bool
		*linear; /* parameters in which the model is jointly affine; only helps further starts. NULL = none */
};

struct nonlinear_settings {
	enum nonlinear_loss loss;
	double loss_scale;   /* s above, in weighted residuals; > 0 */
	int starts;          /* 1 = only the one given */
	uint64_t seed;       /* of the further starts */
	int iterations;      /* at most, per start */
	double tolerance;    /* relative: step, decrease and gradient cosine */
	bool acceleration;   /* geodesic */
	bool absolute_sigma; /* weights are 1/variance: standard errors are not scaled by chi2/dof */
	bool polish;
};

/* linear loss, scale 1, 1 start, 500 iterations, tolerance 1e-12, acceleration and polish on. */
void nonlinear_settings_default(struct nonlinear_settings *settings);

enum nonlinear_reason {
	NONLINEAR_STEP_SMALL,     /* converged: parameters no longer change */
	NONLINEAR_DECREASE_SMALL, /* converged: the cost no longer falls */
	NONLINEAR_GRADIENT_SMALL, /* converged: residuals are orthogonal to the Jacobian's columns */
	NONLINEAR_EXACT,          /* converged: every residual is 0 */
	NONLINEAR_ITERATIONS,     /* not converged: iterations used up */
	NONLINEAR_STUCK,          /* not converged: no step lowers the cost, though the gradient is not 0 */
	NONLINEAR_UNDETERMINED,   /* not converged: flat in some direction, the data do not fix all parameters */
	NONLINEAR_START_BAD,      /* not converged: the model has no finite value at the start */
};

/* One sentence for messages. */
const char *nonlinear_reason_text(enum nonlinear_reason reason);

struct nonlinear_result {
	bool converged;
	enum nonlinear_reason reason;
	size_t parameters, observations;
	double *values;          /* parameters */
	double *standard_errors; /* 0 for fixed ones, NaN for those held at a bound, infinite where rank is lacking */
	double *covariance;      /* parameters x parameters, of the same convention as standard_errors */
	bool *at_bound;          /* parameters */
	double *residuals;       /* observations: model - observed, not weighted */
	long double *extended_values; /* parameters, before rounding to double */
	double rss;                   /* sum of weight_i * r_i^2, without the loss */
	double cost;                  /* the minimised objective */
	double dof;                   /* observations of positive weight - free parameters off their bounds */
	size_t rank;                  /* of the Jacobian in those */
	double condition;             /* of that Jacobian with columns of length 1: |R_11| / |R_nn| */
	double aicc, bic;             /* as in linear.h, from rss */
	int iterations, evaluations;
	int starts_tried, starts_agreeing; /* starts that ended in the same minimum */
	int start_used;                    /* 0 = the caller's */
	bool dogleg;                       /* the fall-back found it */
	bool polished;
};

/*
 * 0 with *result filled (look at converged), or -errno with err set: -EINVAL (more parameters than observations, start
 * out of bounds, bad settings), -ENOMEM. A problem without free parameters is legal.
 */
int nonlinear_fit(const struct nonlinear_problem *problem, const struct nonlinear_settings *settings,
		  struct nonlinear_result *result, struct error *err);
void nonlinear_result_free(struct nonlinear_result *result); /* zeroed or filled */

#endif
