/* SPDX-License-Identifier: BSD-3-Clause */
#include "reproduction.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <base/array.h>
#include <base/file.h>

void experiment_rows_print(const struct experiment_rows *rows, FILE *out)
{
	for (size_t i = 0; i < rows->count; i++)
		fprintf(out, "%-64s %-22s %s\n", rows->items[i].what, rows->items[i].published, rows->items[i].ours);
}

struct experiment_page {
	char folder[PATH_MAX];
	struct file_writer *writer;
	FILE *out;
	struct experiment_rows *rows;
	struct error *err;
	bool in_table, failed;
};

struct experiment_page *experiment_page_open(const char *folder, const char *title, struct experiment_rows *rows,
					     struct error *err)
{
	struct experiment_page *page = calloc(1, sizeof *page);
	char path[PATH_MAX + 16];

	if (!page) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	snprintf(page->folder, sizeof page->folder, "%s", folder);
	page->rows = rows;
	page->err = err;
	if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
		error_set(err, errno, "cannot create %s: %s", folder, strerror(errno));
		free(page);
		return NULL;
	}
	snprintf(path, sizeof path, "%s/index.html", page->folder);
	page->writer = file_writer_open(path, err);
	if (!page->writer) {
		free(page);
		return NULL;
	}
	page->out = file_writer_stream(page->writer);
	fprintf(page->out,
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title>\n"
		"<style>body{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
		"table{border-collapse:collapse;margin:1em 0}"
		"td,th{border:1px solid #999;padding:.2em .6em;text-align:left}svg{max-width:100%%;height:auto}</style>"
		"</head><body>\n<h1>%s</h1>\n",
		title, title);
	return page;
}

void experiment_page_fail(struct experiment_page *page, int code, const char *text)
{
	if (!page->failed && page->err->code == 0)
		error_set(page->err, code, "%s", text);
	page->failed = true;
}

bool experiment_page_failed(const struct experiment_page *page)
{
	return page->failed;
}

static void end_table(struct experiment_page *page)
{
	if (page->in_table)
		fputs("</table>\n", page->out);
	page->in_table = false;
}

void experiment_page_text(struct experiment_page *page, const char *format, ...)
{
	va_list list;

	end_table(page);
	fputs("<p>", page->out);
	va_start(list, format);
	vfprintf(page->out, format, list);
	va_end(list);
	fputs("</p>\n", page->out);
}

void experiment_page_chart(struct experiment_page *page, int number, struct chart *chart)
{
	char path[PATH_MAX + 32], prefix[24];
	char *svg = NULL;

	end_table(page);
	snprintf(prefix, sizeof prefix, "f%d", number);
	snprintf(path, sizeof path, "%s/figure%d.svg", page->folder, number);
	if (chart && !page->failed && chart_save(chart, path, page->err) == 0)
		svg = chart_to_svg(chart, prefix, page->err);
	if (svg)
		fprintf(page->out, "<h2>Figure %d</h2>\n%s\n", number, svg);
	else
		experiment_page_fail(page, ENOMEM, "out of memory");
	free(svg);
	chart_destroy(chart);
}

void experiment_page_row(struct experiment_page *page, const char *what, const char *published, const char *format, ...)
{
	struct experiment_rows *rows = page->rows;
	struct experiment_row *items = array_grow(rows->items, rows->count, &rows->capacity, sizeof *items), *row;
	va_list list;

	if (!items) {
		experiment_page_fail(page, ENOMEM, "out of memory");
		return;
	}
	rows->items = items;
	row = &items[rows->count++];
	snprintf(row->what, sizeof row->what, "%s", what);
	snprintf(row->published, sizeof row->published, "%s", published);
	va_start(list, format);
	vsnprintf(row->ours, sizeof row->ours, format, list);
	va_end(list);
	if (!page->in_table)
		fputs("<table><tr><th>what</th><th>published</th><th>ours</th></tr>\n", page->out);
	page->in_table = true;
	fprintf(page->out, "<tr><td>%s</td><td>%s</td><td>%s</td></tr>\n", row->what, row->published, row->ours);
}

int experiment_page_close(struct experiment_page *page)
{
	int code;

	if (page->failed) {
		file_writer_discard(page->writer);
		code = error_code(page->err, EIO);
	} else {
		end_table(page);
		fputs("</body></html>\n", page->out);
		code = file_writer_commit(page->writer, page->err);
	}
	free(page);
	return code;
}
