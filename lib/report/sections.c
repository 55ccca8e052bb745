/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/file.h>
#include <base/number.h>
#include <figures/figures.h>

/* Splits a line into the fields of a step: seconds, command, purpose. */
static int split_step(const struct file_lines *lines, char *line, char *fields[3], struct error *err)
{
	struct error_place place = {file_lines_name(lines), file_lines_number(lines), NULL};
	double seconds;

	if (file_split(line, '\t', fields, 3) != 3)
		return error_at(err, place, EINVAL, "expected three fields: seconds, command, purpose");
	place.field = "seconds";
	if (number_parse_double(fields[0], &seconds) != 0 || seconds < 0)
		return error_at(err, place, EINVAL, "found '%.80s', expected a number from 0", fields[0]);
	return 0;
}

int report_steps(FILE *out, const char *path, struct error *err)
{
	struct file_lines *lines = file_lines_open(path, err);
	char *line, *fields[3];
	int status;

	if (!lines)
		return error_code(err, EIO);
	fputs("<section><h2>Steps</h2>\n<table><tr><th "
	      "class=\"n\">seconds</th><th>step</th><th>command</th></tr>\n",
	      out);
	while ((status = file_lines_next(lines, &line, err)) > 0) {
		status = split_step(lines, line, fields, err);
		if (status < 0)
			break;
		fputs("<tr><td class=\"n\">", out);
		xml_print(out, fields[0]);
		fputs("</td><td>", out);
		xml_print(out, fields[2]);
		fputs("</td><td><code>", out);
		xml_print(out, fields[1]);
		fputs("</code></td></tr>\n", out);
	}
	fputs("</table></section>\n", out);
	file_lines_close(lines);
	return status;
}

static void print_baseline(FILE *out, const struct curve *curve)
{
	if (isnan(curve->baseline_value))
		return;
	fprintf(out, "<p>Baseline: %.6g ", curve->baseline_value);
	xml_print(out, curve->unit);
	if (!isnan(curve->baseline_deviation) && curve->baseline_value != 0)
		fprintf(out, " ± %.1f&nbsp;%% from run to run",
			100 * curve->baseline_deviation / curve->baseline_value);
	fputs(".</p>\n", out);
}

static void print_levels(FILE *out, const struct curve *curve)
{
	fputs("<table><tr><th class=\"n\">added round trip, µs</th><th class=\"n\">runs</th>"
	      "<th class=\"n\">measured</th><th class=\"n\">±</th><th class=\"n\">curve</th><th "
	      "class=\"n\">cost</th></tr>\n",
	      out);
	for (size_t i = 0; i < curve->level_count; i++) {
		const struct curve_level *level = &curve->levels[i];
		char deviation[32] = "–"; /* unknown with a single run */

		if (level->runs > 1)
			snprintf(deviation, sizeof deviation, "%.3f", level->deviation);
		fprintf(out,
			"<tr><td class=\"n\">%g</td><td class=\"n\">%ld</td><td class=\"n\">%.3f</td>"
			"<td class=\"n\">%s</td><td class=\"n\">%.3f</td><td class=\"n\">%ld</td></tr>\n",
			level->x_us, level->runs, level->measured, deviation, level->fitted,
			curve_cost(curve, level->x_us));
	}
	fputs("</table>\n<p class=\"muted\">The scheduler's cost of a machine at that latency is "
	      "100 ÷ performance, 100 to 1000.</p>\n",
	      out);
}

int report_chart(FILE *out, struct chart *chart, const char *id, struct error *err)
{
	char *svg = chart ? chart_to_svg(chart, id, err) : NULL;

	chart_destroy(chart);
	if (!svg)
		return error_code(err, ENOMEM);
	fprintf(out, "<div class=\"plot\">%s</div>\n", svg);
	free(svg);
	return 0;
}

int report_curves_chart(FILE *out, const struct curve *const *curves, size_t count, struct error *err)
{
	const struct figures_curves figure = {.curves = curves, .count = count};

	return report_chart(out, figures_curves_chart(&figure, err), "curve", err);
}

void report_curve(FILE *out, const struct curve *curve, bool named)
{
	if (named) {
		fputs("<h3>", out);
		xml_print(out, curve->application);
		fputs(curve->predicted ? ", predicted</h3>\n" : "</h3>\n", out);
	}
	fputs("<p><b>", out);
	xml_print(out, curve->equation);
	fputs("</b></p>\n", out);
	if (curve->note[0]) {
		fputs("<p class=\"muted\">", out);
		xml_print(out, curve->note);
		fputs("</p>\n", out);
	}
	print_baseline(out, curve);
	if (curve->disturbed_runs > 0)
		fprintf(out, "<p class=\"warn\">%ld of the runs were disturbed: do not rely on this curve.</p>\n",
			curve->disturbed_runs);
	if (curve->level_count > 0)
		print_levels(out, curve);
}

static void print_group(FILE *out, const char *name, const struct latency_group *group)
{
	if (group->pairs == 0)
		return;
	fprintf(out, "<tr><td>%s</td><td class=\"n\">%llu</td>", name, (unsigned long long)group->pairs);
	if (group->silent < group->pairs)
		fprintf(out,
			"<td class=\"n\">%.1f</td><td class=\"n\">%.1f</td><td class=\"n\">%.1f</td><td "
			"class=\"n\">%.1f</td>",
			group->lowest_p50_us, group->p50_us, group->highest_p50_us, group->p99_us);
	else
		fputs("<td></td><td></td><td></td><td></td>", out);
	fprintf(out, "<td class=\"n\">%llu</td><td class=\"n\">%llu</td><td class=\"n\">%.3g</td></tr>\n",
		(unsigned long long)group->samples, (unsigned long long)group->silent, 100 * group->loss);
}

void report_mesh(FILE *out, const struct latency_group groups[LATENCY_RELATIONS], bool has_cluster)
{
	fputs("<table><tr><th>round trips, µs</th><th class=\"n\">pairs</th><th class=\"n\">lowest p50</th>"
	      "<th class=\"n\">median p50</th><th class=\"n\">highest p50</th><th class=\"n\">median p99</th>"
	      "<th class=\"n\">samples</th><th class=\"n\">pairs without answer</th><th class=\"n\">loss, "
	      "%</th></tr>\n",
	      out);
	print_group(out, has_cluster ? "within a rack" : "all pairs", &groups[LATENCY_SAME_RACK]);
	print_group(out, "between racks", &groups[LATENCY_OTHER_RACK]);
	print_group(out, "rack unknown", &groups[LATENCY_UNKNOWN_RACK]);
	fputs("</table>\n", out);
}

/* Returns the added round trip at which the curve falls below `share`, interpolated, or -1 if it never does. */
static double last_at_share(const struct curve *curve, double share)
{
	for (size_t i = 1; i < curve->table_count; i++) {
		double before = curve->evaluated[i - 1], after = curve->evaluated[i];

		if (after < share)
			return ((double)i - (before > share ? (share - after) / (before - after) : 1)) * CURVE_STEP_US;
	}
	return -1;
}

static void print_card(FILE *out, const struct latency_group *group, const char *where)
{
	if (group->silent < group->pairs)
		fprintf(out, "<div class=\"card\"><b>%.1f µs</b>median round trip %s</div>", group->p50_us, where);
}

static void print_curve_card(FILE *out, const struct curve *curve)
{
	double at_us = last_at_share(curve, 0.9);

	fputs("<div class=\"card\"><b>", out);
	if (at_us < 0)
		fprintf(out, "%.0f µs", curve->domain_high_us);
	else
		fprintf(out, "%.0f µs", at_us);
	fputs("</b>", out);
	xml_print(out, curve->application);
	fprintf(out, " keeps %s90&nbsp;%% of its performance up to this added round trip</div>",
		at_us < 0 ? "more than " : "");
}

void report_cards(FILE *out, const struct curve *const *curves, size_t count,
		  const struct latency_group groups[LATENCY_RELATIONS], bool has_cluster)
{
	fputs("<div class=\"cards\">", out);
	for (size_t i = 0; i < count; i++)
		print_curve_card(out, curves[i]);
	if (groups) {
		print_card(out, &groups[LATENCY_SAME_RACK], has_cluster ? "within a rack" : "over all pairs");
		print_card(out, &groups[LATENCY_OTHER_RACK], "between racks");
	}
	fputs("</div>\n", out);
}
