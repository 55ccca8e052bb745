/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A matrix in colours (viridis: even in lightness, safe for colour-blind readers and in grey) with row and column
 * labels, separators between groups such as racks, a colour bar, and hatched cells (grey ones, where there are many)
 * for missing values. Everything is borrowed for the call. One thread.
 */
#ifndef PLOT_HEATMAP_H
#define PLOT_HEATMAP_H

#include <stdbool.h>
#include <stddef.h>

#include <base/error.h>

struct heatmap {
	const char *title, *subtitle; /* NULL = none */
	const char *unit;             /* along the colour bar: "RTT p50 (µs)" */
	size_t rows, columns;
	const double *values;             /* rows * columns, row by row; NAN = missing */
	const char *const *row_labels;    /* NULL = none; if they do not fit, only every n-th is drawn */
	const char *const *column_labels; /* NULL = none */
	const size_t *row_groups;         /* first row of each group after the first, ascending; NULL = none */
	size_t row_group_count;
	const size_t *column_groups;
	size_t column_group_count;
	const char *row_title, *column_title; /* NULL = none */
	bool logarithmic;                     /* colours by the logarithm; values <= 0 then count as missing */
	bool print_values;                    /* into the cells, where they fit */
	double minimum, maximum;              /* range of the colours; both 0 = that of the values */
	int width, height;                    /* pixels; 0 = from the matrix */
};

/* .svg or .png by the name's ending, whole or not at all; 0 or -errno with err set. */
int heatmap_save(const struct heatmap *heatmap, const char *path, struct error *err);

#endif
