/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `nomora fit --expr` and `nomora fit --nist`: entry points that cmd_fit.c calls when its option table says so. They
 * print their results and errors themselves and return a command_exit. cmd_fit.c fills the settings from rows like
 *   OPTION_STRING(struct settings, expression.expression, "expr", 0, "FORMULA", "...")
 */
#ifndef APPS_FIT_EXPR_H
#define APPS_FIT_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/options.h>
#include <fitting/nonlinear/nonlinear.h>
#include <fitting/expression/parameters.h>

/* Strings are argv's; NULL = not given. fit_expression_defaults() gives every field its default. */
struct fit_expression_settings {
	const char *expression;       /* --expr: right side, "b1*(1-exp(-b2*x))" */
	const char *start;            /* --start: "b1=500,b2=1e-4"; names the parameters, needed */
	const char *response;         /* --response: "log(y)"; NULL = y */
	const char *bounds;           /* --bounds: "b1=0:1000,b2=:1" (either end may be missing) */
	const char *fixed;            /* --fix: "b2,b3": these keep their start */
	const char *y_column;         /* --y-column: header name or number from 1; NULL = "y", else the first column */
	const char *deviation_column; /* --deviation-column: standard deviation of y; NULL = all equal */
	const char *metric;           /* --metric of a sweep.csv; NULL = its first */
	int loss;                     /* --loss: index into fit_loss_names */
	double loss_scale;            /* --loss-scale: residual (in deviations) at which the loss turns, default 1 */
	int64_t multistart;           /* --multistart: number of starts, 1..10000, default 8 */
	int64_t seed;                 /* --seed, default 1 */
	bool absolute_sigma;          /* --absolute-sigma */
	bool json;                    /* --json: schema nomora.fit_expression/1 */
	bool quiet;                   /* --quiet: no report */
	const char *input;            /* operand: the data file, "-" = stdin */
	const char *output;           /* -o: the formula as curve.json; NULL = none */
	const struct option_list *plots; /* --plot: pictures of that curve */
	const char *application;         /* --application: of the curve */
	double baseline_rtt_us;          /* --baseline-rtt-us: of the curve; NAN = not known */
};

extern const char *const fit_loss_names[]; /* "linear", "soft_l1", "huber", NULL: for OPTION_CHOICE */

void fit_expression_defaults(struct fit_expression_settings *settings);

/*
 * Fits the formula to the data file: columns by comma, semicolon, tab or blanks; '#' comments; an optional header
 * whose names the formula may use. Without a header the columns are y, then x (or x1, x2, ...). With one, x1, x2, ...
 * (x when there is only one) name the columns beside y and the deviations, in order, unless the header says otherwise.
 * A sweep.csv is taken by levels: x is the added round trip in us, y the normalised performance.
 * Returns 0 converged, 1 bad data, 2 bad formula or option, 3 not converged.
 */
int command_fit_expression(const struct fit_expression_settings *settings);

/* Runs a NIST StRD .dat from each of its starts; returns 0, 1 (cannot be read), 3 (some start did not converge). */
int command_fit_nist(const char *path, bool json);

/* Input of the report. */
struct fit_expression_report {
	const struct fit_expression_settings *settings;
	const struct expression_parameters *parameters;
	const struct nonlinear_result *result;
	size_t observations;
	double r_squared;
};

void fit_expression_print(const struct fit_expression_report *report);

/* To stdout with --json; 0 or -errno with err set. */
int fit_expression_write_json(const struct fit_expression_report *report, struct error *err);

#endif
