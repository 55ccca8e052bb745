/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NIST's Statistical Reference Datasets (https://www.itl.nist.gov/div898/strd/): reads the unchanged regression .dat
 * files, linear and nonlinear (model, starting values, certified values and data), fits them, and compares the results
 * with the certified values. Data are kept in long double: NIST computed from the decimals, not from doubles.
 */
#ifndef NIST_H
#define NIST_H

#include <stdbool.h>
#include <stddef.h>

#include <base/error.h>

enum { NIST_PARAMETERS_MAXIMUM = 32, NIST_PREDICTORS_MAXIMUM = 16, NIST_STARTS_MAXIMUM = 4, NIST_TEXT_BYTES = 512 };

struct nist_parameter {
	char name[16];
	double start[NIST_STARTS_MAXIMUM]; /* nonlinear sets only */
	double certified, certified_error; /* certified estimate and its standard deviation */
};

struct nist_set {
	char name[64];
	bool linear;                     /* linear in its parameters: needs no starts */
	char response[NIST_TEXT_BYTES];  /* left side: "y", "log[y]" */
	char model[NIST_TEXT_BYTES * 4]; /* right side on one line, without "+ e", ellipses filled in */
	size_t predictor_count;
	char predictors[NIST_PREDICTORS_MAXIMUM][16];
	size_t parameter_count;
	struct nist_parameter parameters[NIST_PARAMETERS_MAXIMUM];
	size_t start_count; /* 2 in nonlinear sets */
	double certified_rss, certified_residual_deviation;
	double certified_r_squared; /* NaN in nonlinear sets */
	bool has_certified_rss;
	size_t observations;
	long double *y; /* observations, as in the file (not transformed by `response`) */
	long double *x; /* observations x predictor_count, row-major */
};

/* Returns 0, or -errno; err then names file and line. Free with nist_free(). */
int nist_read(const char *path, struct nist_set *set, struct error *err);
int nist_read_memory(const char *name, const char *text, size_t bytes, struct nist_set *set, struct error *err);
void nist_free(struct nist_set *set); /* set: zeroed, or filled by nist_read() */

struct nist_fit {
	bool converged;
	const char *reason; /* one sentence; a static string */
	/* errors: standard errors of `values`; ..._digits: nist_log_relative_error() of a result */
	double values[NIST_PARAMETERS_MAXIMUM], errors[NIST_PARAMETERS_MAXIMUM];
	double value_digits[NIST_PARAMETERS_MAXIMUM], error_digits[NIST_PARAMETERS_MAXIMUM];
	double rss, rss_digits;
	double residual_deviation, residual_deviation_digits;
	double r_squared, r_squared_digits; /* r_squared_digits is NaN if no R^2 is certified */
	double dof;
	int iterations;                                /* 0 for linear sets */
	int starts_tried, start_used, starts_agreeing; /* 0 for linear sets */
};

/*
 * Fits the set and compares the results with the certified values. A nonlinear set is fitted from
 * set->parameters[].start[start]. starts: as nonlinear_settings.starts; 0 = the default. Returns 0, also if the fit did
 * not converge, or -errno with err set.
 */
int nist_solve(const struct nist_set *set, size_t start, int starts, struct nist_fit *fit, struct error *err);

/*
 * Returns NIST's measure, the log relative error: -log10(|found - certified| / |certified|), or -log10(|found|) if the
 * certified value is 0; limited to 0..15. It is about the number of correct digits. NaN counts as 0.
 */
double nist_log_relative_error(double found, double certified);

#endif
