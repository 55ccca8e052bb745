/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page of an experiment: a folder with index.html, which shows every figure, each figure as an SVG file beside it,
 * and tables of published values beside ours. The rows of the tables are kept for the caller to print. The first
 * failure stays in the error of experiment_page_open(); later calls do nothing. One thread.
 */
#ifndef SCHED_EXPERIMENT_PAGE_H
#define SCHED_EXPERIMENT_PAGE_H

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

/* A line each. */
void experiment_rows_print(const struct experiment_rows *rows, FILE *out);

struct experiment_page;

/* Makes the folder if it is missing. rows are appended to. NULL with err set. */
struct experiment_page *experiment_page_open(const char *folder, const char *title, struct experiment_rows *rows,
					     struct error *err);

/* A paragraph; HTML is not escaped. */
void experiment_page_text(struct experiment_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Takes the chart (NULL: out of memory): figureNUMBER.svg and the page, with the text of the subtitle under the title.
 */
void experiment_page_chart(struct experiment_page *page, int number, struct chart *chart);

/* A row of the table below the last figure. */
void experiment_page_row(struct experiment_page *page, const char *what, const char *published, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

void experiment_page_fail(struct experiment_page *page, int code, const char *text);
bool experiment_page_failed(const struct experiment_page *page);

/* Ends the page and frees it: index.html is there whole, or not at all after a failure. 0 or -errno. */
int experiment_page_close(struct experiment_page *page);

#endif
