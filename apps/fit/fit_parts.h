/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of `nomora fit` besides fitting: pictures, comparison, JSON. */
#ifndef APPS_FIT_PARTS_H
#define APPS_FIT_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include <base/error.h>
#include <base/options.h>
#include <fitting/curve/fit.h>
#include <model/curve.h>

/* Where two curves differ most, over both domains. */
struct fit_difference {
	double x_us, first, second, difference, rms;
};
void fit_compare(const struct curve *first, const struct curve *second, struct fit_difference *difference);

/* Prints the comparison, as text or nomora.curve_comparison/1, and draws it to `plots`. A command_exit. */
int fit_compare_files(const char *first, const char *second, const struct option_list *plots, bool json);

/* One element of nomora.fit/1's "fits". NULL if out of memory. */
json_t *fit_to_json(const struct fit *fit);

#endif
