/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of sweeps to files of curves: each sweep is fitted by each model, drawn and saved. One thread. */
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
	const char *output;      /* curve.json, a folder, "-" = stdout, or NULL */
	const char *application; /* NULL = the sweep's */
	struct observation_settings observing;
	struct fit_settings fitting;
	size_t model_count;             /* more than 1: the candidates of one sweep side by side */
	int models[FIT_MODELS_MAXIMUM]; /* as fit_settings.family */
	struct fit_plots plots;
	bool quiet; /* do not log which metric is fitted */
};

/*
 * Sets the models from their names, separated by commas, and the degree of polynomials (0 = not given).
 * -EINVAL with err set.
 */
int fit_sweeps_set_models(struct fit_sweeps_settings *settings, const char *names, int degree, struct error *err);
/* Fixes the threshold (NAN = not given, 0 = none) and the form; call it after the models. -EINVAL with err set. */
int fit_sweeps_set_threshold(struct fit_sweeps_settings *settings, double threshold_us, bool continuous,
			     struct error *err);

struct fit_sweeps {
	size_t count; /* sweeps x models */
	struct fit *fits;
};

/*
 * Everything is fitted and drawn before the first curve is saved: a sweep that fails leaves no partial result.
 * 0 or -errno with err set; free with fit_sweeps_free().
 */
int fit_sweeps_run(const struct fit_sweeps_settings *settings, char *const *paths, size_t count,
		   struct fit_sweeps *result, struct error *err);
void fit_sweeps_free(struct fit_sweeps *sweeps);

void fit_sweeps_print(const struct fit_sweeps *sweeps, FILE *out);
/* nomora.fit/1. NULL if out of memory. */
json_t *fit_sweeps_to_json(const struct fit_sweeps *sweeps);

/* 0 if `name` can be an application's: printable UTF-8. -EINVAL with err set. */
int fit_check_application(const char *name, struct error *err);
/* "runs/memcached.csv.gz" -> "memcached". */
void fit_name_of_file(const char *path, char *name, size_t bytes);

#endif
