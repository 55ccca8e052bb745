/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Formulas in text, such as b1*(1-exp(-b2*x)). A formula is parsed once to a tape; the tape is evaluated with exact
 * derivatives by reverse automatic differentiation, in double or long double.
 *
 * Grammar: + - * / ^ (or **, binds tightest and to the right: -x^2 is -(x^2)), unary + and -, ( ) [ ] { }, numbers (1,
 * .5, 1e-3, 2.5D+1), pi, exp log (natural; also ln) log10 sqrt sin cos tan asin acos atan (also arcsin arccos arctan)
 * sinh cosh tanh abs, and the names given. A name is looked up with its case first; if that fails, in any case.
 *
 * An expression is immutable after parsing: threads may share it, each with its own scratch.
 */
#ifndef FITTING_EXPRESSION_H
#define FITTING_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include <base/file.h>
#include <fitting/nonlinear/nonlinear.h>
#include <model/curve.h>

struct expression;

/* Names allowed in the formula. Arrays and strings are read during parsing only. */
struct expression_names {
	const char *const *predictors; /* "x", or "x1", "x2" ... */
	size_t predictor_count;
	const char *const *parameters; /* "b1", "b2" ... */
	size_t parameter_count;
};

/* Returns NULL with err set on failure: "column 7: ..."; columns are bytes, counted from 1. */
struct expression *expression_parse(const char *text, const struct expression_names *names, struct error *err);
void expression_destroy(struct expression *expression); /* NULL is legal */

/* Returns the size of the caller's scratch for one evaluation, in numbers (double or long double). */
size_t expression_scratch(const struct expression *expression);

/*
 * Returns the value at predictors x and parameters b; it may be NaN or infinite. gradient (parameter_count, may be
 * NULL): the derivatives by b.
 */
double expression_evaluate(const struct expression *expression, const double *x, const double *b, double *gradient,
			   double *scratch);
long double expression_evaluate_extended(const struct expression *expression, const long double *x,
					 const long double *b, long double *gradient, long double *scratch);

/* Sets mask[] for a set of parameters in which the expression is jointly affine (chosen greedily, in order). */
void expression_affine_parameters(const struct expression *expression, bool *mask);

/* Returns true if parameter (or predictor) `index` occurs in the expression. */
bool expression_uses_parameter(const struct expression *expression, size_t index);
bool expression_uses_predictor(const struct expression *expression, size_t index);

/*
 * Fits a formula to a table, with nonlinear.h. Data are long double, so that the polish works on the
 * decimals of the file, not on their rounded doubles. No state between calls; frees all memory that it allocates,
 * except *result's. The comment of an array begins with its length.
 */

struct expression_fit_problem {
	const struct expression *model;    /* formula of `predictors` columns of x and `parameters` parameters */
	const struct expression *response; /* transform of y: a formula whose only parameter is y; NULL = none */
	size_t observations, predictors, parameters;
	const long double *x;        /* observations x predictors, row-major; NULL if predictors is 0 */
	const long double *y;        /* observations */
	const double *deviations;    /* observations: deviation of y before its transform, > 0; NULL = all equal */
	const double *start;         /* parameters */
	const double *lower, *upper; /* parameters or NULL */
	const bool *fixed;           /* parameters or NULL */
};

/*
 * Fits the model to response(y) by nonlinear_fit(). Deviations are multiplied by the slope |d response / d y|. Returns
 * -EINVAL with err set ("observation 3: ...") if response(y) is not finite or a deviation is not above 0; otherwise the
 * result of nonlinear_fit(). *r_squared is 1 - RSS / S, where S is the weighted sum of squares of response(y) about its
 * mean.
 */
int expression_fit(const struct expression_fit_problem *problem, const struct nonlinear_settings *settings,
		   struct nonlinear_result *result, double *r_squared, struct error *err);

/*
 * Parses parameters from a command line: starts "b1=500,b2=1e-4", bounds "b1=0:1000,b2=:1" and names of fixed
 * parameters "b2,b3". The functions return 0, or -EINVAL with err set, which names the option and the expected form.
 * struct expression_parameters holds no pointers, so there is nothing to free.
 */

enum { PARAMETERS_MAXIMUM = 64, PARAMETER_NAME_BYTES = 32 };

struct expression_parameters {
	size_t count;
	char name[PARAMETERS_MAXIMUM][PARAMETER_NAME_BYTES];
	double start[PARAMETERS_MAXIMUM];
	double lower[PARAMETERS_MAXIMUM], upper[PARAMETERS_MAXIMUM]; /* infinite if there is no bound */
	bool fixed[PARAMETERS_MAXIMUM];
};

/* Sets names and starts; resets bounds and `fixed`. */
int expression_parameters_start(const char *text, struct expression_parameters *parameters, struct error *err);

/*
 * Sets bounds, LOW:HIGH, of parameters that have a start. LOW or HIGH may be missing. Each start must be within its
 * bounds.
 */
int expression_parameters_bounds(const char *text, struct expression_parameters *parameters, struct error *err);
/* Marks parameters that have a start as fixed. */
int expression_parameters_fixed(const char *text, struct expression_parameters *parameters, struct error *err);

/*
 * Makes a curve (model/curve.h) from a fitted formula of one predictor, the added round trip in µs. No state between
 * calls.
 */

struct expression_curve_source {
	const struct expression *model;        /* a formula; every predictor that it uses is set to x */
	const char *formula;                   /* text of the model */
	size_t predictors;                     /* number of the model's predictors */
	const char *const *parameter_names;    /* an array of result->parameters names */
	const struct nonlinear_result *result; /* a fit of performance relative to the baseline */
	double r_squared;
	/* arrays of result->observations elements, one per level, by ascending x; deviation NULL = not known */
	const double *x_us, *y, *deviation;
	const char *application;
	struct sweep_metric metric;
	double baseline_value, baseline_deviation, baseline_rtt_us; /* NAN = not known */
	long disturbed_runs;
};

/*
 * Makes a curve from the formula f: a table of f(x) / f(0) from 0 to the last x, the levels, the coefficients, and a
 * 95 % band from the covariance of the coefficients (delta method; no band if the covariance is not finite). Returns
 * NULL with err set if the first y is not about 1, if an x is negative, if f(0) is not above 0, if f(x) / f(0) is not
 * finite or exceeds 1.1 in the table, or if out of memory.
 */
struct curve *expression_curve_create(const struct expression_curve_source *source, struct error *err);

/*
 * A table of numbers with named columns. Fields are separated by commas, semicolons, tabs or blanks: the first of these
 * four that the first line contains separates the fields of all lines. '#' begins a comment line; a header is optional.
 * Without a header the columns are y, then x (or x1, x2, ... if there are several). Values are long double, to keep the
 * decimals. A column that is not used may contain text.
 */

enum { TABLE_COLUMNS_MAXIMUM = 64, TABLE_NAME_BYTES = 32, TABLE_ROWS_MAXIMUM = 10000000 };

struct table_column {
	char name[TABLE_NAME_BYTES];
	long bad_line;                   /* first line whose field is not a finite number; 0 = none */
	char bad_text[TABLE_NAME_BYTES]; /* the text found there, truncated */
};

struct expression_table {
	char *file; /* for messages */
	size_t columns, rows;
	struct table_column column[TABLE_COLUMNS_MAXIMUM];
	long double *values; /* rows x columns, row-major; NaN for text */
	long *lines;         /* rows: each row's line in the file */
};

/*
 * Closes the lines; NULL: they could not be opened, as err says. Returns 0 or -errno with err set (file, line). Free
 * with expression_table_free().
 */
int expression_table_read(struct file_lines *lines, struct expression_table *table, struct error *err);
void expression_table_free(struct expression_table *table); /* zeroed or filled */

/* Returns the index of a column, by name (exact case first, then any case) or by number from 1, or -ENOENT. */
int expression_table_find_column(const struct expression_table *table, const char *name);

/* Returns 0, or -EINVAL if the column contains something other than a number; err then names file, line and field. */
int expression_table_check_column(const struct expression_table *table, size_t column, struct error *err);

#endif
