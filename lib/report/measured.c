/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the performance predicted for tasks with that measured when the application ran where the scheduler placed
 * it.
 */
#include "report_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/number.h>
#include <plot/chart.h>

enum { PLACEMENTS_MOST = 16, FIELDS = 5 };

static const char header[] = "placement,job,task,predicted,measured";
static const double allowed_difference = 0.1;

/* Means of predicted and measured performance over the tasks of a placement. */
struct placement_mean {
	char name[64];
	size_t tasks;
	double predicted, measured, greatest;
};

static struct placement_mean *mean_of(struct placement_mean *means, size_t *count, const char *name)
{
	for (size_t i = 0; i < *count; i++) {
		if (strcmp(means[i].name, name) == 0)
			return &means[i];
	}
	if (*count == PLACEMENTS_MOST || strlen(name) >= sizeof means->name)
		return NULL;
	means[*count] = (struct placement_mean){0};
	strcpy(means[*count].name, name);
	return &means[(*count)++];
}

static int add_line(struct placement_mean *means, size_t *count, const struct file_lines *lines, char *line,
		    struct error *err)
{
	struct error_place place = {file_lines_name(lines), file_lines_number(lines), NULL};
	struct placement_mean *mean;
	char *fields[FIELDS];
	double value[2];

	if (file_split(line, ',', fields, FIELDS) != FIELDS)
		return error_at(err, place, EINVAL, "expected five fields: %s", header);
	for (int i = 0; i < 2; i++) {
		place.field = i == 0 ? "predicted" : "measured";
		if (number_parse_double(fields[3 + i], &value[i]) != 0 || !isfinite(value[i]) || value[i] < 0)
			return error_at(err, place, EINVAL, "found '%.80s', expected a number from 0", fields[3 + i]);
	}
	place.field = "placement";
	mean = mean_of(means, count, fields[0]);
	if (!mean)
		return error_at(err, place, EINVAL, "expected at most %d placements, of names under 64 bytes",
				PLACEMENTS_MOST);
	mean->tasks++;
	mean->predicted += value[0];
	mean->measured += value[1];
	mean->greatest = fmax(mean->greatest, fabs(value[0] - value[1]));
	return 0;
}

static int read_means(const char *path, struct placement_mean *means, size_t *count, struct error *err)
{
	struct file_lines *lines = file_lines_open(path, err);
	char *line;
	int status;

	if (!lines)
		return error_code(err, EIO);
	status = file_lines_next(lines, &line, err);
	if (status == 0 || (status > 0 && strcmp(line, header) != 0))
		status = error_at(err, (struct error_place){path, 1, NULL}, EINVAL, "expected the line %s", header);
	while (status > 0 && (status = file_lines_next(lines, &line, err)) > 0) {
		if (add_line(means, count, lines, line, err) != 0)
			status = -EINVAL;
	}
	file_lines_close(lines);
	for (size_t i = 0; i < *count; i++) {
		means[i].predicted /= (double)means[i].tasks;
		means[i].measured /= (double)means[i].tasks;
	}
	return status;
}

static int print_chart(FILE *out, const struct placement_mean *means, size_t count, struct error *err)
{
	struct chart *chart = chart_create(&(struct chart_options){
		.height = 300, .y = {.label = "performance", .has_minimum = true, .minimum = 0}});
	double predicted[PLACEMENTS_MOST], measured[PLACEMENTS_MOST];
	const char *names[PLACEMENTS_MOST];

	for (size_t i = 0; i < count; i++) {
		names[i] = means[i].name;
		predicted[i] = means[i].predicted;
		measured[i] = means[i].measured;
	}
	if (chart && chart_set_categories(chart, names, count) == 0 &&
	    chart_add_bars(chart, "predicted", predicted, NULL, count, (struct chart_style){0}) == 0 &&
	    chart_add_bars(chart, "measured", measured, NULL, count, (struct chart_style){0}) == 0)
		return report_chart(out, chart, "measured", err);
	chart_destroy(chart);
	return error_set(err, ENOMEM, "out of memory");
}

static void print_table(FILE *out, const struct placement_mean *means, size_t count)
{
	fputs("<table><tr><th>placement</th><th class=\"n\">tasks</th><th class=\"n\">predicted</th>"
	      "<th class=\"n\">measured</th><th class=\"n\">difference</th><th class=\"n\">largest, of one "
	      "task</th></tr>\n",
	      out);
	for (size_t i = 0; i < count; i++) {
		fputs("<tr><td>", out);
		xml_print(out, means[i].name);
		fprintf(out,
			"</td><td class=\"n\">%zu</td><td class=\"n\">%.3f</td><td class=\"n\">%.3f</td>"
			"<td class=\"n\">%+.3f</td><td class=\"n\">%.3f</td></tr>\n",
			means[i].tasks, means[i].predicted, means[i].measured,
			number_rounded(means[i].measured - means[i].predicted, 3), means[i].greatest);
	}
	fputs("</table>\n", out);
}

int report_measured(FILE *out, const char *path, struct error *err)
{
	struct placement_mean means[PLACEMENTS_MOST];
	size_t count = 0, near = 0;
	int status = read_means(path, means, &count, err);

	if (status == 0 && count == 0)
		status = error_at(err, (struct error_place){path, 2, NULL}, EINVAL, "expected a task's line");
	if (status != 0)
		return status;
	for (size_t i = 0; i < count; i++)
		near += fabs(means[i].predicted - means[i].measured) <= allowed_difference;
	fprintf(out,
		"<p%s>The application was run in each placement: %zu of %zu perform as predicted, within 0.1.</p>\n",
		near < count ? " class=\"warn\"" : "", near, count);
	status = print_chart(out, means, count, err);
	print_table(out, means, count);
	fputs("<p class=\"muted\">Performance of a task: relative to the same benchmark without added delay, at most "
	      "1, as in "
	      "the "
	      "curve. Each placement shows the mean over all tasks except the roots.</p>\n",
	      out);
	return status;
}
