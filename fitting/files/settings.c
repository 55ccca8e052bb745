/* SPDX-License-Identifier: BSD-3-Clause */
#include <fitting/files/fit_files.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#define ROW(kind, ...) OPTION_##kind(struct fit_files_settings, __VA_ARGS__)

const struct option_row fit_files_rows[] = {
	ROW(STRING, output, "output", 'o', "FILE", "curve.json; a folder when there are several sweeps; - for stdout"),
	ROW(LIST, plots.files, "plot", 'p', "FILE", "picture, .svg or .png; repeatable"),
	ROW(FLAG, plots.log_x, "log-x", 0, "logarithmic x axis in pictures"),
	ROW(FLAG, plots.zoom_y, "zoom-y", 0, "y axis in pictures covers only the data, instead of starting at 0"),
	ROW(STRING, metric, "metric", 'm', "NAME", "metric to fit; default: the sweep's first"),
	ROW(STRING, application, "application", 'a', "NAME",
	    "name of the application; default: from SWEEP.csv.log, else the file's name"),
	ROW(DOUBLE, baseline_rtt_us, "baseline-rtt-us", 0, "US", 0, 1e6,
	    "round trip of the testbed without added delay; default: the sweep's"),
	ROW(FLAG, json, "json", 'j', "print the result as JSON"),
	ROW(FLAG, quiet, "quiet", 'q', "no report"),
	OPTION_HEADING("Model"),
	ROW(STRING, model, "model", 0, "NAME",
	    "auto, polynomial, polynomial-1..5, log, exponential, rational, hill, spline, monotone; several, separated "
	    "by commas, are compared"),
	ROW(INTEGER, degree, "degree", 0, "N", 1, 5, "polynomial of this degree"),
	ROW(DOUBLE, threshold_us, "threshold", 0, "US", 0, 1e6, "fix the threshold; 0 = none"),
	ROW(FLAG, continuous, "continuous", 0, "make the curve continuous at the threshold"),
	ROW(FLAG, absolute_sigma, "absolute-sigma", 0,
	    "use the file's deviations as they are: errors are not scaled by chi2/dof"),
	ROW(FLAG, without_outliers, "without-outliers", 0, "exclude outliers"),
	ROW(FLAG, without_disturbed, "without-disturbed", 0,
	    "exclude disturbed runs, which failed a check of the sweep"),
	ROW(INTEGER, replicates, "replicates", 0, "N", 0, 100000, "simulated sweeps for the 95 % band; 0 = no band"),
	ROW(INTEGER, seed, "seed", 0, "N", 0, 9e15, "seed of the simulation and of further starts"),
	OPTION_HEADING("Curves"),
	ROW(FLAG, compare, "compare", 0,
	    "compare the first curve.json with each other one by their 95 % bands; exit 3 if one differs"),
	OPTION_HEADING("Other data"),
	ROW(STRING, expression.expression, "expr", 0, "FORMULA",
	    "fit this formula to a sweep, or to a file of columns: '1/(1+x/s)'"),
	ROW(STRING, expression.start, "start", 0, "LIST", "parameters and their starting values: b1=500,b2=1e-4"),
	ROW(STRING, expression.response, "response", 0, "FORMULA", "left side of the formula, instead of y: 'log(y)'"),
	ROW(STRING, expression.bounds, "bounds", 0, "LIST", "lower and upper bounds of parameters: b1=0:1000,b2=:1"),
	ROW(STRING, expression.fixed, "fix", 0, "LIST", "parameters fixed at their starting values: b2,b3"),
	ROW(STRING, expression.y_column, "y-column", 0, "NAME", "column of y: its name, or its number from 1"),
	ROW(STRING, expression.deviation_column, "deviation-column", 0, "NAME",
	    "column with the standard deviation of y"),
	ROW(CHOICE, expression.loss, "loss", 0, "LOSS", formula_loss_names,
	    "loss function; soft_l1 and huber are robust against outliers"),
	ROW(DOUBLE, expression.loss_scale, "loss-scale", 0, "R", 1e-300, 1e300,
	    "residual, in deviations, above which a robust loss grows linearly"),
	ROW(INTEGER, expression.multistart, "multistart", 0, "N", 1, 100000, "number of starts"),
	OPTION_END,
};

void fit_files_default(struct fit_files_settings *settings)
{
	*settings = (struct fit_files_settings){
		.model = "auto", .threshold_us = NAN, .baseline_rtt_us = NAN, .replicates = 400, .seed = 1};
	formula_settings_default(&settings->expression);
}

/* A mode of the command and the options that it takes. */
struct purpose {
	const char *name; /* for messages */
	const char *takes[24];
};

static const struct purpose for_sweeps = {"a sweep",
					  {"output", "plot", "metric", "application", "baseline-rtt-us", "json",
					   "quiet", "model", "degree", "threshold", "continuous", "absolute-sigma",
					   "without-outliers", "without-disturbed", "replicates", "seed", "log-x",
					   "zoom-y", NULL}};
static const struct purpose curves = {"--compare", {"compare", "plot", "log-x", "zoom-y", "json", NULL}};
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

int fit_files_check(const struct fit_files_settings *settings, struct error *err)
{
	struct fit_files_settings defaults;

	const struct purpose *purpose = settings->compare                 ? &curves
					: settings->expression.expression ? &expression
									  : &for_sweeps;

	fit_files_default(&defaults);
	for (const struct option_row *row = fit_files_rows; row->kind != OPTION_KIND_END; row++) {
		const char *const *taken = purpose->takes;

		while (*taken && row->name && strcmp(*taken, row->name) != 0)
			taken++;
		if (*taken || !option_is_set(row, settings, &defaults))
			continue;
		return error_set(err, EINVAL, "--%s does not apply to %s%s", row->name, purpose->name,
				 purpose == &for_sweeps ? "; it needs --expr" : "");
	}
	return 0;
}

static int check_operands(const struct fit_files_settings *settings, const struct fit_sweeps_settings *sweeps,
			  int operands, struct error *err)
{
	if (settings->application && fit_check_application(settings->application, err) != 0)
		return error_prefix(err, "--application");
	if (operands > 1 && settings->application)
		return error_set(err, EINVAL,
				 "--application is for a single sweep; several are named after their logs or files");
	if (operands > 1 && settings->output && strcmp(settings->output, "-") == 0)
		return error_set(err, EINVAL, "-o -: several curves cannot go to one stream; use -o FOLDER");
	if (sweeps->model_count > 1 && operands > 1)
		return error_set(err, EINVAL,
				 "several models can be compared on one sweep only: expected one SWEEP.csv");
	if (sweeps->model_count > 1 && settings->output)
		return error_set(err, EINVAL,
				 "-o takes one model; leave -o out to compare several, or choose one with --model");
	return 0;
}

int fit_files_sweeps(const struct fit_files_settings *settings, int operands, struct fit_sweeps_settings *sweeps,
		     struct error *err)
{
	*sweeps = (struct fit_sweeps_settings){
		.output = settings->output,
		.application = settings->application,
		.observing = {.metric = settings->metric,
			      .without_outliers = settings->without_outliers,
			      .without_disturbed = settings->without_disturbed,
			      .absolute_sigma = settings->absolute_sigma},
		.plots = settings->plots,
		.quiet = settings->quiet,
	};
	fit_settings_default(&sweeps->fitting);
	sweeps->fitting.absolute_sigma = settings->absolute_sigma;
	sweeps->fitting.replicates = (int)settings->replicates;
	sweeps->fitting.seed = (uint64_t)settings->seed;
	sweeps->fitting.baseline_rtt_us = settings->baseline_rtt_us;
	if (fit_sweeps_set_models(sweeps, settings->model, (int)settings->degree, err) != 0 ||
	    fit_sweeps_set_threshold(sweeps, settings->threshold_us, settings->continuous, err) != 0)
		return -EINVAL;
	return check_operands(settings, sweeps, operands, err);
}
