/* SPDX-License-Identifier: BSD-3-Clause */
/* The work of nomora fit on files: settings, sweeps, formulas, comparisons. */
#ifndef FITTING_FILES_FIT_FILES_H
#define FITTING_FILES_FIT_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <base/options.h>
#include <fitting/curve/fit.h>
#include <model/curve.h>

/* The pictures to draw of a fit. */

struct fit_plots {
	struct option_list files; /* .svg or .png */
	bool log_x, zoom_y;       /* logarithmic x axis; y axis around the data, not from 0 (figures/figures.h) */
};

/*
 * Reads files of sweeps, fits a curve of each model to each sweep, draws the curves and saves them to files. One
 * thread.
 */

enum { FIT_MODELS_MAXIMUM = 12 };

struct fit_sweeps_settings {
	const char *output; /* file (curve.json) or folder to save the curves to; "-" = stdout; NULL = do not save */
	const char *application; /* name of the curve's application; NULL = from the sweep's log or file name */
	struct observation_settings observing;
	struct fit_settings fitting;
	size_t model_count;             /* more than 1 only if there is one sweep: fits each model to it */
	int models[FIT_MODELS_MAXIMUM]; /* as fit_settings.family */
	struct fit_plots plots;
	bool quiet; /* do not log which metric is fitted */
};

/*
 * Sets the models from a comma-separated list of names, and the degree of polynomials (0 = not given). Returns 0 or
 * -EINVAL with err set.
 */
int fit_sweeps_set_models(struct fit_sweeps_settings *settings, const char *names, int degree, struct error *err);
/*
 * Sets the threshold and its form. threshold_us: the threshold; 0 = no threshold; NAN = the fit finds it. continuous:
 * the threshold is a hinge. Otherwise a given threshold is a jump, and the fit chooses the form of a threshold that it
 * finds. Call it after fit_sweeps_set_models(). Returns 0 or -EINVAL with err set.
 */
int fit_sweeps_set_threshold(struct fit_sweeps_settings *settings, double threshold_us, bool continuous,
			     struct error *err);

struct fit_sweeps {
	size_t count; /* sweeps x models */
	struct fit *fits;
};

/*
 * Fits and draws everything before it saves the first curve: if a sweep fails, there is no partial result. Returns 0 or
 * -errno with err set; free with fit_sweeps_free().
 */
int fit_sweeps_run(const struct fit_sweeps_settings *settings, char *const *paths, size_t count,
		   struct fit_sweeps *result, struct error *err);
void fit_sweeps_free(struct fit_sweeps *sweeps);

void fit_sweeps_print(const struct fit_sweeps *sweeps, FILE *out);
/* Returns nomora.fit/1, or NULL if out of memory. */
json_t *fit_sweeps_to_json(const struct fit_sweeps *sweeps);

/* Checks that `name` can be an application's name: printable UTF-8. Returns 0 or -EINVAL with err set. */
int fit_check_application(const char *name, struct error *err);
/* Makes a name from a path: "runs/memcached.csv.gz" -> "memcached". */
void fit_name_of_file(const char *path, char *name, size_t bytes);

/*
 * Fits a user's formula to a file: columns separated by comma, semicolon, tab or blanks; '#' comments; an optional
 * header whose names the formula may use. Without a header the columns are y, then x (or x1, x2, ...). With a header, a
 * predictor (a column that is neither y nor the deviations) also has a second name: x if it is the only predictor,
 * otherwise x1, x2, ... in the order of the columns. A second name that the header contains means the header's column.
 * From a sweep.csv the levels are read: x is the added round trip in us, y the normalised performance. One thread.
 */

/* Strings: NULL = not given. formula_settings_default() gives every field its default. */
struct formula_settings {
	const char *expression;       /* right side of the formula, "b1*(1-exp(-b2*x))" */
	const char *start;            /* starting values, "b1=500,b2=1e-4"; they also name the parameters; required */
	const char *response;         /* left side of the formula, "log(y)"; NULL = y */
	const char *bounds;           /* "b1=0:1000,b2=:1" (either end may be missing) */
	const char *fixed;            /* names of parameters that keep their starting value, "b2,b3" */
	const char *y_column;         /* header name or number from 1; NULL = "y", else the first column */
	const char *deviation_column; /* standard deviation of y; NULL = all equal */
	const char *metric;           /* name of the metric in a sweep.csv; NULL = the first one */
	int loss;                     /* index into formula_loss_names */
	double loss_scale;            /* residual (in deviations) above which a robust loss grows linearly, default 1 */
	int64_t multistart;           /* number of starts, default 8 */
	int64_t seed;                 /* default 1 */
	bool absolute_sigma;
	const char *input;       /* the data file, "-" = stdin */
	const char *output;      /* file to write the formula's curve to (curve.json); NULL = none */
	struct fit_plots plots;  /* pictures to draw of the formula as a curve */
	const char *application; /* name of the curve's application */
	double baseline_rtt_us;  /* round trip of the testbed, for the curve; NAN = the sweep's, if any */
};

extern const char *const formula_loss_names[]; /* "linear", "soft_l1", "huber", NULL: for OPTION_CHOICE */

void formula_settings_default(struct formula_settings *settings);

struct formula_fit;

/*
 * The settings must live until formula_fit_destroy(). Returns NULL with err set on failure; *bad_option is then true if
 * an option caused the failure, and false if the file did.
 */
struct formula_fit *formula_fit_create(const struct formula_settings *settings, bool *bad_option, struct error *err);
void formula_fit_destroy(struct formula_fit *fit); /* NULL is legal */

bool formula_fit_converged(const struct formula_fit *fit);
void formula_fit_print(const struct formula_fit *fit, FILE *out);
/* Returns nomora.fit_expression/1, or NULL if out of memory. */
json_t *formula_fit_to_json(const struct formula_fit *fit);
/* If the settings ask for it, saves and draws the curve. Returns 0 or -errno with err set. */
int formula_fit_save(const struct formula_fit *fit, struct error *err);

/* Compares the curve of the first file with that of every other file, by their 95 % bands. One thread. */

struct curve_comparisons {
	char *const *paths; /* borrowed */
	size_t count;       /* curves */
	struct curve **curves;
};

/*
 * Reads `count` curves (2 or more) and draws the pictures. Returns 0 or -errno with err set; free with
 * curve_comparisons_free().
 */
int curve_comparisons_load(char *const *paths, size_t count, const struct fit_plots *plots,
			   struct curve_comparisons *comparisons, struct error *err);
void curve_comparisons_free(struct curve_comparisons *comparisons);

/* Returns true if any curve differs from the first by more than their bands allow. */
bool curve_comparisons_differ(const struct curve_comparisons *comparisons);
void curve_comparisons_print(const struct curve_comparisons *comparisons, FILE *out);
/* Returns nomora.curve_comparison/1 for two files, nomora.curve_comparisons/1 for more. NULL if out of memory. */
json_t *curve_comparisons_to_json(const struct curve_comparisons *comparisons);

/* The settings of nomora fit and their option rows. Plain data; strings belong to the caller. */

struct fit_files_settings {
	const char *output, *model, *metric, *application;
	struct fit_plots plots;
	double threshold_us, baseline_rtt_us;
	int64_t degree, replicates, seed;
	bool continuous, absolute_sigma, without_outliers, without_disturbed, compare, json, quiet;
	struct formula_settings expression;
};

extern const struct option_row fit_files_rows[];
void fit_files_default(struct fit_files_settings *settings);

/* Refuses options that the mode (sweeps, --compare, --expr) does not use. Returns 0 or -EINVAL with err set. */
int fit_files_check(const struct fit_files_settings *settings, struct error *err);

/* Converts the settings for `operands` sweep files, and checks them. Returns 0 or -EINVAL with err set. */
int fit_files_sweeps(const struct fit_files_settings *settings, int operands, struct fit_sweeps_settings *sweeps,
		     struct error *err);

#endif
