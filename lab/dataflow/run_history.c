/* SPDX-License-Identifier: BSD-3-Clause */
/* The report lines of a run as a chart: rates of sources and sinks, and the times of the options' faults. */
#include <lab/dataflow/run.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/array.h>
#include <plot/chart.h>

int run_history_add(struct run_history *history, const struct run_second *second)
{
	struct run_second *all = array_grow(history->seconds, history->count, &history->capacity, sizeof *all);

	if (!all)
		return -ENOMEM;
	history->seconds = all;
	all[history->count++] = *second;
	return 0;
}

void run_history_clear(struct run_history *history)
{
	free(history->seconds);
	*history = (struct run_history){0};
}

static int mark_faults(struct chart *chart, const struct run_history *history, const struct run_options *options)
{
	const char *label = "links down";
	double end = history->count > 0 ? history->seconds[history->count - 1].s : 0;
	int code = 0;

	for (uint32_t f = 0; f < options->fault_count && code == 0; f++) {
		code = chart_add_span(chart, label, options->faults[f].fail_s, fmin(options->faults[f].repair_s, end),
				      (struct chart_style){.colour = CHART_GREY});
		label = NULL;
	}
	return code;
}

static int fill(struct chart *chart, const struct run_history *history, const struct run_options *options)
{
	double *s = malloc((3 * history->count + 1) * sizeof *s), *sources = s + history->count,
	       *sinks = sources + history->count;
	int code = s ? mark_faults(chart, history, options) : -ENOMEM;

	for (size_t i = 0; i < history->count && code == 0; i++) {
		s[i] = history->seconds[i].s;
		sources[i] = history->seconds[i].source_MBps;
		sinks[i] = history->seconds[i].sink_MBps;
	}
	if (code == 0)
		code = chart_add_line(chart, "sources", s, sources, history->count,
				      (struct chart_style){.dashed = true});
	if (code == 0)
		code = chart_add_line(chart, "sinks", s, sinks, history->count, (struct chart_style){0});
	free(s);
	return code;
}

int run_history_plot(const struct run_history *history, const struct run_options *options, const char *path,
		     struct error *err)
{
	struct chart *chart = chart_create(&(struct chart_options){
		.title = "Throughput",
		.x.label = "time (s)",
		.y = {.label = "MB/s", .has_minimum = true},
	});
	int code = chart ? fill(chart, history, options) : -ENOMEM;

	code = code == 0 ? chart_save(chart, path, err) : error_set(err, ENOMEM, "out of memory");
	chart_destroy(chart);
	return code;
}
