/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fits a user's formula to a file: columns separated by comma, semicolon, tab or blanks; '#' comments; an optional
 * header whose names the formula may use. Without a header the columns are y, then x (or x1, x2, ...). With a header, a
 * predictor (a column that is neither y nor the deviations) also has a second name: x if it is the only predictor,
 * otherwise x1, x2, ... in the order of the columns. A second name that the header contains means the header's column.
 * From a sweep.csv the levels are read: x is the added round trip in us, y the normalised performance. One thread.
 */
#ifndef FITTING_FILES_FORMULA_H
#define FITTING_FILES_FORMULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <fitting/files/plots.h>

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

#endif
