/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the curve of the first file with that of every other file, by their 95 % bands. One thread. */
#ifndef FITTING_FILES_COMPARE_H
#define FITTING_FILES_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include <base/error.h>
#include <fitting/files/plots.h>
#include <model/curve.h>

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

#endif
