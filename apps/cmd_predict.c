/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora predict: the curve of an application from one recorded run, without an injector. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/file.h>
#include <base/json.h>
#include <base/stop.h>
#include <predict/calibration/calibration.h>
#include <predict/check/check.h>
#include <predict/prediction/prediction.h>

#include "commands.h"

struct predict_options {
	double latency_us, overhead_us, gap_ns, longest_us;
	double duration_s;
	int64_t eager_bytes, port, runs;
	int format;
	struct option_list collectives;
	const char *interface, *name, *curve, *job, *hosts, *model, *measured, *plan;
	bool json;
};

static const struct predict_options defaults = {
	.latency_us = 5,
	.overhead_us = 1,
	.gap_ns = 0.8,
	.eager_bytes = 65536,
	.runs = 1,
	.duration_s = 10,
	.longest_us = 2000,
	.name = "application",
};

static const char *const formats[] = {"auto", "goal", "allprof", "trace", "capture", NULL};

static const char teach[] =
	"The run time at every latency is the longest path of the run's execution graph: what the ranks compute, and\n"
	"the messages between them. It is found exactly, with all its straight pieces.\n"
	"\n"
	"FILE is a capture of a request-response application (pcap, pcapng), one schedule in GOAL, the traces of\n"
	"nomora trace, or those of liballprof (LogGOPSim's recorder), one a rank, in their order.\n"
	"\n"
	"  $ nomora predict --latency 3 --overhead 1 --gap 0.8 --name sweep3d -o curves/sweep3d.json rank-*.txt\n"
	"  $ nomora predict --latency 3 --job jobs.jsonl --name ring ring.goal\n"
	"  $ nomora predict --name redis -o curves/redis.json redis.pcap\n"
	"  $ nomora predict --name redis -o curves/redis.json --interface eth1 --duration 10 --port 6379\n"
	"  $ nomora predict --check app.plan --measured check.csv run/*.trace -- --share-machine\n"
	"\n"
	"Latency, overhead and gap are those of the recorded run: half of the round trip of a short message between\n"
	"two hosts, the CPU's time for a message, and 1/bandwidth. Measure them for --model, with\n"
	"nomora trace --calibrate. A capture needs none of them.\n"
	"Options after -- are for the sweep of --check.\n"
	"Exit status: 0 done, 1 bad file, 2 usage, 3 runs of the sweep were disturbed.\n";

static const struct option_row rows[] = {
	OPTION_HEADING("The recorded run"),
	OPTION_CHOICE(struct predict_options, format, "format", 0, "NAME", formats, "format of the files"),
	OPTION_STRING(struct predict_options, interface, "interface", 'i', "NAME",
		      "capture this interface, without a FILE, while the application runs"),
	OPTION_DOUBLE(struct predict_options, duration_s, "duration", 't', "S", 0.001, 86400,
		      "length of that capture; a signal ends it earlier"),
	OPTION_STRING(struct predict_options, model, "model", 'm', "MODEL.json",
		      "the next four, as nomora trace --calibrate measured them"),
	OPTION_DOUBLE(struct predict_options, latency_us, "latency", 'L', "US", 0, 1e6,
		      "one-way latency of the recorded run's network"),
	OPTION_DOUBLE(struct predict_options, overhead_us, "overhead", 0, "US", 0, 1e6,
		      "time of the CPU for each message, at each end"),
	OPTION_DOUBLE(struct predict_options, gap_ns, "gap", 'G', "NS", 0, 1e6, "time of each byte after the first"),
	OPTION_INTEGER(struct predict_options, eager_bytes, "eager", 0, "BYTES", 0, 1e15,
		       "longest message that is sent before the receiver asks for it"),
	OPTION_LIST(struct predict_options, collectives, "collective", 0, "CALL=ALGORITHM",
		    "algorithm of a collective, such as allreduce=ring; repeatable"),
	OPTION_INTEGER(struct predict_options, port, "port", 0, "PORT", 0, 65535,
		       "TCP port of the servers in a capture; 0: that with the most messages"),
	OPTION_STRING(struct predict_options, hosts, "hosts", 0, "NAME,...",
		      "host of each rank; added latency is between hosts only (default: each rank has its own)"),
	OPTION_INTEGER(struct predict_options, runs, "runs", 0, "N", 1, PREDICTION_RUNS_MAXIMUM,
		       "the files are N runs of the same program, one after the other: gives medians and intervals"),
	OPTION_HEADING("The answer"),
	OPTION_DOUBLE(struct predict_options, longest_us, "longest", 0, "US", 10, 1e6, "largest added round trip"),
	OPTION_STRING(struct predict_options, name, "name", 'n', "NAME", "name of the application"),
	OPTION_STRING(struct predict_options, curve, "output", 'o', "CURVE.json", "write the curve"),
	OPTION_STRING(struct predict_options, job, "job", 0, "JOBS.jsonl",
		      "write a job with the messages on the longest path as its graph, for nomora place"),
	OPTION_STRING(struct predict_options, measured, "measured", 0, "SWEEP.csv",
		      "compare with this sweep of the same program"),
	OPTION_STRING(struct predict_options, plan, "check", 0, "PLAN",
		      "first run this plan of a sweep at three delays, into the file of --measured"),
	OPTION_FLAG(struct predict_options, json, "json", 0, "print the answer as JSON, nomora.predict/1"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora predict",
	.operands = "FILE...|--interface NAME [-- SWEEP-OPTION...]",
	.summary = "Predict an application's curve from one recorded run, without an injector.",
	.teach = teach,
	.rows = rows,
	.operands_maximum = -1,
	.takes_rest = true,
};

static int write_curve(const struct prediction *prediction, const char *path, struct error *err)
{
	struct curve *curve = prediction_curve(prediction, err);
	int code = curve ? curve_save(curve, path, err) : -ENOMEM;

	curve_destroy(curve);
	return code;
}

/* A job is one line. */
static int write_job(const struct prediction *prediction, const char *path, struct error *err)
{
	struct file_writer *writer = file_writer_open(path, err);

	if (!writer)
		return -errno;
	if (!json_print_member(file_writer_stream(writer), "", prediction_job_json(prediction)) ||
	    fputc('\n', file_writer_stream(writer)) == EOF) {
		file_writer_discard(writer);
		return error_set(err, ENOMEM, "%s: out of memory, or the file cannot be written", path);
	}
	return file_writer_commit(writer, err);
}

/*
 * Runs the plan at delays that add 1/100, 1/20 and 1/4 of the longest round trip, by nomora sweep's own command, which
 * also resumes an interrupted sweep. Returns its exit code, or -ENOMEM.
 */
static int run_sweep(const struct predict_options *options, const struct option_operands *operands)
{
	char delays[64];
	const char *words[] = {"sweep", options->plan, "--output", options->measured, "--delays", delays};
	size_t fixed = sizeof words / sizeof *words;
	char **all = calloc(fixed + (size_t)operands->rest_count + 1, sizeof *all);
	int code;

	if (!all)
		return -ENOMEM;
	/* the injector's steps are 0.1 us */
	snprintf(delays, sizeof delays, "0 %.1f %.1f %.1f", fmax(options->longest_us / 200, 0.1),
		 options->longest_us / 40, options->longest_us / 8);
	for (size_t i = 0; i < fixed; i++)
		all[i] = (char *)words[i];
	for (int i = 0; i < operands->rest_count; i++)
		all[fixed + (size_t)i] = operands->rest[i];
	code = command_sweep((int)fixed + operands->rest_count, all);
	free(all);
	return code;
}

static int print(const struct prediction *prediction, const struct check *check, bool json, struct error *err)
{
	json_t *root;

	if (!json) {
		prediction_print(prediction, stdout);
		if (check->count)
			check_print(check, stdout);
		return command_flush(err);
	}
	root = prediction_json(prediction);
	if (root && json_object_set_new(root, "check", check->count ? check_json(check) : json_null()) < 0) {
		json_decref(root);
		root = NULL;
	}
	return json_write_file_new("-", root, err);
}

/* Checks the prediction if the options ask for it, writes its files and prints it. */
static int answer(const struct prediction *prediction, const struct predict_options *options,
		  const struct option_operands *operands, struct error *err)
{
	struct check check = {0};
	int code = options->plan ? run_sweep(options, operands) : 0;

	if (code == COMMAND_NEGATIVE)
		code = 0; /* the rows say which runs were disturbed */
	if (code == 0 && options->measured)
		code = check_make(prediction, options->measured, &check, err);
	if (code == 0 && options->curve)
		code = write_curve(prediction, options->curve, err);
	if (code == 0 && options->job)
		code = write_job(prediction, options->job, err);
	if (code == 0)
		code = print(prediction, &check, options->json, err);
	if (code == 0 && check.disturbed)
		code = COMMAND_NEGATIVE;
	check_free(&check);
	return code;
}

/* The model is that of the file or of the options. Returns 0, an exit code, or -errno. */
static int choose_model(const struct predict_options *options, struct prediction_settings *settings, struct error *err)
{
	bool stated = options->latency_us != defaults.latency_us || options->overhead_us != defaults.overhead_us ||
		      options->gap_ns != defaults.gap_ns || options->eager_bytes != defaults.eager_bytes;

	settings->model_stated = stated || options->model;
	settings->model = (struct loggps){.latency_ns = options->latency_us * 1000,
					  .overhead_ns = options->overhead_us * 1000,
					  .gap_ns = options->gap_ns,
					  .eager_bytes = (uint64_t)options->eager_bytes};
	if (!options->model)
		return 0;
	if (stated)
		return command_misused(err, "--model has what --latency, --overhead, --gap and --eager say");
	return calibration_model(options->model, json_read_file(options->model, err), &settings->model, err);
}

/* Of several runs of an interface, each is a capture of its own, one after the other. */
static int make(const struct predict_options *options, struct prediction_settings *settings,
		struct prediction *prediction, struct error *err)
{
	char *same[PREDICTION_RUNS_MAXIMUM];

	if (options->interface) {
		for (uint32_t run = 0; run < settings->runs; run++)
			same[run] = (char *)options->interface;
		settings->format = PREDICTION_INTERFACE;
		settings->paths = same;
		settings->path_count = settings->runs;
		settings->duration_s = options->duration_s;
		settings->stop = stop_flag();
		stop_catch_signals();
	}
	return prediction_make(settings, prediction, err);
}

static int predict(void *context, const struct option_operands *operands, struct error *err)
{
	const struct predict_options *options = context;
	struct prediction_settings settings = {
		.paths = operands->items,
		.path_count = (uint32_t)operands->count,
		.runs = (uint32_t)options->runs,
		.format = (enum prediction_format)options->format,
		.longest_us = options->longest_us,
		.application = options->name,
		.port = (uint16_t)options->port,
		.hosts = options->hosts,
	};
	struct prediction prediction;
	int code;

	if (!options->interface && operands->count == 0)
		return command_misused(err, "expected FILE, or --interface NAME");
	if (options->interface && (operands->count > 0 || options->format != defaults.format))
		return command_misused(err, "--interface NAME has no FILE and no --format: it is a capture");
	if (!options->interface && options->duration_s != defaults.duration_s)
		return command_misused(err, "--duration is for --interface NAME");
	if (options->plan && !options->measured)
		return command_misused(err, "--check needs --measured SWEEP.csv, the file for the sweep");
	if (operands->rest_count && !options->plan)
		return command_misused(err, "options after -- are for the sweep of --check PLAN");
	if (options->plan && options->json)
		return command_misused(err,
				       "--check prints the sweep, too; for --json, give --measured alone after it");
	code = choose_model(options, &settings, err);
	for (size_t i = 0; i < options->collectives.count && code == 0; i++)
		if (collective_choose(&settings.collectives, options->collectives.items[i], err) < 0)
			code = COMMAND_USAGE;
	if (code != 0)
		return code;
	code = make(options, &settings, &prediction, err);
	if (code == 0)
		code = answer(&prediction, options, operands, err);
	prediction_free(&prediction);
	return code;
}

int command_predict(int argc, char **argv)
{
	struct predict_options options = defaults;

	return command_run(&usage, argc, argv, &options, predict);
}
