/* SPDX-License-Identifier: BSD-3-Clause */
#include <predict/prediction/prediction.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/quantile.h>
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

	if (settings->path_count != 1)
		return error_set(err, EINVAL, "%s: a schedule in GOAL is one file, found %u", settings->paths[0],
				 settings->path_count);
	code = goal_read(file_lines_open(settings->paths[0], err), &settings->model, graph, err);
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

	run.choice = settings->collectives;
	if (code == 0)
		code = mpi_build(&run, &settings->model, graph, err);
	memcpy(prediction->collectives, run.choice.used, sizeof prediction->collectives);
	for (uint32_t rank = 0; rank < run.rank_count; rank++)
		prediction->recorded_s =
			fmax(prediction->recorded_s, (run.ranks[rank].end_us - run.ranks[rank].start_us) / 1e6);
	prediction->others = run.others;
	prediction->other_count = run.other_count;
	run.others = NULL;
	mpi_run_free(&run);
	return code;
}

static int read_capture(struct prediction *prediction, enum prediction_format format, struct execution_graph *graph,
			struct error *err)
{
	struct prediction_settings *settings = &prediction->settings;
	int code;

	if (settings->path_count != 1)
		return error_set(err, EINVAL, "%s: a capture is one file, found %u", settings->paths[0],
				 settings->path_count);
	if (settings->model_stated)
		return error_set(err, EINVAL,
				 "%s: a capture shows its own latency: --model, --latency, --overhead, --gap and "
				 "--eager are for "
				 "messages between ranks",
				 settings->paths[0]);
	if (settings->hosts)
		return error_set(err, EINVAL, "%s: a capture has its hosts: the list of hosts is for ranks",
				 settings->paths[0]);
	code = turns_read(format == PREDICTION_INTERFACE
				  ? packets_open_live(settings->paths[0], settings->duration_s, settings->stop, err)
				  : packets_open(settings->paths[0], err),
			  settings->paths[0], settings->port, &prediction->turns, err);
	if (code < 0)
		return code;
	settings->model = (struct loggps){.latency_ns = turns_rtt_ns(&prediction->turns) / 2};
	prediction->recorded_s = prediction->turns.run_ns / 1e9;
	return turns_build(&prediction->turns, graph, err);
}

static bool chooses_collectives(const struct prediction_settings *settings)
{
	for (size_t kind = 0; kind < CALL_KINDS; kind++)
		if (settings->collectives.chosen[kind])
			return true;
	return false;
}

static int read_run(struct prediction *prediction, enum prediction_format format, struct execution_graph *graph,
		    struct error *err)
{
	if (format != PREDICTION_TRACE && format != PREDICTION_ALLPROF && chooses_collectives(&prediction->settings))
		return error_set(err, EINVAL, "%s: no recorded calls: --collective is for those",
				 prediction->settings.paths[0]);
	if (format == PREDICTION_CAPTURE || format == PREDICTION_INTERFACE)
		return read_capture(prediction, format, graph, err);
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

/* Fills an uninitialised prediction from one run. Returns 0, or -errno with err set. */
static int make_run(const struct prediction_settings *settings, struct prediction *prediction, struct error *err)
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

static int compare_predictions(const void *a, const void *b)
{
	const struct prediction *p = a, *q = b;
	double first = runtime_at(&p->runtime, p->settings.model.latency_ns),
	       second = runtime_at(&q->runtime, q->settings.model.latency_ns);

	return (first > second) - (first < second);
}

/* Keeps the middle one of the predictions, and the run times of the others. They are freed. */
static int keep_middle(struct prediction *all, uint32_t count, struct prediction *prediction, struct error *err)
{
	uint32_t middle = (count - 1) / 2;

	qsort(all, count, sizeof *all, compare_predictions);
	*prediction = all[middle];
	all[middle] = (struct prediction){0};
	prediction->runs = calloc(count, sizeof *prediction->runs);
	if (!prediction->runs)
		return error_set(err, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < count; i++) {
		if (i == middle)
			continue;
		prediction->runs[prediction->run_count++] =
			(struct prediction_run){all[i].runtime, all[i].settings.model.latency_ns};
		all[i].runtime = (struct runtime){0};
	}
	return 0;
}

static int make_runs(const struct prediction_settings *settings, struct prediction *prediction, struct error *err)
{
	uint32_t files = settings->path_count / settings->runs;
	struct prediction *all = calloc(settings->runs, sizeof *all);
	int code = all ? 0 : error_set(err, ENOMEM, "out of memory");
	uint32_t made = 0;

	for (uint32_t run = 0; run < settings->runs && code == 0; run++) {
		struct prediction_settings one = *settings;

		one.paths += (size_t)run * files;
		one.path_count = files;
		code = make_run(&one, &all[run], err);
		if (run > 0 && settings->stop && *settings->stop) {
			/* A signal has ended this capture, perhaps before it had a turn; those before it count. */
			prediction_free(&all[run]);
			if (err)
				*err = (struct error){0};
			code = 0;
			break;
		}
		made++;
		if (code == 0 && all[run].ranks != all[0].ranks)
			code = error_set(err, EINVAL, "%s: a run of %u ranks, but the first has %u", one.paths[0],
					 all[run].ranks, all[0].ranks);
	}
	if (code == 0)
		code = keep_middle(all, made, prediction, err);
	for (uint32_t run = 0; run < made; run++)
		prediction_free(&all[run]);
	free(all);
	return code;
}

int prediction_make(const struct prediction_settings *settings, struct prediction *prediction, struct error *err)
{
	*prediction = (struct prediction){0};
	if (settings->runs <= 1)
		return make_run(settings, prediction, err);
	if (settings->runs > PREDICTION_RUNS_MAXIMUM || settings->path_count % settings->runs > 0)
		return error_set(err, EINVAL, "%u files are not %u runs with as many files each", settings->path_count,
				 settings->runs);
	return make_runs(settings, prediction, err);
}

void prediction_free(struct prediction *prediction)
{
	runtime_free(&prediction->runtime);
	free(prediction->pairs);
	free(prediction->others);
	turns_free(&prediction->turns);
	free(prediction->hosts);
	for (size_t i = 0; i < prediction->run_count; i++)
		runtime_free(&prediction->runs[i].runtime);
	free(prediction->runs);
	*prediction = (struct prediction){0};
}

/* Sets *place to that of the interval's low end among the runs' ordered values. Its high end is as far from the last.
 */
static double find_interval(size_t runs, size_t *place)
{
	/* probability that 0, or at most *place + 1, of the runs are below the median */
	double share = pow(0.5, (double)runs), outside = share;

	*place = 0;
	if (runs < 2)
		return 0;
	for (size_t k = 1; k < runs / 2; k++) {
		share *= (double)(runs - k + 1) / (double)k;
		if (1 - 2 * (outside + share) < 0.95)
			break;
		outside += share;
		*place = k;
	}
	return 1 - 2 * outside;
}

double prediction_confidence(const struct prediction *prediction)
{
	size_t place;

	return find_interval(prediction->run_count + 1, &place);
}

static double seconds_at(const struct runtime *runtime, double latency_ns, double added_us)
{
	return runtime_at(runtime, latency_ns + added_us / 2 * ns_per_us) / 1e9;
}

/* The run time, or the performance: run time without added latency, divided by it. */
static struct prediction_range range_at(const struct prediction *prediction, double added_us, bool performance)
{
	size_t count = prediction->run_count + 1, place;
	double values[PREDICTION_RUNS_MAXIMUM], confidence = find_interval(count, &place);
	struct prediction_range range = {NAN, NAN, NAN};

	for (size_t i = 0; i < count; i++) {
		const struct runtime *runtime = i ? &prediction->runs[i - 1].runtime : &prediction->runtime;
		double low_ns = i ? prediction->runs[i - 1].latency_ns : prediction->settings.model.latency_ns;
		double s = seconds_at(runtime, low_ns, added_us);

		values[i] = performance ? seconds_at(runtime, low_ns, 0) / s : s;
	}
	range.median = quantile_median(values, count);
	if (confidence > 0) {
		range.low = values[place];
		range.high = values[count - 1 - place];
	}
	return range;
}

struct prediction_range prediction_run_time_s(const struct prediction *prediction, double added_us)
{
	return range_at(prediction, added_us, false);
}

struct prediction_range prediction_performance(const struct prediction *prediction, double added_us)
{
	return range_at(prediction, added_us, true);
}
