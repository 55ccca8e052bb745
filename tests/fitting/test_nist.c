/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/quantile.h>

#include "nist.h"

static const char *const nonlinear_sets[] = {
	"nonlinear/Bennett5", "nonlinear/Chwirut1", "nonlinear/Chwirut2", "nonlinear/DanWood", "nonlinear/ENSO",
	"nonlinear/Eckerle4", "nonlinear/Gauss1",   "nonlinear/Gauss2",   "nonlinear/Gauss3",  "nonlinear/Kirby2",
	"nonlinear/Lanczos1", "nonlinear/Lanczos3", "nonlinear/MGH09",    "nonlinear/MGH10",   "nonlinear/Misra1a",
	"nonlinear/Misra1b",  "nonlinear/Misra1d",  "nonlinear/Nelson",   "nonlinear/Rat43",   "nonlinear/Roszman1",
	"retyped/BoxBOD",     "retyped/Hahn1",      "retyped/Lanczos2",   "retyped/MGH17",     "retyped/Misra1c",
	"retyped/Rat42",      "retyped/Thurber",
};
static const char *const linear_sets[] = {
	"linear/Longley",  "linear/NoInt1",   "linear/NoInt2", "linear/Pontius", "linear/Wampler1",  "linear/Wampler2",
	"linear/Wampler3", "linear/Wampler5", "retyped/Filip", "retyped/Norris", "retyped/Wampler4",
};
enum {
	NONLINEAR_SETS = sizeof nonlinear_sets / sizeof nonlinear_sets[0],
	LINEAR_SETS = sizeof linear_sets / sizeof linear_sets[0],
};

static void read_set(const char *name, struct nist_set *set)
{
	struct error err = {0};
	char path[4096];

	snprintf(path, sizeof path, "%s/nist/%s.dat", TEST_DATA, name);
	cr_assert_eq(nist_read(path, set, &err), 0, "%s", err.text);
}

/* The acceptance criteria: all parameters to 6 digits, with a median of 9; 95 of 100 standard errors to 6 digits. */
Test(nist, nonlinear_sets_agree_from_both_starts)
{
	static double digits[NONLINEAR_SETS * 2 * NIST_PARAMETERS_MAXIMUM];
	size_t count = 0, errors = 0, errors_good = 0;

	for (int k = 0; k < NONLINEAR_SETS; k++) {
		struct nist_set set;

		read_set(nonlinear_sets[k], &set);
		cr_assert(!set.linear);
		cr_assert_eq(set.start_count, 2, "%s", set.name);
		for (size_t start = 0; start < set.start_count; start++) {
			bool excepted = strcmp(set.name, "Lanczos1") == 0;
			struct error err = {0};
			struct nist_fit fit;

			cr_assert_eq(nist_solve(&set, start, 0, &fit, &err), 0, "%s", err.text);
			cr_assert(fit.converged, "%s, start %zu: %s", set.name, start + 1, fit.reason);
			cr_assert(fit.rss_digits >= (excepted ? 4 : 10), "%s: RSS to %.1f digits", set.name,
				  fit.rss_digits);
			for (size_t j = 0; j < set.parameter_count; j++) {
				cr_assert(fit.value_digits[j] >= 6, "%s, start %zu, %s: %.1f digits", set.name,
					  start + 1, set.parameters[j].name, fit.value_digits[j]);
				digits[count++] = fit.value_digits[j];
				errors += !excepted;
				errors_good += !excepted && fit.error_digits[j] >= 6;
			}
		}
		nist_free(&set);
	}
	quantile_median(digits, count); /* sorts */
	cr_assert(digits[count / 2] >= 9, "median %.2f digits", digits[count / 2]);
	cr_assert((double)errors_good >= 0.95 * (double)errors, "%zu of %zu errors", errors_good, errors);
}

Test(nist, linear_sets_agree)
{
	for (int k = 0; k < LINEAR_SETS; k++) {
		struct error err = {0};
		struct nist_set set;
		struct nist_fit fit;

		read_set(linear_sets[k], &set);
		cr_assert(set.linear);
		cr_assert_eq(nist_solve(&set, 0, 0, &fit, &err), 0, "%s", err.text);
		cr_assert(fit.converged, "%s: %s", set.name, fit.reason);
		/* Powers of Filip's x, up to the tenth, lose digits when they are rounded to double. */
		double least = strcmp(set.name, "Filip") == 0 ? 7 : 9;

		for (size_t j = 0; j < set.parameter_count; j++) {
			cr_assert(fit.value_digits[j] >= least, "%s, %s: %.1f digits", set.name, set.parameters[j].name,
				  fit.value_digits[j]);
			cr_assert(fit.error_digits[j] >= least, "%s, error of %s: %.1f digits", set.name,
				  set.parameters[j].name, fit.error_digits[j]);
		}
		cr_assert(fit.rss_digits >= least && fit.r_squared_digits >= 9, "%s: RSS %.1f, R^2 %.1f", set.name,
			  fit.rss_digits, fit.r_squared_digits);
		nist_free(&set);
	}
}

Test(nist, a_description_is_read_whole)
{
	struct nist_set set;

	read_set("nonlinear/Nelson", &set);
	cr_assert_str_eq(set.name, "Nelson");
	cr_assert_str_eq(set.response, "log[y]");
	cr_assert_str_eq(set.model, "b1 - b2*x1 * exp[-b3*x2]");
	cr_assert_eq(set.predictor_count, 2);
	cr_assert_str_eq(set.predictors[1], "x2");
	cr_assert_eq(set.parameter_count, 3);
	cr_assert_eq(set.parameters[1].start[1], 5e-9);
	cr_assert_eq(set.parameters[2].certified, -5.7701013174E-02);
	cr_assert_eq(set.parameters[2].certified_error, 3.9572366543E-03);
	cr_assert_eq(set.certified_rss, 3.7976833176E+00);
	cr_assert_eq(set.observations, 128);
	cr_assert(set.y[0] == 15 && set.x[0] == 1 && set.x[1] == 180 && set.x[255] == 275);
	nist_free(&set);
	read_set("linear/Longley", &set);
	cr_assert_eq(set.predictor_count, 6);
	cr_assert_eq(set.certified_rss, 836424.055505915);
	cr_assert_eq(set.certified_r_squared, 0.995479004577296);
	cr_assert_eq(set.certified_residual_deviation, 304.854073561965);
	nist_free(&set);
	nist_free(&set);
}

/* A small data set with the given model lines; its numbers have no meaning. */
static int read_model(const char *procedure, const char *model, int parameters, const char *columns, int numbers,
		      struct nist_set *set, struct error *err)
{
	char text[8192], *at = text, *end = text + sizeof text;

	at += snprintf(
		at, end - at,
		"NIST/ITL StRD\nDataset Name:  Shape (Shape.dat)\n\nProcedure:     %s Least Squares Regression\n\n"
		"Data:          1 Response  (y = made up)\n\nModel:         Some Class\n"
		"               %d Parameters (b1 to b%d)\n\n%s\n\n",
		procedure, parameters, parameters, model);
	if (strcmp(procedure, "Nonlinear") == 0) {
		at += snprintf(at, end - at,
			       "          Starting values                  Certified Values\n\n"
			       "        Start 1     Start 2           Parameter     Standard Deviation\n");
		for (int j = 1; j <= parameters; j++)
			at += snprintf(at, end - at, "  b%d =  1  2   3.0E+00  4.0E-01\n", j);
		at += snprintf(at, end - at, "\nResidual Sum of Squares:      1.0E+00\n\n");
	} else {
		at += snprintf(at, end - at,
			       "               Certified Regression Statistics\n\n     Parameter   Estimate    of "
			       "Estimate\n\n");
		for (int j = 0; j < parameters; j++)
			at += snprintf(at, end - at, "        B%d       1.5      0.25\n", j);
		at += snprintf(at, end - at,
			       "\n     R-Squared    0.5\n\n               Certified Analysis of Variance Table\n"
			       "Residual     34     26.6    0.78\n\n");
	}
	at += snprintf(at, end - at, "Data:   %s\n", columns);
	for (int i = 0; i < 12; i++) {
		for (int k = 0; k < numbers; k++)
			at += snprintf(at, end - at, " %d.5E0", i + k + 1);
		at += snprintf(at, end - at, "\n");
	}
	return nist_read_memory("shape.dat", text, (size_t)(at - text), set, err);
}

static const char *without_blanks(const char *text, char *out)
{
	char *at = out;

	for (; *text; text++)
		if (*text != ' ')
			*at++ = *text;
	*at = '\0';
	return out;
}

/* The forms in which NIST writes the models of its 27 nonlinear and 11 linear sets (model lines only). */
Test(nist, every_known_form_of_a_model_is_read)
{
	static const struct {
		const char *procedure, *model, *wanted, *columns;
		int parameters, numbers;
	} cases[] = {
		{"Nonlinear", "   y = (b1+b2*x+b3*x**2+b4*x**3) /\n       (1+b5*x+b6*x**2+b7*x**3)  +  e",
		 "(b1+b2*x+b3*x**2+b4*x**3) / (1+b5*x+b6*x**2+b7*x**3)", "y x", 7, 2},
		{"Nonlinear", "   y = (b1 + b2*x + b3*x**2 + b4*x**3) /\n\n       (1 + b5*x + b6*x**2 + b7*x**3)  +  e",
		 "(b1 + b2*x + b3*x**2 + b4*x**3) / (1 + b5*x + b6*x**2 + b7*x**3)", "y x", 7, 2},
		{"Nonlinear",
		 "   y = b1*exp( -b2*x ) + b3*exp( -(x-b4)**2 / b5**2 ) \n           + b6*exp( -(x-b7)**2 / b8**2 ) + "
		 "e",
		 "b1*exp( -b2*x ) + b3*exp( -(x-b4)**2 / b5**2 ) + b6*exp( -(x-b7)**2 / b8**2 )", "y x", 8, 2},
		{"Nonlinear", "   y = b1 + b2*exp[-x*b4] + b3*exp[-x*b5]  +  e", "b1 + b2*exp[-x*b4] + b3*exp[-x*b5]",
		 "y x", 5, 2},
		{"Nonlinear", "   y = b1 * (1-(1+2*b2*x)**(-.5))  +  e", "b1 * (1-(1+2*b2*x)**(-.5))", "y x", 2, 2},
		{"Nonlinear", "   y = b1 / (1+exp[b2-b3*x])  +  e", "b1 / (1+exp[b2-b3*x])", "y x", 3, 2},
		{"Nonlinear", "   y = b1*(1-exp[-b2*x])  +  e", "b1*(1-exp[-b2*x])", "y x", 2, 2},
		{"Nonlinear",
		 "   pi = 3.141592653589793238462643383279E0\n   y =  b1 - b2*x - arctan[b3/(x-b4)]/pi  +  e",
		 "b1 - b2*x - arctan[b3/(x-b4)]/pi", "y x", 4, 2},
		{"Nonlinear", "   log[y] = b1 - b2*x1 * exp[-b3*x2]  +  e", "b1 - b2*x1 * exp[-b3*x2]", "y x1 x2", 3,
		 3},
		{"Nonlinear", "   y = b1 * (b2+x)**(-1/b3) + error", "b1 * (b2+x)**(-1/b3)", "y x", 3, 2},
		{"Linear", "   y = B0 + B1*x + e", "B0 + B1*x", "y x", 2, 2},
		{"Linear", "   y = B0 + B1*x + B2*(x**2) + ... + B9*(x**9) + B10*(x**10) + e",
		 "B0 + B1*x + B2*(x**2) + B3*(x**3)+ B4*(x**4)+ B5*(x**5)+ B6*(x**6)+ B7*(x**7)+ B8*(x**8)+ B9*(x**9) "
		 "+ "
		 "B10*(x**10)",
		 "y x", 11, 2},
		{"Linear", "   y = B0 + B1*x + ... + B5*(x**5)",
		 "B0 + B1*x + B2*(x**2)+ B3*(x**3)+ B4*(x**4)+ B5*(x**5)", "y x", 6, 2},
		{"Linear", "   y = B0 + B1*x1 + ... + B6*x6 + e", "B0 + B1*x1 + B2*x2+ B3*x3+ B4*x4+ B5*x5+ B6*x6",
		 "y x1 x2 x3 x4 x5 x6", 7, 7},
		{"Linear", "   y = B0 + B1*x + B2*(x**2) + B3*(x**3)+ B4*(x**4) + B5*(x**5)",
		 "B0 + B1*x + B2*(x**2) + B3*(x**3)+ B4*(x**4) + B5*(x**5)", "y x", 6, 2},
	};

	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
		char found[4096], wanted[4096];
		struct error err = {0};
		struct nist_set set;
		int code = read_model(cases[k].procedure, cases[k].model, cases[k].parameters, cases[k].columns,
				      cases[k].numbers, &set, &err);

		cr_assert_eq(code, 0, "%s: %s", cases[k].model, err.text);
		cr_assert_str_eq(without_blanks(set.model, found), without_blanks(cases[k].wanted, wanted));
		cr_assert_eq(set.observations, 12);
		cr_assert_eq(set.parameter_count, cases[k].parameters);
		nist_free(&set);
	}
}

Test(nist, bad_files_are_refused_with_file_and_line)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", "bad.dat"},
		{"hello\nworld\n", "bad.dat:2: Model: no line 'Model:'"},
		{"Model: x\n", "bad.dat:1: Data: no line 'Data:"},
		{"Model: x\n y = b1*x\n Starting values\n b1 = 1 2 3\n b1 = 1 2 3\nData: y x\n",
		 "bad.dat:5: b1: parameter 'b1' is given twice"},
		{"Model: x\n y = b1*x\n Starting values\n b1 = 1 2\n", "bad.dat:4: b1: expected starting values"},
		{"Model: x\n y = b1*x\n Starting values\n b1 = 1 2 3\n b2 = 1 2 3 4\n",
		 "bad.dat:5: b2: expected as many starting values"},
		{"Model: x\n y = b1*x\n Starting values\n b1 = 1 2 3\nResidual Sum of Squares: none\n",
		 "bad.dat:5: Squares: expected a number, found 'none'"},
		{"Model: x\n y = b1*x\n Starting values\n b1 = 1 2 3\nData: y x\n 1 2\n 3\n",
		 "bad.dat:7: Data: expected one number for each column"},
		{"Model: x\n y = b1*x\n Starting values\n b1 = 1 2 3\nData: y x\n 1 nan\n",
		 "bad.dat:6: Data: expected one number for each column"},
		{"Model: x\n y = b1*x\n Starting values\n b1 = 1 2 3\nData: y x\n",
		 "bad.dat:5: Data: the data end with fewer observations"},
		{"Data: 1 Response\n 9 Observations\nModel: x\n y = b1*x\n Starting values\n b1 = 1 2 3\nData: y x\n1 "
		 "2\n",
		 "bad.dat:8: Data: the data end after 1 of the 9 observations"},
		{"Model: x\n y = b1*x+z\n Starting values\n b1 = 1 2 3\nData: y x\n1 2\n",
		 "bad.dat:2: Model: model 'b1*x+z': column 6: found 'z'"},
		{"Model: x\n f(y) = b1*x\n Starting values\n b1 = 1 2 3\nData: y x\n1 2\n",
		 "bad.dat:2: Model: response 'f(y)': column 1: found 'f'"},
		{"Model: x\n Starting values\n b1 = 1 2 3\nData: y x\n1 2\n", "no equation"},
		{"Model: x\n y = b1*x + ... + e\n Starting values\n b1 = 1 2 3\nData: y x\n1 2\n", "'...'"},
		{"Model: x\n y = b1*x\n Starting values\n b1 = 1 2 3\nData: y\n1\n", "at least one predictor"},
	};

	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
		struct error err = {0};
		struct nist_set set;

		cr_assert_lt(nist_read_memory("bad.dat", cases[k].text, strlen(cases[k].text), &set, &err), 0, "%s",
			     cases[k].text);
		cr_assert(strstr(err.text, cases[k].message), "case %zu: %s, wanted %s", k, err.text, cases[k].message);
		nist_free(&set);
	}
}

/* A truncated file is refused, unless only the last newline is missing. */
Test(nist, a_file_cut_anywhere_is_refused)
{
	char path[4096], *text;
	struct nist_set set;
	struct error err;
	size_t bytes;
	FILE *file;

	snprintf(path, sizeof path, "%s/nist/nonlinear/DanWood.dat", TEST_DATA);
	file = fopen(path, "r");
	text = malloc(1 << 16);
	bytes = fread(text, 1, 1 << 16, file);
	fclose(file);
	while (bytes > 0 && strchr(" \r\n", text[bytes - 1]))
		bytes--;
	cr_assert_eq(nist_read_memory("whole", text, bytes, &set, &err), 0, "%s", err.text);
	nist_free(&set);
	for (size_t cut = 0; cut < bytes - 12; cut++)
		cr_assert_lt(nist_read_memory("cut", text, cut, &set, &err), 0, "cut at %zu of %zu", cut, bytes);
	free(text);
}

Test(nist, log_relative_error_counts_digits)
{
	cr_assert_float_eq(nist_log_relative_error(1.0001, 1), 4, 1e-4);
	cr_assert_eq(nist_log_relative_error(2, 2), 15);
	cr_assert_eq(nist_log_relative_error(5, 1), 0);
	cr_assert_eq(nist_log_relative_error(NAN, 1), 0);
	cr_assert_float_eq(nist_log_relative_error(1e-12, 0), 12, 1e-9);
}
