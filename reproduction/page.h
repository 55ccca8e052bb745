/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page of an experiment: a folder with index.html and an SVG file for each figure. index.html shows the figures,
 * and tables with the published values beside ours. The caller also gets the rows of these tables, to print them.
 *
 * The first failure is stored in the error given to experiment_page_open(). After a failure, all calls do nothing until
 * experiment_page_close(). Use a page from one thread only.
 */
#ifndef REPRODUCTION_PAGE_H
#define REPRODUCTION_PAGE_H

#include <stddef.h>
#include <stdio.h>

#include <base/error.h>
#include <plot/chart.h>

struct experiment_row {
	char what[120], published[60], ours[80];
};

struct experiment_rows {
	struct experiment_row *items;
	size_t count, capacity;
};

/* Prints one line for each row. */
void experiment_rows_print(const struct experiment_rows *rows, FILE *out);

struct experiment_page;

/*
 * Makes the folder if it does not exist, and begins a page. The rows of the page's tables are also appended to *rows.
 * Returns NULL with err set on failure.
 */
struct experiment_page *experiment_page_open(const char *folder, const char *title, struct experiment_rows *rows,
					     struct error *err);

/* Adds a paragraph; HTML is not escaped. */
void experiment_page_text(struct experiment_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes the chart to figureNUMBER.svg, adds it to the page, and destroys it. chart NULL: out of memory. */
void experiment_page_chart(struct experiment_page *page, int number, struct chart *chart);

/*
 * Adds a row to the table below the last added figure. what: the quantity; published: its published value; format and
 * the arguments after it: our value, as for printf().
 */
void experiment_page_row(struct experiment_page *page, const char *what, const char *published, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

void experiment_page_fail(struct experiment_page *page, int code, const char *text);
bool experiment_page_failed(const struct experiment_page *page);

/* If no call has failed, writes index.html. Frees the page. Returns 0, or -errno of the first failure. */
int experiment_page_close(struct experiment_page *page);

#endif
