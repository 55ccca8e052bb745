/* SPDX-License-Identifier: BSD-3-Clause */
/* A series of numbers from text, for the step and replay modes. */
#ifndef INJECTOR_SERIES_PRIV_H
#define INJECTOR_SERIES_PRIV_H

#include <stddef.h>

#include <base/error.h>

/* `columns` (1 or 2) numbers a row; values[row * columns + column], the caller frees. */
struct series {
	double *values;
	size_t rows, capacity; /* capacity in values */
};

/*
 * Reads a file of rows with columns separated by `separator`; skips blank lines and # comments. Refuses other text,
 * naming file, line and field. -EINVAL without any row.
 */
int series_read(const char *path, size_t columns, char separator, struct series *series, struct error *err);

/* The same from one text with rows separated by commas: "0:10,5:20". `name` is for messages, which name the row too. */
int series_parse(const char *name, const char *text, size_t columns, char separator, struct series *series,
		 struct error *err);

#endif
