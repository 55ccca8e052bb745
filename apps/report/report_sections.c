/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>

int report_steps(FILE *out, const char *path, struct error *err)
{
	struct file_lines *lines = file_lines_open(path, err);
	char *line, *fields[3];
	int status;

	if (!lines)
		return err ? -err->code : -EIO;
	fputs("<section><h2>What was done</h2>\n<table><tr><th "
	      "class=\"n\">seconds</th><th>step</th><th>command</th></tr>\n",
	      out);
	while ((status = file_lines_next(lines, &line, err)) > 0) {
		if (file_split(line, '\t', fields, 3) != 3) {
			status = error_at(err, (struct error_place){path, file_lines_number(lines), NULL}, EINVAL,
					  "expected three fields: seconds, command, what it is for");
			break;
		}
		fputs("<tr><td class=\"n\">", out);
		report_text(out, fields[0]);
		fputs("</td><td>", out);
		report_text(out, fields[2]);
		fputs("</td><td><code>", out);
		report_text(out, fields[1]);
		fputs("</code></td></tr>\n", out);
	}
	fputs("</table></section>\n", out);
	file_lines_close(lines);
	return status;
}

void report_curve(FILE *out, const struct curve *curve)
{
	fputs("<p><b>", out);
	report_text(out, curve->equation);
	fputs("</b></p>\n", out);
	if (curve->note[0]) {
		fputs("<p class=\"muted\">", out);
		report_text(out, curve->note);
		fputs("</p>\n", out);
	}
	fprintf(out, "<p>Baseline: %.6g ", curve->baseline_value);
	report_text(out, curve->unit);
	if (!isnan(curve->baseline_deviation) && curve->baseline_value != 0)
		fprintf(out, " ± %.1f&nbsp;%% from run to run",
			100 * curve->baseline_deviation / curve->baseline_value);
	fputs(".</p>\n<table><tr><th class=\"n\">added round trip, µs</th><th class=\"n\">runs</th>"
	      "<th class=\"n\">measured</th><th class=\"n\">±</th><th class=\"n\">curve</th><th "
	      "class=\"n\">cost</th></tr>\n",
	      out);
	for (size_t i = 0; i < curve->level_count; i++) {
		const struct curve_level *level = &curve->levels[i];

		fprintf(out,
			"<tr><td class=\"n\">%g</td><td class=\"n\">%ld</td><td class=\"n\">%.3f</td>"
			"<td class=\"n\">%.3f</td><td class=\"n\">%.3f</td><td class=\"n\">%ld</td></tr>\n",
			level->x_us, level->runs, level->measured, level->deviation, level->fitted,
			curve_cost(curve, level->x_us));
	}
	fputs("</table>\n<p class=\"muted\">Cost is what the scheduler pays for a machine at that latency: "
	      "100 ÷ performance, 100 to 1000.</p>\n",
	      out);
}

enum { SUMMARY_PAIRS_MAXIMUM = 1 << 16 }; /* 256 hosts; of more the first pairs stand for all */

struct summary {
	double p50_us[SUMMARY_PAIRS_MAXIMUM], p99_us[SUMMARY_PAIRS_MAXIMUM];
	size_t count;
	double loss;
	uint64_t samples;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Rack of a host, or -1. */
static int64_t rack_of(const struct cluster *cluster, const char *host)
{
	int64_t machine = cluster ? cluster_find_machine(cluster, host) : -1;

	return machine < 0 ? -1 : (int64_t)cluster->machines[machine].rack;
}

static void print_summary(FILE *out, const char *name, struct summary *summary)
{
	if (summary->count == 0)
		return;
	fprintf(out,
		"<tr><td>%s</td><td class=\"n\">%zu</td><td class=\"n\">%.1f</td><td class=\"n\">%.1f</td>"
		"<td class=\"n\">%.1f</td><td class=\"n\">%.1f</td><td class=\"n\">%llu</td><td "
		"class=\"n\">%.3g</td></tr>\n",
		name, summary->count, summary->p50_us[0], summary->p50_us[summary->count / 2],
		summary->p50_us[summary->count - 1], summary->p99_us[summary->count / 2],
		(unsigned long long)summary->samples, summary->loss / (double)summary->count);
}

/* Pairs within a rack, and between racks; sorted. Not to be kept: one static pair, too large for the stack. */
static struct summary *summarise(const struct latency_matrix *matrix, const struct cluster *cluster)
{
	static struct summary summaries[2];

	memset(summaries, 0, sizeof summaries);
	for (size_t i = 0; i < latency_matrix_count(matrix); i++) {
		const struct latency_entry *entry = latency_matrix_at(matrix, i);
		int64_t from = rack_of(cluster, latency_matrix_host(matrix, entry->source));
		int64_t to = rack_of(cluster, latency_matrix_host(matrix, entry->destination));
		struct summary *summary = &summaries[from != to];

		if (entry->samples == 0 || summary->count == SUMMARY_PAIRS_MAXIMUM)
			continue;
		summary->p50_us[summary->count] = entry->rtt_p50_us;
		summary->p99_us[summary->count++] = entry->rtt_p99_us;
		summary->loss += entry->loss;
		summary->samples += entry->samples;
	}
	for (int i = 0; i < 2; i++) {
		qsort(summaries[i].p50_us, summaries[i].count, sizeof(double), by_value);
		qsort(summaries[i].p99_us, summaries[i].count, sizeof(double), by_value);
	}
	return summaries;
}

void report_mesh(FILE *out, const struct latency_matrix *matrix, const struct cluster *cluster)
{
	struct summary *summaries = summarise(matrix, cluster);

	fputs("<table><tr><th>round trips, µs</th><th class=\"n\">pairs</th><th class=\"n\">lowest p50</th>"
	      "<th class=\"n\">median p50</th><th class=\"n\">highest p50</th><th class=\"n\">median p99</th>"
	      "<th class=\"n\">samples</th><th class=\"n\">loss</th></tr>\n",
	      out);
	print_summary(out, cluster ? "within a rack" : "all pairs", &summaries[0]);
	print_summary(out, "between racks", &summaries[1]);
	fputs("</table>\n", out);
}

/* Added round trip at which the curve falls to `share`, between the table's steps by a line; -1 if it never does. */
static double last_at_share(const struct curve *curve, double share)
{
	for (size_t i = 1; i < curve->table_count; i++) {
		double before = curve->evaluated[i - 1], after = curve->evaluated[i];

		if (after < share)
			return ((double)i - (before > share ? (share - after) / (before - after) : 1)) * CURVE_STEP_US;
	}
	return -1;
}

void report_cards(FILE *out, const struct curve *curve, const struct latency_matrix *matrix,
		  const struct cluster *cluster)
{
	fputs("<div class=\"cards\">", out);
	if (curve) {
		double at_us = last_at_share(curve, 0.9);

		fputs("<div class=\"card\"><b>", out);
		if (at_us < 0)
			fputs("unmoved", out);
		else
			fprintf(out, "%.0f µs", at_us);
		fputs("</b>of added round trip leave ", out);
		report_text(out, curve->application);
		fputs(" 90&nbsp;% of its performance</div>", out);
	}
	if (matrix) {
		struct summary *summaries = summarise(matrix, cluster);

		for (int i = 0; i < 2; i++) {
			if (summaries[i].count == 0)
				continue;
			fprintf(out, "<div class=\"card\"><b>%.1f µs</b>median round trip %s</div>",
				summaries[i].p50_us[summaries[i].count / 2],
				i == 1    ? "between racks"
				: cluster ? "within a rack"
					  : "over all pairs");
		}
	}
	fputs("</div>\n", out);
}
