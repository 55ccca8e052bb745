/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table of numbers with named columns: fields separated by commas, semicolons, tabs or blanks (whichever the first
 * line has, in this order of preference), '#' comment lines, an optional header. Without one the columns are y, then x
 * (or x1, x2, ... when there are several). Values are long double, to keep the decimals. A column may contain text if
 * it is not used.
 */
#ifndef FITTING_TABLE_H
#define FITTING_TABLE_H

#include <stddef.h>

#include <base/error.h>

enum { TABLE_COLUMNS_MAXIMUM = 64, TABLE_NAME_BYTES = 32, TABLE_ROWS_MAXIMUM = 10000000 };

struct table_column {
	char name[TABLE_NAME_BYTES];
	long bad_line;                   /* first line whose field is no finite number; 0 = none */
	char bad_text[TABLE_NAME_BYTES]; /* the text found there, truncated */
};

struct expression_table {
	char *file; /* for messages */
	size_t columns, rows;
	struct table_column column[TABLE_COLUMNS_MAXIMUM];
	long double *values; /* rows x columns, row-major; NaN where it is text */
	long *lines;         /* rows: line of the file */
};

/* Plain text or gzip, "-" = stdin. 0 or -errno with err set (file, line). Free with expression_table_free(). */
int expression_table_read(const char *path, struct expression_table *table, struct error *err);
int expression_table_read_memory(const char *name, const char *text, size_t bytes, struct expression_table *table,
				 struct error *err);
void expression_table_free(struct expression_table *table); /* zeroed or filled */

/* Index of a column by name (case-sensitive first, then not) or number from 1; -ENOENT. */
int expression_table_find_column(const struct expression_table *table, const char *name);

/* 0, or -EINVAL with err naming file, line and field if the column contains something other than a number. */
int expression_table_check_column(const struct expression_table *table, size_t column, struct error *err);

#endif
