/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads files of sweeps, fits a curve of each model to each sweep, draws the curves and saves them to files. One
 * thread.
 */
#ifndef FITTING_FILES_SWEEPS_H
#define FITTING_FILES_SWEEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <fitting/curve/fit.h>
#include <fitting/files/plots.h>

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

#endif
