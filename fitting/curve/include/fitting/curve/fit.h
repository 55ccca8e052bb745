/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fits a curve to a sweep. A family is a type of formula, such as polynomials of degree 2. Below its threshold, if it
 * has one, a curve is constant; at the threshold it jumps or bends (enum curve_form). A candidate is a family with a
 * form of threshold. Each candidate is fitted under a shape constraint: performance does not rise with latency and
 * stays above 0. One candidate is chosen, and its 95 % band is simulated.
 *
 * With the threshold and at most two shape constants fixed, a family is linear in its coefficients. So the fit searches
 * the threshold and the shape constants (profile likelihood), and computes the coefficients by QR. `struct fit` owns
 * everything it points to. One thread per fit.
 */
#ifndef FITTING_FIT_H
#define FITTING_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <fitting/observations/observations.h>
#include <model/curve.h>

enum fit_family {
	FIT_POLYNOMIAL_1,
	FIT_POLYNOMIAL_2,
	FIT_POLYNOMIAL_3,
	FIT_POLYNOMIAL_4,
	FIT_POLYNOMIAL_5,
	/*
	 * In the formulas of the next four families, x is the distance from 0 (no threshold), from the threshold (a
	 * hinge) or from the first level after the threshold (a jump).
	 */
	FIT_LOG,         /* b0 + b1 log(1 + x/s) */
	FIT_EXPONENTIAL, /* b0 + b1 exp(-x/s) */
	FIT_RATIONAL,    /* b0 + b1 / (1 + x/s) */
	FIT_HILL,        /* b0 + b1 / (1 + (x/s)^h): logistic in log x */
	FIT_SPLINE,      /* monotone cubic regression spline */
	FIT_MONOTONE,    /* isotonic regression (PAVA) with a monotone interpolant */
	FIT_FAMILY_COUNT,
};

enum { FIT_AUTO = -1, FIT_ANY_POLYNOMIAL = -2, FIT_COEFFICIENTS_MAXIMUM = 12 };

struct fit_settings {
	int family;          /* enum fit_family, FIT_AUTO or FIT_ANY_POLYNOMIAL */
	int form;            /* enum curve_form, or FIT_AUTO */
	double threshold_us; /* fixed threshold; NAN = find it */
	bool absolute_sigma; /* use the file's deviations as they are, instead of scaling them by chi2/dof */
	int replicates;      /* number of simulated sweeps for the band and the threshold's interval; 0 = neither */
	uint64_t seed;
	const char *application; /* name of the curve's application; NULL: it is named "application" */
	double baseline_rtt_us;  /* round trip of the testbed; NAN = as in the sweep */
};

/* Family and form auto, threshold to be found, 400 replicates, seed 1. */
void fit_settings_default(struct fit_settings *settings);

const char *fit_family_name(enum fit_family family);
/*
 * Sets *family to a family, FIT_AUTO ("auto") or FIT_ANY_POLYNOMIAL ("polynomial"). Returns 0, or -EINVAL for another
 * name.
 */
int fit_family_parse(const char *name, int *family);

/* One family with one form of threshold, and its fit. */
struct fit_candidate {
	enum fit_family family;
	enum curve_form form;
	double threshold_us;
	double shape[2]; /* s and h of the families above */
	size_t coefficient_count;
	double coefficients[FIT_COEFFICIENTS_MAXIMUM]; /* in the fitter's scaled basis; `curve` has them in µs */
	size_t parameters;                             /* number of coefficients, thresholds and shape constants */
	bool constrained; /* the unconstrained fit rises, or falls to 0, so it was projected onto the constraint */
	double rss;       /* weighted sum of squares: level means about the curve, plus runs about their level means */
	double aicc, bic;
	double cross_validation; /* leave-one-out RMS error over the levels; NAN = not computed */
	double weight;           /* share of this candidate in the band's simulated sweeps, from AICc */
	double evidence;         /* log marginal likelihood up to a constant; NAN = not computed */
};

/* Further measurements that would decide the threshold's form. */
struct fit_decision {
	bool open;             /* true: the form is undecided; the most likely one has a probability under 95 % */
	enum curve_form other; /* the second most likely form of threshold */
	/* largest difference between the best curves of the two most likely forms, and its x */
	double difference, difference_at_us;
	/*
	 * The measurements to add: `runs` runs at each of `levels` new delays, which are evenly spaced between from_us
	 * and to_us. runs 0 = too many would be needed.
	 */
	double from_us, to_us;
	int levels;
	long runs;
};

struct fit {
	struct observations observations;
	size_t candidate_count;
	struct fit_candidate *candidates; /* the chosen one first, the others by ascending AICc */
	double dof;                       /* degrees of freedom of the chosen candidate */
	/*
	 * variance of the level means about the curve, divided by the variance that the scatter of their runs predicts;
	 * at least 1
	 */
	double overdispersion;
	/*
	 * Variance of the curve between replicate blocks, divided by the variance that run-to-run noise alone causes;
	 * NAN if there are fewer than two blocks.
	 */
	double block_dispersion;
	bool blocks_drift;                    /* block_dispersion is significant at 5 % */
	char reason[320];                     /* why this candidate was chosen, in one sentence */
	char warnings[1024];                  /* one per line; "" = none */
	double form_probability[CURVE_FORMS]; /* by enum curve_form; NAN if the settings fix the form */
	struct fit_decision decision;
	bool flat; /* true: no effect of latency was found; the curve is 1 everywhere, and its band bounds the effect */
	double flat_drop; /* largest loss of performance within the 95 % band */
	struct curve *curve;
};

/*
 * Fits the observations. Returns 0; *fit then owns the observations, and the caller calls fit_free(). Or returns -errno
 * with err set; the caller then keeps the observations. Errors are:
 * - fewer levels than the requested model has parameters
 * - performance that rises with latency
 * - out of memory
 */
int fit_observations(struct observations *observations, const struct fit_settings *settings, struct fit *fit,
		     struct error *err);
void fit_free(struct fit *fit); /* zeroed or filled */

/* Prints the report as text. */
void fit_report(const struct fit *fit, FILE *out);

#endif
