/* SPDX-License-Identifier: BSD-3-Clause */
/* report.html: a table and the distributions of these runs, as in figures 5 to 9 of the NoMora paper. */
#include <sched/simulate/simulate.h>

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/name.h>
#include <base/number.h>
#include <plot/chart.h>

enum { POINTS_MAXIMUM = 400 };

/* Fills x and y with the CDF of a histogram, each value multiplied by `unit`; returns the number of points. */
static size_t cdf_points(const struct histogram *histogram, double unit, double *x, double *y)
{
	struct histogram_cursor cursor = {0};
	double total = (double)histogram_count(histogram), below = 0;
	size_t count = 0, buckets = 0, every;

	while (histogram_next(histogram, &cursor))
		buckets++;
	every = buckets / (POINTS_MAXIMUM - 1) + 1;
	cursor = (struct histogram_cursor){0};
	for (size_t i = 0; histogram_next(histogram, &cursor); i++) {
		below += (double)cursor.count;
		if (i % every != 0 && i + 1 != buckets)
			continue;
		x[count] = fmax((double)cursor.high, 1) * unit;
		y[count++] = below / total;
	}
	return count;
}

static int put_chart(FILE *out, struct chart *chart, const char *prefix, struct error *err)
{
	char *svg = chart_to_svg(chart, prefix, err);

	chart_destroy(chart);
	if (!svg)
		return error_code(err, ENOMEM);
	fprintf(out, "<figure>%s</figure>\n", svg);
	free(svg);
	return 0;
}

/* The distributions on the page. */
static const struct figure {
	const char *heading, *title, *x, *y, *prefix;
	double unit;
	size_t histogram; /* offset in struct sim_result */
} figures[] = {
	{"Algorithm runtime", "Wall-clock time of a round", "s", "share of rounds", "f6", 1e-6,
	 offsetof(struct sim_result, runtime_us)},
	{"Migrated tasks", "Migrated tasks of the running ones", "% of a round", "share of rounds", "f7", 1e-4,
	 offsetof(struct sim_result, migrated_ppm)},
	{"Task placement latency", "From submission to placement", "s", "share of tasks", "f8", 1e-6,
	 offsetof(struct sim_result, placement_us)},
	{"Task response time", "From submission to completion", "s", "share of tasks", "f9", 1e-6,
	 offsetof(struct sim_result, response_us)},
};

/* The CDF of the figure's histogram for each policy. */
static int chart_of_histograms(const struct simulate *simulate, FILE *out, const struct figure *figure,
			       struct error *err)
{
	struct chart *chart = chart_create(&(struct chart_options){
		.title = figure->title, .x = {.label = figure->x, .scale = CHART_LOG}, .y = {.label = figure->y}});
	double *x = calloc(POINTS_MAXIMUM + 2, sizeof *x), *y = calloc(POINTS_MAXIMUM + 2, sizeof *y);
	int code = chart && x && y ? 0 : -ENOMEM;

	for (size_t i = 0; i < simulate->policy_count && code == 0; i++) {
		const struct simulate_policy *policy = &simulate->policies[i];
		struct histogram *const *histogram = (const void *)((const char *)&policy->result + figure->histogram);

		if (policy->done)
			code = chart_add_line(chart, policy->name, x, y, cdf_points(*histogram, figure->unit, x, y),
					      (struct chart_style){.colour = (int)i + 1});
	}
	free(x);
	free(y);
	if (code == 0)
		return put_chart(out, chart, figure->prefix, err);
	chart_destroy(chart);
	return error_set(err, ENOMEM, "out of memory");
}

static int chart_of_performance(const struct simulate *simulate, FILE *out, struct error *err)
{
	struct chart *chart = chart_create(&(struct chart_options){
		.title = "Average application performance",
		.x = {.label = "average application performance (%)",
		      .has_minimum = true,
		      .has_maximum = true,
		      .maximum = 100},
		.y = {.label = "share of jobs"},
	});
	int code = chart ? 0 : -ENOMEM;

	for (size_t i = 0; i < simulate->policy_count && code == 0; i++) {
		const struct simulate_policy *policy = &simulate->policies[i];
		double *values = calloc(policy->result.job_count + 1, sizeof *values);

		for (size_t j = 0; values && j < policy->result.job_count; j++)
			values[j] = 100 * performance_average(&policy->result.jobs[j].performance);
		code = values ? 0 : -ENOMEM;
		if (code == 0 && policy->done)
			code = chart_add_cdf(chart, policy->name, values, policy->result.job_count,
					     (struct chart_style){.colour = (int)i + 1});
		free(values);
	}
	if (code == 0)
		return put_chart(out, chart, "f5", err);
	chart_destroy(chart);
	return error_set(err, ENOMEM, "out of memory");
}

static double percentile_s(const struct histogram *histogram_us, double percent)
{
	return (double)histogram_percentile(histogram_us, percent) / 1e6;
}

static void print_cell(FILE *out, const char *format, double value)
{
	fputs("<td>", out);
	if (isnan(value))
		fputs("-", out);
	else
		fprintf(out, format, value);
	fputs("</td>", out);
}

static void print_numbers(const struct simulate *simulate, FILE *out)
{
	fputs("<table><tr><th>policy</th><th>area, %</th><th>worst task, %</th><th>mean over tasks, %</th>"
	      "<th>round p50, ms</th><th>p99, ms</th><th>placement latency p50, s</th><th>p99, s</th>"
	      "<th>migrated a round, mean %</th><th>waiting, mean</th><th>utilisation, %</th></tr>\n",
	      out);
	for (size_t i = 0; i < simulate->policy_count; i++) {
		const struct simulate_policy *policy = &simulate->policies[i];
		const struct sim_result *result = &policy->result;

		if (!policy->done)
			continue;
		fputs("<tr><td>", out);
		xml_print(out, policy->name);
		fputs(result->complete ? "</td>" : " (stopped)</td>", out);
		print_cell(out, "%.1f", 100 * result->area);
		print_cell(out, "%.1f", 100 * result->area_worst);
		print_cell(out, "%.1f", 100 * result->task_mean);
		print_cell(out, "%.2f", 1e3 * percentile_s(result->runtime_us, 50));
		print_cell(out, "%.2f", 1e3 * percentile_s(result->runtime_us, 99));
		print_cell(out, "%.3f", percentile_s(result->placement_us, 50));
		print_cell(out, "%.3f", percentile_s(result->placement_us, 99));
		print_cell(out, "%.3f", 100 * (histogram_mean(result->migrated_ppm) / 1e6));
		print_cell(out, "%.0f", result->waiting_mean);
		print_cell(out, "%.1f", 100 * result->utilisation_mean);
		fputs("</tr>\n", out);
	}
	fputs("</table>\n", out);
}

static int print_page(const struct simulate *simulate, FILE *out, struct error *err)
{
	int code;

	fputs("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>nomora simulate</title>"
	      "<style>body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
	      "table{border-collapse:collapse;font-size:13px;display:block;overflow-x:auto}"
	      "td,th{padding:.2em .6em;border-bottom:1px solid #ccc;text-align:right}"
	      "td:first-child,th:first-child{text-align:left}figure{margin:1em 0}svg{max-width:100%}"
	      "</style>\n<h1>Simulated day</h1>\n",
	      out);
	fprintf(out, "<p>%zu machine%s, %zu job%s, %zu task%s%s.</p>\n", simulate->workload->machine_count,
		number_s(simulate->workload->machine_count), simulate->workload->job_count,
		number_s(simulate->workload->job_count), simulate->workload->task_count,
		number_s(simulate->workload->task_count),
		simulate_complete(simulate) ? "" : "; <b>partial results: the simulation was stopped</b>");
	print_numbers(simulate, out);
	fputs("<h2>Average application performance</h2>\n", out);
	code = chart_of_performance(simulate, out, err);
	for (size_t i = 0; i < sizeof figures / sizeof figures[0] && code == 0; i++) {
		fprintf(out, "<h2>%s</h2>\n", figures[i].heading);
		code = chart_of_histograms(simulate, out, &figures[i], err);
	}
	fputs("</html>\n", out);
	return code;
}

int simulate_write_report(const struct simulate *simulate, const char *folder, struct error *err)
{
	struct file_writer *writer;
	char path[PATH_MAX];
	int code;

	snprintf(path, sizeof path, "%s/report.html", folder);
	writer = file_writer_open(path, err);
	if (!writer)
		return error_code(err, EIO);
	code = print_page(simulate, file_writer_stream(writer), err);
	if (code == 0)
		return file_writer_commit(writer, err);
	file_writer_discard(writer);
	return code;
}
