/* SPDX-License-Identifier: BSD-3-Clause */
/* report.html: the paper's figures 5 to 9 from these runs, with the published values (NoMora 6.1 to 6.3). */
#include <sched/simulate/simulate.h>

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/number.h>
#include <plot/chart.h>

enum { POINTS_MAXIMUM = 400 };

/*
 * Published values, times in seconds; 0 = not published. As printed in the paper, the placement latency of random has a
 * p90 below its median.
 */
struct published {
	const char *name;
	double area;
	double runtime_s[3];   /* p50, p99, maximum */
	double placement_s[3]; /* p50, p90, p99 */
	double migrated[2];    /* share of the running tasks that migrate in a round: mean, p99 */
};
static const struct published published_rows[] = {
	{"random", 0.472, {0.108, 0.661, 18.89}, {0.436, 0.312, 1.9}, {0, 0}},
	{"load_spreading", 0.468, {0.109, 0.974, 25.88}, {0.498, 4.3, 25}, {0, 0}},
	{"nomora 105/110", 0.602, {0.093, 0.248, 6.13}, {0.278, 1.23, 5.8}, {0, 0}},
	{"nomora 110/115", 0.5185, {0.072, 0.486, 39.55}, {0.185, 1, 5.6}, {0, 0}},
	{"nomora 105/110, preemption", 0.59, {0.373, 511, 1719}, {519, 1484, 2458}, {0.00022, 0.005}},
	{"nomora 105/110, preemption, beta 0", 0.896, {1532, 6610, 7118}, {4812, 13077, 16251}, {0.071, 0.1007}},
};

/* Returns the published row for a policy with these settings, or NULL if there is none. */
static const struct published *find_published(const struct sim_settings *settings)
{
	const struct policy_settings *policy = &settings->policy_settings;

	if (strcmp(settings->policy->name, "random") == 0)
		return &published_rows[0];
	if (strcmp(settings->policy->name, "load_spreading") == 0)
		return &published_rows[1];
	if (strcmp(settings->policy->name, "nomora") != 0)
		return NULL;
	if (policy->machine_threshold == 110 && policy->rack_threshold == 115 && !policy->flow.preemption)
		return &published_rows[3];
	if (policy->machine_threshold != 105 || policy->rack_threshold != 110)
		return NULL;
	if (!policy->flow.preemption)
		return &published_rows[2];
	return &published_rows[policy->flow.beta_per_s > 0 ? 4 : 5];
}

static void print_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '<' || *text == '>' || *text == '&')
			fprintf(out, "&#%d;", *text);
		else
			fputc(*text, out);
	}
}

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

/* The CDF of a histogram for each policy, with published quantiles as points of the same colour. */
static int chart_of_histograms(const struct simulate *simulate, FILE *out, const struct chart_options *options,
			       const char *prefix, double unit,
			       const struct histogram *(*of)(const struct sim_result *),
			       const double *(*published)(const struct published *), const double *shares,
			       struct error *err)
{
	struct chart *chart = chart_create(options);
	double *x = calloc(POINTS_MAXIMUM + 2, sizeof *x), *y = calloc(POINTS_MAXIMUM + 2, sizeof *y);
	int code = chart && x && y ? 0 : -ENOMEM;

	for (size_t i = 0; i < simulate->policy_count && code == 0; i++) {
		const struct simulate_policy *policy = &simulate->policies[i];
		const struct published *row = find_published(&policy->settings);
		struct chart_style style = {.colour = (int)i + 1};

		if (!policy->done)
			continue;
		code = chart_add_line(chart, policy->name, x, y, cdf_points(of(&policy->result), unit, x, y), style);
		if (code == 0 && row && published && published(row)[0] > 0)
			code = chart_add_points(chart, NULL, published(row), shares, NULL, 3, style);
	}
	free(x);
	free(y);
	if (code == 0)
		return put_chart(out, chart, prefix, err);
	chart_destroy(chart);
	return error_set(err, ENOMEM, "out of memory");
}

static const struct histogram *runtime_of(const struct sim_result *result)
{
	return result->runtime_us;
}

static const struct histogram *placement_of(const struct sim_result *result)
{
	return result->placement_us;
}

static const struct histogram *response_of(const struct sim_result *result)
{
	return result->response_us;
}

static const struct histogram *migrated_of(const struct sim_result *result)
{
	return result->migrated_ppm;
}

static const double *published_runtime(const struct published *row)
{
	return row->runtime_s;
}

static const double *published_placement(const struct published *row)
{
	return row->placement_s;
}

static int figure_5(const struct simulate *simulate, FILE *out, struct error *err)
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

static void print_cell(FILE *out, double value, double published, double unit, const char *format)
{
	fputs("<td>", out);
	if (isnan(value))
		fputs("-", out);
	else
		fprintf(out, format, value * unit);
	if (published > 0) {
		fputs(" <i>(", out);
		fprintf(out, format, published * unit);
		fputs(")</i>", out);
	}
	fputs("</td>", out);
}

static void print_numbers(const struct simulate *simulate, FILE *out)
{
	static const struct published none = {0};

	fputs("<table><tr><th>policy</th><th>area, %</th><th>worst task, %</th><th>mean over tasks, %</th>"
	      "<th>round p50, ms</th><th>p99, ms</th><th>placement latency p50, s</th><th>p99, s</th>"
	      "<th>migrated a round, mean %</th><th>waiting, mean</th><th>utilisation, %</th></tr>\n",
	      out);
	for (size_t i = 0; i < simulate->policy_count; i++) {
		const struct simulate_policy *policy = &simulate->policies[i];
		const struct sim_result *result = &policy->result;
		const struct published *row = find_published(&policy->settings);

		if (!policy->done)
			continue;
		row = row ? row : &none;
		fputs("<tr><td>", out);
		print_text(out, policy->name);
		fputs(result->complete ? "</td>" : " (stopped)</td>", out);
		print_cell(out, result->area, row->area, 100, "%.1f");
		print_cell(out, result->area_worst, 0, 100, "%.1f");
		print_cell(out, result->task_mean, 0, 100, "%.1f");
		print_cell(out, (double)histogram_percentile(result->runtime_us, 50) / 1e6, row->runtime_s[0], 1e3,
			   "%.2f");
		print_cell(out, (double)histogram_percentile(result->runtime_us, 99) / 1e6, row->runtime_s[1], 1e3,
			   "%.2f");
		print_cell(out, (double)histogram_percentile(result->placement_us, 50) / 1e6, row->placement_s[0], 1,
			   "%.3f");
		print_cell(out, (double)histogram_percentile(result->placement_us, 99) / 1e6, row->placement_s[2], 1,
			   "%.3f");
		print_cell(out, histogram_mean(result->migrated_ppm) / 1e6, row->migrated[0], 100, "%.3f");
		print_cell(out, result->waiting_mean, 0, 1, "%.0f");
		print_cell(out, result->utilisation_mean, 0, 100, "%.1f");
		fputs("</tr>\n", out);
	}
	fputs("</table>\n<p>In brackets: published values of the NoMora paper, for policies with the same "
	      "parameters.</p>\n",
	      out);
}

static int print_page(const struct simulate *simulate, FILE *out, struct error *err)
{
	static const double runtime_shares[] = {0.5, 0.99, 1}, placement_shares[] = {0.5, 0.9, 0.99};
	int code;

	fputs("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>nomora simulate</title>"
	      "<style>body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
	      "table{border-collapse:collapse;font-size:13px;display:block;overflow-x:auto}"
	      "td,th{padding:.2em .6em;border-bottom:1px solid #ccc;text-align:right}"
	      "td:first-child,th:first-child{text-align:left}figure{margin:1em 0}svg{max-width:100%}"
	      "</style>\n<h1>Simulated day</h1>\n",
	      out);
	fprintf(out, "<p>%zu machine%s, %zu job%s, %zu task%s%s. Points are the published quantiles.</p>\n",
		simulate->workload->machine_count, number_s(simulate->workload->machine_count),
		simulate->workload->job_count, number_s(simulate->workload->job_count), simulate->workload->task_count,
		number_s(simulate->workload->task_count),
		simulate_complete(simulate) ? "" : "; <b>partial results: the simulation was stopped</b>");
	print_numbers(simulate, out);
	fputs("<h2>Figure 5: average application performance</h2>\n", out);
	code = figure_5(simulate, out, err);
	fputs("<h2>Figure 6: algorithm runtime</h2>\n", out);
	if (code == 0)
		code = chart_of_histograms(simulate, out,
					   &(struct chart_options){.title = "Wall-clock time of a round",
								   .x = {.label = "s", .scale = CHART_LOG},
								   .y = {.label = "share of rounds"}},
					   "f6", 1e-6, runtime_of, published_runtime, runtime_shares, err);
	fputs("<h2>Figure 7: migrated tasks</h2>\n", out);
	if (code == 0)
		code = chart_of_histograms(simulate, out,
					   &(struct chart_options){.title = "Migrated tasks of the running ones",
								   .x = {.label = "% of a round", .scale = CHART_LOG},
								   .y = {.label = "share of rounds"}},
					   "f7", 1e-4, migrated_of, NULL, NULL, err);
	fputs("<h2>Figure 8: task placement latency</h2>\n", out);
	if (code == 0)
		code = chart_of_histograms(simulate, out,
					   &(struct chart_options){.title = "From submission to placement",
								   .x = {.label = "s", .scale = CHART_LOG},
								   .y = {.label = "share of tasks"}},
					   "f8", 1e-6, placement_of, published_placement, placement_shares, err);
	fputs("<h2>Figure 9: task response time</h2>\n", out);
	if (code == 0)
		code = chart_of_histograms(simulate, out,
					   &(struct chart_options){.title = "From submission to completion",
								   .x = {.label = "s", .scale = CHART_LOG},
								   .y = {.label = "share of tasks"}},
					   "f9", 1e-6, response_of, NULL, NULL, err);
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
