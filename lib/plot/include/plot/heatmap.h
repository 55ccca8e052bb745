/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws a matrix in colours (viridis: even in lightness, safe for colour-blind readers and in grey) with row and column
 * labels, separators between groups such as racks, a colour bar, and hatched cells for missing values (grey cells in
 * large matrices). heatmap_save() keeps nothing of its arguments; different threads may draw different pictures at the
 * same time.
 */
#ifndef PLOT_HEATMAP_H
#define PLOT_HEATMAP_H

#include <stdbool.h>
#include <stddef.h>

#include <base/error.h>

struct heatmap {
	const char *title, *subtitle; /* NULL = none */
	const char *unit;             /* text along the colour bar: "RTT p50 (µs)" */
	size_t rows, columns;
	const double *values;             /* rows * columns, row by row; NAN = missing */
	const char *const *row_labels;    /* NULL = none; if they do not fit, only every n-th is drawn */
	const char *const *column_labels; /* NULL = none */
	const size_t *row_groups;         /* first row of each group after the first, ascending; NULL = none */
	size_t row_group_count;
	const size_t *column_groups;
	size_t column_group_count;
	const char *row_title, *column_title; /* NULL = none */
	bool logarithmic;  /* a cell's colour follows the logarithm of its value; values <= 0 then count as missing */
	bool print_values; /* print the values into the cells if they fit */
	double minimum, maximum; /* values with the first and the last colour; both 0 = the smallest and the largest of
				    the values */
	int width, height;       /* pixels; 0 = computed from the number of rows and columns */
};

/*
 * Draws the heat map to an SVG or PNG file, by the ending of `path` (.svg or .png). The file is written whole or not at
 * all. Returns 0, or -errno with err set.
 */
int heatmap_save(const struct heatmap *heatmap, const char *path, struct error *err);

#endif
