/* SPDX-License-Identifier: BSD-3-Clause */
/* The formula of each family and form, as printed. */
#include <stdlib.h>

#include <criterion/criterion.h>

#include "fit_priv.h"

static const struct {
	enum fit_family family;
	enum curve_form form;
	double threshold_us, shape[2], coefficients[6];
	char text[160];
} rows[] = {
	{FIT_POLYNOMIAL_1, CURVE_FORM_NONE, 0, {0}, {1.5, -0.25}, "p(x) = 1.5 - 0.25 x"},
	{FIT_POLYNOMIAL_3, CURVE_FORM_NONE, 0, {0}, {-1, 2, -0.5, 0.125}, "p(x) = -1 + 2 x - 0.5 x^2 + 0.125 x^3"},
	{FIT_POLYNOMIAL_2,
	 CURVE_FORM_JUMP,
	 20,
	 {0},
	 {0.9, -0.01, 1e-5},
	 "p(x) = 1 for x < 20 us; 0.9 - 0.01 x + 1e-05 x^2 for x >= 20 us"},
	{FIT_POLYNOMIAL_2,
	 CURVE_FORM_HINGE,
	 20,
	 {0},
	 {-0.01, 1e-5},
	 "p(x) = 1 for x < 20 us; 1 - 0.01 (x - 20) + 1e-05 (x - 20)^2 for x >= 20 us"},
	{FIT_POLYNOMIAL_5,
	 CURVE_FORM_NONE,
	 0,
	 {0},
	 {1, 0, 0, 0, 0, -2},
	 "p(x) = 1 + 0 x + 0 x^2 + 0 x^3 + 0 x^4 - 2 x^5"},
	{FIT_LOG, CURVE_FORM_NONE, 0, {30}, {1, -0.5}, "p(x) = 1 - 0.5 log(1 + x/30)"},
	{FIT_LOG,
	 CURVE_FORM_HINGE,
	 20,
	 {30},
	 {-0.5},
	 "p(x) = 1 for x < 20 us; 1 - 0.5 log(1 + (x - 20)/30) for x >= 20 us"},
	{FIT_LOG,
	 CURVE_FORM_JUMP,
	 20,
	 {30},
	 {0.9, -0.5},
	 "p(x) = 1 for x < 20 us; 0.9 - 0.5 log(1 + (x - 25)/30) for x >= 20 us"},
	{FIT_EXPONENTIAL, CURVE_FORM_NONE, 0, {30}, {0.2, 0.8}, "p(x) = 0.2 + 0.8 exp(-x/30)"},
	{FIT_EXPONENTIAL,
	 CURVE_FORM_HINGE,
	 20,
	 {30},
	 {0.8},
	 "p(x) = 1 for x < 20 us; 1 + 0.8 (exp(-(x - 20)/30) - 1) for x >= 20 us"},
	{FIT_RATIONAL, CURVE_FORM_NONE, 0, {30}, {0.2, 0.8}, "p(x) = 0.2 + 0.8 / (1 + x/30)"},
	{FIT_RATIONAL,
	 CURVE_FORM_HINGE,
	 20,
	 {30},
	 {0.8},
	 "p(x) = 1 for x < 20 us; 1 + 0.8 (1/(1 + (x - 20)/30) - 1) for x >= 20 us"},
	{FIT_HILL, CURVE_FORM_NONE, 0, {30, 2.5}, {0.2, 0.8}, "p(x) = 0.2 + 0.8 / (1 + (x/30)^2.5)"},
	{FIT_HILL,
	 CURVE_FORM_HINGE,
	 20,
	 {30, 2.5},
	 {0.8},
	 "p(x) = 1 for x < 20 us; 1 + 0.8 (1/(1 + ((x - 20)/30)^2.5) - 1) for x >= 20 us"},
	{FIT_MONOTONE, CURVE_FORM_NONE, 0, {0}, {0}, "p(x) = monotone interpolant of pooled levels"},
	{FIT_SPLINE,
	 CURVE_FORM_JUMP,
	 20,
	 {0},
	 {0},
	 "p(x) = 1 for x < 20 us; monotone cubic spline, knots at 25 50 us for x >= 20 us"},
};

Test(equation, each_family_in_each_form)
{
	double levels[] = {0, 10, 25, 50, 100};
	struct problem problem = {.count = 5, .x = levels, .end_us = 100, .knot_count = 2, .knots = {0.25, 0.5}};

	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		struct fit_candidate candidate = {.family = rows[r].family,
						  .form = rows[r].form,
						  .threshold_us = rows[r].threshold_us,
						  .shape = {rows[r].shape[0], rows[r].shape[1]}};
		struct curve_coefficient coefficients[6] = {0};
		struct curve curve = {.coefficients = coefficients};
		char *text;

		for (size_t k = 0; k < 6; k++)
			coefficients[k].value = rows[r].coefficients[k];
		text = equation_text(&problem, &candidate, &curve);
		cr_expect_str_eq(text, rows[r].text, "row %zu: %s", r, text);
		free(text);
	}
}
