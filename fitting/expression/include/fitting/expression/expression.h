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

#include <base/error.h>

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

#endif
