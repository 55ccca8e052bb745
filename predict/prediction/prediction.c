/* SPDX-License-Identifier: BSD-3-Clause */
#include <predict/prediction/prediction.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <predict/goal/goal.h>

static const double ns_per_us = 1000;

/* GOAL begins with num_ranks or a comment of C; a trace of liballprof with '#' or a call. */
static int guess_format(const char *path, enum prediction_format *format, struct error *err)
{
	struct file_lines *lines;
	char *line;
	int code;

	*format = PREDICTION_GOAL;
	if (strcmp(path, "-") == 0)
		return 0;
	if (mpi_is_trace(path)) {
		*format = PREDICTION_TRACE;
		return 0;
	}
	if (turns_is_capture(path)) {
		*format = PREDICTION_CAPTURE;
		return 0;
	}
	lines = file_lines_open(path, err);
	if (!lines)
		return error_code(err, ENOMEM);
	while ((code = file_lines_next(lines, &line, err)) == 1 && line[strspn(line, " \t")] == '\0')
		;
	if (code == 1 && (line[0] == '#' || strncmp(line, "MPI_", 4) == 0))
		*format = PREDICTION_ALLPROF;
	file_lines_close(lines);
	return code < 0 ? code : 0;
}

static int read_goal(struct prediction *prediction, struct execution_graph *graph, struct error *err)
{
	const struct prediction_settings *settings = &prediction->settings;
	int code;

	*graph = (struct execution_graph){0};
	if (settings->path_count != 1)
		return error_set(err, EINVAL, "%s: a schedule in GOAL is one file, found %u", settings->paths[0],
				 settings->path_count);
	code = goal_read(settings->paths[0], &settings->model, graph, err);
	prediction->recorded_s = NAN;
	return code;
}

static int read_calls(struct prediction *prediction, enum prediction_format format, struct execution_graph *graph,
		      struct error *err)
{
	const struct prediction_settings *settings = &prediction->settings;
	struct mpi_run run;
	int code = format == PREDICTION_TRACE ? mpi_read_traces(settings->paths, settings->path_count, &run, err)
					      : mpi_read_allprof(settings->paths, settings->path_count, &run, err);

	*graph = (struct execution_graph){0};
	if (code == 0)
		code = mpi_build(&run, &settings->model, graph, err);
	for (uint32_t rank = 0; rank < run.rank_count; rank++)
		prediction->recorded_s =
			fmax(prediction->recorded_s, (run.ranks[rank].end_us - run.ranks[rank].start_us) / 1e6);
	prediction->others = run.others;
	prediction->other_count = run.other_count;
	run.others = NULL;
	mpi_run_free(&run);
	return code;
}

static int read_capture(struct prediction *prediction, struct execution_graph *graph, struct error *err)
{
	struct prediction_settings *settings = &prediction->settings;
	int code;

	*graph = (struct execution_graph){0};
	if (settings->path_count != 1)
		return error_set(err, EINVAL, "%s: a capture is one file, found %u", settings->paths[0],
				 settings->path_count);
	if (settings->model_stated)
		return error_set(
			err, EINVAL,
			"%s: a capture shows its own latency: --latency, --overhead, --gap and --eager are for "
			"messages between ranks",
			settings->paths[0]);
	if (settings->hosts)
		return error_set(err, EINVAL, "%s: a capture has its hosts: the list of hosts is for ranks",
				 settings->paths[0]);
	code = turns_read(settings->paths[0], settings->port, &prediction->turns, err);
	if (code < 0)
		return code;
	settings->model = (struct loggps){.latency_ns = turns_rtt_ns(&prediction->turns) / 2};
	prediction->recorded_s = prediction->turns.run_ns / 1e9;
	return turns_build(&prediction->turns, graph, err);
}

static int read_run(struct prediction *prediction, enum prediction_format format, struct execution_graph *graph,
		    struct error *err)
{
	if (format == PREDICTION_CAPTURE)
		return read_capture(prediction, graph, err);
	if (prediction->settings.port > 0)
		return error_set(err, EINVAL, "%s: not a capture: --port is for captures",
				 prediction->settings.paths[0]);
	if (format == PREDICTION_GOAL)
		return read_goal(prediction, graph, err);
	return read_calls(prediction, format, graph, err);
}

/* Numbers the hosts of the list: each by the first place of its name. Returns 0 or -ENOMEM. */
static int number_hosts(struct prediction *prediction, struct error *err)
{
	const char *list = prediction->settings.hosts;
	const char **names = calloc(strlen(list) + 1, sizeof *names);
	uint32_t *hosts = calloc(strlen(list) + 1, sizeof *hosts), ranks = 0;

	for (const char *name = list; hosts && names && name; name = strchr(name, ','), name = name ? name + 1 : NULL) {
		size_t length = strcspn(name, ",");

		names[ranks] = name;
		while (strncmp(names[hosts[ranks]], name, length) != 0 || strcspn(names[hosts[ranks]], ",") != length)
			hosts[ranks]++;
		ranks++;
	}
	prediction->hosts = hosts;
	prediction->settings.model.hosts = hosts;
	prediction->settings.model.host_count = ranks;
	free(names);
	return ranks ? 0 : error_set(err, ENOMEM, "out of memory");
}

int prediction_make(const struct prediction_settings *settings, struct prediction *prediction, struct error *err)
{
	enum prediction_format format = settings->format;
	struct execution_graph graph = {0};
	double low_ns;
	int code;

	*prediction = (struct prediction){.settings = *settings};
	code = settings->hosts ? number_hosts(prediction, err) : 0;
	if (code == 0 && format == PREDICTION_AUTO)
		code = guess_format(settings->paths[0], &format, err);
	if (code == 0)
		code = read_run(prediction, format, &graph, err);
	low_ns = prediction->settings.model.latency_ns;
	prediction->ranks = graph.ranks;
	prediction->nodes = graph.count;
	if (code == 0)
		code = runtime_find(&graph, low_ns, low_ns + settings->longest_us / 2 * ns_per_us, &prediction->runtime,
				    err);
	if (code == 0 && !(runtime_at(&prediction->runtime, low_ns) > 0))
		code = error_set(err, EINVAL, "%s: the run takes no time", settings->paths[0]);
	if (code == 0) {
		prediction->pairs = runtime_pairs(&graph, low_ns, &prediction->pair_count, err);
		code = prediction->pairs ? 0 : -ENOMEM;
	}
	execution_graph_free(&graph);
	return code;
}

void prediction_free(struct prediction *prediction)
{
	runtime_free(&prediction->runtime);
	free(prediction->pairs);
	free(prediction->others);
	turns_free(&prediction->turns);
	free(prediction->hosts);
	*prediction = (struct prediction){0};
}

double prediction_run_time_s(const struct prediction *prediction, double added_us)
{
	return runtime_at(&prediction->runtime, prediction->settings.model.latency_ns + added_us / 2 * ns_per_us) / 1e9;
}

double prediction_performance(const struct prediction *prediction, double added_us)
{
	return prediction_run_time_s(prediction, 0) / prediction_run_time_s(prediction, added_us);
}
