/* SPDX-License-Identifier: BSD-3-Clause */
/* A series of numbers from text: what the step and replay modes read. */
#ifndef INJECTOR_SERIES_PRIV_H
#define INJECTOR_SERIES_PRIV_H

#include <stddef.h>

#include <base/error.h>

/* `columns` (1 or 2) numbers a row; values[row * columns + column], the caller frees. */
struct series {
	double *values;
	size_t rows;
};

/*
 * Reads a file of rows, columns separated by `separator`; blank lines and # comments are skipped. Refuses what is not a
 * number, naming file, line and field. -EINVAL when there is no row.
 */
int series_read(const char *path, size_t columns, char separator, struct series *series, struct error *err);

/* The same from one text with rows separated by commas: "0:10,5:20". `name` is for messages; they name the row too. */
int series_parse(const char *name, const char *text, size_t columns, char separator, struct series *series,
		 struct error *err);

#endif
