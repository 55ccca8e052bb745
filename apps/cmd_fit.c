/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora fit: from sweeps to curves; and the fitter on users' formulas and NIST's reference sets. */
#include "commands.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <fitting/files/compare.h>
#include <fitting/files/formula.h>
#include <fitting/files/sweeps.h>
#include <fitting/nist/report.h>

struct settings {
	const char *output, *model, *metric, *application, *nist;
	struct fit_plots plots;
	double threshold_us, baseline_rtt_us;
	int64_t degree, replicates, seed;
	bool continuous, absolute_sigma, without_outliers, without_disturbed, compare, json, quiet;
	struct formula_settings expression;
};

static const struct option_row rows[] = {
	OPTION_STRING(struct settings, output, "output", 'o', "FILE",
		      "curve.json; a folder when there are several sweeps; - for stdout"),
	OPTION_LIST(struct settings, plots.files, "plot", 'p', "FILE", "picture, .svg or .png; repeatable"),
	OPTION_FLAG(struct settings, plots.log_x, "log-x", 0, "logarithmic x axis in pictures"),
	OPTION_FLAG(struct settings, plots.zoom_y, "zoom-y", 0, "y axis in pictures around the data, not from 0"),
	OPTION_STRING(struct settings, metric, "metric", 'm', "NAME", "metric to fit; default: the sweep's first"),
	OPTION_STRING(struct settings, application, "application", 'a', "NAME",
		      "default: the plan's, from SWEEP.csv.log, or the file's name"),
	OPTION_DOUBLE(struct settings, baseline_rtt_us, "baseline-rtt-us", 0, "US", 0, 1e6,
		      "round trip of the testbed without added delay; default: the sweep's"),
	OPTION_FLAG(struct settings, json, "json", 'j', "print the result as JSON"),
	OPTION_FLAG(struct settings, quiet, "quiet", 'q', "no report"),
	OPTION_HEADING("Model"),
	OPTION_STRING(struct settings, model, "model", 0, "NAME",
		      "auto, polynomial, polynomial-1..5, log, exponential, rational, hill, spline, monotone; "
		      "several, with commas, are fitted side by side"),
	OPTION_INTEGER(struct settings, degree, "degree", 0, "N", 1, 5, "polynomial of this degree"),
	OPTION_DOUBLE(struct settings, threshold_us, "threshold", 0, "US", 0, 1e6, "fix the threshold; 0 = none"),
	OPTION_FLAG(struct settings, continuous, "continuous", 0, "continuous at the threshold"),
	OPTION_FLAG(struct settings, absolute_sigma, "absolute-sigma", 0,
		    "use the file's deviations as they are: errors are not scaled by chi2/dof"),
	OPTION_FLAG(struct settings, without_outliers, "without-outliers", 0, "exclude outliers"),
	OPTION_FLAG(struct settings, without_disturbed, "without-disturbed", 0,
		    "exclude runs that failed a gate of the sweep"),
	OPTION_INTEGER(struct settings, replicates, "replicates", 0, "N", 0, 100000,
		       "simulated sweeps behind the 95 % band; 0 = no band"),
	OPTION_INTEGER(struct settings, seed, "seed", 0, "N", 0, 9e15, "seed of the simulation and of further starts"),
	OPTION_HEADING("Curves"),
	OPTION_FLAG(
		struct settings, compare, "compare", 0,
		"compare curve.json files, the first with each other one, by their 95 % bands; exit 3 if they differ"),
	OPTION_HEADING("Other data"),
	OPTION_STRING(struct settings, nist, "nist", 0, "FILE",
		      "fit a NIST StRD .dat file and compare with its certified values"),
	OPTION_STRING(struct settings, expression.expression, "expr", 0, "FORMULA",
		      "fit this formula to a sweep, or to a file of columns: '1/(1+x/s)'"),
	OPTION_STRING(struct settings, expression.start, "start", 0, "LIST",
		      "parameters and their starting values: b1=500,b2=1e-4"),
	OPTION_STRING(struct settings, expression.response, "response", 0, "FORMULA", "left side: 'log(y)'"),
	OPTION_STRING(struct settings, expression.bounds, "bounds", 0, "LIST", "b1=0:1000,b2=:1"),
	OPTION_STRING(struct settings, expression.fixed, "fix", 0, "LIST",
		      "parameters fixed at their starting values: b2,b3"),
	OPTION_STRING(struct settings, expression.y_column, "y-column", 0, "NAME", "name or number from 1"),
	OPTION_STRING(struct settings, expression.deviation_column, "deviation-column", 0, "NAME",
		      "standard deviation of y"),
	OPTION_CHOICE(struct settings, expression.loss, "loss", 0, "LOSS", formula_loss_names,
		      "loss function; soft_l1 and huber are robust against outliers"),
	OPTION_DOUBLE(struct settings, expression.loss_scale, "loss-scale", 0, "R", 1e-300, 1e300,
		      "residual, in deviations, above which a robust loss grows linearly"),
	OPTION_INTEGER(struct settings, expression.multistart, "multistart", 0, "N", 1, 100000, "number of starts"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora fit",
	.operands = "SWEEP.csv... [-o CURVE.json]",
	.summary = "Fit a curve to a sweep: performance relative to the baseline by added round trip (us).",
	.teach = "A sweep is the output of 'nomora sweep' (delay_us,direction,run,metric,unit,better,value), or plain\n"
		 "columns: added round trip in us, performance relative to the baseline[, deviation[, runs]].\n"
		 "\n"
		 "  nomora fit memcached.csv -o memcached.json --plot memcached.svg\n"
		 "  nomora fit memcached.csv redis.csv -o curves/ --plot both.png\n"
		 "  nomora fit plain.csv --degree 3 --threshold 40 -o curve.json\n"
		 "  nomora fit memcached.csv --model hill,exponential --plot forms.svg\n"
		 "  nomora fit --compare memcached.json curves/memcached.json --plot overlay.png\n"
		 "  nomora fit --nist Misra1a.dat\n"
		 "  nomora fit memcached.csv --expr '1/(1+x/s)' --start s=30 -o memcached.json\n"
		 "  nomora fit data.csv --expr 'b1*(1-exp(-b2*x))' --start b1=500,b2=1e-4\n",
	.rows = rows,
	.operands_minimum = 0,
	.operands_maximum = -1,
};

static int usage_error(const char *text)
{
	struct error err = {0};

	error_set(&err, EINVAL, "%s", text);
	command_fail(&err, COMMAND_USAGE);
	fprintf(stderr, "Try '%s --help'.\n", usage.command);
	return COMMAND_USAGE;
}

static int check_operands(const struct settings *settings, const struct fit_sweeps_settings *sweeps, int operands)
{
	struct error err = {0};

	if (settings->application && fit_check_application(settings->application, &err) != 0) {
		error_prefix(&err, "--application");
		return usage_error(err.text);
	}
	if (operands > 1 && settings->application)
		return usage_error("--application names one sweep; several take their files' names");
	if (operands > 1 && settings->output && strcmp(settings->output, "-") == 0)
		return usage_error("-o -: several curves cannot share one stream; name a folder");
	if (sweeps->model_count > 1 && operands > 1)
		return usage_error("several models are compared on one sweep");
	if (sweeps->model_count > 1 && settings->output)
		return usage_error("-o takes one model; leave -o out to compare several, or choose one with --model");
	return 0;
}

static int run_sweeps(const struct settings *settings, const struct option_operands *operands)
{
	struct fit_sweeps_settings sweeps = {
		.output = settings->output,
		.application = settings->application,
		.observing = {.metric = settings->metric,
			      .without_outliers = settings->without_outliers,
			      .without_disturbed = settings->without_disturbed,
			      .absolute_sigma = settings->absolute_sigma},
		.plots = settings->plots,
		.quiet = settings->quiet,
	};
	struct fit_sweeps result;
	struct error err = {0};
	int code;

	fit_settings_default(&sweeps.fitting);
	sweeps.fitting.absolute_sigma = settings->absolute_sigma;
	sweeps.fitting.replicates = (int)settings->replicates;
	sweeps.fitting.seed = (uint64_t)settings->seed;
	sweeps.fitting.baseline_rtt_us = settings->baseline_rtt_us;
	if (fit_sweeps_set_models(&sweeps, settings->model, (int)settings->degree, &err) != 0 ||
	    fit_sweeps_set_threshold(&sweeps, settings->threshold_us, settings->continuous, &err) != 0)
		return usage_error(err.text);
	code = check_operands(settings, &sweeps, operands->count);
	if (code != 0)
		return code;
	if (fit_sweeps_run(&sweeps, operands->items, (size_t)operands->count, &result, &err) != 0)
		return command_fail(&err, COMMAND_FAILED);
	if (settings->json)
		code = command_print_json(fit_sweeps_to_json(&result));
	else if (!settings->quiet && !(settings->output && strcmp(settings->output, "-") == 0))
		fit_sweeps_print(&result, stdout);
	fit_sweeps_free(&result);
	return code;
}

/* The modes of the command and the options that each takes. */
struct purpose {
	const char *name; /* for messages */
	const char *takes[24];
};

static const struct purpose sweeps = {"a sweep",
				      {"output", "plot", "metric", "application", "baseline-rtt-us", "json", "quiet",
				       "model", "degree", "threshold", "continuous", "absolute-sigma",
				       "without-outliers", "without-disturbed", "replicates", "seed", "log-x", "zoom-y",
				       NULL}};
static const struct purpose curves = {"--compare", {"compare", "plot", "log-x", "zoom-y", "json", NULL}};
static const struct purpose nist = {"--nist", {"nist", "json", NULL}};
static const struct purpose expression = {"--expr", {"expr",           "output",
						     "plot",           "metric",
						     "application",    "baseline-rtt-us",
						     "json",           "quiet",
						     "absolute-sigma", "seed",
						     "start",          "response",
						     "bounds",         "fix",
						     "y-column",       "deviation-column",
						     "loss",           "loss-scale",
						     "multistart",     NULL}};

/* Refuses options that the mode would ignore, and pictures of an unknown format. */
static int check_options(const struct settings *settings, const struct settings *defaults)
{
	const struct purpose *purpose = settings->nist                    ? &nist
					: settings->compare               ? &curves
					: settings->expression.expression ? &expression
									  : &sweeps;
	struct error err = {0};

	for (const struct option_row *row = rows; row->kind != OPTION_KIND_END; row++) {
		const char *const *taken = purpose->takes;

		while (*taken && row->name && strcmp(*taken, row->name) != 0)
			taken++;
		if (*taken || !option_is_set(row, settings, defaults))
			continue;
		error_set(&err, EINVAL, "--%s does not apply to %s%s", row->name, purpose->name,
			  purpose == &sweeps ? "; it needs --expr" : "");
		return usage_error(err.text);
	}
	for (size_t i = 0; i < settings->plots.files.count; i++)
		if (command_check_ending("--plot", settings->plots.files.items[i], command_pictures, &err) != 0)
			return usage_error(err.text);
	return 0;
}

static int run_nist(const char *path, bool json)
{
	struct nist_set set;
	struct error err = {0};
	json_t *fits = json_array();
	int exit_code = COMMAND_OK;

	if (nist_read(path, &set, &err) != 0) {
		json_decref(fits);
		return command_fail(&err, COMMAND_FAILED);
	}
	if (!json)
		nist_print_set(&set, stdout);
	for (size_t start = 0; start < (set.linear ? 1 : set.start_count); start++) {
		struct nist_fit fit;

		if (nist_solve(&set, start, 0, &fit, &err) != 0) {
			error_prefix(&err, "%s", path);
			exit_code = command_fail(&err, COMMAND_FAILED);
			break;
		}
		exit_code = fit.converged ? exit_code : COMMAND_NEGATIVE;
		if (json)
			json_array_append_new(fits, nist_fit_to_json(&set, start, &fit));
		else
			nist_print_fit(&set, start, &fit, stdout);
	}
	if (json && exit_code != COMMAND_FAILED && command_print_json(nist_set_to_json(&set, json_incref(fits))) != 0)
		exit_code = COMMAND_FAILED;
	json_decref(fits);
	nist_free(&set);
	return exit_code;
}

static int run_compare(const struct settings *settings, const struct option_operands *operands)
{
	struct curve_comparisons comparisons;
	struct error err = {0};
	int code = COMMAND_OK;

	if (operands->count < 2)
		return usage_error("--compare needs at least two curve files");
	if (curve_comparisons_load(operands->items, (size_t)operands->count, &settings->plots, &comparisons, &err) != 0)
		return command_fail(&err, COMMAND_FAILED);
	if (settings->json)
		code = command_print_json(curve_comparisons_to_json(&comparisons));
	else
		curve_comparisons_print(&comparisons, stdout);
	if (code == COMMAND_OK && curve_comparisons_differ(&comparisons))
		code = COMMAND_NEGATIVE;
	curve_comparisons_free(&comparisons);
	return code;
}

static int run_formula(const struct formula_settings *settings, bool json, bool quiet)
{
	struct error err = {0};
	bool bad_option;
	struct formula_fit *fit = formula_fit_create(settings, &bad_option, &err);
	int code = COMMAND_OK;

	if (!fit)
		return command_fail(&err, bad_option ? COMMAND_USAGE : COMMAND_FAILED);
	if (json)
		code = command_print_json(formula_fit_to_json(fit));
	else if (!quiet)
		formula_fit_print(fit, stdout);
	if (code == COMMAND_OK && !formula_fit_converged(fit))
		code = COMMAND_NEGATIVE;
	else if (code == COMMAND_OK && formula_fit_save(fit, &err) != 0)
		code = command_fail(&err, COMMAND_FAILED);
	formula_fit_destroy(fit);
	return code;
}

static int dispatch(struct settings *settings, const struct settings *defaults, const struct option_operands *operands)
{
	struct formula_settings *how = &settings->expression;
	int code = check_options(settings, defaults);
	char name[256];

	if (code != 0)
		return code;
	if (settings->nist)
		return operands->count ? usage_error("--nist takes no operands besides its file")
				       : run_nist(settings->nist, settings->json);
	if (settings->compare)
		return run_compare(settings, operands);
	if (operands->count == 0)
		return usage_error("missing operand SWEEP.csv");
	if (!how->expression)
		return run_sweeps(settings, operands);
	if (operands->count != 1)
		return usage_error("--expr fits one file of columns");
	how->absolute_sigma = settings->absolute_sigma;
	how->seed = settings->seed;
	how->metric = settings->metric;
	how->input = operands->items[0];
	how->output = settings->output;
	how->plots = settings->plots;
	how->baseline_rtt_us = settings->baseline_rtt_us;
	fit_name_of_file(operands->items[0], name, sizeof name);
	how->application = settings->application ? settings->application : name;
	return run_formula(how, settings->json, settings->quiet);
}

int command_fit(int argc, char **argv)
{
	struct settings settings = {
		.model = "auto", .threshold_us = NAN, .baseline_rtt_us = NAN, .replicates = 400, .seed = 1};
	struct settings defaults;
	struct option_operands operands = {0};
	int code;

	formula_settings_default(&settings.expression);
	defaults = settings;
	code = command_parse(&usage, argc, argv, &settings, &operands);
	if (code < 0)
		code = dispatch(&settings, &defaults, &operands);
	options_free(&operands);
	return code;
}
