/* SPDX-License-Identifier: BSD-3-Clause */
/* The curve as a formula in text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/text_stream.h>

#include "fit_priv.h"

/* Prints a term such as " + 3.1e-3 x^2"; the first term has no leading sign or blanks. */
static void print_term(FILE *out, bool first, double value, const char *rest)
{
	const char *sign = first ? (value < 0 ? "-" : "") : (value < 0 ? " - " : " + ");

	fprintf(out, "%s%.5g%s%s", sign, fabs(value), *rest ? " " : "", rest);
}

static void print_polynomial(FILE *out, const struct curve *curve, size_t degree, size_t lowest, const char *variable)
{
	char rest[64];

	for (size_t k = lowest; k <= degree; k++) {
		rest[0] = '\0';
		if (k == 1)
			snprintf(rest, sizeof rest, "%s", variable);
		else if (k > 1)
			snprintf(rest, sizeof rest, "%s^%zu", variable, k);
		print_term(out, k == 0, curve->coefficients[k - lowest].value, rest);
	}
}

/* Prints the basis function of a family with shape constants. For a hinge, the function's value at 0 is subtracted. */
static void print_shape(FILE *out, const struct fit_candidate *candidate, double coefficient, const char *variable)
{
	const char *minus = candidate->form == CURVE_FORM_HINGE ? " - 1" : "";
	char rest[192];

	switch (candidate->family) {
	case FIT_LOG:
		snprintf(rest, sizeof rest, "log(1 + %s/%.5g)", variable, candidate->shape[0]);
		break;
	case FIT_EXPONENTIAL:
		snprintf(rest, sizeof rest, *minus ? "(exp(-%s/%.5g)%s)" : "exp(-%s/%.5g)%s", variable,
			 candidate->shape[0], minus);
		break;
	case FIT_RATIONAL:
		snprintf(rest, sizeof rest, *minus ? "(1/(1 + %s/%.5g)%s)" : "/ (1 + %s/%.5g)%s", variable,
			 candidate->shape[0], minus);
		break;
	default:
		snprintf(rest, sizeof rest, *minus ? "(1/(1 + (%s/%.5g)^%.4g)%s)" : "/ (1 + (%s/%.5g)^%.4g)%s",
			 variable, candidate->shape[0], candidate->shape[1], minus);
	}
	print_term(out, false, coefficient, rest);
}

static void print_right(FILE *out, const struct problem *problem, const struct fit_candidate *candidate,
			const struct curve *curve)
{
	bool hinge = candidate->form == CURVE_FORM_HINGE;
	struct profile profile = candidate_profile(candidate);
	char variable[48] = "x";

	if (hinge || profile_origin_us(problem, &profile) > 0)
		snprintf(variable, sizeof variable, "(x - %.5g)",
			 hinge ? candidate->threshold_us : profile_origin_us(problem, &profile));
	if (candidate->family == FIT_MONOTONE || candidate->family == FIT_SPLINE) {
		fputs(candidate->family == FIT_SPLINE ? "monotone cubic spline"
						      : "monotone interpolant of pooled levels",
		      out);
		if (candidate->family == FIT_SPLINE && problem->knot_count) {
			fputs(", knots at", out);
			for (size_t k = 0; k < problem->knot_count; k++)
				fprintf(out, " %.4g", problem->knots[k] * problem->end_us);
			fputs(" us", out);
		}
		return;
	}
	if (hinge)
		fputs("1", out);
	if (candidate->family <= FIT_POLYNOMIAL_5) {
		print_polynomial(out, curve, (size_t)(candidate->family - FIT_POLYNOMIAL_1) + 1, hinge, variable);
		return;
	}
	if (!hinge)
		print_term(out, true, curve->coefficients[0].value, "");
	print_shape(out, candidate, curve->coefficients[!hinge].value, variable);
}

char *equation_text(const struct problem *problem, const struct fit_candidate *candidate, const struct curve *curve)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = text_stream_open(&text, &bytes);

	if (!out)
		return NULL;
	fputs("p(x) = ", out);
	if (candidate->form != CURVE_FORM_NONE)
		fprintf(out, "1 for x < %.5g us; ", candidate->threshold_us);
	print_right(out, problem, candidate, curve);
	if (candidate->form != CURVE_FORM_NONE)
		fprintf(out, " for x >= %.5g us", candidate->threshold_us);
	fclose(out);
	return text;
}
