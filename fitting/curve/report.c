/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>

#include <base/number.h>

#include "fit_priv.h"

/* A searched threshold may end near 0 but not at 0: show values below a picosecond as 0. */
static double shown_us(double us)
{
	return us < 1e-6 ? 0 : us;
}

/* A curve without a threshold may still be flat at first, as Hill's is: so says from where on it is lower. */
static void print_no_threshold(const struct curve *curve, FILE *out)
{
	const double fallen = 0.99;
	size_t i = 0;

	while (i < curve->table_count && curve->evaluated[i] > fallen)
		i++;
	if (i == curve->table_count)
		fprintf(out, "  threshold    none: performance is above %g up to %g us\n", fallen, curve->last_us);
	else
		fprintf(out, "  threshold    none: performance is at most %g from %g us on\n", fallen,
			fmin(CURVE_STEP_US * (double)i, curve->last_us));
}

static void print_head(const struct fit *fit, FILE *out)
{
	const struct curve *curve = fit->curve;
	const struct observations *observations = &fit->observations;
	static const char *const noise_words[] = {"constant", "proportional to performance", "as given in the file"};

	fprintf(out, "%s: %s (%s is better)\n", curve->application, curve->metric,
		observations->metric.better == SWEEP_LOWER ? "lower" : "higher");
	fprintf(out, "  measured     %ld run%s at %zu delay levels, 0 to %g us of added round trip\n",
		observations->runs, number_s((uint64_t)observations->runs), observations->count, curve->domain_high_us);
	if (observations->baseline_known)
		fprintf(out, "  baseline     1 (the file is normalised)\n");
	else
		fprintf(out,
			"  baseline     %.6g %s, deviation %.2g (fitted at delay 0; mean of the runs there: %.6g)\n",
			curve->baseline_value, curve->unit, curve->baseline_deviation, observations->baseline_value);
	if (observations->drift_taken_off)
		fprintf(out, "  drift        corrected by the reference runs at delay 0\n");
	if (observations->run_deviation > 0)
		fprintf(out, "  noise        %.2g %% per run, %s\n", 100 * observations->run_deviation,
			noise_words[observations->noise]);
	if (isfinite(curve->baseline_rtt_us))
		fprintf(out, "  testbed      round trip %.4g us without added delay\n", curve->baseline_rtt_us);
	if (observations->disturbed)
		fprintf(out, "  disturbed    %ld of %ld run%s\n", observations->disturbed, observations->runs,
			number_s((uint64_t)observations->runs));
	fprintf(out, "  curve        %s\n", curve->equation);
	fprintf(out, "  model        %s\n", fit->reason);
	if (fit->flat)
		fprintf(out, "  threshold    none\n");
	else if (curve->threshold.form == CURVE_FORM_NONE)
		print_no_threshold(curve, out);
	else if (curve->threshold.has_interval)
		fprintf(out, "  threshold    %.4g us (%s), 95 %% interval %.4g to %.4g us\n",
			shown_us(curve->threshold.at_us), curve_form_name(curve->threshold.form),
			shown_us(curve->threshold.low_us), curve->threshold.high_us);
	else
		fprintf(out, "  threshold    %.4g us (%s)\n", shown_us(curve->threshold.at_us),
			curve_form_name(curve->threshold.form));
	if (isfinite(fit->form_probability[CURVE_FORM_NONE]) && !fit->flat)
		fprintf(out, "  form         probability of a jump %.1f %%, hinge %.1f %%, no threshold %.1f %%\n",
			100 * fit->form_probability[CURVE_FORM_JUMP], 100 * fit->form_probability[CURVE_FORM_HINGE],
			100 * fit->form_probability[CURVE_FORM_NONE]);
	if (curve->goodness.known)
		fprintf(out, "  goodness     R^2 %.5f, chi^2/dof %.3g, AICc %.1f, BIC %.1f\n",
			curve->goodness.r_squared, curve->goodness.chi_square / fit->dof, curve->goodness.aicc,
			curve->goodness.bic);
	fprintf(out, "  beyond       %.4g above the largest x (smallest value of the table)\n", curve->smallest);
}

static void print_coefficients(const struct fit *fit, FILE *out)
{
	const struct curve *curve = fit->curve;

	if (!curve->coefficient_count)
		return;
	fprintf(out, "\n  %-10s %14s %12s\n", "parameter", "value", "std. error");
	for (size_t k = 0; k < curve->coefficient_count; k++) {
		char error[32] = "-"; /* unknown: the coefficient is not identifiable, or the fit is exact */

		if (isfinite(curve->coefficients[k].standard_error))
			snprintf(error, sizeof error, "%.3g", curve->coefficients[k].standard_error);
		fprintf(out, "  %-10s %14.6g %12s\n", curve->coefficients[k].name, curve->coefficients[k].value, error);
	}
}

static void print_candidates(const struct fit *fit, FILE *out)
{
	fprintf(out, "\n  %-14s %-6s %9s %2s %10s %10s %9s %7s\n", "model", "form", "threshold", "k", "AICc", "BIC",
		"CV error", "weight");
	for (size_t i = 0; i < fit->candidate_count; i++) {
		const struct fit_candidate *candidate = &fit->candidates[i];
		char threshold[24] = "-";

		if (candidate->form != CURVE_FORM_NONE)
			snprintf(threshold, sizeof threshold, "%.4g", shown_us(candidate->threshold_us));
		fprintf(out, "%c %-14s %-6s %9s %2zu %10.1f %10.1f %9.2g %6.1f%%%s\n", i == 0 ? '*' : ' ',
			fit_family_name(candidate->family), curve_form_name(candidate->form), threshold,
			candidate->parameters, candidate->aicc, candidate->bic, candidate->cross_validation,
			100 * candidate->weight, candidate->constrained ? " constrained" : "");
	}
}

static void print_levels(const struct fit *fit, FILE *out)
{
	const struct curve *curve = fit->curve;

	fprintf(out, "\n  %10s %5s %10s %10s %10s %10s\n", "x (us)", "runs", "measured", "deviation", "fitted",
		"residual");
	for (size_t i = 0; i < curve->level_count; i++) {
		const struct curve_level *level = &curve->levels[i];

		fprintf(out, "  %10.6g %5ld %10.4f %10.4f %10.4f %+10.4f%s\n", level->x_us, level->runs,
			level->measured, level->deviation, level->fitted, level->measured - level->fitted,
			level->outliers ? " outlier" : "");
	}
}

static void print_outliers(const struct fit *fit, FILE *out)
{
	const struct observations *observations = &fit->observations;

	if (!observations->outlier_count)
		return;
	fputs("\n  outliers\n", out);
	for (size_t i = 0; i < observations->outlier_count; i++) {
		const struct observation_outlier *outlier = &observations->outliers[i];

		fprintf(out, "  line %-6ld x %g us, value %.6g (%.4f), %+.1f deviations\n", outlier->line,
			outlier->x_us, outlier->value, outlier->normalised, outlier->deviations);
	}
}

void fit_report(const struct fit *fit, FILE *out)
{
	print_head(fit, out);
	print_coefficients(fit, out);
	if (!fit->flat)
		print_candidates(fit, out);
	print_levels(fit, out);
	print_outliers(fit, out);
	for (const char *line = fit->warnings; *line;) {
		size_t bytes = strcspn(line, "\n");

		fprintf(out, "%swarning: %.*s\n", line == fit->warnings ? "\n" : "", (int)bytes, line);
		line += bytes + (line[bytes] == '\n');
	}
}
