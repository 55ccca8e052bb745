/* SPDX-License-Identifier: BSD-3-Clause */
/* A series of numbers from text, for the step and replay modes. */
#ifndef INJECTOR_SERIES_PRIV_H
#define INJECTOR_SERIES_PRIV_H

#include <stddef.h>

#include <base/error.h>

/* Rows of `columns` (1 or 2) numbers each, at values[row * columns + column]; the caller frees `values`. */
struct series {
	double *values;
	size_t rows, capacity; /* capacity in values */
};

/*
 * Reads a file of rows with columns separated by `separator`; skips blank lines and # comments. Refuses any other text;
 * the error names file, line and field. Returns 0, or -errno with err set; -EINVAL also if there is no row.
 */
int series_read(const char *path, size_t columns, char separator, struct series *series, struct error *err);

/*
 * Like series_read(), but reads rows from `text`, separated by commas: "0:10,5:20". Error texts contain `name` and the
 * number of the row.
 */
int series_parse(const char *name, const char *text, size_t columns, char separator, struct series *series,
		 struct error *err);

#endif
