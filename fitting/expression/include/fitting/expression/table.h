/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table of numbers with named columns. Fields are separated by commas, semicolons, tabs or blanks: the first of these
 * four that the first line contains separates the fields of all lines. '#' begins a comment line; a header is optional.
 * Without a header the columns are y, then x (or x1, x2, ... if there are several). Values are long double, to keep the
 * decimals. A column that is not used may contain text.
 */
#ifndef FITTING_TABLE_H
#define FITTING_TABLE_H

#include <stddef.h>

#include <base/error.h>

enum { TABLE_COLUMNS_MAXIMUM = 64, TABLE_NAME_BYTES = 32, TABLE_ROWS_MAXIMUM = 10000000 };

struct table_column {
	char name[TABLE_NAME_BYTES];
	long bad_line;                   /* first line whose field is not a finite number; 0 = none */
	char bad_text[TABLE_NAME_BYTES]; /* the text found there, truncated */
};

struct expression_table {
	char *file; /* for messages */
	size_t columns, rows;
	struct table_column column[TABLE_COLUMNS_MAXIMUM];
	long double *values; /* rows x columns, row-major; NaN for text */
	long *lines;         /* rows: each row's line in the file */
};

/*
 * Reads plain text or gzip; "-" = stdin. Returns 0 or -errno with err set (file, line). Free with
 * expression_table_free().
 */
int expression_table_read(const char *path, struct expression_table *table, struct error *err);
int expression_table_read_memory(const char *name, const char *text, size_t bytes, struct expression_table *table,
				 struct error *err);
void expression_table_free(struct expression_table *table); /* zeroed or filled */

/* Returns the index of a column, by name (exact case first, then any case) or by number from 1, or -ENOENT. */
int expression_table_find_column(const struct expression_table *table, const char *name);

/* Returns 0, or -EINVAL if the column contains something other than a number; err then names file, line and field. */
int expression_table_check_column(const struct expression_table *table, size_t column, struct error *err);

#endif
