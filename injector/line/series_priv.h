/* SPDX-License-Identifier: BSD-3-Clause */
/* A series of numbers from text, for the modes steps, replay and jitter. */
#ifndef INJECTOR_SERIES_PRIV_H
#define INJECTOR_SERIES_PRIV_H

#include <stddef.h>

#include <base/error.h>
#include <base/file.h>

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

/* A distribution table of netem has multiples of 1/8192 of the standard deviation. */
enum { SERIES_NETEM_SCALE = 8192 };

/*
 * Reads a distribution table of netem (tc-netem(8), `distribution`): at most 16384 integers of -32768 to 32767,
 * separated by white space; # starts a comment. Otherwise like series_read(); series_parse_netem() reads given lines.
 */
int series_read_netem(const char *path, struct series *series, struct error *err);
int series_parse_netem(struct file_lines *lines, struct series *series, struct error *err);

#endif
