/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include <base/quantile.h>
#include <fitting/expression/expression.h>

enum { LEVELS = 5 };

static const double x_us[LEVELS] = {0, 20, 50, 100, 205};

struct case_of_formula {
	struct expression *model;
	struct nonlinear_result result;
	double values[2], errors[2], covariance[4], y[LEVELS];
	struct expression_curve_source source;
};

static const char *const x_name = "x";
static const char *const names[] = {"a", "s"};

/* a / (1 + x/s), where a and s have a known deviation each and are uncorrelated. */
static void make_case(struct case_of_formula *c, double a, double s)
{
	const struct expression_names known = {&x_name, 1, names, 2};

	memset(c, 0, sizeof *c);
	c->model = expression_parse("a/(1+x/s)", &known, NULL);
	cr_assert(c->model);
	c->values[0] = a;
	c->values[1] = s;
	c->errors[0] = 0.01;
	c->errors[1] = 2;
	c->covariance[0] = 1e-4;
	c->covariance[3] = 4;
	for (size_t i = 0; i < LEVELS; i++)
		c->y[i] = a / (1 + x_us[i] / s);
	c->result = (struct nonlinear_result){.converged = true,
					      .parameters = 2,
					      .observations = LEVELS,
					      .values = c->values,
					      .standard_errors = c->errors,
					      .covariance = c->covariance,
					      .dof = 3};
	c->source = (struct expression_curve_source){.model = c->model,
						     .formula = "a/(1+x/s)",
						     .predictors = 1,
						     .parameter_names = names,
						     .result = &c->result,
						     .x_us = x_us,
						     .y = c->y,
						     .application = "own",
						     .metric = {.name = "qps", .unit = "1/s"},
						     .baseline_value = 100,
						     .baseline_deviation = NAN,
						     .baseline_rtt_us = 39};
}

/* The height a cancels, and so does its deviation: the band depends on s only. */
Test(expression_curve, table_and_band_are_those_of_the_formula_relative_to_its_start)
{
	struct case_of_formula c;
	struct error err = {0};
	struct curve *curve;

	make_case(&c, 1.04, 80);
	curve = expression_curve_create(&c.source, &err);
	cr_assert(curve, "%s", err.text);
	cr_assert_eq(curve->table_count, 22, "to 205 us, rounded to 10: 0..210");
	for (size_t i = 0; i < curve->table_count; i++) {
		double x = fmin(10 * (double)i, 205), p = 1 / (1 + x / 80);
		double half = quantile_student(0.05, 3) * p * p * x / (80 * 80) * 2;

		cr_assert_float_eq(curve->table[i], p, 1e-12);
		cr_assert_float_eq(curve->band_high[i] - p, half, 1e-9, "%g us", x);
		cr_assert_float_eq(p - curve->band_low[i], half, 1e-9);
	}
	cr_assert_eq(curve->level_count, LEVELS);
	cr_assert_float_eq(curve->levels[4].measured, 1 / (1 + 205.0 / 80), 1e-12);
	cr_assert_str_eq(curve->coefficients[1].name, "s");
	cr_assert_eq(curve->baseline_rtt_us, 39);
	cr_assert_str_eq(curve->equation, "p(x) = (a/(1+x/s)) / 1.04");
	curve_destroy(curve);
	expression_destroy(c.model);
}

Test(expression_curve, an_undetermined_covariance_gives_no_band)
{
	struct case_of_formula c;
	struct curve *curve;

	make_case(&c, 1, 80);
	c.covariance[3] = INFINITY;
	curve = expression_curve_create(&c.source, NULL);
	cr_assert(curve);
	cr_assert_null(curve->band_low);
	cr_assert_null(curve->covariance);
	curve_destroy(curve);
	expression_destroy(c.model);
}

Test(expression_curve, what_is_not_performance_is_refused)
{
	struct case_of_formula c;
	struct error err = {0};

	make_case(&c, 1, 80);
	c.y[0] = 100;
	cr_assert_null(expression_curve_create(&c.source, &err));
	cr_assert(strstr(err.text, "expected about 1 at the smallest x"), "%s", err.text);
	expression_destroy(c.model);
	make_case(&c, 1, -800);
	cr_assert_null(expression_curve_create(&c.source, &err));
	cr_assert(strstr(err.text, "expected 1 or less"), "rises: %s", err.text);
	expression_destroy(c.model);
	make_case(&c, 0, 80);
	c.y[0] = 1;
	cr_assert_null(expression_curve_create(&c.source, &err));
	cr_assert(strstr(err.text, "above 0 at x = 0"), "%s", err.text);
	expression_destroy(c.model);
}
