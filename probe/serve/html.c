/* SPDX-License-Identifier: BSD-3-Clause */
#include "pages_priv.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/text_stream.h>

static const char style[] =
	"svg{max-width:100%;height:auto}"
	":root{color-scheme:light dark;--line:#ddd;--head:#f4f4f4;--bad:#a00;--light:75%;--grey:#666}"
	"@media(prefers-color-scheme:dark){:root{--line:#444;--head:#2a2a2a;--bad:#ff8a80;--light:30%;--grey:#aaa}"
	"svg{filter:invert(1) hue-rotate(180deg)}}"
	"body{font:14px system-ui,sans-serif;margin:2em;background:Canvas;color:CanvasText}"
	"table{border-collapse:collapse;margin:1em 0;font-variant-numeric:tabular-nums}"
	"td,th{padding:.25em .6em;text-align:right;border:1px solid "
	"var(--line)}th{background:var(--head);font-weight:600}"
	"td.name{text-align:left}a{color:inherit}td a{text-decoration:none}td a:hover{text-decoration:underline}"
	"td.heat{background:hsl(var(--hue) 85% "
	"var(--light))}.bad{color:var(--bad);font-weight:600}.grey{color:var(--grey)}";

void html_begin(FILE *out, const char *title, bool refresh)
{
	fprintf(out,
		"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
		"content=\"width=device-width\">%s<title>",
		refresh ? "<meta http-equiv=\"refresh\" content=\"5\">" : "");
	xml_print(out, title);
	fprintf(out, "</title><style>%s</style><h1>", style);
	xml_print(out, title);
	fputs("</h1>", out);
}

void html_argument(FILE *out, const char *name, const char *value)
{
	fprintf(out, "%s=", name);
	for (; *value; value++) {
		if (isalnum((unsigned char)*value) || *value == '-' || *value == '.' || *value == '_')
			fputc(*value, out);
		else
			fprintf(out, "%%%02X", (unsigned char)*value);
	}
}

/* Begins a table cell, coloured from yellow (least) to red (most) by the logarithm of the value. */
static void print_cell(FILE *out, double value, double least, double most)
{
	double share = most > least && value > 0 && least > 0 ? log(value / least) / log(most / least) : 0;

	fprintf(out, "<td class=\"heat\" style=\"--hue:%.0f\">", 60 - 60 * share);
}

void html_print_matrix(FILE *out, const struct html_matrix *matrix)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < (size_t)matrix->rows * matrix->columns; i++) {
		least = fmin(least, matrix->values[i]);
		most = fmax(most, matrix->values[i]);
	}
	fputs("<table><tr><th>from \\ to", out);
	for (uint32_t column = 0; column < matrix->columns; column++) {
		fputs("<th>", out);
		xml_print(out, matrix->column_names[column]);
	}
	for (uint32_t row = 0; row < matrix->rows; row++) {
		fputs("<tr><th>", out);
		xml_print(out, matrix->row_names[row]);
		for (uint32_t column = 0; column < matrix->columns; column++) {
			double value = matrix->values[(size_t)row * matrix->columns + column];

			if (isnan(value)) {
				fputs("<td class=\"grey\">&ndash;", out);
				continue;
			}
			print_cell(out, value, least, most);
			fprintf(out, "<a href=\"/%s?", matrix->page);
			html_argument(out, "from", matrix->row_names[row]);
			fputs("&amp;", out);
			html_argument(out, "to", matrix->column_names[column]);
			fprintf(out, "\">%.1f</a>", value);
		}
	}
	fputs("</table>", out);
}

int html_pattern(FILE *out, const struct latency_matrix *live, const struct pattern *pattern)
{
	char *text = NULL;
	size_t bytes;
	FILE *words = text_stream_open(&text, &bytes);

	if (!words)
		return -ENOMEM;
	pattern_print(live, pattern, words);
	if (fclose(words)) {
		free(text);
		return -ENOMEM;
	}
	fputs("<li class=\"bad\">", out);
	xml_print(out, text);
	fputs("</li>", out);
	free(text);
	return 0;
}
