/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of nomora fit and their option rows. Plain data; strings belong to the caller. */
#ifndef FITTING_FILES_SETTINGS_H
#define FITTING_FILES_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include <base/options.h>
#include <fitting/files/formula.h>
#include <fitting/files/sweeps.h>

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
