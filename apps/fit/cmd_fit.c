/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora fit: from sweeps to curves; and the fitter on users' formulas and NIST's reference sets. */
#include "commands.h"
#include "fit_expr.h"
#include "fit_parts.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <base/json.h>
#include <base/log.h>
#include <base/name.h>
#include <figures/curves.h>

struct settings {
	const char *output, *model, *metric, *application, *nist;
	struct option_list plots;
	double threshold_us, baseline_rtt_us;
	int64_t degree, replicates, seed;
	bool continuous, absolute_sigma, without_outliers, compare, json, quiet;
	struct fit_expression_settings expression;
};

static const struct option_row rows[] = {
	OPTION_STRING(struct settings, output, "output", 'o', "FILE",
		      "curve.json; a folder when there are several sweeps; - for stdout"),
	OPTION_LIST(struct settings, plots, "plot", 'p', "FILE", "picture, .svg or .png; may be given twice"),
	OPTION_STRING(struct settings, metric, "metric", 'm', "NAME", "which metric; default: the sweep's first"),
	OPTION_STRING(struct settings, application, "application", 'a', "NAME", "default: the sweep file's name"),
	OPTION_DOUBLE(struct settings, baseline_rtt_us, "baseline-rtt-us", 0, "US", 0, 1e6,
		      "round trip of the testbed before any was added"),
	OPTION_FLAG(struct settings, json, "json", 'j', "print the result as JSON"),
	OPTION_FLAG(struct settings, quiet, "quiet", 'q', "no report"),
	OPTION_HEADING("Model"),
	OPTION_STRING(struct settings, model, "model", 0, "NAME",
		      "auto, polynomial, polynomial-1..5, log, exponential, rational, hill, spline, monotone"),
	OPTION_INTEGER(struct settings, degree, "degree", 0, "N", 1, 5, "polynomial of this degree"),
	OPTION_DOUBLE(struct settings, threshold_us, "threshold", 0, "US", 0, 1e6,
		      "threshold here, not found; 0 = none"),
	OPTION_FLAG(struct settings, continuous, "continuous", 0, "continuous at the threshold"),
	OPTION_FLAG(struct settings, absolute_sigma, "absolute-sigma", 0,
		    "take deviations at their word: don't scale errors by chi2/dof"),
	OPTION_FLAG(struct settings, without_outliers, "without-outliers", 0, "leave flagged runs out"),
	OPTION_INTEGER(struct settings, replicates, "replicates", 0, "N", 0, 100000,
		       "simulated sweeps behind the 95 % band; 0 = no band"),
	OPTION_INTEGER(struct settings, seed, "seed", 0, "N", 0, 9e15, "of the simulation (and of further starts)"),
	OPTION_HEADING("Curves"),
	OPTION_FLAG(struct settings, compare, "compare", 0,
		    "the operands are two curve.json: do they agree within what they state? Exit 3 if not"),
	OPTION_HEADING("Other data"),
	OPTION_STRING(struct settings, nist, "nist", 0, "FILE", "run a NIST StRD .dat as it stands"),
	OPTION_STRING(struct settings, expression.expression, "expr", 0, "FORMULA",
		      "fit this formula to a sweep, or to a file of columns: '1/(1+x/s)'"),
	OPTION_STRING(struct settings, expression.start, "start", 0, "LIST", "where parameters start: b1=500,b2=1e-4"),
	OPTION_STRING(struct settings, expression.response, "response", 0, "FORMULA", "left side: 'log(y)'"),
	OPTION_STRING(struct settings, expression.bounds, "bounds", 0, "LIST", "b1=0:1000,b2=:1"),
	OPTION_STRING(struct settings, expression.fixed, "fix", 0, "LIST", "parameters that keep their start: b2,b3"),
	OPTION_STRING(struct settings, expression.y_column, "y-column", 0, "NAME", "name or number from 1"),
	OPTION_STRING(struct settings, expression.deviation_column, "deviation-column", 0, "NAME",
		      "standard deviation of y"),
	OPTION_CHOICE(struct settings, expression.loss, "loss", 0, "LOSS", fit_loss_names,
		      "robust losses tame outliers"),
	OPTION_DOUBLE(struct settings, expression.loss_scale, "loss-scale", 0, "R", 1e-300, 1e300,
		      "residual at which the loss turns"),
	OPTION_INTEGER(struct settings, expression.multistart, "multistart", 0, "N", 1, 100000, "number of starts"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora fit",
	.operands = "SWEEP.csv... [-o CURVE.json]",
	.summary = "Fits a sweep to a curve: added round trip (us) to performance relative to the baseline.",
	.teach = "The sweep is what 'nomora sweep' writes (delay_us,direction,run,metric,unit,better,value), or plain\n"
		 "columns: added round trip in us, normalised performance[, deviation[, runs]].\n"
		 "\n"
		 "  nomora fit memcached.csv -o memcached.json --plot memcached.svg\n"
		 "  nomora fit memcached.csv redis.csv -o curves/ --plot both.png\n"
		 "  nomora fit plain.csv --degree 3 --threshold 40 -o curve.json\n"
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

/* The options as the fitter's settings; 0, or the exit code of what is wrong with them. */
static int translate(const struct settings *settings, struct fit_settings *fit)
{
	bool forced = !isnan(settings->threshold_us);

	fit_settings_default(fit);
	if (fit_family_parse(settings->model, &fit->family) != 0)
		return usage_error(
			"--model: expected auto, polynomial, polynomial-1..5, log, exponential, rational, hill, "
			"spline or monotone");
	if (settings->degree) {
		if (fit->family != FIT_AUTO && fit->family != FIT_ANY_POLYNOMIAL)
			return usage_error("--degree is for polynomials: leave --model out");
		fit->family = FIT_POLYNOMIAL_1 + (int)settings->degree - 1;
	}
	if (fit->family == FIT_MONOTONE && (forced || settings->continuous))
		return usage_error("--model monotone has no threshold: leave --threshold and --continuous out");
	if (forced && settings->threshold_us == 0 && settings->continuous)
		return usage_error("--continuous needs a threshold, and --threshold 0 means none");
	if (settings->continuous)
		fit->form = CURVE_FORM_HINGE;
	else if (forced)
		fit->form = settings->threshold_us > 0 ? CURVE_FORM_JUMP : CURVE_FORM_NONE;
	if (forced && settings->threshold_us > 0)
		fit->threshold_us = settings->threshold_us;
	fit->absolute_sigma = settings->absolute_sigma;
	fit->replicates = (int)settings->replicates;
	fit->seed = (uint64_t)settings->seed;
	fit->baseline_rtt_us = settings->baseline_rtt_us;
	return 0;
}

/* "runs/memcached.csv.gz" -> "memcached". */
static void name_of_file(const char *path, char *name, size_t bytes)
{
	const char *slash = strrchr(path, '/');
	const char *endings[] = {".gz", ".csv"};

	snprintf(name, bytes, "%s", slash ? slash + 1 : path);
	for (size_t i = 0; i < 2; i++) {
		size_t length = strlen(name), ending = strlen(endings[i]);

		if (length > ending && strcmp(name + length - ending, endings[i]) == 0)
			name[length - ending] = '\0';
	}
	if (strcmp(name, "-") == 0 || !*name)
		snprintf(name, bytes, "application");
}

/* What goes into JSON and onto terminals: printable UTF-8. */
static int check_application(const char *name, struct error *err)
{
	json_t *text = name_is_printable(name, "") && name[0] ? json_string(name) : NULL;
	int rc = text ? 0 : error_set(err, EINVAL, "expected UTF-8 without control characters, found '%.200s'", name);

	json_decref(text);
	return rc;
}

static int fit_file(const struct settings *settings, const struct fit_settings *how, const char *path, struct fit *fit,
		    struct error *err)
{
	const struct observation_settings observing = {.metric = settings->metric,
						       .without_outliers = settings->without_outliers,
						       .absolute_sigma = settings->absolute_sigma};
	struct fit_settings named = *how;
	struct observations observations;
	struct sweep *sweep = sweep_load(path, err);
	char name[256];
	int rc;

	if (!sweep)
		return -EINVAL;
	name_of_file(path, name, sizeof name);
	named.application = settings->application ? settings->application : name;
	rc = check_application(named.application, err);
	if (rc != 0) {
		sweep_destroy(sweep);
		return error_prefix(err, "the file's name, for the application (--application gives another)");
	}
	if (sweep->metric_count > 1 && !settings->metric)
		log_info("%s has %zu metrics: fitting '%s'; --metric takes another", path, sweep->metric_count,
			 sweep->metrics[0].name);
	rc = observations_prepare(sweep, &observing, &observations, err);
	sweep_destroy(sweep);
	if (rc != 0)
		return rc;
	rc = fit_observations(&observations, &named, fit, err);
	if (rc != 0) {
		error_prefix(err, "%s", path);
		observations_free(&observations);
	}
	return rc;
}

/* Several sweeps go to a folder, made if need be, each under its application's name. */
static int save_curve(const struct settings *settings, const struct fit *fit, bool several, struct error *err)
{
	char path[PATH_MAX];
	struct stat info;
	int length;

	if (!settings->output)
		return 0;
	if (!several && !(stat(settings->output, &info) == 0 && S_ISDIR(info.st_mode)))
		return curve_save(fit->curve, settings->output, err);
	if (several && mkdir(settings->output, 0777) != 0 && errno != EEXIST)
		return error_set(err, errno, "cannot make the folder %s: %s", settings->output, strerror(errno));
	length = snprintf(path, sizeof path, "%s/%s.json", settings->output, fit->curve->application);
	if (length < 0 || (size_t)length >= sizeof path)
		return error_set(err, ENAMETOOLONG, "%s: the name is too long", settings->output);
	return curve_save(fit->curve, path, err);
}

static int print_json(const struct fit *fits, size_t count, struct error *err)
{
	json_t *root = json_pack("{s:s}", "schema", "nomora.fit/1"), *array = json_array();
	int rc;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, fit_to_json(&fits[i]));
	json_object_set_new(root, "fits", array);
	rc = root ? json_write_file("-", root, err) : error_set(err, ENOMEM, "out of memory");
	json_decref(root);
	return rc;
}

static int draw(const struct settings *settings, const struct fit *fits, size_t count, struct error *err)
{
	const struct curve **curves = calloc(count, sizeof *curves);
	int rc = curves ? 0 : error_set(err, ENOMEM, "out of memory");

	for (size_t i = 0; rc == 0 && i < count; i++)
		curves[i] = fits[i].curve;
	for (size_t i = 0; rc == 0 && i < settings->plots.count; i++)
		rc = figures_curves_save(curves, count, settings->plots.items[i], err);
	free(curves);
	return rc;
}

/* All is fitted and drawn before the first curve is written: a sweep that fails leaves no half of the set. */
static int run(const struct settings *settings, const struct fit_settings *how, char **paths, size_t count,
	       struct error *err)
{
	struct fit *fits = calloc(count, sizeof *fits);
	bool to_stdout = settings->output && strcmp(settings->output, "-") == 0;
	size_t done = 0;
	int rc = fits ? 0 : error_set(err, ENOMEM, "out of memory");

	for (; rc == 0 && done < count; done += rc == 0)
		rc = fit_file(settings, how, paths[done], &fits[done], err);
	if (rc == 0)
		rc = draw(settings, fits, count, err);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = save_curve(settings, &fits[i], count > 1, err);
	if (rc == 0 && settings->json)
		rc = print_json(fits, count, err);
	for (size_t i = 0; rc == 0 && i < count && !settings->json && !settings->quiet && !to_stdout; i++) {
		if (i > 0)
			putchar('\n');
		fit_report(&fits[i], stdout);
	}
	for (size_t i = 0; i < done; i++)
		fit_free(&fits[i]);
	free(fits);
	return rc;
}

static int check_names(const struct settings *settings, int operands)
{
	struct error err = {0};

	if (settings->application && check_application(settings->application, &err) != 0) {
		error_prefix(&err, "--application");
		return usage_error(err.text);
	}
	if (operands > 1 && settings->application)
		return usage_error("--application names one sweep; several take their files' names");
	if (operands > 1 && settings->output && strcmp(settings->output, "-") == 0)
		return usage_error("-o -: several curves do not fit into one stream; name a folder");
	return 0;
}

static int fit_sweeps(const struct settings *settings, const struct option_operands *operands)
{
	struct fit_settings how;
	struct error err = {0};
	int code = check_names(settings, operands->count);

	if (code == 0)
		code = translate(settings, &how);
	if (code != 0)
		return code;
	if (run(settings, &how, operands->items, (size_t)operands->count, &err) != 0)
		return command_fail(&err, COMMAND_FAILED);
	return COMMAND_OK;
}

/* What fit does, and which options mean something to it. */
struct purpose {
	const char *name; /* for messages */
	const char *takes[20];
};

static const struct purpose sweeps = {"a sweep",
				      {"output", "plot", "metric", "application", "baseline-rtt-us", "json", "quiet",
				       "model", "degree", "threshold", "continuous", "absolute-sigma",
				       "without-outliers", "replicates", "seed", NULL}};
static const struct purpose curves = {"--compare", {"compare", "plot", "json", NULL}};
static const struct purpose nist = {"--nist", {"nist", "json", NULL}};
static const struct purpose formula = {"--expr", {"expr",           "output",
						  "plot",           "metric",
						  "application",    "baseline-rtt-us",
						  "json",           "quiet",
						  "absolute-sigma", "seed",
						  "start",          "response",
						  "bounds",         "fix",
						  "y-column",       "deviation-column",
						  "loss",           "loss-scale",
						  "multistart",     NULL}};

static bool is_set(const struct option_row *row, const struct settings *settings, const struct settings *defaults)
{
	const char *field = (const char *)settings + row->offset, *unset = (const char *)defaults + row->offset;

	switch (row->kind) {
	case OPTION_KIND_FLAG:
		return *(const bool *)field;
	case OPTION_KIND_INTEGER:
	case OPTION_KIND_DOUBLE: /* bit by bit: NAN is a default */
		return memcmp(field, unset, sizeof(int64_t)) != 0;
	case OPTION_KIND_STRING:
		return *(const char *const *)field != *(const char *const *)unset;
	case OPTION_KIND_CHOICE:
		return *(const int *)field != *(const int *)unset;
	case OPTION_KIND_LIST:
		return ((const struct option_list *)(const void *)field)->count > 0;
	case OPTION_KIND_END:
	case OPTION_KIND_HEADING:
		break;
	}
	return false;
}

/* What would be ignored is refused, and so is a name that no picture can have. */
static int check_options(const struct settings *settings, const struct settings *defaults)
{
	const struct purpose *purpose = settings->nist                    ? &nist
					: settings->compare               ? &curves
					: settings->expression.expression ? &formula
									  : &sweeps;
	struct error err = {0};

	for (const struct option_row *row = rows; row->kind != OPTION_KIND_END; row++) {
		const char *const *taken = purpose->takes;

		while (*taken && row->name && strcmp(*taken, row->name) != 0)
			taken++;
		if (*taken || !is_set(row, settings, defaults))
			continue;
		error_set(&err, EINVAL, "--%s means nothing to %s: leave it out%s", row->name, purpose->name,
			  purpose == &sweeps ? ", or give --expr" : "");
		return usage_error(err.text);
	}
	for (size_t i = 0; i < settings->plots.count; i++)
		if (command_check_ending("--plot", settings->plots.items[i], command_pictures, &err) != 0)
			return usage_error(err.text);
	return 0;
}

static int dispatch(struct settings *settings, const struct settings *defaults, const struct option_operands *operands)
{
	int code = check_options(settings, defaults);
	char name[256];

	if (code != 0)
		return code;
	if (settings->nist)
		return operands->count ? usage_error("--nist takes its file itself: no operands")
				       : command_fit_nist(settings->nist, settings->json);
	if (settings->compare) {
		if (operands->count != 2)
			return usage_error("--compare needs two curve files");
		return fit_compare_files(operands->items[0], operands->items[1], &settings->plots, settings->json);
	}
	if (operands->count == 0)
		return usage_error("no sweep given");
	if (!settings->expression.expression)
		return fit_sweeps(settings, operands);
	if (operands->count != 1)
		return usage_error("--expr fits one file of columns");
	settings->expression.absolute_sigma = settings->absolute_sigma;
	settings->expression.json = settings->json;
	settings->expression.quiet = settings->quiet;
	settings->expression.seed = settings->seed;
	settings->expression.metric = settings->metric;
	settings->expression.input = operands->items[0];
	settings->expression.output = settings->output;
	settings->expression.plots = &settings->plots;
	settings->expression.baseline_rtt_us = settings->baseline_rtt_us;
	name_of_file(operands->items[0], name, sizeof name);
	settings->expression.application = settings->application ? settings->application : name;
	return command_fit_expression(&settings->expression);
}

int command_fit(int argc, char **argv)
{
	struct settings settings = {
		.model = "auto", .threshold_us = NAN, .baseline_rtt_us = NAN, .replicates = 400, .seed = 1};
	struct settings defaults;
	struct option_operands operands = {0};
	int code;

	fit_expression_defaults(&settings.expression);
	defaults = settings;
	code = command_parse(&usage, argc, argv, &settings, &operands);
	if (code < 0)
		code = dispatch(&settings, &defaults, &operands);
	options_free(&operands);
	return code;
}
