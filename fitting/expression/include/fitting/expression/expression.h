/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Formulas in text, such as b1*(1-exp(-b2*x)). Parsed once to a tape; evaluated with exact derivatives by reverse
 * automatic differentiation, in double or long double.
 *
 * Grammar: + - * / ^ (or **, binds tightest and to the right: -x^2 is -(x^2)), unary + and -, ( ) [ ] { }, numbers
 * (1, .5, 1e-3, 2.5D+1), pi, exp log (natural; also ln) log10 sqrt sin cos tan asin acos atan (also arcsin arccos
 * arctan) sinh cosh tanh abs, and the names given. Names are case-sensitive; an unknown name
 * is tried without regard to case.
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

/* NULL with err set: "column 7: ...", bytes counted from 1. */
struct expression *expression_parse(const char *text, const struct expression_names *names, struct error *err);
void expression_destroy(struct expression *expression); /* NULL is legal */

/* Size of the caller's scratch for one evaluation, in numbers (double or long double). */
size_t expression_scratch(const struct expression *expression);

/*
 * Value at predictors x and parameters b. gradient (parameter_count, may be NULL) gets d value / d b. NaN and
 * infinity are returned as they arise.
 */
double expression_evaluate(const struct expression *expression, const double *x, const double *b, double *gradient,
			   double *scratch);
long double expression_evaluate_extended(const struct expression *expression, const long double *x,
					 const long double *b, long double *gradient, long double *scratch);

/* True if the expression is jointly affine in the parameters marked by `mask`, the others fixed. */
bool expression_is_affine(const struct expression *expression, const bool *mask);

/* Marks a set of parameters in which the expression is jointly affine (greedy, in order). */
void expression_affine_parameters(const struct expression *expression, bool *mask);

/* True if parameter (or predictor) `index` occurs. */
bool expression_uses_parameter(const struct expression *expression, size_t index);
bool expression_uses_predictor(const struct expression *expression, size_t index);

#endif
