/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora trace: runs an MPI program with the recorder in it, or measures messages between two ranks. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <base/number.h>
#include <predict/calibration/calibration.h>
#include <predict/recorder/recorder.h>

#include "commands.h"

struct trace_options {
	const char *folder, *model;
};

static const char teach[] =
	"Writes one file for each rank, FOLDER/rank-000000.trace and so on, with all its MPI calls: 32 bytes and some\n"
	"170 ns a call. What a rank has recorded is kept when the run is stopped or killed.\n"
	"\n"
	"  $ nomora trace -o run -- mpirun -n 8 ./app\n"
	"  $ nomora predict --latency 3 --name app -o curves/app.json run/*.trace\n"
	"\n"
	"The recorder is a library that LD_PRELOAD loads into the program. If mpirun starts ranks on other hosts, "
	"give\n"
	"them both variables (Open MPI: mpirun -x LD_PRELOAD -x NOMORA_TRACE), and use a folder that all hosts share.\n"
	"\n"
	"--calibrate measures the network for nomora predict, with a ping-pong of two ranks; after -- is only the "
	"launcher:\n"
	"\n"
	"  $ nomora trace --calibrate model.json -- mpirun -n 2 --host a,b\n"
	"  $ nomora predict --model model.json --name app -o curves/app.json run/*.trace\n"
	"\n"
	"Exit status: that of the command; 1 also if no rank was recorded.\n";

static const struct option_row rows[] = {
	OPTION_STRING(struct trace_options, folder, "output", 'o', "FOLDER", "folder of the files; it is made"),
	OPTION_STRING(struct trace_options, model, "calibrate", 0, "MODEL.json",
		      "instead of a recording: measure latency, overhead, gap and eager limit between two ranks"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora trace",
	.operands = "-o FOLDER | --calibrate MODEL.json -- COMMAND [ARGUMENT...]",
	.summary = "Record the MPI calls of a program, for nomora predict.",
	.teach = teach,
	.rows = rows,
	.operands_minimum = 0,
	.operands_maximum = 0,
	.takes_rest = true,
};

static int calibrate(const struct trace_options *options, const struct option_operands *operands, struct error *err)
{
	struct calibration calibration;
	int code = calibration_run(operands->rest, &calibration, err);

	if (code == 0)
		code = calibration_save(&calibration, options->model, err);
	if (code < 0)
		return code;
	if (strcmp(options->model, "-") != 0)
		calibration_print(&calibration, stdout);
	return command_flush(err);
}

static int trace(void *context, const struct option_operands *operands, struct error *err)
{
	const struct trace_options *options = context;
	struct recorder_result result;
	int code;

	if (!options->folder == !options->model)
		return command_misused(err, "expected one of --output FOLDER and --calibrate MODEL.json");
	if (operands->rest_count == 0)
		return command_misused(err, "missing the command after --");
	if (options->model)
		return calibrate(options, operands, err);
	code = recorder_run(options->folder, operands->rest, &result, err);
	if (code < 0)
		return code;
	fprintf(stderr, "nomora: recorded %" PRIu64 " rank%s, %" PRIu64 " record%s, in %s", result.ranks,
		number_s(result.ranks), result.records, number_s(result.records), options->folder);
	fprintf(stderr, result.unfinished ? "; %" PRIu64 " did not reach MPI_Finalize\n" : "\n", result.unfinished);
	return result.status;
}

int command_trace(int argc, char **argv)
{
	struct trace_options options = {0};

	return command_run(&usage, argc, argv, &options, trace);
}
