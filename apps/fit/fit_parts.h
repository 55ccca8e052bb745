/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of `nomora fit`: sweeps to curves, comparison of curves, JSON. Each prints its results and errors. */
#ifndef APPS_FIT_PARTS_H
#define APPS_FIT_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include <base/error.h>
#include <base/options.h>
#include <fitting/curve/fit.h>
#include <model/curve.h>

/* Pictures to draw, and how. */
struct fit_plots {
	const struct option_list *files;
	bool log_x, zoom_y;
};

enum { FIT_MODELS_MAXIMUM = 12 };

struct fit_sweeps_settings {
	const char *output;      /* curve.json, a folder, "-" = stdout, or NULL */
	const char *application; /* NULL = the sweep's */
	struct observation_settings observing;
	struct fit_settings fitting;
	size_t model_count;             /* more than 1: the candidates of one sweep side by side */
	int models[FIT_MODELS_MAXIMUM]; /* as fit_settings.family */
	struct fit_plots plots;
	bool json, quiet;
};

/* Fits each sweep by each model, draws, saves and reports the curves. A command_exit. */
int fit_sweeps(const struct fit_sweeps_settings *settings, char *const *paths, size_t count);

/* 0 if `name` can be an application's: printable UTF-8. -EINVAL with err set. */
int fit_check_application(const char *name, struct error *err);
/* "runs/memcached.csv.gz" -> "memcached". */
void fit_name_of_file(const char *path, char *name, size_t bytes);

/* Compares the first curve with each of the others. A command_exit: COMMAND_NEGATIVE if any differs. */
int fit_compare_files(char *const *paths, size_t count, const struct fit_plots *plots, bool json);

/* One element of nomora.fit/1's "fits". NULL if out of memory. */
json_t *fit_to_json(const struct fit *fit);

#endif
