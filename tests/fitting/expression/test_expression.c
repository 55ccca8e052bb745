/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/rng.h>
#include <fitting/expression/expression.h>

static const char *const predictors[] = {"x", "x2", "Load"};
static const char *const parameters[] = {"b1", "b2", "b3"};
static const struct expression_names names = {predictors, 3, parameters, 3};
static const double at_x[] = {1.5, -2, 0.25}, at_b[] = {0.75, 2, -1.25};

static struct expression *parse(const char *text)
{
	struct error err = {0};
	struct expression *expression = expression_parse(text, &names, &err);

	cr_assert_not_null(expression, "'%s': %s", text, err.text);
	return expression;
}

static double value_of(const char *text)
{
	struct expression *expression = parse(text);
	double *scratch = malloc(expression_scratch(expression) * sizeof *scratch);
	double value = expression_evaluate(expression, at_x, at_b, NULL, scratch);

	free(scratch);
	expression_destroy(expression);
	return value;
}

Test(expression, values_follow_the_usual_precedence)
{
	static const struct {
		const char *text;
		double value;
	} cases[] = {
		{"1+2*3", 7},
		{"-3^2", -9},
		{"(-3)^2", 9},
		{"2^3^2", 512},
		{"2**3**2", 512},
		{"2^-1", 0.5},
		{"2*-3", -6},
		{"8/4/2", 1},
		{"8-4-2", 2},
		{"-x^2", -2.25},
		{"--2", 2},
		{"+2-+3", -1},
		{"[1+{2*(3)}]", 7},
		{".5+1.e1+2D1+1E-1", 30.6},
		{"1e3", 1000},
		{"exp(0)+log(exp[2])+ln(1)+log10(1000)", 6},
		{"sqrt(16)+abs(-2)", 6},
		{"sin(pi/2)+cos(0)+tan(0)", 2},
		{"4*atan(1)-pi", 0},
		{"arctan(1)*4-pi+asin(0)+acos(1)+arcsin(0)+arccos(1)", 0},
		{"sinh(0)+cosh(0)+tanh(0)", 1},
		{"b1*x+b2*x2+b3*load", 0.75 * 1.5 - 4 - 1.25 * 0.25},
		{"B1 * X", 0.75 * 1.5},
		{"x2^2*x2", -8},
		{"EXP(0)", 1},
		{"0^0", 1},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		cr_assert(fabs(value_of(cases[i].text) - cases[i].value) < 1e-14, "%s = %.17g", cases[i].text,
			  value_of(cases[i].text));
}

Test(expression, errors_name_the_column)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", "column 1: the formula ends here"},
		{"b1*", "column 4: the formula ends here"},
		{"b1*(x+2", "column 8: the formula ends here"},
		{"b1*(x+2]", "column 8: found ']'"},
		{"[x)", "column 3: found ')'"},
		{"2x", "column 2: found 'x'"},
		{"b1 b2", "column 4: found 'b2'"},
		{"b1+y", "column 4: found 'y'"},
		{"foo(x)", "column 1: found 'foo'"},
		{"b1*sin x", "column 4: found 'sin'"},
		{"x)", "column 2: found ')'"},
		{"x+*2", "column 3: found '*'"},
		{"1e999999", "column 1: found '1e999999'"},
		{"x;y", "column 2: found ';'"},
		{"x\x01", "column 2: found byte 0x01"},
		{"..5", "column 1: found '..5'"},
		{"exp()", "column 5: found ')'"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct error err = {0};

		cr_assert_null(expression_parse(cases[i].text, &names, &err), "'%s' was taken", cases[i].text);
		cr_assert(strstr(err.text, cases[i].message) == err.text, "'%s': %s, wanted %s", cases[i].text,
			  err.text, cases[i].message);
		cr_assert_null(expression_parse(cases[i].text, &names, NULL));
	}
}

Test(expression, deep_and_long_formulas_are_refused_not_crashed_on)
{
	enum { LENGTH = 100000 };
	static const char kinds[] = "(-x^+";
	char *text = malloc(LENGTH + 1);
	struct error err;

	for (const char *kind = kinds; *kind; kind++) {
		for (int i = 0; i < LENGTH; i++)
			text[i] = *kind == 'x' ? (i % 2 ? '+' : 'x') : (*kind == '^' ? (i % 2 ? '^' : 'x') : *kind);
		text[LENGTH] = '\0';
		cr_assert_null(expression_parse(text, &names, &err));
	}
	free(text);
}

/* A random formula as text, defined and smooth near the points used: arguments stay within the functions' domains. */
static size_t random_formula(struct rng *rng, int depth, char *out, size_t capacity)
{
	static const char *const leaves[] = {"b1", "b2", "b3", "x", "x2", "1.5", "0.3", "pi"};
	static const char *const unary[] = {
		"exp(-0.1*(%s)^2)", "log(1.1+(%s)^2)", "sqrt(0.5+(%s)^2)",  "sin(%s)",           "cos(%s)",
		"atan(%s)",         "tanh(%s)",        "asin(0.9*sin(%s))", "acos(0.9*cos(%s))", "(%s)^3",
		"(1.2+sin(%s))^b1", "-(%s)",           "sinh(sin(%s))",     "cosh(cos(%s))",     "tan(0.5*tanh(%s))",
		"log10(2+(%s)^2)",  "abs(2+sin(%s))",  "(1.5+(%s)^2)^(-2)"};
	static const char *const binary[] = {"(%s)+(%s)", "(%s)-(%s)", "(%s)*(%s)", "(%s)/(1.3+(%s)^2)"};
	char *left, *right;
	size_t length;

	if (depth == 0)
		return (size_t)snprintf(out, capacity, "%s", leaves[rng_below(rng, 8)]);
	left = malloc(capacity);
	right = malloc(capacity);
	random_formula(rng, depth - 1, left, capacity);
	random_formula(rng, depth - 1, right, capacity);
	if (rng_below(rng, 2))
		length = (size_t)snprintf(out, capacity, unary[rng_below(rng, 18)], left);
	else
		length = (size_t)snprintf(out, capacity, binary[rng_below(rng, 4)], left, right);
	free(left);
	free(right);
	return length;
}

/* Richardson extrapolation of central differences in long double: accurate to about ten digits. */
static long double difference(const struct expression *expression, const long double *x, const long double *b, int j,
			      long double *scratch)
{
	long double slope[2];

	for (int k = 0; k < 2; k++) {
		long double step = 2e-4L / (k + 1), moved[3], value[2];

		for (int side = 0; side < 2; side++) {
			memcpy(moved, b, sizeof moved);
			moved[j] += side ? -step : step;
			value[side] = expression_evaluate_extended(expression, x, moved, NULL, scratch);
		}
		slope[k] = (value[0] - value[1]) / (2 * step);
	}
	return (4 * slope[1] - slope[0]) / 3;
}

Test(expression, derivatives_agree_with_finite_differences)
{
	enum { CAPACITY = 1 << 16 };
	static char text[CAPACITY];
	const long double x[] = {0.7L, -0.4L, 1.1L};
	struct rng rng;
	int judged = 0;

	rng_seed(&rng, 7);
	for (int round = 0; round < 3000; round++) {
		long double b[] = {rng_uniform(&rng) + 0.2, rng_uniform(&rng) - 1.2, rng_uniform(&rng) + 1};
		double narrow_x[] = {0.7, -0.4, 1.1}, narrow_b[] = {(double)b[0], (double)b[1], (double)b[2]};
		double narrow_gradient[3], *narrow_scratch;
		long double gradient[3], *scratch, value;
		struct expression *expression;

		random_formula(&rng, 1 + (int)rng_below(&rng, 4), text, CAPACITY);
		expression = parse(text);
		scratch = malloc(expression_scratch(expression) * sizeof *scratch);
		narrow_scratch = malloc(expression_scratch(expression) * sizeof *narrow_scratch);
		value = expression_evaluate_extended(expression, x, b, gradient, scratch);
		expression_evaluate(expression, narrow_x, narrow_b, narrow_gradient, narrow_scratch);
		for (int j = 0; j < 3 && fabsl(value) < 1e4L; j++) {
			long double wanted = difference(expression, x, b, j, scratch);
			long double size = 1 + fabsl(value) + fabsl(wanted);

			/* The curvature of a product of many terms is too large for finite differences. */
			if (fabsl(wanted) > 1e3L)
				continue;
			cr_assert(fabsl(gradient[j] - wanted) <= 1e-9L * size * size, "%s, b%d: %.12Lg, wanted %.12Lg",
				  text, j + 1, gradient[j], wanted);
			cr_assert(fabs(narrow_gradient[j] - (double)gradient[j]) <= 1e-9 * (double)(size * size),
				  "%s, b%d: %.17g in double", text, j + 1, narrow_gradient[j]);
			judged++;
		}
		free(scratch);
		free(narrow_scratch);
		expression_destroy(expression);
	}
	cr_assert(judged > 8000, "%d", judged);
}

Test(expression, derivatives_hold_where_naive_rules_give_nan)
{
	static const struct {
		const char *text;
		double b1, slope;
	} cases[] = {
		{"b1^2", 0, 0},          {"b1^1", 0, 1},       {"b1^0", 0, 0},           {"x^b1-x^b1", 1, 0},
		{"0*log(b1)", 0, 0},     {"abs(b1)", 0, 0},    {"b1*0+b1", 3, 1},        {"b1^1.5", 0, 0},
		{"(b1*b1)/b1", 2, 1},    {"(0)^b1", 2, 0},     {"(-2)^b1*0", 2, 0},      {"exp(-b1*1e6)", 5, 0},
		{"(0*x2/b1)^0.5", 3, 0}, {"sqrt(0*b1)", 3, 0}, {"(0/b1)^(b1/10)", 3, 0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct expression *expression = parse(cases[i].text);
		double *scratch = malloc(expression_scratch(expression) * sizeof *scratch);
		double b[] = {cases[i].b1, 0, 0}, gradient[3];

		expression_evaluate(expression, at_x, b, gradient, scratch);
		cr_assert_eq(gradient[0], cases[i].slope, "%s at %g: %g", cases[i].text, cases[i].b1, gradient[0]);
		free(scratch);
		expression_destroy(expression);
	}
}

Test(expression, knows_in_what_it_is_affine)
{
	static const struct {
		const char *text;
		bool mask[3];
	} cases[] = {
		{"b1*(1-exp(-b2*x))", {true, false, true}},
		{"b1+b2*x+b3*x^2", {true, true, true}},
		{"(b1+b2*x)/(1+b3*x)", {true, true, false}},
		{"exp(-b1*x)/(b2+b3*x)", {false, false, false}},
		{"b1*b2*x", {true, false, true}},
		{"log(b1)+b2", {false, true, true}},
		{"(b1+b2)/x-b3*sin(x)", {true, true, true}},
		{"b1^2+b2^1", {false, true, true}},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct expression *expression = parse(cases[i].text);
		bool mask[3];

		expression_affine_parameters(expression, mask);
		for (int j = 0; j < 3; j++)
			cr_assert_eq(mask[j], cases[i].mask[j], "%s, b%d", cases[i].text, j + 1);
		expression_destroy(expression);
	}
}

Test(expression, says_what_it_uses)
{
	struct expression *expression = parse("b1*Load + 0*b3");

	cr_assert(expression_uses_parameter(expression, 0) && !expression_uses_parameter(expression, 1) &&
		  expression_uses_parameter(expression, 2));
	cr_assert(!expression_uses_predictor(expression, 0) && expression_uses_predictor(expression, 2));
	expression_destroy(expression);
}
