/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora trace: runs an MPI program with the recorder in it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/number.h>
#include <base/program.h>
#include <predict/calls/trace.h>

#include "commands.h"

struct trace_options {
	const char *folder;
};

static const char teach[] =
	"Writes one file for each rank, FOLDER/rank-000000.trace and so on, with all its MPI calls: 32 bytes and some\n"
	"100 ns a call. What a rank has recorded is kept when the run is stopped or killed.\n"
	"\n"
	"  $ nomora trace -o run -- mpirun -n 8 ./app\n"
	"  $ nomora predict --latency 3 --name app -o curves/app.json run/*.trace\n"
	"\n"
	"The recorder is a library that LD_PRELOAD loads into the program. If mpirun starts ranks on other hosts, "
	"hand\n"
	"them both variables (Open MPI: mpirun -x LD_PRELOAD -x NOMORA_TRACE), and use a folder that all hosts share.\n"
	"Exit status: that of the command; 1 also if no rank was recorded.\n";

static const struct option_row rows[] = {
	OPTION_STRING(struct trace_options, folder, "output", 'o', "FOLDER", "folder of the files; it is made"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora trace",
	.operands = "-o FOLDER -- COMMAND [ARGUMENT...]",
	.summary = "Record the MPI calls of a program, for nomora predict.",
	.teach = teach,
	.rows = rows,
	.operands_minimum = 0,
	.operands_maximum = 0,
	.takes_rest = true,
};

static bool is_trace(const char *name)
{
	size_t length = strlen(name);

	return strncmp(name, "rank-", 5) == 0 && length > 6 && strcmp(name + length - 6, ".trace") == 0;
}

/* Finds the recorder beside a program that is not installed, or where it is installed. */
static int find_recorder(char path[PATH_MAX], struct error *err)
{
	char program[PATH_MAX];
	int code = program_path(program, err);

	if (code < 0)
		return code;
	*strrchr(program, '/') = '\0';
	if (snprintf(path, PATH_MAX, "%s/../predict/recorder/nomora_mpi.so", program) < PATH_MAX &&
	    access(path, R_OK) == 0)
		return 0;
	snprintf(path, PATH_MAX, "%s", NOMORA_RECORDER);
	if (access(path, R_OK) == 0)
		return 0;
	return error_set(err, ENOENT, "%s: %s; nomora was built without MPI: install an MPI library and build it again",
			 path, strerror(errno));
}

/* Makes the folder, in which there must be no traces. Sets its full path. */
static int make_folder(const char *folder, char path[PATH_MAX], struct error *err)
{
	struct dirent *entry;
	DIR *list;
	int code = 0;

	if (mkdir(folder, 0755) != 0 && errno != EEXIST)
		return error_set(err, errno, "%s: %s", folder, strerror(errno));
	if (!realpath(folder, path))
		return error_set(err, errno, "%s: %s", folder, strerror(errno));
	list = opendir(path);
	if (!list)
		return error_set(err, errno, "%s: %s", folder, strerror(errno));
	while (code == 0 && (entry = readdir(list)))
		if (is_trace(entry->d_name))
			code = error_set(err, EEXIST, "%s has traces already, such as %s: choose another folder",
					 folder, entry->d_name);
	closedir(list);
	return code;
}

static int set_environment(const char *recorder, const char *folder, struct error *err)
{
	const char *loaded = getenv("LD_PRELOAD");
	char preload[2 * PATH_MAX];
	int length = snprintf(preload, sizeof preload, "%s%s%s", recorder, loaded && *loaded ? ":" : "",
			      loaded ? loaded : "");

	if (length >= (int)sizeof preload || setenv("LD_PRELOAD", preload, 1) != 0 ||
	    setenv("NOMORA_TRACE", folder, 1) != 0)
		return error_set(err, ENOMEM, "LD_PRELOAD cannot be set");
	return 0;
}

static pid_t child;

/* What is meant for the command reaches us. */
static void pass_on(int number)
{
	kill(child, number);
}

/* Runs the command; returns its exit status, as a shell does, or -errno. */
static int run_command(char *const *words, struct error *err)
{
	struct sigaction action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
	int status;

	child = fork();
	if (child < 0)
		return error_set(err, errno, "fork: %s", strerror(errno));
	if (child == 0) {
		execvp(words[0], words);
		fprintf(stderr, "nomora: error: %s: %s\n", words[0], strerror(errno));
		_exit(127);
	}
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return error_set(err, errno, "wait: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Counts ranks and calls of the files. */
static int count_traces(const char *folder, struct error *err)
{
	uint64_t ranks = 0, records = 0, cut = 0;
	struct trace_header header;
	struct dirent *entry;
	DIR *list = opendir(folder);

	while (list && (entry = readdir(list))) {
		int file = is_trace(entry->d_name) ? openat(dirfd(list), entry->d_name, O_RDONLY | O_CLOEXEC) : -1;

		if (file >= 0 && read(file, &header, sizeof header) == (ssize_t)sizeof header) {
			ranks++;
			records += header.records;
			cut += header.total_ns == 0;
		}
		if (file >= 0)
			close(file);
	}
	if (list)
		closedir(list);
	if (ranks == 0)
		return error_set(
			err, ENOENT,
			"%s: no rank was recorded: the command called no MPI_Init of a C program, or its hosts do "
			"not share this folder",
			folder);
	fprintf(stderr, "nomora: recorded %" PRIu64 " rank%s, %" PRIu64 " record%s, in %s", ranks, number_s(ranks),
		records, number_s(records), folder);
	fprintf(stderr, cut ? "; %" PRIu64 " did not reach MPI_Finalize\n" : "\n", cut);
	return 0;
}

static int trace(void *context, const struct option_operands *operands, struct error *err)
{
	const struct trace_options *options = context;
	char recorder[PATH_MAX], folder[PATH_MAX];
	int code, status;

	if (!options->folder)
		return command_misused(err, "missing option --output FOLDER");
	if (operands->rest_count == 0)
		return command_misused(err, "missing the command after --");
	code = find_recorder(recorder, err);
	if (code == 0)
		code = make_folder(options->folder, folder, err);
	if (code == 0)
		code = set_environment(recorder, folder, err);
	if (code < 0)
		return code;
	status = run_command(operands->rest, err);
	code = status < 0 ? status : count_traces(folder, err);
	return code < 0 ? code : status;
}

int command_trace(int argc, char **argv)
{
	struct trace_options options = {0};

	return command_run(&usage, argc, argv, &options, trace);
}
