/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a sweep to a curve: every family of curves is tried with and without a threshold, under the law that more
 * latency never helps and that performance stays above 0; one is chosen and its 95 % confidence band simulated.
 *
 * Families are linear in their coefficients once the threshold and at most two shape constants are known, so those
 * are searched (profile) and the rest is a QR. `struct fit` owns all that it points to. One thread per fit.
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
	/* In these four x counts from the threshold, if there is one. */
	FIT_LOG,         /* b0 + b1 log(1 + x/s) */
	FIT_EXPONENTIAL, /* b0 + b1 exp(-x/s) */
	FIT_RATIONAL,    /* b0 + b1 / (1 + x/s) */
	FIT_HILL,        /* b0 + b1 / (1 + (x/s)^h): logistic in log x */
	FIT_SPLINE,      /* monotone cubic regression spline */
	FIT_MONOTONE,    /* pooled adjacent violators, joined by a monotone interpolant */
	FIT_FAMILY_COUNT,
};

enum { FIT_AUTO = -1, FIT_ANY_POLYNOMIAL = -2, FIT_COEFFICIENTS_MAXIMUM = 12 };

struct fit_settings {
	int family;          /* enum fit_family, FIT_AUTO or FIT_ANY_POLYNOMIAL */
	int form;            /* enum curve_form, or FIT_AUTO */
	double threshold_us; /* forced; NAN = found */
	bool absolute_sigma; /* the file's deviations are taken at their word, not scaled by chi2/dof */
	int replicates;      /* of the simulation behind band and threshold interval; 0 = none of both */
	uint64_t seed;
	const char *application; /* NULL = none given: "application" */
	double baseline_rtt_us;  /* of the testbed; NAN = not known */
};

/* auto, everything found, 400 replicates, seed 1. */
void fit_settings_default(struct fit_settings *settings);

const char *fit_family_name(enum fit_family family);
/* A family, FIT_AUTO ("auto") or FIT_ANY_POLYNOMIAL ("polynomial"); -EINVAL if it is none of them. */
int fit_family_parse(const char *name, int *family);

/* One family with one form of threshold, fitted. */
struct fit_candidate {
	enum fit_family family;
	enum curve_form form;
	double threshold_us;
	double shape[2]; /* s and h above */
	size_t coefficient_count;
	double coefficients[FIT_COEFFICIENTS_MAXIMUM]; /* of the scaled basis; see fit_candidate_value() */
	size_t parameters;                             /* all that was fitted: coefficients, threshold, shapes */
	bool constrained; /* the free fit broke the law (rose, or fell to 0); this one is held to it */
	double rss;       /* weighted, levels' means about the curve and runs about their means */
	double aicc, bic;
	double cross_validation; /* RMS error at delay levels left out, normalised units; NAN = not done */
	double weight;           /* its share of the simulated band, by AICc */
	double evidence;         /* log marginal likelihood up to a constant; NAN = not done */
};

/* What more measurements would tell of the threshold's form. */
struct fit_decision {
	bool open;                           /* the likeliest form is less than 95 % sure */
	enum curve_form other;               /* the next likeliest */
	double difference, difference_at_us; /* of performance, at most, between the likeliest curves of the two */
	/* Runs at each of `levels` more delays, evenly between these two, that would settle it; 0 = too many. */
	double from_us, to_us;
	int levels;
	long runs;
};

struct fit {
	struct observations observations;
	size_t candidate_count;
	struct fit_candidate *candidates; /* by AICc, the chosen one first */
	double dof;                       /* of the chosen one */
	double overdispersion; /* levels scatter about the curve this much more than runs about levels; >= 1 */
	/* Variance of the curve by its complete passes, to that by its single runs; NAN = fewer than two passes. */
	double pass_dispersion;
	bool passes_drift;                    /* which single runs alone would show in one sweep of twenty */
	char reason[320];                     /* one sentence: why this one */
	char warnings[1024];                  /* a sentence a line; "" = none */
	double form_probability[CURVE_FORMS]; /* by enum curve_form; NAN when the form was asked for */
	struct fit_decision decision;
	struct curve *curve;
};

/*
 * Fits observations, which stay the caller's until success and then belong to *fit. 0 or -errno with err set (fewer
 * levels than the forced model has parameters, no memory). Free with fit_free().
 */
int fit_observations(struct observations *observations, const struct fit_settings *settings, struct fit *fit,
		     struct error *err);
void fit_free(struct fit *fit); /* of a zeroed or filled one */

/* The report that a person reads. */
void fit_report(const struct fit *fit, FILE *out);

#endif
