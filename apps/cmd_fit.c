/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora fit: fits curves to sweeps, or a user's formula to data, compares curves, or fits NIST's reference sets. */
#include "commands.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <fitting/files/fit_files.h>

static const struct option_usage usage = {
	.command = "nomora fit",
	.operands = "SWEEP.csv... [-o CURVE.json]",
	.summary = "Fit a curve to a sweep: performance by added round trip.",
	.teach = "A sweep is the output of 'nomora sweep' (delay_us,direction,run,metric,unit,better,value), or plain\n"
		 "columns: added round trip in us, performance relative to the baseline[, deviation[, runs]].\n"
		 "\n"
		 "  nomora fit memcached.csv -o memcached.json --plot memcached.svg\n"
		 "  nomora fit memcached.csv redis.csv -o curves/ --plot both.png\n"
		 "  nomora fit plain.csv --degree 3 --threshold 40 -o curve.json\n"
		 "  nomora fit memcached.csv --model hill,exponential --plot forms.svg\n"
		 "  nomora fit --compare memcached.json curves/memcached.json --plot overlay.png\n"
		 "  nomora fit memcached.csv --expr '1/(1+x/s)' --start s=30 -o memcached.json\n"
		 "  nomora fit data.csv --expr 'b1*(1-exp(-b2*x))' --start b1=500,b2=1e-4\n",
	.rows = fit_files_rows,
	.operands_minimum = 0,
	.operands_maximum = -1,
};

static int run_sweeps(const struct fit_files_settings *settings, const struct option_operands *operands,
		      struct error *err)
{
	struct fit_sweeps_settings sweeps;
	struct fit_sweeps result;
	int code = COMMAND_OK;

	if (fit_files_sweeps(settings, operands->count, &sweeps, err) != 0)
		return COMMAND_USAGE;
	if (fit_sweeps_run(&sweeps, operands->items, (size_t)operands->count, &result, err) != 0)
		return COMMAND_FAILED;
	if (settings->json)
		code = command_print_json(fit_sweeps_to_json(&result));
	else if (!settings->quiet && !(settings->output && strcmp(settings->output, "-") == 0))
		fit_sweeps_print(&result, stdout);
	fit_sweeps_free(&result);
	return code;
}

static int check_pictures(const struct fit_files_settings *settings, struct error *err)
{
	for (size_t i = 0; i < settings->plots.files.count; i++)
		if (command_check_ending("--plot", settings->plots.files.items[i], command_pictures, err) != 0)
			return -EINVAL;
	return 0;
}

static int run_compare(const struct fit_files_settings *settings, const struct option_operands *operands,
		       struct error *err)
{
	struct curve_comparisons comparisons;
	int code = COMMAND_OK;

	if (operands->count < 2)
		return command_misused(err, "--compare needs at least two curve files");
	if (curve_comparisons_load(operands->items, (size_t)operands->count, &settings->plots, &comparisons, err) != 0)
		return COMMAND_FAILED;
	if (settings->json)
		code = command_print_json(curve_comparisons_to_json(&comparisons));
	else
		curve_comparisons_print(&comparisons, stdout);
	if (code == COMMAND_OK && curve_comparisons_differ(&comparisons))
		code = COMMAND_NEGATIVE;
	curve_comparisons_free(&comparisons);
	return code;
}

static int run_formula(struct fit_files_settings *settings, const char *input, struct error *err)
{
	struct formula_settings *how = &settings->expression;
	struct formula_fit *fit;
	char name[256];
	bool bad_option;
	int code = COMMAND_OK;

	fit_name_of_file(input, name, sizeof name);
	how->absolute_sigma = settings->absolute_sigma;
	how->seed = settings->seed;
	how->metric = settings->metric;
	how->input = input;
	how->output = settings->output;
	how->plots = settings->plots;
	how->baseline_rtt_us = settings->baseline_rtt_us;
	how->application = settings->application ? settings->application : name;
	fit = formula_fit_create(how, &bad_option, err);
	if (!fit)
		return bad_option ? COMMAND_USAGE : COMMAND_FAILED;
	if (settings->json)
		code = command_print_json(formula_fit_to_json(fit));
	else if (!settings->quiet)
		formula_fit_print(fit, stdout);
	if (code == COMMAND_OK && !formula_fit_converged(fit))
		code = COMMAND_NEGATIVE;
	else if (code == COMMAND_OK)
		code = formula_fit_save(fit, err);
	formula_fit_destroy(fit);
	return code;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	struct fit_files_settings *settings = context;

	if (fit_files_check(settings, err) != 0 || check_pictures(settings, err) != 0)
		return COMMAND_USAGE;
	if (settings->compare)
		return run_compare(settings, operands, err);
	if (operands->count == 0)
		return command_misused(err, "missing operand SWEEP.csv");
	if (!settings->expression.expression)
		return run_sweeps(settings, operands, err);
	if (operands->count != 1)
		return command_misused(err, "--expr fits one file of columns");
	return run_formula(settings, operands->items[0], err);
}

int command_fit(int argc, char **argv)
{
	struct fit_files_settings settings;

	fit_files_default(&settings);
	return command_run(&usage, argc, argv, &settings, run);
}
